"""Principal component analysis."""

from typing import Any, Self

import numpy as np
from scipy import sparse as sp

from mlcore.checks import (
    as_bool,
    as_choice,
    as_integer,
    as_random_state,
    as_real,
    as_weights,
    require_random_state,
)
from mlcore.checks.arrays import require_finite
from mlcore.checks.errors import warn
from mlcore.decomposition.dimension import evidence_dimension, wanted_components
from mlcore.decomposition.normal_density import NormalDensity
from mlcore.decomposition.projection import OrthogonalProjection
from mlcore.decomposition.scatter_of_blocks import ScatterOfBlocks
from mlcore.decomposition.spectrum import (
    Rows,
    by_gram,
    by_lanczos,
    by_qr,
    by_scatter,
    completed,
    components_for,
    route,
    without_rounding,
)
from mlcore.decomposition.summary import divisor_of, summary
from mlcore.estimator.model import Model
from mlcore.numerics.scatter import column_moments, in_range, origin_of, powers_of_two, scatter_of
from mlcore.runtime.threads import single_threaded_blas

_SOLVERS = ("auto", "full", "covariance_eigh", "gram", "arpack", "randomized")
_STEPS = 1000  # of block Lanczos, which ends long before
_FIRST_GUESS = 16  # components by Lanczos, doubled until they explain the wanted share


class PCA(ScatterOfBlocks, NormalDensity, OrthogonalProjection, Model):
    r"""Project on the orthogonal directions of the largest variance.

    The components are the leading eigenvectors of the covariance C of the rows, which solve
    ``max tr(U'CU)`` for ``U'U = I``; equally, the projection on them loses the least squared
    distance. Values do not depend on offset or unit of the data, and each fit tells how far its
    components may be from the exact ones.

    Parameters
    ----------
    n_components : int, float, "mle" or None, default=None
        Number of components; a share in (0, 1) of the variance that the fewest components reach;
        "mle", the number of the greatest evidence; None, as many as rows or features.
    scale : bool, default=False
        Divide features by their standard deviations: components of the correlations.
    whiten : bool, default=False
        Divide the projections by their standard deviations; those of variance 0 are 0.
    svd_solver : {"auto", "full", "covariance_eigh", "gram", "arpack", "randomized"}, default="auto"
        "covariance_eigh" decomposes the covariance, "gram" the inner products of the rows, "full"
        the rows by QR, the most accurate. "arpack" and "randomized" are block Lanczos, which reads
        the data a few times and stores neither. "auto" takes what suits the shape. All give the
        same components.
    ddof : int, default=1
        Variances are divided by the number of rows (the sum of the weights) less this.
    tol : float, default=1e-8
        Largest residual of block Lanczos, relative to the largest variance.
    iterated_power : int or "auto", default="auto"
        Block Lanczos reads the data at most so many times more than once; "auto", until `tol`.
        `residuals_` tell what is reached.
    power_iteration_normalizer : {"auto", "QR"}, default="auto"
        Both: a step of block Lanczos makes its vectors orthonormal by QR.
    random_state : None, int, Generator or RandomState
        Start of block Lanczos; the others draw nothing.

    Attributes
    ----------
    components_ : (n_components_, n_features), float32 or float64 as the data
        Orthonormal rows, by descending variance. Of the entries that nearly have the largest
        modulus the first is positive.
    explained_variance_, explained_variance_ratio_, singular_values_ : (n_components_,) float64
        Variances of the projections, their shares of the total, and the roots of their sums of
        squares.
    mean_, scale_ : (n_features,) float64
        Origin and unit of the projections; scale_ is ones without `scale`.
    noise_variance_ : float
        Mean variance in the directions that are discarded.
    total_variance_ : float
    n_components_ : int
    n_samples_ : int
        Number of rows; the rounded sum of their weights, which are copies.
    rank_ : int
        Number of components of positive variance.
    residuals_ : (n_components_,) float64
        ``|Cu - lambda u|`` over the largest eigenvalue.
    orthogonality_ : float
        Largest ``|U'U - I|``.
    gaps_ : (n_components_,) float64
        Distance of each variance to the nearest other, over the largest.
    angle_bounds_ : (n_components_,) float64
        Bounds of the sines of the angles between components and exact ones; infinite at a tie,
        where only the subspace is defined.
    next_value_ : float
        Variance of the component after the last; -inf if there is none.
    explained_fraction_bounds_ : (2,) float64
        Least and greatest share of the variance that so many exact components can explain.
    condition_ : float
        Largest variance over that of the last component.
    complete_ : bool
        True if it is proved that no component was missed; False where the variances of the last
        component and the next are as good as equal, or the covariance was not formed.
    solver_ : {"scatter", "gram", "qr", "lanczos"}
    converged_ : bool
        False where block Lanczos did not reach `tol`, and where blocks have been summed once and
        variances are so small that another pass over the blocks makes them more accurate.
    origin_ : (n_features,)
        Point near the first rows, from which sums are taken.
    n_features_in_, feature_names_in_

    Notes
    -----
    n rows of d features take O(n d²) time and O(d²) memory, O(n² d) and O(n²) if n < d, and, if
    both are much larger than k components, O(n d k) a step and O(d k). A model is a `RowSums`: its
    fit may be computed from blocks of rows, in one pass over them, or, while `converged_` is False,
    in another one, which sums the rows along the directions of small variances. `partial_fit` makes
    the first pass only: variances below 1e-6 of the largest, 1e-3 in float32, are less accurate.

    References
    ----------
    I. Jolliffe, *Principal Component Analysis*, 2nd ed., Springer, 2002.

    M. Tipping, C. Bishop, *Probabilistic principal component analysis*, Journal of the Royal
    Statistical Society B 61, 1999.

    Examples
    --------
    >>> from mlcore.decomposition import PCA
    >>> model = PCA(n_components=1).fit([[1.0, 2.0], [3.0, 6.0], [2.0, 4.0]])
    >>> model.components_.round(4).tolist(), model.explained_variance_.round(4).tolist()
    ([[0.4472, 0.8944]], [5.0])
    """

    _tags = {"input_tags.sparse": True, "transformer_tags.preserves_dtype": ["float64", "float32"]}

    components_: np.ndarray
    explained_variance_: np.ndarray
    explained_variance_ratio_: np.ndarray
    singular_values_: np.ndarray
    mean_: np.ndarray
    scale_: np.ndarray
    noise_variance_: float
    total_variance_: float
    n_components_: int
    n_samples_: int
    rank_: int
    residuals_: np.ndarray
    orthogonality_: float
    gaps_: np.ndarray
    angle_bounds_: np.ndarray
    next_value_: float
    explained_fraction_bounds_: np.ndarray
    condition_: float
    complete_: bool
    solver_: str
    converged_: bool
    origin_: np.ndarray
    _power_: np.ndarray  # int (d,): the sums are those of 2^-power x
    _unit_: np.ndarray  # (d,): scale_ in these units
    _values_: np.ndarray  # explained variances in these units
    _noise_: float  # noise variance in these units
    _stored = {
        "components_": "float k? f",
        "explained_variance_": "float64 k?",
        "explained_variance_ratio_": "float64 k?",
        "singular_values_": "float64 k?",
        "mean_": "float64 f",
        "scale_": "float64 f",
        "noise_variance_": "float",
        "total_variance_": "float",
        "n_components_": "size k?",
        "n_samples_": "count",
        "rank_": "count",
        "residuals_": "float64 k?",
        "orthogonality_": "float",
        "gaps_": "float64 k?",
        "angle_bounds_": "float64 k?",
        "next_value_": "float",
        "explained_fraction_bounds_": "float64 2",
        "condition_": "float",
        "complete_": "bool",
        "solver_": "text",
        "converged_": "bool",
        "origin_": "float f",
        "_power_": "int f",
        "_unit_": "float64 f",
        "_values_": "float64 k?",
        "_noise_": "float",
    }

    _instead = {
        "copy": "drop it: X is never changed",
        "n_oversamples": "use tol=: Lanczos goes on until its residuals are that small",
    }

    def __init__(
        self,
        n_components: int | float | str | None = None,
        *,
        scale: bool = False,
        whiten: bool = False,
        svd_solver: str = "auto",
        ddof: int = 1,
        tol: float = 1e-8,
        iterated_power: int | str = "auto",
        power_iteration_normalizer: str = "auto",
        random_state: Any = None,
    ) -> None:
        self.n_components = n_components
        self.scale = scale
        self.whiten = whiten
        self.svd_solver = svd_solver
        self.ddof = ddof
        self.tol = tol
        self.iterated_power = iterated_power
        self.power_iteration_normalizer = power_iteration_normalizer
        self.random_state = random_state

    # ---- fit

    @single_threaded_blas()
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Find the components of the rows of `X`.

        Parameters
        ----------
        X : array-like or sparse of shape (n_samples, n_features)
        y : ignored
        sample_weight : array-like of shape (n_samples,), optional
            2 is a copy, 0 is absence.

        Returns
        -------
        self
            This model.

        Raises
        ------
        TypeError, ValueError
            For parameters or data out of range, before any work; if the weights sum to no more than
            `ddof`.
        MemoryError
            If (d, d) or (n, n) values do not fit.
        """
        self._check_parameters()
        owner = type(self).__name__
        checked = self._check_X(X, reset=True, check_finite=False)
        n, d = checked.shape
        weight = None if sample_weight is None else as_weights(sample_weight, n)
        n_rows = n if weight is None else int(np.count_nonzero(weight))
        total = float(n if weight is None else weight.sum())
        n_copies = max(n_rows, int(min(total, d)))  # weights are copies
        most = min(n_copies, d)
        k, share = self._wanted(most, f"min(n_samples, n_features)={most}")
        divisor = divisor_of(total, self.ddof, n, owner)
        way = route(self.svd_solver, (n, d), k)
        if self.n_components == "mle" and way == "lanczos":
            raise ValueError(
                f"{owner}: n_components='mle' needs all variances, which "
                f"svd_solver={self.svd_solver!r} does not compute: use 'full'."
            )
        origin = origin_of(checked)
        if way != "scatter" and not sp.issparse(checked):
            require_finite(checked, "X", owner)

        def sums(power):
            if way == "scatter":
                found = scatter_of(checked, weight, origin, power=power, owner=owner)
                return found.mean, found.scatter.diagonal(), found
            return *column_moments(checked, weight, origin, power=power)[1:], None

        power = np.zeros(d, np.int64)
        mean, squares, found = sums(power)
        fine = in_range(squares if self.scale else squares.max(), checked.dtype)
        if not fine.all():
            power = self._powers(checked, origin)
            if power.any():
                mean, squares, found = sums(power)
        unit = self._unit(squares, divisor)
        center = origin + np.ldexp(mean, power)
        rows = Rows(checked, weight, origin, mean, power, unit)
        trace = float((squares / unit**2).sum())

        limit = max(n, d) * np.finfo(np.float64).eps
        limit = limit if way == "lanczos" else limit**2
        pick = self._picker(share, total, limit, n_rows - 1)
        if way == "scatter":
            S = found.scatter / np.outer(unit, unit) if self.scale else found.scatter
            spectrum = by_scatter(S, k, pick, rows)
        elif way == "gram":
            spectrum = by_gram(rows, min(k, n), pick)
        elif way == "qr":
            spectrum = by_qr(rows, min(k, n), pick)
        else:
            start = min(k, n, d if share is None else _FIRST_GUESS)
            rng = as_random_state(self.random_state)
            steps = self._steps()
            spectrum = by_lanczos(rows, start, share, trace, rng, float(self.tol), steps)
            if spectrum.residuals.max() > self.tol:
                warn(
                    "ConvergenceWarning",
                    f"{owner}: block Lanczos reached a residual of {spectrum.residuals.max():.1e}, "
                    f"not tol={self.tol}, in {steps} steps: use svd_solver='full' or a larger "
                    "iterated_power.",
                )
        if pick is None:
            spectrum = completed(spectrum, k)
        values = without_rounding(spectrum.values, limit, n_rows - 1)
        found = self._finish(spectrum, values, divisor, n, center, power, unit, checked.dtype)
        found |= {
            "origin_": origin.astype(checked.dtype),
            "n_samples_": round(total),
            "converged_": way != "lanczos" or bool(spectrum.residuals.max() <= self.tol),
        }
        self._set_fitted(X, **found)
        return self

    def _check_parameters(self):
        owner = type(self).__name__
        as_bool(self.scale, "scale", owner=owner)
        as_bool(self.whiten, "whiten", owner=owner)
        as_choice(self.svd_solver, "svd_solver", _SOLVERS, owner=owner)
        as_integer(self.ddof, "ddof", owner=owner, at_least=0)
        as_real(self.tol, "tol", owner=owner, above=0)
        self._steps()
        name = "power_iteration_normalizer"
        as_choice(self.power_iteration_normalizer, name, ("auto", "QR"), owner=owner)
        require_random_state(self.random_state, owner=owner)
        self._wanted(2**63 - 1, "min(n_samples, n_features)")

    def _steps(self):
        """Return the largest number of steps of block Lanczos."""
        if isinstance(self.iterated_power, str):
            as_choice(self.iterated_power, "iterated_power", ("auto",), owner=type(self).__name__)
            return _STEPS
        owner = type(self).__name__
        return 1 + as_integer(self.iterated_power, "iterated_power", owner=owner, at_least=0)

    def _wanted(self, largest, name):
        return wanted_components(self.n_components, largest, name, type(self).__name__)

    def _powers(self, X, origin):
        """Return powers of two of the largest deviations, of each column if scaled, (d,)."""
        power = powers_of_two(X, origin)
        return power if self.scale else np.full(len(power), power.max())

    def _unit(self, squares, divisor):
        if not self.scale:
            return np.ones(len(squares))
        deviations = np.sqrt(squares / divisor)
        return np.where(deviations > 0, deviations, 1.0)

    def _picker(self, share, total, limit, rank):
        """Return the function that chooses the number of components by all eigenvalues, or None."""
        if share is None and not isinstance(self.n_components, str):
            return None

        def pick(values):
            values = without_rounding(values, limit, rank)
            if share is not None:
                return components_for(values, float(values.sum()), share)
            return max(1, evidence_dimension(values[values > 0], total))

        return pick

    def _finish(self, spectrum, values, divisor, n, center, power, unit, dtype):
        """Return the fitted attributes that follow from a spectrum."""
        about = summary(spectrum, values, divisor, n, dtype, 0 if self.scale else int(power[0]))
        return about | {
            "mean_": center,
            "scale_": np.ldexp(unit, power) if self.scale else unit,
            "_power_": power,
            "_unit_": unit,
        }
