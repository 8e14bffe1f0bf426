# Matrix products and convolutions, in Triton's language. Girih's own compiler reads this file; Python does not run it.
#
# Every tensor is given by its strides, so transposed and channels-last ones need no copy. Sums are in float32.
import triton
import triton.language as tl


@triton.jit
def matmul(out, a, b, c, M, N, K, alpha, beta,
           out_b, out_m, out_n, a_b, a_m, a_k, b_b, b_k, b_n, c_b, c_m, c_n,
           ADDS: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr):
    """out = alpha * a @ b, and beta * c is added where ADDS."""
    batch = tl.program_id(2)
    m = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    n = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    total = tl.zeros((BLOCK_M, BLOCK_N), tl.float32)
    for start in range(0, K, BLOCK_K):
        k = start + tl.arange(0, BLOCK_K)
        left = tl.load(a + batch * a_b + m[:, None] * a_m + k[None, :] * a_k, mask=(m[:, None] < M) & (k[None, :] < K), other=0.0)
        right = tl.load(b + batch * b_b + k[:, None] * b_k + n[None, :] * b_n, mask=(k[:, None] < K) & (n[None, :] < N), other=0.0)
        total = tl.dot(left, right, total, input_precision="ieee")
    inside = (m[:, None] < M) & (n[None, :] < N)
    result = total * alpha
    if ADDS:
        added = tl.load(c + batch * c_b + m[:, None] * c_m + n[None, :] * c_n, mask=inside, other=0.0)
        result += added.to(tl.float32) * beta
    tl.store(out + batch * out_b + m[:, None] * out_m + n[None, :] * out_n, result.to(out.dtype.element_ty), mask=inside)


@triton.jit
def convolution(out, x, w, bias, images, CI, CO, IH, IW, OH, OW,
                out_n, out_c, out_h, out_w, x_n, x_c, x_h, x_w, w_o, w_i, w_h, w_w,
                KH: tl.constexpr, KW: tl.constexpr, step_h, step_w, pad_h, pad_w, gap_h, gap_w,
                BIAS: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr):
    """A row of the product is a place of the output, a column is one of CO channels of a group, and CI channels are summed."""
    group = tl.program_id(2)
    place = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    channel = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    image = place // (OH * OW)
    row = (place // OW) % OH
    column = place % OW
    total = tl.zeros((BLOCK_M, BLOCK_N), tl.float32)
    for tap in range(0, KH * KW):
        kh = tap // KW
        kw = tap % KW
        h = row * step_h - pad_h + kh * gap_h
        v = column * step_w - pad_w + kw * gap_w
        inside = (image < images) & (h >= 0) & (h < IH) & (v >= 0) & (v < IW)
        for start in range(0, CI, BLOCK_K):
            c = start + tl.arange(0, BLOCK_K)
            at = image * x_n + h * x_h + v * x_w
            left = tl.load(x + at[:, None] + (group * CI + c)[None, :] * x_c, mask=inside[:, None] & (c[None, :] < CI), other=0.0)
            right = tl.load(w + (group * CO + channel)[None, :] * w_o + c[:, None] * w_i + kh * w_h + kw * w_w,
                            mask=(c[:, None] < CI) & (channel[None, :] < CO), other=0.0)
            total = tl.dot(left, right, total, input_precision="ieee")
    if BIAS:
        total += tl.load(bias + group * CO + channel, mask=channel < CO, other=0.0).to(tl.float32)[None, :]
    to = image * out_n + row * out_h + column * out_w
    tl.store(out + to[:, None] + (group * CO + channel)[None, :] * out_c, total.to(out.dtype.element_ty),
             mask=(image < images)[:, None] & (channel[None, :] < CO))


@triton.jit
def data_gradient(out, g, w, bias, images, CI, CO, IH, IW, OH, OW,
                  out_n, out_c, out_h, out_w, g_n, g_c, g_h, g_w, w_o, w_i, w_h, w_w,
                  KH: tl.constexpr, KW: tl.constexpr, step_h, step_w, pad_h, pad_w, gap_h, gap_w,
                  BIAS: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr):
    """The transposed convolution: a row is a place of the convolution's input, a column is one of CI channels, and CO channels are summed."""
    group = tl.program_id(2)
    place = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    channel = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    image = place // (IH * IW)
    row = (place // IW) % IH
    column = place % IW
    total = tl.zeros((BLOCK_M, BLOCK_N), tl.float32)
    for tap in range(0, KH * KW):
        kh = tap // KW
        kw = tap % KW
        h = row + pad_h - kh * gap_h
        v = column + pad_w - kw * gap_w
        # Only every step-th place of the input was met by this tap.
        met = (image < images) & (h >= 0) & (v >= 0) & (h % step_h == 0) & (v % step_w == 0)
        oh = h // step_h
        ow = v // step_w
        inside = met & (oh < OH) & (ow < OW)
        for start in range(0, CO, BLOCK_K):
            c = start + tl.arange(0, BLOCK_K)
            at = image * g_n + oh * g_h + ow * g_w
            left = tl.load(g + at[:, None] + (group * CO + c)[None, :] * g_c, mask=inside[:, None] & (c[None, :] < CO), other=0.0)
            right = tl.load(w + (group * CO + c)[:, None] * w_o + channel[None, :] * w_i + kh * w_h + kw * w_w,
                            mask=(c[:, None] < CO) & (channel[None, :] < CI), other=0.0)
            total = tl.dot(left, right, total, input_precision="ieee")
    if BIAS:
        total += tl.load(bias + group * CI + channel, mask=channel < CI, other=0.0).to(tl.float32)[None, :]
    to = image * out_n + row * out_h + column * out_w
    tl.store(out + to[:, None] + (group * CI + channel)[None, :] * out_c, total.to(out.dtype.element_ty),
             mask=(image < images)[:, None] & (channel[None, :] < CI))


@triton.jit
def weight_gradient(out, g, x, images, CI, CO, IH, IW, OH, OW,
                    out_o, out_i, out_h, out_w, g_n, g_c, g_h, g_w, x_n, x_c, x_h, x_w,
                    KW, step_h, step_w, pad_h, pad_w, gap_h, gap_w, groups,
                    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr):
    """For one tap and group: a row is one of CO channels, a column is one of CI channels, and places of the output are summed."""
    group = tl.program_id(2) % groups
    tap = tl.program_id(2) // groups
    kh = tap // KW
    kw = tap % KW
    co = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    ci = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    places = images * OH * OW
    total = tl.zeros((BLOCK_M, BLOCK_N), tl.float32)
    for start in range(0, places, BLOCK_K):
        place = start + tl.arange(0, BLOCK_K)
        image = place // (OH * OW)
        row = (place // OW) % OH
        column = place % OW
        h = row * step_h - pad_h + kh * gap_h
        v = column * step_w - pad_w + kw * gap_w
        left = tl.load(g + (group * CO + co)[:, None] * g_c + (image * g_n + row * g_h + column * g_w)[None, :],
                       mask=(co[:, None] < CO) & (place[None, :] < places), other=0.0)
        inside = (place < places) & (h >= 0) & (h < IH) & (v >= 0) & (v < IW)
        right = tl.load(x + (image * x_n + h * x_h + v * x_w)[:, None] + (group * CI + ci)[None, :] * x_c,
                        mask=inside[:, None] & (ci[None, :] < CI), other=0.0)
        total = tl.dot(left, right, total, input_precision="ieee")
    tl.store(out + (group * CO + co)[:, None] * out_o + ci[None, :] * out_i + kh * out_h + kw * out_w, total.to(out.dtype.element_ty),
             mask=(co[:, None] < CO) & (ci[None, :] < CI))
