"""Linear discriminant analysis: classes of normal distributions with one covariance matrix."""

from typing import Any, Self

import numpy as np
from scipy import sparse as sp

from mlcore.checks import as_class_weights, as_integer, as_real
from mlcore.checks.parameters import as_bool, as_choice
from mlcore.discriminant.class_blocks import ClassBlocks
from mlcore.discriminant.class_scatters import ClassRows
from mlcore.discriminant.class_sums import ClassSums, class_sums_in_range
from mlcore.discriminant.directions import by_priors, discriminant_directions
from mlcore.discriminant.known_parameters import as_parameters, centred_intercept, linear_state
from mlcore.discriminant.linear_diagnostics import LinearDiagnostics
from mlcore.estimator.model import Transformer, warn
from mlcore.runtime.threads import items_per_call, single_threaded_blas


class LinearDiscriminantAnalysis(LinearDiagnostics, Transformer, ClassBlocks):
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
    solver : "auto", "svd", "lsqr" or "eigen", default="auto"
        Accepted for scikit-learn's sake: all give the same result, by one way.
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

    priors_: np.ndarray
    means_: np.ndarray
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
    _shift_: np.ndarray  # (d,): xbar_ less the origin
    _offsets_: np.ndarray  # (c, d): means_ less xbar_

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
        "_shift_": "float64 f",
        "_offsets_": "float64 c f",
    }

    _instead = {
        "covariance_estimator": 'use shrinkage="auto", "oas" or a number',
        "store_covariance": "drop it: covariance_ is always there",
    }

    def __init__(
        self,
        *,
        n_components: int | None = None,
        priors: Any = None,
        shrinkage: float | str | None = None,
        class_weight: dict | str | None = None,
        unbiased: bool = False,
        solver: str = "auto",
        tol: float = 1e-10,
    ) -> None:
        self.n_components = n_components
        self.priors = priors
        self.shrinkage = shrinkage
        self.class_weight = class_weight
        self.unbiased = unbiased
        self.solver = solver
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
        model, means, covariances, classes = as_parameters(
            cls, means, covariance, priors, classes, "covariance"
        )
        model._set_fitted(means, **linear_state(model, means, covariances[0], classes))
        return model

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
        how = self._checked_parameters()
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
        sums = class_sums_in_range(checked, codes, weight, shares, type(self).__name__)
        data = ClassRows(checked, codes, weight, sums.origin.astype(np.float64), sums.power)
        self._set_fitted(X, **self._found(classes, sums, how, data))
        return self

    def _solve(self, sums, how, origin, power, rows=None):
        classes, d = sums.classes, len(origin)
        factors = self._class_factors(classes, np.arange(len(classes)), sums.weights)
        sums = sums._replace(
            weights=sums.weights * factors, scatters=sums.scatters * factors[:, None, None]
        )
        whole, total = sums.total(), float(sums.weights.sum())
        found = ClassSums(
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
        return self._found(classes, found, how)

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

    def _found(self, classes, sums, how, rows=None):
        """Return the attributes that follow from the sums, and from the rows, if any."""
        (shrinkage, tol, unbiased), c = how, len(classes)
        if unbiased and sums.total <= c:
            raise ValueError(
                f"unbiased=True divides by the total weight {sums.total:g} less the number of "
                f"classes={c}, which must be positive: pass unbiased=False."
            )
        with single_threaded_blas():
            found = discriminant_directions(rows, sums, shrinkage, tol)
        sums = found.sums
        if found.pseudo_inverse:
            n_samples = sums.total if rows is None else len(rows.codes)
            warn(
                "UserWarning",
                f"{type(self).__name__}: {found.rank} independent features are too many for "
                f"{n_samples:g} samples of {c} classes: their covariance matrix within classes has "
                "no inverse, and its pseudo-inverse is used. Shrinkage, as by shrinkage='oas', "
                "often predicts better.",
            )
        if found.from_sums:
            warn(
                "UserWarning",
                f"{type(self).__name__}: features depend on each other, nearly, which sums of "
                "squares show to half the digits only: fit to all rows at once.",
            )
        divisor = (sums.total - c) / sums.total if unbiased else 1.0
        priors, scalings, strength = self._priors_from(sums.shares), found.scalings, found.strengths
        ratios = strength
        if self.priors is not None:  # the classes make up another population than the samples
            scalings, ratios = by_priors(found, priors)
            moved = priors @ sums.means
            sums = sums._replace(mean=sums.mean + moved, means=sums.means - moved)
        scalings = scalings * np.sqrt(divisor)
        coef = (sums.means @ scalings) @ scalings.T  # the means are relative to that of all
        offsets = np.ldexp(sums.means, sums.power)
        scalings = np.ldexp(scalings, -sums.power[:, None])
        coef = np.ldexp(coef, -sums.power)
        if c == 2:
            coef = coef[1:] - coef[:1]
        center = sums.center
        with np.errstate(divide="ignore"):
            intercept = centred_intercept(priors, coef, offsets) - coef @ center
        covariance = found.covariance if divisor == 1 else found.covariance / divisor
        if sums.power.any():
            covariance = np.ldexp(covariance, sums.power[:, None] + sums.power)
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
            "canonical_correlations_": np.sqrt(strength / (1 + strength)),
            "covariance_": covariance,
            "shrinkage_": found.shrinkage,
            "rank_": found.rank,
            "dropped_features_": found.dropped,
            "n_separated_": found.n_separated,
            "total_weight_": float(sums.total),
            "origin_": sums.origin,
            "_powers_": sums.power,
            "_shift_": np.ldexp(sums.mean, sums.power),
            "_offsets_": offsets,
        }

    def _checked_parameters(self):
        owner = type(self).__name__
        as_choice(self.solver, "solver", ("auto", "svd", "lsqr", "eigen"), owner=owner)
        shrinkage = self.shrinkage
        if shrinkage is None:
            shrinkage = 0.0
        elif isinstance(shrinkage, str):
            shrinkage = as_choice(shrinkage, "shrinkage", ("auto", "oas", None), owner=owner)
        else:
            shrinkage = as_real(shrinkage, "shrinkage", owner=owner, at_least=0, at_most=1)
        tol = as_real(self.tol, "tol", owner=owner, above=0, below=1)
        return shrinkage, tol, as_bool(self.unbiased, "unbiased", owner=owner)

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
        places = self._offsets_ @ self.scalings_  # of the means
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

    def _check_X_as_fitted(self, X):
        self._check_ready()
        return self._check_X(X, reset=False, like=self.origin_)

    def _n_out(self):
        self._check_ready()
        return min(len(self.explained_variance_ratio_), self.scalings_.shape[1])

    def _products(self, X, factors):
        """Return ``(X - xbar_) @ factors``, computed in blocks of rows in float64."""
        origin = self.origin_.astype(np.float64)
        out = np.empty((X.shape[0], factors.shape[1]))
        size = max(1, min(2048, items_per_call(factors.size)))
        with single_threaded_blas():
            for start in range(0, len(out), size):
                rows = slice(start, start + size)
                block = X[rows].toarray() if sp.issparse(X) else X[rows]
                np.matmul(block - origin - self._shift_, factors, out=out[rows])
        return out
