"""Elements chosen by positions, and put at positions. A position that is beyond what it is for reads 0, and is not written."""

import math

import torch

from girih.torch.graph.operations.table import writes
from girih.torch.graph.values import Missing, axis_of, common

# Each element is compared with each.
_MOST = 1024


@writes("embedding.default")
def embedding(w, weights, index, padding_idx=-1, scale_grad_by_freq=False, sparse=False):
    rows = w.op("index_select", weights, w.reshape(index, [math.prod(index.sizes)]), axis=[0])
    return w.reshape(rows, [*index.sizes, *weights.sizes[1:]])


@writes("embedding_dense_backward.default")
def embedding_backward(w, derivative, index, count, padding_idx, scale_grad_by_freq):
    if scale_grad_by_freq:
        raise Missing("it scales derivatives by how often a row was read")
    width = derivative.sizes[-1]
    rows = math.prod(index.sizes)
    flat = w.broadcast(w.reshape(index, [rows, 1]), [rows, width])
    given = w.reshape(derivative, [rows, width])
    if padding_idx >= 0:
        given = w.where(w.binary("eq", flat, padding_idx), 0.0, given, given.dtype)
    return w.op("scatter_add", w.full(0, given.dtype, [count, width]), flat, given, axis=[0])


@writes("index_select.default")
def index_select(w, x, axis, index):
    if not x.rank:
        return x
    return w.op("index_select", x, w.reshape(index, [math.prod(index.sizes)]), axis=[axis_of(x, axis)])


@writes("gather.default")
def gather(w, x, axis, index, sparse_grad=False):
    if not x.rank:
        return w.broadcast(x, index.sizes)
    axis = axis_of(x, axis)
    for other in range(x.rank):
        if other != axis:
            x = w.slice(x, other, 0, index.sizes[other])
    return w.op("gather", x, index, axis=[axis])


def _fitting(w, x, axis, index):
    """Refuses positions that leave out some rows."""
    if any(a != b for at, (a, b) in enumerate(zip(x.sizes, index.sizes)) if at != axis):
        raise Missing("its index is smaller than the tensor in another dimension")


@writes("scatter_add.default")
def scatter_add(w, x, axis, index, source):
    axis = axis_of(x, axis)
    _fitting(w, x, axis, index)
    for at in range(x.rank):
        source = w.slice(source, at, 0, index.sizes[at])
    return w.op("scatter_add", x, index, source, axis=[axis])


@writes("scatter.value")
def scatter_number(w, x, axis, index, number):
    axis = axis_of(x, axis)
    _fitting(w, x, axis, index)
    return w.where(_hit(w, x.sizes, axis, index), number, x, x.dtype)


@writes("scatter.src")
def scatter(w, x, axis, index, source):
    axis = axis_of(x, axis)
    _fitting(w, x, axis, index)
    for at in range(x.rank):
        source = w.slice(source, at, 0, index.sizes[at])
    hit = _hit(w, x.sizes, axis, index)
    if index.sizes[axis] == 1:
        return w.where(hit, w.broadcast(source, x.sizes), x, x.dtype)
    if x.dtype == torch.bool:
        raise Missing("it puts several truth values along an axis")
    # Of several elements for one position the last one is put: it is added to nothing.
    put = w.where(_is_last(w, axis, index), source, 0, source.dtype)
    return w.where(hit, w.op("scatter_add", w.full(0, x.dtype, x.sizes), index, put, axis=[axis]), x, x.dtype)


def _is_last(w, axis, index):
    """Whether no later element along an axis has the same position."""
    length = index.sizes[axis]
    if length > _MOST:
        raise Missing(f"it puts more than {_MOST} elements along an axis")
    before, after = index.sizes[:axis], index.sizes[axis + 1 :]
    shape = [*before, length, length, *after]
    own = w.broadcast(w.reshape(index, [*before, length, 1, *after]), shape)
    other = w.broadcast(w.reshape(index, [*before, 1, length, *after]), shape)
    later = w.op("gt", w.positions(shape, axis + 1, torch.int32), w.positions(shape, axis, torch.int32))
    return w.op("not", w.op("any", w.op("and", later, w.op("eq", own, other)), axes=[axis + 1]))


def _hit(w, sizes, axis, index):
    """Whether an element is at a position of an index."""
    if index.sizes[axis] == 1:
        return w.binary("eq", w.positions(sizes, axis, index.dtype), index)
    ones = w.full(1, torch.int32, index.sizes)
    return w.binary("gt", w.op("scatter_add", w.full(0, torch.int32, sizes), index, ones, axis=[axis]), 0)


class Positions:
    """Tensors of positions for some axes: all are one position along these axes together, counted through."""

    def __init__(self, w, x, indices):
        self.axes = [axis for axis, index in enumerate(indices) if index is not None]
        given = [indices[axis] for axis in self.axes]
        if any(index.dtype in (torch.bool, torch.uint8) for index in given):
            raise Missing("it is given a mask, whose number of elements the host has to know")
        self.sizes = common([index.sizes for index in given])
        self.rest = [axis for axis in range(x.rank) if axis not in self.axes]
        # Dimensions of positions stand where the axes were if these are neighbours, else first.
        is_run = self.axes == list(range(self.axes[0], self.axes[-1] + 1))
        self.first = self.axes[0] if is_run else 0
        self.length = math.prod(x.sizes[axis] for axis in self.axes)
        self.flat = self._joined(w, x, given)

    def _joined(self, w, x, given):
        joined = inside = None
        for axis, index in zip(self.axes, given):
            length = x.sizes[axis]
            index = w.convert(index, torch.int32)
            index = w.where(w.binary("lt", index, 0), w.binary("add", index, length), index)
            fits = w.binary("and", w.binary("ge", index, 0), w.binary("lt", index, length))
            joined = index if joined is None else w.binary("add", w.binary("mul", joined, length), index)
            inside = fits if inside is None else w.binary("and", inside, fits)
        joined = w.broadcast(w.where(inside, joined, -1), self.sizes)
        return w.reshape(joined, [math.prod(self.sizes)])

    def rows(self, w, x):
        """A tensor with these axes first, as one."""
        x = w.permute(x, [*self.axes, *self.rest])
        return w.reshape(x, [self.length, *x.sizes[len(self.axes) :]])

    def unrows(self, w, rows, sizes):
        """The opposite."""
        order = [*self.axes, *self.rest]
        x = w.reshape(rows, [sizes[axis] for axis in order])
        return w.permute(x, [order.index(axis) for axis in range(len(order))])

    def chosen_last(self, w, values, x):
        """Values at the positions as rows: dimensions of positions first, and one."""
        rest = [x.sizes[axis] for axis in self.rest]
        sizes = [*rest[: self.first], *self.sizes, *rest[self.first :]]
        values = w.broadcast(values, sizes)
        places = list(range(self.first, self.first + len(self.sizes)))
        values = w.permute(values, places + [axis for axis in range(len(sizes)) if axis not in places])
        return w.reshape(values, [math.prod(self.sizes), *rest])

    def chosen(self, w, rows):
        """Rows at the positions with dimensions where PyTorch has them."""
        count = len(self.sizes)
        x = w.reshape(rows, [*self.sizes, *rows.sizes[1:]])
        before = list(range(count, count + self.first))
        return w.permute(x, [*before, *range(count), *range(count + self.first, x.rank)])

    def spread(self, w, values):
        """The position of each element of rows."""
        return w.broadcast(w.reshape(self.flat, [self.flat.sizes[0], *[1] * (values.rank - 1)]), values.sizes)


@writes("index.Tensor", "_unsafe_index.Tensor")
def index(w, x, indices):
    if all(one is None for one in indices):
        return x
    positions = Positions(w, x, indices)
    return positions.chosen(w, w.op("index_select", positions.rows(w, x), positions.flat, axis=[0]))


@writes("index_put.default", "_unsafe_index_put.default")
def index_put(w, x, indices, values, accumulate=False):
    values = w.convert(values, x.dtype)
    if len(indices) == 1 and indices[0].dtype == torch.bool and not accumulate and math.prod(values.sizes) == 1:
        mask = w.reshape(indices[0], indices[0].sizes + [1] * (x.rank - indices[0].rank))
        return w.where(mask, w.reshape(values, []), x)
    positions = Positions(w, x, indices)
    rows = positions.rows(w, x)
    if accumulate:
        given = positions.chosen_last(w, values, x)
        return positions.unrows(w, w.op("scatter_add", rows, positions.spread(w, given), given, axis=[0]), x.sizes)
    if math.prod(values.sizes) != 1:
        raise Missing("it puts different elements at positions that may be equal")
    ones = w.full(1, torch.int32, positions.flat.sizes)
    hit = w.op("scatter_add", w.full(0, torch.int32, [positions.length]), positions.flat, ones, axis=[0])
    hit = w.reshape(w.binary("gt", hit, 0), [positions.length, *[1] * (rows.rank - 1)])
    return positions.unrows(w, w.where(hit, w.reshape(values, []), rows), x.sizes)
