"""Operations of PyTorch as operations of `core/tensor`. A file for each kind of operation, in the order of the table in `core/tensor/src/ops.rs`."""

from girih.torch.graph.operations import created, indexing, moves, pointwise, pools, products, reductions, sorting  # noqa: F401
from girih.torch.graph.operations.table import OPERATIONS

__all__ = ["OPERATIONS"]
