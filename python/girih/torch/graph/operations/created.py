"""Tensors that come from numbers."""

import math

import torch

from girih.torch.graph.operations.table import writes
from girih.torch.graph.values import Missing, floating


def _type(dtype, *numbers):
    """The type of a tensor of numbers."""
    if dtype is not None:
        return dtype
    if all(isinstance(number, bool) for number in numbers):
        return torch.bool
    return torch.int64 if all(isinstance(number, int) for number in numbers) else torch.get_default_dtype()


@writes("full.default")
def full(w, sizes, number, dtype=None, **options):
    return w.full(number, _type(dtype, number), sizes)


@writes("scalar_tensor.default")
def scalar(w, number, dtype=None, **options):
    return w.full(number, dtype or torch.get_default_dtype(), [])


@writes("full_like.default")
def full_like(w, x, number, dtype=None, **options):
    return w.full(number, dtype or x.dtype, x.sizes)


@writes("fill.Scalar")
def fill(w, x, number):
    return w.full(number, x.dtype, x.sizes)


@writes("empty.memory_format", "empty_permuted.default", "empty_strided.default", "zeros.default")
def zeros(w, sizes, *layout, dtype=None, **options):
    return w.full(0, dtype or torch.get_default_dtype(), sizes)


@writes("ones.default")
def ones(w, sizes, *layout, dtype=None, **options):
    return w.full(1, dtype or torch.get_default_dtype(), sizes)


@writes("zeros_like.default", "empty_like.default")
def zeros_like(w, x, dtype=None, **options):
    return w.full(0, dtype or x.dtype, x.sizes)


@writes("arange.start_step")
def arange(w, start, end, step=1, dtype=None, **options):
    dtype = _type(dtype, start, end, step)
    if all(isinstance(number, int) for number in (start, end, step)):
        count = len(range(start, end, step))
    elif dtype.is_floating_point:
        count = max(math.ceil((end - start) / step), 0)
    else:
        raise Missing("it counts whole numbers by fractions")
    return _counted(w, count, start, step, dtype)


@writes("prims.iota.default")
def iota(w, length, start, step, dtype, **options):
    return _counted(w, length, start, step, dtype)


def _counted(w, count, start, step, dtype):
    is_whole = isinstance(start, int) and isinstance(step, int)
    positions = w.positions([count], 0, torch.int64 if dtype.is_floating_point else dtype)
    positions = positions if is_whole else w.convert(positions, dtype if dtype == torch.float64 else torch.float32)
    positions = positions if step == 1 else w.binary("mul", positions, step)
    positions = positions if start == 0 else w.binary("add", positions, start)
    return w.convert(positions, dtype)


@writes("rand.default")
def rand(w, sizes, dtype=None, **options):
    return w.convert(w.random(sizes), dtype or torch.get_default_dtype())


@writes("rand_like.default")
def rand_like(w, x, dtype=None, **options):
    return w.convert(w.random(x.sizes), dtype or x.dtype)


@writes("bernoulli.p", "bernoulli.default")
def bernoulli(w, x, p=None, *, generator=None):
    if generator is not None:
        raise Missing("it is given a generator of random numbers")
    drawn = w.random(x.sizes)
    return w.convert(w.binary("lt", drawn, w.convert(x, torch.float32) if p is None else float(p)), x.dtype)


@writes("randn.default")
def randn(w, sizes, dtype=None, **options):
    """Two uniform numbers make a normal one: Box and Muller's transform."""
    radius, angle = w.random(sizes), w.random(sizes)
    # A number in (0, 1], whose logarithm is finite.
    radius = w.op("sqrt", w.binary("mul", w.op("log", w.binary("sub", 1.0, radius)), -2.0))
    drawn = w.binary("mul", radius, w.op("cos", w.binary("mul", angle, 6.283185307179586)))
    return w.convert(drawn, dtype or torch.get_default_dtype())


@writes("randn_like.default")
def randn_like(w, x, dtype=None, **options):
    return randn(w, x.sizes, dtype=dtype or floating(x))
