"""`tl.dot_scaled`: products of numbers of 4 and 8 bits whose blocks along the depth share a scale (the OCP's microscaling formats, and `nvfp4`).

An element is its number times its scale, rounded once to the type in which the product multiplies: `fp16` if one side is `fp16`, else `bf16`.
"""

import triton
import triton.language as tl


@triton.jit
def _fp4(code):
    """`e2m1`: 0, 0.5, 1, 1.5, 2, 3, 4, 6, and the same with a sign."""
    size = code & 7
    quarters = tl.where(size < 2, size * 2, (2 + (size & 1)) << (size >> 1))
    number = quarters.to(tl.float32) * 0.25
    return tl.where((code & 8) != 0, -number, number)


@triton.jit
def _unpacked(packed, is_deep):
    """Two numbers to a byte, the first in the lower bits: side by side along the last dimension, or along the one before."""
    byte = packed.to(tl.uint8, bitcast=True).to(tl.int32)
    pair = tl.join(_fp4(byte & 15), _fp4(byte >> 4))
    rank: tl.constexpr = len(packed.shape)
    rows: tl.constexpr = packed.shape[rank - 2]
    columns: tl.constexpr = packed.shape[rank - 1]
    if is_deep:
        return pair.reshape(packed.shape[:-2] + (rows, 2 * columns))
    if rank == 2:
        return pair.permute(0, 2, 1).reshape((2 * rows, columns))
    return pair.permute(0, 1, 3, 2).reshape((packed.shape[0], 2 * rows, columns))


@triton.jit
def _numbers(side, format, is_deep):
    if format == "e2m1":
        tl.static_assert(side.dtype.primitive_bitwidth == 8, "numbers of the format e2m1 are given as tl.uint8, two to a byte")
        return _unpacked(side, is_deep)
    tl.static_assert(is_deep, "only numbers of the format e2m1 are packed along another dimension than the depth")
    if format == "e4m3":
        tl.static_assert(side.dtype == tl.float8e4nv or side.dtype == tl.uint8, "numbers of the format e4m3 are given as tl.float8e4nv or tl.uint8")
        return side.to(tl.float8e4nv, bitcast=True).to(tl.float32)
    if format == "e5m2":
        tl.static_assert(side.dtype == tl.float8e5 or side.dtype == tl.uint8, "numbers of the format e5m2 are given as tl.float8e5 or tl.uint8")
        return side.to(tl.float8e5, bitcast=True).to(tl.float32)
    tl.static_assert(format == "bf16" or format == "fp16", "the formats are e2m1, e4m3, e5m2, bf16 and fp16")
    tl.static_assert(side.dtype == (tl.bfloat16 if format == "bf16" else tl.float16), "the numbers are not of the format that is given for them")
    return side.to(tl.float32)


@triton.jit
def _power_of_two(scale, fast_math):
    """`e8m0`: an exponent alone, as `tl.uint8`. 255 is NaN."""
    bits = scale.to(tl.uint8, bitcast=True).to(tl.int32) << 23
    if not fast_math:
        bits = tl.where(bits == 0x7F800000, 0x7FC00000, bits)
    return bits.to(tl.float32, bitcast=True)


@triton.jit
def _side(side, scale, format, is_deep, fast_math, dtype):
    """A factor with the depth last, `[.., rows, depth]`, and one scale for each of its blocks: `[.., rows, blocks]`."""
    numbers = _numbers(side, format, is_deep)
    if scale is not None:
        rank: tl.constexpr = len(numbers.shape)
        depth: tl.constexpr = numbers.shape[rank - 1]
        blocks: tl.constexpr = scale.shape[len(scale.shape) - 1]
        tl.static_assert(len(scale.shape) == rank and scale.shape[rank - 2] == numbers.shape[rank - 2], "scales have one row for each row of the first factor, and for each column of the second")
        tl.static_assert(depth // blocks == 32 or depth // blocks == 16, "a scale belongs to 32 numbers along the depth, or to 16")
        if scale.dtype == tl.float8e4nv:
            factor = scale.to(tl.float32)
        else:
            factor = _power_of_two(scale, fast_math)
        spread = factor.expand_dims(rank).broadcast_to(factor.shape + (depth // blocks,))
        numbers = numbers * spread.reshape(numbers.shape)
    return numbers.to(dtype)


@triton.jit
def _turned(x):
    if len(x.shape) == 2:
        return x.permute(1, 0)
    return x.permute(0, 2, 1)


@triton.jit
def dot_scaled(lhs, lhs_scale, lhs_format, rhs, rhs_scale, rhs_format, acc, fast_math, lhs_k_pack, rhs_k_pack, out_dtype):
    dtype: tl.constexpr = tl.float16 if lhs_format == "fp16" or rhs_format == "fp16" else tl.bfloat16
    left = _side(lhs, lhs_scale, lhs_format, lhs_k_pack, fast_math, dtype)
    right = _turned(_side(_turned(rhs), rhs_scale, rhs_format, rhs_k_pack, fast_math, dtype))
    return tl.dot(left, right, acc, out_dtype=out_dtype)
