"""Reductions, softmax and scans."""

import math

import torch

from girih.torch.graph.operations.table import writes
from girih.torch.graph.values import Missing, axes_of, axis_of, floating


def _number_of(x, axes):
    return math.prod(x.sizes[axis] for axis in axes)


def _empty_or(w, x, axes, keeps, number, dtype, reduce):
    """A reduction, or a number where it reduces nothing to something."""
    axes = axes_of(x, axes)
    if _number_of(x, axes) == 0:
        kept = [1 if axis in axes else length for axis, length in enumerate(x.sizes) if keeps or axis not in axes]
        return w.full(number, dtype, kept)
    return reduce(axes) if axes else None


@writes("sum.dim_IntList", "sum.default")
def total(w, x, axes=None, keepdim=False, *, dtype=None):
    dtype = dtype or (x.dtype if x.dtype.is_floating_point else torch.int64)
    x = w.convert(x, dtype)
    summed = _empty_or(w, x, axes, keepdim, 0, dtype, lambda axes: w.along("sum", x, axes, keepdim))
    return x if summed is None else summed


@writes("mean.default", "mean.dim")
def mean(w, x, axes=None, keepdim=False, *, dtype=None):
    dtype = dtype or x.dtype
    axes = axes_of(x, axes)
    return w.convert(w.along("mean", w.convert(x, dtype), axes, keepdim), dtype) if _number_of(x, axes) else w.binary("div", total(w, x, axes, keepdim), 0.0)


@writes("prod.default", "prod.dim_int")
def product(w, x, axis=None, keepdim=False, *, dtype=None):
    dtype = dtype or (x.dtype if x.dtype.is_floating_point else torch.int64)
    x = w.convert(x, dtype)
    made = _empty_or(w, x, axis, keepdim, 1, dtype, lambda axes: w.along("prod", x, axes, keepdim))
    return x if made is None else made


@writes("amax.default")
def amax(w, x, axes=(), keepdim=False):
    return _extreme(w, "amax", x, axes, keepdim)


@writes("amin.default")
def amin(w, x, axes=(), keepdim=False):
    return _extreme(w, "amin", x, axes, keepdim)


def _extreme(w, name, x, axes, keeps):
    if x.dtype == torch.bool:
        return w.along("any" if name == "amax" else "all", x, list(axes), keeps)
    return w.along(name, x, list(axes), keeps)


@writes("max.dim")
def max_with_index(w, x, axis, keepdim=False):
    return _with_index(w, "max", x, axis, keepdim)


@writes("min.dim")
def min_with_index(w, x, axis, keepdim=False):
    return _with_index(w, "min", x, axis, keepdim)


def _with_index(w, name, x, axis, keeps):
    return _extreme(w, f"a{name}", x, [axis], keeps), _position(w, f"arg{name}", x, axis, keeps)


@writes("argmax.default")
def argmax(w, x, axis=None, keepdim=False):
    return _position(w, "argmax", x, axis, keepdim)


@writes("argmin.default")
def argmin(w, x, axis=None, keepdim=False):
    return _position(w, "argmin", x, axis, keepdim)


def _position(w, name, x, axis, keeps):
    kept = [1] * x.rank if axis is None else [1 if at == axis_of(x, axis) else length for at, length in enumerate(x.sizes)]
    x = w.convert(x, torch.uint8) if x.dtype == torch.bool else x
    x = w.reshape(x, [math.prod(x.sizes)]) if axis is None or not x.rank else x
    found = w.op(name, x, axis=[0 if axis is None else axis_of(x, axis)])
    return w.reshape(found, kept) if keeps else found


@writes("any.default", "any.dim", "any.dims")
def some(w, x, axes=None, keepdim=False):
    return _truths(w, "any", x, axes, keepdim)


@writes("all.default", "all.dim", "all.dims")
def every(w, x, axes=None, keepdim=False):
    return _truths(w, "all", x, axes, keepdim)


def _truths(w, name, x, axes, keeps):
    x = w.convert(x, torch.bool)
    made = _empty_or(w, x, axes, keeps, name == "all", torch.bool, lambda axes: w.along(name, x, axes, keeps))
    return x if made is None else made


@writes("var.correction")
def variance(w, x, axes=None, *, correction=1, keepdim=False):
    return _moments(w, x, axes, correction, keepdim)[0]


@writes("var_mean.correction")
def variance_and_mean(w, x, axes=None, *, correction=1, keepdim=False):
    return _moments(w, x, axes, correction, keepdim)


def _moments(w, x, axes, correction, keeps):
    axes = axes_of(x, axes)
    count = _number_of(x, axes)
    if count == 0:
        raise Missing("it is given no elements")
    correction = 1 if correction is None else correction
    spread = w.along("var", x, axes, keeps)
    if correction:
        spread = w.binary("mul", spread, count / (count - correction) if count > correction else float("nan"))
    return spread, w.along("mean", x, axes, keeps)


@writes("_softmax.default")
def softmax(w, x, axis, half_to_float):
    return _soft(w, "softmax", x, axis, half_to_float)


@writes("_log_softmax.default")
def log_softmax(w, x, axis, half_to_float):
    return _soft(w, "log_softmax", x, axis, half_to_float)


def _soft(w, name, x, axis, to_float):
    x = w.convert(x, torch.float32 if to_float else floating(x))
    return w.op(name, x, axes=[axis_of(x, axis)] if x.rank else [])


@writes("cumsum.default")
def cumsum(w, x, axis, *, dtype=None):
    dtype = dtype or (x.dtype if x.dtype.is_floating_point else torch.int64)
    x = w.convert(x, dtype)
    return w.op("cumsum", x, axis=[axis_of(x, axis)]) if x.rank else x
