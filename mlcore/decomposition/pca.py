"""Principal component analysis."""

import copy
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Literal, NamedTuple, Self

import numpy as np
from scipy import sparse as sp

from mlcore.checks import (
    as_bool,
    as_choice,
    as_integer,
    as_real,
    as_samples,
    as_weights,
    require_random_state,
)
from mlcore.checks.arrays import require_finite
from mlcore.checks.errors import warn
from mlcore.checks.missing import Missing
from mlcore.checks.stored import stored
from mlcore.decomposition.dimension import (
    wanted_components,
    without_rounding,
)
from mlcore.decomposition.evidence import mean_is_far, mean_is_near
from mlcore.decomposition.normal_density import log_densities
from mlcore.decomposition.probabilistic_pca import (
    fit_known,
    known_log_densities,
    known_values,
    require_number,
    rows_to_fit,
)
from mlcore.decomposition.scatter_eigenpairs import ScatterEigenpairs, scatter_eigenpairs
from mlcore.decomposition.spectrum import (
    SOLVERS,
    STEPS,
    CentredRows,
    LanczosSettings,
    Search,
    Settings,
    Solver,
    route,
)
from mlcore.decomposition.summary import ColumnUnits, Variances, divisor_of, summary
from mlcore.decomposition.verification import PCAVerification, verified
from mlcore.estimator import progress
from mlcore.estimator.mixins import TakesMissing
from mlcore.estimator.model import Model, Transformer
from mlcore.estimator.progress import Progress
from mlcore.numerics.scatter import (
    Scatter,
    in_larger_units,
    larger_powers,
    merged_scatter,
    require_in_units,
    row_blocks,
    scatter_of,
)
from mlcore.numerics.sparse_products import CentredProducts
from mlcore.row_sums import OnePass, merged
from mlcore.runtime.threads import single_threaded_blas

_EXPONENT = {4: 28, 8: 230}  # by bytes of a number: larger powers of two are taken out of the data
_EM_STEPS = 1000
_WEIGHT = 1e-9  # the passes add the same weights, in any order


class TailScatter(NamedTuple):
    """Sums of a second pass: of rows along the directions of small variances."""

    weight: float
    scatter: np.ndarray  # (t, t)


@stored(version=1)
class FirstPass(NamedTuple):
    """Result of a first pass over blocks that has lost digits of small variances."""

    weight: float
    mean: np.ndarray  # (d,) float64: as those of `Scatter`
    pairs: ScatterEigenpairs  # with the directions along which a second pass sums
    _stored = {"weight": "float", "mean": "float64 f", "pairs": ScatterEigenpairs}


def _older_units(power, unit):
    return ColumnUnits(power, np.ones(len(power)) if unit is None else unit)


def _older_pass(tail):
    total, mean, *pairs = tail
    return FirstPass(total, mean, ScatterEigenpairs(*pairs))


class PCA(TakesMissing, OnePass, Transformer, Model):
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
    center : bool, default=True
        Subtract the mean of the rows. False is a truncated singular value decomposition of the
        rows as they are: `mean_` is 0, and variances are mean squares about 0.
    scale : bool, default=False
        Divide features by their standard deviations: components of the correlations.
    whiten : bool, default=False
        Divide the projections by their standard deviations; those of variance 0 are 0.
    svd_solver : {"auto", "full", "covariance_eigh", "gram", "arpack", "randomized"}, default="auto"
        "covariance_eigh" decomposes the covariance, "gram" the inner products of the rows, "full"
        the rows by QR, the most accurate. "arpack" and "randomized" are block Lanczos, which reads
        the data a few times and stores neither; CSR rows by their entries. "auto" takes what suits
        the shape. All give the same components.
    ddof : int, default=1
        Variances are divided by the number of rows (the sum of the weights) less this.
    tol : float, default=1e-8
        Largest residual of block Lanczos, relative to the largest variance.
    iterated_power : int or "auto", default="auto"
        Block Lanczos reads the data at most so many times more than once; "auto", until `tol`.
        `residuals_` tell what is reached.
    random_state : None, int, Generator or RandomState
        Start of block Lanczos; the others draw nothing.
    verbose : bool or int, default=False
        Print the steps of block Lanczos: True about once a second, 2 each; the others have one.
    callback : callable, optional
        Called after each step as ``callback(step=, objective=, change=, seconds=)``: the objective
        is the share of the variance, the change the largest residual.
    missing : {"error", "ignore"}, default="error"
        Whether NaN of dense rows is refused, or a missing value. Then components, mean and noise
        are those of the greatest likelihood of the known values, by EM: probabilistic principal
        components, right where values are missing at random. `tol` is the mean log-likelihood that
        may still be gained, and `iterated_power` the most steps ("auto": 1000); `svd_solver` is for
        complete rows, which are fitted as ever. Rows of which nothing is known are left out.

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
        component and the next are as good as equal, or the covariance was not formed, as by block
        Lanczos: then `verify` can prove it.
    solver_ : {"scatter", "gram", "qr", "lanczos", "em"}
        After "em" there are attributes more, and C of `residuals_` is the covariance after another
        step.
    objective_trace_ : (n_steps,) float64
        After "em": mean log-likelihood of what is known of a row, before each step; with ``ddof=0``
        the last is the `score`. No step lowers it.
    remaining_gain_ : float
        After "em": what further steps would add to it, by the ratio of the last gains.
    n_iter_ : int
        After "em": number of steps.
    converged_ : bool
        False where block Lanczos or EM did not reach `tol`, and where blocks have been summed once
        and variances are so small that another pass over the blocks makes them more accurate.
    origin_ : (n_features,)
        Point near the first rows, from which sums are taken.
    n_features_in_, feature_names_in_

    Notes
    -----
    n rows of d features take O(n d²) time and O(d²) memory, O(n² d) and O(n²) if n < d, and, if
    both are much larger than k components, O(n d k) a step and O(d k). A model is a `RowSums`: its
    fit may be computed from blocks of rows, in one pass over them, or, while `converged_` is False,
    in another one, which sums the rows along the directions of small variances. `partial_fit` adds
    rows to those of a fit that has summed their scatter ("covariance_eigh"), and makes the first
    pass only: variances below 1e-6 of the largest, 1e-3 in float32, are less accurate.

    References
    ----------
    I. Jolliffe, *Principal Component Analysis*, 2nd ed., Springer, 2002.

    G. Golub, W. Kahan, *Calculating the singular values and pseudo-inverse of a matrix*, SIAM
    Journal on Numerical Analysis B 2, 1965.

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
    objective_trace_: np.ndarray
    remaining_gain_: float
    n_iter_: int
    origin_: np.ndarray
    _units_: ColumnUnits
    _solution_: Variances
    _sums_: Scatter
    _run_ = None  # FirstPass, while another pass is wanted
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
        "objective_trace_": "float64 t?",
        "remaining_gain_": "float",
        "n_iter_": "count",
        "origin_": "float f",
        "_units_": ColumnUnits,
        "_solution_": Variances,
        "_sums_": Scatter,
        "_run_": ("|", "none", FirstPass),
    }
    _older = {
        "_units_": (_older_units, "power", "unit"),
        "_solution_": (Variances, "values", "noise"),
        "_sums_": (Scatter._make, "statistics"),
        "_run_": (_older_pass, "tail"),
        "power_iteration_normalizer": None,
    }
    _result = "components_"
    _Statistics = Scatter

    set_callbacks = progress.set_callbacks

    _instead = {
        "copy": "drop it: X is never changed",
        "n_oversamples": "use tol=: Lanczos goes on until its residuals are that small",
        "power_iteration_normalizer": "drop it: Lanczos makes its vectors orthonormal by QR",
    }

    def __init__(
        self,
        n_components: int | float | Literal["mle"] | None = None,
        *,
        center: bool = True,
        scale: bool = False,
        whiten: bool = False,
        svd_solver: Solver | Literal["auto"] = "auto",
        ddof: int = 1,
        tol: float = 1e-8,
        iterated_power: int | Literal["auto"] = "auto",
        random_state: Any = None,
        verbose: bool | int = False,
        callback: Callable[..., Any] | None = None,
        missing: Missing = "error",
    ) -> None:
        self.n_components = n_components
        self.center = center
        self.scale = scale
        self.whiten = whiten
        self.svd_solver = svd_solver
        self.ddof = ddof
        self.tol = tol
        self.iterated_power = iterated_power
        self.random_state = random_state
        self.verbose = verbose
        self.callback = callback
        self.missing = missing

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
        settings, owner = self._settings(), type(self).__name__
        # The rows, their weight, and how many components they can have: weights are copies.
        checked = self._check_X(X, reset=True, check_finite=False)
        n, d = checked.shape
        weight = None if sample_weight is None else as_weights(sample_weight, n)
        if self._incomplete(checked):
            checked, weight = rows_to_fit(checked, weight, owner)
            if self._incomplete(checked):
                return self._fit_known(X, checked, weight, settings)
            n, d = checked.shape
        n_rows = n if weight is None else int(np.count_nonzero(weight))
        total = float(n if weight is None else weight.sum())
        most = min(max(n_rows, int(min(total, d))), d)
        wanted = settings.wanted.among(most, f"min(n_samples, n_features)={most}", owner)
        divisor = divisor_of(total, settings.ddof, n, owner)
        # The route to the eigenpairs, which is all that the solver decides.
        chosen = route(settings.svd_solver, (n, d), wanted, owner, sp.issparse(checked))
        # The first sums set mean and units: the whole scatter, or its diagonal.
        origin = settings.origin(checked)
        if not chosen.sums_scatter and not sp.issparse(checked):
            require_finite(checked, "X", owner)
        sums, squares, power = settings.first_sums(checked, weight, origin, chosen.sums_scatter)
        units, about = settings.units(power, squares, divisor), settings.about(sums)
        # The eigenpairs of the rows in these units; eigenvalues that are rounding become 0.
        search = Search(
            CentredRows(checked, weight, origin, about.mean, *units),
            settings.scaled(about.scatter, units) if chosen.sums_scatter else None,
            float((squares / units.scale**2).sum()),
            total,
            n_rows - settings.center,
            wanted,
            settings.lanczos,
        )
        with settings.lanczos.progress:
            spectrum, values = chosen.find(search)
        # The attributes, in the units of the data.
        near = origin.astype(checked.dtype)
        fitted = summary(spectrum, values, divisor, n, near, about.mean, units, settings.scale)
        fitted["n_samples_"] = round(total)
        if chosen.sums_scatter:
            fitted["_sums_"] = sums  # for partial_fit
        self._set_fitted(X, **fitted)
        return self

    def _fit_known(self, X, checked, weight, settings):
        """Fit to rows with NaN, all of which know something."""
        (n, d), owner = checked.shape, settings.owner
        k = require_number(settings.wanted, min(n, d - 1), owner)
        total = float(n if weight is None else weight.sum())
        divisor = divisor_of(total, settings.ddof, n, owner)
        with settings.lanczos.progress:
            run, spectrum, origin, mean, units = fit_known(checked, weight, k, settings, divisor)
        near = origin.astype(checked.dtype)
        values = spectrum.values
        fitted = summary(spectrum, values, divisor, n, near, mean, units, settings.scale)
        fitted["n_samples_"] = round(total)
        fitted |= {"objective_trace_": np.array(run.trace), "n_iter_": len(run.trace) - 1}
        self._set_fitted(X, **fitted, remaining_gain_=run.remaining)
        return self

    def _known_values(self, X):
        """Return checked rows with NaN in groups, and the model of their distribution."""
        U, origin = self.components_.astype(np.float64), self.origin_.astype(np.float64)
        return known_values(X, U, self.mean_, origin, self._units_, self._solution_)

    def _complete(self, X, what):
        if self._incomplete(X):
            raise ValueError(
                f"{type(self).__name__}: X has missing values, which {what} does not take: fill "
                "the gaps with `impute` first."
            )
        return X

    def _check_loaded(self):
        if self._sums_ is not None and self._sums_.mean.shape != self.origin_.shape:
            raise ValueError("PCA has sums over other features than it has.")
        super()._check_loaded()

    def _settings(self):
        owner = type(self).__name__
        as_bool(self.whiten, "whiten", owner=owner)
        steps, em_steps = STEPS, _EM_STEPS
        if isinstance(self.iterated_power, str):
            as_choice(self.iterated_power, "iterated_power", ("auto",), owner=owner)
        else:
            em_steps = as_integer(self.iterated_power, "iterated_power", owner=owner, at_least=0)
            steps = 1 + em_steps
        require_random_state(self.random_state, owner=owner)
        tol = float(as_real(self.tol, "tol", owner=owner, above=0))
        return Settings(
            owner,
            wanted_components(self.n_components, owner),
            as_bool(self.center, "center", owner=owner),
            as_bool(self.scale, "scale", owner=owner),
            as_choice(self.svd_solver, "svd_solver", ("auto", *SOLVERS), owner=owner),
            as_integer(self.ddof, "ddof", owner=owner, at_least=0),
            LanczosSettings(
                owner,
                tol,
                steps,
                self.random_state,
                Progress(self.verbose, self.callback, owner, self),
            ),  # fmt: skip
            em_steps,
        )

    # ---- the same, by sums over blocks of rows

    def begin(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Set the origin and the power of two, to which the sums refer, from first rows.

        Parameters
        ----------
        X : array-like or sparse of shape (n_samples, n_features)
        y : ignored
        sample_weight : array-like of shape (n_samples,), optional

        Returns
        -------
        self
            This model.
        """
        settings = self._settings()
        checked = self._complete(self._check_X(X, reset=True), "a sum over blocks")
        d = checked.shape[1]
        settings.wanted.among(d, f"n_features={d}", settings.owner)
        origin = settings.origin(checked)
        power = settings.powers(checked, origin)
        power[np.abs(power) <= _EXPONENT[checked.dtype.itemsize]] = 0
        units = ColumnUnits(power, np.ones(d))
        self._set_fitted(X, origin_=origin.astype(checked.dtype), _units_=units)
        return self

    def partial_statistics(
        self, X: Any, y: Any = None, sample_weight: Any = None
    ) -> Scatter | TailScatter:
        """Return weight, mean and scatter of the rows of `X`.

        In another pass over the rows, which follows an `update`: weight and scatter along the
        directions of small variances.

        Parameters
        ----------
        X : array-like or sparse of shape (n_samples, n_features)
        y : ignored
        sample_weight : array-like of shape (n_samples,), optional

        Returns
        -------
        statistics : Scatter or TailScatter
            Sums over these rows.
        """
        first, owner = self._run_, type(self).__name__
        checked = self._check_X(
            X, reset=False, like=getattr(self, "origin_", None), check_finite=first is not None
        )
        self._complete(checked, "a sum over blocks")
        n, origin = checked.shape[0], self.origin_.astype(np.float64)
        weight = None if sample_weight is None else as_weights(sample_weight, n)
        if first is None:
            power = self._units_.power
            return require_in_units(
                scatter_of(checked, weight, origin, power=power, owner=owner), owner
            )
        rows = CentredRows(checked, weight, origin, first.mean, *self._units_)
        along = rows.scatter_along(first.pairs.directions)
        return TailScatter(float(n if weight is None else weight.sum()), along)

    def merge(self, a: Any, b: Any) -> Any:
        """Return the sums over the rows of both.

        Parameters
        ----------
        a, b : NamedTuple
            Sums over different rows.

        Returns
        -------
        statistics : Scatter or TailScatter
            Their sums.
        """
        both = isinstance(a, Scatter) and isinstance(b, Scatter)
        return merged_scatter(a, b) if both else merged(a, b)

    @single_threaded_blas()
    def update(self, statistics: Any) -> Self:
        """Find the components from the sums over all rows.

        One pass is the whole fit, unless `converged_` says that another one makes the small
        variances more accurate.

        Parameters
        ----------
        statistics : NamedTuple
            Sums over all rows.

        Returns
        -------
        self
            This model.
        """
        settings = self._settings()
        self._check_fitted()
        if isinstance(statistics, TailScatter):
            self._update_state(self._second_pass(settings, statistics))
        else:
            self._update_state(self._first_pass(settings, statistics))
        return self

    def needs_another_pass(self) -> bool:
        """Return whether another pass over all rows is wanted: the first one, or the second.

        Returns
        -------
        needed : bool
            Whether to sum over all rows again.
        """
        return super().needs_another_pass() or self._run_ is not None

    def _first_pass(self, settings, sums, last=False):
        """Return the fitted attributes that follow from the scatter of all rows.

        They tell of another pass where that helps, if this is not the `last`.
        """
        about = settings.about(sums)
        total, mean, scatter = about
        d, dtype = len(mean), self.origin_.dtype
        wanted = settings.wanted.among(d, f"n_features={d}", settings.owner)
        divisor = divisor_of(total, settings.ddof, f"{total:g}", settings.owner)
        units = settings.units(self._units_.power, about.squares, divisor)
        every = wanted.share is not None or wanted.most_likely
        pairs = scatter_eigenpairs(settings.scaled(scatter, units), wanted.k, every, dtype)
        tail = None if last else pairs.tail()
        limit = d * float(np.finfo(dtype).eps)
        return self._from_pairs(settings, pairs, total, mean, units, limit) | {
            "converged_": not pairs.few_digits if last else tail is None,
            "_sums_": sums,
            "_run_": None if tail is None else FirstPass(total, mean, tail),
        }

    def _second_pass(self, settings, statistics):
        """Return the fitted attributes after a second pass."""
        first, owner = self._run_, settings.owner
        if first is None:
            raise ValueError(
                f"{owner}: statistics of a second pass over the rows need a model "
                "that has been updated by those of the first."
            )
        total, mean, pairs = first
        if abs(statistics.weight - total) > _WEIGHT * total:
            raise ValueError(
                f"{owner}: statistics of a second pass have weight "
                f"{statistics.weight:g}, those of the first {total:g}: both must add all rows."
            )
        t = len(pairs.values) - pairs.start
        if np.shape(statistics.scatter) != (t, t):
            raise ValueError(
                f"{owner}: statistics of a second pass have a scatter of shape "
                f"{np.shape(statistics.scatter)}, but this model has {t} directions: they come "
                "from another model."
            )
        placed = pairs.placed(statistics.scatter)
        tail = placed.tail()
        limit = (max(total, len(mean)) * float(np.finfo(np.float64).eps)) ** 2
        return self._from_pairs(settings, placed, total, mean, self._units_, limit) | {
            "converged_": tail is None,
            "_run_": None if tail is None else FirstPass(total, mean, tail),
        }

    def _from_pairs(self, settings, pairs, total, mean, units, limit):
        d = len(mean)
        wanted = settings.wanted.among(d, f"n_features={d}", settings.owner)
        pick = wanted.picker(total, limit, d)
        spectrum = pairs.spectrum(pick, "scatter")
        values = without_rounding(spectrum.values, limit, d)
        divisor = divisor_of(total, settings.ddof, f"{total:g}", settings.owner)
        fitted = summary(
            spectrum, values, divisor, int(total), self.origin_, mean, units, settings.scale
        )
        return fitted | {"n_samples_": round(total)}

    # ---- what partial_fit asks for

    def _add(self, X, y, sample_weight, classes=None):
        model = copy.copy(self)
        model.__dict__.pop("_run_", None)  # a second pass is over the rows of the first alone
        self.__dict__ = vars(super(PCA, model)._add(X, y, sample_weight))
        return self

    def _update_so_far(self, statistics):
        settings = self._settings()
        if statistics.weight <= settings.ddof:
            self._update_state({"_sums_": statistics})
            return
        with single_threaded_blas():
            self._update_state(self._first_pass(settings, statistics, last=True))

    def _in_larger_units(self, sums, X, y, sample_weight):
        checked, origin = self._check_X(X, reset=False), self.origin_.astype(np.float64)
        before = self._units_.power
        power = larger_powers(before, checked, origin)
        power = power if self.scale else np.full(len(power), power.max())
        self._units_ = self._units_._replace(power=power)
        return None if sums is None else in_larger_units(sums, power - before)

    # ---- evidence, from the rows of the fit

    @single_threaded_blas()
    def verify(self, X: Any, y: Any = None, sample_weight: Any = None) -> PCAVerification:
        """Return how near the components are to the best ones for these rows, with a proof.

        Where the fit did not form the covariance, as block Lanczos does not, this proves that no
        component was missed, which can take longer than the fit.

        Parameters
        ----------
        X : array-like or sparse of shape (n_samples, n_features)
            The rows of the fit.
        y : ignored
        sample_weight : array-like of shape (n_samples,), optional

        Returns
        -------
        verification : PCAVerification
            Mean squared distance from the projections, and a bound on its excess.

        Raises
        ------
        MemoryError
            If (m, m) values do not fit, m the smaller of n and d.

        Notes
        -----
        The covariance, or the inner products of the rows if they are fewer than the features, and
        one Cholesky factor of a matrix as large: O(n d m) time for dense rows, O(m³) more for all,
        and O(m²) memory. Rows are centred by the mean of the fit.

        Examples
        --------
        >>> import numpy as np
        >>> from mlcore.decomposition import PCA
        >>> X = np.random.default_rng(0).normal(size=(50, 8))
        >>> model = PCA(3, svd_solver="arpack").fit(X)
        >>> model.complete_, model.verify(X).complete
        (False, True)
        """
        settings = self._settings()
        self._check_ready()
        checked = self._check_X(X, reset=False, like=self.components_)
        n = self._complete(checked, "verify").shape[0]
        weight = None if sample_weight is None else as_weights(sample_weight, n)
        divisor = divisor_of(n if weight is None else weight.sum(), self.ddof, n, settings.owner)
        origin, units = self.origin_.astype(np.float64), self._units_
        mean = np.ldexp(self.mean_ - origin, -units.power)
        exponent = 0 if self.scale else int(units.power[0])
        next_value = np.ldexp(self.next_value_ * divisor, -2 * exponent)
        rows = CentredRows(checked, weight, origin, mean, *units)
        U = self.components_.T.astype(np.float64)
        found = verified(rows, U, float(next_value), divisor)
        objective, gap = np.ldexp([found.objective, found.duality_gap], 2 * exponent)
        return replace(found, objective=float(objective), duality_gap=float(gap))

    # ---- projections

    @single_threaded_blas()
    def transform(self, X: Any) -> Any:
        """Return the projections of the rows of `X`, (n_samples, n_components_), of the fit's type.

        Of rows with missing values they are those expected given the known values, which are the
        projections of `impute`.

        Parameters
        ----------
        X : array-like or sparse of shape (n_samples, n_features)

        Returns
        -------
        Y : (n_samples, n_components_)
            In the precision of the fit, or the frame of `set_output`.
        """
        self._check_ready()
        checked = self._filled(self._check_X(X, reset=False, like=self.components_))
        units, variances = self._units_, self._solution_
        center = np.ldexp(self.mean_, -units.power) / units.scale
        if sp.issparse(checked) and not mean_is_far(center, variances.along, variances.noise):
            U = self.components_.T.astype(np.float64) / self.scale_[:, None]
            products = CentredProducts(checked, np.ones(checked.shape[0]), self.mean_)
            out = products.times(U).astype(checked.dtype, copy=False)
        else:
            out = np.empty((checked.shape[0], self.n_components_), checked.dtype)
            # The mean comes off after the product, which spares a pass, where it is within a few
            # deviations of 0: it costs two bits at most, as many as the rounding of such data.
            if not self.scale and mean_is_near(center, self.components_, variances.along):
                place = (self.components_.astype(np.float64) @ self.mean_).astype(checked.dtype)
                for rows, block in row_blocks(checked):
                    np.matmul(block, self.components_.T, out=out[rows])
                    out[rows] -= place
            else:
                for rows, block in self._centred(checked):
                    np.matmul(block, self.components_.T, out=out[rows])
        if self.whiten:
            deviations = self._deviations()
            whitening = np.where(deviations > 0, 1 / np.where(deviations > 0, deviations, 1), 0)
            out *= whitening.astype(out.dtype)
        return self._wrap(out, X)

    @single_threaded_blas()
    def impute(self, X: Any) -> np.ndarray:
        """Return the rows with each missing value, NaN, replaced by its mean given the known ones.

        The mean is that of the normal distribution of `get_covariance`. What is known is kept bit
        for bit. It takes ``missing="ignore"``.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        values : (n_samples, n_features)
            A new array, of the type of the checked rows.

        Raises
        ------
        TypeError
            If X is sparse.
        ValueError
            If X has NaN and `missing` is "error", or the number of features differs.

        Examples
        --------
        >>> from mlcore.decomposition import PCA
        >>> X = [[1.0, 2.0], [2.0, 4.1], [3.0, 5.9], [4.0, 8.0], [5.0, 10.1]]
        >>> model = PCA(1, missing="ignore").fit(X)
        >>> model.impute([[6.0, float("nan")]]).round(1).tolist()
        [[6.0, 12.0]]
        """
        self._check_ready()
        checked = self._check_X(X, reset=False, accept_sparse=False, like=self.components_)
        return self._filled(checked) if self._incomplete(checked) else np.array(checked)

    def _filled(self, X):
        if not self._incomplete(X):
            return X
        rows, model = self._known_values(X)
        return rows.imputed(model)

    @single_threaded_blas()
    def inverse_transform(self, X: Any) -> np.ndarray:
        """Return the points (n_samples, n_features) of which the rows of `X` are projections.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_components_)

        Returns
        -------
        points : (n_samples, n_features)
            In the units of the samples.
        """
        self._check_ready()
        Y = as_samples(X, owner=type(self).__name__, like=self.components_)
        if Y.shape[1] != self.n_components_:
            raise ValueError(
                f"X has {Y.shape[1]} columns, but {type(self).__name__} has {self.n_components_} "
                "components."
            )
        if self.whiten:
            Y = Y * self._deviations().astype(Y.dtype)
        return ((Y @ self.components_) * self.scale_ + self.mean_).astype(Y.dtype, copy=False)

    @single_threaded_blas()
    def reconstruction_errors(self, X: Any) -> np.ndarray:
        """Return the squared distances (n_samples,), in units of `scale_`, of rows and projections.

        Parameters
        ----------
        X : array-like or sparse of shape (n_samples, n_features)

        Returns
        -------
        errors : (n_samples,)
            Squared distances.
        """
        self._check_ready()
        checked = self._check_X(X, reset=False, like=self.components_)
        self._complete(checked, "a reconstruction")
        out = np.empty(checked.shape[0])
        for rows, block in self._centred(checked):
            block = block - (block @ self.components_.T) @ self.components_
            out[rows] = np.einsum("ij,ij->i", block, block)
        return out

    def _centred(self, X):
        """Yield slices of rows, and the rows less the mean in units of `scale_`."""
        near = self.mean_.astype(X.dtype)
        rest = (self.mean_ - near).astype(X.dtype)
        scale = self.scale_.astype(X.dtype)
        for rows, block in row_blocks(X):
            block = block - near
            if rest.any():  # in float32: else the mean has been taken off
                block -= rest
            if self.scale:
                block /= scale
            yield rows, block

    def _deviations(self):
        exponent = 0 if self.scale else self._units_.power[0]
        return np.ldexp(np.sqrt(self._solution_.along), exponent)

    def _n_out(self):
        return self.n_components_

    # ---- the normal distribution of probabilistic principal components

    @single_threaded_blas()
    def score_samples(self, X: Any) -> np.ndarray:
        """Return the log density of each row of `X`, of missing values that of the known ones.

        The covariance is that of `get_covariance`. Without noise the density is that within the
        hull of the data, and that of other points is 0.

        Parameters
        ----------
        X : array-like or sparse of shape (n_samples, n_features)

        Returns
        -------
        log_densities : (n_samples,) float64
            Natural logarithms.
        """
        self._check_ready()
        checked = self._check_X(X, reset=False, like=self.components_)
        variances = self._solution_
        if variances.singular(self.n_features_in_):
            warn(
                "UserWarning",
                f"{type(self).__name__}: without discarded variance the density is that "
                f"within the hull of the data: choose n_components < rank_={self.rank_}.",
            )
        if self._incomplete(checked):
            return known_log_densities(*self._known_values(checked), self._units_)
        U = self.components_.astype(np.float64)
        return log_densities(checked, self.mean_, U, self._units_, variances)

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Return the mean log density of the rows of `X`.

        Parameters
        ----------
        X : array-like or sparse of shape (n_samples, n_features)
        y : ignored
        sample_weight : array-like of shape (n_samples,), optional

        Returns
        -------
        score : float
            Natural logarithm, mean over the rows.
        """
        densities = self.score_samples(X)
        weight = as_weights(sample_weight, len(densities))
        return float(np.average(densities[weight > 0], weights=weight[weight > 0]))

    @single_threaded_blas()
    def get_covariance(self) -> np.ndarray:
        """Return the covariance (n_features, n_features) of components and noise, float64.

        Returns
        -------
        covariance : (n_features, n_features) float64
            Of the model of probabilistic PCA.
        """
        self._check_ready()
        U, noise = self.components_.astype(np.float64), self.noise_variance_
        C = (U.T * (self.explained_variance_ - noise)) @ U
        C.flat[:: len(C) + 1] += noise
        return C * self.scale_[:, None] * self.scale_

    @single_threaded_blas()
    def get_precision(self) -> np.ndarray:
        """Return the inverse (n_features, n_features) of `get_covariance`.

        Returns
        -------
        precision : (n_features, n_features) float64
            Inverse of the covariance.

        Raises
        ------
        ValueError
            If there is no noise and the components do not span all features.
        """
        self._check_ready()
        U, noise = self.components_.astype(np.float64), self.noise_variance_
        variances = self.explained_variance_
        if noise > 0:
            P = (U.T * (1 / variances - 1 / noise)) @ U
            P.flat[:: len(P) + 1] += 1 / noise
        elif self.rank_ == U.shape[1]:
            P = (U.T / variances) @ U
        else:
            raise ValueError(
                f"{type(self).__name__}: the covariance is singular, as the discarded variance is "
                f"0: choose n_components < rank_={self.rank_}."
            )
        return P / self.scale_[:, None] / self.scale_
