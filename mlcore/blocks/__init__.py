"""Fits and predictions over blocks of rows: in files, in processes, on other machines."""

from mlcore.blocks.apply_blocks import predict_blocks, transform_blocks
from mlcore.blocks.block_error import BlockError
from mlcore.blocks.fit_blocks import fit_blocks
from mlcore.blocks.parquet_blocks import parquet_blocks
from mlcore.blocks.row_blocks import row_blocks
from mlcore.blocks.sequence import Blocks

__all__ = [
    "BlockError",
    "Blocks",
    "fit_blocks",
    "parquet_blocks",
    "predict_blocks",
    "row_blocks",
    "transform_blocks",
]


def __dir__() -> list[str]:
    return __all__
