"""Eigenpairs of a scatter matrix, of which the small ones are found again from the rows."""

from collections.abc import Callable
from typing import Any, NamedTuple, Self

import numpy as np

from mlcore.checks.stored import stored
from mlcore.decomposition.evidence import is_complete
from mlcore.numerics.eigen import largest_by_lanczos, largest_by_lapack
from mlcore.runtime.threads import single_threaded_blas

# By bytes of a number: eigenvalues below this part of the largest have lost too many digits. S and
# its eigenvectors are sums and rotations in the type of the data, of unit roundoff u: by Weyl an
# eigenvalue is off by c u lambda_1, c ~ 1 for S and 10 for LAPACK's values. Of lambda_i = tau
# lambda_1 that is c u / tau: 6e-5 in float32 and 1e-10 in float64 by Rayleigh quotients, for which
# c ~ 1. Half the digits are kept at least, and few spectra need the second reading of the rows.
_TAIL = {4: 1e-3, 8: 1e-6}
_SQUARED = 1e-100, 1e100  # variances whose squares are numbers
_ROUNDING = 4  # eps of the type of the data: residuals of Lanczos, relative to the largest value


class Spectrum(NamedTuple):
    """Eigenpairs of S, descending; the trace, and the sum of all eigenvalues of S in the basis."""

    values: np.ndarray  # (k,), or more if they are known
    vectors: np.ndarray  # (d, k)
    trace: float
    basis_trace: float
    residuals: np.ndarray  # (k,)
    next_value: float
    complete: bool
    solver: str
    next_residual: float = 0.0  # of next_value, over the largest value as `residuals`
    converged: bool = True


@stored(version=1)
class ScatterEigenpairs(NamedTuple):
    """Eigenpairs of S, the scatter of d-dimensional rows, descending; arrays and numbers only.

    S determines an eigenvalue to eps of the largest. For smaller ones the rows are projected on the
    eigenvectors from there on, and their scatter is decomposed, again where digits are lost.
    """

    S: np.ndarray  # (m, m), without constant features where these have no part
    features: np.ndarray  # (m,)
    d: int
    k: int  # wanted, at least
    limit: float  # below this part of the largest, digits are lost
    values: np.ndarray  # (k + 1,) or (m,)
    vectors: np.ndarray  # (m, k + 1) or (m, m)
    start: int = 0  # values from here on are those of their own scatter
    sure: int = -1  # values before this are as exact as S; -1 for all
    complete: bool = False  # it is known that no leading eigenvector is missing
    _stored = {
        "S": "float64 m m",
        "features": "int m? < f",
        "d": "size f",
        "k": "int",
        "limit": "float",
        "values": "float64 v?",
        "vectors": "float64 m? v?",
        "start": "int",
        "sure": "int",
        "complete": "bool",
    }

    @property
    def few_digits(self) -> bool:
        """True if a wanted value is so small that S, as it was summed, has lost its digits."""
        return bool(self.values[: self.k + 1].min() < self.limit * self.values[0])

    def tail(self) -> Self | None:
        """Return the pairs with `directions`, along which the rows are to be summed; or None."""
        if not self.few_digits:
            return None
        full, start = self, self.start
        if len(self.values) < len(self.S):
            full = self._replace(**_eigenpairs(self.S, len(self.S)))
        values = full.values
        # What is below the rounding of the rows themselves counts as 0.
        nothing = (self.d * np.finfo(np.float64).eps) ** 2 * values[0]
        if values[start] <= nothing:
            return None
        lost = start + int(np.argmax(values[start:] < self.limit * values[start]))
        if lost == start or lost > self.k:
            return None
        return full._replace(start=lost, sure=lost if self.sure < 0 else min(lost, self.sure))

    @property
    def directions(self) -> np.ndarray:
        """Eigenvectors of the values from `start` on, (d, t)."""
        return self._embedded(self.vectors[:, self.start :])

    def placed(self, scatter: np.ndarray) -> Self:
        """Return the pairs, those from `start` on by the scatter (t, t) along `directions`."""
        start = self.start
        own = _eigenpairs(scatter, len(scatter))
        values, vectors = self.values.copy(), self.vectors.copy()
        values[start:] = np.maximum(own["values"], 0.0)
        with single_threaded_blas():
            vectors[:, start:] = vectors[:, start:] @ own["vectors"]
        return self._replace(values=values, vectors=vectors)

    def completed(self, along: Callable[[np.ndarray], np.ndarray]) -> Self:
        """Return the pairs with all digits; ``along(V)`` is the scatter of the rows along V."""
        pairs = self
        while (tail := pairs.tail()) is not None:
            pairs = tail.placed(along(tail.directions))
        return pairs

    @single_threaded_blas()
    def spectrum(self, pick: Callable[[np.ndarray], int] | None, solver: str) -> Spectrum:
        """Return the spectrum of S; the sure values become the quotients ``u'Su / u'u``.

        Their errors are the squares of those of u. `pick`, if given, chooses the number of pairs.
        """
        S, values = self.S, self.values
        k = pick(values) if pick else self.k
        U, sure = self.vectors[:, :k], k if self.sure < 0 else min(self.sure, k)
        product = S @ U
        quotients = np.einsum("ij,ij->j", U, product) / np.einsum("ij,ij->j", U, U)
        order = np.arange(k)
        order[:sure] = np.argsort(-quotients[:sure], kind="stable")  # nearly equal ones may swap
        values = np.concatenate([quotients[:sure], values[sure:]])
        values[:k], U, product = values[order], U[:, order], product[:, order]
        largest = values[0] if values[0] > 0 else 1.0
        residuals = np.linalg.norm(product - U * values[:k], axis=0) / largest
        trace = float(np.trace(S))
        next_value = float(values[k]) if len(values) > k else -np.inf
        complete = self.complete or k == len(S) or is_complete(S, values[:k], U, next_value)
        vectors = self._embedded(U)
        return Spectrum(values, vectors, trace, trace, residuals, next_value, complete, solver)

    def _embedded(self, V):
        if len(self.features) == self.d:
            return V
        whole = np.zeros((self.d, V.shape[1]))
        whole[self.features] = V
        return whole


def scatter_eigenpairs(S: np.ndarray, k: int, every: bool, dtype: Any) -> ScatterEigenpairs:
    """Return the k + 1 leading eigenpairs of S (d, d) float64, or all if `every` or as quick.

    Block Lanczos is used where it is quicker and proved complete, else LAPACK in the `dtype` of the
    rows.
    """
    d = len(S)
    features = np.flatnonzero(S.diagonal())
    if every or not 2 * k < len(features) < d:
        features = np.arange(d)
    else:  # constant features have no part in the leading eigenvectors
        S = S.take(features, axis=0).take(features, axis=1)  # a third of the time of S[ix_]
    count = len(S) if every or 2 * k >= len(S) else k + 1
    pairs = _by_lanczos(S, k, dtype) if count == k + 1 else None
    if pairs is None:
        pairs = _in_type(S, count, dtype)
    return ScatterEigenpairs(S, features, d, k, _TAIL[np.dtype(dtype).itemsize], **pairs)


@single_threaded_blas()
def _by_lanczos(S, k, dtype):
    """Return the pairs that block Lanczos finds, if it is worth it and has provably missed none."""
    size = S.diagonal().max(initial=0.0)
    exponent = 0 if _SQUARED[0] < size < _SQUARED[1] else int(np.frexp(size)[1])
    S = np.ldexp(S, -exponent) if exponent else S
    pairs = largest_by_lanczos(S, k + 1, _ROUNDING * float(np.finfo(dtype).eps))
    if pairs is None or not is_complete(S, pairs[0][:k], pairs[1][:, :k], pairs[0][k]):
        return None
    return {"values": np.ldexp(pairs[0], exponent), "vectors": pairs[1], "complete": True}


def _in_type(S, count, dtype):
    """Return the pairs that LAPACK finds in the type of the data."""
    if S.dtype == dtype:
        return _eigenpairs(S, count)
    # Weights may be beyond the range of float32.
    exponent = max(int(np.frexp(S.diagonal().max(initial=0.0))[1]), -1000)
    pairs = _eigenpairs((S * np.ldexp(1.0, -exponent)).astype(dtype), count)
    pairs["values"] = np.ldexp(pairs["values"], exponent)
    return pairs


def _eigenpairs(S, count):
    with single_threaded_blas():
        values, vectors = largest_by_lapack(S, count)
    return {
        "values": values.astype(np.float64),
        "vectors": vectors.astype(np.float64, copy=False),
        "complete": False,
    }
