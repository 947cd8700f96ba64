"""Fisher vectors: gradients of the log-density of a mixture by its parameters, of rows or sets."""

import copy
from collections.abc import Sequence
from typing import Any, Literal, NamedTuple, Self, get_args

import numpy as np
from scipy import sparse as sp

from mlcore._ext.kernels import fisher_vectors as _ext
from mlcore.checks import as_choice, as_real, as_weights
from mlcore.checks.arrays import check_column_names, column_names
from mlcore.estimator.mixins import Transformer
from mlcore.estimator.model import Model
from mlcore.kernels.structured.mixture_scores import HasScores
from mlcore.kernels.structured.sets import Sets, are_sets
from mlcore.runtime.memory import require_memory
from mlcore.runtime.scratch import scratch_array
from mlcore.runtime.threads import effective_threads, items_per_call, single_threaded_blas

_Part = Literal["weights", "means", "scales"]
_PARTS = get_args(_Part)
_BLOCK = 1 << 20  # values of the rows and responsibilities of a block


class FisherVectors(Transformer, Model):
    r"""Map rows, or sets of rows, to the score of a mixture over the root of its information.

    The score is the gradient of the log-density with respect to the parameters: the direction in
    which a row moves them. With responsibilities g taken as hard in the information, its
    coordinates are

    .. math:: \frac{g_j - w_j}{\sqrt{w_j}}, \qquad \frac{g_j z}{\sqrt{w_j}}, \qquad
        \frac{g_j (z^2 - 1)}{\sqrt{2 w_j}}, \qquad z = \frac{x - \mu_j}{\sigma_j}

    for the weight, the mean and the deviation of component j of a mixture of Gaussians; for
    Bernoulli and multinomial components the second with
    :math:`z = (x - \mu_j) / \sqrt{\mu_j (1 - \mu_j)}` and
    :math:`z_v = (x_v - n u_{jv}) / \sqrt{\bar n u_{jv}}`, where n is the total of the row and
    :math:`\bar n` its mean over the fit. A set has the mean over its rows. The inner product of two
    such vectors is the Fisher kernel: ``kernel="linear"`` of any model.

    Parameters
    ----------
    mixture : GaussianMixture, BernoulliMixture or MultinomialMixture
        Gaussian covariances are diag or spherical, of which the latter has one deviation for each
        component. A fitted one is used as it is; else a copy is fitted to the rows. Copies that
        searches and cross-validation make forget a fit.
    parameters : {"all", "weights", "means", "scales"} or a tuple of the last three, default="all"
        Those whose coordinates are wanted; in this order.
    information : {"closed", "empirical"}, default="closed"
        "empirical" multiplies the vectors by the symmetric root of the pseudo-inverse of their
        second moments over the fit, which are then the identity: for up to some thousand
        coordinates.
    power : float, default=1.0
        Signed power of each coordinate, taken before the norm, in (0, 1]; 0.5 is usual for images.
    norm : {"l2"} or None, default="l2"
        Divide each vector by its norm.

    Attributes
    ----------
    mixture_ : the fitted mixture
    whitening_ : (n_out, n_out) float64, or None
        Of the empirical information.
    dtype_ : {"float32", "float64"}
        Of the results: that of the rows of the fit.
    n_features_in_ : int
        Of a row.
    feature_names_in_ : (n_features,) object

    Notes
    -----
    Components that have collapsed have coordinates 0, and so have features of Bernoulli and
    multinomial components that are certain there. The vector of a set without rows is 0. A
    responsibility of 0, as mixtures give below 2^-64, costs nothing: for rows that belong to one
    component each, O(d) of the 2 k d coordinates are computed. Sums are in float64.

    References
    ----------
    .. [1] T. Jaakkola, D. Haussler, *Exploiting generative models in discriminative classifiers*,
       NIPS 11, 1998.
    .. [2] J. Sánchez, F. Perronnin, T. Mensink, J. Verbeek, *Image classification with the Fisher
       vector: theory and practice*, International Journal of Computer Vision 105, 2013.

    Examples
    --------
    >>> import numpy as np
    >>> from mlcore.kernels import FisherVectors
    >>> from mlcore.mixture import GaussianMixture
    >>> mixture = GaussianMixture.from_parameters(
    ...     [0.4, 0.6], [[-1.0], [2.0]], [[1.0], [0.25]], covariance_type="diag"
    ... )
    >>> sets = [np.array([[0.0], [1.0]])]
    >>> FisherVectors(mixture, norm=None).fit(sets).transform(sets).round(3)
    array([[ 0.354, -0.289,  1.185, -0.973,  0.419,  1.038]])
    """

    mixture_: object
    whitening_: np.ndarray | None
    dtype_: str
    _stored = {"mixture_": "model", "whitening_": "none | float64 v v", "dtype_": "text"}

    _no_blocks = "fit its mixture to blocks"

    def __init__(
        self,
        mixture: Any,
        *,
        parameters: Literal["all"] | _Part | Sequence[_Part] = "all",
        information: Literal["closed", "empirical"] = "closed",
        power: float = 1.0,
        norm: Literal["l2"] | None = "l2",
    ) -> None:
        self.mixture = mixture
        self.parameters = parameters
        self.information = information
        self.power = power
        self.norm = norm

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit the mixture, unless it is fitted, and find the empirical information if asked for.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or a list of arrays (m_i, n_features)
            Rows, or sets of rows.
        y : ignored
        sample_weight : array-like of shape (n_samples,), optional
            Of the rows, or of the sets, each of whose rows then has that weight.

        Returns
        -------
        self
            This model.

        Raises
        ------
        TypeError, ValueError
            For parameters or data out of range; the model stays as it was. A mixture of full or
            tied covariances is refused.
        """
        settings = self._settings()
        sets, rows = self._sets(X, reset=True)
        weight = None if sample_weight is None else as_weights(sample_weight, sets.shape[0])
        mixture = self.mixture
        if not hasattr(mixture, "weights_"):
            mixture = type(mixture)(**mixture.get_params(deep=False))
            row_weight = weight if rows else _of_rows(weight, sets)
            mixture.fit(sets.points, sample_weight=row_weight)
        elif mixture.n_features_in_ != sets.points.shape[1]:
            raise ValueError(
                f"X has {sets.points.shape[1]} features, but the mixture of "
                f"{type(self).__name__} is expecting {mixture.n_features_in_} features as input."
            )
        elif rows:
            seen = getattr(mixture, "feature_names_in_", None)
            check_column_names(column_names(X), seen, type(mixture).__name__)
        mixture = copy.copy(mixture)
        vars(mixture).pop("feature_names_in_", None)  # it will see arrays
        scores, whitening = Scores(mixture, settings, self), None
        if self.information == "empirical":
            whitening = scores.whitening(sets, weight)
        self._set_fitted(
            X if rows else sets.points,
            mixture_=mixture,
            whitening_=whitening,
            dtype_=sets.points.dtype.name,
        )
        return self

    def transform(self, X: Any) -> Any:
        """Return the Fisher vectors of rows or sets of rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or a list of arrays (m_i, n_features)

        Returns
        -------
        vectors : (n_samples, n_out)
            Coordinates of all weights (k), then means (k, d), then scales (k, d) or (k).
        """
        settings = self._settings()
        sets, _ = self._sets(X, reset=False)
        scores = Scores(self.mixture_, settings, self)
        if self.whitening_ is None:
            return self._wrap(scores.vectors(sets, True), X)
        V = scores.vectors(sets, False)
        with single_threaded_blas():
            V = V @ self.whitening_.astype(V.dtype, copy=False)
        return self._wrap(scores.finished(V), X)

    def _check_loaded(self):
        if "mixture_" in vars(self) and self.mixture_.n_features_in_ != self.n_features_in_:
            raise ValueError("mixture_ has another number of features.")

    def _settings(self) -> "Settings":
        owner = type(self).__name__
        if isinstance(self.mixture, type) or not isinstance(self.mixture, HasScores):
            raise TypeError(
                f"{owner}: mixture={self.mixture!r} must be a GaussianMixture, BernoulliMixture "
                "or MultinomialMixture."
            )
        self.mixture._require_scores()
        parts = self.parameters
        names = tuple(parts) if isinstance(parts, tuple | list) and len(parts) else (parts,)
        for name in names:
            as_choice(name, "parameters", ("all", *_PARTS), owner=owner)
        as_choice(self.information, "information", ("closed", "empirical"), owner=owner)
        power = as_real(self.power, "power", owner=owner, above=0, at_most=1)
        norm = as_choice(self.norm, "norm", ("l2", None), owner=owner)
        return Settings(_PARTS if "all" in names else names, float(power), norm == "l2")

    def _n_out(self):
        return Scores(self.mixture_, self._settings(), self).size

    # ---- samples

    def _sets(self, X, reset):
        """Return the samples as sets of rows, and True if they are single rows."""
        owner = type(self).__name__
        if not reset:
            self._check_fitted()
        like = None if reset else np.dtype(self.dtype_)
        if not are_sets(X):
            checked = self._check_X(X, reset=reset, like=like)
            self._require_counts(checked)
            return Sets(checked, np.arange(checked.shape[0] + 1)), True
        sets = Sets.of(X, owner=owner, like=like)
        if not reset and sets.points.shape[1] != self.n_features_in_:
            raise ValueError(
                f"X has sets of vectors of {sets.points.shape[1]} features, but {owner} is "
                f"expecting {self.n_features_in_} features as input."
            )
        self._require_counts(sets.points)
        return sets, False

    def _require_counts(self, points):
        if self.mixture._tags.get("input_tags.positive_only"):
            least = (points.data if sp.issparse(points) else points).min(initial=0.0)
            if least < 0:
                raise ValueError(
                    f"Negative values in data passed to {type(self).__name__} (least: {least:g}): "
                    "X holds counts, which must be zero or positive."
                )

    def _check_X(self, X, **options):
        options.setdefault("accept_sparse", self.mixture._tags.get("input_tags.sparse", False))
        return super()._check_X(X, **options)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        inner = getattr(self.mixture, "_tags", {})
        tags.input_tags.sparse = inner.get("input_tags.sparse", False)
        tags.input_tags.positive_only = inner.get("input_tags.positive_only", False)
        return tags


class Settings(NamedTuple):
    """Checked parameters; `parameters` are those of the mixture whose coordinates are wanted.

    With `norm` each vector is divided by its norm.
    """

    parameters: tuple[str, ...]
    power: float
    norm: bool


class Scores:
    """The map from sets of rows to the scores of a fitted mixture; messages name the model.

    `parts` is the compiled loop's sum of flags for the coordinates there are, `size` their number.
    """

    mixture: Any
    table: Any
    owner: str
    parts: int
    size: int
    settings: "Settings"

    def __init__(self, mixture: Any, settings: Settings, model: FisherVectors) -> None:
        self.mixture, self.settings = mixture, settings
        self.table = table = mixture._score_table()
        self.owner = type(model).__name__
        scales = {"each": _ext.SCALES, "one": _ext.ONE_SCALE, "none": 0}[table.scales]
        flags = dict(zip(_PARTS, (_ext.WEIGHTS, _ext.MEANS, scales), strict=True))
        self.parts = sum({flags[name] for name in settings.parameters})
        if not self.parts:
            raise ValueError(
                f"{self.owner}: parameters={model.parameters!r}, but the components of "
                f"{model.mixture!r} have no scales: choose 'weights' or 'means'."
            )
        k, d = table.centres.shape
        sizes = {_ext.WEIGHTS: k, _ext.MEANS: k * d, _ext.SCALES: k * d, _ext.ONE_SCALE: k}
        self.size = sum(size for flag, size in sizes.items() if self.parts & flag)

    def vectors(self, sets: Sets, finish: bool) -> np.ndarray:
        """Return the vectors of all sets, with powers and norms if they are to be finished."""
        table, n, (k, d) = self.table, sets.shape[0], self.table.centres.shape
        size, dtype = self.size, sets.points.dtype
        require_memory(
            n, size, dtype.itemsize, what="the Fisher vectors", instead="pass fewer rows at a time"
        )
        out = np.zeros((n, size), dtype)
        power, norm = (self.settings.power, self.settings.norm) if finish else (1.0, False)
        step = max(1, min(_BLOCK // (k + d), items_per_call(2.0 * k * d)))
        threads = effective_threads(2.0 * d * sets.points.shape[0])
        scratch = scratch_array((threads, k + 2 * d + size), np.float64)
        weights, first = _weights(self.mixture), 0
        while first < n:
            # The sets that begin within the next `step` rows, one at least.
            last = int(np.searchsorted(sets.offsets, sets.offsets[first] + step, "right")) - 1
            last = min(n, max(first + 1, last))
            batch = sets.part(first, last)
            if batch.offsets[-1] > 2 * step:
                V = self._long_set(batch.points, step)
                out[first] = self.finished(V) if finish else V
            elif batch.offsets[-1]:
                X, totals = _dense(batch.points, table)
                proba = self.mixture.predict_proba(batch.points).astype(np.float64, copy=False)
                refused = _ext.fisher_vectors(
                    X, np.ascontiguousarray(proba), batch.offsets, totals, weights, *table[:2],
                    self.parts, power, norm, out[first:last], scratch, threads,
                )  # fmt: skip
                if refused:
                    place = first + int(np.isnan(out[first:last, 0]).argmax())
                    raise ValueError(
                        f"{self.owner}: X[{place}] is so far from the components of "
                        f"{self.mixture!r} that its coordinates are above the largest {dtype}: "
                        "rescale X, or leave it out."
                    )
            first = last
        return out

    def _long_set(self, points, step):
        """Return the vector, (1, n_out) float64, of a set that one call would take too long for."""
        total, m = 0.0, points.shape[0]
        for start in range(0, m, step):
            rows = points[start : start + step].astype(np.float64)
            piece = Sets(rows, np.array([0, rows.shape[0]]))
            total = total + rows.shape[0] * self.vectors(piece, False)
        return total / m

    def finished(self, V: Any) -> Any:
        """Return the vectors with their powers and norms."""
        if self.settings.power != 1:
            V = np.copysign(np.abs(V) ** self.settings.power, V)
        if self.settings.norm:
            largest = np.abs(V).max(axis=1, keepdims=True)
            V = V / np.where(largest > 0, largest, 1)
            norms = np.sqrt(np.einsum("ij,ij->i", V, V, dtype=np.float64))[:, None]
            V = (V / np.where(norms > 0, norms, 1)).astype(V.dtype, copy=False)
        return V

    def whitening(self, sets: Any, weight: Any) -> Any:
        """Return the symmetric root of the pseudo-inverse of the second moments, (size, size)."""
        size = self.size
        require_memory(
            size, size, 24, what="the information of all coordinates",
            instead='use information="closed", or fewer components',
        )  # fmt: skip
        moments, total = np.zeros((size, size)), 0.0
        step = max(1, _BLOCK // size)
        with single_threaded_blas():
            for first in range(0, sets.shape[0], step):
                last = min(sets.shape[0], first + step)
                V = self.vectors(sets.part(first, last), False).astype(np.float64)
                w = np.ones(last - first) if weight is None else weight[first:last]
                moments += (V * w[:, None]).T @ V
                total += w.sum()
            values, U = np.linalg.eigh(moments / total)
            kept = values > size * np.finfo(np.float64).eps * values[-1]
            return (U[:, kept] / np.sqrt(values[kept])) @ U[:, kept].T


def _weights(mixture):
    """Return the weights of the components, 0 for those that have collapsed."""
    weights = mixture.weights_.astype(np.float64)
    weights[mixture.collapsed_components_] = 0
    return weights


def _of_rows(weight, sets):
    return None if weight is None else np.repeat(weight, sets.lengths())


def _dense(points, table):
    """Return rows as the scores take them, dense, and their totals or an empty array."""
    X = points.toarray() if sp.issparse(points) else points
    if table.threshold is not None:
        X = (table.threshold < X).astype(X.dtype)
    totals = X.sum(axis=1, dtype=np.float64) if table.of_total else np.empty(0)
    return np.ascontiguousarray(X), totals
