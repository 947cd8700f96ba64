"""Regret bounds of online learners: their loss in excess of that of the best of a class."""

from typing import Any, Literal

from mlcore.bounds.arguments import as_choice, as_count, as_positive, as_real
from mlcore.bounds.calculator import calculator
from mlcore.bounds.directed_rounding import exact, log, up, working_digits


@calculator("n_experts", "T", elementwise=True)
def hedge_regret_bound(n_experts: Any, T: Any, *, form: Literal["tight", "uml"] = "tight") -> Any:
    r"""Bound the regret of exponential weights against the best of N experts.

    For losses in [0, 1] on any sequence of T rounds, the expected loss exceeds that of the best
    expert by at most

    .. math:: \sqrt{T \ln N / 2} \quad (\eta = \sqrt{8 \ln N / T}), \qquad
              \sqrt{2 T \ln N} \quad \text{(form "uml")}.

    Parameters
    ----------
    n_experts, T : int or array
        T is known in advance.
    form : {"tight", "uml"}, default="tight"

    Returns
    -------
    regret : float or ndarray
        An array where an argument is one; arrays broadcast.

    Raises
    ------
    ValueError
        For arguments out of range.

    References
    ----------
    N. Cesa-Bianchi, G. Lugosi, *Prediction, Learning, and Games*, 2006, Theorem 2.2; M. Mohri,
    A. Rostamizadeh, A. Talwalkar, *Foundations of Machine Learning*, 2nd ed., 2018, Theorem 8.6.
    S. Shalev-Shwartz, S. Ben-David, *Understanding Machine Learning*, 2014, Theorem 21.11 ("uml").

    Examples
    --------
    >>> from mlcore.bounds import hedge_regret_bound
    >>> round(hedge_regret_bound(16, 1000), 6)
    37.232974
    """
    n, T = as_count(n_experts, "n_experts", at_least=1), as_count(T, "T", at_least=1)
    form = as_choice(form, "form", ("tight", "uml"))
    with working_digits():
        return up((exact(T) * log(n) * (exact(1) / 2 if form == "tight" else 2)).sqrt())


@calculator("ldim", "T", "n_hypotheses")
def littlestone_regret_bound(ldim: Any, T: Any, *, n_hypotheses: Any = None) -> Any:
    r"""Bound the regret that some learner attains for a class of given Littlestone dimension.

    Some learner with predictions in [0, 1] has, against every h of H and for any T labels,
    absolute loss at most that of h plus

    .. math:: \sqrt{2 T \min(\ln |H|, \mathrm{Ldim}(H) \ln (e T))}.

    Parameters
    ----------
    ldim : int or array
        At least 0.
    T : int or array
    n_hypotheses : int or array, optional
        Size of the class, if it is finite.

    Returns
    -------
    regret : float or ndarray
        An array where an argument is one; arrays broadcast.

    Raises
    ------
    ValueError
        For arguments out of range.

    References
    ----------
    S. Shalev-Shwartz, S. Ben-David, *Understanding Machine Learning*, 2014, Theorem 21.10.

    Examples
    --------
    >>> from mlcore.bounds import littlestone_regret_bound
    >>> round(littlestone_regret_bound(3, 1000), 6)
    217.822248
    >>> round(littlestone_regret_bound(3, 1000, n_hypotheses=8), 6)
    64.489403
    """
    ldim, T = as_count(ldim, "ldim", at_least=0), as_count(T, "T", at_least=1)
    if n_hypotheses is not None:
        n_hypotheses = as_count(n_hypotheses, "n_hypotheses", at_least=1)
    with working_digits():
        complexity = ldim * (1 + log(T))
        if n_hypotheses is not None:
            complexity = min(complexity, log(n_hypotheses))
        return up((2 * exact(T) * complexity).sqrt())


@calculator("norm", "lipschitz", "T", elementwise=True)
def ogd_regret_bound(
    norm: Any, lipschitz: Any, T: Any, *, schedule: Literal["fixed", "doubling"] = "fixed"
) -> Any:
    r"""Bound the regret of online gradient descent against vectors of bounded norm.

    For convex losses whose subgradients are at most :math:`\rho` in norm, against any w with
    :math:`||w|| \le B`, steps of :math:`\eta = B / \rho \sqrt T` have regret at most
    :math:`B \rho \sqrt T`. When T is not known, steps for 1, 2, 4... rounds one after the other
    have :math:`\sqrt 2 / (\sqrt 2 - 1)` times as much.

    Parameters
    ----------
    norm, lipschitz : float or array
        B and rho.
    T : int or array
    schedule : {"fixed", "doubling"}, default="fixed"

    Returns
    -------
    regret : float or ndarray
        An array where an argument is one; arrays broadcast.

    Raises
    ------
    ValueError
        For arguments out of range.

    References
    ----------
    S. Shalev-Shwartz, S. Ben-David, *Understanding Machine Learning*, 2014, Theorem 21.15 and
    exercise 21.4. M. Zinkevich, *Online convex programming and generalized infinitesimal gradient
    ascent*, ICML 2003.

    Examples
    --------
    >>> from mlcore.bounds import ogd_regret_bound
    >>> ogd_regret_bound(1.0, 1.0, 100)
    10.0
    >>> round(ogd_regret_bound(1.0, 1.0, 100, schedule="doubling"), 6)
    34.142136
    """
    norm, lipschitz = as_positive(norm, "norm"), as_positive(lipschitz, "lipschitz")
    T = as_count(T, "T", at_least=1)
    schedule = as_choice(schedule, "schedule", ("fixed", "doubling"))
    with working_digits():
        fixed = exact(norm) * exact(lipschitz) * exact(T).sqrt()
        return up(fixed if schedule == "fixed" else fixed * _doubling())


@calculator("diameter", "lipschitz", "T", "strong_convexity", elementwise=True)
def projected_ogd_regret_bound(
    diameter: Any, lipschitz: Any, T: Any, *, strong_convexity: Any = 0.0
) -> Any:
    r"""Bound the regret of online gradient descent with projection onto a convex set.

    For convex losses with gradients of norm at most G on a set of diameter D, steps of
    :math:`D / G \sqrt t` have regret at most :math:`\frac 3 2 D G \sqrt T`; if the losses are
    :math:`\alpha`-strongly convex, steps of :math:`1 / \alpha t` have at most
    :math:`\frac{G^2}{2 \alpha} (1 + \ln T)`. T need not be known.

    Parameters
    ----------
    diameter, lipschitz : float or array
        D and G.
    T : int or array
    strong_convexity : float or array, default=0.0
        alpha; 0 asks for convexity only.

    Returns
    -------
    regret : float or ndarray
        An array where an argument is one; arrays broadcast.

    Raises
    ------
    ValueError
        For arguments out of range.

    References
    ----------
    E. Hazan, *Introduction to Online Convex Optimization*, 2016, Theorems 3.1 and 3.3.

    Examples
    --------
    >>> from mlcore.bounds import projected_ogd_regret_bound
    >>> projected_ogd_regret_bound(2.0, 1.0, 100)
    30.0
    >>> round(projected_ogd_regret_bound(2.0, 1.0, 100, strong_convexity=0.5), 6)
    5.60517
    """
    diameter, lipschitz = as_positive(diameter, "diameter"), as_positive(lipschitz, "lipschitz")
    T = as_count(T, "T", at_least=1)
    alpha = as_real(strong_convexity, "strong_convexity", at_least=0)
    with working_digits():
        if alpha == 0:
            return up(3 * exact(diameter) * exact(lipschitz) * exact(T).sqrt() / 2)
        return up(exact(lipschitz) ** 2 / (2 * exact(alpha)) * (1 + log(T)))


@calculator("alpha", "T", elementwise=True)
def doubling_trick_regret(alpha: Any, T: Any) -> Any:
    r"""Bound the regret of a learner restarted with doubled horizons, for an unknown horizon.

    If the regret is at most :math:`\alpha \sqrt T` for T known in advance, then horizons of
    1, 2, 4... rounds one after the other have in all at most
    :math:`\frac{\sqrt 2}{\sqrt 2 - 1} \alpha \sqrt T`, a geometric sum.

    Parameters
    ----------
    alpha : float or array
    T : int or array

    Returns
    -------
    regret : float or ndarray
        An array where an argument is one; arrays broadcast.

    Raises
    ------
    ValueError
        For arguments out of range.

    References
    ----------
    N. Cesa-Bianchi, G. Lugosi, *Prediction, Learning, and Games*, 2006, section 2.3.

    Examples
    --------
    >>> from mlcore.bounds import doubling_trick_regret
    >>> round(doubling_trick_regret(2.0, 100), 6)
    68.284271
    """
    alpha, T = as_positive(alpha, "alpha"), as_count(T, "T", at_least=1)
    with working_digits():
        return up(exact(alpha) * exact(T).sqrt() * _doubling())


def _doubling():
    """Return the factor for an unknown horizon, 1 / (1 - 1 / sqrt 2)."""
    return 2 + exact(2).sqrt()
