"""Bounds on the leave-one-out error of a support vector machine, from one fit.

The leave-one-out error is nearly unbiased for that of a classifier trained on one example less.
None of the bounds holds with probability 1 - delta.
"""

from typing import Any

import numpy as np

from mlcore.bounds.arguments import as_count, as_positive, as_reals, refuse
from mlcore.bounds.calculator import calculator
from mlcore.bounds.directed_rounding import at_most_one, exact, up, working_digits


@calculator("n_sv", "m", elementwise=True)
def support_vector_loo_bound(n_sv: Any, m: Any) -> Any:
    """Bound the leave-one-out error of a support vector machine by its share of support vectors.

    Trained without an example that is no support vector, the classifier is the same and right about
    that example. The expected error of a classifier trained on m - 1 i.i.d. examples is at most the
    expected share; no statement with high probability follows.

    Parameters
    ----------
    n_sv, m : int or array
        Support vectors, bounded ones included, and training examples.

    Returns
    -------
    bound : float or ndarray in [0, 1]
        An array where an argument is one; arrays broadcast.

    Raises
    ------
    ValueError
        For arguments out of range.

    References
    ----------
    V. N. Vapnik, *Statistical Learning Theory*, 1998, chapter 10.

    Examples
    --------
    >>> from mlcore.bounds import support_vector_loo_bound
    >>> support_vector_loo_bound(25, 1000)
    0.025
    """
    m = as_count(m, "m", at_least=1)
    n_sv = as_count(n_sv, "n_sv", at_most=m)
    with working_digits():
        return up(exact(n_sv) / exact(m))


@calculator("radius", "margin", "m", elementwise=True)
def radius_margin_loo_bound(radius: Any, margin: Any, m: Any) -> Any:
    r"""Bound the leave-one-out error of a hard-margin classifier without bias by its margin.

    It is at most :math:`R^2 / (\gamma^2 m)`: an error at an example needs
    :math:`\alpha_i k(x_i, x_i) \ge 1`, and the multipliers add up to :math:`1 / \gamma^2`. A bound
    on a count, or on an expectation; no statement with high probability.

    Parameters
    ----------
    radius, margin : float or array
        R, the largest norm of a training point in the feature space, and gamma.
    m : int or array

    Returns
    -------
    bound : float or ndarray in [0, 1]
        An array where an argument is one; arrays broadcast.

    Raises
    ------
    ValueError
        For arguments out of range.

    References
    ----------
    V. N. Vapnik, *Statistical Learning Theory*, 1998, chapter 10.

    Examples
    --------
    >>> from mlcore.bounds import radius_margin_loo_bound
    >>> radius_margin_loo_bound(1.0, 0.25, 1000)
    0.016
    """
    radius, margin = as_positive(radius, "radius"), as_positive(margin, "margin")
    m = as_count(m, "m", at_least=1)
    with working_digits():
        return at_most_one(up((exact(radius) / exact(margin)) ** 2 / exact(m)))


def jaakkola_haussler_loo_bound(alpha: Any, k_diag: Any, y_f: Any) -> float:
    r"""Bound the leave-one-out error of a support vector machine without bias, point by point.

    The classifier trained without example i can misclassify it only if
    :math:`\alpha_i k(x_i, x_i) \ge y_i f(x_i)`. A bound on a count, or on an expectation; no
    statement with high probability.

    Parameters
    ----------
    alpha : array-like of shape (m,)
        Multipliers, none negative.
    k_diag : array-like of shape (m,)
        k(x_i, x_i).
    y_f : array-like of shape (m,)
        Labels in {-1, 1} times decision values.

    Returns
    -------
    bound : float in [0, 1]
        Share of examples that may be misclassified.

    Raises
    ------
    ValueError
        For arguments out of range, and for different lengths.

    References
    ----------
    T. Jaakkola, D. Haussler, *Probabilistic kernel regression models*, AISTATS 1999.

    Examples
    --------
    >>> from mlcore.bounds import jaakkola_haussler_loo_bound
    >>> jaakkola_haussler_loo_bound([0.0, 0.5, 1.2, 1.0], [1.0] * 4, [1.4, 1.0, 1.0, 0.3])
    0.5
    """
    alpha = as_reals(alpha, "alpha", at_least=0)
    k_diag = as_reals(k_diag, "k_diag", at_least=0)
    y_f = as_reals(y_f, "y_f")
    if alpha.ndim != 1 or alpha.size == 0:
        refuse("alpha", alpha.tolist(), "a list of at least one number")
    for values, name in ((k_diag, "k_diag"), (y_f, "y_f")):
        if values.shape != alpha.shape:
            refuse(name, values.tolist(), f"a list of {len(alpha)} numbers, as alpha is")
    return int(np.count_nonzero(alpha * k_diag >= y_f)) / len(alpha)
