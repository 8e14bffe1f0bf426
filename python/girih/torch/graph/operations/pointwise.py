"""Operations element by element."""

import torch

from girih.torch.graph.operations.table import writes
from girih.torch.graph.values import Missing, Value, floating, promoted

# Functions of floats: an operation of the graph each.
_FUNCTIONS = {
    name: name
    for name in ("sqrt", "rsqrt", "exp", "exp2", "log", "log2", "sin", "cos", "tan", "asin", "acos", "atan", "tanh", "erf", "erfc", "expm1", "log1p", "sigmoid", "sinh", "cosh", "reciprocal")
}
# What is the same for whole numbers, or leaves them as they are.
_OF_NUMBERS = {"neg": "neg", "abs": "abs", "sign": "sign", "relu": "relu"}
_TO_WHOLE = ("floor", "ceil", "round", "trunc")
_ARITHMETIC = {"mul": "mul", "maximum": "max", "minimum": "min"}
_COMPARISONS = ("eq", "ne", "lt", "le", "gt", "ge")
_BITS = {"bitwise_and": "and", "bitwise_or": "or", "bitwise_xor": "xor"}
_LOGIC = {"logical_and": "and", "logical_or": "or", "logical_xor": "xor"}
_OVERLOADS = ("Tensor", "Scalar")


def _register():
    for name, op in _FUNCTIONS.items():
        writes(f"{name}.default")(lambda w, x, op=op: _function(w, op, x))
    for name, op in _OF_NUMBERS.items():
        writes(f"{name}.default")(lambda w, x, op=op: x if x.dtype == torch.bool and op in ("abs", "sign") else w.op(op, x))
    for name in _TO_WHOLE:
        writes(f"{name}.default")(lambda w, x, op=name: w.op(op, x) if x.dtype.is_floating_point else x)
    for name, op in _ARITHMETIC.items():
        writes(f"{name}.default", *(f"{name}.{overload}" for overload in _OVERLOADS))(lambda w, a, b, op=op: w.binary(op, a, b))
    for name in _COMPARISONS:
        writes(*(f"{name}.{overload}" for overload in _OVERLOADS))(lambda w, a, b, op=name: _compared(w, op, a, b))
    for name, op in _BITS.items():
        writes(*(f"{name}.{overload}" for overload in (*_OVERLOADS, "Scalar_Tensor")))(lambda w, a, b, op=op: w.binary(op, a, b))
    for name, op in _LOGIC.items():
        writes(f"{name}.default")(lambda w, a, b, op=op: w.binary(op, a, b, torch.bool) if a.dtype == b.dtype == torch.bool else w.binary(op, _truth(w, a), _truth(w, b)))


def _function(w, op, x):
    """A function of floats. Those of 16 bits are computed in 32."""
    dtype = floating(x)
    wide = torch.float32 if dtype in (torch.float16, torch.bfloat16) else dtype
    return w.convert(w.op(op, w.convert(x, wide)), dtype)


def _truth(w, x):
    return w.convert(x, torch.bool)


def _compared(w, op, a, b):
    dtype = promoted(a, b)
    if dtype == torch.bool and op in ("lt", "le", "gt", "ge"):
        dtype = torch.uint8
    return w.binary(op, a, b, dtype)


@writes("add.Tensor", "add.Scalar")
def add(w, a, b, alpha=1):
    return _weighted(w, "add", a, b, alpha)


@writes("sub.Tensor", "sub.Scalar")
def sub(w, a, b, alpha=1):
    return _weighted(w, "sub", a, b, alpha)


@writes("rsub.Scalar", "rsub.Tensor")
def rsub(w, a, b, alpha=1):
    return _weighted(w, "sub", b, a, alpha)


def _weighted(w, op, a, b, alpha):
    dtype = promoted(a, b)
    return w.binary(op, a, b if alpha == 1 else w.binary("mul", b, alpha, dtype), dtype)


@writes("div.Tensor", "div.Scalar")
def div(w, a, b):
    dtype = promoted(a, b)
    return w.binary("div", a, b, dtype if dtype.is_floating_point else torch.get_default_dtype())


@writes("div.Tensor_mode", "div.Scalar_mode")
def div_rounded(w, a, b, rounding_mode=None):
    if rounding_mode is None:
        return div(w, a, b)
    dtype = promoted(a, b)
    quotient = w.binary("div", a, b)
    if dtype.is_floating_point:
        return w.op(rounding_mode, quotient)
    if rounding_mode == "trunc" or not dtype.is_signed:
        return quotient
    # One less where the signs differ and something is left.
    rest = w.binary("rem", a, b)
    differ = w.binary("ne", w.binary("lt", rest, 0), w.binary("lt", w.value(b, dtype), 0))
    return w.binary("sub", quotient, w.convert(w.binary("and", differ, w.binary("ne", rest, 0)), dtype))


@writes("remainder.Tensor", "remainder.Scalar")
def remainder(w, a, b):
    dtype = promoted(a, b)
    if dtype.is_floating_point:
        return w.binary("sub", a, w.binary("mul", w.op("floor", w.binary("div", a, b)), b))
    rest = w.binary("rem", a, b)
    if not dtype.is_signed:
        return rest
    differ = w.binary("ne", w.binary("lt", rest, 0), w.binary("lt", w.value(b, dtype), 0))
    return w.binary("add", rest, w.where(w.binary("and", differ, w.binary("ne", rest, 0)), b, 0, dtype))


@writes("fmod.Tensor", "fmod.Scalar")
def fmod(w, a, b):
    if promoted(a, b).is_floating_point:
        return w.binary("sub", a, w.binary("mul", w.op("trunc", w.binary("div", a, b)), b))
    return w.binary("rem", a, b)


@writes("pow.Tensor_Scalar", "pow.Tensor_Tensor", "pow.Scalar")
def power(w, a, b):
    dtype = promoted(a, b)
    if isinstance(b, (int, float)) and float(b).is_integer() and 0 <= b <= 8:
        return _whole_power(w, w.value(a, dtype), int(b))
    if not dtype.is_floating_point:
        raise Missing("it is a power of whole numbers that a tensor holds")
    special = {0.5: "sqrt", -0.5: "rsqrt", -1: "reciprocal"}
    if isinstance(b, (int, float)) and b in special:
        return _function(w, special[b], w.value(a, dtype))
    wide = torch.float32 if dtype in (torch.float16, torch.bfloat16) else dtype
    return w.convert(w.binary("pow", a, b, wide), dtype)


def _whole_power(w, x, exponent):
    """Squares, multiplied where the exponent has a bit."""
    result = None
    while exponent:
        if exponent & 1:
            result = x if result is None else w.op("mul", result, x)
        exponent >>= 1
        x = w.op("mul", x, x) if exponent else x
    return w.full(1, x.dtype, x.sizes) if result is None else result


@writes("atan2.default")
def atan2(w, a, b):
    dtype = promoted(a, b)
    return w.binary("atan2", a, b, dtype if dtype.is_floating_point else torch.get_default_dtype())


@writes("log10.default")
def log10(w, x):
    return w.binary("mul", _function(w, "log2", x), 0.30102999566398120)


@writes("asinh.default")
def asinh(w, x):
    size = w.op("abs", w.convert(x, floating(x)))
    square = w.binary("mul", size, size)
    near = _function(w, "log1p", w.binary("add", size, w.binary("div", square, w.binary("add", w.op("sqrt", w.binary("add", square, 1.0)), 1.0))))
    # Where the square is not finite, or nothing but the square counts.
    far = w.binary("add", _function(w, "log", size), 0.6931471805599453)
    return w.binary("mul", w.where(w.binary("gt", size, 200.0 if size.dtype == torch.float16 else 1e9), far, near), w.op("sign", w.convert(x, floating(x))))


@writes("acosh.default")
def acosh(w, x):
    x = w.convert(x, floating(x))
    root = w.binary("mul", w.op("sqrt", w.binary("sub", x, 1.0)), w.op("sqrt", w.binary("add", x, 1.0)))
    return w.where(w.binary("gt", x, 200.0 if x.dtype == torch.float16 else 1e9), w.binary("add", _function(w, "log", x), 0.6931471805599453), _function(w, "log", w.binary("add", x, root)))


@writes("atanh.default")
def atanh(w, x):
    x = w.convert(x, floating(x))
    return w.binary("mul", w.binary("sub", _function(w, "log1p", x), _function(w, "log1p", w.op("neg", x))), 0.5)


@writes("bitwise_not.default")
def bitwise_not(w, x):
    return w.op("not", x)


@writes("logical_not.default")
def logical_not(w, x):
    return w.op("not", _truth(w, x))


@writes("isnan.default")
def is_nan(w, x):
    return w.op("isnan", x) if x.dtype.is_floating_point else w.full(False, torch.bool, x.sizes)


@writes("isinf.default")
def is_infinite(w, x):
    return w.binary("eq", w.op("abs", x), float("inf")) if x.dtype.is_floating_point else w.full(False, torch.bool, x.sizes)


@writes("clamp.default", "clamp.Tensor")
def clamp(w, x, low=None, high=None):
    dtype = promoted(*[given for given in (x, low, high) if given is not None])
    x = w.value(x, dtype)
    x = x if low is None else w.binary("max", x, low, dtype)
    return x if high is None else w.binary("min", x, high, dtype)


@writes("clamp_min.default")
def clamp_min(w, x, low):
    return clamp(w, x, low)


@writes("clamp_max.default")
def clamp_max(w, x, high):
    return clamp(w, x, None, high)


@writes("hardtanh.default")
def hardtanh(w, x, low=-1, high=1):
    return clamp(w, x, low, high)


@writes("where.self")
def where(w, condition, then, otherwise):
    return w.where(condition, then, otherwise)


@writes("prims.fma.default")
def fma(w, a, b, c):
    return w.binary("add", w.binary("mul", a, b), c)


@writes("_to_copy.default")
def to_copy(w, x, *, dtype=None, device=None, **options):
    if device is not None and torch.device(device).type != "girih":
        raise Missing(f"it moves a tensor to {device}")
    return w.convert(x, dtype or x.dtype)


@writes("prims.convert_element_type.default")
def convert_element_type(w, x, dtype):
    return w.convert(x, dtype)


@writes("copy.default")
def copy(w, x, source, non_blocking=False):
    return w.broadcast(w.value(source, x.dtype), x.sizes)


@writes("clone.default", "alias.default", "lift_fresh_copy.default", "detach.default")
def same(w, x, **options):
    if not isinstance(x, Value):
        raise Missing("it is given a number")
    return x


_register()
