"""From a graph of operations on complex numbers to one on their parts.

Invariant: what the graph computes and writes is what the operation would; types of results are those that PyTorch gives.
"""

import math

import torch
from torch.utils import _pytree

from girih.torch.complex_numbers import functions
from girih.torch.complex_numbers.parts import Pair, matrix_product, of_interleaved

REAL = {torch.complex32: torch.float16, torch.complex64: torch.float32, torch.complex128: torch.float64}

# What acts on each part for itself: the operation is called twice.
_PARTWISE = frozenset(
    """_unsafe_view alias cat clone constant_pad_nd cumsum detach diag_embed diagonal diagonal_scatter embedding expand fill flip gather index
    index_add index_copy index_fill index_put _index_put_impl index_select lift lift_fresh lift_fresh_copy masked_fill masked_scatter mean movedim narrow permute put repeat repeat_interleave roll rot90
    scatter scatter_add select select_backward select_scatter slice slice_backward slice_scatter split split_with_sizes squeeze stack sum t take trace transpose tril triu
    unbind unfold unfold_backward unsafe_split unsqueeze view where zero zeros_like empty_like new_zeros new_empty avg_pool1d reflection_pad1d reflection_pad2d replication_pad1d
    replication_pad2d""".split()
)
# What makes complex numbers of real ones.
MAKERS_OF_COMPLEX = ("aten::complex", "aten::polar", "aten::view_as_complex")
# New tensors: their imaginary parts are zero, unless they are filled with a complex number.
_MAKERS = ("full", "zeros", "ones", "empty", "scalar_tensor", "eye", "arange")
# Tensors that are no numbers of the result, by their parameters' names.
_PLACES = ("index", "indices", "mask", "condition", "tensor_indices_or_sections", "repeats")


class Unknown(Exception):
    """An operation on complex numbers that has no rule."""


class Lowering(torch.fx.Interpreter):
    """Runs a graph on pairs. Complex inputs are given as real tensors with one dimension more, and complex outputs are made so."""

    def placeholder(self, target, args, kwargs):
        value, given = self._node.meta["val"], super().placeholder(target, args, kwargs)
        return of_interleaved(given) if _is_complex(value) else given

    def run_node(self, node):
        self._node = node
        return super().run_node(node)

    def call_function(self, target, args, kwargs):
        wanted = self._node.meta.get("val")
        leaves = _pytree.tree_leaves((args, kwargs))
        is_complex = any(isinstance(leaf, (Pair, complex)) for leaf in leaves) or any(map(_is_complex, _pytree.tree_leaves(wanted)))
        if isinstance(target, torch._ops.OpOverload) and target._schema.is_mutable and not self._is_copy_to_input(target):
            # A pair is no memory that its real parts would be views of.
            raise Unknown(f"`{target._schema.name}` changes what is between")
        if not is_complex or not isinstance(target, torch._ops.OpOverload):
            return super().call_function(target, args, kwargs)
        return _cast(_computed(target, args, kwargs, wanted), wanted)

    def _is_copy_to_input(self, target):
        return target is torch.ops.aten.copy_.default and self._node.args[0].op == "placeholder"

    def output(self, target, args, kwargs):
        given = self._node.args[0]
        values = [node.meta["val"] if isinstance(node, torch.fx.Node) else None for node in given]
        return [_in_order(made, value) if isinstance(made, Pair) else made for made, value in zip(args[0], values)]


def _is_complex(value) -> bool:
    return isinstance(value, torch.Tensor) and value.dtype.is_complex


def _in_order(pair, value):
    """A result as a tensor with one dimension more, whose elements are in the order that PyTorch's result has."""
    order = sorted(range(value.dim()), key=lambda at: (-value.stride(at), at))
    turned = Pair(pair.re.permute(order), pair.im.permute(order)).interleaved()
    back = sorted(range(value.dim()), key=lambda at: order[at])
    return turned.permute(*back, value.dim())


def _cast(made, wanted):
    """A result in the type that PyTorch gives it."""
    if isinstance(made, (list, tuple)):
        return type(made)(_cast(item, value) for item, value in zip(made, wanted))
    if not isinstance(wanted, torch.Tensor):
        return made
    if isinstance(made, Pair):
        return made.to(REAL[wanted.dtype])
    return made if made.dtype == wanted.dtype else made.to(wanted.dtype)


def _computed(target, args, kwargs, wanted):
    name = target._schema.name.removeprefix("aten::")
    rule = _RULES.get(name)
    if rule is not None:
        return rule(target, args, kwargs, wanted)
    if name in functions.OF_ONE or name in functions.REAL_OF_ONE:
        return (functions.OF_ONE.get(name) or functions.REAL_OF_ONE[name])(_wide(args[0]))
    if name in _PARTWISE:
        return _partwise(target, args, kwargs)
    if name in _MAKERS:
        return _made(target, args, kwargs)
    raise Unknown(f"`{name}` of complex numbers has no rule")


def _wide(value):
    """A pair in which functions are computed: 16-bit floats are widened."""
    return value.to(torch.float32) if value.re.dtype == torch.float16 else value


def _pair(value, like, dtype=None):
    """An operand as a pair of parts of one type; `like` is a tensor on its device."""
    if isinstance(value, Pair):
        return value if dtype is None else value.to(dtype)
    if isinstance(value, torch.Tensor):
        value = value if dtype is None else value.to(dtype)
        if value.device != like.device:
            # A number that stays a tensor of the host may stand beside others, but not in a choice.
            value = torch.zeros((), dtype=value.dtype, device=like.device) + value
        return Pair(value, torch.zeros_like(value))
    number = complex(value)
    dtype = dtype or like.dtype
    return Pair(*(torch.full((), part, dtype=dtype, device=like.device) for part in (number.real, number.imag)))


def _operands(args, wanted=None):
    """Operands as pairs of one type: that of the result, or the widest of theirs; 16-bit floats are widened."""
    tensors = [value.re if isinstance(value, Pair) else value for value in args if isinstance(value, (Pair, torch.Tensor))]
    if wanted is not None and wanted.dtype in REAL:
        dtype = REAL[wanted.dtype]
    else:
        dtype = torch.result_type(tensors[0], tensors[-1]) if len(tensors) > 1 else tensors[0].dtype
        dtype = dtype if dtype.is_floating_point else torch.get_default_dtype()
    dtype = torch.float32 if dtype == torch.float16 else dtype
    beside = next((tensor for tensor in tensors if tensor.device.type != "cpu"), tensors[0])
    return [_pair(value, beside, dtype) for value in args]


def _partwise(target, args, kwargs):
    """The operation on the real parts and on the imaginary parts. Places and masks are the same for both; a real operand has no imaginary part."""
    parameters = {argument.name: argument for argument in target._schema.arguments}

    def taken(value, argument, part):
        if isinstance(value, Pair):
            return getattr(value, part)
        if isinstance(value, (list, tuple)):
            return type(value)(taken(item, argument, part) for item in value)
        if isinstance(value, torch.dtype):
            return REAL.get(value, value)
        if argument.name == "alpha":
            return value
        if isinstance(value, complex) or str(argument.type) in ("number", "Optional[number]") and value is not None:
            return complex(value).real if part == "re" else complex(value).imag
        if isinstance(value, torch.Tensor) and argument.name not in _PLACES and value.dtype != torch.bool and part == "im":
            return torch.zeros_like(value)
        return value

    if isinstance(kwargs.get("alpha"), complex):
        raise Unknown(f"`{target._schema.name}` with a complex factor has no rule")
    parts = []
    for part in ("re", "im"):
        given = [taken(value, argument, part) for value, argument in zip(args, target._schema.arguments)]
        parts.append(target(*given, **{name: taken(value, parameters[name], part) for name, value in kwargs.items()}))
    if isinstance(parts[0], (list, tuple)):
        return [Pair(re, im) for re, im in zip(*parts)]
    return Pair(*parts)


def _made(target, args, kwargs):
    """A new tensor that has one number everywhere."""
    kwargs = dict(kwargs)
    kwargs["dtype"] = REAL[kwargs["dtype"]] if kwargs.get("dtype") in REAL else torch.get_default_dtype()
    name = target._schema.name.removeprefix("aten::")
    if name in ("full", "scalar_tensor"):
        value = complex(args[-1])
        return Pair(*(target(*args[:-1], part, **kwargs) for part in (value.real, value.imag)))
    made = target(*args, **kwargs)
    return Pair(made, torch.zeros_like(made))


def _filled(target, args, kwargs, wanted):
    """`full_like` and its kind: a number for each place of another tensor."""
    name = target._schema.name.removeprefix("aten::")
    value = complex(args[-1]) if name in ("full_like", "new_full") else complex(name == "ones_like")
    if not _is_complex(wanted):
        return torch.full(wanted.shape, value.real, dtype=wanted.dtype, device=wanted.device)
    return Pair(*(torch.full(wanted.shape, part, dtype=REAL[wanted.dtype], device=wanted.device) for part in (value.real, value.imag)))


def _arithmetic(function):
    """A rule of two operands. `alpha` is a factor of the second one."""

    def rule(target, args, kwargs, wanted):
        factor = kwargs.get("alpha", args[2] if len(args) > 2 else 1)
        a, b = _operands(args[:2], wanted)
        if factor != 1:
            b = b * _pair(factor, b.re)
        return function(a, b)

    return rule


def _divided(target, args, kwargs, wanted):
    if kwargs.get("rounding_mode") is not None:
        raise Unknown("quotients of complex numbers cannot be rounded")
    a, b = _operands(args[:2], wanted)
    if isinstance(args[1], Pair) or isinstance(args[1], complex):
        return a / b
    return Pair(a.re / b.re, a.im / b.re)


def _multiplied(target, args, kwargs, wanted):
    if isinstance(args[0], Pair) and isinstance(args[1], (int, float)):
        return _wide(args[0]).scaled(args[1])
    a, b = _operands(args[:2], wanted)
    return a * b


def _power(target, args, kwargs, wanted):
    base, exponent = args[:2]
    if isinstance(exponent, (int, float)) and isinstance(base, Pair):
        made = functions.power_of_number(_wide(base), exponent)
        if made is not None:
            return made
    return functions.power(*_operands((base, exponent), wanted))


def _same(target, args, kwargs, wanted):
    a, b = _operands(args[:2])
    return (a.re == b.re) & (a.im == b.im) if target._schema.name == "aten::eq" else (a.re != b.re) | (a.im != b.im)


def _product(target, args, kwargs, wanted):
    return matrix_product(target.overloadpacket, *_operands(args[:2], wanted))


def _product_and_sum(target, args, kwargs, wanted):
    c, a, b = _operands(args[:3], wanted)
    product = matrix_product(getattr(torch.ops.aten, "bmm" if "baddbmm" in target._schema.name else "mm"), a, b)
    alpha, beta = (_pair(kwargs.get(name, 1), a.re) for name in ("alpha", "beta"))
    # A factor of zero hides NaN, too.
    return product * alpha if kwargs.get("beta", 1) == 0 else product * alpha + c * beta


def _as_real(value, dtype):
    """Complex numbers as numbers of a real type: their real parts, or whether they are other than zero."""
    if not isinstance(value, Pair):
        return value.to(dtype)
    return _is_something(value) if dtype == torch.bool else value.re.to(dtype)


def _is_something(value):
    return (value.re != 0) | (value.im != 0)


def _converted(target, args, kwargs, wanted):
    """`_to_copy`: between complex numbers, to real ones, and from real ones."""
    return _pair(args[0], wanted, REAL[wanted.dtype]) if _is_complex(wanted) else _as_real(args[0], wanted.dtype)


def _copied(target, args, kwargs, wanted):
    """`copy`: a tensor like the first one, with the numbers of the second one."""
    if not _is_complex(wanted):
        return target(args[0], _as_real(args[1], wanted.dtype))
    value = _pair(args[1], wanted, REAL[wanted.dtype])
    return Pair(target(args[0].re, value.re), target(args[0].im, value.im))


def _written(target, args, kwargs, wanted):
    """`copy_` at the end of a graph, to an input of it."""
    into, value = args[:2]
    if not isinstance(into, Pair):
        return into.copy_(_as_real(value, into.dtype))
    made = _pair(value, into.re, into.re.dtype)
    into.whole.copy_(made.interleaved().expand(into.whole.shape))
    return into


def _of_truth(target, args, kwargs, wanted):
    """Whether numbers are other than zero, for operations that ask no more than that."""
    given = [_is_something(value) if isinstance(value, Pair) else value for value in args]
    return target(*given, **kwargs)


def _variance(target, args, kwargs, wanted):
    return target(args[0].re, *args[1:], **kwargs) + target(args[0].im, *args[1:], **kwargs)


def _multiplied_along(target, args, kwargs, wanted):
    """The product of all numbers, or of those along a dimension, in halves."""
    value, axis = args[0], args[1] if len(args) > 1 else None
    value = _wide(value)
    if value.re.dim() == 0:
        return value
    parts = (value.re.flatten(), value.im.flatten()) if axis is None else (value.re.movedim(axis, 0), value.im.movedim(axis, 0))
    left = Pair(*parts)
    count = left.re.shape[0]
    if not isinstance(count, int):
        raise Unknown("products of a length that changes have no rule")
    if count == 0:
        left = Pair(torch.ones_like(left.re.sum(0, keepdim=True)), torch.zeros_like(left.im.sum(0, keepdim=True)))
    while count > 1:
        half = count // 2
        made = Pair(left.re[:half], left.im[:half]) * Pair(left.re[half : 2 * half], left.im[half : 2 * half])
        rest = Pair(left.re[2 * half :], left.im[2 * half :])
        left = made if count % 2 == 0 else Pair(torch.cat((made.re, rest.re)), torch.cat((made.im, rest.im)))
        count = half + count % 2
    keeps = axis is not None and (kwargs.get("keepdim", args[2] if len(args) > 2 else False))
    return Pair(*(part[0].unsqueeze(axis) if keeps else part[0] for part in (left.re, left.im)))


def _normal(target, args, kwargs, wanted):
    """Normal numbers: each part has half of the variance, and the mean is that of the real part."""
    mean, deviation = (*args[1:], 0.0, 1.0)[:2] if len(args) != 2 else (args[1], 1.0)
    return Pair(*(target(part, at, deviation / math.sqrt(2)) for part, at in ((args[0].re, mean), (args[0].im, 0.0))))


def _uniform(target, args, kwargs, wanted):
    return Pair(*(target(part, *args[1:], **kwargs) for part in (args[0].re, args[0].im)))


def _addcmul(target, args, kwargs, wanted):
    c, a, b = _operands(args[:3], wanted)
    made = a * b if target._schema.name == "aten::addcmul" else a / b
    return c + made * _pair(kwargs.get("value", 1), a.re)


_RULES = {
    "add": _arithmetic(Pair.__add__),
    "sub": _arithmetic(Pair.__sub__),
    "rsub": lambda target, args, kwargs, wanted: _arithmetic(Pair.__sub__)(target, (args[1], args[0], *args[2:]), kwargs, wanted),
    "mul": _multiplied,
    "div": _divided,
    "true_divide": _divided,
    "pow": _power,
    "eq": _same,
    "ne": _same,
    "mm": _product,
    "bmm": _product,
    "addmm": _product_and_sum,
    "baddbmm": _product_and_sum,
    "addcmul": _addcmul,
    "addcdiv": _addcmul,
    "prod": _multiplied_along,
    "_to_copy": _converted,
    "copy": _copied,
    "copy_": _written,
    "any": _of_truth,
    "all": _of_truth,
    "logical_and": _of_truth,
    "logical_or": _of_truth,
    "logical_xor": _of_truth,
    "var": _variance,
    "prims::var": _variance,
    "normal_functional": _normal,
    "uniform": _uniform,
    "full_like": _filled,
    "ones_like": _filled,
    "new_full": _filled,
    "view_as_real": lambda target, args, kwargs, wanted: args[0].interleaved(),
    "view_as_complex": lambda target, args, kwargs, wanted: of_interleaved(args[0]),
}


def _of_parts(re, im):
    return torch.view_as_complex(torch.stack(torch.broadcast_tensors(re, im), -1))


def decompositions(theirs):
    """Of a table of decompositions, those of operations that have no rule."""
    # PyTorch's own functions would fix the sizes of tensors.
    ours = {
        torch.ops.aten.complex.default: _of_parts,
        torch.ops.aten.polar.default: lambda size, angle: _of_parts(size * torch.cos(angle), size * torch.sin(angle)),
    }
    ruled = set(_RULES) | set(_MAKERS) | set(functions.OF_ONE) | set(functions.REAL_OF_ONE) | _PARTWISE
    return {operation: rule for operation, rule in theirs.items() if operation.name().split(".")[0].removeprefix("aten::") not in ruled} | ours
