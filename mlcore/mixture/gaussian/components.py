"""Gaussian components: their starts, steps, restarts and densities."""

from typing import Any

import numpy as np

from mlcore.mixture.components import Components
from mlcore.mixture.em import Run
from mlcore.mixture.gaussian import initialization
from mlcore.mixture.gaussian.correlated_rows import CorrelatedRows
from mlcore.mixture.gaussian.e_step import Rows, rounding
from mlcore.mixture.gaussian.families.covariance_type import CovarianceType
from mlcore.mixture.gaussian.incomplete_rows import IncompleteRows
from mlcore.mixture.gaussian.log_factors import LogFactors
from mlcore.mixture.gaussian.missing_rows import MissingRows
from mlcore.mixture.gaussian.parameters import DataScale, Parameters
from mlcore.mixture.gaussian.spikes import Ties, no_spikes, spikes_among, tied_values, with_earlier
from mlcore.mixture.seeds import drawn
from mlcore.runtime.memory import require_memory

_DRAWN = 1 << 19  # values at a time
_LOST_AXES = 1e-6  # rounding of the likelihood that is no reason to go on, whatever tol
_START_STEPS = 2  # of EM from each clustering of some rows, to tell the best
_NARROW, _WIDE = 1e-12, 1e12  # deviations whose squares float32 holds
# How far a mean may move in a step, in deviations squared, before its moments about the old mean
# have lost digits that count.
_SINGLE, _DOUBLE = 1e-5 * 2.0**24, 1e-9 * 2.0**53


class GaussianComponents(Components):
    """Gaussians with covariances of one family; with `missing`, NaN is a missing value.

    `reg_covar` is added to variances; None is a floor relative to the variances of the data.
    """

    n_components: int
    family: CovarianceType
    reg_covar: float | None
    scale: DataScale

    def __init__(
        self,
        n_components: int,
        family: CovarianceType,
        reg_covar: float | None,
        scale: DataScale,
        init_params: str,
        missing: bool,
        owner: str,
    ) -> None:
        self.n_components, self.family, self.reg_covar = n_components, family, reg_covar
        self.scale, self._init_params = scale, init_params
        self._missing, self._owner = missing, owner

    def coordinates(self, parameters: Parameters) -> LogFactors:
        if self.family.name not in ("full", "VVV", "diag", "VVI"):
            raise ValueError(
                f"{self._owner}: standard errors are known of covariance_type 'full' and 'diag', "
                f"not of {self.family.name!r}."
            )
        return LogFactors(parameters.means, parameters.factors)

    def rows(self, X: np.ndarray, weight: np.ndarray | None) -> Rows | MissingRows:
        if self._missing and np.isnan(X).any():
            return self._incomplete_rows(X, weight)
        variances = self.scale.variances
        deviations = np.sqrt(variances[variances > 0])
        if X.dtype == np.float32 and not ((deviations > _NARROW) & (deviations < _WIDE)).all():
            X = X.astype(np.float64)
        return Rows(X, weight, self.family, self.scale.origin)

    def _incomplete_rows(self, X, weight):
        added = self.reg_covar or 0.0
        if self.family.independent:
            return IncompleteRows(X, weight, self.family, added)
        return CorrelatedRows(X, weight, self.family, self.scale.origin, added)

    def start(
        self,
        em: Any,
        start_values: tuple[Any, ...],
        rng: np.random.Generator | None,
        number: int = 0,
    ) -> Parameters:
        weights, means, shapes = start_values
        if rng is None:
            return Parameters(weights, means, *shapes)
        drawn_start = self._drawn(em, rng, means, number % 2 == 1)
        weights = drawn_start.weights if weights is None else weights
        means = drawn_start.means if means is None else means
        return Parameters(weights, means, *(drawn_start[2:] if shapes is None else shapes))

    def _drawn(self, em, rng, means, rotated):
        """Return parameters drawn from clusters of a sample of rows, or from rows at random."""
        k, scale, rows = self.n_components, self.scale, em.rows
        values, weight = initialization.sampled(
            rows.X, rows.weight, k, scale.variances, rng, scale.origin
        )
        missing = np.isnan(values)
        X = np.where(missing, scale.origin, values)
        # Clusterings of the sample: labels, None where each seed counts as one row, and seeds.
        if means is not None:
            weight_of_all = np.r_[weight, np.zeros(k)]
            Z = initialization.whitened(np.vstack([X, means]), weight_of_all, self.family)
            clusterings = [(initialization.nearest_labels(Z[:-k], Z[-k:]), means)]
        elif self._init_params in ("random", "random_from_data"):
            clusterings = [(None, X[drawn(weight, rng.random(k))])]
        else:
            Z = initialization.whitened(X, weight, self.family, rotated=rotated)
            if self._init_params == "kmeans":
                labels, places, _ = initialization.best_of_k_means(Z, weight, k, rng)
                clusterings = [(labels, X[places])]
            else:
                clusterings = initialization.clusterings(X, Z, weight, k, scale.variances, rng)
        # The best after a few steps of EM on the sample.
        runs = []
        for labels, seeds in clusterings:
            sums = initialization.cluster_statistics(
                self.family, X, weight, labels, seeds, scale, missing
            )
            runs.append(Run(self.maximize(sums, Parameters(None, seeds, None, None))[0]))
        sample = self.rows(values, weight)
        sample.merged = True
        return em.over(sample).best(runs, _START_STEPS - 1).following

    def statistics(self, rows: Rows, parameters: Parameters) -> Any:
        return rows.statistics(parameters)

    def maximize(self, statistics: Any, parameters: Parameters) -> tuple[Any, ...]:
        return self.family.maximize(statistics, parameters, self.scale, self.reg_covar)

    def step(self, rows: Rows, parameters: Parameters) -> tuple[Any, ...]:
        """Take a step in float32 where it is exact enough; repeat it where means moved too far."""
        statistics = rows.statistics(parameters)
        objective = statistics.log_likelihood / rows.total
        new, collapsed = self.maximize(statistics, parameters)
        lost, single = self.family.lost, rows.X.dtype != np.float64 and rows.in_single(parameters)
        if single and (not rows.in_single(new) or lost(statistics, new, _SINGLE)):
            statistics = rows.statistics(parameters, exact=True)
            new, collapsed = self.maximize(statistics, parameters)
        if lost(statistics, new, _DOUBLE):
            statistics = rows.statistics(parameters, exact=True, centres=new.means)
            about = parameters._replace(means=new.means)
            new, collapsed = self.maximize(statistics, about)
        return objective, new, collapsed

    @property
    def bounded(self) -> bool:
        return bool(self.reg_covar)  # with 0 the likelihood has no bound

    @property
    def exact(self) -> bool:
        return not self.reg_covar

    def precise(self, rows: Rows, parameters: Parameters, objective: float) -> float:
        if not rows.in_single(parameters):
            return objective
        return rows.statistics(parameters, exact=True).log_likelihood / rows.total

    def rounding(self, parameters: Parameters, objective: float, n: float) -> float:
        return rounding(self.family, parameters, self.scale.origin, objective, n)

    def resolves(self, parameters: Parameters, tol: float) -> bool:
        return self.family.rounding_of_axes(parameters) <= max(tol, _LOST_AXES)

    def ties(self, rows: Rows, known: tuple[Any, ...] | None = None, share: float = 1.0) -> Ties:
        origin, power = self.scale.origin, self.weight_power
        ties = tied_values(rows.X, rows.weight, origin, power, merged=rows.merged)
        return ties if known is None else with_earlier(ties, rows, Ties(*known), share)

    def spikes(
        self, ties: Ties, parameters: Parameters, shrunk: np.ndarray, mass: np.ndarray
    ) -> Any:
        origin = self.scale.origin
        return spikes_among(shrunk, parameters, self.family, origin, ties, mass)

    def of_ties(self, parameters: Parameters, spikes: Any) -> dict[Any, Any]:
        d = len(self.scale.origin)
        flat = self.family.flat_directions(parameters, self.scale.variances, self.reg_covar)
        spikes = no_spikes(d) if spikes is None else spikes
        return {"spikes_": spikes, "flat_directions_": flat}

    def of_rows(self, rows: Rows | MissingRows, parameters: Parameters) -> dict[Any, Any]:
        found: dict[Any, Any] = {"n_empty_rows_": 0, "never_together_": np.zeros((0, 2), np.intp)}
        if isinstance(rows, MissingRows):
            found = {"n_empty_rows_": rows.n_empty(), "never_together_": rows.never_together()}
        if not self.family.exact_limit:
            sums = rows.statistics(parameters, exact=True)
            found |= self.of_sums(sums, parameters, parameters)
        return found

    def of_sums(
        self, statistics: Any, before: Parameters, parameters: Parameters
    ) -> dict[Any, Any]:
        covariances = parameters.covariances
        return self.family.of_sums(statistics, before, covariances, self.scale, self.reg_covar)

    def why_it_fell(self) -> str:
        if self.reg_covar:
            return f"reg_covar={self.reg_covar:g} adds to variances what the data do not have"
        if not self.family.exact_limit:
            return "covariances were raised to the limit before their family was imposed"
        return super().why_it_fell()

    def restart(
        self, parameters: Parameters, collapsed: np.ndarray, rows: Rows, rng: np.random.Generator
    ) -> Parameters:
        """Restart at rows of low density, with the variances of the data."""
        weights, means, sigma, factors = map(np.copy, parameters)
        density = rows.densities(parameters)[0].astype(np.float64)
        uniform = rng.random(len(collapsed))
        places = initialization.poorly_explained(density, rows.weight, uniform)
        seeds = rows.X[places].astype(np.float64)
        seeds = np.where(np.isnan(seeds), self.scale.origin, seeds)
        means[collapsed] = seeds
        if not self.family.shared:
            fresh = initialization.single_row_statistics(self.family, seeds, self.scale)
            new = self.maximize(fresh, Parameters(None, seeds, None, None))[0]
            sigma[collapsed], factors[collapsed] = new.covariances, new.factors
        weights = initialization.with_room(weights, collapsed)
        if not (self.family.separate or self.family.shared):
            about = Parameters(weights, means, parameters.covariances, factors)
            sigma, factors = self.family.constrained(sigma, about, self.scale.variances, 0.0)
        return Parameters(weights, means, sigma, factors)

    def reorder(self, parameters: Parameters, order: np.ndarray) -> Parameters:
        weights, means, sigma, factors = parameters
        sigma, factors = (self.family.reorder(values, order) for values in (sigma, factors))
        return Parameters(weights[order], means[order], sigma, factors)

    def split(self, parameters: Parameters, j: int, pair: Parameters) -> Parameters:
        def both(one, other):
            return np.concatenate([np.delete(one, j, axis=0), other])

        weights, means, *matrices = parameters
        if not self.family.shared:
            matrices = [both(*two) for two in zip(matrices, pair[2:], strict=True)]
        return Parameters(
            both(weights, weights[j] * pair.weights), both(means, pair.means), *matrices
        )

    def expected(self, parameters: Parameters, total_weight: float) -> Any:
        return self.family.expected(parameters, self.scale.origin, self.reg_covar or 0.0)

    def attributes(self, parameters: Parameters) -> dict[Any, Any]:
        weights, means, sigma, factors = parameters
        family, (k, d) = self.family, means.shape
        return {
            "weights_": weights,
            "means_": means,
            "covariances_": family.published(sigma, k, d),
            "covariance_type_": family.name,
            "precisions_": family.published(family.precisions(factors), k, d),
            "precisions_cholesky_": family.published(factors, k, d),
            "origin_": self.scale.origin,
            "data_variances_": self.scale.variances,
        }

    def parameters(self, mixture: Any) -> Parameters:
        shapes = map(self.family.internal, (mixture.covariances_, mixture.precisions_cholesky_))
        return Parameters(mixture.weights_, mixture.means_, *shapes)

    def posterior(
        self, X: np.ndarray, parameters: Parameters, tables: dict[Any, Any], with_proba: bool
    ) -> tuple[Any, ...]:
        if self._missing and np.isnan(X).any():
            rows = self._incomplete_rows(X, None)
        else:
            rows = Rows(X, None, self.family, self.scale.origin)
        return rows.densities(parameters, with_proba=with_proba)

    def imputed(self, X: np.ndarray, parameters: Parameters) -> np.ndarray:
        """Return the rows with the means of missing values given the known ones."""
        if not np.isnan(X).any():
            return X.copy()
        return self._incomplete_rows(X, None).imputed(parameters)

    def drawn_given(
        self, X: np.ndarray, parameters: Parameters, n_draws: int, rng: np.random.Generator
    ) -> np.ndarray:
        """Return the rows with missing values drawn given the known ones, (n_draws, n, d).

        For noise e of a component's covariance, x - e completed by conditional means, plus e, has
        the conditional distribution (Hoffman and Ribak, 1991): no covariance is formed by row.
        """
        n, d = X.shape
        require_memory(n_draws, n * d, 8, what="the draws", instead="pass fewer rows at a time")
        drawn = np.repeat(X[None], n_draws, axis=0)
        rows = np.flatnonzero(np.isnan(X).any(axis=1))
        if not len(rows):
            return drawn
        X = X[rows].astype(np.float64)
        missing = np.isnan(X)
        ends = self.posterior(X, parameters, {}, True)[2].cumsum(axis=1)
        step = max(1, _DRAWN // X.size)
        for lo in range(0, n_draws, step):
            values = np.repeat(X[None], min(step, n_draws - lo), axis=0)
            uniform = rng.random(values.shape[:2])[:, :, None]
            labels = (ends < uniform * ends[:, -1:]).sum(axis=2)
            noise = rng.normal(size=values.shape)
            for j in np.unique(labels):
                own, factor = labels == j, self.family.factor(parameters.factors, j)
                noise[own] = self.family.correlated(noise[own], factor)
                values[own] = self.imputed(values[own] - noise[own], self.single(parameters, j))
            values += noise
            drawn[lo : lo + step, rows] = np.where(missing, values, drawn[lo : lo + step, rows])
        return drawn

    def single(self, parameters: Parameters, j: int) -> Parameters:
        """Return the parameters of one component, as of a mixture of one."""
        _, means, *matrices = parameters
        if not self.family.shared:
            matrices = [values[j : j + 1] for values in matrices]
        return Parameters(np.ones(1), means[j : j + 1], *matrices)

    def n_parameters(self) -> int:
        k, d = self.n_components, len(self.scale.origin)
        return k - 1 + k * d + self.family.n_parameters(k, d)
