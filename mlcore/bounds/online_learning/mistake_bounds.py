"""Mistake bounds of online learners, which hold on any sequence."""

from typing import Any

from mlcore.bounds.arguments import as_bool, as_count, as_positive, as_real, refuse
from mlcore.bounds.calculator import calculator
from mlcore.bounds.directed_rounding import exact, log, log1p, up, working_digits


@calculator("n")
def halving_mistake_bound(n: Any) -> Any:
    r"""Bound the mistakes of the halving algorithm by the logarithm of the number of concepts.

    It predicts the label given by most of the concepts that have never been wrong. If one of the n
    concepts gives all labels, every mistake rules out at least half of those left, so there are at
    most :math:`\lfloor \log_2 n \rfloor`.

    Parameters
    ----------
    n : int or array

    Returns
    -------
    mistakes : int or ndarray
        An array where an argument is one; arrays broadcast.

    Raises
    ------
    ValueError
        If `n` is no integer of at least 1.

    References
    ----------
    N. Littlestone, *Learning quickly when irrelevant attributes abound: a new linear-threshold
    algorithm*, Machine Learning 2, 1988.

    Examples
    --------
    >>> from mlcore.bounds import halving_mistake_bound
    >>> halving_mistake_bound(1000)
    9
    """
    return as_count(n, "n", at_least=1).bit_length() - 1


@calculator("n_experts", "best_mistakes", "beta", elementwise=True)
def weighted_majority_mistake_bound(
    n_experts: Any, best_mistakes: Any, beta: Any, *, randomized: bool = False
) -> Any:
    r"""Bound the mistakes of the weighted majority algorithm on any sequence.

    The weight of an expert that errs is multiplied by :math:`\beta`. With N experts, the best of
    which makes m mistakes, a prediction by the heavier side makes at most

    .. math:: \frac{\ln N + m \ln (1 / \beta)}{\ln (2 / (1 + \beta))},

    mistakes, and one by an expert drawn with probability proportional to its weight makes in
    expectation at most the same numerator divided by :math:`1 - \beta`. Proof: a mistake leaves at
    most :math:`(1 + \beta) / 2` of the total weight, which never falls below that of the best.

    Parameters
    ----------
    n_experts, best_mistakes : int or array
        At least 1 expert, at least 0 mistakes.
    beta : float in (0, 1), or array
    randomized : bool, default=False
        True if an expert is drawn; the bound is then on the expectation.

    Returns
    -------
    mistakes : float or ndarray
        An array where an argument is one; arrays broadcast.

    Raises
    ------
    ValueError
        For arguments out of range.

    References
    ----------
    N. Littlestone, M. K. Warmuth, *The weighted majority algorithm*, Information and Computation
    108, 1994.

    Examples
    --------
    >>> from mlcore.bounds import weighted_majority_mistake_bound
    >>> round(weighted_majority_mistake_bound(16, 10, 0.5), 6)
    33.731892
    >>> round(weighted_majority_mistake_bound(16, 10, 0.5, randomized=True), 6)
    19.408121
    """
    n_experts = as_count(n_experts, "n_experts", at_least=1)
    best_mistakes = as_count(best_mistakes, "best_mistakes", at_least=0)
    beta = as_real(beta, "beta", above=0, below=1)
    drawn = as_bool(randomized, "randomized")
    with working_digits():
        loss = 1 - exact(beta) if drawn else -log1p((exact(beta) - 1) / 2)
        return up((log(n_experts) - best_mistakes * log(beta)) / loss)


@calculator("radius", "margin", "w_norm", "hinge_loss", elementwise=True)
def perceptron_mistake_bound(
    radius: Any,
    *,
    margin: Any = None,
    w_norm: Any = None,
    hinge_loss: Any = 0.0,
    tight: bool = True,
) -> Any:
    r"""Bound the mistakes of the perceptron on any sequence of points in a ball.

    With :math:`||x_t|| \le R`, and L the sum of :math:`\max(0, 1 - y_t \langle w, x_t \rangle)`
    of any w, let :math:`a = R ||w||` (:math:`R / \gamma` for the w with a margin of
    :math:`\gamma`). The number M of mistakes satisfies :math:`M \le a \sqrt M + L`, so

    .. math:: M \le \left( \frac{a + \sqrt{a^2 + 4 L}}{2} \right)^2 \le L + a \sqrt L + a^2,

    which is :math:`(R / \gamma)^2` for L = 0. The perceptron has no intercept and
    starts at 0.

    Parameters
    ----------
    radius : float or array
        R.
    margin, w_norm : float or array
        Exactly one: :math:`\gamma`, or the norm of w.
    hinge_loss : float or array, default=0.0
        L; at least 0.
    tight : bool, default=True
        True for the first of the two bounds, False for the second.

    Returns
    -------
    mistakes : float or ndarray
        An array where an argument is one; arrays broadcast.

    Raises
    ------
    ValueError
        For arguments out of range; for both of `margin` and `w_norm`, or neither.

    References
    ----------
    A. B. J. Novikoff, *On convergence proofs on perceptrons*, Symposium on the Mathematical Theory
    of Automata 12, 1962. S. Shalev-Shwartz, S. Ben-David, *Understanding Machine Learning*, 2014,
    Theorem 21.16 (the second bound).

    Examples
    --------
    >>> from mlcore.bounds import perceptron_mistake_bound
    >>> perceptron_mistake_bound(2.0, margin=0.5)
    16.0
    >>> round(perceptron_mistake_bound(1.0, w_norm=10.0, hinge_loss=5.0), 6)
    109.772256
    """
    radius, loss = as_positive(radius, "radius"), as_real(hinge_loss, "hinge_loss", at_least=0)
    if (margin is None) == (w_norm is None):
        refuse("w_norm", w_norm, "given if margin is not, and only then")
    length = as_positive(w_norm, "w_norm") if margin is None else as_positive(margin, "margin")
    tight = as_bool(tight, "tight")
    with working_digits():
        loss = exact(loss)
        a = exact(radius) * exact(length) if margin is None else exact(radius) / exact(length)
        if tight:
            return up(((a + (a * a + 4 * loss).sqrt()) / 2) ** 2)
        return up(loss + a * loss.sqrt() + a * a)


@calculator("n_relevant", "n", elementwise=True)
def winnow_mistake_bound(n_relevant: Any, n: Any) -> Any:
    r"""Bound the mistakes of Winnow on disjunctions of k out of n variables.

    On labels given by such a disjunction, Winnow with threshold n and factor 2 makes at most
    :math:`2 + 3 k (1 + \log_2 n)` mistakes: each relevant weight doubles at most
    :math:`1 + \log_2 n` times, and mistakes on negative examples are fewer than 2 more than twice
    those on positive ones.

    Parameters
    ----------
    n_relevant, n : int or array
        k and n, 1 <= k <= n.

    Returns
    -------
    mistakes : float or ndarray
        An array where an argument is one; arrays broadcast.

    Raises
    ------
    ValueError
        For arguments out of range.

    References
    ----------
    N. Littlestone, *Learning quickly when irrelevant attributes abound: a new linear-threshold
    algorithm*, Machine Learning 2, 1988.

    Examples
    --------
    >>> from mlcore.bounds import winnow_mistake_bound
    >>> winnow_mistake_bound(3, 1024)
    101.0
    """
    n = as_count(n, "n", at_least=1)
    k = as_count(n_relevant, "n_relevant", at_least=1, at_most=n)
    with working_digits():
        return up(2 + 3 * k * (1 + log(n) / log(2)))
