"""Functions of `fp32` that are made of others.

Bounds, in units in the last place of the result: sinpi, cospi 2; exp10, acosh, asinh, atanh, cbrt, rcbrt 4; hypot and norms 3 and their
reciprocals 4. `fast_exp10f` is as exact as the fast exponential of the device; the rest are exact.
"""

import triton
import triton.language as tl
from triton.language.extra import libdevice


@triton.jit
def exp10(x):
    # 10^x = 2^n * e^r, where r is what n times log10(2) leaves of x, in two parts.
    n = libdevice.rint(x * 3.321928094887362)
    r = tl.fma(n, -0.30102920532226562, x)
    r = tl.fma(n, -7.9034151668e-07, r)
    scaled = libdevice.exp(r * 2.302585092994046)
    half = (n * 0.5).to(tl.int32)
    power = _power_of_two(half) * scaled * _power_of_two(n.to(tl.int32) - half)
    return tl.where(x > 38.6, float("inf"), tl.where(x < -45.2, 0.0, tl.where(x == x, power, x)))


@triton.jit
def _power_of_two(n):
    return ((tl.minimum(tl.maximum(n, -126), 127) + 127) << 23).to(tl.float32, bitcast=True)


@triton.jit
def _reduced(x):
    # x in half turns, as an even number and a rest of -1 to 1. Both are exact.
    return x - 2.0 * libdevice.rint(x * 0.5)


@triton.jit
def sinpi(x):
    r = _reduced(x)
    # sin(pi r) = sin(pi (1 - r)), so that what is rounded is small where the sine is.
    a = tl.abs(r)
    a = tl.where(a > 0.5, 1.0 - a, a)
    s = tl.where(a > 0.25, libdevice.cos((0.5 - a) * 3.141592653589793), libdevice.sin(a * 3.141592653589793))
    s = tl.where(r < 0, -s, s)
    return tl.where(tl.abs(x) == float("inf"), float("nan"), tl.where(x == 0, x, s))


@triton.jit
def cospi(x):
    a = tl.abs(_reduced(x))
    b = tl.where(a > 0.5, 1.0 - a, a)
    c = tl.where(b > 0.25, libdevice.sin((0.5 - b) * 3.141592653589793), libdevice.cos(b * 3.141592653589793))
    return tl.where(tl.abs(x) == float("inf"), float("nan"), tl.where(a > 0.5, -c, c))


@triton.jit
def asinh(x):
    a = tl.abs(x)
    near = a + a * a / (1.0 + libdevice.sqrt(tl.fma(a, a, 1.0)))
    far = libdevice.log(a) + 0.6931471805599453
    y = tl.where(a > 1e9, far, libdevice.log1p(near))
    y = tl.where(x < 0, -y, y)
    return tl.where(x == 0, x, y)


@triton.jit
def acosh(x):
    t = x - 1.0
    near = libdevice.log1p(t + libdevice.sqrt(tl.fma(t, t, 2.0 * t)))
    far = libdevice.log(x) + 0.6931471805599453
    return tl.where(x > 1e9, far, tl.where(x < 1.0, float("nan"), near))


@triton.jit
def atanh(x):
    a = tl.abs(x)
    y = 0.5 * libdevice.log1p(tl.div_rn(2.0 * a, 1.0 - a))
    y = tl.where(a == 1.0, float("inf"), y)
    return tl.where(x == 0, x, tl.where(x < 0, -y, y))


@triton.jit
def _scale(a):
    # A power of two that brings the greatest magnitude near 1, and its reciprocal.
    exponent = (a.to(tl.int32, bitcast=True) >> 23) & 255
    exponent = tl.minimum(tl.maximum(exponent, 2), 252)
    down = ((254 - exponent) << 23).to(tl.float32, bitcast=True)
    return down, (exponent << 23).to(tl.float32, bitcast=True)


@triton.jit
def _norm(a, b, c, d):
    a, b, c, d = tl.abs(a), tl.abs(b), tl.abs(c), tl.abs(d)
    most = tl.maximum(tl.maximum(a, b), tl.maximum(c, d))
    down, up = _scale(most)
    a, b, c, d = a * down, b * down, c * down, d * down
    root = libdevice.sqrt(tl.fma(a, a, tl.fma(b, b, tl.fma(c, c, d * d))))
    return most, root, down, up


@triton.jit
def _length(a, b, c, d):
    most, root, down, up = _norm(a, b, c, d)
    # Not a number counts only beside numbers: an infinite side makes the length infinite.
    return tl.where(most == float("inf"), most, root * up)


@triton.jit
def _reciprocal_length(a, b, c, d):
    most, root, down, up = _norm(a, b, c, d)
    return tl.where(most == float("inf"), 0.0, tl.div_rn(down, root))


@triton.jit
def hypot(x, y):
    return _length(x, y, tl.zeros_like(x), tl.zeros_like(x))


@triton.jit
def rhypot(x, y):
    return _reciprocal_length(x, y, tl.zeros_like(x), tl.zeros_like(x))


@triton.jit
def norm3d(x, y, z):
    return _length(x, y, z, tl.zeros_like(x))


@triton.jit
def rnorm3d(x, y, z):
    return _reciprocal_length(x, y, z, tl.zeros_like(x))


@triton.jit
def norm4d(x, y, z, w):
    return _length(x, y, z, w)


@triton.jit
def rnorm4d(x, y, z, w):
    return _reciprocal_length(x, y, z, w)


@triton.jit
def cbrt(x):
    a = tl.abs(x)
    small = a < 1.1754943508222875e-38
    large = a > 1e37
    b = tl.where(small, a * 16777216.0, tl.where(large, a * 5.960464477539063e-08, a))
    # A third of the exponent is a guess of 5 bits; each step of Halley's triples them.
    guess = ((b.to(tl.int32, bitcast=True) // 3) + 709921077).to(tl.float32, bitcast=True)
    for _ in tl.static_range(2):
        cube = guess * guess * guess
        guess = guess * tl.div_rn(cube + 2.0 * b, 2.0 * cube + b)
    root = tl.where(small, guess * 0.00390625, tl.where(large, guess * 256.0, guess))
    root = tl.where(x < 0, -root, root)
    return tl.where((x == 0) | (a == float("inf")) | (x != x), x, root)


@triton.jit
def rcbrt(x):
    return tl.div_rn(1.0, cbrt(x))


@triton.jit
def fdim(x, y):
    return tl.where(x > y, x - y, tl.where((x != x) | (y != y), float("nan"), 0.0))


@triton.jit
def saturatef(x):
    return tl.minimum(tl.maximum(x, 0.0), 1.0)


@triton.jit
def fast_exp10f(x):
    return libdevice.fast_expf(x * 2.302585092994046)


@triton.jit
def round(x):
    # Half away from zero. Adding a half would round what lies just below one.
    whole = libdevice.trunc(x)
    away = tl.where(x < 0, whole - 1.0, whole + 1.0)
    return tl.where(tl.abs(x - whole) >= 0.5, away, whole)


@triton.jit
def _modulo(x, y, doubled: tl.constexpr):
    # |x| modulo |y|, or modulo twice that, exactly: significands are divided like numbers on paper, 40 bits at a time.
    a, b = tl.abs(x).to(tl.uint32, bitcast=True), tl.abs(y).to(tl.uint32, bitcast=True)
    ea, eb = (a >> 23).to(tl.int32), (b >> 23).to(tl.int32)
    ma = tl.where(ea > 0, (a & 0x7FFFFF) | 0x800000, a & 0x7FFFFF).to(tl.uint64)
    mb = tl.where(eb > 0, (b & 0x7FFFFF) | 0x800000, b & 0x7FFFFF).to(tl.uint64)
    ea, eb = tl.maximum(ea, 1), tl.maximum(eb, 1)
    if doubled:
        mb = mb * 2
    left = ea - eb
    is_less = left < 0
    mb = tl.where(mb == 0, 1, mb)
    rest = ma % mb
    left = tl.maximum(left, 0)
    for _ in tl.static_range(7):
        step = tl.minimum(left, 39)
        rest = (rest << step.to(tl.uint64)) % mb
        left -= step
    down = tl.maximum(eb - 150, -126)
    exact = rest.to(tl.int32).to(tl.float32) * _power_of_two(down) * _power_of_two(eb - 150 - down)
    return tl.where(is_less, tl.abs(x), exact)


@triton.jit
def _has_no_remainder(x, y):
    return (y == 0) | (tl.abs(x) == float("inf")) | (x != x) | (y != y)


@triton.jit
def fmod(x, y):
    r = _modulo(x, y, False)
    r = tl.where(tl.abs(y) == float("inf"), tl.abs(x), r)
    r = tl.where(x.to(tl.int32, bitcast=True) < 0, -r, r)
    return tl.where(_has_no_remainder(x, y), float("nan"), r)


@triton.jit
def remainder(x, y):
    # Of what is left of twice |y|, at most twice |y| is taken off, so that a tie leaves an even quotient.
    b = tl.abs(y)
    r = _modulo(x, y, True)
    over = r + r > b
    r = tl.where(over, r - b, r)
    r = tl.where(over & (r + r >= b), r - b, r)
    r = tl.where(b == float("inf"), tl.abs(x), r)
    r = tl.where(x.to(tl.int32, bitcast=True) < 0, -r, r)
    return tl.where(_has_no_remainder(x, y), float("nan"), r)


@triton.jit
def llround(x):
    return round(x).to(tl.int64)


@triton.jit
def llrint(x):
    return libdevice.rint(x).to(tl.int64)
