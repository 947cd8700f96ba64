"""The error of one block among many."""

from typing import Any


class BlockError(ValueError):
    """A block could not be read, or what it holds was refused; the message names it.

    Parameters
    ----------
    message : str
    block : int
        Its number, kept as an attribute.

    Examples
    --------
    >>> from mlcore.blocks import BlockError, fit_blocks
    >>> from mlcore.decomposition import PCA
    >>> try:
    ...     fit_blocks(PCA(1), [[[0.0, 1.0]], [[2.0, 3.0], [4.0, float("nan")]]])
    ... except BlockError as error:
    ...     error.block
    1
    """

    def __init__(self, message: str, block: int) -> None:
        super().__init__(message)
        self.block = block

    def __reduce__(self) -> Any:
        return type(self), (self.args[0], self.block)
