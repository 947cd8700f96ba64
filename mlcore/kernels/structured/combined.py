"""Sums and products of kernels, which are kernels again."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from mlcore.checks import as_real
from mlcore.estimator.model import Model
from mlcore.kernels.kernel import Kernel


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
        names = [str(getattr(operand, "name", operand)) for operand in (self.first, self.second)]
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
            samples = kernel.encode(X)
            if samples is not None:
                X = encoded = samples
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
        kernel, encoded = self._settings(), self.encode(X)
        X = X if encoded is None else encoded
        if Y is None:
            Y = X
        elif encoded is not None:
            Y = self.encode(Y)
        return kernel(X, Y)

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
        return self._settings().diagonal(X if encoded is None else encoded)

    def _settings(self):
        list(self._kernels())  # refuses what is no operand
        operands = (self.first, self.second)
        return _Values(
            self, [k._settings() if isinstance(k, Kernel) else float(k) for k in operands]
        )

    def _kernels(self) -> Iterator[Kernel]:
        owner = type(self).__name__
        count = 0
        for name in ("first", "second"):
            operand = getattr(self, name)
            if isinstance(operand, Kernel):
                count += 1
                yield operand
            elif isinstance(operand, str) or callable(operand):
                raise TypeError(
                    f"{owner}: {name}={operand!r} is of type {type(operand).__name__}, but must be "
                    "a Kernel or a number."
                )
            else:
                as_real(operand, name, owner=owner, at_least=0)
        if not count:
            raise TypeError(f"{owner}: first and second are numbers; one must be a Kernel.")


class _Values(Kernel):
    """A sum or a product of checked kernels, or of one and a float, of encoded samples."""

    halves = True

    def __init__(self, combined: _Combined, operands: list[Kernel | float]) -> None:
        self.combined, self.operands = combined, operands

    @property
    def name(self) -> str:
        return self.combined.name

    @property
    def positive_semidefinite(self) -> bool | None:
        return self.combined.positive_semidefinite

    def __call__(self, X: Any, Y: Any) -> np.ndarray:
        return self._of_all(lambda kernel: kernel.values(X, Y))

    def diagonal(self, X: Any) -> np.ndarray:
        return self._of_all(lambda kernel: kernel.diagonal(X))

    def _of_all(self, values: Callable[[Kernel], np.ndarray]) -> np.ndarray:
        return self.combined._combine(
            *(values(k) if isinstance(k, Kernel) else k for k in self.operands)
        )


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


def _operator(combined: type[_Combined]) -> staticmethod:
    def combine(first: Any, second: Any) -> Any:
        if not all(
            isinstance(operand, Kernel | int | float | np.number) for operand in (first, second)
        ):
            return NotImplemented
        return combined(first, second)

    return staticmethod(combine)


Kernel._sum, Kernel._product = _operator(SumKernel), _operator(ProductKernel)
