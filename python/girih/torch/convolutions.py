"""Convolutions on the device, by the kernels of `kernels/products.py` and `kernels/depthwise.py`: results are channels-last where an input or its weights are.

Those of one tap are products of matrices. Others gather their factors, for which channels stand side by side: tensors that are not channels-last are copied.

Those in three dimensions are made of these (`volumes.py`), and those of other types are summed by a kernel of Inductor's. What neither has runs on the host,
which is counted and warned of like any fallback.
"""

import functools
import itertools

import torch
from torch._subclasses import fake_impls

from girih.torch import device, eager, host, storages, tiles, volumes
from girih.torch.launch import prepare
from girih.torch.library import Library
from girih.torch.products import Sum, prepared, refusal
from girih.torch.tiles import Shape

_library = Library("aten", "IMPL")
_aten = torch.ops.aten
# Channels below which taps and channels are summed together.
FEW = 16


def _two(numbers):
    return (numbers[0], numbers[0]) if len(numbers) == 1 else tuple(numbers)


def _flat(tensor):
    """A one-dimensional picture as one with a single row."""
    return tensor.unsqueeze(2) if tensor.dim() == 3 else tensor


def _geometry(x_dim, stride, padding, dilation, output_padding):
    if x_dim == 3:
        return (1, stride[0]), (0, padding[0]), (1, dilation[0]), (0, output_padding[0])
    return tuple(_two(numbers) for numbers in (stride, padding, dilation, output_padding))


def _sizes(images, ci, co, small, large):
    """The numbers of a convolution from `small` (its input) to `large` (its output)."""
    return {"images": images, "CI": ci, "CO": co, "IH": small[0], "IW": small[1], "OH": large[0], "OW": large[1]}


def _taps(w, stride, padding, dilation):
    return {
        "KH": w[2], "KW": w[3], "step_h": stride[0], "step_w": stride[1], "pad_h": padding[0], "pad_w": padding[1],
        "gap_h": dilation[0], "gap_w": dilation[1],
    }  # fmt: skip


@functools.lru_cache(maxsize=4096)
def _gathered(chosen, name, dtype, out: Shape, source: Shape, w: Shape, bias: int | None, numbers, groups, precision, firsts=(0, 0)):
    """A product whose rows are places of `out`, and whose depth are taps and channels of `source`, prepared for the device. `out` and `w` begin after so many elements."""
    is_forward = name == "forward"
    other, summed, channels = "x" if is_forward else "g", source[0][1] // groups, out[0][1] // groups
    taps = w[0][2] * w[0][3]
    flat = taps > 1 and summed < FEW
    places = out[0][0] * out[0][2] * out[0][3]
    cut = tiles.Tiles(places, channels, summed * taps if flat else summed, groups, dtype, precision)
    small, large = (source, out) if is_forward else (out, source)
    constants = _sizes(out[0][0], w[0][1], w[0][0] // groups, small[0][2:], large[0][2:]) | _taps(w[0], *numbers)
    constants |= tiles.strides("out", out, "nchw") | tiles.strides(other, source, "nchw") | tiles.strides("w", w, "oihw")
    constants |= {key: value for key, value in cut.constants.items() if key != "SPLITS"}
    constants |= {"out_first": firsts[0], "w_first": firsts[1]}
    constants |= {"FLAT": flat, "WIDE": tiles.is_wide(out, source, w), "BIAS": bias is not None, "bias_o": bias or 0}
    memory = {"out": dtype, other: dtype, "w": dtype, "bias": dtype}
    return prepare("products", name, (cut.count, 1, groups), memory, constants, cut.warps)


def _gather(name, out, source, w, bias, numbers, groups):
    shapes = [tiles.shape_of(t) for t in (out, source, w)]
    step_of_bias = None if bias is None else bias.stride(0)
    made = _depthwise if _is_depthwise(w, groups) else _gathered
    step = made(device.current(), name, out.dtype, *shapes, step_of_bias, numbers, groups, tiles.convolution_precision())
    step.launch(*[storages.address_of(t) for t in (out, source, w, out if bias is None else bias)])


def _is_depthwise(w, groups) -> bool:
    return groups > 1 and w.shape[1] == 1


def _forward(out, x, w, bias, stride, padding, dilation, groups):
    """The convolution of four-dimensional tensors."""
    if _is_product(w, padding, groups):
        x = x[:, :, :: stride[0], :: stride[1]] if max(stride) > 1 else x
        return _into(out, [x], lambda out, x: _multiply(out, _rows(out), x, _rows(x), w, (0, w.stride(1), w.stride(0)), bias))
    gather = lambda out, *sources: _gather("forward", out, *sources, bias, (stride, padding, dilation), groups)
    _into(out, [x, w], gather) if _is_deep(w, groups) else gather(out, x, w)


def _data_gradient(out, g, w, bias, stride, padding, dilation, groups):
    """The gradient of a convolution's input, which is the transposed convolution."""
    if _is_product(w, padding, groups):
        multiply = lambda out, g: _multiply(out, _rows(out), g, _rows(g), w, (0, w.stride(0), w.stride(1)), bias)
        if max(stride) == 1:
            return _into(out, [g], multiply)
        # Between these places are none that a tap has met.
        out.copy_(bias.reshape(1, -1, 1, 1)) if bias is not None else out.zero_()
        return _into(out[:, :, :: stride[0], :: stride[1]][:, :, : g.shape[2], : g.shape[3]], [g], multiply)
    if max(stride) > 1 and tuple(dilation) == (1, 1) and not _is_depthwise(w, groups):
        gather = lambda out, *sources: _data_gradient_by_phases(out, *sources, bias, stride, padding, groups)
    else:
        gather = lambda out, *sources: _gather("data_gradient", out, *sources, bias, (stride, padding, dilation), groups)
    _into(out, [g, w], gather) if _is_deep(w, groups) else gather(out, g, w)


def _data_gradient_by_phases(out, g, w, bias, stride, padding, groups):
    """The gradient of the input of a convolution with steps. Places that are a step apart are met by the same taps, those of a phase, and by no others."""
    phases = [_phases(*numbers) for numbers in zip(out.shape[2:], stride, padding)]
    for (row, first_row, pad_row), (column, first_column, pad_column) in itertools.product(*phases):
        places = out[:, :, row :: stride[0], column :: stride[1]]
        taps = w[:, :, first_row :: stride[0], first_column :: stride[1]]
        if taps.numel() == 0:
            places.copy_(bias.reshape(1, -1, 1, 1)) if bias is not None else places.zero_()
            continue
        # Kernels are given where the tensors begin, because not every device binds memory from anywhere.
        firsts = tuple(part.storage_offset() - whole.storage_offset() for part, whole in ((places, out), (taps, w)))
        shapes = [tiles.shape_of(t) for t in (places, g, taps)]
        numbers = ((1, 1), (pad_row, pad_column), (1, 1))
        step_of_bias = None if bias is None else bias.stride(0)
        step = _gathered(device.current(), "data_gradient", out.dtype, *shapes, step_of_bias, numbers, groups, tiles.convolution_precision(), firsts)
        step.launch(*[storages.address_of(t) for t in (out, g, w, out if bias is None else bias)])


def _phases(length, step, padding):
    """For each phase along an axis: its first place, its first tap, and how far before the first place the sum of that tap begins, in steps."""
    return [(first, (first + padding) % step, (first + padding) // step) for first in range(min(step, length))]


def _is_product(w, padding, groups) -> bool:
    """Whether each place of the output comes of one place of the input."""
    return tuple(w.shape[2:]) == (1, 1) and not any(padding) and groups == 1


def _is_deep(w, groups) -> bool:
    """Whether there are enough channels that standing side by side is worth a copy."""
    return min(w.shape[0] // groups, w.shape[1]) >= FEW


def _into(out, sources, run):
    """Runs with sources whose channels stand side by side, and a result like that."""
    sources = [_last(t) for t in sources]
    target = out if out.is_contiguous(memory_format=torch.channels_last) else torch.empty(out.shape, dtype=out.dtype, device=out.device, memory_format=torch.channels_last)
    run(target, *sources)
    if target is not out:
        out.copy_(target)


def _last(tensor):
    """The tensor with its channels side by side."""
    return tensor if tensor.is_contiguous(memory_format=torch.channels_last) else tensor.contiguous(memory_format=torch.channels_last)


def _rows(tensor) -> Shape:
    """A channels-last tensor as a matrix: a place is a row."""
    images, channels, rows, columns = tensor.shape
    return (1, images * rows * columns, channels), (0, channels, 1)


def _multiply(out, out_shape: Shape, a, a_shape: Shape, b, b_stride, bias=None):
    """out = a @ b, and a bias for each column is added; all seen as matrices."""
    b_shape = (1, a_shape[0][2], out_shape[0][2]), tuple(b_stride)
    added = None if bias is None else (out_shape[0], (0, 0, bias.stride(0)))
    prepared(device.current(), out.dtype, out_shape, a_shape, b_shape, added, 1.0, 1.0, tiles.convolution_precision()).run(out, a, b, bias)


def _blocks(shape: Shape) -> tuple[int, int]:
    """Places and channels of a program, along which neighbours in memory lie."""
    channels = 1 << (shape[0][1] - 1).bit_length()
    if shape[1][1] == 1 and channels > 1:
        return max(1024 // min(channels, 64), 1), min(channels, 64)
    return 256, min(channels, 4)


@functools.lru_cache(maxsize=4096)
def _depthwise(chosen, name, dtype, out: Shape, source: Shape, w: Shape, bias: int | None, numbers, groups, precision):
    """A convolution in which each channel is a group, or the gradient of its input, prepared for the device."""
    is_forward = name == "forward"
    small, large = (source, out) if is_forward else (out, source)
    other, channels = ("x", "CO") if is_forward else ("g", "CI")
    places, across = _blocks(out)
    constants = {"images": out[0][0], channels: out[0][1], "IH": small[0][2], "IW": small[0][3], "OH": large[0][2], "OW": large[0][3]}
    constants |= tiles.strides("out", out, "nchw") | tiles.strides(other, source, "nchw") | _taps(w[0], *numbers)
    constants |= {"w_o": w[1][0], "w_h": w[1][2], "w_w": w[1][3], "MANY": w[0][0] // groups, "BLOCK_P": places, "BLOCK_C": across}
    constants |= {"WIDE": tiles.is_wide(out, source, w), "BIAS": bias is not None, "bias_o": bias or 0}
    memory = {"out": dtype, other: dtype, "w": dtype, "bias": dtype}
    grid = (tiles.cdiv(out[0][0] * out[0][2] * out[0][3], places), tiles.cdiv(out[0][1], across))
    return prepare("depthwise", name, grid, memory, constants)


@functools.lru_cache(maxsize=4096)
def _depthwise_summed(chosen, dtype, out: Shape, g: Shape, x: Shape, numbers, groups):
    """The gradient of weights where each channel is a group, as a sum of parts, prepared for the device."""
    co, taps = out[0][0], out[0][2] * out[0][3]
    places, across = _blocks(g)
    steps = tiles.cdiv(g[0][0] * g[0][2] * g[0][3], places)
    splits = max(1, min(tiles.cdiv(2 * tiles.PROGRAMS, taps * tiles.cdiv(co, across)), steps // 4))
    parts = (splits * co, taps), (taps, 1)
    constants = {"images": x[0][0], "CO": co, "IH": x[0][2], "IW": x[0][3], "OH": g[0][2], "OW": g[0][3], "MANY": co // groups, "SPLITS": splits}
    constants |= tiles.strides("g", g, "nchw") | tiles.strides("x", x, "nchw") | _taps(out[0], *numbers)
    constants |= {"WIDE": tiles.is_wide(parts, g, x), "BLOCK_P": places, "BLOCK_C": across}
    memory = {"parts": torch.float32, "g": dtype, "x": dtype}
    step = prepare("depthwise", "weight_gradient", (taps, tiles.cdiv(co, across), splits), memory, constants)
    return splits, step, Sum(dtype, splits, out, out, {"alpha": 1.0, "beta": 0.0, "ADDS": False})


@functools.lru_cache(maxsize=4096)
def _summed(chosen, dtype, out: Shape, g: Shape, x: Shape, numbers, groups, precision):
    """The gradient of weights as a sum of parts, prepared for the device: how many parts there are, and both launches."""
    co, ci = out[0][0] // groups, out[0][1]
    columns = ci * out[0][2] * out[0][3]
    # Blocks of columns that do not go beyond a tap read whole vectors.
    within = ci & -ci
    cut = tiles.Tiles(co, columns, g[0][0] * g[0][2] * g[0][3], groups, dtype, precision, splits=True, most_columns=within if within >= FEW else 1 << 30, gathers=True)
    parts = (cut.splits * out[0][0], columns), (columns, 1)
    constants = tiles.strides("g", g, "nchw") | tiles.strides("x", x, "nchw") | _sizes(x[0][0], ci, co, x[0][2:], g[0][2:])
    constants |= cut.constants | _taps(out[0], *numbers) | {"groups": groups, "ONE_TAP": ci % cut.constants["BLOCK_N"] == 0, "WIDE": tiles.is_wide(parts, g, x)}
    memory = {"parts": torch.float32, "g": dtype, "x": dtype}
    step = prepare("products", "weight_gradient", (cut.count, cut.splits, groups), memory, constants, cut.warps)
    return cut.splits, step, Sum(dtype, cut.splits, out, out, {"alpha": 1.0, "beta": 0.0, "ADDS": False})


def _weight_gradient(out, g, x, stride, padding, dilation, groups):
    """The gradient of a convolution's weights."""
    if _is_product(out, padding, groups):
        x, g = _last(x[:, :, :: stride[0], :: stride[1]][:, :, : g.shape[2], : g.shape[3]] if max(stride) > 1 else x), _last(g)
        (_, places, ci), co = _rows(x)[0], g.shape[1]
        left, target = ((1, co, places), (0, 1, co)), ((1, co, ci), (0, out.stride(0), out.stride(1)))
        return _multiply(out, target, g, left, x, (0, ci, 1))
    if _is_deep(out, groups):
        g, x = _last(g), _last(x)
    shapes = [tiles.shape_of(t) for t in (out, g, x)]
    numbers = (stride, padding, dilation)
    if _is_depthwise(out, groups):
        splits, step, total = _depthwise_summed(device.current(), out.dtype, *shapes, numbers, groups)
    else:
        splits, step, total = _summed(device.current(), out.dtype, *shapes, numbers, groups, tiles.convolution_precision())
    parts = storages.empty([splits, *out.shape], None, torch.float32)
    step.launch(*[storages.address_of(t) for t in (parts, g, x)])
    total.run(out, parts, out)


def _refusal(x, w, **others) -> str:
    """Why there is no kernel, in a few words; nothing where there is one."""
    tensors = [t for t in (x, w, *others.values()) if t is not None]
    why = refusal("aten::convolution", input=x, weight=w, **others)
    if not why and x.dim() not in (3, 4):
        return f"its kernels are not for {x.dim() - 2} dimensions"
    return why or ("" if all(t.numel() for t in tensors) else "a tensor has no elements")


def _output_size(x, w, stride, padding, dilation, transposed, output_padding, groups):
    channels = w.shape[1] * groups if transposed else w.shape[0]
    reach = [d * (k - 1) + 1 for d, k in zip(dilation, w.shape[2:])]
    numbers = zip(x.shape[2:], stride, padding, reach, output_padding)
    if transposed:
        return [x.shape[0], channels, *((i - 1) * s - 2 * p + r + o for i, s, p, r, o in numbers)]
    return [x.shape[0], channels, *((i + 2 * p - r) // s + 1 for i, s, p, r, _ in numbers)]


def order_of(x, w) -> torch.memory_format:
    """The order of a result's elements."""
    orders = [torch._prims_common.suggest_memory_format(t) for t in (x, w)]
    return torch.channels_last if torch.channels_last in orders else torch.contiguous_format


def _new(size, x, w):
    return torch.empty(size, dtype=x.dtype, device=x.device, memory_format=order_of(x, w))


def _convolution(x, w, bias, stride, padding, dilation, transposed, output_padding, groups):
    why = _refusal(x, w, bias=bias)
    if why:
        numbers = (stride, padding, dilation, transposed, output_padding, groups)
        return volumes.convolution(x, w, bias, *numbers) if volumes.are_for(x, w) else eager.run(_aten.convolution.default, x, w, bias, *numbers)
    rank = x.dim()
    stride, padding, dilation, output_padding = _geometry(rank, stride, padding, dilation, output_padding)
    x, w = _flat(x), _flat(w)
    size = _output_size(x, w, stride, padding, dilation, transposed, output_padding, groups)
    if min(size) < 0 or 0 in size[2:]:
        raise RuntimeError(f"convolution: an input of shape {tuple(x.shape)} is too small for a kernel of shape {tuple(w.shape)}")
    out = _new(size, x, w)
    (_data_gradient if transposed else _forward)(out, x, w, bias, stride, padding, dilation, groups)
    return out.squeeze(2) if rank == 3 else out


def _convolution_backward(g, x, w, stride, padding, dilation, transposed, output_padding, groups, mask):
    why = _refusal(x, w, grad_output=g)
    if why and volumes.are_for(x, w):
        return volumes.backward(g, x, w, stride, padding, dilation, transposed, output_padding, groups, mask)
    if why:
        host.refuse("aten::convolution_backward", why)
        host.note("aten::convolution_backward", why)
        return _backward_on_host(g, x, w, stride, padding, dilation, transposed, output_padding, groups, mask)
    rank = x.dim()
    stride, padding, dilation, output_padding = _geometry(rank, stride, padding, dilation, output_padding)
    g4, x4, w4 = _flat(g), _flat(x), _flat(w)
    dx = dw = None
    if mask[0]:
        dx = _new(x4.shape, x4, w4)
        (_forward if transposed else _data_gradient)(dx, g4, w4, None, stride, padding, dilation, groups)
    if mask[1]:
        dw = _new(w4.shape, x4, w4)
        ends = (x4, g4) if transposed else (g4, x4)
        _weight_gradient(dw, *ends, stride, padding, dilation, groups)
    if rank == 3:
        dx, dw = (None if t is None else t.squeeze(2) for t in (dx, dw))
    return dx, dw, g.sum([0, *range(2, rank)]) if mask[2] else None


def _backward_on_host(g, x, w, stride, padding, dilation, transposed, output_padding, groups, mask):
    bias = [g.shape[1]] if mask[2] else None
    numbers = (stride, padding, dilation, transposed, output_padding, groups, mask)
    return host.on_host(_aten.convolution_backward.default, g, x, w, bias, *numbers)


def _fake(theirs):
    """What PyTorch's compiler is told of a result: the order that it will have here."""

    def fake(mode, operation, *args, **kwargs):
        made = theirs(mode, operation, *args, **kwargs)
        names = [argument.name for argument in operation._schema.arguments]
        given = dict(zip(names, args)) | kwargs
        x, w = given["input"], given["weight"]
        if x.fake_device.type != "girih" or x.dim() != 4:
            return made
        with mode:
            order = order_of(x, w)
            if isinstance(made, torch.Tensor):
                return made.to(memory_format=order)
            *pictures, bias = made
            return (*(t if t is None else t.to(memory_format=order) for t in pictures), bias)

    return fake


def register() -> None:
    """Registers them."""
    implementations = fake_impls.op_implementations_dict
    for operation in (_aten.convolution.default, _aten.convolution_backward.default):
        implementations[operation] = _fake(implementations[operation])
    _library.impl("convolution_overrideable", _convolution, "PrivateUse1")
    _library.impl("convolution_backward_overrideable", _convolution_backward, "PrivateUse1")
