"""Sample compression: classifiers that can be rebuilt from a few of their training examples."""

from typing import Any, Literal

import numpy as np

from mlcore.bounds.arguments import as_choice, as_count, as_delta, as_real, refuse
from mlcore.bounds.calculator import calculator
from mlcore.bounds.concentration.binomial_tail import log_choose
from mlcore.bounds.directed_rounding import exact, log, up, working_digits
from mlcore.bounds.held_out import binomial_tail_inversion

_ERROR = 1e-14  # bound of the relative error of the logarithm of a binomial coefficient


@calculator("size", "m", "delta", "k", "log_messages")
def sample_compression_bound(
    size: Any,
    m: Any,
    delta: Any,
    *,
    k: Any = 0,
    log_messages: Any = 0.0,
    method: Literal["binomial", "closed"] = "binomial",
) -> Any:
    r"""Bound the error of a classifier that a few of its m training examples determine.

    A fixed rule rebuilds the classifier from s of the examples and, if need be, one of
    :math:`e^{\text{log_messages}}` messages; it makes k errors on the other m - s, which
    are then as good as fresh. With probability at least :math:`1 - \delta` over i.i.d. examples,
    its error is at most the binomial test-set bound on m - s examples at

    .. math:: \frac{\delta}{m \binom m s e^{\text{log_messages}}},

    by a union bound over the m sizes s = 0...m - 1, the subsets and the messages. Without errors
    this is at most the closed form
    :math:`(\ln \binom m s + \ln (m / \delta) + \text{log_messages}) / (m - s)`.

    For a support vector machine s is the number of all its support vectors, bounded ones included,
    and there are no errors: trained on these alone it is the same classifier, and on other points
    y f(x) is at least 1. The classifier must depend on the solution only: w is unique, and a fixed
    rule must choose among optimal intercepts. For a condensed nearest-neighbour rule s is the
    number of prototypes.

    Parameters
    ----------
    size, m : int or array
        s and m, 0 <= s <= m.
    delta : float in (0, 1), or array
    k : int or array, default=0
        Errors on the other examples, at most m - s.
    log_messages : float or array, default=0.0
        Natural logarithm of the number of messages; at least 0.
    method : {"binomial", "closed"}, default="binomial"
        "closed" is for no errors only.

    Returns
    -------
    bound : float or ndarray in [0, 1]
        1 for s = m.
        An array where an argument is one; arrays broadcast.

    Raises
    ------
    ValueError
        For arguments out of range, and for errors with the closed form.

    References
    ----------
    N. Littlestone, M. K. Warmuth, *Relating data compression and learnability*, 1986. S. Floyd,
    M. K. Warmuth, *Sample compression, learnability, and the Vapnik-Chervonenkis dimension*,
    Machine Learning 21, 1995. J. Langford, *Tutorial on practical prediction theory for
    classification*, JMLR 6, 2005.

    Examples
    --------
    >>> from mlcore.bounds import sample_compression_bound
    >>> round(sample_compression_bound(10, 1000, 0.05), 6)
    0.062442
    >>> round(sample_compression_bound(10, 1000, 0.05, k=3), 6)
    0.073098
    """
    m = as_count(m, "m", at_least=1)
    size = as_count(size, "size", at_most=m)
    delta = as_delta(delta)
    k = as_count(k, "k", at_most=m - size)
    log_messages = as_real(log_messages, "log_messages", at_least=0)
    method = as_choice(method, "method", ("binomial", "closed"))
    if method == "closed" and k > 0:
        refuse("k", k, 'zero with method="closed"')
    if size == m:
        return 1.0
    subsets = (
        0.0 if size == 0 else float(log_choose(np.float64(m), np.float64(size))) * (1 + _ERROR)
    )
    with working_digits():
        cost = exact(subsets) + log(m) - log(delta) + exact(log_messages)
        if method == "closed":
            return min(1.0, up(cost / (m - size)))
        cost = up(cost)
    return binomial_tail_inversion(k, m - size, None, log_delta=-cost)
