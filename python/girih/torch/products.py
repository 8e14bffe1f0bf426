"""Matrix products on the device, by the kernels of `kernels/products.py`.

Types that these kernels do not have are summed by a kernel of Inductor's, as any other operation.
"""

import functools
import math

import torch

from girih.torch import device, eager, placement, storages, tiles
from girih.torch.launch import prepare
from girih.torch.library import Library
from girih.torch.tiles import Shape

_library = Library("aten", "IMPL")
_FLOATS = (torch.float32, torch.float16, torch.bfloat16)
_TYPES = {torch.float32: "Float", torch.float64: "Double", torch.float16: "Half", torch.bfloat16: "BFloat16", torch.int64: "Long", torch.int32: "Int"}
_aten = torch.ops.aten
# The most programs along the third axis of a grid.
MOST_BATCHES = 65535
# Rows or columns of the other factor from which it pays to copy one whose rows begin or end anywhere, to where they begin at multiples of a line of the cache.
_WORTH_A_COPY, _LINE = 256, 128


def refusal(operation: str, **tensors) -> str:
    """Why the kernels are not for such tensors, in a few words; nothing where they are. Raises `RuntimeError` if they are not all of one type on the device."""
    given = {name: tensor for name, tensor in tensors.items() if tensor is not None}
    (first, one), *_ = given.items()
    for name, tensor in given.items():
        if tensor.device.type != "girih":
            raise placement.error(tensor.device, name, operation)
        if tensor.dtype != one.dtype:
            raise RuntimeError(f"{first} and {name} must have the same dtype, but got {_named(one)} and {_named(tensor)}")
    return "" if one.dtype in _FLOATS else f"its kernels are not for {one.dtype}"


def _named(tensor) -> str:
    """What PyTorch calls a tensor's type in messages."""
    return _TYPES.get(tensor.dtype, str(tensor.dtype).removeprefix("torch."))


class _Products:
    """out = alpha * a @ b + beta * c for three-dimensional tensors of such shapes, prepared for the device."""

    def __init__(self, chosen, dtype, out: Shape, a: Shape, b: Shape, c: Shape | None, alpha: float, beta: float, precision: str):
        (batches, m, k), n = a[0], b[0][2]
        self.factors = {"alpha": alpha, "beta": beta, "ADDS": c is not None}
        self.aligned = [_Aligned(shape, dtype) if _is_uneven(shape, dtype, depth) and other >= _WORTH_A_COPY else None for shape, depth, other in ((a, 2, n), (b, 1, m))]
        a, b = [made.shape if made else shape for made, shape in zip(self.aligned, (a, b))]
        cut = tiles.Tiles(m, n, max(k, 1), batches, dtype, precision, splits=True)
        self.dtype, self.splits, self.parts = dtype, cut.splits, (cut.splits, batches, m, n)
        target, added, first = out, c or out, self.factors
        memory = {"out": dtype, "a": dtype, "b": dtype, "c": dtype}
        offset = 0
        if self.splits > 1:
            target = ((batches, m, n), (m * n, n, 1))
            added, first, offset = target, {"alpha": 1.0, "beta": 0.0, "ADDS": False}, batches * m * n
            memory |= {"out": torch.float32, "c": torch.float32}
            self.sum = Sum(dtype, self.splits, _four(out), _four(c or out), self.factors)
        strides = tiles.strides("out", target, "bmn") | {"out_s": offset} | tiles.strides("c", added, "bmn")
        strides |= tiles.strides("a", a, "bmk") | tiles.strides("b", b, "bkn")
        wide = tiles.is_wide(target, a, b, added) or offset * self.splits >= 1 << 31
        constants = first | strides | cut.constants | {"M": m, "N": n, "K": k, "WIDE": wide, "REST": _rest(k, cut.constants["BLOCK_K"])}
        constants |= {"rows": self.aligned[0].rows if self.aligned[0] else m, "columns": self.aligned[1].columns if self.aligned[1] else n}
        self.steps = []
        for at in range(0, batches, MOST_BATCHES):
            grid = (cut.count, cut.splits, min(batches - at, MOST_BATCHES))
            sizes = [4 if self.splits > 1 and name in "out c" else dtype.itemsize for name in memory]
            offsets = [at * shape[1][0] * size for shape, size in zip((target, a, b, added), sizes)]
            self.steps.append((prepare("products", "matmul", grid, memory, constants, cut.warps), offsets))

    def run(self, out, a, b, c):
        added = out if c is None else c
        target = out if self.splits == 1 else storages.empty(self.parts, None, torch.float32)
        last = added if self.splits == 1 else target
        a, b = [made.run(factor) if made else factor for made, factor in zip(self.aligned, (a, b))]
        places = [storages.address_of(t) for t in (target, a, b, last)]
        for step, offsets in self.steps:
            step.launch(*[place + offset for place, offset in zip(places, offsets)])
        if self.splits > 1:
            self.sum.run(out, target, added)


class _Aligned:
    """A copy of a factor of such a shape in which each row begins at a line of the cache, so that it is read by vectors."""

    def __init__(self, shape: Shape, dtype):
        self.dtype, (batches, *sides) = dtype, shape[0]
        fast = 2 if shape[1][2] == 1 else 1
        length, rows, line = shape[0][fast], shape[0][3 - fast], _LINE // dtype.itemsize
        row = tiles.cdiv(length, line) * line
        stride = (rows * row, row, 1) if fast == 2 else (rows * row, 1, row)
        self.shape, self.size, block = ((batches, *sides), stride), (batches * rows * row,), 1024
        # What is behind a row can be read, so that no vector is read in part.
        self.rows, self.columns = (rows, row) if fast == 2 else (row, rows)
        constants = {"length": length, "rows": rows, "out_b": rows * row, "out_r": row, "x_b": shape[1][0], "x_r": shape[1][3 - fast], "BLOCK": block}
        constants["WIDE"] = tiles.is_wide(shape, self.shape)
        grid = (tiles.cdiv(length, block) * rows * batches,)
        self.step = prepare("products", "aligned", grid, {"out": dtype, "x": dtype}, constants)

    def run(self, x):
        out = storages.empty(self.size, None, self.dtype)
        self.step.launch(storages.address_of(out), storages.address_of(x))
        return out


def _is_uneven(shape: Shape, dtype, depth: int) -> bool:
    """Whether a card cannot read vectors of a factor only because of how its rows begin or end. Kernels have a step of their own for the end of `depth`, an axis."""
    if device.current().kind == "cpu" or 1 not in shape[1][1:]:
        return False
    fast, vector = 2 if shape[1][2] == 1 else 1, max(1, 16 // dtype.itemsize)
    slow = shape[1][3 - fast]
    return slow > 1 and (slow % vector > 0 or fast != depth and shape[0][fast] % vector > 0)


class Sum:
    """out = alpha * the sum of parts + beta * c, for four-dimensional tensors of such shapes."""

    def __init__(self, dtype, splits: int, out: Shape, c: Shape, factors: dict):
        count, block = math.prod(out[0]), 256
        constants = {f"size_{i}": out[0][i] for i in (1, 2, 3)} | tiles.strides("out", out, "0123") | tiles.strides("c", c, "0123") | factors
        constants |= {"count": count, "SPLITS": splits, "WIDE": tiles.is_wide(out, c) or count * splits >= 1 << 31, "BLOCK": block}
        memory = {"out": dtype, "parts": torch.float32, "c": dtype}
        self.step = prepare("products", "finish", (tiles.cdiv(count, block),), memory, constants)

    def run(self, out, parts, c):
        self.step.launch(*[storages.address_of(t) for t in (out, parts, c)])


def _rest(depth: int, block: int) -> str:
    """Where the kernel masks a step that reaches beyond the depth. In the loop the mask must not part what is read as a vector."""
    return "none" if depth % block == 0 else "inside" if depth % 16 == 0 else "apart"


# Prepared products by all that they depend on.
prepared = functools.lru_cache(maxsize=4096)(_Products)


def _four(shape: Shape) -> Shape:
    return (1, *shape[0]), (0, *shape[1])


def _three(tensor) -> Shape:
    """The shape of a matrix as that of a batch of one."""
    size, stride = tensor.shape, tensor.stride()
    return (size, stride) if len(size) == 3 else ((1, *size), (0, *stride))


def _matmul(out, a, b, c, alpha, beta):
    if out.numel() == 0:
        return
    # A factor of zero hides NaN, too.
    c = c.expand(out.shape) if c is not None and beta != 0 else None
    shapes = [None if t is None else _three(t) for t in (out, a, b, c)]
    prepared(device.current(), a.dtype, *shapes, float(alpha), float(beta), tiles.precision()).run(out, a, b, c)


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


def _check_shapes(a, b, rank):
    """Raises PyTorch's error where matrices, or batches of them, have no product."""
    names = ("batch1", "batch2") if rank == 3 else ("mat1", "mat2")
    for name, tensor in zip(names, (a, b)):
        if tensor.dim() != rank:
            raise RuntimeError(f"{name} must be a {'3D tensor' if rank == 3 else f'matrix, got {tensor.dim()}-D tensor'}")
    if rank == 2 and a.shape[1] != b.shape[0]:
        raise RuntimeError(f"mat1 and mat2 shapes cannot be multiplied ({a.shape[0]}x{a.shape[1]} and {b.shape[0]}x{b.shape[1]})")
    if rank == 3 and (a.shape[0], a.shape[2]) != tuple(b.shape[:2]):
        raise RuntimeError(f"Expected size for first two dimensions of batch2 tensor to be: [{a.shape[0]}, {a.shape[2]}] but got: [{b.shape[0]}, {b.shape[1]}].")


def _product(operation, c, a, b, alpha, beta, out):
    """Any of the products: two- or three-dimensional, with or without `c`."""
    rank = 3 if "bmm" in operation._schema.name else 2
    why = refusal(operation._schema.name, **{f"{'batch' if rank == 3 else 'mat'}{at}": t for at, t in ((1, a), (2, b))}, self=c, out=out)
    _check_shapes(a, b, rank)
    if why:
        factors = {} if c is None else {"beta": beta, "alpha": alpha}
        outs, operation = ({}, operation) if out is None else ({"out": out}, operation.overloadpacket.out)
        return eager.run(operation, *[t for t in (c, a, b) if t is not None], **factors, **outs)
    result = _shaped(out, [*a.shape[:-1], b.shape[-1]], a)
    target = _without_overlap(result, a, b, c)
    _matmul(target, a, b, c, alpha, beta)
    if target is not result:
        result.copy_(target)
    return result


def plain(operation):
    """The function of a product alone."""
    return lambda a, b, out=None: _product(operation, None, a, b, 1, 1, out)


def adding(operation):
    """The function of a product to which something is added."""
    return lambda c, a, b, *, beta=1, alpha=1, out=None: _product(operation, c, a, b, alpha, beta, out)


def _adding_in_place(operation):
    def product(c, a, b, *, beta=1, alpha=1):
        wanted = (*a.shape[:-1], b.shape[-1])
        if tuple(c.shape) != wanted:
            raise RuntimeError(f"{operation.name()}: a tensor of shape {tuple(c.shape)} cannot be changed in place to one of shape {wanted}")
        return _product(operation, c, a, b, alpha, beta, c)

    return product


def register() -> None:
    """Registers them."""
    for name in ("mm", "bmm"):
        packet = getattr(_aten, name)
        _library.impl(name, plain(packet.default), "PrivateUse1")
        _library.impl(f"{name}.out", plain(packet.out), "PrivateUse1")
    for name in ("addmm", "baddbmm"):
        packet = getattr(_aten, name)
        _library.impl(name, adding(packet.default), "PrivateUse1")
        _library.impl(f"{name}.out", adding(packet.out), "PrivateUse1")
        _library.impl(f"{name}_", _adding_in_place(packet.default), "PrivateUse1")
