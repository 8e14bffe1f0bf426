"""Interpolation, averaging of windows, and their gradients, where Inductor has no kernel: each is a product with a matrix along each axis, and its gradient one with the transposes.

A matrix says how much each place of the input (a column) counts for each place of the output (a row). The formulas of places and weights are those of PyTorch.
Gradients of sampling, of the largest of windows, and of edges that are repeated are here as well.
Invariant: types of 16 bits are computed in `float32`, and rounded once.
"""

import math

import torch

_aten = torch.ops.aten
# The largest window for which Inductor writes a kernel.
_WINDOW = 25


def _places(like, count):
    return torch.arange(count, device=like.device, dtype=torch.float32)


def _scale(outs, ins, align, scale):
    """How far apart neighbours of the output are in the input."""
    if align:
        return (ins - 1) / (outs - 1) if outs > 1 else 0.0
    return 1 / scale if scale else ins / outs


def _source(like, outs, ins, align, scale):
    step = _scale(outs, ins, align, scale)
    return _places(like, outs) * step if align else (_places(like, outs) + 0.5) * step - 0.5


def _linear(like, outs, ins, align, scale):
    distance = _source(like, outs, ins, align, scale).clamp(0, ins - 1).unsqueeze(1) - _places(like, ins)
    return (1 - distance.abs()).clamp(min=0)


def _hit(place, ins, like):
    return (place.clamp(0, ins - 1).unsqueeze(1) == _places(like, ins)).to(torch.float32)


def _cubic(like, outs, ins, align, scale):
    source = _source(like, outs, ins, align, scale)
    first = torch.floor(source)
    return sum(_hit(first + tap, ins, like) * _keys(source - (first + tap), -0.75).unsqueeze(1) for tap in (-1, 0, 1, 2))


def _keys(distance, a):
    """The weight of cubic convolution (Keys 1981)."""
    x = distance.abs()
    near = ((a + 2) * x - (a + 3)) * x * x + 1
    far = ((a * x - 5 * a) * x + 8 * a) * x - 4 * a
    return torch.where(x <= 1, near, torch.where(x < 2, far, 0.0))


def _nearest(like, outs, ins, scale):
    return _hit(torch.floor(_places(like, outs) * _scale(outs, ins, False, scale)), ins, like)


def _nearest_exact(like, outs, ins, scale):
    return _hit(torch.floor((_places(like, outs) + 0.5) * _scale(outs, ins, False, scale)), ins, like)


def _smooth(weigh, reach):
    """Weights that reach farther where the picture becomes smaller."""

    def weights(like, outs, ins, align, scale):
        step = _scale(outs, ins, align, scale)
        width = max(step, 1.0)
        center = (step * (_places(like, outs) + 0.5)).unsqueeze(1)
        at = _places(like, ins)
        first, end = torch.floor(center - reach * width + 0.5), torch.floor(center + reach * width + 0.5)
        found = torch.where((at >= first) & (at < end), weigh((at - center + 0.5) / width), 0.0)
        return found / found.sum(1, keepdim=True)

    return weights


_smooth_linear = _smooth(lambda x: (1 - x.abs()).clamp(min=0), 1.0)
_smooth_cubic = _smooth(lambda x: _keys(x, -0.5), 2.0)


def _shares(like, outs, ins):
    """Averages of parts that are as equal as can be."""
    out = torch.arange(outs, device=like.device)
    starts, ends = out * ins // outs, ((out + 1) * ins + outs - 1) // outs
    return _windows(like, starts, ends, ends - starts, ins)


def _windows(like, starts, ends, counts, ins):
    at = torch.arange(ins, device=like.device)
    start, end, count = (each.unsqueeze(1) for each in (starts, ends, counts))
    return torch.where((at >= start) & (at < end), 1 / count.to(torch.float32), 0.0)


def _pooled(like, ins, outs, window, stride, padding, counts_padding, has_divisor):
    """Averages of windows."""
    starts = torch.arange(outs, device=like.device) * stride - padding
    ends = (starts + window).clamp(max=ins + padding)
    firsts, lasts = starts.clamp(min=0), ends.clamp(max=ins)
    counts = torch.ones_like(starts) if has_divisor else ends - starts if counts_padding else lasts - firsts
    return _windows(like, firsts, lasts, counts, ins)


def _along(tensor, matrices):
    """The products along the last axes, with a matrix for each of them."""
    wide = tensor.float() if tensor.dtype.itemsize == 2 else tensor
    for at, matrix in enumerate(matrices, -len(matrices)):
        wide = torch.matmul(wide.movedim(at, -1), matrix.t().to(wide.dtype)).movedim(-1, at)
    return wide.to(tensor.dtype).contiguous()


def _transposed(matrices):
    return [matrix.t() for matrix in matrices]


def _resampled(weigh, has_align):
    def forward(tensor, size, *rest):
        if not tensor.is_floating_point():
            return NotImplemented
        return _along(tensor, _matrices(tensor, size, tensor.shape[-len(size) :], rest))

    def backward(gradient, size, input_size, *rest):
        return _along(gradient, _transposed(_matrices(gradient, size, input_size[-len(size) :], rest)))

    def _matrices(like, outs, ins, rest):
        align, scales = (rest[:1], rest[1:]) if has_align else ((), rest)
        scales = [*scales, *[None] * (len(outs) - len(scales))]
        return [weigh(like, out, length, *align, scale) for out, length, scale in zip(outs, ins, scales)]

    return forward, backward


def _adaptive(tensor, size):
    if not tensor.is_floating_point():
        return NotImplemented
    return _along(tensor, [_shares(tensor, out, length) for out, length in zip(size, tensor.shape[-len(size) :])])


def _adaptive_backward(axes):
    def backward(gradient, tensor):
        pairs = zip(gradient.shape[-axes:], tensor.shape[-axes:])
        return _along(gradient, _transposed([_shares(gradient, out, length) for out, length in pairs]))

    return backward


def _pool(axes):
    def three(kernel, stride, padding):
        return [list(each) * axes if len(each) == 1 else list(each) for each in (kernel, stride or kernel, padding)]

    def matrices(like, ins, outs, kernel, stride, padding, counts_padding, divisor):
        made = [_pooled(like, *each, counts_padding, divisor is not None) for each in zip(ins, outs, *three(kernel, stride, padding))]
        return made if divisor is None else [made[0] / divisor, *made[1:]]

    def forward(tensor, kernel, stride=(), padding=(0,), ceil_mode=False, counts_padding=True, divisor=None):
        if _is_small(kernel, axes) or not tensor.is_floating_point():
            return NotImplemented
        outs = [_windows_along(*each, ceil_mode) for each in zip(tensor.shape[-axes:], *three(kernel, stride, padding))]
        return _along(tensor, matrices(tensor, tensor.shape[-axes:], outs, kernel, stride, padding, counts_padding, divisor))

    def backward(gradient, tensor, kernel, stride, padding, ceil_mode, counts_padding, divisor):
        if _is_small(kernel, axes):
            return NotImplemented
        return _along(gradient, _transposed(matrices(gradient, tensor.shape[-axes:], gradient.shape[-axes:], kernel, stride, padding, counts_padding, divisor)))

    return forward, backward


def _windows_along(ins, window, stride, padding, ceil_mode):
    """How many windows there are along an axis. The last one begins before the end."""
    rest = ins + 2 * padding - window
    count = (-(-rest // stride) if ceil_mode else rest // stride) + 1
    return count - 1 if ceil_mode and (count - 1) * stride >= ins + padding else count


def _is_small(kernel, axes) -> bool:
    return math.prod(list(kernel) * axes if len(kernel) == 1 else kernel) <= _WINDOW


def _aten_pool(axes):
    return _aten.avg_pool2d.default if axes == 2 else _aten.avg_pool3d.default


def _largest_backward(axes, is_windowed=False):
    """The gradient of pooling that keeps the largest number of a window: it goes to where that was. The last argument says where."""

    def backward(gradient, tensor, *rest, **named):
        if is_windowed and _is_small(rest[0], axes) and all(gap == 1 for gap in rest[3]):
            return NotImplemented
        places = named.get("indices", rest[-1] if rest else None)
        flat = torch.zeros(*tensor.shape[:-axes], math.prod(tensor.shape[-axes:]), dtype=torch.float32, device=tensor.device)
        made = _aten.scatter_add(flat, -1, places.flatten(-axes), gradient.flatten(-axes).float())
        return made.to(gradient.dtype).reshape(tensor.shape)

    return backward


def _edges_backward(axes):
    """The gradient of padding with what stands at the edges: an edge gets what went beyond it, too."""

    def backward(gradient, tensor, padding):
        if min(padding) < 0:
            return NotImplemented
        wide = gradient.float() if gradient.dtype.itemsize == 2 else gradient
        for axis, before, after in zip(range(-1, -axes - 1, -1), padding[::2], padding[1::2]):
            length = tensor.shape[axis]
            counts = [before + 1, length - 2, after + 1] if length > 1 else [before + 1 + after]
            parts = wide.split(counts, axis)
            edges = [part.sum(axis, keepdim=True) for part in (parts[0], parts[-1])]
            wide = torch.cat([edges[0], parts[1], edges[1]], axis) if length > 1 else edges[0]
        return wide.to(gradient.dtype)

    return backward


def _sampled_backward(gradient, picture, grid, mode, padding, align, wanted):
    """The gradient of bilinear or nearest sampling of pictures, for the picture and for the places."""
    if mode > 1 or picture.dtype.itemsize != 4:
        return NotImplemented
    (x, dx), (y, dy) = (_sampled_at(grid[..., axis], picture.shape[3 - axis], padding, align) for axis in (0, 1))
    rows = torch.arange(picture.shape[0], device=picture.device).reshape(-1, 1, 1)
    total, of_x, of_y = torch.zeros_like(picture).permute(0, 2, 3, 1), 0.0, 0.0
    given = gradient.permute(0, 2, 3, 1)
    left, top = (torch.round(each) if mode else torch.floor(each) for each in (x, y))
    for right, below in ((0, 0),) if mode else ((0, 0), (0, 1), (1, 0), (1, 1)):
        column, row = left + right, top + below
        inside = (column >= 0) & (column < picture.shape[3]) & (row >= 0) & (row < picture.shape[2])
        along, across = (1.0, 1.0) if mode else (1 - (x - column).abs(), 1 - (y - row).abs())
        places = rows, torch.where(inside, row, 0).to(torch.int64), torch.where(inside, column, 0).to(torch.int64)
        weight = torch.where(inside, along * across, 0.0).unsqueeze(-1)
        total = _aten.index_put(total, places, given * weight, True)
        if not mode and wanted[1]:
            met = torch.where(inside, (_aten.index.Tensor(picture.permute(0, 2, 3, 1), places) * given).sum(-1), 0.0)
            of_x = of_x + met * across * (1 if right else -1)
            of_y = of_y + met * along * (1 if below else -1)
    places = torch.zeros_like(grid) if mode else torch.stack([of_x * dx, of_y * dy], -1) if wanted[1] else None
    return total.permute(0, 3, 1, 2).contiguous() if wanted[0] else None, places


def _sampled_at(place, length, padding, align):
    """Where a place between -1 and 1 is in a picture, in pixels, and how fast that changes with it."""
    speed = (length - 1) / 2 if align else length / 2
    at = (place + 1) * speed - (0 if align else 0.5)
    slope = torch.full_like(at, speed)
    if padding == 2:
        low, span = (0.0, length - 1.0) if align else (-0.5, float(length))
        if span == 0:
            return torch.zeros_like(at), torch.zeros_like(at)
        slope = torch.where(at < low, -slope, slope)
        away = (at - low).abs()
        turns = torch.floor(away / span)
        rest = away - turns * span
        is_odd = turns.to(torch.int64) % 2 == 1
        at, slope = torch.where(is_odd, span - rest + low, rest + low), torch.where(is_odd, -slope, slope)
    if padding:
        slope = torch.where((at <= 0) | (at >= length - 1), 0.0, slope)
        at = at.clamp(0, length - 1)
    return at, slope


def _rows():
    rows = {}
    for name, weigh, has_align in (
        ("upsample_nearest1d", _nearest, False),
        ("upsample_nearest3d", _nearest, False),
        ("_upsample_nearest_exact1d", _nearest_exact, False),
        ("_upsample_nearest_exact2d", _nearest_exact, False),
        ("_upsample_nearest_exact3d", _nearest_exact, False),
        ("upsample_linear1d", _linear, True),
        ("upsample_bilinear2d", _linear, True),
        ("upsample_trilinear3d", _linear, True),
        ("upsample_bicubic2d", _cubic, True),
        ("_upsample_bilinear2d_aa", _smooth_linear, True),
        ("_upsample_bicubic2d_aa", _smooth_cubic, True),
    ):
        forward, backward = _resampled(weigh, has_align)
        rows[getattr(_aten, f"{name}_backward").default] = backward
        if name.endswith("_aa"):
            rows[getattr(_aten, name).default] = forward
    for axes in (2, 3):
        pooled = f"avg_pool{axes}d"
        rows[_aten_pool(axes)], rows[getattr(_aten, f"{pooled}_backward").default] = _pool(axes)
        rows[getattr(_aten, f"_adaptive_{pooled}_backward").default] = _adaptive_backward(axes)
        for name in (f"max_pool{axes}d_with_indices", f"adaptive_max_pool{axes}d", f"fractional_max_pool{axes}d"):
            # Inductor has a kernel for small windows of pictures.
            rows[getattr(_aten, f"{name}_backward").default] = _largest_backward(axes, name == "max_pool2d_with_indices")
    for axes in (1, 2, 3):
        rows[getattr(_aten, f"replication_pad{axes}d_backward").default] = _edges_backward(axes)
    rows[_aten._adaptive_avg_pool3d.default] = _adaptive
    rows[_aten.grid_sampler_2d_backward.default] = _sampled_backward
    return rows


ROWS = _rows()
