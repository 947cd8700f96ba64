"""Risk of the hypotheses of an online learner, from its mistakes on i.i.d. examples."""

from typing import Any, Literal

from mlcore.bounds.arguments import as_choice, as_count, as_delta
from mlcore.bounds.calculator import calculator
from mlcore.bounds.concentration.bernoulli_kl import kl_inverse_upper
from mlcore.bounds.directed_rounding import at_most_one, exact, log, up, working_digits


@calculator("mistakes", "T", elementwise=True)
def online_to_batch_expected(mistakes: Any, T: Any) -> Any:
    r"""Estimate the risk of a hypothesis drawn from the sequence of an online learner.

    Each :math:`h_t` is tested on an example it has not seen, so over T i.i.d. examples the expected
    risk of one of :math:`h_1, \ldots, h_T`, drawn uniformly, is the expectation of M / T. This
    is a statement on expectations only, and none with high probability.

    Parameters
    ----------
    mistakes, T : int or array
        0 <= mistakes <= T.

    Returns
    -------
    risk : float or ndarray in [0, 1]
        An array where an argument is one; arrays broadcast.

    Raises
    ------
    ValueError
        For arguments out of range.

    References
    ----------
    S. Shalev-Shwartz, S. Ben-David, *Understanding Machine Learning*, 2014, exercise 21.5.

    Examples
    --------
    >>> from mlcore.bounds import online_to_batch_expected
    >>> online_to_batch_expected(10, 1000)
    0.01
    """
    T = as_count(T, "T", at_least=1)
    mistakes = as_count(mistakes, "mistakes", at_most=T)
    with working_digits():
        return up(exact(mistakes) / exact(T))


@calculator("mistakes", "T", "delta")
def online_to_batch_bound(
    mistakes: Any, T: Any, delta: Any, *, method: Literal["azuma", "kl", "select"] = "azuma"
) -> Any:
    r"""Bound the risk of an online learner's hypotheses from its mistakes on i.i.d. examples.

    With probability at least :math:`1 - \delta`, M mistakes on T examples bound the mean risk of
    :math:`h_1, \ldots, h_T`, each the hypothesis before example t, by

    .. math:: \frac M T + \sqrt{\frac{\ln (1 / \delta)}{2 T}} \quad \text{("azuma")}, \qquad
              \mathrm{kl}^{-1} \left( \frac M T, \frac{\ln ((T + 1) / \delta)}{T} \right)
              \quad \text{("kl")},

    and the risk of the one with the least error on the examples from t on plus
    :math:`\sqrt{\ln (4 T / \delta) / 2 (T - t + 1)}` by

    .. math:: \frac M T + \sqrt{\frac{\ln (2 / \delta)}{2 T}}
              + 2 \sqrt{\frac{2 \ln (4 T / \delta)}{T}} \quad \text{("select")}.

    "azuma" is the Azuma-Hoeffding inequality. "kl" uses an exponential martingale for each possible
    number of mistakes, hence T + 1; without that factor it is false against learners that adapt.
    "select" holds for this rule of selection only.

    Parameters
    ----------
    mistakes, T : int or array
        0 <= mistakes <= T.
    delta : float in (0, 1), or array
    method : {"azuma", "kl", "select"}, default="azuma"

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
    After N. Cesa-Bianchi, A. Conconi, C. Gentile, *On the generalization ability of on-line
    learning algorithms*, IEEE Transactions on Information Theory 50, 2004, and N. Cesa-Bianchi,
    C. Gentile, *Improved risk tail bounds for on-line algorithms*, the same, 54, 2008.

    Examples
    --------
    >>> from mlcore.bounds import online_to_batch_bound
    >>> round(online_to_batch_bound(10, 1000, 0.05), 6)
    0.048702
    >>> round(online_to_batch_bound(10, 1000, 0.05, method="kl"), 6)
    0.030989
    """
    T, delta = as_count(T, "T", at_least=1), as_delta(delta)
    mistakes = as_count(mistakes, "mistakes", at_most=T)
    method = as_choice(method, "method", ("azuma", "kl", "select"))
    with working_digits():
        n, mean = exact(T), exact(mistakes) / exact(T)
        if method == "kl":
            return kl_inverse_upper(up(mean), up((log(T + 1) - log(delta)) / n))
        if method == "azuma":
            return at_most_one(up(mean + (-log(delta) / (2 * n)).sqrt()))
        average = ((log(2) - log(delta)) / (2 * n)).sqrt()
        selection = 2 * (2 * (log(4 * T) - log(delta)) / n).sqrt()
        return at_most_one(up(mean + average + selection))
