"""Matrix products on the device, by the kernels of `kernels/products.py`.

Types and ranks that these kernels do not have run on the host, which is counted and warned of like any fallback.
"""

import torch

from girih.torch import host, storages, tiles
from girih.torch.launch import kernel, launch

_library = torch.library.Library("aten", "IMPL")
_FLOATS = (torch.float32, torch.float16, torch.bfloat16)
_aten = torch.ops.aten
# The most programs along the third axis of a grid.
MOST_BATCHES = 65535


def is_ours(*tensors) -> bool:
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
    cut = tiles.Tiles(m, n, max(k, 1), batches, a.dtype, splits=True)
    factors = {"alpha": float(alpha), "beta": float(beta), "ADDS": adds}
    target, first = out, factors
    if cut.splits > 1:
        target = storages.empty([cut.splits, batches, m, n], None, torch.float32)
        first = {"alpha": 1.0, "beta": 0.0, "ADDS": False}
    added = c if cut.splits == 1 else out
    strides = tiles.strides("out", target[0] if cut.splits > 1 else target, "bmn") | {"out_s": target.stride(0)}
    strides |= tiles.strides("a", a, "bmk") | tiles.strides("b", b, "bkn") | tiles.strides("c", added, "bmn")
    numbers = {"M": m, "N": n, "K": k, "WIDE": tiles.is_wide(target, a, b, added)}
    tensors = {"out": target, "a": a, "b": b, "c": added}
    for at in range(0, batches, MOST_BATCHES):
        grid = (cut.count, cut.splits, min(batches - at, MOST_BATCHES))
        begun = {name: tensor[..., at:, :, :] for name, tensor in tensors.items()} if at else tensors
        launch(kernel("products", "matmul"), grid, begun | first | numbers | strides | cut.constants, cut.warps)
    if cut.splits > 1:
        finish(out.unsqueeze(0), target, cut.splits, c.unsqueeze(0), factors)


def finish(out, parts, splits, c, factors):
    """The sum of parts of products, of four-dimensional tensors."""
    sizes = {f"size_{i}": out.shape[i] for i in (1, 2, 3)}
    strides = tiles.strides("out", out, "0123") | tiles.strides("c", c, "0123")
    constants = {"SPLITS": splits, "WIDE": tiles.is_wide(out, parts, c), "BLOCK": 256}
    grid = (tiles.cdiv(out.numel(), 256),)
    launch(kernel("products", "finish"), grid, {"out": out, "parts": parts, "c": c, "count": out.numel()} | sizes | strides | factors | constants)


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
    if not is_ours(*tensors):
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
