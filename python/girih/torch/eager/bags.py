"""`torch.nn.EmbeddingBag`: sums and means of rows of a table, and their gradients.

Invariant: bags that keep the largest numbers, and gradients that are sparse or scaled by how often a row is there, run on the host, forward and backward.
"""

import functools

import torch

from girih.torch import placement
from girih.torch.library import Library

_aten = torch.ops.aten
_library = Library("aten", "IMPL")
_MEAN, _LARGEST = 1, 2


def _bags(run, operation, table, indices, offsets, scaled=False, mode=0, sparse=False, weights=None, has_last=False, padding=-1):
    if mode == _LARGEST or scaled or sparse or indices.dim() != 1 or offsets.dim() != 1:
        return run(operation, table, indices, offsets, scaled, mode, sparse, weights, has_last, padding)
    placement.refuse_mixed(operation, (table, indices, offsets, scaled, mode, sparse, weights), {})
    count = offsets.numel() - has_last
    bags = torch.searchsorted(offsets[:count], torch.arange(indices.numel(), device=indices.device), right=True) - 1
    keeps = (indices != padding).unsqueeze(1)
    rows = table.index_select(0, indices)
    rows = torch.where(keeps, rows if weights is None else rows * weights.unsqueeze(1), 0.0)
    made = rows.new_zeros(count, table.shape[1]).index_add_(0, bags, rows)
    sizes = torch.zeros(count, dtype=torch.int32, device=table.device).index_add_(0, bags, keeps.squeeze(1).to(torch.int32))
    if mode == _MEAN:
        made = made / sizes.clamp(min=1).unsqueeze(1)
    return made.to(table.dtype), bags.to(indices.dtype), sizes.to(indices.dtype), offsets.new_empty(0)


def _backward(run, gradient, indices, offsets, bags, sizes, largest, count, scaled, mode, sparse, weights, padding=-1):
    if mode == _LARGEST or scaled or sparse:
        return run(_aten._embedding_bag_backward.default, gradient, indices, offsets, bags, sizes, largest, count, scaled, mode, sparse, weights, padding)
    if mode == _MEAN:
        gradient = gradient / sizes.clamp(min=1).unsqueeze(1)
    rows = gradient.index_select(0, bags)
    rows = torch.where((indices != padding).unsqueeze(1), rows if weights is None else rows * weights.unsqueeze(1), 0.0)
    return rows.new_zeros(count, gradient.shape[1]).index_add_(0, indices, rows)


def register(run) -> None:
    """Registers them. `run` runs any call."""
    for name in ("_embedding_bag", "_embedding_bag_forward_only"):
        _library.impl(name, functools.partial(_bags, run, getattr(_aten, name).default), "PrivateUse1")
    _library.impl("_embedding_bag_backward", functools.partial(_backward, run), "PrivateUse1")
