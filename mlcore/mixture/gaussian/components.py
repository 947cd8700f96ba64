"""Gaussian components: their starts, steps, restarts and densities."""

import numpy as np

from mlcore.mixture.components import Components
from mlcore.mixture.em import Run
from mlcore.mixture.gaussian import initialization
from mlcore.mixture.gaussian.covariances import (
    DOUBLE,
    SINGLE,
    expected,
    flat_directions,
    lost,
    maximized,
    n_parameters,
    precisions,
)
from mlcore.mixture.gaussian.data_scale import DataScale
from mlcore.mixture.gaussian.e_step import Parameters, Rows, rounding
from mlcore.mixture.gaussian.incomplete_rows import IncompleteRows
from mlcore.mixture.gaussian.spikes import Ties, no_spikes, spikes_among, tied_values, with_earlier
from mlcore.mixture.seeds import drawn

KINDS = ("full", "tied", "diag", "spherical")
_START_STEPS = 2  # of EM from each clustering of some rows, to tell the best
_NARROW, _WIDE = 1e-12, 1e12  # deviations whose squares float32 holds


class GaussianComponents(Components):
    """Gaussians, of the covariances that `kind` allows.

    Parameters
    ----------
    n_components : int
    kind : {"full", "tied", "diag", "spherical"}
        The covariance type.
    reg_covar : float or None
        Added to variances; None: a floor relative to those of the data.
    scale : DataScale
    init_params : str
        How start values that the user did not give are drawn.
    missing : bool
        Whether NaN is a missing value, not an error.
    owner : str
        Of error messages.
    """

    def __init__(
        self,
        n_components: int,
        kind: str,
        reg_covar: float | None,
        scale: DataScale,
        init_params: str,
        missing: bool,
        owner: str,
    ) -> None:
        self.n_components, self.kind, self.reg_covar = n_components, kind, reg_covar
        self.scale, self._init_params = scale, init_params
        self._missing, self._owner = missing, owner

    def rows(self, X, weight):
        if self._missing and np.isnan(X).any():
            return self._incomplete_rows(X, weight)
        variances = self.scale.variances
        deviations = np.sqrt(variances[variances > 0])
        if X.dtype == np.float32 and not ((deviations > _NARROW) & (deviations < _WIDE)).all():
            X = X.astype(np.float64)
        return Rows(X, weight, self.kind, self.scale.origin)

    def _incomplete_rows(self, X, weight):
        if self.kind != "diag":
            raise ValueError(
                f"{self._owner}: X has missing values, but the fit had covariance_type="
                f"{self.kind!r}: only 'diag' can leave them out."
            )
        return IncompleteRows(X, weight, self.reg_covar or 0.0)

    def start(self, em, start_values, rng, number=0):
        weights, means, shapes = start_values
        if rng is None:
            return Parameters(weights, means, *shapes)
        found = self._drawn(em, rng, means, number % 2 == 1)
        weights = found.weights if weights is None else weights
        means = found.means if means is None else means
        return Parameters(weights, means, *(found[2:] if shapes is None else shapes))

    def _drawn(self, em, rng, means, rotated):
        """Return parameters drawn from clusters of a sample of rows, or from rows at random."""
        k, kind, scale, rows = self.n_components, self.kind, self.scale, em.rows
        known, weight = initialization.sampled(
            rows.X, rows.weight, k, scale.variances, rng, scale.origin
        )
        missing = np.isnan(known)
        X = np.where(missing, scale.origin, known)
        if means is not None:
            weight_of_all = np.r_[weight, np.zeros(k)]
            Z = initialization.whitened(np.vstack([X, means]), weight_of_all, kind)
            found = [(initialization.nearest_labels(Z[:-k], Z[-k:]), means)]
        elif self._init_params in ("random", "random_from_data"):
            found = [(None, X[drawn(weight, rng.random(k))])]
        else:
            Z = initialization.whitened(X, weight, kind, rotated=rotated)
            if self._init_params == "kmeans":
                labels, places = initialization.best_k_means_labels(Z, weight, k, rng)
                found = [(labels, X[places])]
            else:
                found = initialization.clusterings(X, Z, weight, k, scale.variances, rng)
        runs = []
        for labels, seeds in found:
            sums = initialization.cluster_statistics(kind, X, weight, labels, seeds, scale, missing)
            runs.append(Run(self.maximize(sums, Parameters(None, seeds, None, None))[0]))
        some = self.rows(known, weight)
        some.merged = True
        return em.over(some).best(runs, _START_STEPS - 1).following

    def statistics(self, rows, parameters):
        return rows.statistics(parameters)

    def maximize(self, statistics, parameters):
        origin, variances = self.scale
        return maximized(self.kind, statistics, parameters, origin, variances, self.reg_covar)

    def step(self, rows, parameters):
        """Take a step in float32 where it is exact enough; repeat it where means moved too far."""
        statistics = rows.statistics(parameters)
        objective = statistics.log_likelihood / rows.total
        new, collapsed = self.maximize(statistics, parameters)
        kind = self.kind
        poor = not rows.in_single(new) or lost(statistics, new, kind, SINGLE)
        if rows.in_single(parameters) and poor:
            statistics = rows.statistics(parameters, exact=True)
            new, collapsed = self.maximize(statistics, parameters)
        if lost(statistics, new, kind, DOUBLE):
            statistics = rows.statistics(parameters, exact=True, centres=new.means)
            about = parameters._replace(means=new.means)
            new, collapsed = self.maximize(statistics, about)
        return objective, new, collapsed

    @property
    def bounded(self):
        return bool(self.reg_covar)  # with 0 the likelihood has no bound

    @property
    def exact(self):
        return not self.reg_covar

    def precise(self, rows, parameters, objective):
        if not rows.in_single(parameters):
            return objective
        return rows.statistics(parameters, exact=True).log_likelihood / rows.total

    def rounding(self, parameters, objective, n):
        return rounding(self.kind, parameters, self.scale.origin, objective, n)

    def ties(self, rows, known=None, share=1.0):
        origin, power = self.scale.origin, self.weight_power
        found = tied_values(rows.X, rows.weight, origin, power, merged=rows.merged)
        return found if known is None else with_earlier(found, rows, Ties(*known), share)

    def spikes(self, ties, parameters, shrunk, mass):
        origin = self.scale.origin
        return spikes_among(shrunk, parameters, self.kind, origin, Ties(*ties), mass)

    def of_ties(self, parameters, spikes):
        d = len(self.scale.origin)
        flat = flat_directions(self.kind, parameters, self.scale.variances, self.reg_covar)
        spikes = no_spikes(d) if spikes is None else spikes
        return {"_spikes_": spikes._asdict(), "flat_directions_": flat}

    def why_it_fell(self):
        if self.reg_covar:
            return f"reg_covar={self.reg_covar:g} adds to variances what the data do not have"
        return super().why_it_fell()

    def restart(self, parameters, collapsed, rows, rng):
        """Restart at rows of low density, with the variances of the data."""
        weights, means, sigma, factors = map(np.copy, parameters)
        density = rows.densities(parameters)[0].astype(np.float64)
        uniform = rng.random(len(collapsed))
        places = initialization.poorly_explained(density, rows.weight, uniform)
        seeds = rows.X[places].astype(np.float64)
        seeds = np.where(np.isnan(seeds), self.scale.origin, seeds)
        means[collapsed] = seeds
        if self.kind != "tied":
            fresh = initialization.single_row_statistics(self.kind, seeds, self.scale)
            new = self.maximize(fresh, Parameters(None, seeds, None, None))[0]
            sigma[collapsed], factors[collapsed] = new.covariances, new.factors
        return Parameters(initialization.with_room(weights, collapsed), means, sigma, factors)

    def reorder(self, parameters, order):
        weights, means, sigma, factors = parameters
        if self.kind != "tied":
            sigma, factors = sigma[order], factors[order]
        return Parameters(weights[order], means[order], sigma, factors)

    def expected(self, parameters, total_weight):
        return expected(self.kind, parameters, self.scale.origin, self.reg_covar or 0.0)

    def attributes(self, parameters):
        weights, means, sigma, factors = parameters
        return {
            "weights_": weights,
            "means_": means,
            "covariances_": sigma,
            "covariance_type_": self.kind,
            "precisions_": precisions(self.kind, factors),
            "precisions_cholesky_": factors,
            "origin_": self.scale.origin,
            "data_variances_": self.scale.variances,
        }

    def parameters(self, mixture):
        m = mixture
        return Parameters(m.weights_, m.means_, m.covariances_, m.precisions_cholesky_)

    def posterior(self, X, parameters, tables, with_proba):
        if self._missing and np.isnan(X).any():
            rows = self._incomplete_rows(X, None)
        else:
            rows = Rows(X, None, self.kind, self.scale.origin)
        return rows.densities(parameters, with_proba=with_proba)

    def n_parameters(self):
        k, d = self.n_components, len(self.scale.origin)
        return k - 1 + k * d + n_parameters(self.kind, k, d)
