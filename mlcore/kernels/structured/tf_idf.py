"""Weights of words in documents: their frequency, times how rare they are."""

from collections.abc import Callable
from functools import partial
from typing import Any, ClassVar, Literal, NamedTuple, Self

import numpy as np
from scipy import sparse as sp

from mlcore._ext.kernels import tf_idf as _ext
from mlcore.checks import as_bool, as_choice, as_weights
from mlcore.checks.errors import peer_class
from mlcore.checks.sparse import is_plain_csr
from mlcore.estimator.mixins import FeaturewiseTransformer
from mlcore.estimator.model import Model
from mlcore.row_sums import OnePass
from mlcore.runtime.memory import require_memory
from mlcore.runtime.threads import effective_threads, pieces

_NORMS = {None: 0, "l2": 1, "l1": 2}
_LOGS = 1 + np.log(np.maximum(np.arange(256.0), 1))  # of small counts
_ROW = 10.0  # operations of an entry: a load from idf_ out of order, a division


class DocumentCounts(NamedTuple):
    """Sums over documents: their weight, (1,), and that of those that have each word, (d,)."""

    weight: np.ndarray
    frequency: np.ndarray


class Settings(NamedTuple):
    """Checked parameters; `norm` is the compiled loops' number of it."""

    norm: int
    idf: str | None
    sublinear: bool


class TfidfTransformer(OnePass, FeaturewiseTransformer, Model):
    r"""Weigh the counts of words in documents by how rare each word is.

    .. math:: x_w = \mathrm{tf}_w \, \mathrm{idf}_w, \qquad
        \mathrm{idf}_w = \ln \frac{1 + n}{1 + \mathrm{df}_w} + 1,

    where tf is the count of word w in a document, df the number of the n documents of the fit that
    have it; then each row is divided by its norm. The linear kernel of these rows, for example
    ``gram_matrix(T, kernel="linear")``, is the cosine of documents.

    Parameters
    ----------
    norm : {"l2", "l1"} or None, default="l2"
        Norm of each row that has a word; None leaves the rows as they are.
    idf : {"smooth", "plain", "textbook"} or None, default="smooth"
        The weight of a word: as above; ``ln(n / df) + 1``; ``ln(n / df)``, which is 0 for a word of
        all documents; or 1. The last two logarithms take df as 1 if it is less.
    sublinear : bool, default=False
        Take 1 + ln tf instead of a count tf that is not 0.

    Attributes
    ----------
    idf_ : (n_features,), of the type of the counts
    document_frequency_ : (n_features,) float64
        df: the weight of the documents that have each word.
    total_weight_ : float
        n: the weight of all documents.
    n_features_in_ : int
    feature_names_in_ : (n_features,) object

    See Also
    --------
    WordCounts : counts the words of texts.

    Notes
    -----
    A fit and a transformation read the counts once each, which checks them too: O(non-zeros) time.
    Zeros that are stored do not count. A fit is a `RowSums`.

    References
    ----------
    C. Manning, P. Raghavan, H. Schütze, *Introduction to Information Retrieval*, 2008, chapter 6.

    Examples
    --------
    >>> from mlcore.kernels import TfidfTransformer
    >>> counts = [[3, 0, 1], [2, 0, 0], [3, 0, 0], [4, 0, 0], [3, 2, 0], [3, 0, 2]]
    >>> TfidfTransformer().fit_transform(counts)[0].round(8)
    array([0.85151335, 0.        , 0.52433293])
    """

    _tags: ClassVar[dict[str, Any]] = {
        "input_tags.sparse": True,
        "input_tags.positive_only": True,
        "transformer_tags.preserves_dtype": ["float64", "float32"],
    }

    _result = "total_weight_"

    idf_: np.ndarray
    document_frequency_: np.ndarray
    total_weight_: float
    _stored = {"idf_": "float f", "document_frequency_": "float64 f", "total_weight_": "float"}

    _instead = {
        "smooth_idf": 'use idf="smooth", or "plain" for False',
        "sublinear_tf": "use sublinear=",
        "use_idf": "use idf=None for False",
    }

    def __init__(
        self,
        *,
        norm: Literal["l2", "l1"] | None = "l2",
        idf: Literal["smooth", "plain", "textbook"] | None = "smooth",
        sublinear: bool = False,
    ) -> None:
        self.norm = norm
        self.idf = idf
        self.sublinear = sublinear

    # ---- fit

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Count the documents that have each word.

        Parameters
        ----------
        X : array-like or sparse array of shape (n_samples, n_features)
            Counts, at least 0.
        y : ignored
        sample_weight : array-like of shape (n_samples,), optional
            A weight of 2 stands for two copies of a document, 0 for its absence.

        Returns
        -------
        self
            This model.

        Raises
        ------
        TypeError, ValueError
            For parameters or counts out of range; the model stays as it was.
        """
        settings = self._settings()
        dtype, counts = self._counts_of(X, sample_weight, reset=True)
        state = self._state(settings, counts, dtype)
        self._set_fitted(X, **state)
        return self

    def begin(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Set the number of words from first documents, which do not count yet.

        Parameters
        ----------
        X : array-like or sparse of shape (n_samples, n_features)
        y : ignored
        sample_weight : array-like of shape (n_samples,), optional
            Of the documents.

        Returns
        -------
        self
            This model.
        """
        self._settings()
        checked = self._check_X(X, reset=True)
        self._set_fitted(X, **_begun(checked.dtype, checked.shape[1]))
        return self

    def partial_statistics(
        self, X: Any, y: Any = None, sample_weight: Any = None
    ) -> DocumentCounts:
        """Return the weight of these documents, and of those that have each word.

        Parameters
        ----------
        X : array-like or sparse of shape (n_samples, n_features)
        y : ignored
        sample_weight : array-like of shape (n_samples,), optional
            Of the documents.

        Returns
        -------
        statistics : DocumentCounts
            Sums over these documents.
        """
        self._settings()
        return self._counts_of(X, sample_weight, reset=False)[1]

    def update(self, statistics: DocumentCounts) -> Self:
        """Weigh the words by sums over all documents: the whole fit.

        Parameters
        ----------
        statistics : DocumentCounts
            Sums over all rows.

        Returns
        -------
        self
            This model.
        """
        settings = self._settings()
        self._check_fitted()
        self._update_state(self._state(settings, statistics, self.idf_.dtype))
        return self

    def _first_statistics(self, X, y, sample_weight):
        self._settings()
        dtype, counts = self._counts_of(X, sample_weight, reset=True)
        self._set_fitted(X, **_begun(dtype, len(counts.frequency)))
        return counts

    def _sums_so_far(self):
        if "total_weight_" not in vars(self):
            return None
        return DocumentCounts(np.array([self.total_weight_]), self.document_frequency_)

    def _settings(self) -> Settings:
        owner = type(self).__name__
        return Settings(
            _NORMS[as_choice(self.norm, "norm", tuple(_NORMS), owner=owner)],
            as_choice(self.idf, "idf", ("smooth", "plain", "textbook", None), owner=owner),
            as_bool(self.sublinear, "sublinear", owner=owner),
        )

    def _state(self, settings, counts, dtype):
        rule, n, frequency = settings.idf, float(counts.weight[0]), counts.frequency
        if rule is None or n == 0:
            idf = np.ones(len(frequency))
        elif rule == "smooth":
            idf = np.log((1 + n) / (1 + frequency)) + 1
        else:
            idf = np.log(n / np.maximum(frequency, 1)) + (rule == "plain")
        return {"idf_": idf.astype(dtype), "document_frequency_": frequency, "total_weight_": n}

    def _counts_of(self, X, sample_weight, reset):
        """Return the type of the counts, and the sums over documents."""

        def count(checked, limit):
            n, d = checked.shape
            weights = np.empty(0) if sample_weight is None else as_weights(sample_weight, n)
            frequency = np.zeros(d)
            if sp.issparse(checked):
                loop, rows, scratch = _ext.sparse_frequency, _parts(checked), (_zeros(1, d),)
            else:
                loop, rows, scratch = _ext.dense_frequency, (checked,), ()
            for first, last in pieces(n, _ROW * rows[0].size / n):
                if not loop(*rows, weights, limit, *scratch, frequency, first, last):
                    return None
            weight = np.array([n if sample_weight is None else weights.sum()], np.float64)
            return checked.dtype, DocumentCounts(weight, frequency)

        return self._read(X, reset, count)

    # ---- later calls

    def transform(self, X: Any) -> Any:
        """Weigh the words of documents.

        Parameters
        ----------
        X : array-like or sparse array of shape (n_samples, n_features)

        Returns
        -------
        weighted : ndarray or csr_array of shape (n_samples, n_features)
            Sparse if X is. In the type of the counts of the fit.
        """
        settings = self._settings()
        self._check_fitted()
        if not vars(self).get("total_weight_"):
            raise peer_class("NotFittedError")(
                f"This {type(self).__name__} instance is not fitted yet: it has begun, but call "
                "'update' or 'partial_fit' before using it."
            )
        weighted = self._read(X, False, partial(self._weighted, settings))
        return self._wrap(weighted, X)

    def _weighted(self, settings, checked, limit):
        n, d = checked.shape
        logs = _LOGS if settings.sublinear else _LOGS[:0]
        options: tuple[Any, ...] = self.idf_, logs, settings.norm, limit
        if sp.issparse(checked):
            rows = _parts(checked)
            threads = effective_threads(_ROW * rows[0].size)
            options += _zeros(threads, d), np.zeros((threads, d), checked.dtype)
            out = tuple(np.empty(part.shape, part.dtype) for part in rows[:2])
            loop = _ext.sparse_weighted
        else:
            require_memory(
                n, d, checked.itemsize, what="the weighted rows", instead="pass fewer rows"
            )
            rows, out, loop = (checked,), (np.empty_like(checked),), _ext.dense_weighted
            threads = effective_threads(_ROW * rows[0].size)
        for first, last in pieces(n, _ROW * rows[0].size / n):
            if not loop(*rows, *options, *out, first, last, threads):
                return None
        if not sp.issparse(checked):
            return out[0]
        weighted = sp.csr_array((*out, checked.indptr.copy()), shape=checked.shape)
        weighted.has_sorted_indices = weighted.has_canonical_format = True
        return weighted

    def _read(self, X: Any, reset: bool, read: Callable[[Any, float], Any]) -> Any:
        """Return ``read(X, limit)``, of checked counts if it first refuses those as they are."""
        like = None if reset else vars(self).get("idf_")
        plain = self._check_X(X, reset=reset, like=like, check_finite=False)
        result = read(plain, np.sqrt(np.finfo(plain.dtype).max) / 2)
        if result is not None:
            return result
        checked = self._check_X(X, reset=reset, like=like)
        least = (checked.data if sp.issparse(checked) else checked).min(initial=0.0)
        if least < 0:
            raise ValueError(
                f"Negative values in data passed to {type(self).__name__} (least: {least:g}): "
                "X holds counts, which must be zero or positive."
            )
        return read(checked, np.inf)

    def _as_samples(self, X, **options):
        like = options.get("like")
        known = like is None or getattr(X, "dtype", None) == like.dtype
        if not options.get("check_finite", True) and known and is_plain_csr(X):
            return X
        return super()._as_samples(X, **options)


def _begun(dtype, n_features):
    return {"idf_": np.ones(n_features, dtype), "document_frequency_": np.zeros(n_features)}


def _zeros(n_threads, d):
    """Return the scratch of the loops that put columns in order."""
    return np.zeros((n_threads, d // 64 + d // 4096 + 2), np.uint64)


def _parts(X):
    return X.data, X.indices, X.indptr
