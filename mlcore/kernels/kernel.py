"""Base class of kernels: a function k(x, y) of two samples, its rows and its properties."""

from collections.abc import Callable
from typing import Any, ClassVar, Self

import numpy as np
from scipy import sparse

from mlcore.checks import as_objects
from mlcore.kernels.gram_rows import CalledRows, KernelRows, MatrixRows
from mlcore.runtime.memory import require_memory
from mlcore.runtime.scratch import scratch_array


class Kernel:
    """A function k(x, y) of two samples of any kind, for models that take ``kernel=``.

    A subclass computes values (`__call__`) and, if samples are not rows of numbers, checks them
    (`encode`). All else has a default: override `diagonal` if it costs less than calls, and the
    class attribute `positive_semidefinite` if the kernel is known to be an inner product. Kernels
    are added and multiplied, also by numbers, with ``+`` and ``*``.

    Notes
    -----
    Models call it with the samples as they encoded them, block by block: time and memory are its
    own.

    References
    ----------
    B. Schölkopf, A. Smola, *Learning with Kernels*, MIT Press, 2002, chapter 2.

    Examples
    --------
    >>> import numpy as np
    >>> from mlcore.kernels import Kernel
    >>> from mlcore.svm import SVC
    >>> class SharedLetters(Kernel):
    ...     positive_semidefinite = True
    ...
    ...     def encode(self, X):
    ...         return np.array([[set(word)] for word in X], dtype=object)
    ...
    ...     def __call__(self, X, Y):
    ...         return [[len(x & y) for y in Y[:, 0]] for x in X[:, 0]]
    >>> model = SVC(kernel=SharedLetters()).fit(["cat", "act", "dog", "god"], [0, 0, 1, 1])
    >>> model.predict(["taca", "good"])
    array([0, 1])
    """

    positive_semidefinite: bool | None = None  # None: unknown, tested on some samples
    uses_gamma: ClassVar[bool] = False
    linear: ClassVar[bool] = False  # True if k(x, y) is x.y
    gaussian: ClassVar[bool] = False  # True if k(x, y) is exp(-gamma |x - y|²)
    # True if the matrix, centred, is the same for samples less any vector: best less their mean.
    origin_free: bool = False
    precomputed: ClassVar[bool] = False  # True if samples are rows of kernel values
    packed: ClassVar[bool] = False  # True if `rows` and `against` copy their samples
    halves: ClassVar[bool] = False  # True if the same samples twice cost half
    # Functions of two kernels, or of one and a number: set by the module of sums and products,
    # `mlcore.kernels.structured.combined`, which imports this one.
    _sum: ClassVar[Callable[[Any, Any], Any]]
    _product: ClassVar[Callable[[Any, Any], Any]]

    @property
    def name(self) -> str:
        """The name in messages."""
        return type(self).__name__

    def encode(self, X: Any) -> Any:
        """Return samples that are not rows of numbers, checked; None for rows of numbers.

        Parameters
        ----------
        X : array-like, CSR or container of n samples

        Returns
        -------
        samples : container or None
            Its `shape` is (n_samples, 1), and ``samples[rows]`` are some of them, for an array of
            integers or a slice.
        """
        return None

    def require_valid(self, X: Any, name: str) -> None:
        """Refuse rows of numbers for which k is not defined.

        Parameters
        ----------
        X : array-like, CSR or container of n samples
        name : str
            What messages call `X`.
        """

    def with_gamma(self, gamma: float) -> Self:
        """Return the same kernel of this width.

        Parameters
        ----------
        gamma : float

        Returns
        -------
        kernel : Kernel
            A copy of this width.
        """
        return self

    def __call__(self, X: Any, Y: Any) -> Any:
        """Return the kernel values between two sets of samples, (n, m), dense or sparse."""
        raise NotImplementedError

    def __add__(self, other: Any) -> Any:
        return self._sum(self, other)

    def __radd__(self, other: Any) -> Any:
        return self._sum(other, self)

    def __mul__(self, other: Any) -> Any:
        return self._product(self, other)

    def __rmul__(self, other: Any) -> Any:
        return self._product(other, self)

    def _settings(self) -> "Kernel":
        """Return this kernel, of samples that it has encoded, with checked parameters."""
        return self

    def diagonal(self, X: Any) -> np.ndarray:
        """Return k(x, x) of all samples, float64 (n,).

        Parameters
        ----------
        X : array-like, CSR or container of n samples

        Returns
        -------
        values : (n,) float64
            k(x, x) of each sample.
        """
        values = (self.values(X[[i]], X[[i]])[0, 0] for i in range(X.shape[0]))
        return np.fromiter(values, np.float64, X.shape[0])

    def values(self, X: Any, Y: Any) -> np.ndarray:
        """Return the kernel values between two sets of samples, checked and dense.

        Parameters
        ----------
        X : array-like, CSR or container of n samples
        Y : container of m samples

        Returns
        -------
        values : (n, m)
            Of the samples of `X` with those of `Y`.

        Raises
        ------
        ValueError, TypeError
            Where they are not real, not finite or not of shape (n, m).
        """
        K = self(X, Y)
        if not sparse.issparse(K):
            try:
                K = np.asarray(K)
            except ValueError as error:
                raise TypeError(f"kernel {self.name!r} returned no array: {error}") from error
        if K.dtype.kind not in "fiub":
            raise TypeError(
                f"kernel {self.name!r} returned dtype {K.dtype}; an array of real numbers is "
                "needed."
            )
        shape = (X.shape[0], Y.shape[0])
        if K.shape != shape:
            raise ValueError(f"kernel {self.name!r} returned shape {K.shape}; {shape} is needed.")
        if sparse.issparse(K):
            require_memory(
                *shape, K.dtype.itemsize, what="its sparse values, dense",
                instead="call the kernel on blocks of rows",
            )  # fmt: skip
            K = K.toarray()
        if not np.isfinite(K).all():
            raise ValueError(
                f"kernel {self.name!r} returned NaN or infinity; finite values are needed."
            )
        return K

    def rows(self, X: Any, double: bool) -> KernelRows:
        """Return the rows of the Gram matrix of X, to be computed where they are needed.

        `double` asks for values in float64; otherwise they are in float32, if their range allows.

        Parameters
        ----------
        X : array-like, CSR or container of n samples
        double : bool
            Whether values are wanted in float64.

        Returns
        -------
        rows : KernelRows
            They are computed when asked for.
        """
        return CalledRows(self._settings(), X, double)

    def against(self, V: Any) -> Callable[..., np.ndarray]:
        """Return ``values(X, out=None)``, the kernel values of samples X with V, (n, m).

        They may be in `out`, an earlier result of as many rows or more.

        Parameters
        ----------
        V : container of m samples

        Returns
        -------
        values : callable
            ``values(X, out=None)`` is an array (n, m).
        """
        kernel = self._settings()

        def values(X, out=None):
            if sparse.issparse(X) != sparse.issparse(V):
                return kernel.values(sparse.csr_array(X), sparse.csr_array(V))
            return kernel.values(X, V)

        return values


def of_numbers(samples: Any) -> bool:
    """Return True if samples are rows of numbers, not objects."""
    return getattr(samples, "dtype", np.dtype(object)).kind != "O"


def precision(samples: Any) -> np.dtype:
    """Return the type of kernel values and sums over samples: theirs, float64 for objects."""
    return samples.dtype if of_numbers(samples) else np.dtype(np.float64)


def as_double(samples: Any) -> Any:
    """Return samples in float64, objects unchanged."""
    return samples.astype(np.float64, copy=False) if of_numbers(samples) else samples


def mean_if_free(samples: Any, kernel: Kernel, weight: np.ndarray) -> np.ndarray | None:
    """Return the weighted mean of samples, (d,), if it can be taken from them: `origin_free`.

    An offset far from 0 leaves no digits of the inner products of what differs.
    """
    if kernel.origin_free and isinstance(samples, np.ndarray) and of_numbers(samples):
        return np.average(samples, axis=0, weights=weight)
    return None


def differences(samples: Any, origin: np.ndarray | None) -> Any:
    """Return samples in float64, less `origin` if there is one."""
    doubles = as_double(samples)
    return doubles if origin is None else doubles - origin


def copied(samples: Any) -> Any:
    """Return a copy of samples, independent of the user's array."""
    if not of_numbers(samples):
        return samples[:]
    if sparse.issparse(samples):
        return samples.copy()
    copy = scratch_array(samples.shape, samples.dtype)
    copy[...] = samples
    return copy


class FunctionKernel(Kernel):
    """A user's function of two sets of samples, which may be any objects."""

    def __init__(self, function: Callable[[Any, Any], Any]) -> None:
        self.function = function

    def __eq__(self, other: object) -> bool:
        return isinstance(other, FunctionKernel) and self.function == other.function

    __hash__ = None

    @property
    def name(self) -> str:
        return getattr(self.function, "__name__", type(self.function).__name__)

    def encode(self, X: Any) -> Any:
        return as_objects(X)

    def __call__(self, X: Any, Y: Any) -> Any:
        # Objects are held as a column; the user's function sees them as they were passed.
        return self.function(*(A if of_numbers(A) else A[:, 0] for A in (X, Y)))


class PrecomputedKernel(Kernel):
    """Matrix of kernel values from the user: a sample is its row."""

    name = "precomputed"
    precomputed = True

    def diagonal(self, X: np.ndarray) -> np.ndarray:
        return np.diagonal(X).astype(np.float64)

    def rows(self, X: np.ndarray, double: bool) -> KernelRows:
        return MatrixRows(self, X, double)

    def against(self, V: Any) -> Callable[..., np.ndarray]:
        """Return ``values(X, out=None)``, the columns V of rows X of kernel values."""
        return lambda X, out=None: X[:, V]
