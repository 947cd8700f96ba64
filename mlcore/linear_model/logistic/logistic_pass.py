"""Loss, gradient and Hessian of logistic regression: sums over rows, in one reading of them."""

import copy
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse as sp

from mlcore._ext.linear_model import logistic_pass as _ext
from mlcore.checks.stored import stored
from mlcore.numerics.scatter import ROWS, has_zeros, origin_of, powers_of_two
from mlcore.numerics.scores.log_softmax import log_softmax
from mlcore.numerics.sparse_products import chosen_columns, largest_entries
from mlcore.runtime.scratch import scratch_array
from mlcore.runtime.threads import effective_threads, items_per_call, single_threaded_blas

NEWTON = 480  # (d + 1)(n_scores + 1), up to which the Hessian is computed
GROUPS = 8  # of rows with sums of their own
_PER_SUM = 16  # values that are not 0, at least, for each sum of a group of sparse rows
_DENSE = 1 / 4  # share of values that are not 0, from which sparse rows are read as dense ones
_LANES = 8  # of the widest vector
_OF_A_SUM = 48  # columns that are multiplied in the time of a sum of lanes
_VALUES = 1 << 15  # probabilities that are formed at a time
_LARGEST_GROUP = 1 << 21  # values of such sums, beyond which there are two groups


class LogisticSums(NamedTuple):
    """Sums over weighted rows at some parameters; `loss` is ``sum_i w_i l_i``.

    `gradient` is (n_scores, d + 1), intercepts last. `hessian` (n_pairs, d + 1, d + 1) is that of
    one score, or the blocks ``sum_i w_i p_ia p_ib x_i x_i'`` of the pairs of classes a < b.
    """

    weight: float
    loss: float
    gradient: np.ndarray
    hessian: np.ndarray | None
    n_wrong: int


@stored(version=1)
class Columns(NamedTuple):
    """Shift and scale of columns, see `LogisticRows`."""

    shift: np.ndarray
    scale: np.ndarray
    _stored = {"shift": "float64 f", "scale": "float64 f"}


class LogisticRows:
    """Rows of data with their classes, weights and offsets, and the sums over them.

    X is dense here if a quarter of it is not 0. `n_scores` is 1 for two classes. Parameters refer
    to ``(x - shift) * scale``, as in `like`, or near the first rows (0 for sparse ones).
    """

    codes: np.ndarray
    weight: np.ndarray
    n: Any
    d: Any
    n_scores: int
    intercept: bool
    total: float
    shift: np.ndarray
    scale: np.ndarray
    offset: np.ndarray
    width: int
    columns: "Columns"
    X: Any

    def __init__(
        self,
        X: Any,
        codes: np.ndarray,
        weight: np.ndarray,
        offset: np.ndarray | None,
        n_scores: int,
        intercept: bool,
        like: Columns | None = None,
    ) -> None:
        # Means of many values are no small ones; and a shift that is given must be made use of.
        if sp.issparse(X) and (X.nnz >= _DENSE * np.prod(X.shape) or like and like.shift.any()):
            X = X.toarray()
        self.X, self.codes, self.weight = X, codes.astype(np.int64, copy=False), weight
        self.n, self.d = X.shape
        self.n_scores, self.intercept = n_scores, intercept
        self.offset = np.empty((0, n_scores)) if offset is None else offset
        self.total = float(weight.sum())
        self._equal = bool((weight == 1).all())
        panel = _ext.panel_width()
        self.width = -(-(self.d + 1) // panel) * panel
        self._zeros = np.zeros(self.width)
        if like is None:
            self.shift = np.zeros(self.d)
            if intercept and not sp.issparse(X):
                self.shift = _near(X[:ROWS], (self.d + 1) * (n_scores + 1) <= NEWTON)
            self._set_scale()
        else:
            self.shift, self.scale = like.shift, like.scale
        self.columns = Columns(self.shift, self.scale)
        self._skip = not sp.issparse(X) and has_zeros(X, self.shift)

    def _set_scale(self):
        """Scale columns by the largest deviations in the first rows."""
        X = self.X
        if sp.issparse(X):
            powers = np.frexp(largest_entries(X, min(ROWS, self.n)))[1]
        else:
            powers = powers_of_two(X[:ROWS], self.shift)
        self.scale = np.ldexp(1.0, -np.clip(powers, -1000, 1000))

    def weighted(self, weight: np.ndarray) -> "LogisticRows":
        """Return the same rows of other weights (n,)."""
        other = copy.copy(self)
        other.weight, other.total, other._equal = weight, float(weight.sum()), False
        return other

    def of_columns(self, columns: np.ndarray, size: int) -> "LogisticRows":
        """Return the sparse rows in some columns, which have so many entries, without offsets."""
        return LogisticRows(
            chosen_columns(self.X, columns, size), self.codes, self.weight, None, self.n_scores,
            self.intercept, Columns(self.shift[columns], self.scale[columns]),
        )  # fmt: skip

    def rows_of_block(self, *, products: bool) -> int:
        """Return the number of rows that are read together."""
        return _ext.rows_of_block(self.width, products or sp.issparse(self.X))

    def sums(
        self,
        theta: np.ndarray,
        *,
        hessian: bool = False,
        stride: int = 1,
        moments: np.ndarray | None = None,
        scores: np.ndarray | None = None,
    ) -> LogisticSums:
        """Return the sums over every `stride`-th block of rows at theta (n_scores, d + 1).

        `moments` (2, d + 1) is set to the sums of columns and squares, `scores` to the scores.
        """
        if hessian and self.d == 0 and self.n_scores > 1 and stride == 1:  # products of scalars
            sums = self._sums(theta, 0, False, stride, moments, scores)
            return sums._replace(hessian=self._products_of_probabilities(theta))
        return self._sums(theta, self.n_pairs if hessian else 0, False, stride, moments, scores)

    def gram(self, stride: int, moments: np.ndarray | None = None) -> tuple[float, np.ndarray]:
        """Return the weight of every `stride`-th block and the sum of its ``w x x'``."""
        theta = np.zeros((self.n_scores, self.d + 1))
        sums = self._sums(theta, 1, True, stride, moments, None)
        return sums.weight, sums.hessian[0]

    def _sums(self, theta, pairs, gram, stride, moments, scores):
        c, n, width = self.n_scores, self.n, self.width
        sparse = sp.issparse(self.X)
        groups = self.groups_of_sums(pairs)
        loss, wrong = np.zeros(groups), np.zeros(groups, np.intp)
        columns = self.d + 1 if sparse else width
        gradients = np.zeros((groups, columns, c) if sparse else (groups, c, columns))
        of_moments = groups if moments is not None else 0
        sums = np.zeros((of_moments, width, 2) if sparse else (of_moments, 2, width))
        hessians = np.zeros((groups if pairs else 0, pairs, width, width))
        empty = np.empty((0, c)) if scores is None else scores
        # Blocks, threads and scratch; a call takes no longer than Ctrl-C may wait.
        size = self.rows_of_block(products=pairs > 0 or stride > 1)
        blocks = -(-n // size)
        per_row = max(1, self.X.nnz // n) if sparse else width
        work = per_row * (4 * c + (per_row * pairs if sparse else per_row * pairs / 8))
        n_threads = effective_threads(n / stride * work)
        step = max(1, items_per_call(work) // size) * stride
        scratch = scratch_array((n_threads, _ext.work_size(width, c)), np.float64)
        if sparse:
            scale = np.append(self.scale, 1.0)
            parameters = np.ascontiguousarray((theta * scale).T)
        else:
            parameters = np.zeros((c, width))
            parameters[:, : self.d + 1] = theta
            by_class = self._by_class(theta)
        # The pass.
        for first in range(0, blocks, step):
            at = size, first, min(blocks, first + step), stride
            rest = (
                *at, scratch, loss, wrong, gradients, sums, hessians, empty, n_threads,
            )  # fmt: skip
            if sparse:
                X = self.X
                _ext.sparse(
                    X.data, X.indices, X.indptr, self.codes, self.weight, self._equal, self.offset,
                    self.scale, parameters, width, self.intercept, gram, *rest,
                )  # fmt: skip
            else:
                _ext.dense(
                    self.X, self.codes, self.weight, self._equal, self.offset, self.shift,
                    self.scale, self._zeros, parameters, by_class, self.intercept, gram,
                    self._skip, *rest,
                )  # fmt: skip
        # Sums over the groups, without the columns of padding.
        D = self.d + 1
        if moments is not None:
            total = sums.sum(axis=0)
            moments[...] = (total.T if sparse else total)[:, :D]
        gradient = gradients.sum(axis=0)
        gradient = np.ascontiguousarray(gradient.T) * scale if sparse else gradient[:, :D]
        hessian = None
        if pairs:
            lower = hessians.sum(axis=0)[:, :D, :D]
            hessian = np.where(np.tri(D, dtype=bool), lower, lower.transpose(0, 2, 1))
        weight = self.total if stride == 1 else self.weight_of(stride)
        return LogisticSums(weight, float(loss.sum()), gradient, hessian, int(wrong.sum()))

    def _by_class(self, theta):
        """Return parameters with classes side by side (d + 1, padded), or none.

        Scores then need no sums of the lanes of a vector; a sum costs as much as some columns.
        """
        columns, padded = self.d + 1, -(-self.n_scores // _LANES) * _LANES
        if self.n_scores == 1 or columns * padded >= self.n_scores * (self.width + _OF_A_SUM):
            return np.empty((0, 0))
        out = np.zeros((columns, padded))
        out[:, : self.n_scores] = theta.T
        return out

    def _products_of_probabilities(self, theta):
        """Return ``sum_i w_i p_ia p_ib`` for the pairs of classes, as blocks of 1 x 1."""
        products = np.zeros((self.n_scores, self.n_scores))
        size = max(1, _VALUES // self.n_scores)
        shape = self.n, self.n_scores
        offset = self.offset if len(self.offset) else np.broadcast_to(np.zeros(shape[1]), shape)
        with single_threaded_blas():
            for first in range(0, self.n, size):
                p = np.exp(log_softmax(offset[first : first + size] + theta.T))
                products += (self.weight[first : first + size, None] * p).T @ p
        return products[np.triu_indices(self.n_scores, 1)][:, None, None]

    @property
    def n_pairs(self) -> int:
        """The number of blocks that the Hessian is made of."""
        return 1 if self.n_scores == 1 else self.n_scores * (self.n_scores - 1) // 2

    def groups_of_sums(self, pairs: int) -> int:
        """Return how many groups of rows a pass for so many blocks of Hessians sums up alone."""
        wide = pairs * self.width**2 + self.n_scores * self.width > _LARGEST_GROUP
        return self.groups(2 if wide else GROUPS)

    def groups(self, most: int) -> int:
        """Return how many groups of rows have sums of their own, `most` at most."""
        if not sp.issparse(self.X):
            return most
        return min(most, max(1, self.X.nnz // (_PER_SUM * (self.d + 1))))

    def chosen(self, stride: int) -> np.ndarray:
        """Return the rows of every `stride`-th block, sorted."""
        size = self.rows_of_block(products=True)
        starts = np.arange(0, self.n, size * stride)
        rows = (starts[:, None] + np.arange(size)).ravel()
        return rows[: np.searchsorted(rows, self.n)]

    def weight_of(self, stride: int) -> float:
        """Return the weight of every `stride`-th block."""
        return float(self.weight[self.chosen(stride)].sum())


def _near(first, newton):
    """Return a point near the rows, (d,), with the exact value of each constant column.

    For Newton's method a value of many rows (.76 of the time for one-hot columns), else the mean.
    """
    center = origin_of(first) if newton else first.mean(axis=0, dtype=np.float64)
    return np.where((first == first[0]).all(axis=0), first[0].astype(np.float64), center)


def n_scores_of(classes: np.ndarray) -> int:
    """Return the number of scores: 1 for two classes."""
    return 1 if len(classes) == 2 else len(classes)


def parameters_of(theta: np.ndarray, columns: Columns, dtype: Any) -> dict[str, np.ndarray]:
    """Return coefficients and intercepts in units of the data."""
    with np.errstate(over="ignore", under="ignore"):
        coef = theta[:, :-1] * columns.scale
        intercept = theta[:, -1] - coef @ columns.shift
        return {"coef_": coef.astype(dtype), "intercept_": intercept.astype(dtype)}
