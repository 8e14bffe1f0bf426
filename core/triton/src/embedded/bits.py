"""Functions of bits: of integers, and of how floats are stored. All are exact."""

import triton
import triton.language as tl


def _integer(ty):
    return tl.core.get_int_dtype(ty.primitive_bitwidth, True)


def _sign(ty):
    return -(2 ** (ty.primitive_bitwidth - 1))


@triton.jit
def _bits(x):
    return x.to(_integer(x.dtype), bitcast=True)


@triton.jit
def view(x, to: tl.constexpr):
    return x.to(to, bitcast=True)


@triton.jit
def byte_perm(x, y, s):
    # Each of four bytes is one of the eight of x and y.
    both = (y.to(tl.uint32).to(tl.uint64) << 32) | x.to(tl.uint32).to(tl.uint64)
    out = tl.zeros_like(both)
    for i in tl.static_range(4):
        at = ((s.to(tl.uint32) >> (4 * i)) & 7).to(tl.uint64)
        out |= ((both >> (at * 8)) & 255) << (8 * i)
    return out.to(tl.int32)


@triton.jit
def mul24(x, y):
    a, b = (x << 8) >> 8, (y << 8) >> 8
    return a * b


@triton.jit
def sad(x, y, z):
    least, most = tl.minimum(x, y), tl.maximum(x, y)
    return ((most - least).to(z.dtype, bitcast=True) + z).to(x.dtype, bitcast=True)


@triton.jit
def hadd(x, y):
    return (x & y) + ((x ^ y) >> 1)


@triton.jit
def rhadd(x, y):
    return (x | y) - ((x ^ y) >> 1)


@triton.jit
def ffs(x):
    low = (x & -x).to(tl.core.get_int_dtype(x.dtype.primitive_bitwidth, False))
    return tl.where(x == 0, 0, x.dtype.primitive_bitwidth - tl.extra.libdevice.clz(low)).to(tl.int32)


@triton.jit
def hiloint2double(hi, lo):
    bits = (hi.to(tl.int64) << 32) | lo.to(tl.uint32).to(tl.int64)
    return bits.to(tl.float64, bitcast=True)


@triton.jit
def double2loint(x):
    return _bits(x).to(tl.int32)


@triton.jit
def double2hiint(x):
    return (_bits(x) >> 32).to(tl.int32)


@triton.jit
def signbit(x):
    return (_bits(x) < 0).to(tl.int32)


@triton.jit
def copysign(x, y):
    sign: tl.constexpr = _sign(x.dtype)
    bits = (_bits(x) & (-1 - sign)) | (_bits(y.to(x.dtype)) & sign)
    return bits.to(x.dtype, bitcast=True)


@triton.jit
def nextafter(x, y):
    # Away from zero the bits count up.
    bits = _bits(x)
    outward = (y > x) == (x > 0)
    moved = tl.where(outward, bits + 1, bits - 1)
    least: tl.constexpr = _sign(x.dtype)
    moved = tl.where(x == 0, tl.where(y > x, 1, least + 1).to(bits.dtype), moved)
    step = moved.to(x.dtype, bitcast=True)
    return tl.where((x != x) | (y != y), float("nan"), tl.where(x == y, y.to(x.dtype), step))


@triton.jit
def ldexp(x, n):
    # The exponent is added as an integer, and the significand moved by integers, so that a denormal result is rounded once.
    tl.static_assert(x.dtype == tl.float32, "`ldexp` is made for `fp32` alone")
    n = tl.minimum(tl.maximum(n.to(tl.int32), -300), 300)
    raw = _bits(x)
    magnitude = raw & 0x7FFFFFFF
    exponent = magnitude >> 23
    tiny = exponent == 0
    lifted = (magnitude.to(tl.float32, bitcast=True) * 16777216.0).to(tl.int32, bitcast=True)
    magnitude = tl.where(tiny, lifted, magnitude)
    exponent = (magnitude >> 23) - tl.where(tiny, 24, 0)
    target = exponent + n
    significand = (magnitude & 0x7FFFFF) | 0x800000
    normal = (tl.minimum(tl.maximum(target, 1), 254) << 23) | (magnitude & 0x7FFFFF)
    shift = tl.minimum(tl.maximum(1 - target, 0), 26)
    floor = significand >> shift
    rest = significand - (floor << shift)
    half = (1 << shift) >> 1
    rounds = (rest > half) | ((rest == half) & (shift > 0) & ((floor & 1) == 1))
    small = floor + rounds.to(tl.int32)
    bits = tl.where(target >= 255, 0x7F800000, tl.where(target >= 1, normal, small))
    keeps = ((raw & 0x7FFFFFFF) >= 0x7F800000) | ((raw & 0x7FFFFFFF) == 0)
    bits = tl.where(keeps, raw, bits | (raw & -2147483648))
    return bits.to(tl.float32, bitcast=True)


@triton.jit
def ilogb(x):
    bits = _bits(x) & 0x7FFFFFFF
    exponent = bits >> 23
    low = 31 - tl.extra.libdevice.clz(bits) - 149
    n = tl.where(exponent == 0, low, exponent - 127)
    n = tl.where((bits == 0) | (bits > 0x7F800000), -2147483648, n)
    return tl.where(bits == 0x7F800000, 2147483647, n)


@triton.jit
def logb(x):
    n = ilogb(x).to(tl.float32)
    n = tl.where(x == 0, -float("inf"), n)
    return tl.where(tl.abs(x) == float("inf"), float("inf"), tl.where(x != x, x, n))
