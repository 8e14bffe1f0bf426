"""What PyTorch decomposes before a graph is translated: all that its core operations do not need, and some of these.

Invariant: an operation for which `core/tensor` has one of the same meaning stays whole.
"""

import functools

import torch

from girih.torch.graph import strided

# Core operations that are made of others in a way that kernels fuse.
_ALSO = (
    "_adaptive_avg_pool2d",
    "_native_batch_norm_legit",
    "_native_batch_norm_legit_functional",
    "_native_batch_norm_legit_no_training",
    "elu",
    "gelu",
    "glu",
    "grid_sampler_2d",
    "leaky_relu",
    "linalg_vector_norm",
    "native_batch_norm",
    "native_dropout",
    "native_group_norm",
    "native_layer_norm",
    "pixel_shuffle",
    "upsample_bilinear2d",
    "upsample_nearest2d",
)
# Of these the table has one operation.
_KEPT = ("embedding_dense_backward",)


@functools.cache
def table() -> dict:
    """The decompositions, by operation."""
    from torch._decomp import core_aten_decompositions, get_decompositions

    packets = [getattr(torch.ops.aten, name) for name in _ALSO]
    chosen = {**core_aten_decompositions(), **get_decompositions(packets)}
    kept = [getattr(torch.ops.aten, name) for name in _KEPT]
    return {operation: by for operation, by in chosen.items() if getattr(operation, "overloadpacket", None) not in kept} | strided.ROWS
