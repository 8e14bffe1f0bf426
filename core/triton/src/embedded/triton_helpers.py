"""What kernels of PyTorch's Inductor call: `torch._inductor.runtime.triton_helpers`, by what it is documented to compute.

A NaN wins both minima and maxima, and sorts last in ascending order.
"""

import triton
import triton.language as tl
from triton.language import math
from triton.language.extra import libdevice


@triton.jit
def promote_to_tensor(x):
    return x + tl.zeros((1, ), tl.int1)


def constexpr_next_power_of_2(n):
    return triton.next_power_of_2(n)


@triton.jit
def div_floor_integer(a, b):
    quotient = a // b
    lower = tl.where(a % b != 0, quotient - 1, quotient)
    return tl.where((a < 0) != (b < 0), lower, quotient)


@triton.jit
def remainder_integer(a, b):
    rest = a % b
    return tl.where((rest != 0) & ((a < 0) != (b < 0)), rest + b, rest)


@triton.jit
def is_floating(x):
    return promote_to_tensor(x).dtype.is_floating()


@triton.jit
def _product(a, b):
    return a * b


@triton.jit
def prod(input, axis):
    return tl.reduce(input, axis, _product)


@triton.jit
def minimum(a, b):
    return tl.minimum(a, b, tl.PropagateNan.ALL)


@triton.jit
def maximum(a, b):
    return tl.maximum(a, b, tl.PropagateNan.ALL)


@triton.jit
def min2(a, dim):
    return tl.reduce(a, dim, minimum)


@triton.jit
def max2(a, dim):
    return tl.reduce(a, dim, maximum)


@triton.jit
def _first(better, a_value, a_index, b_value, b_index):
    equal = a_value == b_value
    if a_value.dtype.is_floating():
        a_nan = a_value != a_value
        b_nan = b_value != b_value
        better |= a_nan & (b_nan == 0)
        equal |= a_nan & b_nan
    better |= equal & (a_index < b_index)
    return tl.where(better, a_value, b_value), tl.where(better, a_index, b_index)


@triton.jit
def minimum_with_index(a_value, a_index, b_value, b_index):
    return _first(a_value < b_value, a_value, a_index, b_value, b_index)


@triton.jit
def maximum_with_index(a_value, a_index, b_value, b_index):
    return _first(a_value > b_value, a_value, a_index, b_value, b_index)


@triton.jit
def min_with_index(value, index, dim):
    return tl.reduce((value, index), dim, minimum_with_index)


@triton.jit
def max_with_index(value, index, dim):
    return tl.reduce((value, index), dim, maximum_with_index)


@triton.jit
def exp(x, use_fast_math: tl.constexpr = False):
    return tl.exp(x) if use_fast_math else libdevice.exp(x)


@triton.jit
def online_softmax_reduce(lhs_max, lhs_sum, dim, use_fast_math: tl.constexpr = False):
    out_max = max2(lhs_max, dim)
    most = tl.expand_dims(out_max, dim)
    delta = tl.where(most == float("-inf"), 0.0, lhs_max - most)
    return out_max, tl.sum(lhs_sum * exp(delta, use_fast_math), dim)


@triton.jit
def online_softmax_combine(lhs_max, lhs_sum, rhs_max, use_fast_math: tl.constexpr = False):
    out_max = maximum(lhs_max, rhs_max)
    nothing = out_max == float("-inf")
    lhs_scale = tl.where(nothing, 1.0, exp(lhs_max - out_max, use_fast_math))
    rhs_scale = tl.where(nothing, 1.0, exp(rhs_max - out_max, use_fast_math))
    return out_max, lhs_sum * lhs_scale + rhs_scale


@triton.jit
def welford_reduce(value, mean, m2, weight, first_iteration):
    # One more value (Welford 1962). What stands in the arguments before the first one counts for nothing.
    if first_iteration:
        return value, m2 * 0, weight * 0 + 1
    count = weight + 1
    away = value - mean
    centre = mean + away / count
    return centre, tl.fma(away, value - centre, m2), count


@triton.jit
def welford_combine(mean_1, m2_1, weight_1, mean_2, m2_2, weight_2):
    # Two sets of values as one (Chan, Golub, LeVeque 1979); both may be empty.
    count = weight_1 + weight_2
    share = tl.where(count == 0.0, 0.0, weight_2 / count)
    apart = mean_2 - mean_1
    between = apart * apart * (weight_1 * share)
    return mean_1 + apart * share, m2_1 + m2_2 + between, count


@triton.jit
def welford(mean, m2, weight, dim):
    return tl.reduce((mean, m2, weight), dim, welford_combine)


@triton.jit
def device_assert_then(cond, msg, r):
    tl.device_assert(cond, msg)
    return r


@triton.jit
def randint64(seed, offset, low, high):
    r0, r1, _, _ = tl.randint4x(seed, offset)
    word = r0.to(tl.uint64) | (r1.to(tl.uint64) << 32)
    return (word % (high - low).to(tl.uint64)).to(tl.int64) + low


@triton.jit
def _either(a, b):
    return a | b


@triton.jit
def any(a, dim):
    return tl.reduce(a, dim, _either)


@triton.jit
def bucketize_binary_search(
    values,
    boundaries_ptr,
    BOUNDARIES_SIZE: tl.constexpr,
    BOUNDARIES_UNDERLYING_NUMEL: tl.constexpr,
    BOUNDARIES_STRIDE: tl.constexpr,
    boundary_indices,
    indexing_dtype,
    right: tl.constexpr,
    sorter_ptr,
    SORTER_STRIDE: tl.constexpr,
    sorter_indices,
):
    low = tl.zeros(values.shape, dtype=indexing_dtype)
    high = tl.full(values.shape, BOUNDARIES_SIZE, dtype=indexing_dtype)
    # Each step leaves half of what is left.
    for _ in range(tl.standard._log2(BOUNDARIES_SIZE) + 1):
        middle = (high + low) // 2
        inside = (middle < BOUNDARIES_SIZE) & (low < high)
        at = middle
        if sorter_ptr is not None:
            at = tl.load(sorter_ptr + sorter_indices + SORTER_STRIDE * at, mask=inside, other=0).to(indexing_dtype)
        bound = tl.load(boundaries_ptr + boundary_indices + BOUNDARIES_STRIDE * at, mask=inside, other=0)
        if right:
            above = values >= bound
        else:
            above = values > bound
        low = tl.where(inside & above, middle + 1, low)
        high = tl.where(inside & (above == 0), middle, high)
    return low


@triton.jit
def frexp(x):
    exponent = libdevice.ilogb(x) + 1
    is_kept = (x == 0) | (tl.abs(x) == float("inf")) | (x != x)
    exponent = tl.where(is_kept, 0, exponent)
    return tl.where(is_kept, x, libdevice.ldexp(x, -exponent)), exponent


@triton.jit
def select_one(x, mask, dim, keep_dims=False):
    bits: tl.constexpr = tl.core.get_int_dtype(x.dtype.primitive_bitwidth, True)
    chosen = tl.xor_sum(tl.where(mask != 0, x.to(bits, bitcast=True), 0), dim, keep_dims=keep_dims)
    return chosen.to(x.dtype, bitcast=True)


@triton.jit
def if_mask(mask, val):
    if mask is None:
        return val
    return tl.where(mask, val, 0.0)


@triton.jit
def _partner(x):
    bits: tl.constexpr = tl.core.get_int_dtype(x.dtype.primitive_bitwidth, True)
    raw = x.to(bits, bitcast=True)
    return (raw ^ tl.xor_sum(raw, 1, keep_dims=True)).to(x.dtype, bitcast=True)


@triton.jit
def _exchange(x, index, rnumel, back, step: tl.constexpr, at: tl.constexpr, outer: tl.constexpr, inner: tl.constexpr, descending: tl.constexpr):
    shape: tl.constexpr = (outer * (at // (2 * step)), 2, step * inner)
    x, index = tl.reshape(x, shape), tl.reshape(index, shape)
    y, other = _partner(x), _partner(index)
    is_right = tl.reshape(tl.arange(0, 2), (1, 2, 1)) == 1
    left, right = tl.where(is_right, y, x), tl.where(is_right, x, y)
    left_index, right_index = tl.where(is_right, other, index), tl.where(is_right, index, other)
    if descending:
        behind = tl.standard._follows(right, left)
        before = tl.standard._follows(left, right)
    else:
        behind = tl.standard._follows(left, right)
        before = tl.standard._follows(right, left)
    behind |= (before == 0) & (left_index > right_index)
    if rnumel is not None:
        # What is beyond the end stays behind everything else.
        left_out, right_out = left_index >= rnumel, right_index >= rnumel
        behind = tl.where(left_out != right_out, left_out, behind)
    swaps = behind != tl.reshape(tl.broadcast_to(back, (outer, at, inner)), shape)
    full: tl.constexpr = (outer, at, inner)
    return tl.reshape(tl.where(swaps, y, x), full), tl.reshape(tl.where(swaps, other, index), full)


@triton.jit
def sort_with_index(x, idxs, rnumel, dim: tl.constexpr = None, stable: tl.constexpr = False, descending: tl.constexpr = False):
    # Equal elements keep their order, whether that is asked for or not.
    tl.static_assert(dim is None or (-len(x.shape) <= dim and dim < len(x.shape)), "there is no such dimension")
    place: tl.constexpr = tl.standard._place(dim, len(x.shape))
    at: tl.constexpr = x.shape[place]
    outer: tl.constexpr = tl.standard._product(x.shape[:place])
    inner: tl.constexpr = tl.standard._product(x.shape[place + 1:])
    if x.dtype == tl.int1:
        narrow = x.to(tl.int8)
    else:
        narrow = x
    values = tl.reshape(narrow, (outer, at, inner))
    index = tl.reshape(tl.broadcast_to(idxs, x.shape), (outer, at, inner))
    order = tl.reshape(tl.arange(0, at), (1, at, 1))
    for stage in tl.static_range(1, tl.standard._log2(at) + 1):
        back = ((order >> stage) & 1) == 1
        for i in tl.static_range(stage):
            values, index = _exchange(values, index, rnumel, back, 2 ** (stage - 1 - i), at, outer, inner, descending)
    return tl.reshape(values, x.shape).to(x.dtype), tl.reshape(index, x.shape)
