"""Test of k components against k + 1 by the likelihood ratio of samples drawn from the k."""

import math
import warnings
from typing import Any, NamedTuple

import numpy as np

from mlcore.checks import as_integer, as_random_state, as_real, require_random_state
from mlcore.mixture.mixture import Mixture

_SEEDS = 2**31 - 1
_LEAST = 1e-9  # weight of a row in the fit of the halves of a component
_ROUNDING = 1e-12  # of a mean log-likelihood
_MORE = 4  # times as many starts where the larger mixture is the worse


class BootstrapLRT(NamedTuple):
    """Result of `bootstrap_lrt`.

    Parameters
    ----------
    statistic : float
        T = 2 (l_{k+1} - l_k), of the data.
    p_value : float
        Probability of as large a T under k components, as the samples tell.
    samples : (n_samples,) float64
        T of each sample from the fit of k components, in the order of the draws.
    n_failed : int
        Samples in which k + 1 components were worse than k after all starts, by more than `tol`
        explains, or not fitted; they are not among `samples`.

    Examples
    --------
    >>> from mlcore.mixture import BootstrapLRT
    >>> print(BootstrapLRT(8.5, 0.25, [1.0, 9.0, 2.0], 0))
    T = 8.5, p = 0.25 (3 samples, 0 failed)
    """

    statistic: float
    p_value: float
    samples: np.ndarray
    n_failed: int

    def __str__(self) -> str:
        return (
            f"T = {self.statistic:.6g}, p = {self.p_value:.6g} ({len(self.samples)} samples, "
            f"{self.n_failed} failed)"
        )

    __repr__ = __str__


def bootstrap_lrt(
    X: Any,
    mixture: Mixture,
    *,
    n_bootstrap: int = 99,
    random_state: Any = None,
    alpha: float | None = None,
) -> BootstrapLRT:
    r"""Test the number k of components of a mixture against k + 1 by the parametric bootstrap.

    The likelihood ratio T has no chi-square distribution here, as the smaller mixture lies on the
    boundary of the larger. B samples like X are drawn from the fit of k components, and both
    mixtures fitted to each as they are to X; those of k + 1 also start from the fit of k with its
    heaviest component split in two. With samples :math:`T_b`

    .. math:: p = (1 + \#\{b : T_b \ge T\}) / (B + 1).

    T counts the likelihood alone, so that a large prior or `tol` makes it uncertain. Time of about
    3 (B + 1) fits.

    Parameters
    ----------
    X : array-like or sparse of shape (n_samples, n_features)
        Missing values are missing in the samples too.
    mixture : estimator
        Any mixture that can draw samples, of ``n_components=k`` and without given starts.
    n_bootstrap : int, default=99
        B, at least 1.
    random_state : None, int, Generator or RandomState, default=None
    alpha : float in (0, 1), default=None
        Level of the test: the samples end as soon as p cannot be as small (Besag and Clifford), and
        p is then the share of the larger among them.

    Returns
    -------
    test : BootstrapLRT
        ``statistic``, ``p_value``, ``samples`` and ``n_failed``.

    Raises
    ------
    TypeError, ValueError
        For parameters or data out of range.
    RuntimeError
        If k + 1 components stay worse than k, by more than `tol` explains, with four times `n_init`
        starts, or all samples fail.

    References
    ----------
    G. McLachlan, D. Peel, *Finite Mixture Models*, 2000, section 6.4. J. Besag, P. Clifford,
    *Sequential Monte Carlo p-values*, Biometrika 78, 1991.

    Examples
    --------
    >>> from mlcore.datasets import load_iris
    >>> from mlcore.mixture import GaussianMixture, bootstrap_lrt
    >>> X = load_iris()[0]
    >>> test = bootstrap_lrt(X, GaussianMixture(1), n_bootstrap=19, random_state=0)
    >>> test.p_value
    0.05
    """
    owner = "bootstrap_lrt"
    n_bootstrap = as_integer(n_bootstrap, "n_bootstrap", owner=owner, at_least=1)
    most = n_bootstrap
    if alpha is not None:
        as_real(alpha, "alpha", owner=owner, above=0, below=1)
        most = max(1, math.floor(alpha * (n_bootstrap + 1)))
    parameters = _parameters(mixture, owner)
    require_random_state(random_state, owner=owner)
    rng = as_random_state(random_state)
    statistic, smaller = _statistic(X, type(mixture), parameters, rng)
    if not statistic >= -_slack(X, parameters, statistic):
        raise RuntimeError(
            f"{owner}: {parameters['n_components'] + 1} components have a likelihood below that of "
            f"{parameters['n_components']} from every start: use a smaller tol, or more n_init."
        )
    # Samples, until p is known to be above alpha.
    if "binarize" in parameters:
        parameters["binarize"] = None  # samples are 0 and 1
    larger, n_failed, samples = 0, 0, []
    for _ in range(n_bootstrap):
        sample = _drawn_like(X, smaller, rng)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of fits nobody sees
            try:
                value, _ = _statistic(sample, type(mixture), parameters, rng)
            except ValueError:
                value = math.nan
        if not value >= -_slack(X, parameters, value):
            n_failed += 1
            continue
        samples.append(value)
        larger += value >= statistic
        if alpha is not None and larger >= most:
            break
    if not samples:
        raise RuntimeError(f"{owner}: no mixture could be fitted to any sample.")
    stopped = alpha is not None and larger >= most
    p = larger / len(samples) if stopped else (1 + larger) / (len(samples) + 1)
    return BootstrapLRT(statistic, p, np.array(samples), n_failed)


def _parameters(mixture, owner):
    if not isinstance(mixture, Mixture) or not hasattr(mixture, "sample"):
        raise TypeError(
            f"{owner}: mixture is {mixture!r}, but must be an estimator of mlcore.mixture that "
            "draws samples."
        )
    parameters = mixture.get_params(deep=False)
    for name, value in parameters.items():
        if name.endswith("s_init") and value is not None:
            raise ValueError(
                f"{owner}: {name} of the mixture is given, but starts differ between numbers of "
                "components: leave it out."
            )
    mixture._settings()
    return parameters | {"warm_start": False}


def _slack(X, parameters, statistic):
    """Return by how much T may be below 0 since EM ends when a mean moves by less than `tol`."""
    n = X.shape[0] if hasattr(X, "shape") else len(X)
    return 2 * n * (parameters["tol"] + _ROUNDING * (1 + abs(statistic)))


def _statistic(X, kind, parameters, rng):
    """Return T of some rows, and the fit of k components."""
    k = int(parameters["n_components"])

    def fitted(n_components, n_init=1):
        own = {
            "n_components": n_components,
            "n_init": parameters["n_init"] * n_init,
            "random_state": int(rng.integers(_SEEDS)),
        }
        return kind(**parameters | own).fit(X)

    def likelihood(model):
        return model._likelihood(X, None)[0]

    smaller = fitted(k)
    least = likelihood(smaller)
    best = max(likelihood(fitted(k + 1)), likelihood(_split(X, smaller, rng)))
    if best < least:
        best = likelihood(fitted(k + 1, _MORE))
    return 2 * (best - least), smaller


def _split(X, smaller, rng):
    """Return the fit of k + 1 components that starts with the heaviest of k split in two."""
    kind, parameters = type(smaller), smaller.get_params(deep=False)
    heaviest = int(np.argmax(smaller.weights_))
    # Rows of weight 0 would be left out, and their categories with them.
    share = np.maximum(smaller.predict_proba(X)[:, heaviest].astype(np.float64), _LEAST)
    own = {"n_components": 2, "random_state": int(rng.integers(_SEEDS))}
    pair = kind(**parameters | own).fit(X, sample_weight=share)
    # The parameters of both, as a fit to go on with.
    own = {"n_components": len(smaller.weights_) + 1, "warm_start": True}
    larger = kind(**parameters | own)
    rows, weight = larger._checked(X, None, reset=True)
    components = larger._components(rows, weight)
    two = pair._fitted_components().parameters(pair)
    start = components.split(smaller._fitted_components().parameters(smaller), heaviest, two)
    larger._set_unfitted(X, components, start, total_weight=1.0)
    return larger.fit(X)


def _drawn_like(X, mixture, rng):
    """Return rows drawn from a mixture, as many as X has, in any order and with its holes."""
    n = X.shape[0] if hasattr(X, "shape") else len(X)
    mixture.set_params(random_state=int(rng.integers(_SEEDS)))
    order = rng.permutation(n)
    sample = mixture._sample_like(X, order)
    missing = mixture._holes(X)
    if missing is not None:
        sample[missing] = None if sample.dtype == object else np.nan
    return sample
