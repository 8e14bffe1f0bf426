"""Pooling in two dimensions."""

import math

import torch

from girih.torch.graph.operations.table import writes
from girih.torch.graph.values import Missing


def _pair(numbers):
    numbers = [numbers] if isinstance(numbers, int) else list(numbers)
    return numbers * 2 if len(numbers) == 1 else numbers


def _batched(w, x):
    return x if x.rank == 4 else w.reshape(x, [1, *x.sizes])


def _as(w, x, like):
    return x if like.rank == 4 else w.reshape(x, x.sizes[1:])


class Windows:
    """The windows of a pooling: where they begin, and how many there are."""

    def __init__(self, sizes, window, stride, padding, dilation, ceil_mode):
        self.window, self.padding, self.dilation = _pair(window), _pair(padding), _pair(dilation)
        self.stride = _pair(stride) if stride else self.window
        self.counts, self.after = [], []
        for i, length in enumerate(sizes[-2:]):
            reach = self.dilation[i] * (self.window[i] - 1) + 1
            room = length + 2 * self.padding[i] - reach
            count = (-(-room // self.stride[i]) if ceil_mode else room // self.stride[i]) + 1
            # A window begins in the tensor or before it.
            if ceil_mode and (count - 1) * self.stride[i] >= length + self.padding[i]:
                count -= 1
            self.counts.append(count)
            self.after.append(max((count - 1) * self.stride[i] + reach - length - self.padding[i], 0))

    def of(self, w, x, around):
        """A tensor [images, channels, rows, columns, height, width]."""
        x = w.pad(x, [0, 0, *self.padding], [0, 0, *self.after], around)
        for i in range(2):
            x = w.slice(x, 2 + i, 0, (self.counts[i] - 1) * self.stride[i] + self.dilation[i] * (self.window[i] - 1) + 1)
            x = w.op("windows", x, axis=[2 + i], window=[self.window[i]], stride=[self.stride[i]], dilation=[self.dilation[i]])
        return x

    def places(self, w, chosen, width):
        """The place in a picture of the element of each window that is chosen."""
        place = None
        within = (w.binary("div", chosen, self.window[1]), w.binary("rem", chosen, self.window[1]))
        for i in range(2):
            begin = w.binary("sub", w.binary("mul", w.positions(chosen.sizes, 2 + i, torch.int32), self.stride[i]), self.padding[i])
            at = w.binary("add", begin, w.binary("mul", within[i], self.dilation[i]))
            place = at if place is None else w.binary("add", w.binary("mul", place, width), at)
        return place


@writes("max_pool2d_with_indices.default")
def max_pool(w, x, window, stride=(), padding=0, dilation=1, ceil_mode=False):
    if not x.dtype.is_floating_point:
        raise Missing("it pools whole numbers")
    pictures = _batched(w, x)
    windows = Windows(pictures.sizes, window, stride, padding, dilation, ceil_mode)
    all_ = windows.of(w, pictures, float("-inf"))
    all_ = w.reshape(all_, [*all_.sizes[:4], windows.window[0] * windows.window[1]])
    chosen = w.convert(w.op("argmax", all_, axis=[4]), torch.int32)
    places = w.convert(windows.places(w, chosen, pictures.sizes[3]), torch.int64)
    return _as(w, w.op("amax", all_, axes=[4]), x), _as(w, places, x)


@writes("max_pool2d_with_indices_backward.default")
def max_pool_backward(w, derivative, x, window, stride, padding, dilation, ceil_mode, places):
    pictures, given, places = (_batched(w, one) for one in (x, derivative, places))
    images, channels, height, width = pictures.sizes
    windows = Windows(pictures.sizes, window, stride, padding, dilation, ceil_mode)
    if windows.window == windows.stride and not any(windows.padding) and not any(windows.after) and windows.dilation == [1, 1]:
        return _as(w, _unpooled(w, given, places, windows.window, height, width), x)
    count = given.sizes[2] * given.sizes[3]
    flat = [w.reshape(one, [images, channels, count]) for one in (places, given)]
    made = w.op("scatter_add", w.full(0, given.dtype, [images, channels, height * width]), *flat, axis=[2])
    return _as(w, w.reshape(made, pictures.sizes), x)


def _unpooled(w, given, places, window, height, width):
    """Each derivative at the place that was chosen in its window, where no two windows have a place in common."""
    images, channels, rows, columns = given.sizes
    low, high = [0] * 4, [0, 0, height - rows * window[0], width - columns * window[1]]

    def repeated(one, around):
        one = w.broadcast(w.reshape(one, [images, channels, rows, 1, columns, 1]), [images, channels, rows, window[0], columns, window[1]])
        return w.pad(w.reshape(one, [images, channels, rows * window[0], columns * window[1]]), low, high, around)

    own = w.positions([1, 1, height * width], 2, torch.int32)
    own = w.broadcast(w.reshape(own, [1, 1, height, width]), [images, channels, height, width])
    hit = w.binary("eq", repeated(w.convert(places, torch.int32), -1), own)
    return w.where(hit, repeated(given, 0), 0, given.dtype)


def _plain(x, window, stride, padding, ceil_mode, count_include_pad, divisor):
    """The attributes of a pooling that `core/tensor` has."""
    windows = Windows(x.sizes, window, stride, padding, 1, ceil_mode)
    if divisor is not None or any(windows.after[i] > windows.padding[i] for i in range(2)) or any(windows.padding) and not count_include_pad:
        raise Missing("it divides by a number that differs from the size of a window")
    return {"window": windows.window, "stride": windows.stride, "padding": windows.padding}


@writes("avg_pool2d.default")
def avg_pool(w, x, window, stride=(), padding=0, ceil_mode=False, count_include_pad=True, divisor_override=None):
    attributes = _plain(x, window, stride, padding, ceil_mode, count_include_pad, divisor_override)
    return _as(w, w.op("avg_pool2d", _batched(w, x), **attributes), x)


@writes("avg_pool2d_backward.default")
def avg_pool_backward(w, derivative, x, window, stride, padding, ceil_mode, count_include_pad, divisor_override):
    attributes = _plain(x, window, stride, padding, ceil_mode, count_include_pad, divisor_override)
    return _as(w, w.derivatives("avg_pool2d", [_batched(w, x)], _batched(w, derivative), [0], **attributes)[0], x)


@writes("_adaptive_avg_pool2d_backward.default")
def adaptive_avg_pool_backward(w, derivative, x):
    window = [length // count for length, count in zip(x.sizes[-2:], derivative.sizes[-2:])]
    rows, columns = derivative.sizes[-2:]
    before = x.sizes[:-2]
    if [rows * window[0], columns * window[1]] != x.sizes[-2:]:
        flat = w.reshape(derivative, [math.prod(before), rows, columns])
        left, right = _shares(w, rows, x.sizes[-2], x.dtype), _shares(w, columns, x.sizes[-1], x.dtype)
        tall = w.op("matmul", w.broadcast(w.permute(left, [1, 0]), [flat.sizes[0], x.sizes[-2], rows]), flat)
        return w.reshape(w.op("matmul", tall, w.broadcast(right, [flat.sizes[0], *right.sizes])), x.sizes)
    spread = w.broadcast(w.reshape(derivative, [*before, rows, 1, columns, 1]), [*before, rows, window[0], columns, window[1]])
    return w.binary("div", w.reshape(spread, x.sizes), float(window[0] * window[1]))


def _shares(w, count, length, dtype):
    """For each window along an axis the share that each element has in its mean."""
    window, at = (w.positions([count, length], axis, torch.int32) for axis in (0, 1))
    begin = w.binary("div", w.binary("mul", window, length), count)
    end = w.binary("div", w.binary("add", w.binary("mul", window, length), length + count - 1), count)
    inside = w.binary("and", w.binary("ge", at, begin), w.binary("lt", at, end))
    return w.where(inside, w.binary("div", 1.0, w.convert(w.binary("sub", end, begin), dtype), dtype), 0, dtype)
