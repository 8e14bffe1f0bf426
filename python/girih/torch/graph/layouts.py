"""Tensors of any layout as inputs and outputs of graphs, whose own tensors lie in order without gaps.

Invariant: an input is read where it lies. It is a view of a larger tensor in order, of which the graph reads no element that is not the input's.
"""

import math

# The greatest number of elements of a tensor of `core/tensor`.
_MOST = (1 << 31) - 4096


def is_readable(sizes, strides) -> bool:
    """Whether a tensor of this layout can be an input as it is."""
    return 0 in sizes or _outer(sizes, strides) is not None


def given(w, dtype, sizes, strides):
    """An input of the graph with these strides, as a value of the tensor's sizes."""
    if 0 in sizes:
        return w.input(dtype, sizes)
    axes, lengths = _outer(sizes, strides)
    x = w.input(dtype, lengths)
    for at, axis in enumerate(axes):
        x = w.slice(x, at, 0, sizes[axis])
    if len(lengths) > len(axes):
        x = w.slice(x, len(axes), 0, 1)
    x = w.reshape(x, [sizes[axis] for axis in axes])
    x = w.permute(x, sorted(range(len(axes)), key=lambda at: axes[at]))
    x = w.reshape(x, [length if axis in axes else 1 for axis, length in enumerate(sizes)])
    return w.broadcast(x, sizes)


def _outer(sizes, strides):
    """The axes that are more than repetitions, from the outermost to the innermost, and the lengths of a tensor in order in which they are slices from 0 on; `None` if there is none."""
    axes = [axis for axis in range(len(sizes)) if sizes[axis] != 1 and strides[axis] != 0]
    axes.sort(key=lambda axis: -strides[axis])
    lengths = [sizes[axis] for axis in axes[:1]]
    for outer, inner in zip(axes, axes[1:]):
        if strides[outer] % strides[inner] or strides[outer] // strides[inner] < sizes[inner]:
            return None
        lengths.append(strides[outer] // strides[inner])
    if axes and strides[axes[-1]] != 1:
        lengths.append(strides[axes[-1]])
    return None if math.prod(lengths) > _MOST else (axes, lengths)


def order(sizes, strides) -> list[int]:
    """The axes from the outermost to the innermost, for a tensor that has each element once and no gaps; else the axes in order."""
    axes = sorted(range(len(sizes)), key=lambda axis: (-strides[axis], axis))
    step = 1
    for axis in reversed(axes):
        if sizes[axis] != 1 and strides[axis] != step:
            return list(range(len(sizes)))
        step *= max(sizes[axis], 1)
    return axes


def strides_of(sizes, order) -> list[int]:
    """The strides of a tensor without gaps whose axes lie in an order."""
    strides, step = [0] * len(sizes), 1
    for axis in reversed(order):
        strides[axis] = step
        step *= max(sizes[axis], 1)
    return strides
