"""Linear discriminant analysis: classes of normal distributions with one covariance matrix."""

from typing import Any, Literal, NamedTuple, Self

import numpy as np
from scipy import sparse as sp

from mlcore.checks import as_bool, as_class_weights, as_integer, as_real, as_weights
from mlcore.decomposition.cca.dimension_test import DimensionTest, dimension_test
from mlcore.discriminant.bayes_error import bhattacharyya_bound, error_of_two_normals
from mlcore.discriminant.class_covariances import Regularisation
from mlcore.discriminant.class_scatters import ClassRows, ClassScatters
from mlcore.discriminant.class_sums import ClassSums, class_sums_in_range
from mlcore.discriminant.directions import by_priors, discriminant_directions
from mlcore.discriminant.known_parameters import ClassMeans, centred_intercept, linear_state
from mlcore.discriminant.leave_one_out import (
    features_of_refits,
    filled_columns,
    leave_one_out_log_posteriors,
    regularised_posteriors,
    require_rows_of_fit,
)
from mlcore.discriminant.normal_classes import NormalClasses
from mlcore.discriminant.shrinkage import ShrinkageRule, checked_shrinkage
from mlcore.estimator.model import Transformer, warn
from mlcore.runtime.threads import items_per_call, single_threaded_blas


class _Settings(NamedTuple):
    """Checked parameters of a `LinearDiscriminantAnalysis`."""

    shrinkage: float | str
    tol: float
    unbiased: bool


class LinearDiscriminantAnalysis(NormalClasses, Transformer):
    r"""Classify by normal distributions that share one covariance matrix, and project onto them.

    A sample goes to the class j of the largest score

    .. math:: x' S_w^{-1} \mu_j - \tfrac12 \mu_j' S_w^{-1} \mu_j + \ln \pi_j, \qquad
        S_w = \tfrac1W \sum_i w_i (x_i - \mu_{y_i})(x_i - \mu_{y_i})',

    with the means of the classes and the scatter of the samples about them. `transform` projects
    onto the directions that separate the means best in units of the deviation within classes.

    Parameters
    ----------
    n_components : int or None, default=None
        Columns of `transform`, at most min(n_classes - 1, n_features); None is all.
    priors : array-like of shape (n_classes,) or None, default=None
        Probabilities of the classes, in the order of `classes_`, divided by their sum with a
        warning if it is not 1; None is their shares of weight.
    shrinkage : float in [0, 1], "auto", "oas" or None, default=None
        Part of the correlations within classes that is replaced by 0: S_w becomes ``(1 - s) S_w +
        s diag(S_w)``. "auto" estimates it after Ledoit and Wolf, "oas" after Chen et al.
    class_weight : dict, "balanced" or None, default=None
        Factor of the weights of each class; "balanced" gives all classes the same weight.
    unbiased : bool, default=False
        True to divide by W less the number of classes, instead of W.
    tol : float, default=1e-10
        Share of a feature's variance that must not follow from the other features; else it is
        left out.

    Attributes
    ----------
    classes_ : (n_classes,) sorted labels
    priors_ : (n_classes,) float64
    means_ : (n_classes, n_features) float64
    xbar_ : (n_features,) float64
        Mean of the means of the classes, weighted by the priors: by default that of all samples.
    coef_ : (n_classes, n_features) or (1, n_features), in the type of the training data
        ``S_w^-1 (mu_j - xbar)``; for two classes the difference of the second and the first.
    intercept_ : (n_classes,) or (1,), in the type of the training data
    scalings_ : (n_features, q) float64
        Directions in which samples have variance 1 within classes, those first that separate best
        the means of the classes, weighted by the priors.
    explained_variance_ratio_ : (n_components,) float64
        Shares of the variance between classes, so weighted, in these directions.
    canonical_correlations_ : (q,) float64
        Of the samples with the classes, whatever the priors; a model of known parameters has those
        of its population.
    covariance_ : (n_features, n_features) float64
        S_w, shrunk if asked.
    shrinkage_ : float
    rank_ : int
        Number of features kept.
    dropped_features_ : (n_dropped,) intp
        Features that are constant or linear combinations of others; they have no coefficients.
    n_separated_ : int
        Directions in which the samples of a class are equal, so that classes separate exactly.
    total_weight_ : float
        Of all samples, class weights included; 0 for a model of known parameters.
    n_features_in_ : int
    feature_names_in_ : (n_features,) object

    Warns
    -----
    UserWarning
        If the features are too many for the samples, so that S_w has no inverse, and no shrinkage
        is asked: its pseudo-inverse is used.

    Notes
    -----
    O(n d² + d³) time, data + O(d²) memory. The scatter of all samples is factored, not that within
    classes, so that a feature which separates exactly is kept. A model is a `RowSums`: its fit may
    be computed from blocks of rows, or by `partial_fit`, in O(c d²) memory; shrinkage="auto" then
    takes three times the time and memory, for moments of fourth order.

    References
    ----------
    R. Fisher, *The use of multiple measurements in taxonomic problems*, Annals of Eugenics 7,
    1936.
    O. Ledoit, M. Wolf, *A well-conditioned estimator for large-dimensional covariance matrices*,
    Journal of Multivariate Analysis 88, 2004.
    Y. Chen, A. Wiesel, Y. Eldar, A. Hero, *Shrinkage algorithms for MMSE covariance estimation*,
    IEEE Transactions on Signal Processing 58, 2010.

    Examples
    --------
    >>> from mlcore.datasets import load_iris
    >>> from mlcore.discriminant import LinearDiscriminantAnalysis
    >>> X, y = load_iris()
    >>> model = LinearDiscriminantAnalysis().fit(X, y)
    >>> int((model.predict(X) != y).sum())
    3
    >>> model.explained_variance_ratio_.round(4)
    array([0.9912, 0.0088])
    """

    xbar_: np.ndarray
    coef_: np.ndarray
    intercept_: np.ndarray
    scalings_: np.ndarray
    explained_variance_ratio_: np.ndarray
    canonical_correlations_: np.ndarray
    covariance_: np.ndarray
    shrinkage_: float
    rank_: int
    dropped_features_: np.ndarray
    n_separated_: int
    total_weight_: float
    _solution_: ClassMeans

    _tags = {"input_tags.sparse": True, "transformer_tags.preserves_dtype": ["float64", "float32"]}
    _stored = {
        "means_": "float64 c f",
        "xbar_": "float64 f",
        "coef_": "float c' f",
        "intercept_": "float c'",
        "scalings_": "float64 f v?",
        "explained_variance_ratio_": "float64 v?",
        "canonical_correlations_": "float64 v?",
        "covariance_": "float64 f f",
        "shrinkage_": "float",
        "rank_": "count",
        "dropped_features_": "int z? < f",
        "n_separated_": "count",
        "total_weight_": "float",
        "_solution_": ClassMeans,
    }
    _older = {
        "_units_": "powers",
        "_solution_": (ClassMeans, "shift", "offsets"),
        "_sums_": (ClassScatters._make, "statistics"),
        "solver": None,
    }

    _instead = {
        "covariance_estimator": 'use shrinkage="auto", "oas" or a number',
        "solver": "drop it: there is one way, by the scatter or, where that is better, the rows",
        "store_covariance": "drop it: covariance_ is always there",
    }

    def __init__(
        self,
        *,
        n_components: int | None = None,
        priors: Any = None,
        shrinkage: float | ShrinkageRule | None = None,
        class_weight: dict[Any, Any] | Literal["balanced"] | None = None,
        unbiased: bool = False,
        tol: float = 1e-10,
    ) -> None:
        self.n_components = n_components
        self.priors = priors
        self.shrinkage = shrinkage
        self.class_weight = class_weight
        self.unbiased = unbiased
        self.tol = tol

    @classmethod
    def from_parameters(
        cls, means: Any, covariance: Any, priors: Any = None, classes: Any = None
    ) -> Self:
        """Return the model of known parameters: with them, the Bayes classifier.

        Parameters
        ----------
        means : array-like of shape (n_classes, n_features)
        covariance : array-like of shape (n_features, n_features)
        priors : array-like of shape (n_classes,) or None, default=None
            Probabilities of the classes; None is equal ones.
        classes : array-like of shape (n_classes,) or None, default=None
            Labels, sorted; None is 0, 1, ...

        Returns
        -------
        model

        Raises
        ------
        ValueError
            For shapes that do not fit, and a covariance that is not positive definite.

        Examples
        --------
        >>> from mlcore.discriminant import LinearDiscriminantAnalysis as LDA
        >>> model = LDA.from_parameters([[-1.0], [1.0]], [[1.0]], [0.7, 0.3])
        >>> round(model.bayes_error(), 7)
        0.1387485
        """
        return cls._of_parameters(means, covariance, priors, classes, "covariance")

    def _state_of(self, means, covariances, classes):
        return linear_state(self, means, covariances[0], classes)

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Estimate means, priors and the covariance matrix within classes.

        Parameters
        ----------
        X : array-like or sparse of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
        sample_weight : array-like of shape (n_samples,), optional
            A weight of 2 stands for two copies of a sample, 0 for its absence.

        Returns
        -------
        self
            This model.

        Raises
        ------
        ValueError
            If `X` holds NaN, infinity or values too large to square, if there are fewer than two
            classes, or no more samples than classes.
        """
        settings = self._settings()
        # The samples of positive weight, of which there are more than classes.
        # The sums show NaN too, but not that of rows without weight, which are left out.
        checked = self._check_X(X, reset=True, check_finite=sample_weight is not None)
        n = checked.shape[0]
        classes, codes, weight, rows = self._weighted_labels(y, sample_weight, n)
        if len(rows) < n:
            checked, weight = checked[rows], weight[rows]
        if len(codes) <= len(classes):
            raise ValueError(
                f"{type(self).__name__}: n_samples={len(codes)} of {len(classes)} classes. The "
                "number of samples must be more than the number of classes, or nothing tells the "
                "variance within classes."
            )
        weight = weight * self._class_factors(classes, codes, weight)[codes]
        shares = np.bincount(codes, weights=weight)
        self._n_components(len(classes), checked.shape[1])
        self._checked_priors(shares / shares.sum())
        # Their sums, and the directions by these, or where they lose digits by the rows.
        sums = class_sums_in_range(checked, codes, weight, shares, type(self).__name__)
        data = ClassRows(checked, codes, weight, sums.origin.astype(np.float64), sums.power)
        directions = self._directions(classes, sums, settings, data)
        state = self._attributes(classes, directions, settings)
        if self.class_weight is None and settings.shrinkage != "auto":  # for partial_fit
            sums = directions.sums
            scatters = (directions.within * sums.total)[None]
            state["_sums_"] = ClassScatters(classes, shares, sums.means + sums.mean, scatters)
        self._set_fitted(X, **state)
        return self

    def _estimated(self, sums, settings, origin, power):
        classes, d, factors = sums.classes, len(origin), np.ones(len(sums.classes))
        if self.class_weight is not None:
            if sums.pooled:
                raise ValueError(
                    f"{type(self).__name__}: class_weight needs the scatter of each class, but the "
                    "fit without it has formed that of all: begin with partial_fit on a new model."
                )
            factors = self._class_factors(classes, np.arange(len(classes)), sums.weights)
            sums = sums._replace(
                weights=sums.weights * factors, scatters=sums.scatters * factors[:, None, None]
            )
        whole, total = sums.total(), float(sums.weights.sum())
        class_sums = ClassSums(
            total,
            sums.weights / total,
            origin,
            whole.mean,
            sums.means - whole.mean,
            whole.scatter / total,
            power,
            sums.scatters.sum(axis=0) / total,
            None if sums.higher is None else np.tensordot(factors, sums.higher[:, 1], 1) / total,
        )
        self._n_components(len(classes), d)
        return self._attributes(classes, self._directions(classes, class_sums, settings), settings)

    def _class_factors(self, classes, codes, weight):
        factors = as_class_weights(self.class_weight, classes, codes, weight)
        if not factors.all():
            raise ValueError(
                f"class_weight must be positive for every class of {type(self).__name__}."
            )
        return factors

    def _n_components(self, c, d):
        """Return the number of columns of `transform`, checked."""
        most = min(c - 1, d)
        if self.n_components is None:
            return most
        owner = type(self).__name__
        wanted = as_integer(self.n_components, "n_components", owner=owner, at_least=1)
        if wanted > most:
            raise ValueError(
                f"{owner}: n_components cannot be larger than min(n_features, n_classes - 1)="
                f"{most}, but is {wanted}."
            )
        return wanted

    def _directions(self, classes, sums, settings, rows=None):
        """Return the directions by the sums, and the rows, if any, and warn of what they lack."""
        owner, c = type(self).__name__, len(classes)
        if settings.unbiased and sums.total <= c:
            raise ValueError(
                f"unbiased=True divides by the total weight {sums.total:g} less the number of "
                f"classes={c}, which must be positive: pass unbiased=False."
            )
        with single_threaded_blas():
            directions = discriminant_directions(rows, sums, settings.shrinkage, settings.tol)
        if directions.pseudo_inverse:
            n_samples = sums.total if rows is None else len(rows.codes)
            warn(
                "UserWarning",
                f"{owner}: {directions.rank} independent features are too many for "
                f"{n_samples:g} samples of {c} classes: their covariance matrix within classes has "
                "no inverse, and its pseudo-inverse is used. Shrinkage, as by shrinkage='oas', "
                "often predicts better.",
            )
        if directions.from_sums:
            warn(
                "UserWarning",
                f"{owner}: features depend on each other, nearly, which sums of "
                "squares show to half the digits only: fit to all rows at once.",
            )
        return directions

    def _attributes(self, classes, directions, settings):
        """Return the attributes that follow from the directions, in the units of the data."""
        sums, c = directions.sums, len(classes)
        # Directions and means for classes of these priors.
        divisor = (sums.total - c) / sums.total if settings.unbiased else 1.0
        priors, scalings = self._priors_from(sums.shares), directions.scalings
        strengths = ratios = directions.strengths
        if self.priors is not None:  # the classes make up another population than the samples
            scalings, ratios = by_priors(directions, priors)
            moved = priors @ sums.means
            sums = sums._replace(mean=sums.mean + moved, means=sums.means - moved)
        scalings = scalings * np.sqrt(divisor)
        coef = (sums.means @ scalings) @ scalings.T  # the means are relative to that of all
        # The same in the units of the data.
        power, center = sums.power, sums.center
        offsets = np.ldexp(sums.means, power)
        scalings = np.ldexp(scalings, -power[:, None])
        coef = np.ldexp(coef, -power)
        if c == 2:
            coef = coef[1:] - coef[:1]
        with np.errstate(divide="ignore"):
            intercept = centred_intercept(priors, coef, offsets) - coef @ center
        covariance = directions.covariance if divisor == 1 else directions.covariance / divisor
        if power.any():
            covariance = np.ldexp(covariance, power[:, None] + power)
        ratios = ratios / (ratios.sum() or 1.0)
        dtype = sums.origin.dtype
        with np.errstate(over="ignore", under="ignore"):
            coef, intercept = coef.astype(dtype), intercept.astype(dtype)
        return {
            "classes_": classes,
            "priors_": priors,
            "means_": center + offsets,
            "xbar_": center,
            "coef_": coef,
            "intercept_": intercept,
            "scalings_": scalings,
            "explained_variance_ratio_": ratios[: self._n_components(c, len(center))],
            "canonical_correlations_": np.sqrt(strengths / (1 + strengths)),
            "covariance_": covariance,
            "shrinkage_": directions.shrinkage,
            "rank_": directions.rank,
            "dropped_features_": directions.dropped,
            "n_separated_": directions.n_separated,
            "total_weight_": float(sums.total),
            "origin_": sums.origin,
            "_units_": power,
            "_solution_": ClassMeans(np.ldexp(sums.mean, power), offsets),
        }

    def _settings(self):
        owner = type(self).__name__
        return _Settings(
            0.0 if self.shrinkage is None else checked_shrinkage(self.shrinkage, owner),
            as_real(self.tol, "tol", owner=owner, above=0, below=1),
            as_bool(self.unbiased, "unbiased", owner=owner),
        )

    def decision_function(self, X: Any) -> np.ndarray:
        """Return scores, (n_samples, n_classes), or (n_samples,) for two classes.

        They are log posterior probabilities up to a term of each sample; for two classes the log
        odds of the second.

        Parameters
        ----------
        X : array-like or sparse of shape (n_samples, n_features)

        Returns
        -------
        scores : (n_samples,) or (n_samples, n_classes)
            One column for two classes.
        """
        projected = self._products(self._check_X_as_fitted(X), self.scalings_)
        places = self._solution_.offsets @ self.scalings_  # of the means
        with np.errstate(divide="ignore"):
            log_priors = np.log(self.priors_)
        if len(places) == 2:
            projected -= places.sum(axis=0) / 2
            return projected @ (places[1] - places[0]) + (log_priors[1] - log_priors[0])
        return projected @ places.T + (log_priors - np.square(places).sum(axis=1) / 2)

    def transform(self, X: Any) -> Any:
        """Return ``(X - xbar_) @ scalings_``, the first `n_components` columns.

        Parameters
        ----------
        X : array-like or sparse of shape (n_samples, n_features)

        Returns
        -------
        Y : (n_samples, n_components)
            Samples within a class have covariance 1.
        """
        original = X
        X = self._check_X_as_fitted(X)
        projected = self._products(X, self.scalings_[:, : self._n_out()])
        return self._wrap(projected.astype(X.dtype, copy=False), original)

    # ---- errors and tests, without refits

    def leave_one_out(self, X: Any, y: Any, sample_weight: Any = None) -> np.ndarray:
        """Return log posterior probabilities of each sample from the fit to all others.

        They are those of n refits, by formulas: in O(n d²) time, with shrinkage O(n d³).

        Parameters
        ----------
        X : array-like or sparse of shape (n_samples, n_features)
            The samples of the fit, as `y` and `sample_weight`.
        y : array-like of shape (n_samples,)
        sample_weight : array-like of shape (n_samples,), optional

        Returns
        -------
        log_posteriors : (n_samples, n_classes) float64
            Columns in the order of `classes_`.

        Raises
        ------
        ValueError
            With shrinkage "auto" or "oas" or class weights, which change with the samples, and if
            a covariance has no inverse.
        """
        # The samples are those of the fit.
        if self.class_weight is not None:
            raise ValueError("leave_one_out needs class_weight=None.")
        settings, classes, owner = self._settings(), self.classes_, type(self).__name__
        X = self._check_X_as_fitted(X)
        codes = self._known_codes(y, X.shape[0])
        weight = as_weights(sample_weight, X.shape[0])
        if not np.isclose(weight.sum(), self.total_weight_, rtol=1e-9, atol=0):
            raise ValueError(
                f"leave_one_out needs the samples of the fit, of the total weight "
                f"{self.total_weight_:g}, not {weight.sum():g}."
            )
        rows = ClassRows(X, codes, weight, self.origin_.astype(np.float64), self._units_)
        shift, means = self._solution_
        dtype = self.origin_.dtype
        require_rows_of_fit(rows, np.ldexp(means + shift, -self._units_), classes, dtype.itemsize)
        kept = np.setdiff1d(np.arange(X.shape[1]), self.dropped_features_)
        priors = None if self.priors is None else self.priors_
        if settings.shrinkage:
            pooled = Regularisation(0.0, 1.0, settings.shrinkage, settings.unbiased)
            ridge = np.zeros(X.shape[1])
            return regularised_posteriors(rows, classes, pooled, kept, ridge, priors, dtype, owner)
        # Rows without which the same features vary are left out together.
        filled = filled_columns(rows, kept)
        chosen_columns = X[:, kept].toarray() if sp.issparse(X) else X[:, kept]
        offsets = chosen_columns - self.origin_[kept].astype(np.float64) - shift[kept]
        divisor = weight.sum() - (len(classes) if self.unbiased else 0)
        eps = float(np.finfo(dtype).eps)
        out = np.empty((len(codes), len(classes)))
        with single_threaded_blas():
            for places, features in features_of_refits(filled, len(codes), len(kept)):
                chosen = kept[features]
                if len(places):
                    out[places] = leave_one_out_log_posteriors(
                        offsets[:, features], codes, weight, means[:, chosen],
                        self.covariance_[np.ix_(chosen, chosen)], divisor, priors, eps, places,
                    )  # fmt: skip
        return out

    def bayes_error(self) -> float:
        """Return the probability of error of these classes, if the parameters are the true ones.

        For two classes it is exact; else the return value is Bhattacharyya's bound, the sum of that
        of all pairs, which the error does not exceed.

        Returns
        -------
        error : float
            From 0 to 1.
        """
        self._check_ready()
        means = self._solution_.offsets @ self.scalings_
        if len(means) == 2:
            return error_of_two_normals(float(np.linalg.norm(means[1] - means[0])), self.priors_)
        return bhattacharyya_bound(means, np.eye(means.shape[1])[None], self.priors_)

    def dimension_test(self) -> DimensionTest:
        """Return tests of how many directions separate the classes, for normal data.

        Returns
        -------
        DimensionTest
            Entry j tests that the means of the classes lie in j dimensions, which canonical
            correlations of 0 from the j-th on tell; weights count as copies.

        Raises
        ------
        ValueError
            With shrinkage or class weights, which change the distribution, and of a model that was
            not fitted to samples.
        """
        self._check_ready()
        if self.shrinkage is not None or self.class_weight is not None or not self.total_weight_:
            raise ValueError(
                "dimension_test needs a fit to samples, with shrinkage=None and class_weight=None."
            )
        groups = len(self.classes_) - 1
        rho = self.canonical_correlations_
        return dimension_test(rho, self.total_weight_, self.rank_, groups)

    def _check_X_as_fitted(self, X):
        self._check_ready()
        return self._check_X(X, reset=False, like=self.origin_)

    def _n_out(self):
        self._check_ready()
        return min(len(self.explained_variance_ratio_), self.scalings_.shape[1])

    def _products(self, X, factors):
        """Return ``(X - xbar_) @ factors``, computed in blocks of rows in float64."""
        origin, shift = self.origin_.astype(np.float64), self._solution_.shift
        out = np.empty((X.shape[0], factors.shape[1]))
        size = max(1, min(2048, items_per_call(factors.size)))
        # The mean comes off after the product, which spares a pass, where it is within a few
        # deviations of 0: it costs two bits at most, as many as the rounding of such data.
        mean = origin + shift
        near = bool((np.abs(mean) <= 4 * np.sqrt(self.covariance_.diagonal())).all())
        place = mean @ factors
        with single_threaded_blas():
            for start in range(0, len(out), size):
                rows = slice(start, start + size)
                block = X[rows].toarray() if sp.issparse(X) else X[rows]
                if near:
                    np.matmul(block, factors, out=out[rows])
                    out[rows] -= place
                else:
                    block = block - origin
                    block -= shift
                    np.matmul(block, factors, out=out[rows])
        return out
