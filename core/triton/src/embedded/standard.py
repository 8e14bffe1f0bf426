"""Sorting, and the helpers that kernels take from `triton.language.core` and `triton.language.standard`."""

import triton
import triton.language as tl

TRITON_MAX_TENSOR_NUMEL = 1048576
CONSTEXPR_0 = 0
pi32_t = tl.pointer_type(tl.int32)


def _log2(i):
    power = 0
    while 2 ** (power + 1) <= i:
        power += 1
    return power


def _is_power_of_two(i):
    return i > 0 and (i & (i - 1)) == 0


def _unwrap_if_constexpr(o):
    return o


def _unwrap_shape(shape):
    return shape


def _unwrap_iterable(x):
    return x[0] if len(x) == 1 and isinstance(x[0], tuple) else x


@triton.jit
def _sum_combine(a, b):
    return a + b


@triton.jit
def _prod_combine(a, b):
    return a * b


@triton.jit
def _xor_combine(a, b):
    return a ^ b


@triton.jit
def _or_combine(x, y):
    return x | y


@triton.jit
def _elementwise_max(a, b):
    return tl.maximum(a, b)


@triton.jit
def _elementwise_min(a, b):
    return tl.minimum(a, b)


@triton.jit
def _argmax_combine_tie_break_left(value1, index1, value2, index2):
    first = (value1 > value2) | ((value1 == value2) & (index1 < index2))
    return tl.where(first, value1, value2), tl.where(first, index1, index2)


@triton.jit
def _argmin_combine_tie_break_left(value1, index1, value2, index2):
    first = (value1 < value2) | ((value1 == value2) & (index1 < index2))
    return tl.where(first, value1, value2), tl.where(first, index1, index2)


@triton.jit
def _argmax_combine_tie_break_fast(value1, index1, value2, index2):
    first = value1 > value2
    return tl.where(first, value1, value2), tl.where(first, index1, index2)


@triton.jit
def _argmin_combine_tie_break_fast(value1, index1, value2, index2):
    first = value1 < value2
    return tl.where(first, value1, value2), tl.where(first, index1, index2)


@triton.jit
def full_like(input, value):
    return tl.full(input.shape, value, input.dtype)


def _product(lengths):
    product = 1
    for length in lengths:
        product *= length
    return product


@triton.jit
def _follows(a, b):
    # Whether `a` stands behind `b` in ascending order. Not a number is the greatest, so that every tile has one order.
    if a.dtype.is_floating():
        return (a > b) | ((a != a) & (b == b))
    return a > b


@triton.jit
def _exchange(x, back, at: tl.constexpr, step: tl.constexpr, outer: tl.constexpr, inner: tl.constexpr):
    # Compares elements whose positions, of `at`, differ by `step`, and orders each pair: descending where `back` is set.
    bits: tl.constexpr = tl.core.get_int_dtype(x.dtype.primitive_bitwidth, True)
    groups: tl.constexpr = at // (2 * step)
    shape: tl.constexpr = (outer * groups, 2, step * inner)
    mine = tl.reshape(x, shape)
    raw = mine.to(bits, bitcast=True)
    other = (raw ^ tl.xor_sum(raw, 1, keep_dims=True)).to(x.dtype, bitcast=True)
    is_right = tl.reshape(tl.arange(0, 2), (1, 2, 1)) == 1
    left = tl.where(is_right, other, mine)
    right = tl.where(is_right, mine, other)
    swaps = _follows(left, right) != tl.reshape(tl.broadcast_to(back, (outer, at, inner)), shape)
    return tl.reshape(tl.where(swaps, other, mine), (outer, at, inner))


@triton.jit
def _merge(x, at: tl.constexpr, stage: tl.constexpr, descending: tl.constexpr, outer: tl.constexpr, inner: tl.constexpr):
    # Sorts runs of 2^stage elements that rise and fall; each run the other way round than the one before it, until there is only one.
    index = tl.reshape(tl.arange(0, at), (1, at, 1))
    if 2**stage < at:
        back = ((index >> stage) & 1) == 1
    elif descending:
        back = index >= 0
    else:
        back = index < 0
    for i in tl.static_range(stage):
        x = _exchange(x, back, at, 2 ** (stage - 1 - i), outer, inner)
    return x


def _place(dim, rank):
    return rank - 1 if dim is None else dim % rank


@triton.jit
def sort(x, dim: tl.constexpr, descending: tl.constexpr):
    tl.static_assert(dim is None or (-len(x.shape) <= dim and dim < len(x.shape)), "there is no such dimension")
    at: tl.constexpr = _place(dim, len(x.shape))
    n: tl.constexpr = x.shape[at]
    outer: tl.constexpr = _product(x.shape[:at])
    inner: tl.constexpr = _product(x.shape[at + 1:])
    if x.dtype == tl.int1:
        narrow = x.to(tl.int8)
    else:
        narrow = x
    h = tl.reshape(narrow, (outer, n, inner))
    for stage in tl.static_range(1, _log2(n) + 1):
        h = _merge(h, n, stage, descending, outer, inner)
    return tl.reshape(h, x.shape).to(x.dtype)


@triton.jit
def topk(x, k: tl.constexpr, dim: tl.constexpr):
    tl.static_assert(dim is None or (-len(x.shape) <= dim and dim < len(x.shape)), "there is no such dimension")
    at: tl.constexpr = _place(dim, len(x.shape))
    n: tl.constexpr = x.shape[at]
    tl.static_assert(_is_power_of_two(k) and k <= n, "`topk` takes a power of two, at most the number of elements")
    outer: tl.constexpr = _product(x.shape[:at])
    inner: tl.constexpr = _product(x.shape[at + 1:])
    bits: tl.constexpr = tl.core.get_int_dtype(x.dtype.primitive_bitwidth, True)
    h = tl.reshape(sort(x, dim, True), (outer, n // k, k * inner)).to(bits, bitcast=True)
    first = tl.reshape(tl.arange(0, n // k), (1, n // k, 1)) == 0
    h = tl.xor_sum(tl.where(first, h, 0), 1).to(x.dtype, bitcast=True)
    return tl.reshape(h, x.shape[:at] + (k, ) + x.shape[at + 1:])


@triton.jit
def bitonic_merge(x, dim: tl.constexpr, descending: tl.constexpr):
    tl.static_assert(dim is None or (-len(x.shape) <= dim and dim < len(x.shape)), "there is no such dimension")
    at: tl.constexpr = _place(dim, len(x.shape))
    n: tl.constexpr = x.shape[at]
    outer: tl.constexpr = _product(x.shape[:at])
    inner: tl.constexpr = _product(x.shape[at + 1:])
    h = tl.reshape(x, (outer, n, inner))
    return tl.reshape(_merge(h, n, _log2(n), descending, outer, inner), x.shape)


@triton.jit
def is_negative_zero(x):
    return (x == 0.0) & (x.to(tl.core.get_int_dtype(x.dtype.primitive_bitwidth, True), bitcast=True) < 0)


@triton.jit
def item(x):
    return tl.sum(x) if x.dtype.is_floating() else tl.xor_sum(x)


@triton.jit
def logical_and(x, y):
    return (x != 0) & (y != 0)


@triton.jit
def logical_or(x, y):
    return (x != 0) | (y != 0)
