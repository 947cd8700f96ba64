"""Sufficient and necessary sample sizes for classes of VC dimension d.

All of them need i.i.d. examples and a class that is fixed before the data; Phi is `sauer_bound`.
The default follows from double sampling: if a sample of m misses some region of mass epsilon in
which a consistent hypothesis errs, a second sample of m hits it at least epsilon m / 2 times with
probability at least 1/2 (for which m >= 8 ln 2 / epsilon suffices, and any m with a bound below 1
is that large). Of l points marked among 2m, all fall into the second half with probability at most
2^-l; so the first event has probability at most 2 Phi_d(2m) 2^(-epsilon m / 2).

The rate (d + ln(1 / delta)) / epsilon, without a logarithm of 1 / epsilon, is attained by majority
votes of hypotheses learnt on subsamples (S. Hanneke, 2016), not by any consistent learner; its
published constant is too large to be of use.
"""

from typing import Any, Literal

from mlcore.bounds.arguments import as_choice, as_count, as_delta, as_real
from mlcore.bounds.calculator import calculator
from mlcore.bounds.directed_rounding import ceiling, exact, log, up, working_digits
from mlcore.bounds.vc.sauer import log_growth

_Method = Literal[
    "double_sampling", "anthony_biggs", "blumer", "uml", "vc", "devroye", "anthony_bartlett"
]
_METHODS = {  # the default first
    "realizable": ("double_sampling", "anthony_biggs", "blumer", "uml"),
    "uniform": ("vc", "devroye"),
    "agnostic": ("devroye", "vc", "anthony_bartlett"),
}


@calculator("vc_dimension", "epsilon", "delta")
def vc_sample_size(
    vc_dimension: Any,
    epsilon: Any,
    delta: Any,
    *,
    setting: Literal["realizable", "uniform", "agnostic"] = "realizable",
    method: _Method | None = None,
) -> Any:
    r"""Number of examples that suffice to learn a class of VC dimension d.

    With probability at least :math:`1 - \delta`: if "realizable", every hypothesis of the class
    without errors on the sample has error at most :math:`\epsilon`; if "uniform", every empirical
    error is within :math:`\epsilon` of the true one; if "agnostic", the empirically best hypothesis
    is within :math:`\epsilon` of the best.

    Realizable: "double_sampling", the least m with
    :math:`2 \Phi_d(2m) 2^{-\epsilon m / 2} \le \delta`; "anthony_biggs",
    :math:`(4 / \epsilon)(d \log_2(12 / \epsilon) + \log_2(2 / \delta))`; "blumer",
    :math:`\max((4 / \epsilon) \log_2(2 / \delta), (8d / \epsilon) \log_2(13 / \epsilon))`, with
    base 2 in both, where base 10 would be unsound; "uml",
    :math:`(8 / \epsilon)(2d \ln(16e / \epsilon) + \ln(2 / \delta))`, for :math:`\delta < 1/4`.

    Uniform: "vc", the least m with :math:`4 \Phi_d(2m) e^{-m \epsilon^2 / 8} \le \delta`;
    "devroye", with
    :math:`4 e^{4 \epsilon + 4 \epsilon^2} \Phi_d(m^2) e^{-2 m \epsilon^2} \le \delta`.

    Agnostic: "vc" and "devroye", uniform at :math:`\epsilon / 2`; "anthony_bartlett",
    :math:`(64 / \epsilon^2)(2d \ln(12 / \epsilon) + \ln(4 / \delta))`; :math:`1 / \epsilon^2`
    stands before both terms.

    Parameters
    ----------
    vc_dimension : int at least 1, or array
        d, also a name of it.
    epsilon : float above 0, and below 1 if realizable, or array
    delta : float in (0, 1), or array
        Probability that the bound fails.
    setting : {"realizable", "uniform", "agnostic"}, default="realizable"
    method : str, optional
        One of the names above; by default "double_sampling", "vc" and "devroye".

    Returns
    -------
    m : int or ndarray
        An array where an argument is one; arrays broadcast.

    References
    ----------
    M. J. Kearns, U. V. Vazirani, *An Introduction to Computational Learning Theory*, 1994,
    Theorem 3.3 (double sampling).
    M. Anthony, N. Biggs, *Computational Learning Theory*, 1992.
    A. Blumer, A. Ehrenfeucht, D. Haussler, M. K. Warmuth, *Learnability and the
    Vapnik-Chervonenkis dimension*, Journal of the ACM 36, 1989, Theorem 2.1.
    S. Shalev-Shwartz, S. Ben-David, *Understanding Machine Learning*, 2014, Theorem 28.3 ("uml").
    V. N. Vapnik, A. Ya. Chervonenkis, *On the uniform convergence of relative frequencies of events
    to their probabilities*, Theory of Probability and its Applications 16, 1971.
    M. Anthony, P. L. Bartlett, *Neural Network Learning: Theoretical Foundations*, 1999,
    Theorems 4.2 and 4.3.
    L. Devroye, *Bounds for the uniform deviation of empirical measures*, Journal of Multivariate
    Analysis 12, 1982.

    Examples
    --------
    >>> from mlcore.bounds import vc_sample_size
    >>> vc_sample_size(3, 0.1, 0.05)
    680
    >>> vc_sample_size(3, 0.1, 0.05, method="blumer")
    1686
    """
    setting = as_choice(setting, "setting", _METHODS)
    methods = _METHODS[setting]
    method = methods[0] if method is None else as_choice(method, "method", methods)
    d = as_count(vc_dimension, "vc_dimension", at_least=1)
    epsilon = as_real(epsilon, "epsilon", above=0, below=1 if setting == "realizable" else None)
    delta = as_real(delta, "delta", above=0, below=0.25 if method == "uml" else 1)
    with working_digits():
        e = exact(epsilon)
        if setting == "agnostic" and method != "anthony_bartlett":
            e /= 2
        return max(1, _SIZES[method](d, e, log(delta)))


@calculator("epsilon", "m", "vc_dimension")
def double_sampling_delta(epsilon: Any, m: Any, vc_dimension: Any) -> Any:
    r"""Probability that a consistent hypothesis has error above `epsilon`, by double sampling.

    In the realizable setting, over `m` examples, some hypothesis of a class of VC dimension d
    has no error on the sample and a true error above `epsilon` with probability at most
    :math:`2 \Phi_d(2m) 2^{-\epsilon m / 2}`.

    Parameters
    ----------
    epsilon : float in (0, 1), or array
    m, vc_dimension : int at least 1, or array

    Returns
    -------
    delta : float or ndarray
        At most 1.
        An array where an argument is one; arrays broadcast.

    References
    ----------
    A. Blumer, A. Ehrenfeucht, D. Haussler, M. K. Warmuth, *Learnability and the
    Vapnik-Chervonenkis dimension*, Journal of the ACM 36, 1989.
    M. J. Kearns, U. V. Vazirani, *An Introduction to Computational Learning Theory*, 1994,
    Theorem 3.3.

    Examples
    --------
    >>> from mlcore.bounds import double_sampling_delta
    >>> double_sampling_delta(0.1, 680, 3) <= 0.05 < double_sampling_delta(0.1, 679, 3)
    True
    """
    epsilon, m = as_real(epsilon, "epsilon", above=0, below=1), as_count(m, "m", at_least=1)
    d = as_count(vc_dimension, "vc_dimension", at_least=1)
    with working_digits():
        return min(1.0, up(_log_double_sampling(m, d, exact(epsilon)).exp()))


@calculator("vc_dimension", "epsilon", "delta")
def vc_sample_size_lower(
    vc_dimension: Any,
    epsilon: Any,
    delta: Any,
    *,
    setting: Literal["realizable", "agnostic"] = "realizable",
) -> Any:
    r"""Number of examples that every learner needs on some distribution.

    For classes of VC dimension d with at least two concepts that agree somewhere and differ
    elsewhere, and a learner that with probability at least :math:`1 - \delta` comes within
    :math:`\epsilon`. Realizable, :math:`\epsilon < 1/2`: the largest of
    :math:`\frac{1 - \epsilon}{\epsilon} \ln \frac{1}{\delta}`,
    :math:`d (1 - 2(\epsilon (1 - \delta) + \delta))`, both for deterministic learners, and, if
    :math:`d \ge 2`, :math:`\epsilon \le 1/8` and :math:`\delta \le 1/100`,
    :math:`(d - 1) / (32 \epsilon)`. Agnostic, :math:`\epsilon < 1/\sqrt 2` and
    :math:`\delta < 1/4`: the larger of :math:`\ln(1 / (4 \delta)) / (2 \epsilon^2)` and, if both
    are below 1/64, :math:`d / (320 \epsilon^2)`.

    Parameters
    ----------
    vc_dimension : int at least 1, or array
        d, also a name of it.
    epsilon, delta : float above 0, or array
        Below the limits above; delta below 1 if realizable.
    setting : {"realizable", "agnostic"}, default="realizable"

    Returns
    -------
    m : int or ndarray
        An array where an argument is one; arrays broadcast.

    References
    ----------
    A. Ehrenfeucht, D. Haussler, M. Kearns, L. Valiant, *A general lower bound on the number of
    examples needed for learning*, Information and Computation 82, 1989.
    M. Mohri, A. Rostamizadeh, A. Talwalkar, *Foundations of Machine Learning*, 2nd ed., 2018,
    Theorems 3.20 and 3.23.
    S. Shalev-Shwartz, S. Ben-David, *Understanding Machine Learning*, 2014, section 28.2.1.
    M. Anthony, P. L. Bartlett, *Neural Network Learning: Theoretical Foundations*, 1999,
    Theorem 5.2.

    Examples
    --------
    >>> from mlcore.bounds import vc_sample_size_lower
    >>> vc_sample_size_lower(3, 0.1, 0.01)
    42
    """
    setting = as_choice(setting, "setting", ("realizable", "agnostic"))
    d = as_count(vc_dimension, "vc_dimension", at_least=1)
    if setting == "agnostic":
        e = as_real(epsilon, "epsilon", above=0, below=0.5**0.5)
        delta = as_real(delta, "delta", above=0, below=0.25)
        with working_digits():
            sizes = [-log(4 * exact(delta)) / (2 * exact(e) ** 2)]
            if e < 1 / 64 and delta < 1 / 64:
                sizes.append(d / (320 * exact(e) ** 2))
            return ceiling(max(sizes))
    e, delta = as_real(epsilon, "epsilon", above=0, below=0.5), as_delta(delta)
    with working_digits():
        sizes = [(1 - exact(e)) / exact(e) * -log(delta)]
        sizes.append(d * (1 - 2 * (exact(e) * (1 - exact(delta)) + exact(delta))))
        if d >= 2 and e <= 1 / 8 and delta <= 0.01:
            sizes.append((d - 1) / (32 * exact(e)))
        return ceiling(max(sizes))


def _log_double_sampling(m, d, epsilon):
    return log(2) + log_growth(2 * m, d) - epsilon * m / 2 * log(2)


def _least_size(log_failure, log_delta):
    """Return the least m at which a failure probability, which may first rise, is at most delta."""
    low, high = 0, 1
    while log_failure(high) > log_delta:
        low, high = high, 2 * high
    while high - low > max(1, high >> 43 if high >= 2**53 else 1):
        middle = (low + high) // 2
        if log_failure(middle) > log_delta:
            low = middle
        else:
            high = middle
    return high


def _double_sampling(d, e, log_delta):
    return _least_size(lambda m: _log_double_sampling(m, d, e), log_delta)


def _vc(d, e, log_delta):
    return _least_size(lambda m: log(4) + log_growth(2 * m, d) - m * e * e / 8, log_delta)


def _devroye(d, e, log_delta):
    constant = log(4) + 4 * e + 4 * e * e
    return _least_size(lambda m: constant + log_growth(m * m, d) - 2 * m * e * e, log_delta)


def _anthony_biggs(d, e, log_delta):
    return ceiling(4 / e * (d * log(12 / e) + log(2) - log_delta) / log(2))


def _blumer(d, e, log_delta):
    return ceiling(max(4 * (log(2) - log_delta), 8 * d * log(13 / e)) / (e * log(2)))


def _uml(d, e, log_delta):
    return ceiling(8 / e * (2 * d * (1 + log(16 / e)) + log(2) - log_delta))


def _anthony_bartlett(d, e, log_delta):
    return ceiling(64 / (e * e) * (2 * d * log(12 / e) + log(4) - log_delta))


_SIZES = {
    "double_sampling": _double_sampling,
    "anthony_biggs": _anthony_biggs,
    "blumer": _blumer,
    "uml": _uml,
    "vc": _vc,
    "devroye": _devroye,
    "anthony_bartlett": _anthony_bartlett,
}
