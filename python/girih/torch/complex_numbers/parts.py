"""Arithmetic on complex numbers as pairs of real ones."""

import torch


class Pair:
    """A tensor of complex numbers: one for the real parts and one for the imaginary parts, of one shape and type.

    `whole` is the view of memory that both are parts of, where there is one: it can be written to.
    """

    __slots__ = ("re", "im", "whole")

    def __init__(self, re, im, whole=None):
        self.re, self.im, self.whole = re, im, whole

    def __add__(self, other):
        return Pair(self.re + other.re, self.im + other.im)

    def __sub__(self, other):
        return Pair(self.re - other.re, self.im - other.im)

    def __neg__(self):
        return Pair(-self.re, -self.im)

    def __mul__(self, other):
        return Pair(self.re * other.re - self.im * other.im, self.re * other.im + self.im * other.re)

    def __truediv__(self, other):
        """By Smith's algorithm ("Algorithm 116: Complex division", 1962): nothing overflows that the quotient does not."""
        swaps = other.re.abs() < other.im.abs()
        large, small = torch.where(swaps, other.im, other.re), torch.where(swaps, other.re, other.im)
        ratio = torch.where(large == 0, 0.0, small / large)
        below = large + small * ratio
        re = torch.where(swaps, self.re * ratio + self.im, self.re + self.im * ratio)
        im = torch.where(swaps, self.im * ratio - self.re, self.im - self.re * ratio)
        return Pair(re / below, im / below)

    def scaled(self, factor):
        """Times a real number."""
        return Pair(self.re * factor, self.im * factor)

    def times_i(self):
        """Times the imaginary unit."""
        return Pair(-self.im, self.re)

    def conjugate(self):
        """The conjugate."""
        return Pair(self.re, -self.im)

    def to(self, dtype):
        """With parts of another type."""
        return self if self.re.dtype == dtype else Pair(self.re.to(dtype), self.im.to(dtype))

    def interleaved(self):
        """The real tensor with one dimension more, as in memory."""
        # A choice reads each operand once; `torch.stack` becomes two programs behind masks.
        is_real = torch.arange(2, device=self.re.device) == 0
        return torch.where(is_real, self.re.unsqueeze(-1), self.im.unsqueeze(-1))


def of_interleaved(tensor) -> Pair:
    """The pair of what `torch.view_as_real` gives."""
    return Pair(tensor[..., 0], tensor[..., 1], tensor)


def matrix_product(product, a: Pair, b: Pair) -> Pair:
    """`mm` or `bmm` by one real product: of the rows of `a` as they lie in memory, and of `b` with each number as a matrix of two by two."""
    left = a.interleaved().flatten(-2)
    rows = torch.stack((b.interleaved(), b.times_i().interleaved()), -3)
    made = product(left, rows.flatten(-4, -3).flatten(-2))
    return of_interleaved(made.unflatten(-1, (-1, 2)))


def choose(condition, one: Pair, other: Pair) -> Pair:
    """One of two numbers."""
    return Pair(torch.where(condition, one.re, other.re), torch.where(condition, one.im, other.im))
