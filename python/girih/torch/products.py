"""Matrix products and convolutions on the device, by the kernels of `kernels/products.py`.

Types and ranks that these kernels do not have run on the host, which is counted and warned of like any fallback.
"""

import torch

from girih.torch import host, storages
from girih.torch.launch import kernel, launch

_library = torch.library.Library("aten", "IMPL")
_FLOATS = (torch.float32, torch.float16, torch.bfloat16)
_aten = torch.ops.aten


def _block(length: int) -> int:
    """The side of a tile: a power of two from 16 to 32."""
    return 16 if length <= 16 else 32


def _tiles(length: int, block: int) -> int:
    return -(-length // block)


def _is_ours(*tensors) -> bool:
    first = tensors[0].dtype
    return first in _FLOATS and all(t.dtype == first and t.device.type == "girih" for t in tensors)


def _matmul(out, a, b, c=None, alpha=1, beta=1):
    """out = alpha * a @ b + beta * c, of three-dimensional tensors."""
    batches, m, k = a.shape
    n = b.shape[2]
    if out.numel() == 0:
        return
    # A factor of zero hides NaN, too.
    adds = c is not None and beta != 0
    c = c.expand(out.shape) if adds else out
    blocks = _block(m), _block(n), _block(k)
    strides = {
        f"{name}_{axis}": stride
        for name, tensor, axes in (("out", out, "bmn"), ("a", a, "bmk"), ("b", b, "bkn"), ("c", c, "bmn"))
        for axis, stride in zip(axes, tensor.stride())
    }
    grid = (_tiles(m, blocks[0]), _tiles(n, blocks[1]), batches)
    numbers = {"M": m, "N": n, "K": k, "alpha": float(alpha), "beta": float(beta), "ADDS": adds}
    sides = dict(zip(("BLOCK_M", "BLOCK_N", "BLOCK_K"), blocks))
    launch(kernel("products", "matmul"), grid, {"out": out, "a": a, "b": b, "c": c, **numbers, **strides, **sides})


def _shaped(out, size, like):
    """The tensor for a result: a given one with this size, or a new one."""
    if out is None:
        return storages.empty(size, None, like.dtype)
    if list(out.shape) != list(size):
        out.resize_(size)
    return out


def _without_overlap(out, *operands):
    """Where to write, when an operand is in the same memory as the result."""
    places = [t.untyped_storage().data_ptr() for t in operands if t is not None]
    return torch.empty_like(out) if out.untyped_storage().data_ptr() in places else out


def _product(operation, c, a, b, alpha, beta, out):
    """Any of the products: two- or three-dimensional, with or without `c`."""
    tensors = [t for t in (a, b, c, out) if t is not None]
    if not _is_ours(*tensors):
        host.note(operation._schema.name)
        factors = {} if c is None else {"beta": beta, "alpha": alpha}
        outs = {} if out is None else {"out": out}
        return host.on_host(operation, *[t for t in (c, a, b) if t is not None], **factors, **outs)
    rank = 3 if "bmm" in operation._schema.name else 2
    if a.dim() != rank or b.dim() != rank or a.shape[-1] != b.shape[-2] or (rank == 3 and a.shape[0] != b.shape[0]):
        raise RuntimeError(f"{operation.name()}: a matrix of shape {tuple(a.shape)} and one of shape {tuple(b.shape)} have no product")
    result = _shaped(out, [*a.shape[:-1], b.shape[-1]], a)
    target = _without_overlap(result, a, b, c)
    three = lambda t: t.unsqueeze(0) if t.dim() == 2 else t
    added = None if c is None else three(c.expand(result.shape))
    _matmul(three(target), three(a), three(b), added, alpha, beta)
    if target is not result:
        result.copy_(target)
    return result


def _plain(operation):
    return lambda a, b, out=None: _product(operation, None, a, b, 1, 1, out)


def _adding(operation):
    return lambda c, a, b, *, beta=1, alpha=1, out=None: _product(operation, c, a, b, alpha, beta, out)


def _adding_in_place(operation):
    return lambda c, a, b, *, beta=1, alpha=1: _product(operation, c, a, b, alpha, beta, c)


def _two(numbers):
    return [numbers[0], numbers[0]] if len(numbers) == 1 else list(numbers)


def _flat(tensor):
    """A one-dimensional picture as one with a single row."""
    return tensor.unsqueeze(2) if tensor.dim() == 3 else tensor


def _geometry(x_dim, stride, padding, dilation, output_padding):
    if x_dim == 3:
        return [1, stride[0]], [0, padding[0]], [1, dilation[0]], [0, output_padding[0]]
    return tuple(_two(numbers) for numbers in (stride, padding, dilation, output_padding))


def _strides(name, tensor, axes):
    return {f"{name}_{axis}": stride for axis, stride in zip(axes, tensor.stride())}


def _sizes(images, ci, co, small, large):
    """The numbers of a convolution from `small` (its input) to `large` (its output)."""
    return {"images": images, "CI": ci, "CO": co, "IH": small[0], "IW": small[1], "OH": large[0], "OW": large[1]}


def _taps(w, stride, padding, dilation):
    return {
        "KW": w.shape[3], "step_h": stride[0], "step_w": stride[1], "pad_h": padding[0], "pad_w": padding[1],
        "gap_h": dilation[0], "gap_w": dilation[1],
    }  # fmt: skip


def _sides(m, n, k):
    return {"BLOCK_M": _block(m), "BLOCK_N": _block(n), "BLOCK_K": _block(k)}


def _forward(out, x, w, bias, stride, padding, dilation, groups):
    """The convolution of four-dimensional tensors."""
    co, ci = w.shape[0] // groups, w.shape[1]
    places = out.shape[0] * out.shape[2] * out.shape[3]
    sides = _sides(places, co, ci)
    grid = (_tiles(places, sides["BLOCK_M"]), _tiles(co, sides["BLOCK_N"]), groups)
    tensors = {"out": out, "x": x, "w": w, "bias": out if bias is None else bias, "BIAS": bias is not None, "KH": w.shape[2]}
    strides = _strides("out", out, "nchw") | _strides("x", x, "nchw") | _strides("w", w, "oihw")
    sizes = _sizes(x.shape[0], ci, co, x.shape[2:], out.shape[2:])
    launch(kernel("products", "convolution"), grid, tensors | sizes | strides | _taps(w, stride, padding, dilation) | sides)


def _data_gradient(out, g, w, bias, stride, padding, dilation, groups):
    """The gradient of a convolution's input, which is the transposed convolution."""
    co, ci = w.shape[0] // groups, w.shape[1]
    places = out.shape[0] * out.shape[2] * out.shape[3]
    sides = _sides(places, ci, co)
    grid = (_tiles(places, sides["BLOCK_M"]), _tiles(ci, sides["BLOCK_N"]), groups)
    tensors = {"out": out, "g": g, "w": w, "bias": out if bias is None else bias, "BIAS": bias is not None, "KH": w.shape[2]}
    strides = _strides("out", out, "nchw") | _strides("g", g, "nchw") | _strides("w", w, "oihw")
    sizes = _sizes(out.shape[0], ci, co, out.shape[2:], g.shape[2:])
    launch(kernel("products", "data_gradient"), grid, tensors | sizes | strides | _taps(w, stride, padding, dilation) | sides)


def _weight_gradient(out, g, x, stride, padding, dilation, groups):
    """The gradient of a convolution's weights."""
    co, ci = out.shape[0] // groups, out.shape[1]
    sides = _sides(co, ci, g.shape[0] * g.shape[2] * g.shape[3])
    grid = (_tiles(co, sides["BLOCK_M"]), _tiles(ci, sides["BLOCK_N"]), groups * out.shape[2] * out.shape[3])
    strides = _strides("out", out, "oihw") | _strides("g", g, "nchw") | _strides("x", x, "nchw")
    sizes = _sizes(x.shape[0], ci, co, x.shape[2:], g.shape[2:])
    numbers = {"out": out, "g": g, "x": x, "groups": groups}
    launch(kernel("products", "weight_gradient"), grid, numbers | sizes | strides | _taps(out, stride, padding, dilation) | sides)


def _has_kernels(x, w, *others) -> bool:
    tensors = [t for t in (x, w, *others) if t is not None]
    return x.dim() in (3, 4) and _is_ours(*tensors) and all(t.numel() for t in tensors)


def _output_size(x, w, stride, padding, dilation, transposed, output_padding, groups):
    channels = w.shape[1] * groups if transposed else w.shape[0]
    reach = [d * (k - 1) + 1 for d, k in zip(dilation, w.shape[2:])]
    numbers = zip(x.shape[2:], stride, padding, reach, output_padding)
    if transposed:
        return [x.shape[0], channels, *((i - 1) * s - 2 * p + r + o for i, s, p, r, o in numbers)]
    return [x.shape[0], channels, *((i + 2 * p - r) // s + 1 for i, s, p, r, _ in numbers)]


def _convolution(x, w, bias, stride, padding, dilation, transposed, output_padding, groups):
    if not _has_kernels(x, w, bias):
        host.note("aten::convolution")
        return host.on_host(_aten.convolution.default, x, w, bias, stride, padding, dilation, transposed, output_padding, groups)
    rank = x.dim()
    stride, padding, dilation, output_padding = _geometry(rank, stride, padding, dilation, output_padding)
    x, w = _flat(x), _flat(w)
    size = _output_size(x, w, stride, padding, dilation, transposed, output_padding, groups)
    if min(size) < 0 or 0 in size[2:]:
        raise RuntimeError(f"convolution: an input of shape {tuple(x.shape)} is too small for a kernel of shape {tuple(w.shape)}")
    out = storages.empty(size, None, x.dtype)
    (_data_gradient if transposed else _forward)(out, x, w, bias, stride, padding, dilation, groups)
    return out.squeeze(2) if rank == 3 else out


def _convolution_backward(g, x, w, stride, padding, dilation, transposed, output_padding, groups, mask):
    if not _has_kernels(x, w, g):
        host.note("aten::convolution_backward")
        return _backward_on_host(g, x, w, stride, padding, dilation, transposed, output_padding, groups, mask)
    rank = x.dim()
    stride, padding, dilation, output_padding = _geometry(rank, stride, padding, dilation, output_padding)
    g4, x4, w4 = _flat(g), _flat(x), _flat(w)
    dx = dw = None
    if mask[0]:
        dx = torch.empty_like(x4, memory_format=torch.contiguous_format)
        (_forward if transposed else _data_gradient)(dx, g4, w4, None, stride, padding, dilation, groups)
    if mask[1]:
        dw = torch.empty_like(w4, memory_format=torch.contiguous_format)
        ends = (x4, g4) if transposed else (g4, x4)
        _weight_gradient(dw, *ends, stride, padding, dilation, groups)
    if rank == 3:
        dx, dw = (None if t is None else t.squeeze(2) for t in (dx, dw))
    return dx, dw, g.sum([0, *range(2, rank)]) if mask[2] else None


def _backward_on_host(g, x, w, stride, padding, dilation, transposed, output_padding, groups, mask):
    bias = [g.shape[1]] if mask[2] else None
    numbers = (stride, padding, dilation, transposed, output_padding, groups, mask)
    return host.on_host(_aten.convolution_backward.default, g, x, w, bias, *numbers)


def register() -> None:
    """Registers them."""
    for name in ("mm", "bmm"):
        packet = getattr(_aten, name)
        _library.impl(name, _plain(packet.default), "PrivateUse1")
        _library.impl(f"{name}.out", _plain(packet.out), "PrivateUse1")
    for name in ("addmm", "baddbmm"):
        packet = getattr(_aten, name)
        _library.impl(name, _adding(packet.default), "PrivateUse1")
        _library.impl(f"{name}.out", _adding(packet.out), "PrivateUse1")
        _library.impl(f"{name}_", _adding_in_place(packet.default), "PrivateUse1")
    _library.impl("convolution_overrideable", _convolution, "PrivateUse1")
    _library.impl("convolution_backward_overrideable", _convolution_backward, "PrivateUse1")
