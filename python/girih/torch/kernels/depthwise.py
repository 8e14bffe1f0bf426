# Convolutions in which each channel is a group, in Triton's language. Girih's own compiler reads this file; Python does not run it.
#
# There is nothing to sum over channels, so these are no products: a program computes a block of places and channels, tap by tap. An input channel has MANY output
# channels. Every tensor is given by its strides. Sums are in float32.
import triton
import triton.language as tl


@triton.jit
def places_of(axis, H, W, BLOCK_P: tl.constexpr, WIDE: tl.constexpr):
    """A block of places of pictures of H rows and W columns: their number, image, row and column."""
    place = tl.program_id(axis) * BLOCK_P + tl.arange(0, BLOCK_P)
    image, row, column = place // (H * W), place // W % H, place % W
    if WIDE:
        image, row, column = image.to(tl.int64), row.to(tl.int64), column.to(tl.int64)
    return place, image, row, column


@triton.jit
def forward(out, x, w, bias, bias_o, images, CO, IH, IW, OH, OW,
            out_n, out_c, out_h, out_w, x_n, x_c, x_h, x_w, w_o, w_h, w_w,
            KH: tl.constexpr, KW: tl.constexpr, step_h, step_w, pad_h, pad_w, gap_h, gap_w, MANY: tl.constexpr, BIAS: tl.constexpr, WIDE: tl.constexpr,
            BLOCK_P: tl.constexpr, BLOCK_C: tl.constexpr):
    """The convolution."""
    place, image, row, column = places_of(0, OH, OW, BLOCK_P, WIDE)
    c = tl.program_id(1) * BLOCK_C + tl.arange(0, BLOCK_C)
    there = c < CO
    total = tl.zeros((BLOCK_P, BLOCK_C), tl.float32)
    for tap in range(0, KH * KW):
        h = row * step_h - pad_h + tap // KW * gap_h
        v = column * step_w - pad_w + tap % KW * gap_w
        inside = (image < images) & (h >= 0) & (h < IH) & (v >= 0) & (v < IW)
        value = tl.load(x + (image * x_n + h * x_h + v * x_w)[:, None] + (c // MANY * x_c)[None, :], mask=inside[:, None] & there[None, :], other=0.0)
        weight = tl.load(w + c * w_o + (tap // KW * w_h + tap % KW * w_w), mask=there, other=0.0)
        total += value.to(tl.float32) * weight.to(tl.float32)[None, :]
    if BIAS:
        total += tl.load(bias + c * bias_o, mask=there, other=0.0).to(tl.float32)[None, :]
    to = out + (image * out_n + row * out_h + column * out_w)[:, None] + (c * out_c)[None, :]
    tl.store(to, total.to(out.dtype.element_ty), mask=(image < images)[:, None] & there[None, :])


@triton.jit
def data_gradient(out, g, w, bias, bias_o, images, CI, IH, IW, OH, OW,
                  out_n, out_c, out_h, out_w, g_n, g_c, g_h, g_w, w_o, w_h, w_w,
                  KH: tl.constexpr, KW: tl.constexpr, step_h, step_w, pad_h, pad_w, gap_h, gap_w, MANY: tl.constexpr, BIAS: tl.constexpr, WIDE: tl.constexpr,
                  BLOCK_P: tl.constexpr, BLOCK_C: tl.constexpr):
    """The gradient of the input, which is the transposed convolution."""
    place, image, row, column = places_of(0, IH, IW, BLOCK_P, WIDE)
    c = tl.program_id(1) * BLOCK_C + tl.arange(0, BLOCK_C)
    there = c < CI
    total = tl.zeros((BLOCK_P, BLOCK_C), tl.float32)
    for step in range(0, KH * KW * MANY):
        tap, other = step // MANY, c * MANY + step % MANY
        # Only every step-th place of the input was met by a tap.
        h = row + pad_h - tap // KW * gap_h
        v = column + pad_w - tap % KW * gap_w
        oh, ow = h // step_h, v // step_w
        met = (image < images) & (h >= 0) & (v >= 0) & (h % step_h == 0) & (v % step_w == 0) & (oh < OH) & (ow < OW)
        value = tl.load(g + (image * g_n + oh * g_h + ow * g_w)[:, None] + (other * g_c)[None, :], mask=met[:, None] & there[None, :], other=0.0)
        weight = tl.load(w + other * w_o + (tap // KW * w_h + tap % KW * w_w), mask=there, other=0.0)
        total += value.to(tl.float32) * weight.to(tl.float32)[None, :]
    if BIAS:
        total += tl.load(bias + c * bias_o, mask=there, other=0.0).to(tl.float32)[None, :]
    to = out + (image * out_n + row * out_h + column * out_w)[:, None] + (c * out_c)[None, :]
    tl.store(to, total.to(out.dtype.element_ty), mask=(image < images)[:, None] & there[None, :])


@triton.jit
def weight_gradient(parts, g, x, images, CO, IH, IW, OH, OW,
                    g_n, g_c, g_h, g_w, x_n, x_c, x_h, x_w,
                    KH: tl.constexpr, KW: tl.constexpr, step_h, step_w, pad_h, pad_w, gap_h, gap_w, MANY: tl.constexpr, WIDE: tl.constexpr,
                    SPLITS: tl.constexpr, BLOCK_P: tl.constexpr, BLOCK_C: tl.constexpr):
    """A tap's weights for a block of channels: places of the output are summed, by SPLITS parts in `parts`, whose elements stand in the order of the weights."""
    tap, split = tl.program_id(0), tl.program_id(2)
    c = tl.program_id(1) * BLOCK_C + tl.arange(0, BLOCK_C)
    there = c < CO
    if WIDE:
        images = tl.cast(images, tl.int64)
    steps = tl.cdiv(images * OH * OW, BLOCK_P)
    share = tl.cdiv(steps, SPLITS)
    total = tl.zeros((BLOCK_P, BLOCK_C), tl.float32)
    for step in range(split * share, min(steps, split * share + share)):
        place = step * BLOCK_P + tl.arange(0, BLOCK_P)
        image, row, column = place // (OH * OW), place // OW % OH, place % OW
        h = row * step_h - pad_h + tap // KW * gap_h
        v = column * step_w - pad_w + tap % KW * gap_w
        inside = (image < images) & (h >= 0) & (h < IH) & (v >= 0) & (v < IW)
        value = tl.load(x + (image * x_n + h * x_h + v * x_w)[:, None] + (c // MANY * x_c)[None, :], mask=inside[:, None] & there[None, :], other=0.0)
        gradient = tl.load(g + (image * g_n + row * g_h + column * g_w)[:, None] + (c * g_c)[None, :], mask=inside[:, None] & there[None, :], other=0.0)
        total += value.to(tl.float32) * gradient.to(tl.float32)
    tl.store(parts + (split * CO + c) * KH * KW + tap, tl.sum(total, 0), mask=there)
