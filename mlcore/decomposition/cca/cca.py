"""Canonical correlation analysis."""

from typing import Any, Literal, NamedTuple, Self

import numpy as np

from mlcore.checks import (
    as_bool,
    as_choice,
    as_integer,
    as_real,
    as_samples,
    as_weights,
    scaled_weights,
)
from mlcore.decomposition.cca.canonical_pairs import (
    ScaledCovariances,
    canonical_pairs,
    column_correlations,
)
from mlcore.decomposition.cca.dimension_test import DimensionTest, dimension_test
from mlcore.decomposition.cca.two_blocks import (
    Blocks,
    as_columns,
    larger_powers_of_both,
    one_or_two,
    origin_of_both,
    powers_of_both,
    require_as_many,
)
from mlcore.decomposition.dual_functions import projected
from mlcore.decomposition.summary import divisor_of
from mlcore.estimator.model import Model, Regressor, Transformer, warn
from mlcore.numerics.scatter import (
    Scatter,
    in_larger_units,
    in_range,
    merged_scatter,
    require_in_units,
    scatter_side_by_side,
)
from mlcore.row_sums import OnePass
from mlcore.runtime.threads import single_threaded_blas


class _Settings(NamedTuple):
    """Checked parameters of a `CCA`."""

    owner: str
    k: int
    scale: bool
    alphas: tuple[float, float]
    ddof: int


class CCA(OnePass, Transformer, Regressor, Model):
    r"""Find pairs of directions along which two blocks of features correlate most.

    .. math:: \max_{u, v} u^T S_{xy} v, \quad u^T S_{xx} u = v^T S_{yy} v = 1,

    each pair uncorrelated with those before, for covariances S. The pairs are singular vectors,
    all computed at once; they come in descending order, and dependent features count once.

    Parameters
    ----------
    n_components : int, default=2
        Number of pairs. More than the rank of either block are cut, with a warning.
    scale : bool, default=True
        Compute with features of unit variance; False: of a variance near 1, by powers of two.
        Only rounding differs.
    alpha : float or (float, float), default=0.0
        Ridge added to the variances of both blocks, or of X and of Y: ``S_xx + alpha I``.
    ddof : int, default=1
        Covariances have the divisor W - ddof, with W the sum of the weights.

    Attributes
    ----------
    canonical_correlations_ : (k,)
        Descending, at least 0. With `alpha` they are those of the penalised problem.
    all_correlations_ : (m,) float64
        Those of all pairs, m the smaller of the ranks.
    x_rotations_ : (p, k), y_rotations_ : (q, k)
        Directions: centred data times these are the variates, of variance 1 (below with `alpha`).
    x_weights_ : (p, k), y_weights_ : (q, k)
        Directions for features of unit variance, made orthonormal in their order: those found one
        after the other where each pair is taken out of the features before the next.
    x_loadings_ : (p, k), y_loadings_ : (q, k)
        Correlations of the features with the variates of their own block.
    y_patterns_ : (q, k)
        Covariances of the features of Y with its variates, ``(S_yy + alpha I) V``.
    coef_ : (q, p), intercept_ : (q,)
        ``(X - x_mean_) coef_' + intercept_`` are the predictions; `intercept_` is the mean of Y.
    x_mean_ : (p,) float64, y_mean_ : (q,) float64
    x_rank_, y_rank_ : int
        Numbers of features that do not depend on each other.
    orthogonality_ : float
        Largest ``|U'(S_xx + alpha I)U - I|`` or of V, for the rounded directions, with what
        rounding may hide: 0 if exact.
    off_diagonal_ : float
        Largest ``|U'S_xy V|`` outside the diagonal, likewise.
    rcond_ : (2,) float64
        LAPACK's estimates of the reciprocal condition of both correlation matrices.
    solver_ : str
        "cholesky"; "qr" where the rows were needed again, as features depend on each other or
        nearly; "pivoted cholesky" where this was so, but only sums were at hand.
    alpha_ : (2,) float64
        The ridges of X and of Y.
    total_weight_ : float
    origin_ : (p + q,) float64
        Point near the first rows, from which sums are taken.
    one_target_ : bool
        True if Y was one-dimensional; predictions then are too.
    n_features_in_ : int
    feature_names_in_ : (p,) object

    Notes
    -----
    A fit takes O(n (p + q)²) time and O((p + q)²) memory, for n rows. Where a correlation matrix is
    nearly singular, rows are read once more and factorised by QR.

    References
    ----------
    H. Hotelling, *Relations between two sets of variates*, Biometrika 28, 1936. A. Björck, G.
    Golub, *Numerical methods for computing angles between linear subspaces*, Mathematics of
    Computation 27, 1973.

    Examples
    --------
    >>> import numpy as np
    >>> from mlcore.decomposition import CCA
    >>> X = np.array([[0.0, 1.0], [1.0, 0.0], [2.0, 2.0], [3.0, 1.0], [4.0, 5.0]])
    >>> model = CCA(n_components=1).fit(X, X[:, 0] - 2 * X[:, 1])
    >>> model.canonical_correlations_.round(6)
    array([1.])
    """

    _tags = {
        "target_tags.required": True,
        "target_tags.multi_output": True,
        "transformer_tags.preserves_dtype": ["float64", "float32"],
    }

    canonical_correlations_: np.ndarray
    all_correlations_: np.ndarray
    x_rotations_: np.ndarray
    y_rotations_: np.ndarray
    x_weights_: np.ndarray
    y_weights_: np.ndarray
    x_loadings_: np.ndarray
    y_loadings_: np.ndarray
    y_patterns_: np.ndarray
    coef_: np.ndarray
    intercept_: np.ndarray
    x_mean_: np.ndarray
    y_mean_: np.ndarray
    x_rank_: int
    y_rank_: int
    orthogonality_: float
    off_diagonal_: float
    rcond_: np.ndarray
    solver_: str
    alpha_: np.ndarray
    total_weight_: float
    origin_: np.ndarray
    one_target_: bool
    _units_: np.ndarray  # int (p + q,): sums are those of 2^-units x
    _sums_: Scatter  # of X and Y side by side
    _result = "all_correlations_"
    _Statistics = Scatter
    _stored = {
        "canonical_correlations_": "float k",
        "all_correlations_": "float64 a",
        "x_rotations_": "float f k",
        "y_rotations_": "float q k",
        "x_weights_": "float f k",
        "y_weights_": "float q k",
        "x_loadings_": "float f k",
        "y_loadings_": "float q k",
        "y_patterns_": "float q k",
        "coef_": "float q f",
        "intercept_": "float q",
        "x_mean_": "float64 f",
        "y_mean_": "float64 q",
        "x_rank_": "count",
        "y_rank_": "count",
        "orthogonality_": "float",
        "off_diagonal_": "float",
        "rcond_": "float64 2",
        "solver_": "text",
        "alpha_": "float64 2",
        "total_weight_": "float",
        "origin_": "float f+q",
        "one_target_": "bool",
        "_units_": "int f+q",
        "_sums_": Scatter,
    }
    _older = {"_sums_": (Scatter._make, "statistics")}

    _instead = {
        "max_iter": "drop it: all pairs are computed at once, without iteration",
        "tol": "drop it: all pairs are computed at once, without iteration",
        "copy": "drop it: X and y are never changed",
    }

    def __init__(
        self,
        n_components: int = 2,
        *,
        scale: bool = True,
        alpha: float | tuple[float, float] = 0.0,
        ddof: int = 1,
    ) -> None:
        self.n_components = n_components
        self.scale = scale
        self.alpha = alpha
        self.ddof = ddof

    # ---- fitting

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Find the pairs.

        Parameters
        ----------
        X : array-like of shape (n_samples, p)
        y : array-like of shape (n_samples, q) or (n_samples,)
            The second block of features, Y; computed in the precision of `X`.
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
            `ddof`, or no feature of a block varies.
        MemoryError
            If (p + q, p + q) values do not fit.
        """
        settings = self._settings()
        # NaN and infinity are found in the sums, but for rows of weight 0, which these leave out.
        blocks, one_target = self._checked(
            X, y, sample_weight, reset=True, min_samples=2, check_finite=sample_weight is not None
        )
        # Sums over both blocks side by side, in units in which they are in range.
        origin = origin_of_both(blocks)
        powers = np.zeros(len(origin), np.int64)
        sums = self._sum(blocks, origin, powers)
        if not in_range(sums.squares, blocks.X.dtype).all():
            powers = powers_of_both(blocks, origin)
            if powers.any():
                sums = self._sum(blocks, origin, powers)
        # The pairs, and the attributes in the units of the data.
        state = self._pairs(settings, sums, origin, powers, blocks.p, blocks)
        self._set_fitted(X, origin_=origin, _units_=powers, one_target_=one_target, **state)
        return self

    def fit_transform(
        self, X: Any, y: Any, sample_weight: Any = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Fit to both blocks, then return the variates of both, (n_samples, k) each.

        Parameters
        ----------
        X : array-like or sparse of shape (n_samples, n_features)
        y : array-like of shape (n_samples, q) or (n_samples,)
        sample_weight : array-like of shape (n_samples,), optional

        Returns
        -------
        x_variates, y_variates : (n_samples, k)
            As `transform` gives them.
        """
        return self.fit(X, y, sample_weight).transform(X, y)

    def _settings(self):
        owner = type(self).__name__
        pair = one_or_two(self.alpha, "alpha", owner)
        return _Settings(
            owner,
            as_integer(self.n_components, "n_components", owner=owner, at_least=1),
            as_bool(self.scale, "scale", owner=owner),
            tuple(as_real(alpha, "alpha", owner=owner, at_least=0) for alpha in pair),
            as_integer(self.ddof, "ddof", owner=owner, at_least=0),
        )

    def _from_older_state(self, state):
        for old, new in (("powers_", "_units_"), ("statistics_", "_statistics")):
            if old in state:  # 0.2
                state[new] = state.pop(old)
        return super()._from_older_state(state)

    def _check_loaded(self):
        if self._sums_ is not None and self._sums_.mean.shape != self.origin_.shape:
            raise ValueError("CCA has sums over other features than it has.")
        super()._check_loaded()

    def _checked(self, X, y, sample_weight, *, reset, min_samples=1, check_finite=True):
        """Return the rows of positive weight, and True if `y` has one dimension."""
        if not reset:
            self._check_fitted()
        like = None if reset else self.origin_
        X = self._check_X(
            X, reset=reset, like=like, min_samples=min_samples, check_finite=check_finite
        )
        Y, one_target = self._check_Y(y, "y", X, reset, check_finite)
        if sample_weight is None:
            return Blocks(X, Y, None), one_target
        weight = as_weights(sample_weight, len(X))
        present = weight > 0
        if not present.all():
            X, Y, weight = X[present], Y[present], weight[present]
        return Blocks(X, Y, weight), one_target

    def _check_Y(self, Y, name, X, reset=False, check_finite=True):
        """Return the second block in the precision of X, and True if it has one dimension."""
        owner = type(self).__name__
        columns, one_target = as_columns(Y, name, owner)
        Y = as_samples(columns, name=name, owner=owner, like=X.dtype, check_finite=check_finite)
        require_as_many(X, Y, name)
        if not reset and Y.shape[1] != len(self.origin_) - self.n_features_in_:
            raise ValueError(
                f"{name} has {Y.shape[1]} columns, but {owner} was fitted to "
                f"{len(self.origin_) - self.n_features_in_}."
            )
        return Y, one_target

    def _sum(self, blocks, origin, powers):
        """Return the sums over X and Y side by side, of ``2^-powers x``."""
        weight, power = scaled_weights(blocks.weight, plain=0)
        center, owner = origin.astype(np.float64), type(self).__name__
        sums = scatter_side_by_side(blocks.X, blocks.Y, weight, center, power=powers, owner=owner)
        weight = float(np.ldexp(sums.weight, power))
        return Scatter(weight, sums.mean, np.ldexp(sums.scatter, power))

    @single_threaded_blas()  # threads delay small matrices, and those of the scatter may be awake
    def _pairs(self, settings, sums, origin, powers, p, blocks=None):
        """Return the fitted attributes that follow from the sums; `blocks` are all rows, if any."""
        owner, dtype = settings.owner, origin.dtype
        # The covariances of the features that vary, and factors of both blocks of them.
        n_rows = len(blocks.X) if blocks is not None else int(min(sums.weight, 2**62))
        divisor = divisor_of(sums.weight, settings.ddof, n_rows, owner)
        problem = ScaledCovariances(sums, powers, p, divisor, settings.alphas, settings.scale)
        problem.require_variance(owner)
        center = origin + np.ldexp(sums.mean, powers)
        factored = problem.factorised(blocks, center, dtype, n_rows)
        # The pairs: singular vectors of the covariances of whitened features.
        pairs = canonical_pairs(factored.factors, factored.M, settings.k)
        self._report(settings, pairs, n_rows, factored)
        # The directions in the units and the type of the data.
        with np.errstate(all="ignore"):  # what overflows is refused below
            x, y = problem.in_units_of_the_data(pairs, factored.C)
            rho = pairs.correlations[: x.rotations.shape[1]]
            state = {
                "canonical_correlations_": rho,
                "x_weights_": x.weights,
                "x_rotations_": x.rotations,
                "x_loadings_": x.loadings,
                "y_weights_": y.weights,
                "y_rotations_": y.rotations,
                "y_loadings_": y.loadings,
                "y_patterns_": y.patterns,
                "coef_": (y.patterns * rho) @ x.rotations.T,
            }
            state = {name: value.astype(dtype) for name, value in state.items()}
        if not all(np.isfinite(value).all() for value in state.values()):
            raise ValueError(
                f"{owner}: the coefficients of the variates overflow {dtype}: rescale the "
                "features of X and y."
            )
        eps = float(np.finfo(dtype).eps)
        orthogonality, off_diagonal = problem.evidence(pairs, factored.C, factored.R, eps)
        return state | {
            "all_correlations_": pairs.correlations,
            "x_mean_": center[:p],
            "y_mean_": center[p:],
            "intercept_": center[p:].astype(dtype),
            "x_rank_": pairs.ranks[0],
            "y_rank_": pairs.ranks[1],
            "orthogonality_": orthogonality,
            "off_diagonal_": off_diagonal,
            "rcond_": factored.rcond,
            "solver_": factored.solver,
            "alpha_": np.array(settings.alphas),
            "total_weight_": sums.weight,
            "_sums_": sums,
        }

    def _report(self, settings, pairs, n_rows, factored):
        """Warn, once, of pairs that are cut or forced by the number of rows."""
        reasons, most = [], min(pairs.ranks)
        if max(pairs.ranks) >= n_rows - 1 and not any(settings.alphas):
            reasons.append(
                f"{n_rows} rows and features of rank {max(pairs.ranks)} make every correlation 1, "
                "whatever the data: use more rows, fewer features, or alpha"
            )
        if settings.k > most:
            reasons.append(
                f"n_components={settings.k} is cut to {most}, as the features of X have "
                f"rank {pairs.ranks[0]} and those of y rank {pairs.ranks[1]}"
            )
        if factored.solver == "pivoted cholesky":
            reasons.append(
                f"features depend on each other, or nearly (rcond {factored.rcond.min():.0e}), "
                "which sums of squares show to half the digits only: fit to all rows at once"
            )
        if reasons:
            warn("UserWarning", f"{settings.owner}: {'; '.join(reasons)}.")

    # ---- the same, by sums over blocks of rows

    def begin(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Choose the origin of the sums: a point near these first rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, p)
        y : array-like of shape (n_samples, q) or (n_samples,)
        sample_weight : array-like of shape (n_samples,), optional

        Returns
        -------
        self
            This model.
        """
        self._settings()
        blocks, one_target = self._checked(X, y, sample_weight, reset=True)
        origin = origin_of_both(blocks)
        powers = powers_of_both(blocks, origin)
        self._set_fitted(X, origin_=origin, _units_=powers, one_target_=one_target)
        return self

    def partial_statistics(self, X: Any, y: Any = None, sample_weight: Any = None) -> Scatter:
        """Return weight, mean and scatter of rows of X and Y side by side.

        Parameters
        ----------
        X : array-like of shape (n_samples, p)
        y : array-like of shape (n_samples, q) or (n_samples,)
        sample_weight : array-like of shape (n_samples,), optional

        Returns
        -------
        statistics : Scatter
            Sums over these rows.
        """
        blocks, _ = self._checked(X, y, sample_weight, reset=False)
        sums = self._sum(blocks, self.origin_, self._units_)
        return require_in_units(sums, type(self).__name__)

    def merge(self, a: Scatter, b: Scatter) -> Scatter:
        """Return the statistics of the rows of both.

        Parameters
        ----------
        a, b : Scatter
            From `partial_statistics`, after the same `begin`.

        Returns
        -------
        statistics : Scatter
            Their sums.
        """
        return merged_scatter(a, b)

    def update(self, statistics: Scatter) -> Self:
        """Find the pairs from the statistics of all rows.

        Parameters
        ----------
        statistics : Scatter
            From `partial_statistics`, merged.

        Returns
        -------
        self
            This model.
        """
        settings = self._settings()
        self._check_fitted()
        if not isinstance(statistics, Scatter) or statistics.mean.shape != self.origin_.shape:
            raise ValueError(
                f"{type(self).__name__}: statistics must come from partial_statistics of a model "
                "that has begun with as many features."
            )
        self._update_state(
            self._pairs(settings, statistics, self.origin_, self._units_, self.n_features_in_)
        )
        return self

    def _update_so_far(self, statistics):
        settings, p, varies = self._settings(), self.n_features_in_, statistics.squares > 0
        if statistics.weight > settings.ddof and varies[:p].any() and varies[p:].any():
            self.update(statistics)
        else:
            self._update_state({"_sums_": statistics, "total_weight_": statistics.weight})

    def _in_larger_units(self, sums, X, y, sample_weight):
        blocks, _ = self._checked(X, y, sample_weight, reset=False)
        larger = larger_powers_of_both(self._units_, blocks, self.origin_)
        step, self._units_ = larger - self._units_, larger
        return None if sums is None else in_larger_units(sums, step)

    # ---- later calls

    def transform(self, X: Any, Y: Any = None) -> Any:
        """Return the variates of rows of X, and of Y if it is given.

        Parameters
        ----------
        X : array-like of shape (n_samples, p)
        Y : array-like of shape (n_samples, q) or (n_samples,), optional

        Returns
        -------
        x_variates : (n_samples, k)
            Of the rows of X.
        y_variates : (n_samples, k), only with `Y`
            Of the rows of Y.
        """
        self._check_ready()
        checked = self._check_X(X, reset=False, like=self.origin_)
        variates = self._wrap(projected(checked, self.x_mean_, self.x_rotations_), X)
        if Y is None:
            return variates
        Y, _ = self._check_Y(Y, "Y", checked)
        return variates, projected(Y, self.y_mean_, self.y_rotations_)

    def correlations(self, X: Any, Y: Any) -> np.ndarray:
        """Return the correlations of the variates over other rows than those of the fit.

        Parameters
        ----------
        X : array-like of shape (n_samples, p)
            At least two rows.
        Y : array-like of shape (n_samples, q) or (n_samples,)

        Returns
        -------
        rho : (k,) float64
            In [-1, 1]; 0 for a variate that does not vary.
        """
        self._check_ready()
        X = self._check_X(X, reset=False, like=self.origin_, min_samples=2)
        Y, _ = self._check_Y(Y, "Y", X)
        x = projected(X, self.x_mean_, self.x_rotations_)
        return column_correlations(x, projected(Y, self.y_mean_, self.y_rotations_))

    def predict(self, X: Any, method: Literal["regression", "equate"] = "regression") -> np.ndarray:
        """Return predictions of Y for rows of X.

        Parameters
        ----------
        X : array-like of shape (n_samples, p)
        method : {"regression", "equate"}, default="regression"
            "regression": from each variate of X the part of its partner that it explains; least
            squares (with `alpha`, ridge) regression if k is the rank of either block. "equate":
            the Y nearest to its mean, by ``S_yy^-1``, whose variates are equal to those of X.

        Returns
        -------
        y : (n_samples, q), or (n_samples,) if the `y` of the fit had one dimension
            In the units of the `y` of the fit.
        """
        as_choice(method, "method", ("regression", "equate"), owner=type(self).__name__)
        self._check_ready()
        X = self._check_X(X, reset=False, like=self.origin_)
        if method == "regression":
            predicted = projected(X, self.x_mean_, self.coef_.T)
        else:
            predicted = projected(X, self.x_mean_, self.x_rotations_) @ self.y_patterns_.T
        predicted += self.intercept_
        return predicted[:, 0] if self.one_target_ else predicted

    def dimension_test(self) -> DimensionTest:
        """Return tests of how many correlations are not 0, for normal data.

        Returns
        -------
        DimensionTest
            Entry j tests that all correlations from the j-th on are 0; weights count as copies.

        Raises
        ------
        ValueError
            If the fit was with `alpha`.
        """
        self._check_ready()
        if self.alpha_.any():
            raise ValueError(
                f"{type(self).__name__}: alpha={self.alpha_.tolist()} changes the distribution of "
                "the correlations: dimension_test needs a fit with alpha=0."
            )
        ranks = self.x_rank_, self.y_rank_
        return dimension_test(self.all_correlations_, self.total_weight_, *ranks)

    def _n_out(self):
        self._check_ready()
        return self.x_rotations_.shape[1]
