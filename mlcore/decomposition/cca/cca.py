"""Canonical correlation analysis."""

from typing import Any, Self

import numpy as np

from mlcore.checks import as_bool, as_choice, as_integer, as_real
from mlcore.checks.errors import peer_class
from mlcore.decomposition.cca.canonical_pairs import (
    ScaledCovariances,
    by_cholesky,
    by_pivoted_cholesky,
    by_qr,
    canonical_pairs,
    column_correlations,
    whitened,
)
from mlcore.decomposition.cca.dimension_test import DimensionTest, dimension_test
from mlcore.decomposition.cca.two_blocks import (
    TwoBlocks,
    one_or_two,
    origin_of_both,
    powers_of_both,
    start,
)
from mlcore.decomposition.projection import projected
from mlcore.decomposition.summary import divisor_of
from mlcore.estimator.model import Regressor, Transformer, warn
from mlcore.numerics.scatter import in_range
from mlcore.runtime.threads import single_threaded_blas

_WELL_CONDITIONED = {np.dtype(np.float64): 1e-6, np.dtype(np.float32): 1e-3}


class CCA(Transformer, Regressor, TwoBlocks):
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
    statistics_ : tuple
        Weight, mean from `origin_` and scatter of all rows of X and Y side by side, in units of
        two to the power `powers_`: what `partial_fit` adds to.
    origin_ : (p + q,) float64
    powers_ : (p + q,) int64
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
    }

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
        self._check_parameters()
        # NaN and infinity are found in the sums, but for rows of weight 0, which these leave out.
        blocks, one_target = self._checked(
            X, y, sample_weight, reset=True, min_samples=2, check_finite=sample_weight is not None
        )
        origin = origin_of_both(blocks)
        powers = np.zeros(len(origin), np.int64)
        sums = self._sums(blocks, origin, powers)
        if not in_range(sums.scatter.diagonal(), blocks.X.dtype).all():
            powers = powers_of_both(blocks, origin)
            if powers.any():
                sums = self._sums(blocks, origin, powers)
        p = blocks.X.shape[1]
        state = self._solve(sums, origin, powers, p, blocks)
        self._set_fitted(X, **start(blocks, one_target, origin, powers), **state)
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

    def _check_parameters(self):
        owner = type(self).__name__
        as_integer(self.n_components, "n_components", owner=owner, at_least=1)
        as_bool(self.scale, "scale", owner=owner)
        as_integer(self.ddof, "ddof", owner=owner, at_least=0)
        self._alphas()

    def _alphas(self):
        owner = type(self).__name__
        pair = one_or_two(self.alpha, "alpha", owner)
        return [as_real(alpha, "alpha", owner=owner, at_least=0) for alpha in pair]

    def _solve(self, sums, origin, powers, p, blocks=None):
        """Return the fitted attributes that follow from the sums; `blocks` are all rows, if any."""
        # Threads delay small matrices, and those of the scatter may still be awake.
        with single_threaded_blas():
            return self._solved(sums, origin, powers, p, blocks)

    def _solved(self, sums, origin, powers, p, blocks):
        alphas = self._alphas()
        owner = type(self).__name__
        n_rows = len(blocks.X) if blocks is not None else int(min(sums.weight, 2**62))
        divisor = divisor_of(sums.weight, self.ddof, n_rows, owner)
        problem = ScaledCovariances(sums, powers, p, divisor, alphas, self.scale)
        problem.require_variance(owner)
        center = origin + np.ldexp(sums.mean, powers)
        factors, rcond = by_cholesky(problem.C, problem.ridge, problem.p)
        solver, C, R = "cholesky", problem.C, None
        if factors is not None and rcond.min() >= _WELL_CONDITIONED[origin.dtype]:
            M = whitened(C, factors, problem.p)
        elif blocks is not None:
            solver = "qr"
            R = problem.triangle(blocks, center)
            tol = max(n_rows, p, len(origin) - p) * np.finfo(origin.dtype).eps
            factors, M = by_qr(R, problem.ridge, problem.p, tol, n_rows - 1)
            C = R.T @ R
        else:
            solver = "pivoted cholesky"
            rounding = max(1000, len(C)) * np.finfo(origin.dtype).eps
            factors = by_pivoted_cholesky(C, problem.ridge, problem.p, rounding)
            M = whitened(C, factors, problem.p)
        pairs = canonical_pairs(factors, M, int(self.n_components))
        self._report(pairs, n_rows, solver, rcond, penalised=any(alphas))
        with np.errstate(all="ignore"):  # what overflows is refused below
            found = problem.in_units_of_the_data(pairs, C)
            found = {name: value.astype(origin.dtype) for name, value in found.items()}
        if not all(np.isfinite(value).all() for value in found.values()):
            raise ValueError(
                f"{owner}: the coefficients of the variates overflow {origin.dtype}: rescale the "
                "features of X and y."
            )
        orthogonality, off_diagonal = problem.evidence(
            pairs, C, R, float(np.finfo(origin.dtype).eps)
        )
        return found | {
            "all_correlations_": pairs.correlations,
            "x_mean_": center[:p],
            "y_mean_": center[p:],
            "intercept_": center[p:].astype(origin.dtype),
            **dict(zip(("x_rank_", "y_rank_"), pairs.ranks, strict=True)),
            "orthogonality_": orthogonality,
            "off_diagonal_": off_diagonal,
            "rcond_": rcond,
            "solver_": solver,
            "alpha_": np.array(alphas),
            "total_weight_": sums.weight,
            "statistics_": tuple(sums),
        }

    def _report(self, pairs, n_rows, solver, rcond, penalised):
        """Warn, once, of pairs that are cut or forced by the number of rows."""
        owner, reasons, most = type(self).__name__, [], min(pairs.ranks)
        if max(pairs.ranks) >= n_rows - 1 and not penalised:
            reasons.append(
                f"{n_rows} rows and features of rank {max(pairs.ranks)} make every correlation 1, "
                "whatever the data: use more rows, fewer features, or alpha"
            )
        if self.n_components > most:
            reasons.append(
                f"n_components={self.n_components} is cut to {most}, as the features of X have "
                f"rank {pairs.ranks[0]} and those of y rank {pairs.ranks[1]}"
            )
        if solver == "pivoted cholesky":
            reasons.append(
                f"features depend on each other, or nearly (rcond {rcond.min():.0e}), which sums "
                "of squares show to half the digits only: fit to all rows at once"
            )
        if reasons:
            warn("UserWarning", f"{owner}: {'; '.join(reasons)}.")

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
        found = self._wrap(projected(checked, self.x_mean_, self.x_rotations_), X)
        if Y is None:
            return found
        Y, _ = self._check_Y(Y, "Y", checked)
        return found, projected(Y, self.y_mean_, self.y_rotations_)

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

    def predict(self, X: Any, method: str = "regression") -> np.ndarray:
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
            found = projected(X, self.x_mean_, self.coef_.T)
        else:
            found = projected(X, self.x_mean_, self.x_rotations_) @ self.y_patterns_.T
        found += self.intercept_
        return found[:, 0] if self.one_target_ else found

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

    def _check_ready(self):
        self._check_fitted()
        if not hasattr(self, "x_rotations_"):
            raise peer_class("NotFittedError")(
                f"This {type(self).__name__} instance is not fitted yet: it has begun, but call "
                "'update', or 'partial_fit' with rows that vary, before using this estimator."
            )

    def _n_out(self):
        self._check_ready()
        return self.x_rotations_.shape[1]
