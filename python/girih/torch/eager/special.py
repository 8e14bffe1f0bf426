"""Special functions that no device has an instruction for, by series and integrals that converge quickly.

The formulas are those of the NIST Digital Library of Mathematical Functions (DLMF). Invariant: types of 16 bits are computed in `float32`, and rounded once.
"""

import functools
import math

import torch

_aten = torch.ops.aten
# Bernoulli's numbers B(2), B(4), ...
_BERNOULLI = (1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730)
_EULER = 0.5772156649015329


def _in_floats(function):
    """A function of floats that are wide enough, for arguments of any type. The type of what there is besides numbers decides the result's."""

    @functools.wraps(function)
    def widened(*values):
        kinds = [value for value in values if isinstance(value, torch.Tensor)]
        dtype = functools.reduce(torch.promote_types, (kind.dtype for kind in kinds))
        dtype = dtype if dtype.is_floating_point else torch.get_default_dtype()
        if dtype == torch.float64:
            return NotImplemented
        wide = [value.to(torch.float32) if isinstance(value, torch.Tensor) else value for value in values]
        return function(*wide).to(dtype)

    return widened


def _zeta(s, q):
    """Hurwitz's zeta function by Euler's and Maclaurin's sum: DLMF 25.11.5 and 2.10.1."""
    total, terms = 0.0, 9
    for step in range(terms):
        total = total + torch.pow(q + step, -s)
    at = q + terms
    power = torch.pow(at, -s)
    total = total + power * at / (s - 1) + 0.5 * power
    factor = s * power / at
    for index, number in enumerate(_BERNOULLI, 1):
        total = total + factor * (number / math.factorial(2 * index))
        factor = factor * (s + (2 * index - 1)) * (s + 2 * index) / (at * at)
    whole = (q <= 0) & (q == torch.floor(q))
    total = torch.where(whole, math.inf, torch.where((q < 0) & (s != torch.floor(s)), math.nan, total))
    return torch.where(s == 1, math.inf, torch.where(s < 1, math.nan, total))


def _first_kind(order):
    """exp(-|x|) I(x), of order 0 or 1: DLMF 10.32.1 and 10.32.3 by the trapezoidal rule, which converges faster than any power; 10.40.1 where x is large."""

    def scaled(x):
        size, count = x.abs(), 32
        near = torch.clamp(size, max=64.0)
        total = 0.0
        for step in range(count):
            angle = math.pi * (step + 0.5) / count
            total = total + torch.exp(near * (math.cos(angle) - 1)) * (math.cos(order * angle) / count)
        far = torch.clamp(size, min=64.0)
        series = _asymptotic(order, far, -1) / torch.sqrt(2 * math.pi * far)
        value = torch.where(size > 64, series, total)
        if order:
            # The sum loses the digits of small numbers.
            value = torch.where(size < 0.5, torch.exp(-size) * _power_series(size), value) * torch.sign(x)
        return torch.where(x.isnan(), x, value)

    return scaled


def _power_series(x):
    """I of order 1 of what is small: DLMF 10.25.2."""
    square, total = x * x / 4, 1.0
    for index in reversed(range(1, 7)):
        total = 1 + total * square / (index * (index + 1))
    return total * x / 2


def _asymptotic(order, x, sign):
    """The sum of DLMF 10.17.1 over powers of x."""
    total, term = 1.0, 1.0
    for index in range(1, 6):
        term = term * (4 * order**2 - (2 * index - 1) ** 2) / (index * 8) * sign / x
        total = total + term
    return total


def _second_kind(order):
    """exp(x) K(x), of order 0 or 1: DLMF 10.32.9 by the trapezoidal rule."""

    def scaled(x):
        step, total = 0.25, 0.5
        for index in range(1, 80):
            at = index * step
            total = total + torch.exp(-x * (math.cosh(at) - 1)) * math.cosh(order * at)
        value = total * step
        small = -torch.log(x / 2) - _EULER if order == 0 else 1 / x
        value = torch.where(x < 1e-6, small, value)
        return torch.where(x == 0, math.inf, torch.where(x < 0, math.nan, value))

    return scaled


def _unscaled(function):
    return lambda x: function(x) * torch.exp(-x)


def _spherical_bessel(x):
    """DLMF 10.49.3, and its power series near 0."""
    square = x * x
    series = 1 - square / 6 * (1 - square / 20 * (1 - square / 42))
    value = torch.where(x.abs() < 0.5, series, torch.sin(x) / x)
    return torch.where(x.isinf(), 0.0, value)


def _digamma(x):
    """DLMF 5.11.2 six steps further on, by the recurrence 5.5.2, and the reflection 5.5.4 below 0. There is a pole at each whole number there."""
    at = torch.where(x < 0, 1 - x, x)
    far, steps = at + 6, sum(1 / (at + step) for step in range(6))
    square = 1 / (far * far)
    series = 0.0
    for index in reversed(range(1, 5)):
        series = (series + _BERNOULLI[index - 1] / (2 * index)) * square
    value = torch.log(far) - 0.5 / far - series - steps
    value = torch.where(x < 0, value - math.pi / torch.tan(math.pi * (x - torch.floor(x))), value)
    value = torch.where((x < 0) & (x == torch.floor(x)), math.nan, value)
    return torch.where(x == 0, torch.copysign(torch.full_like(x, math.inf), -x), value)


ROWS = {
    _aten.digamma.default: _in_floats(_digamma),
    _aten.special_zeta.default: _in_floats(_zeta),
    _aten.special_i0e.default: _in_floats(_first_kind(0)),
    _aten.special_i1e.default: _in_floats(_first_kind(1)),
    _aten.special_scaled_modified_bessel_k0.default: _in_floats(_second_kind(0)),
    _aten.special_scaled_modified_bessel_k1.default: _in_floats(_second_kind(1)),
    _aten.special_modified_bessel_k0.default: _in_floats(_unscaled(_second_kind(0))),
    _aten.special_modified_bessel_k1.default: _in_floats(_unscaled(_second_kind(1))),
    _aten.special_spherical_bessel_j0.default: _in_floats(_spherical_bessel),
}
