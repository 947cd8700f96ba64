"""Quadratic discriminant analysis: classes of normal distributions, each with its covariance."""

from typing import Any, Self

import numpy as np
from scipy import linalg

from mlcore.checks import as_bool, as_real, as_weights
from mlcore.discriminant.bayes_error import bhattacharyya_bound, error_of_two_normals
from mlcore.discriminant.class_covariances import Regularisation, class_covariances
from mlcore.discriminant.class_scatters import (
    ClassRows,
    ClassScatters,
    class_scatters,
    offsets_of,
)
from mlcore.discriminant.known_parameters import (
    ClassRoots,
    log_determinants,
    quadratic_state,
)
from mlcore.discriminant.leave_one_out import (
    quadratic_leave_one_out,
    regularised_posteriors,
    require_rows_of_fit,
)
from mlcore.discriminant.normal_classes import NormalClasses
from mlcore.discriminant.shrinkage import ShrinkageRule, checked_shrinkage
from mlcore.estimator.model import warn
from mlcore.numerics.scatter import in_range, origin_of, row_blocks
from mlcore.runtime.threads import single_threaded_blas

_BLOCK = 2**14  # values of rows whose distances are computed at once
_VALUES = 1 << 16  # of a block of offsets from means, which stay in the cache


class QuadraticDiscriminantAnalysis(NormalClasses):
    r"""Classify by normal distributions, each class with a mean and a covariance matrix.

    A sample goes to the class j of the largest score

    .. math:: \ln \pi_j - \tfrac12 \ln |S_j| - \tfrac12 (x - \mu_j)' S_j^{-1} (x - \mu_j).

    Features that are constant, or linear combinations of others, over all samples are left out:
    they tell nothing of the classes.

    Parameters
    ----------
    priors : array-like of shape (n_classes,) or None, default=None
        Probabilities of the classes, in the order of `classes_`, divided by their sum with a
        warning if it is not 1; None is their shares of weight.
    reg_param : float in [0, 1], default=0.0
        S_j becomes ``(1 - reg_param) S_j + reg_param I``, in the units of the features.
    pooling : float in [0, 1], default=0.0
        Before, S_j becomes ``(1 - pooling) S_j + pooling S_w``, with S_w the covariance within all
        classes; at 1 this is linear discriminant analysis.
    shrinkage : float in [0, 1], "auto", "oas" or None, default=None
        Part s of the correlations within a class that is replaced by 0: S_j becomes ``(1 - s) S_j
        + s diag(S_j)``, after `pooling` and before `reg_param`; of a feature that is constant in
        the class, but not in all, with the variance in S_w in diag(S_j). "auto" estimates one for
        each class after Ledoit and Wolf, "oas" after Chen et al., from the residuals of all classes
        by their shares in S_j.
    unbiased : bool, default=True
        Divide the scatter of a class by its weight less 1, instead of its weight; for S_w, by the
        weight of all less the number of classes.

    Attributes
    ----------
    classes_ : (n_classes,) sorted labels
    priors_ : (n_classes,) float64
    means_ : (n_classes, n_features) float64
    covariances_ : (n_classes, n_features, n_features) float64
        Pooled and shrunk if asked.
    log_determinants_ : (n_classes,) float64
        Of the covariances of the features that are not left out.
    ranks_ : (n_classes,) int
        Of the scatter of each class alone.
    shrinkage_ : (n_classes,) float64
    rank_ : int
        Number of features that are not left out.
    dropped_features_ : (n_features - rank_,) intp
    origin_ : (n_features,), float32 or float64 as the data
        Point near the first samples, from which sums are taken.
    n_features_in_ : int
    feature_names_in_ : (n_features,) object

    Warns
    -----
    UserWarning
        If features depend on each other, nearly, in a fit from sums, which show half the digits.

    Notes
    -----
    A fit takes O(n d² + c d³) time and O(c d²) memory. Where the correlations of a class have a
    condition above 1e6, its samples are read once more and factored by QR. A model is a `RowSums`:
    its fit may be computed from blocks of rows, or by `partial_fit`; shrinkage="auto" then takes
    three times the time and memory, for moments of fourth order.

    References
    ----------
    G. McLachlan, *Discriminant Analysis and Statistical Pattern Recognition*, Wiley, 1992.
    J. Friedman, *Regularized discriminant analysis*, Journal of the American Statistical
    Association 84, 1989.

    Examples
    --------
    >>> from mlcore.datasets import load_iris
    >>> from mlcore.discriminant import QuadraticDiscriminantAnalysis
    >>> X, y = load_iris()
    >>> model = QuadraticDiscriminantAnalysis().fit(X, y)
    >>> int((model.predict(X) != y).sum())
    3
    >>> model.log_determinants_.round(4)
    array([-13.0674, -10.8743,  -8.9271])
    """

    _tags = {"input_tags.sparse": True}

    covariances_: np.ndarray
    log_determinants_: np.ndarray
    ranks_: np.ndarray
    shrinkage_: np.ndarray
    rank_: int
    dropped_features_: np.ndarray
    _solution_: ClassRoots
    _stored = {
        "means_": "float64 c f",
        "covariances_": "float64 c f f",
        "log_determinants_": "float64 c",
        "ranks_": "int c",
        "shrinkage_": "float64 c",
        "rank_": "size r",
        "dropped_features_": "int z? < f",
        "_solution_": ClassRoots,
    }
    _older = {
        "_units_": "powers",
        "_solution_": (ClassRoots, "kept", "offsets", "roots", "weights", "rounding"),
        "_sums_": (ClassScatters._make, "statistics"),
    }

    _instead = {
        "covariance_estimator": 'use shrinkage="auto", "oas" or a number',
        "solver": "drop it: there is one way, which takes reg_param, pooling and shrinkage",
        "store_covariance": "drop it: covariances_ is always there",
        "tol": "drop it: a covariance is of full rank if rounding cannot hide that it is not",
    }

    def __init__(
        self,
        *,
        priors: Any = None,
        reg_param: float = 0.0,
        pooling: float = 0.0,
        shrinkage: float | ShrinkageRule | None = None,
        unbiased: bool = True,
    ) -> None:
        self.priors = priors
        self.reg_param = reg_param
        self.pooling = pooling
        self.shrinkage = shrinkage
        self.unbiased = unbiased

    @classmethod
    def from_parameters(
        cls, means: Any, covariances: Any, priors: Any = None, classes: Any = None
    ) -> Self:
        """Return the model of known parameters: with them, the Bayes classifier.

        Parameters
        ----------
        means : array-like of shape (n_classes, n_features)
        covariances : array-like of shape (n_classes, n_features, n_features)
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
        >>> from mlcore.discriminant import QuadraticDiscriminantAnalysis as QDA
        >>> model = QDA.from_parameters([[-1.0], [1.0]], [[[1.0]], [[1.0]]], [0.7, 0.3])
        >>> round(model.bayes_error(), 7)
        0.1387485
        """
        return cls._of_parameters(means, covariances, priors, classes, "covariances")

    def _state_of(self, means, covariances, classes):
        return quadratic_state(self, means, covariances, classes)

    # ---- fit

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Estimate mean, covariance and prior of each class.

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
        TypeError, ValueError
            For parameters or data out of range, before any work; if there are fewer than two
            classes.
        LinAlgError
            A ValueError: if the covariance of a class has no inverse; it names the class.
        """
        settings = self._settings()
        # The samples of positive weight.
        checked = self._check_X(X, reset=True)
        n, d = checked.shape
        classes, codes, weight, rows = self._weighted_labels(y, sample_weight, n)
        if len(rows) < n:
            checked, weight = checked[rows], weight[rows]
        self._checked_priors(np.ones(len(classes)))
        # Sums of each class, in units in which they are in range.
        origin, power, owner = origin_of(checked), np.zeros(d, np.int64), type(self).__name__
        sums = class_scatters(checked, classes, codes, weight, origin, power, owner)
        if not in_range(sums.total().scatter.diagonal(), checked.dtype).all():
            power = self._powers(checked, origin, settings)
            if power.any():
                sums = class_scatters(checked, classes, codes, weight, origin, power, owner)
        # The covariances by these, or where they lose digits by the rows.
        data = ClassRows(checked, codes, weight, origin, power)
        state = self._estimated(sums, settings, origin.astype(checked.dtype), power, data)
        if settings.shrinkage != "auto":  # which needs further sums in partial_fit
            state["_sums_"] = sums
        self._set_fitted(X, **state)
        return self

    def _settings(self):
        owner = type(self).__name__
        return Regularisation(
            float(as_real(self.reg_param, "reg_param", owner=owner, at_least=0, at_most=1)),
            float(as_real(self.pooling, "pooling", owner=owner, at_least=0, at_most=1)),
            0.0 if self.shrinkage is None else checked_shrinkage(self.shrinkage, owner),
            as_bool(self.unbiased, "unbiased", owner=owner),
        )

    def _powers(self, X, origin, settings):
        power = super()._powers(X, origin, settings)
        # Beside the variance reg_param, that of tiny values vanishes.
        return np.maximum(power, 0) if settings.reg_param else power

    def _estimated(self, sums, settings, origin, power, rows=None):
        # Estimate the covariances, in the units of the sums.
        owner, d = type(self).__name__, len(origin)
        priors = self._priors_from(sums.weights / sums.weights.sum())
        ridge = np.ldexp(settings.reg_param, -2 * power)
        eps = float(np.finfo(origin.dtype).eps)
        with single_threaded_blas(), np.errstate(under="ignore"):
            classes = class_covariances(sums, settings, ridge, eps, rows)
        if classes.from_sums:
            warn(
                "UserWarning",
                f"{owner}: features depend on each other, or nearly, which sums of squares show to "
                "half the digits only: fit to all rows at once.",
            )
        # Convert to the units of the data.
        both = power[:, None] + power
        with np.errstate(over="ignore"):
            covariances = np.ldexp(classes.covariances, both)
        kept, means, roots = classes.kept, classes.means, classes.roots
        return {
            "classes_": sums.classes,
            "priors_": priors,
            "means_": origin + np.ldexp(means, power),
            "covariances_": covariances,
            "log_determinants_": log_determinants(roots, power[kept]),
            "ranks_": classes.ranks,
            "shrinkage_": classes.shrinkage,
            "rank_": len(kept),
            "dropped_features_": np.setdiff1d(np.arange(d), kept),
            "origin_": origin,
            "_units_": power,
            "_solution_": ClassRoots(kept, means, roots, sums.weights, classes.rounding),
        }

    # ---- later calls

    def decision_function(self, X: Any) -> np.ndarray:
        """Return scores, (n_samples, n_classes), or (n_samples,) for two classes.

        They are log joint densities of sample and class, up to a constant; for two classes the log
        odds of the second.

        Parameters
        ----------
        X : array-like or sparse of shape (n_samples, n_features)

        Returns
        -------
        scores : (n_samples,) or (n_samples, n_classes)
            One column for two classes.
        """
        self._check_ready()
        checked = self._check_X(X, reset=False, like=self.origin_)
        with np.errstate(divide="ignore"):
            constant = np.log(self.priors_) - self.log_determinants_ / 2
        scores = self._squared_distances(checked)
        scores *= -0.5
        scores += constant
        return scores[:, 1] - scores[:, 0] if len(constant) == 2 else scores

    def bayes_error(self) -> float:
        """Return the probability of error of these classes, if the parameters are the true ones.

        For two classes of equal covariances it is exact; else the return value is Bhattacharyya's
        bound, the sum of that of all pairs, which the error does not exceed.

        Returns
        -------
        error : float
            From 0 to 1.
        """
        self._check_ready()
        features, means, roots = self._solution_[:3]
        means, covariances = means[:, features], roots.swapaxes(1, 2) @ roots
        size = np.abs(covariances).max(initial=0)
        if (
            len(means) == 2
            and np.abs(covariances[0] - covariances[1]).max(initial=0) <= 1e-12 * size
        ):
            difference = np.subtract(means[None, 1:], means[0], order="C")
            squared = _squared_lengths(roots[:1], difference)[0, 0]
            return error_of_two_normals(float(np.sqrt(squared)), self.priors_)
        return bhattacharyya_bound(means, covariances, self.priors_)

    def leave_one_out(self, X: Any, y: Any, sample_weight: Any = None) -> np.ndarray:
        """Return log posterior probabilities of each sample from the fit to all others.

        They are those of n refits, by formulas: in O(n c d²) time, with shrinkage O(n d³), with
        shrinkage and pooling O(n c d³). If regularised they come from sums of squares, which lose
        eps times the condition of the covariances.

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
            With shrinkage "auto" or "oas", which each sample changes; for other samples than those
            of the fit; if without one of them a covariance has no inverse.
        """
        # The samples are those of the fit.
        settings, owner = self._settings(), type(self).__name__
        self._check_ready()
        checked = self._check_X(X, reset=False, like=self.origin_)
        codes = self._known_codes(y, checked.shape[0])
        weight = as_weights(sample_weight, checked.shape[0])
        totals = np.bincount(codes, weights=weight, minlength=len(self.classes_))
        solution, dtype = self._solution_, self.origin_.dtype
        if not np.allclose(totals, solution.weights, rtol=1e-9, atol=0):
            raise ValueError(
                f"leave_one_out needs the samples of the fit: their classes have the weights "
                f"{solution.weights.tolist()}, not {totals.tolist()}."
            )
        rows = ClassRows(checked, codes, weight, self.origin_.astype(np.float64), self._units_)
        require_rows_of_fit(rows, solution.means, self.classes_, dtype.itemsize)
        priors = None if self.priors is None else self.priors_
        # Regularised fits by sums of squares, others by distances.
        if settings.reg_param or settings.pooling or settings.shrinkage:
            ridge, kept = np.ldexp(settings.reg_param, -2 * self._units_), solution.features
            return regularised_posteriors(
                rows, self.classes_, settings, kept, ridge, priors, dtype, owner
            )
        return quadratic_leave_one_out(
            self._squared_distances(checked),
            codes,
            weight,
            totals,
            self.log_determinants_,
            self.rank_,
            int(self.unbiased),
            solution.rounding,
            priors,
        )

    def _squared_distances(self, X):
        """Return those of Mahalanobis of rows and means of classes, (n, c)."""
        features, means, roots = self._solution_[:3]
        origin, means = self.origin_.astype(np.float64), means[:, features]
        distances = np.empty((X.shape[0], len(means)))
        with single_threaded_blas():
            for rows, block in row_blocks(X, _BLOCK):
                offsets = offsets_of(block, origin, self._units_, features)
                step = max(1, _VALUES // max(1, offsets.size))
                for first in range(0, len(means), step):
                    codes = slice(first, first + step)
                    parts = np.subtract(offsets, means[codes, None], order="C")
                    distances[rows, codes] = _squared_lengths(roots[codes], parts).T
        return distances


def _squared_lengths(roots, offsets):
    """Return ``|R_k^-T x|²`` for each row x of offsets_k, (c, n); these, in C order, are lost."""
    if offsets.shape[2]:
        for root, part in zip(roots, offsets, strict=True):
            linalg.blas.dtrsm(1.0, root.T, part.T, lower=1, overwrite_b=1)  # in place
    return np.einsum("kij,kij->ki", offsets, offsets)
