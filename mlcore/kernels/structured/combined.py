"""Sums and products of kernels, which are kernels again."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from mlcore.checks import as_real
from mlcore.estimator.model import Model
from mlcore.kernels.kernel import Kernel
from mlcore.kernels.kernel_rows import KernelRows, SymmetricRows


class _Combined(Kernel, Model):
    """A kernel whose values are computed from those of two kernels, or of one and a number."""

    _symbol: str
    _combine: Callable[[Any, Any], Any]

    def __init__(self, first: Any, second: Any) -> None:
        self.first = first
        self.second = second

    @property
    def name(self) -> str:
        """The name in messages, with those of both kernels."""
        names = [str(getattr(part, "name", part)) for part in (self.first, self.second)]
        return f"({names[0]} {self._symbol} {names[1]})"

    @property
    def positive_semidefinite(self) -> bool | None:
        """True if both kernels are known to be inner products, else None."""
        return True if all(kernel.positive_semidefinite for kernel in self._kernels()) else None

    def encode(self, X: Any) -> Any:
        """Return the samples, as both kernels take them; None for rows of numbers.

        Parameters
        ----------
        X : array-like, CSR or container of n samples

        Returns
        -------
        samples : container or None
            As both kernels take them.

        Raises
        ------
        TypeError, ValueError
            For what is no kernel and no number of at least 0, and for samples that one of the
            kernels refuses.
        """
        encoded = None
        for kernel in self._kernels():
            found = kernel.encode(X)
            if found is not None:
                X = encoded = found
        return encoded

    def require_valid(self, X: Any, name: str) -> None:
        """Refuse rows of numbers for which one of the kernels is not defined.

        Parameters
        ----------
        X : array-like or CSR
        name : str
            What messages call `X`.
        """
        for kernel in self._kernels():
            kernel.require_valid(X, name)

    def __call__(self, X: Any, Y: Any = None) -> np.ndarray:
        """Return the kernel values between two lists of samples, (n, m); Y is X by default."""
        encoded = self.encode(X)
        X = X if encoded is None else encoded
        if Y is None:
            Y = X
        elif encoded is not None:
            Y = self.encode(Y)
        parts = (self.first, self.second)
        values = [part.values(X, Y) if isinstance(part, Kernel) else float(part) for part in parts]
        return self._combine(*values)

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
        encoded = self.encode(X)
        X = X if encoded is None else encoded
        parts = (self.first, self.second)
        return self._combine(
            *(part.diagonal(X) if isinstance(part, Kernel) else float(part) for part in parts)
        )

    def rows(self, X: Any, double: bool) -> KernelRows:
        """Return the rows of the Gram matrix of X, to be computed where they are needed.

        Parameters
        ----------
        X : container of n samples
            As `encode` returns them.
        double : bool
            Whether values are wanted in float64.

        Returns
        -------
        rows : KernelRows
            They are computed when asked for.
        """
        return SymmetricRows(self, X, double)

    def _kernels(self) -> Iterator[Kernel]:
        owner = type(self).__name__
        found = 0
        for name in ("first", "second"):
            part = getattr(self, name)
            if isinstance(part, Kernel):
                found += 1
                yield part
            elif isinstance(part, str) or callable(part):
                raise TypeError(
                    f"{owner}: {name}={part!r} is of type {type(part).__name__}, but must be a "
                    "Kernel or a number."
                )
            else:
                as_real(part, name, owner=owner, at_least=0)
        if not found:
            raise TypeError(f"{owner}: first and second are numbers; one must be a Kernel.")


class SumKernel(_Combined):
    """The sum of two kernels, of the samples that both take: ``first + second``.

    It sees what either sees. The features of the two are joined.

    Parameters
    ----------
    first, second : Kernel, or a number of at least 0
        A number is a constant kernel.

    Notes
    -----
    Positive semi-definite if both are. Time and memory are those of both.

    References
    ----------
    J. Shawe-Taylor, N. Cristianini, *Kernel Methods for Pattern Analysis*, 2004, proposition 3.22.

    Examples
    --------
    >>> from mlcore.kernels import StringKernel
    >>> kernel = StringKernel(length=2) + 0.5 * StringKernel("gapped")
    >>> kernel(["abc", "abd"]).round(3).tolist()
    [[1.5, 0.5], [0.5, 1.5]]
    """

    _symbol = "+"
    _combine = staticmethod(np.add)


class ProductKernel(_Combined):
    """The product of two kernels, of the samples that both take: ``first * second``.

    It sees what both see at once. Its features are the products of those of the two.

    Parameters
    ----------
    first, second : Kernel, or a number of at least 0
        A number scales the other's values.

    Notes
    -----
    Positive semi-definite if both are (I. Schur). Time and memory are those of both.

    References
    ----------
    J. Shawe-Taylor, N. Cristianini, *Kernel Methods for Pattern Analysis*, 2004, proposition 3.22.

    Examples
    --------
    >>> from mlcore.kernels import StringKernel
    >>> kernel = StringKernel(length=1) * StringKernel(length=2)
    >>> kernel(["abc", "abd"]).round(3).tolist()
    [[1.0, 0.333], [0.333, 1.0]]
    """

    _symbol = "*"
    _combine = staticmethod(np.multiply)
