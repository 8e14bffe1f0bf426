"""Sorting along an axis, and the greatest and least elements.

Invariant: equal elements keep their order, and what is not a number is the greatest.
"""

import torch

from girih.torch.graph.operations.table import writes
from girih.torch.graph.values import Missing, axis_of


@writes("sort.default")
def sort(w, x, axis=-1, descending=False):
    return _first(w, x, axis, x.sizes[axis_of(x, axis)] if x.rank else 1, descending)


@writes("sort.stable")
def sort_stable(w, x, *, stable=False, dim=-1, descending=False):
    return sort(w, x, dim, descending)


@writes("topk.default")
def topk(w, x, count, axis=-1, largest=True, sorted=True):
    return _first(w, x, axis, count, largest)


def _first(w, x, axis, count, descending):
    """The first elements in order, and where they were."""
    if not x.rank:
        return w.op("reshape", x, sizes=[]), w.full(0, torch.int64, [])
    axis = axis_of(x, axis)
    if 0 in x.sizes or not count:
        raise Missing("it sorts no elements")
    elements = w.convert(x, torch.uint8) if x.dtype == torch.bool else x
    places = w.op("argtop" if descending else "argsort", elements, axis=[axis], length=[count])
    found = w.op("gather", elements, places, axis=[axis])
    return w.convert(found, x.dtype), places
