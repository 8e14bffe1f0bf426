"""Discrete Fourier transforms, as products of matrices.

A transform of a length n1 * n2 is one of length n1 for each n2-th element, a multiplication with roots of unity, and one of length n2: Cooley and Tukey, "An algorithm for the machine
calculation of complex Fourier series" (1965), with large radices, so that each step is a product with a small matrix. Other lengths, whose prime factors are large, are convolutions of lengths that have none:
Bluestein, "A linear filtering approach to the computation of the discrete Fourier transform" (1970).

Invariant: roots of unity are computed in `float64` and rounded once.
"""

import functools
import math

import torch
from torch import _meta_registrations
from torch._subclasses.fake_tensor import FakeTensorMode

from girih.torch import device, host
from girih.torch.eager import plan
from girih.torch.library import Library

_aten = torch.ops.aten
_library = Library("aten", "IMPL")
# The largest transform of any length that is one product, and the largest one of a prime length.
_RADIX, _MOST_PRIME = 32, 128
_TYPES = (torch.float32, torch.float64, torch.complex64, torch.complex128)


def _root_angles(n, j, k):
    """The angles of the roots of unity of order n to the powers j * k, in `float64`."""
    return (j[:, None] * k[None, :] % n).to(torch.float64) * (2 * math.pi / n)


@functools.lru_cache(maxsize=256)
def _matrix(n, sign, is_real, dtype, where):
    """The matrix of a transform of numbers whose parts lie beside each other: 2n rows and 2n columns; n rows where what goes in is real."""
    angles = _root_angles(n, *[torch.arange(n, device="cpu")] * 2) * sign
    cos, sin = torch.cos(angles), torch.sin(angles)
    # Rows are the parts of what goes in, columns those of what comes out.
    made = torch.stack((torch.stack((cos, sin), -1), torch.stack((-sin, cos), -1)), 1)
    made = made[:, 0] if is_real else made
    return made.reshape(-1, 2 * n).to(dtype).to("girih")


@functools.lru_cache(maxsize=256)
def _twiddles(n, rows, columns, sign, dtype, where):
    """The roots of unity of order n to the powers row * column, as complex numbers."""
    angles = _root_angles(n, torch.arange(rows, device="cpu"), torch.arange(columns, device="cpu")) * sign
    return _complex(torch.polar(torch.ones_like(angles), angles), dtype)


@functools.lru_cache(maxsize=64)
def _chirp(n, m, sign, dtype, where):
    """For Bluestein's convolution of length m: the factors before and after, and the transform of what is convolved with."""
    at = torch.arange(n, device="cpu")
    angles = (at * at % (2 * n)).to(torch.float64) * (math.pi / n) * sign
    factors = torch.polar(torch.ones_like(angles), angles)
    filter_ = torch.zeros(m, dtype=torch.complex128, device="cpu")
    filter_[:n] = factors.conj()
    filter_[m - n + 1 :] = factors[1:].flip(0).conj()
    return _complex(factors, dtype), _complex(torch.fft.fft(filter_) / m, dtype)


def _complex(numbers, dtype):
    return numbers.to(torch.complex128 if dtype == torch.float64 else torch.complex64).to("girih")


def _factor(n):
    """The length of a transform's first step: a factor of about the same size as those of the other steps, or the length itself where there is one step."""
    if n <= _RADIX:
        return n
    even = n ** (1 / math.ceil(math.log(n, _RADIX)))
    best = min((factor for factor in range(2, _RADIX + 1) if n % factor == 0), key=lambda factor: abs(factor - even), default=None)
    if best:
        return best
    return next((factor for factor in range(_RADIX + 1, math.isqrt(n) + 1) if n % factor == 0), n)


def _times(numbers, factors):
    """Numbers with their parts beside each other, times complex numbers."""
    return torch.view_as_real(torch.view_as_complex(numbers) * factors)


def _transformed(numbers, sign):
    """The transform of each row: numbers of the shape [rows, n, 2], or real ones of the shape [rows, n]."""
    rows, n = numbers.shape[:2]
    first = _factor(n)
    if first < n:
        return _split(numbers, first, sign)
    if n > _MOST_PRIME:
        return _convolved(numbers if numbers.dim() == 3 else torch.stack((numbers, torch.zeros_like(numbers)), -1), sign)
    matrix = _matrix(n, sign, numbers.dim() == 2, numbers.dtype, device.current())
    return (numbers.reshape(rows, -1) @ matrix).view(rows, n, 2)


def _split(numbers, first, sign):
    """A transform in two steps, of which the first one has the length `first`."""
    (rows, n), parts = numbers.shape[:2], numbers.shape[2:]
    second = n // first
    # Element k1 * second + k2 of a row, by rows of k1.
    across = numbers.reshape(rows, first, second, *parts).transpose(1, 2).reshape(rows * second, first, *parts)
    made = _transformed(across, sign).view(rows, second, first, 2)
    made = _times(made, _twiddles(n, second, first, sign, numbers.dtype, device.current()))
    made = _transformed(made.transpose(1, 2).reshape(rows * first, second, 2), sign)
    # Result j1 + first * j2.
    return made.view(rows, first, second, 2).transpose(1, 2).reshape(rows, n, 2)


def _convolved(numbers, sign):
    """Bluestein's algorithm."""
    rows, n, _ = numbers.shape
    m = 1 << (2 * n - 2).bit_length()
    factors, convolved_with = _chirp(n, m, sign, numbers.dtype, device.current())
    padded = torch.nn.functional.pad(_times(numbers.contiguous(), factors), (0, 0, 0, m - n))
    made = _transformed(_times(_transformed(padded, -1), convolved_with), 1)
    return _times(made[:, :n].contiguous(), factors)


def _along(tensor, axis, sign):
    """The transform of a tensor along an axis."""
    turned = tensor.movedim(axis, -1).contiguous()
    numbers = torch.view_as_real(turned.resolve_conj()) if turned.dtype.is_complex else turned
    made = _transformed(numbers.reshape(-1, *numbers.shape[turned.dim() - 1 :]), sign)
    return torch.view_as_complex(made.reshape(*turned.shape, 2)).movedim(-1, axis)


def _scale(normalization, count):
    """The factor of a transform of so many elements, by PyTorch's code: none, one by the root, one by the count."""
    return (1.0, 1 / math.sqrt(count), 1 / count)[normalization]


def _size(tensor, axes):
    return math.prod(tensor.shape[axis] for axis in axes)


def _scaled(tensor, factor):
    return tensor if factor == 1 else tensor * factor


def _is_ours(tensor):
    """Whether the products are for a tensor: not for 16-bit floats, and not where there is nothing to transform."""
    return tensor.dtype in _TYPES and tensor.numel() > 0


def _laid_out(made, operation, given, *args):
    """The result with the strides that PyTorch gives it: compiled functions rely on them."""
    wanted = _strides(operation, given.size(), given.stride(), given.dtype, *(tuple(value) if isinstance(value, (list, tuple)) else value for value in args))
    if made.stride() == wanted:
        return made
    return torch.empty_strided(made.size(), wanted, dtype=made.dtype, device="girih").copy_(made)


@functools.lru_cache(maxsize=1024)
def _strides(operation, size, stride, dtype, axes, *rest):
    with plan.seeing_all(), FakeTensorMode():
        return operation(torch.empty_strided(size, stride, dtype=dtype, device="girih"), list(axes), *rest).stride()


def _complex_to_complex(tensor, axes, normalization, forward):
    if not _is_ours(tensor):
        return host.run(_aten._fft_c2c.default, tensor, axes, normalization, forward)
    made = tensor
    for axis in axes:
        made = _along(made, axis, -1 if forward else 1)
    made = _scaled(made, _scale(normalization, _size(tensor, axes))) if axes else tensor.clone()
    return _laid_out(made, _aten._fft_c2c.default, tensor, axes, normalization, forward)


def _real_to_complex(tensor, axes, normalization, onesided):
    if not _is_ours(tensor):
        return host.run(_aten._fft_r2c.default, tensor, axes, normalization, onesided)
    made = _along(tensor, axes[-1], -1)
    if onesided:
        made = made.narrow(axes[-1], 0, tensor.shape[axes[-1]] // 2 + 1)
    for axis in reversed(axes[:-1]):
        made = _along(made, axis, -1)
    made = _scaled(made, _scale(normalization, _size(tensor, axes)))
    return _laid_out(made, _aten._fft_r2c.default, tensor, axes, normalization, onesided)


def _complex_to_real(tensor, axes, normalization, last):
    if not _is_ours(tensor):
        return host.run(_aten._fft_c2r.default, tensor, axes, normalization, last)
    made, axis = tensor, axes[-1]
    for other in axes[:-1]:
        made = _along(made, other, 1)
    # The other half is the conjugate of this one, backwards.
    half = made.narrow(axis, 0, last // 2 + 1)
    rest = half.narrow(axis, 1, (last - 1) // 2).flip(axis).conj()
    made = torch.view_as_real(_along(torch.cat((half, rest), axis), axis, 1))[..., 0]
    count = _size(tensor, axes[:-1]) * last
    return _laid_out(_scaled(made, _scale(normalization, count)), _aten._fft_c2r.default, tensor, axes, normalization, last)


def _sorted_axes(tensor, axes, exclude_last=False):
    """The axes in order, but for the last one."""
    count = len(axes) - exclude_last
    return sorted(axes[:count]) + list(axes[count:])


def register() -> None:
    """Registers them."""
    # PyTorch plans the strides of results by this function, and takes what it gives to be in order. Its own sorts a copy that it drops, so elements shared memory where axes were not.
    _meta_registrations._sort_dims = _sorted_axes
    _library.impl("_fft_c2c", _complex_to_complex, "PrivateUse1")
    _library.impl("_fft_r2c", _real_to_complex, "PrivateUse1")
    _library.impl("_fft_c2r", _complex_to_real, "PrivateUse1")
