"""Functions of probability, the gamma function, and Bessel functions, of `fp32`.

Sums of Chebyshev polynomials stand for them, whose coefficients were computed with 40 digits. Bounds, in units in the last place unless said otherwise:

erfc, erfcx, normcdf 8; erfinv, erfcinv, normcdfinv 8; tgamma 20; lgamma 1e-6 absolutely or relatively, whichever is more;
cyl_bessel_i0 and i1 12; j0, j1, y0 and y1 2e-6 absolutely, or relatively where they are large; jn and yn 1e-5 in the same way, for orders up to 100.
Results below 1.2e-38 may be 0.
"""

import triton
import triton.language as tl
from triton.language.extra import libdevice

_ERFCX = (
    1.177483201, -0.00726079662, -0.08126512324, 0.06009212804, -0.02875393558, 0.01059566336,
    -0.003136927295, 0.0007456494373, -0.0001369696503, 1.71838616e-5, -7.158364623e-7, -2.426139944e-7,
    5.57657094e-8,
)
_ERFINV = (
    1.49129894, 0.6017563034, -0.0091705595, -0.004962635327, 0.00091537967, -3.889562757e-6,
    -2.42025994e-5, 3.266571593e-6, 2.77588898e-7, -1.302336301e-7,
)
_ERFCINV = (
    0.956955287, -0.03186996431, 0.001341487643, 0.0006604715787, -0.0001094840423, 5.868820661e-6,
    -2.495769314e-6, 4.648015628e-7, 3.762759431e-8, 4.03734599e-8, -1.670830111e-8,
)
_LGAMMA1 = (
    -0.6330114263, 0.4405675575, -0.05785740945, 0.01051397369, -0.002163989092, 0.0004744402339,
    -0.0001079964453, 2.52011553e-5, -5.986014498e-6, 1.441061618e-6, -3.506069058e-7, 8.603823017e-8,
    -2.126510912e-8,
)
_LGAMMA2 = (
    0.4836276366, 0.2240835134, -0.01606161136, 0.001679635101, -0.0002062070826, 2.761948259e-5,
    -3.902432064e-6, 5.712600239e-7, -8.572324416e-8, 1.309870618e-8,
)
_LGAMMA5 = (
    3.405107897, 2.960896368, 0.2290304078, -0.01755988065, 0.00201744743, -0.0002773926795,
    4.223813284e-5, -6.866588165e-6, 1.167919e-6, -2.052802137e-7, 3.698516422e-8,
)
_GAMMA = (
    0.9417855978, 0.004415381325, 0.05685043682, -0.004219835396, 0.001326808181, -0.000189302453,
    3.606925327e-5, -6.056761904e-6, 1.055829546e-6, -1.811967366e-7, 3.117724965e-8,
)
_J0 = (
    0.1577279715, -0.008723442353, 0.2651786132, -0.3700949939, 0.1580671023, -0.03489376941,
    0.004819180069, -0.0004606261662, 3.246032882e-5, -1.761946908e-6, 7.608163592e-8,
)
_J1 = (
    0.08104484633, -0.1489751451, 0.1609992624, -0.08268049177, 0.02221363965, -0.003646940601,
    0.0004050337728, -3.255554867e-5, 1.985877405e-6, -9.521984757e-8, 3.687133759e-9,
)
_Y0 = (
    -0.0331461132, -0.2744743055, 0.1790343141, 0.2615673463, -0.1773020128, 0.0471966896,
    -0.00728796248, 0.0007531135933, -5.632079141e-5, 3.206532538e-6, -1.440723327e-7,
)
_Y1 = (
    0.002538013236, -0.01608717305, -0.09591204536, 0.0844519726, -0.02832812394, 0.005289897544,
    -0.0006414551451, 5.505982873e-5, -3.538080019e-6, 1.770780456e-7, -7.11055005e-9,
)
_P0 = (
    0.9994603493, -0.0005365220468, 3.075184788e-6, -5.170594538e-8,
)
_Q0 = (
    -0.1244468368, 0.0005470815954, -5.931598729e-6, 1.43779658e-7, -5.817532768e-9,
)
_P1 = (
    1.000903041, 0.0008989898331, -3.9872843e-6, 6.177633961e-8,
)
_Q1 = (
    0.3742222966, -0.0007702178839, 7.310892206e-6, -1.676782511e-7, 6.583354684e-9,
)
_I0A = (
    0.3383976372, -0.3046826723, 0.1716209015, -0.09490109705, 0.04930528424, -0.02373741481,
    0.01054646039, -0.004324309995, 0.001639475617, -0.0005763755745, 0.0001885028851, -5.75419501e-5,
    1.644844807e-5, -4.416738358e-6, 1.117387539e-6, -2.670793854e-7, 6.046995023e-8, -1.30002501e-8,
    2.659823725e-9,
)
_I0B = (
    0.4022452055, 0.003369116478, 6.889758346e-5, 2.891370532e-6, 2.048918501e-7, 2.266669602e-8,
)
_I1A = (
    0.1262935932, -0.1764165184, 0.1026436587, -0.05294598121, 0.02472644903, -0.01056408489,
    0.004156422944, -0.001513572451, 0.0005122859562, -0.0001617608158, 4.781565108e-5, -1.327316366e-5,
    3.470251308e-6, -8.568720265e-7, 2.003294754e-7, -4.445059129e-8, 9.381537386e-9, -1.887249752e-9,
)
_I1B = (
    0.3892881175, -0.009761097491, -0.0001105889387, -3.882564823e-6, -2.512236124e-7, -2.631469633e-8,
)


@triton.jit
def _series(t, coefficients: tl.constexpr):
    # Clenshaw's sum of c[i] T_i(t), for t from -1 to 1.
    one = t * 0.0
    two = t * 0.0
    for i in tl.static_range(len(coefficients) - 1, 0, -1):
        next_one = tl.fma(2.0 * t, one, coefficients[i] - two)
        two = one
        one = next_one
    return tl.fma(t, one, coefficients[0] - two)


@triton.jit
def _tail(square, lost):
    # e^-(square + lost), where the second part is what the first one was rounded by.
    e = libdevice.exp(-square)
    return e - e * lost


@triton.jit
def _scaled_complement(a):
    # e^(a*a) erfc(a) for a >= 0.
    t = tl.where(a > 1e30, 1.0, tl.div_rn(a - 4.0, a + 4.0))
    return tl.div_rn(_series(t, _ERFCX), tl.fma(2.0, a, 1.0))


@triton.jit
def erfc(x):
    a = tl.abs(x)
    square = a * a
    far = _tail(square, tl.fma(a, a, -square)) * _scaled_complement(a)
    far = tl.where(a > 11.0, 0.0, far)
    return tl.where(x < 0, 2.0 - far, far) + 0.0 * tl.where(x != x, x, 0.0)


@triton.jit
def erfcx(x):
    a = tl.abs(x)
    positive = tl.where(a > 1e30, 0.5641895835477563 / a, _scaled_complement(a))
    square = a * a
    e = libdevice.exp(square)
    grown = tl.fma(e, tl.fma(a, a, -square), e)
    negative = tl.where(a > 9.385, float("inf"), 2.0 * grown - positive)
    return tl.where(x < 0, negative, positive)


@triton.jit
def normcdf(x):
    a = tl.abs(x)
    square = a * a
    lost = tl.fma(a, a, -square)
    half = _tail(0.5 * square, 0.5 * lost) * _scaled_complement(a * 0.7071067811865476) * 0.5
    half = tl.where(a > 14.5, 0.0, half)
    return tl.where(x > 0, 1.0 - half, half) + 0.0 * tl.where(x != x, x, 0.0)


@triton.jit
def _inverse(w, near, sign):
    # The inverse of the error function of `near`, where w = -log(1 - near^2).
    middle = near * _series(w * 0.4 - 1.0, _ERFINV)
    u = libdevice.sqrt(tl.maximum(w, 5.0))
    t = tl.div_rn(1.0, u)
    far = u * _series((t - 0.09805806756909202) * 5.728106359513252 - 1.0, _ERFCINV)
    return tl.where(w < 5.0, middle, sign * far)


@triton.jit
def erfinv(x):
    w = -libdevice.log(tl.fma(-x, x, 1.0))
    y = _inverse(w, x, tl.where(x < 0, -1.0, 1.0))
    a = tl.abs(x)
    y = tl.where(a == 1.0, x * float("inf"), y)
    return tl.where(a > 1.0, float("nan"), y)


@triton.jit
def erfcinv(x):
    # 1 - x is exact where it matters: from a half to two.
    w = -libdevice.log(x * (2.0 - x))
    y = _inverse(w, 1.0 - x, tl.where(x > 1.0, -1.0, 1.0))
    y = tl.where(x == 0.0, float("inf"), tl.where(x == 2.0, -float("inf"), y))
    return tl.where((x < 0.0) | (x > 2.0), float("nan"), y)


@triton.jit
def normcdfinv(x):
    return -1.4142135623730951 * erfcinv(2.0 * x)


@triton.jit
def _stirling(a):
    # log Gamma(a), for a >= 7.
    z = tl.div_rn(1.0, a)
    square = z * z
    rest = z * tl.fma(square, tl.fma(square, 7.936507936507937e-04, -2.777777777777778e-03), 8.333333333333333e-02)
    return tl.fma(a - 0.5, libdevice.log(a) - 1.0, rest + 0.4189385332046727)


@triton.jit
def _log_gamma(a):
    # For a > 0.
    low = a * _series(tl.minimum(2.0 * a, 1.0), _LGAMMA1) - libdevice.log(a)
    s = a - 1.0
    one = s * _series(tl.minimum(tl.maximum(2.0 * s, -1.0), 1.0), _LGAMMA1)
    s = a - 2.0
    two = s * _series(tl.minimum(tl.maximum((s - 0.25) * 1.3333333333333333, -1.0), 1.0), _LGAMMA2)
    five = _series(tl.minimum(tl.maximum((a - 5.0) * 0.5, -1.0), 1.0), _LGAMMA5)
    y = tl.where(a < 0.5, low, tl.where(a < 1.5, one, tl.where(a < 3.0, two, tl.where(a < 7.0, five, _stirling(a)))))
    return tl.where(a == float("inf"), a, y)


@triton.jit
def lgamma(x):
    a = tl.abs(x)
    positive = _log_gamma(a)
    sine = tl.abs(a * libdevice.sinpi(a))
    mirrored = 1.1447298858494002 - libdevice.log(sine) - positive
    tiny = -libdevice.log(a)
    y = tl.where(x > 0, positive, tl.where(a < 1e-8, tiny, mirrored))
    pole = (x <= 0) & (tl.floor(x) == x)
    return tl.where(x != x, x, tl.where(pole | (a == float("inf")), float("inf"), y))


@triton.jit
def _gamma(a):
    # For a from 1 to 36: the product of what lies above 2, and the function between 1 and 2.
    product = a * 0.0 + 1.0
    rest = a
    for _ in range(35):
        above = rest >= 2.0
        rest = tl.where(above, rest - 1.0, rest)
        product = tl.where(above, product * rest, product)
    return product * _series(2.0 * rest - 3.0, _GAMMA)


@triton.jit
def tgamma(x):
    a = tl.abs(x)
    grown = _gamma(tl.minimum(tl.where(a < 1.0, a + 1.0, a), 36.0))
    positive = tl.where(a < 1.0, tl.div_rn(grown, a), grown)
    positive = tl.where(a > 35.05, float("inf"), positive)
    # Gamma(-a) = -pi / (a sin(pi a) Gamma(a)).
    mirrored = tl.div_rn(-3.141592653589793, libdevice.sinpi(a)) / (a * positive)
    mirrored = tl.where(a < 1e-30, tl.div_rn(1.0, x), tl.where(a > 42.0, 0.0, mirrored))
    y = tl.where(x > 0, positive, mirrored)
    y = tl.where(x == 0, tl.div_rn(1.0, x), y)
    pole = (x < 0) & (tl.floor(x) == x)
    return tl.where(x != x, x, tl.where(pole | (x == -float("inf")), float("nan"), y))


@triton.jit
def _far(a, first: tl.constexpr, second: tl.constexpr, order: tl.constexpr):
    # Hankel's expansion for a > 8: both functions of an order, without the amplitude's rounding in the angle.
    z = tl.div_rn(1.0, a)
    t = 128.0 * z * z - 1.0
    p = _series(t, first)
    q = z * _series(t, second)
    s, c = libdevice.sin(a), libdevice.cos(a)
    # The angle is a - pi/4, less another quarter turn for the first order.
    cosine, sine = (c + s), (s - c)
    if order == 1:
        cosine, sine = sine, -cosine
    scale = 0.5641895835477563 * libdevice.rsqrt(a)
    return scale * (p * cosine - q * sine), scale * (p * sine + q * cosine)


@triton.jit
def _near(a):
    return tl.minimum(a * a * 0.03125 - 1.0, 1.0)


@triton.jit
def j0(x):
    a = tl.abs(x)
    far, _ = _far(tl.maximum(a, 8.0), _P0, _Q0, 0)
    y = tl.where(a < 8.0, _series(_near(a), _J0), far)
    return tl.where(a == float("inf"), 0.0, tl.where(x != x, x, y))


@triton.jit
def j1(x):
    a = tl.abs(x)
    far, _ = _far(tl.maximum(a, 8.0), _P1, _Q1, 1)
    y = tl.where(a < 8.0, a * _series(_near(a), _J1), far)
    y = tl.where(a == float("inf"), 0.0, tl.where(x != x, a, y))
    return tl.where(x < 0, -y, y)


@triton.jit
def _second_kind(x, near, far):
    y = tl.where(x < 8.0, near, far)
    y = tl.where(x == float("inf"), 0.0, tl.where(x == 0, -float("inf"), y))
    return tl.where((x < 0) | (x != x), float("nan"), y)


@triton.jit
def y0(x):
    _, far = _far(tl.maximum(x, 8.0), _P0, _Q0, 0)
    near = tl.fma(0.6366197723675814 * libdevice.log(x), _series(_near(x), _J0), _series(_near(x), _Y0))
    return _second_kind(x, near, far)


@triton.jit
def y1(x):
    _, far = _far(tl.maximum(x, 8.0), _P1, _Q1, 1)
    j = x * _series(_near(x), _J1)
    near = 0.6366197723675814 * (libdevice.log(x) * j - tl.div_rn(1.0, x)) + x * _series(_near(x), _Y1)
    return _second_kind(x, near, far)


@triton.jit
def _highest(n):
    if len(n.shape) == 0:
        return n
    return tl.max(n)


@triton.jit
def jn(n, x):
    tl.static_assert(x.dtype != tl.float64, "no device has `jn` for `fp64`: it is computed in `fp32`")
    n = tl.zeros_like(x).to(tl.int32) + n
    a = tl.abs(x.to(tl.float32))
    top = _highest(n)
    # Upwards where the order is less than the argument, and downwards elsewhere, from where the functions are as good as 0.
    before, now = j0(a), j1(a)
    up = tl.where(n == 0, before, now)
    for k in range(1, top):
        after = tl.div_rn(2.0 * k, a) * now - before
        before = now
        now = after
        up = tl.where(n == k + 1, now, up)
    start = top + 40 + top // 2
    low, high = a * 0.0 + 1e-30, a * 0.0
    down, total = a * 0.0, a * 0.0
    for i in range(0, start):
        k = start - i
        down = tl.where(n == k, low, down)
        total += tl.where(k % 2 == 0, 2.0 * low, 0.0)
        after = tl.div_rn(2.0 * k, a) * low - high
        large = tl.abs(after) > 1e15
        high = tl.where(large, low * 1e-20, low)
        down = tl.where(large, down * 1e-20, down)
        total = tl.where(large, total * 1e-20, total)
        low = tl.where(large, after * 1e-20, after)
    down = tl.div_rn(down, total + low)
    y = tl.where(n.to(tl.float32) < a, up, down)
    y = tl.where(n == 0, j0(a), tl.where(n == 1, j1(a), y))
    y = tl.where(a == 0, tl.where(n == 0, 1.0, 0.0), y)
    # The recurrence would leave the range of fp32; the function is less than 1e-30 there.
    y = tl.where((n > 1) & (a < 1e-15), 0.0, y)
    y = tl.where((x < 0) & (n % 2 == 1), -y, y)
    return tl.where(n < 0, float("nan"), y)


@triton.jit
def yn(n, x):
    tl.static_assert(x.dtype != tl.float64, "no device has `yn` for `fp64`: it is computed in `fp32`")
    n = tl.zeros_like(x).to(tl.int32) + n
    a = x.to(tl.float32)
    before, now = y0(a), y1(a)
    y = tl.where(n == 0, before, now)
    for k in range(1, _highest(n)):
        after = tl.div_rn(2.0 * k, a) * now - before
        after = tl.where(now == -float("inf"), now, after)
        before = now
        now = after
        y = tl.where(n == k + 1, now, y)
    return tl.where(n < 0, float("nan"), y)


@triton.jit
def _modified(a, near: tl.constexpr, far: tl.constexpr):
    # e^-a of the function, over a root of a beyond 8. The exponential is taken in two halves, which overflow later than the whole.
    small = _series(tl.minimum(a * 0.25 - 1.0, 1.0), near)
    z = tl.div_rn(1.0, tl.maximum(a, 8.0))
    large = _series(16.0 * z - 1.0, far) * libdevice.sqrt(z)
    half = libdevice.exp(0.5 * a)
    return tl.where(a == float("inf"), a, (tl.where(a < 8.0, small, large) * half) * half)


@triton.jit
def cyl_bessel_i0(x):
    return _modified(tl.abs(x), _I0A, _I0B)


@triton.jit
def cyl_bessel_i1(x):
    a = tl.abs(x)
    y = _modified(a, _I1A, _I1B)
    y = tl.where(a < 8.0, a * y, y)
    return tl.where(x < 0, -y, y)
