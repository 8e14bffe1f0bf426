"""Sorting along short axes: each element's place is how many come before it, which one reduction counts.

Invariant: equal elements keep their order, and what is not a number is the greatest.
"""

import torch

from girih.torch.graph.operations.table import writes
from girih.torch.graph.values import Missing, axis_of

# Each element is compared with each: the time grows with the square of the length.
_MOST = 1024


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
    length = x.sizes[axis]
    if length > _MOST:
        raise Missing(f"it sorts more than {_MOST} elements")
    if 0 in x.sizes or not count:
        raise Missing("it sorts no elements")
    last = [at for at in range(x.rank) if at != axis] + [axis]
    rows = w.permute(x, last)
    rows = w.convert(rows, torch.uint8) if rows.dtype == torch.bool else rows
    places = _places(w, rows, descending)
    # For each place the number of the element that has it.
    before = rows.sizes[:-1]
    shape = [*before, count, length]
    has = w.binary("eq", w.broadcast(w.reshape(places, [*before, 1, length]), shape), w.positions(shape, len(before), torch.int32))
    numbers = w.op("sum", w.where(has, w.positions(shape, len(before) + 1, torch.int32), 0, torch.int32), axes=[len(shape) - 1])
    found = w.op("gather", rows, numbers, axis=[len(before)])
    back = [last.index(at) for at in range(x.rank)]
    return w.permute(w.convert(found, x.dtype), back), w.permute(w.convert(numbers, torch.int64), back)


def _places(w, rows, descending):
    """The place of each element of the last axis in order."""
    before, length = rows.sizes[:-1], rows.sizes[-1]
    shape = [*before, length, length]
    own = w.broadcast(w.reshape(rows, [*before, length, 1]), shape)
    other = w.broadcast(w.reshape(rows, [*before, 1, length]), shape)
    comes, equal = w.op("gt" if descending else "lt", other, own), w.op("eq", other, own)
    if rows.dtype.is_floating_point:
        own_is_none, other_is_none = w.op("isnan", own), w.op("isnan", other)
        greatest, rest = (other_is_none, own_is_none) if descending else (own_is_none, other_is_none)
        comes = w.op("or", comes, w.op("and", greatest, w.op("not", rest)))
        equal = w.op("or", equal, w.op("and", own_is_none, other_is_none))
    axis = len(before)
    earlier = w.op("lt", w.positions(shape, axis + 1, torch.int32), w.positions(shape, axis, torch.int32))
    comes = w.op("or", comes, w.op("and", equal, earlier))
    return w.op("sum", w.convert(comes, torch.int32), axes=[axis + 1])
