"""Which bytes of a storage a tensor lies in: an extent is the place of the first one, and the place behind the last one.

Invariant: what `merged` gives is in order and does not touch.
"""

import torch

from girih.torch import storages


def of(tensor: torch.Tensor) -> tuple[int, int]:
    """From which byte of its storage to which one a tensor with elements lies."""
    start, count = tensor.storage_offset(), storages.span(tensor.size(), tensor.stride())
    return start * tensor.element_size(), (start + count) * tensor.element_size()


def merged(extents):
    """The same bytes in order, without those that touch."""
    apart = []
    for start, end in sorted(extents):
        if apart and start <= apart[-1][1]:
            apart[-1] = (apart[-1][0], max(end, apart[-1][1]))
        else:
            apart.append((start, end))
    return apart


def missing(extent, present):
    """The parts of an extent that are not in those present, which are in order and apart."""
    start, end = extent
    gaps = []
    for first, last in present:
        if first > start and start < end:
            gaps.append((start, min(first, end)))
        start = max(start, last)
    return gaps + ([(start, end)] if start < end else [])
