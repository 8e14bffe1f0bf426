"""Arithmetic and conversions that round in a direction: to nearest (rn), towards zero (rz), down (rd), up (ru).

A result in `fp32` is computed in `fp64` together with what that leaves out, and rounded from both; so the device must have `fp64`.
A float outside of an integer type's range becomes its nearest limit, and NaN becomes 0.
"""

import triton
import triton.language as tl
from triton.language.extra import libdevice


@triton.jit
def _moved(r, excess, mode: tl.constexpr):
    # The neighbour of a number that was rounded to nearest, where the exact one lies on its other side. `excess` has the sign of
    # the exact number less the rounded one.
    infinity = r * 0.0 + float("inf")
    if mode == "rd":
        return tl.where(excess < 0, libdevice.nextafter(r, -infinity), r)
    if mode == "ru":
        return tl.where(excess > 0, libdevice.nextafter(r, infinity), r)
    if mode == "rz":
        inward = ((r > 0) & (excess < 0)) | ((r < 0) & (excess > 0))
        return tl.where(inward, libdevice.nextafter(r, r * 0.0), r)
    return r


@triton.jit
def _largest(r, exact, mode: tl.constexpr):
    # A finite number that rounds to infinity.
    limit = tl.full(r.shape, 3.4028234663852886e38, tl.float32)
    finite = tl.abs(exact) < float("inf")
    if mode == "rz" or mode == "rd":
        r = tl.where((r == float("inf")) & finite, limit, r)
    if mode == "rz" or mode == "ru":
        r = tl.where((r == -float("inf")) & finite, -limit, r)
    return r


@triton.jit
def _narrowed(high, low, mode: tl.constexpr):
    # high + low as fp32, where high is the nearest fp64 to it.
    r = high.to(tl.float32)
    if mode == "rn":
        return r
    known = r.to(tl.float64)
    excess = high - known
    excess = tl.where(excess == 0, low, excess)
    moved = _moved(tl.where(tl.abs(r) == float("inf"), 0.0, r), excess, mode)
    return tl.where((tl.abs(r) == float("inf")) | (r != r), _largest(r, high, mode), moved)


@triton.jit
def _sum(a, b):
    # The sum of two fp64, and exactly what it leaves out.
    s = a + b
    t = s - a
    return s, (a - (s - t)) + (b - t)


@triton.jit
def _directed_sum(a, b, mode: tl.constexpr):
    s, rest = _sum(a, b)
    if mode == "rd":
        # Downwards, a sum is 0 only if both are; otherwise it is -0.
        negative = (a.to(tl.int64, bitcast=True) < 0) | (b.to(tl.int64, bitcast=True) < 0)
        s = tl.where((s == 0) & negative, -0.0, s)
    return _narrowed(s, rest, mode)


@triton.jit
def plus(x, y, mode: tl.constexpr):
    if mode == "rn":
        return x + y
    return _directed_sum(x.to(tl.float64), y.to(tl.float64), mode)


@triton.jit
def minus(x, y, mode: tl.constexpr):
    return plus(x, -y, mode)


@triton.jit
def times(x, y, mode: tl.constexpr):
    if mode == "rn":
        return x * y
    p = x.to(tl.float64) * y.to(tl.float64)
    return _narrowed(p, p * 0.0, mode)


@triton.jit
def fused(x, y, z, mode: tl.constexpr):
    if mode == "rn":
        return tl.fma(x, y, z)
    return _directed_sum(x.to(tl.float64) * y.to(tl.float64), z.to(tl.float64), mode)


@triton.jit
def over(x, y, mode: tl.constexpr):
    # The quotient in fp64 lies as the exact one does to every fp32, unless that is what it was rounded to.
    a, b = x.to(tl.float64), y.to(tl.float64)
    q = tl.div_rn(a, b)
    rest = tl.fma(-q, b, a)
    return _narrowed(q, tl.where(b < 0, -rest, rest), mode)


@triton.jit
def reciprocal(x, mode: tl.constexpr):
    if mode == "rn":
        return tl.div_rn(1.0, x)
    return over(tl.full(x.shape, 1.0, tl.float32), x, mode)


@triton.jit
def root(x, mode: tl.constexpr):
    a = x.to(tl.float64)
    s = libdevice.sqrt(a)
    return _narrowed(s, tl.fma(-s, s, a), mode)


@triton.jit
def _widened_int(n):
    # An integer as the nearest fp64, and what that leaves out.
    if n.dtype.primitive_bitwidth <= 32:
        return n.to(tl.float64), tl.zeros(n.shape, tl.float64)
    high = (n >> 32).to(tl.float64) * 4294967296.0
    low = (n & 4294967295).to(tl.float64)
    return _sum(high, low)


@triton.jit
def of_int(n, to: tl.constexpr, mode: tl.constexpr):
    if mode == "rn":
        return n.to(to)
    high, low = _widened_int(n)
    if to == tl.float64:
        return _moved(high, low, mode)
    return _narrowed(high, low, mode)


@triton.jit
def to_int(x, to: tl.constexpr, mode: tl.constexpr):
    if mode == "rn":
        whole = libdevice.rint(x)
    elif mode == "rd":
        whole = tl.floor(x)
    elif mode == "ru":
        whole = tl.ceil(x)
    else:
        whole = x
    return whole.to(to)


@triton.jit
def narrow(x, mode: tl.constexpr):
    return _narrowed(x, x * 0.0, mode)


@triton.jit
def rsqrt_rn(x):
    # 1 / sqrt(x) in fp64 is far more exact than fp32 tells, and never a tie of two fp32.
    return tl.div_rn(tl.full(x.shape, 1.0, tl.float64), libdevice.sqrt(x.to(tl.float64))).to(tl.float32)


@triton.jit
def rcp64h(x):
    # The upper half of 1 / x.
    bits = tl.div_rn(tl.full(x.shape, 1.0, tl.float64), x).to(tl.int64, bitcast=True)
    return ((bits >> 32) << 32).to(tl.float64, bitcast=True)
