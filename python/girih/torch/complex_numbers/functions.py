"""Functions of a complex variable.

Square roots and inverse functions are those of Kahan, "Branch cuts for complex elementary functions" (1987), the others those of the NIST Digital Library of Mathematical Functions (DLMF).
Invariant: the branch is the one that C's functions of the same name take.
"""

import math

import torch

from girih.torch.complex_numbers.parts import Pair, choose


def absolute(z):
    """The distance from zero."""
    return torch.hypot(z.re, z.im)


def angle(z):
    """The argument, from -pi to pi."""
    return torch.atan2(z.im, z.re)


def sign(z):
    """The number of the same argument whose distance from zero is 1; zero of zero."""
    size = absolute(z)
    is_zero = size == 0
    return Pair(torch.where(is_zero, 0.0, z.re / size), torch.where(is_zero, 0.0, z.im / size))


def exp(z):
    """DLMF 4.14."""
    size = torch.exp(z.re)
    # An infinite size does not make a real number complex.
    return Pair(torch.where(size == 0, 0.0, size * torch.cos(z.im)), torch.where((z.im == 0) | (size == 0), z.im * 0, size * torch.sin(z.im)))


def exp2(z):
    """Two to the power."""
    return exp(z.scaled(math.log(2)))


def expm1(z):
    """exp(z) - 1 without loss of digits near zero."""
    half = torch.sin(z.im / 2)
    return Pair(torch.expm1(z.re) * torch.cos(z.im) - 2 * half * half, torch.exp(z.re) * torch.sin(z.im))


def log(z):
    """The principal logarithm: DLMF 4.2.3."""
    return Pair(torch.log(absolute(z)), angle(z))


def log2(z):
    """The logarithm to the base 2."""
    return log(z).scaled(1 / math.log(2))


def log10(z):
    """The logarithm to the base 10."""
    return log(z).scaled(1 / math.log(10))


def log1p(z):
    """log(1 + z) without loss of digits near zero."""
    near = 0.5 * torch.log1p(z.re * (2 + z.re) + z.im * z.im)
    far = torch.log(torch.hypot(1 + z.re, z.im))
    return Pair(torch.where(absolute(z) < 0.5, near, far), torch.atan2(z.im, 1 + z.re))


def sqrt(z):
    """The square root whose real part is not negative."""
    size = absolute(z)
    # The larger of both parts first, without cancellation; the other one is what the product asks for.
    large = torch.sqrt(0.5 * z.re.abs() + 0.5 * size)
    small = torch.where(large == 0, z.im * 0, z.im.abs() / (2 * large))
    is_left = z.re < 0
    return Pair(torch.where(is_left, small, large), torch.copysign(torch.where(is_left, large, small), z.im))


def reciprocal(z):
    """One by the number."""
    return Pair(torch.ones_like(z.re), torch.zeros_like(z.im)) / z


def rsqrt(z):
    """One by the square root."""
    return reciprocal(sqrt(z))


def sigmoid(z):
    """1 / (1 + exp(-z))."""
    below = exp(-z)
    return reciprocal(Pair(1 + below.re, below.im))


def power(z, exponent):
    """exp(exponent log z); 0 to the power of 0 is 1."""
    one, zero = Pair(torch.ones_like(z.re), torch.zeros_like(z.re)), Pair(torch.zeros_like(z.re), torch.zeros_like(z.re))
    of_zero = choose((exponent.re == 0) & (exponent.im == 0), one, zero)
    made = exp(exponent * log(z))
    return choose(((z.re == 0) & (z.im == 0)).expand(made.re.shape), of_zero, made)


def power_of_number(z, exponent):
    """The power by a real number that is known: small whole ones are products, and a half is a root."""
    if exponent == 0.5:
        return sqrt(z)
    if exponent == -0.5:
        return rsqrt(z)
    if exponent != int(exponent) or abs(exponent) > 64:
        return None
    made, square, left = Pair(torch.ones_like(z.re), torch.zeros_like(z.re)), z, abs(int(exponent))
    while left:
        made = made * square if left & 1 else made
        square, left = square * square if left > 1 else square, left >> 1
    return reciprocal(made) if exponent < 0 else made


def sinh(z):
    """DLMF 4.35.15."""
    return Pair(torch.sinh(z.re) * torch.cos(z.im), torch.cosh(z.re) * torch.sin(z.im))


def cosh(z):
    """DLMF 4.35.16."""
    return Pair(torch.cosh(z.re) * torch.cos(z.im), torch.sinh(z.re) * torch.sin(z.im))


def tanh(z):
    """By Kahan's formula; it is plus or minus one where the real part is large."""
    tangent, near = torch.tan(z.im), torch.clamp(z.re, -20.0, 20.0)
    s = torch.sinh(near)
    beta = 1 + tangent * tangent
    below = 1 + beta * s * s
    is_far = z.re.abs() > 20
    return Pair(torch.where(is_far, torch.sign(z.re), beta * torch.sqrt(1 + s * s) * s / below), torch.where(is_far, z.im * 0, tangent / below))


def _turned(function):
    """The function f(z) = -i g(i z)."""

    def made(z):
        value = function(z.times_i())
        return Pair(value.im, -value.re)

    return made


sin, tan = _turned(sinh), _turned(tanh)


def cos(z):
    """cosh(i z)."""
    return cosh(z.times_i())


def _roots(z):
    """The square roots of 1 - z and of 1 + z."""
    return sqrt(Pair(1 - z.re, -z.im)), sqrt(Pair(1 + z.re, z.im))


def asin(z):
    """The inverse sine."""
    below, above = _roots(z)
    return Pair(torch.atan2(z.re, (below * above).re), torch.asinh((below.conjugate() * above).im))


def acos(z):
    """The inverse cosine."""
    below, above = _roots(z)
    return Pair(2 * torch.atan2(below.re, above.re), torch.asinh((above.conjugate() * below).im))


def acosh(z):
    """The inverse hyperbolic cosine."""
    below, above = sqrt(Pair(z.re - 1, z.im)), sqrt(Pair(z.re + 1, z.im))
    return Pair(torch.asinh((below.conjugate() * above).re), 2 * torch.atan2(below.im, above.re))


def atanh(z):
    """The inverse hyperbolic tangent: the logarithm of (1 + z) / (1 - z), halved."""
    across = z.im * z.im
    re = 0.25 * torch.log1p(4 * z.re / ((1 - z.re) * (1 - z.re) + across))
    return Pair(re, 0.5 * torch.atan2(2 * z.im, (1 - z.re) * (1 + z.re) - across))


asinh, atan = _turned(asin), _turned(atanh)

OF_ONE = {
    "acos": acos, "acosh": acosh, "asin": asin, "asinh": asinh, "atan": atan, "atanh": atanh, "conj_physical": Pair.conjugate, "_conj": Pair.conjugate,
    "_conj_physical": Pair.conjugate, "cos": cos, "cosh": cosh, "exp": exp, "exp2": exp2, "expm1": expm1, "log": log, "log10": log10, "log1p": log1p, "log2": log2,
    "neg": Pair.__neg__, "_neg_view": Pair.__neg__, "reciprocal": reciprocal, "rsqrt": rsqrt, "sgn": sign, "sigmoid": sigmoid, "sin": sin, "sinh": sinh, "sqrt": sqrt, "square": lambda z: z * z,
    "tan": tan, "tanh": tanh, "positive": lambda z: z,
}
# Those whose result is real, or says yes or no.
REAL_OF_ONE = {
    "abs": absolute,
    "angle": angle,
    "isfinite": lambda z: torch.isfinite(z.re) & torch.isfinite(z.im),
    "isinf": lambda z: torch.isinf(z.re) | torch.isinf(z.im),
    "isnan": lambda z: torch.isnan(z.re) | torch.isnan(z.im),
    "logical_not": lambda z: (z.re == 0) & (z.im == 0),
}
