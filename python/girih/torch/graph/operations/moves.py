"""Elements in other shapes, orders and places."""

import math

import torch

from girih.torch.graph.operations.table import writes
from girih.torch.graph.values import axis_of, promoted


@writes("view.default", "reshape.default", "_unsafe_view.default", "_reshape_alias.default")
def view(w, x, sizes, *strides):
    sizes = list(sizes)
    if -1 in sizes:
        known = math.prod(length for length in sizes if length != -1)
        sizes[sizes.index(-1)] = math.prod(x.sizes) // max(known, 1)
    return w.reshape(x, sizes)


@writes("permute.default")
def permute(w, x, axes):
    return w.permute(x, [axis_of(x, axis) for axis in axes])


@writes("t.default")
def transposed(w, x):
    return w.permute(x, list(range(x.rank))[::-1])


@writes("transpose.int")
def transpose(w, x, one, other):
    axes = list(range(x.rank))
    one, other = axis_of(x, one), axis_of(x, other)
    axes[one], axes[other] = other, one
    return w.permute(x, axes)


@writes("unsqueeze.default")
def unsqueeze(w, x, axis):
    axis %= x.rank + 1
    return w.reshape(x, [*x.sizes[:axis], 1, *x.sizes[axis:]])


@writes("squeeze.dim", "squeeze.dims", "squeeze.default")
def squeeze(w, x, axes=None):
    axes = range(x.rank) if axes is None else [axis_of(x, axis) for axis in ([axes] if isinstance(axes, int) else axes)]
    return w.reshape(x, [length for axis, length in enumerate(x.sizes) if axis not in axes or length != 1])


@writes("expand.default")
def expand(w, x, sizes, *, implicit=False):
    old = [1] * (len(sizes) - x.rank) + x.sizes
    return w.broadcast(x, [known if length == -1 else length for length, known in zip(sizes, old)])


@writes("repeat.default")
def repeat(w, x, times):
    old = [1] * (len(times) - x.rank) + x.sizes
    doubled = w.reshape(x, [length for known in old for length in (1, known)])
    repeated = w.broadcast(doubled, [length for pair in zip(times, old) for length in pair])
    return w.reshape(repeated, [count * length for count, length in zip(times, old)])


def _range(length, start, end):
    """Where a slice begins and ends, as Python counts."""
    start, end, _ = slice(start, end).indices(length)
    return start, max(start, end)


@writes("slice.Tensor")
def part(w, x, axis=0, start=None, end=None, step=1):
    axis = axis_of(x, axis)
    return w.slice(x, axis, *_range(x.sizes[axis], start, end), step)


@writes("select.int")
def select(w, x, axis, index):
    axis = axis_of(x, axis)
    index %= x.sizes[axis]
    return w.reshape(w.slice(x, axis, index, index + 1), x.sizes[:axis] + x.sizes[axis + 1 :])


@writes("split.Tensor")
def split(w, x, length, axis=0):
    axis = axis_of(x, axis)
    return [w.slice(x, axis, start, min(start + length, x.sizes[axis])) for start in range(0, x.sizes[axis], length)]


@writes("split_with_sizes.default")
def split_with_sizes(w, x, lengths, axis=0):
    axis = axis_of(x, axis)
    ends = [sum(lengths[: count + 1]) for count in range(len(lengths))]
    return [w.slice(x, axis, end - length, end) for end, length in zip(ends, lengths)]


@writes("unbind.int")
def unbind(w, x, axis=0):
    return [select(w, x, axis, index) for index in range(x.sizes[axis_of(x, axis)])]


@writes("slice_scatter.default")
def put_slice(w, x, source, axis=0, start=None, end=None, step=1):
    axis = axis_of(x, axis)
    length = x.sizes[axis]
    start, end = _range(length, start, end)
    source = w.convert(source, x.dtype)
    if step == 1:
        parts = [w.slice(x, axis, 0, start), w.broadcast(source, [*x.sizes[:axis], end - start, *x.sizes[axis + 1 :]]), w.slice(x, axis, end, length)]
        return w.concat([part for part in parts if part.sizes[axis]] or [x], axis)
    # Each element of the source, and others behind it that are not looked at; then those places that it is for.
    count = len(range(start, end, step))
    source = w.broadcast(source, [*x.sizes[:axis], count, *x.sizes[axis + 1 :]])
    apart = w.broadcast(w.reshape(source, [*x.sizes[:axis], count, 1, *x.sizes[axis + 1 :]]), [*x.sizes[:axis], count, step, *x.sizes[axis + 1 :]])
    apart = w.slice(w.reshape(apart, [*x.sizes[:axis], count * step, *x.sizes[axis + 1 :]]), axis, 0, min(count * step, length - start))
    low, high = [0] * x.rank, [0] * x.rank
    low[axis], high[axis] = start, length - start - apart.sizes[axis]
    places = w.positions(x.sizes, axis, torch.int32)
    is_one = w.binary("eq", w.binary("rem", w.binary("sub", places, start), step), 0)
    is_one = w.binary("and", is_one, w.binary("and", w.binary("ge", places, start), w.binary("lt", places, end)))
    return w.where(is_one, w.pad(apart, low, high), x)


@writes("select_scatter.default")
def put_one(w, x, source, axis, index):
    axis = axis_of(x, axis)
    index %= x.sizes[axis]
    return put_slice(w, x, unsqueeze(w, source, axis), axis, index, index + 1)


@writes("constant_pad_nd.default")
def pad(w, x, amounts, number=0):
    low, high = [0] * x.rank, [0] * x.rank
    for place in range(len(amounts) // 2):
        axis = x.rank - 1 - place
        before, after = amounts[2 * place : 2 * place + 2]
        x = w.slice(x, axis, max(-before, 0), x.sizes[axis] - max(-after, 0))
        low[axis], high[axis] = max(before, 0), max(after, 0)
    return w.pad(x, low, high, number)


@writes("cat.default")
def concat(w, values, axis=0):
    dtype = promoted(*values)
    # PyTorch leaves out tensors of one dimension and no elements.
    kept = [value for value in values if value.sizes != [0]] or values[:1]
    return w.concat([w.convert(value, dtype) for value in kept], axis_of(kept[0], axis))


@writes("stack.default")
def stack(w, values, axis=0):
    return concat(w, [unsqueeze(w, value, axis) for value in values], axis % (values[0].rank + 1))


@writes("flip.default")
def flip(w, x, axes):
    return w.op("flip", x, axes=sorted(axis_of(x, axis) for axis in axes))


@writes("sym_size.int")
def length(w, x, axis):
    return x.sizes[axis_of(x, axis)]


@writes("sym_numel.default")
def count(w, x):
    return math.prod(x.sizes)
