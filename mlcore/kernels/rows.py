"""A kernel matrix that is never formed: what a solver asks of it, row by row."""

from collections.abc import Callable

import numpy as np
from scipy import sparse

from mlcore.checks import require_memory
from mlcore.exceptions import warn
from mlcore.kernels.packed import Packed, largest_value

_PSD_SAMPLE = 64


class KernelRows:
    """Kernel values between the training samples, in blocks of rows.

    Parameters
    ----------
    X : ndarray (n, d) or CSR, or the matrix itself (n, n) for ``kernel="precomputed"``
    kernel : a name of `mlcore.kernels.gram.KERNELS`, "precomputed", or a callable
        ``kernel(A, B) -> (len(A), len(B))``
    gamma, degree, coef0 : the kernel's parameters
    double : bool
        Values in float64; otherwise float32, where the data's range allows.

    Attributes
    ----------
    n : int
        Samples.
    dtype : float32 or float64
        Of the values.
    diagonal : float64 array (n,)
        k(x, x).
    """

    def __init__(self, X, kernel, *, gamma=1.0, degree=3, coef0=0.0, double=False):
        self.n, self.d = X.shape
        self._packed = self._matrix = self._function = None
        self._kernel, self._coef0 = kernel, coef0
        parameters = dict(gamma=gamma, coef0=coef0, degree=degree)
        if callable(kernel):
            self._function, self._X = kernel, X
            self.diagonal = np.array(
                [called(kernel, X[[i]], X[[i]])[0, 0] for i in range(self.n)], dtype=np.float64
            )
            size = np.abs(self.diagonal).max()
        elif kernel == "precomputed":
            self._matrix = X
            self.diagonal = np.diagonal(X).astype(np.float64)
            size = max(X.max(), -X.min())
        else:
            size = largest_value(X, kernel, **parameters)
        single = not double and (size == 0 or 1e-30 < size < 1e30)
        self.dtype = np.dtype(np.float32 if single else np.float64)
        if not callable(kernel) and kernel != "precomputed":
            self._packed = Packed(X, kernel, **parameters, dtype=self.dtype)
            self.diagonal = self._packed.diagonal

    @property
    def rounding(self) -> float:
        """The size of the rounding errors in the values, about."""
        eps = float(np.finfo(self.dtype).eps) / 2
        if self._packed is None:
            return eps * float(np.abs(self.diagonal).max())
        return eps * self._packed.condition

    @property
    def nbytes(self) -> int:
        """Memory held beside the samples."""
        return self._packed.nbytes if self._packed is not None else 0

    def fill(self, rows, out, dest, columns=None):
        """out[dest[r], :m] = k(x of rows[r], x of columns[c]); all n columns by default."""
        if len(rows) == 0:
            return
        rows = np.ascontiguousarray(rows, dtype=np.int64)
        dest = np.ascontiguousarray(dest, dtype=np.int64)
        if self._packed is not None:
            self._packed.block(rows, self._packed.columns(columns), out, dest)
            if columns is None:
                out[dest, rows] = self.diagonal[rows]
        elif self._matrix is not None:
            m = self.n if columns is None else len(columns)
            chosen = slice(None) if columns is None else columns
            for r, to in zip(rows, dest, strict=True):
                out[to, :m] = self._matrix[r, chosen]
        else:
            X = self._X if columns is None else self._X[columns]
            m = X.shape[0]
            step = max(1, 4_000_000 // max(1, m))  # bounds what the user's function returns
            for start in range(0, len(rows), step):
                block = called(self._function, self._X[rows[start : start + step]], X)
                out[dest[start : start + step], :m] = block

    @property
    def terms(self) -> float:
        """Products of two numbers that one value costs; infinite where it cannot be said."""
        return self._packed.terms_per_value if self._packed is not None else np.inf

    @property
    def linear(self) -> bool:
        """Whether K b is X (X'b), so that no rows of K are needed."""
        return self._packed is not None and self._packed.kernel == "linear"

    def add_weights(self, samples, weights, w):
        """w += sum_s weights[s] x_s, float64 (d,); for the linear kernel."""
        self._packed.combine(samples, weights, w)

    def expand(self, w, out):
        """out = X w, float64 (n,); for the linear kernel."""
        self._packed.project(w, out)

    @property
    def halves(self) -> bool:
        """Whether `fill_all` takes half the work of `fill`: where the kernel is known symmetric."""
        return self._packed is not None and self._packed.layout != "inverted"

    def fill_all(self, out, chosen=None):
        """out[:m, :m] = K between the m chosen samples, all by default."""
        if self._packed is not None:
            self._packed.symmetric(out, chosen)
        else:
            everything = np.arange(self.n) if chosen is None else chosen
            self.fill(everything, out, np.arange(len(everything)), chosen)

    def block(self, rows, columns=None):
        """K[rows][:, columns] as a new array."""
        m = self.n if columns is None else len(columns)
        out = np.empty((len(rows), m), dtype=self.dtype)
        self.fill(rows, out, np.arange(len(rows)), columns)
        return out

    def warn_if_indefinite(
        self, so="the solution is a stationary point, and its duality gap no bound"
    ):
        """Warn of a kernel that is not positive semi-definite on some of the samples.

        `so` says what follows. Kernels that always are cost nothing.
        """
        name = self._kernel
        suspect = callable(name) or name in ("precomputed", "sigmoid")
        if not suspect and not (name == "polynomial" and self._coef0 < 0):
            return
        some = np.unique(np.linspace(0, self.n - 1, _PSD_SAMPLE).astype(np.intp))
        K = np.asarray(self.block(some, some), dtype=np.float64)
        slack = np.sqrt(np.finfo(self.dtype).eps) * np.abs(K).max()
        shown = repr(name) if isinstance(name, str) else getattr(name, "__name__", repr(name))
        if np.abs(K - K.T).max() > slack:
            warn("UserWarning", f"kernel {shown} is not symmetric: k(x, y) differs from k(y, x).")
        elif np.linalg.eigvalsh(K)[0] < -slack:
            warn(
                "UserWarning",
                f"kernel {shown} is not positive semi-definite on these samples: {so}.",
            )


def called(kernel: Callable, A, B) -> np.ndarray:
    """kernel(A, B), checked: real, finite, of shape (len(A), len(B)); dense, if it was sparse.

    Raises
    ------
    ValueError, TypeError
        Naming the kernel, what it returned and what is needed.
    """
    name = getattr(kernel, "__name__", type(kernel).__name__)
    # Objects are held as a column; the user's function sees them as they were passed.
    K = kernel(*(samples[:, 0] if samples.dtype == object else samples for samples in (A, B)))
    if not sparse.issparse(K):
        try:
            K = np.asarray(K)
        except ValueError as error:
            raise TypeError(f"kernel {name!r} returned no array: {error}") from error
    if K.dtype.kind not in "fiub":
        raise TypeError(
            f"kernel {name!r} returned dtype {K.dtype}; an array of real numbers is needed."
        )
    shape = (A.shape[0], B.shape[0])
    if K.shape != shape:
        raise ValueError(f"kernel {name!r} returned shape {K.shape}; {shape} is needed.")
    if sparse.issparse(K):
        way_out = "call the kernel on blocks of rows"
        require_memory(*shape, K.dtype.itemsize, what="its sparse values, dense", instead=way_out)
        K = K.toarray()
    if not np.isfinite(K).all():
        raise ValueError(f"kernel {name!r} returned NaN or infinity; finite values are needed.")
    return K
