# Matrix products and convolutions, in Triton's language. Girih's own compiler reads this file; Python does not run it.
#
# Every tensor is given by its strides, so transposed and channels-last ones need no copy. Sums are in float32. A convolution is a product whose factors are
# gathered. Where FLAT, its depth goes over taps and channels together, which wastes nothing if there are few channels; else each tap has its own blocks of
# channels, which are read as whole vectors. Offsets are 64 bits wide where WIDE.
import triton
import triton.language as tl


@triton.jit
def tile(pid, down, across, GROUP: tl.constexpr):
    """The row and the column of a tile. Programs are taken in groups of rows, so that what they read stays in the cache."""
    first = pid // (GROUP * across) * GROUP
    size = min(down - first, GROUP)
    inside = pid % (GROUP * across)
    return first + inside % size, inside // size


@triton.jit
def matmul(out, a, b, c, M, N, K, alpha, beta,
           out_s, out_b, out_m, out_n, a_b, a_m, a_k, b_b, b_k, b_n, c_b, c_m, c_n, rows, columns,
           ADDS: tl.constexpr, PRECISION: tl.constexpr, SPLITS: tl.constexpr, WIDE: tl.constexpr, REST: tl.constexpr,
           BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, GROUP: tl.constexpr):
    """out = alpha * a @ b, and beta * c is added where ADDS. Each of SPLITS parts of the depth has a result of its own, `out_s` after the last one.
    So many `rows` of a and `columns` of b can be read, which may be more than there are.

    REST says where the step is masked that reaches beyond the depth: in the loop ("inside"), behind it ("apart"), or nowhere, because there is none ("none").
    """
    split = tl.program_id(1)
    batch = tl.program_id(2)
    row, column = tile(tl.program_id(0), tl.cdiv(M, BLOCK_M), tl.cdiv(N, BLOCK_N), GROUP)
    m = row * BLOCK_M + tl.arange(0, BLOCK_M)
    n = column * BLOCK_N + tl.arange(0, BLOCK_N)
    k = tl.arange(0, BLOCK_K)
    if WIDE:
        m, n, k, batch, split = m.to(tl.int64), n.to(tl.int64), k.to(tl.int64), batch.to(tl.int64), split.to(tl.int64)
    steps = tl.cdiv(K, BLOCK_K)
    first = 0
    if SPLITS > 1:
        share = tl.cdiv(steps, SPLITS)
        first = split * share
        steps = min(steps - first, share)
    lefts = a + batch * a_b + m[:, None] * a_m + (first * BLOCK_K + k)[None, :] * a_k
    rights = b + batch * b_b + (first * BLOCK_K + k)[:, None] * b_k + n[None, :] * b_n
    remaining = K - first * BLOCK_K
    last = K // BLOCK_K - first
    total = tl.zeros((BLOCK_M, BLOCK_N), tl.float32)
    for step in range(0, min(steps, last) if REST == "apart" else steps):
        if REST == "inside":
            inside = k < remaining - step * BLOCK_K
            left = tl.load(lefts, mask=(m[:, None] < rows) & inside[None, :], other=0.0)
            right = tl.load(rights, mask=inside[:, None] & (n[None, :] < columns), other=0.0)
        else:
            left = tl.load(lefts, mask=m[:, None] < rows, other=0.0)
            right = tl.load(rights, mask=n[None, :] < columns, other=0.0)
        total = tl.dot(left, right, total, input_precision=PRECISION)
        lefts += BLOCK_K * a_k
        rights += BLOCK_K * b_k
    if REST == "apart":
        if (last >= 0) & (steps > last):
            inside = k < K % BLOCK_K
            left = tl.load(lefts, mask=(m[:, None] < rows) & inside[None, :], other=0.0)
            right = tl.load(rights, mask=inside[:, None] & (n[None, :] < columns), other=0.0)
            total = tl.dot(left, right, total, input_precision=PRECISION)
    kept = (m[:, None] < M) & (n[None, :] < N)
    total *= alpha
    if ADDS:
        added = tl.load(c + batch * c_b + m[:, None] * c_m + n[None, :] * c_n, mask=kept, other=0.0)
        total += added.to(tl.float32) * beta
    places = out + batch * out_b + m[:, None] * out_m + n[None, :] * out_n
    if SPLITS > 1:
        places += split * out_s
    tl.store(places, total.to(out.dtype.element_ty), mask=kept)


@triton.jit
def aligned(out, x, length, rows, out_b, out_r, x_b, x_r, WIDE: tl.constexpr, BLOCK: tl.constexpr):
    """Copies rows of matrices to where they are `out_r` apart. What is behind the length of a row is not said."""
    program = tl.program_id(0)
    if WIDE:
        program = program.to(tl.int64)
    blocks = tl.cdiv(length, BLOCK)
    row = program // blocks
    at = program % blocks * BLOCK + tl.arange(0, BLOCK)
    batch, row = row // rows, row % rows
    tl.store(out + batch * out_b + row * out_r + at, tl.load(x + batch * x_b + row * x_r + at, mask=at < length, other=0.0), mask=at < length)


@triton.jit
def finish(out, parts, c, count, size_1, size_2, size_3, alpha, beta,
           out_0, out_1, out_2, out_3, c_0, c_1, c_2, c_3,
           ADDS: tl.constexpr, SPLITS: tl.constexpr, WIDE: tl.constexpr, BLOCK: tl.constexpr):
    """out = alpha * the sum of SPLITS parts, which stand one after the other without gaps, and beta * c is added where ADDS."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    if WIDE:
        at = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    inside = at < count
    total = tl.zeros((BLOCK,), tl.float32)
    for split in tl.static_range(SPLITS):
        total += tl.load(parts + at, mask=inside, other=0.0)
        parts += count
    i3 = at % size_3
    i2 = at // size_3 % size_2
    i1 = at // (size_3 * size_2) % size_1
    i0 = at // (size_3 * size_2 * size_1)
    total *= alpha
    if ADDS:
        total += tl.load(c + i0 * c_0 + i1 * c_1 + i2 * c_2 + i3 * c_3, mask=inside, other=0.0).to(tl.float32) * beta
    tl.store(out + i0 * out_0 + i1 * out_1 + i2 * out_2 + i3 * out_3, total.to(out.dtype.element_ty), mask=inside)


@triton.jit
def taps_of(step, k, channels, taps, BLOCK_K: tl.constexpr):
    """The taps and the channels of a step of the depth that goes over both together, and which of them there are."""
    flat = step * BLOCK_K + k
    return flat // channels, flat % channels, flat < taps * channels


@triton.jit
def tap_of(step, k, channels, BLOCK_K: tl.constexpr):
    """The tap and the channels of a step of the depth that has one tap."""
    blocks = tl.cdiv(channels, BLOCK_K)
    return step // blocks, step % blocks * BLOCK_K + k


@triton.jit
def forward(out, x, w, bias, bias_o, images, CI, CO, IH, IW, OH, OW,
            out_n, out_c, out_h, out_w, x_n, x_c, x_h, x_w, w_o, w_i, w_h, w_w,
            KH: tl.constexpr, KW: tl.constexpr, step_h, step_w, pad_h, pad_w, gap_h, gap_w,
            out_first, w_first, BIAS: tl.constexpr, FLAT: tl.constexpr, PRECISION: tl.constexpr, WIDE: tl.constexpr,
            BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, GROUP: tl.constexpr):
    """A row of the product is a place of the output, a column is one of CO channels of a group; taps and CI channels are summed."""
    group = tl.program_id(2)
    out += out_first
    w += w_first
    if WIDE:
        images = tl.cast(images, tl.int64)
    down, across = tile(tl.program_id(0), tl.cdiv(images * OH * OW, BLOCK_M), tl.cdiv(CO, BLOCK_N), GROUP)
    place = down * BLOCK_M + tl.arange(0, BLOCK_M)
    channel = across * BLOCK_N + tl.arange(0, BLOCK_N)
    k = tl.arange(0, BLOCK_K)
    image = place // (OH * OW)
    row = (place // OW) % OH * step_h - pad_h
    column = place % OW * step_w - pad_w
    if WIDE:
        image, channel, k = image.to(tl.int64), channel.to(tl.int64), k.to(tl.int64)
        row, column, group = row.to(tl.int64), column.to(tl.int64), group.to(tl.int64)
    x += group * CI * x_c
    w += group * CO * w_o
    steps = tl.cdiv(KH * KW * CI, BLOCK_K) if FLAT else KH * KW * tl.cdiv(CI, BLOCK_K)
    total = tl.zeros((BLOCK_M, BLOCK_N), tl.float32)
    for step in range(0, steps):
        if FLAT:
            tap, c, there = taps_of(step, k, CI, KH * KW, BLOCK_K)
            kh = tap // KW
            kw = tap % KW
            h = row[:, None] + (kh * gap_h)[None, :]
            v = column[:, None] + (kw * gap_w)[None, :]
            inside = (image < images)[:, None] & (h >= 0) & (h < IH) & (v >= 0) & (v < IW) & there[None, :]
            left = tl.load(x + (image * x_n)[:, None] + h * x_h + v * x_w + (c * x_c)[None, :], mask=inside, other=0.0)
            right = tl.load(w + (channel * w_o)[None, :] + (c * w_i + kh * w_h + kw * w_w)[:, None],
                            mask=there[:, None] & (channel < CO)[None, :], other=0.0)
        else:
            tap, c = tap_of(step, k, CI, BLOCK_K)
            h = row + tap // KW * gap_h
            v = column + tap % KW * gap_w
            inside = (image < images) & (h >= 0) & (h < IH) & (v >= 0) & (v < IW)
            left = tl.load(x + (image * x_n + h * x_h + v * x_w)[:, None] + (c * x_c)[None, :], mask=inside[:, None] & (c < CI)[None, :], other=0.0)
            right = tl.load(w + (channel * w_o)[None, :] + (c * w_i)[:, None] + (tap // KW * w_h + tap % KW * w_w),
                            mask=(c < CI)[:, None] & (channel < CO)[None, :], other=0.0)
        total = tl.dot(left, right, total, input_precision=PRECISION)
    if BIAS:
        total += tl.load(bias + (group * CO + channel) * bias_o, mask=channel < CO, other=0.0).to(tl.float32)[None, :]
    row = (place // OW) % OH
    column = place % OW
    if WIDE:
        row, column = row.to(tl.int64), column.to(tl.int64)
    to = image * out_n + row * out_h + column * out_w
    tl.store(out + to[:, None] + ((group * CO + channel) * out_c)[None, :], total.to(out.dtype.element_ty),
             mask=(image < images)[:, None] & (channel < CO)[None, :])


@triton.jit
def data_gradient(out, g, w, bias, bias_o, images, CI, CO, IH, IW, OH, OW,
                  out_n, out_c, out_h, out_w, g_n, g_c, g_h, g_w, w_o, w_i, w_h, w_w,
                  KH: tl.constexpr, KW: tl.constexpr, step_h, step_w, pad_h, pad_w, gap_h, gap_w,
                  out_first, w_first, BIAS: tl.constexpr, FLAT: tl.constexpr, PRECISION: tl.constexpr, WIDE: tl.constexpr,
                  BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, GROUP: tl.constexpr):
    """The transposed convolution: a row is a place of the convolution's input, a column is one of CI channels; taps and CO channels are summed."""
    group = tl.program_id(2)
    out += out_first
    w += w_first
    if WIDE:
        images = tl.cast(images, tl.int64)
    down, across = tile(tl.program_id(0), tl.cdiv(images * IH * IW, BLOCK_M), tl.cdiv(CI, BLOCK_N), GROUP)
    place = down * BLOCK_M + tl.arange(0, BLOCK_M)
    channel = across * BLOCK_N + tl.arange(0, BLOCK_N)
    k = tl.arange(0, BLOCK_K)
    image = place // (IH * IW)
    row = (place // IW) % IH
    column = place % IW
    if WIDE:
        image, channel, k = image.to(tl.int64), channel.to(tl.int64), k.to(tl.int64)
        row, column, group = row.to(tl.int64), column.to(tl.int64), group.to(tl.int64)
    g += group * CO * g_c
    w += group * CO * w_o
    steps = tl.cdiv(KH * KW * CO, BLOCK_K) if FLAT else KH * KW * tl.cdiv(CO, BLOCK_K)
    total = tl.zeros((BLOCK_M, BLOCK_N), tl.float32)
    for step in range(0, steps):
        # Only every step-th place of the input was met by a tap.
        if FLAT:
            tap, c, there = taps_of(step, k, CO, KH * KW, BLOCK_K)
            kh = tap // KW
            kw = tap % KW
            h = (row + pad_h)[:, None] - (kh * gap_h)[None, :]
            v = (column + pad_w)[:, None] - (kw * gap_w)[None, :]
            oh = h // step_h
            ow = v // step_w
            met = (h >= 0) & (v >= 0) & (h % step_h == 0) & (v % step_w == 0) & (oh < OH) & (ow < OW)
            inside = (image < images)[:, None] & met & there[None, :]
            left = tl.load(g + (image * g_n)[:, None] + oh * g_h + ow * g_w + (c * g_c)[None, :], mask=inside, other=0.0)
            right = tl.load(w + (channel * w_i)[None, :] + (c * w_o + kh * w_h + kw * w_w)[:, None],
                            mask=there[:, None] & (channel < CI)[None, :], other=0.0)
        else:
            tap, c = tap_of(step, k, CO, BLOCK_K)
            h = row + pad_h - tap // KW * gap_h
            v = column + pad_w - tap % KW * gap_w
            oh = h // step_h
            ow = v // step_w
            met = (h >= 0) & (v >= 0) & (h % step_h == 0) & (v % step_w == 0) & (oh < OH) & (ow < OW) & (image < images)
            left = tl.load(g + (image * g_n + oh * g_h + ow * g_w)[:, None] + (c * g_c)[None, :], mask=met[:, None] & (c < CO)[None, :], other=0.0)
            right = tl.load(w + (channel * w_i)[None, :] + (c * w_o)[:, None] + (tap // KW * w_h + tap % KW * w_w),
                            mask=(c < CO)[:, None] & (channel < CI)[None, :], other=0.0)
        total = tl.dot(left, right, total, input_precision=PRECISION)
    if BIAS:
        total += tl.load(bias + (group * CI + channel) * bias_o, mask=channel < CI, other=0.0).to(tl.float32)[None, :]
    to = image * out_n + row * out_h + column * out_w
    tl.store(out + to[:, None] + ((group * CI + channel) * out_c)[None, :], total.to(out.dtype.element_ty),
             mask=(image < images)[:, None] & (channel < CI)[None, :])


@triton.jit
def weight_gradient(parts, g, x, images, CI, CO, IH, IW, OH, OW,
                    g_n, g_c, g_h, g_w, x_n, x_c, x_h, x_w,
                    KH: tl.constexpr, KW: tl.constexpr, step_h, step_w, pad_h, pad_w, gap_h, gap_w, groups,
                    ONE_TAP: tl.constexpr, SPLITS: tl.constexpr, PRECISION: tl.constexpr, WIDE: tl.constexpr,
                    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, GROUP: tl.constexpr):
    """A row is one of CO channels, a column is a tap and one of CI channels, and places of the output are summed, by SPLITS parts in `parts`, whose
    elements stand in the order of the weights. Channels are the inner part of columns. Where ONE_TAP, blocks of columns do not go beyond a tap."""
    group = tl.program_id(2)
    split = tl.program_id(1)
    columns = KH * KW * CI
    if WIDE:
        images = tl.cast(images, tl.int64)
    down, across = tile(tl.program_id(0), tl.cdiv(CO, BLOCK_M), tl.cdiv(columns, BLOCK_N), GROUP)
    co = down * BLOCK_M + tl.arange(0, BLOCK_M)
    flat = across * BLOCK_N + tl.arange(0, BLOCK_N)
    tap = flat // CI
    ci = flat % CI
    kh = tap // KW
    kw = tap % KW
    places = images * OH * OW
    steps = tl.cdiv(places, BLOCK_K)
    first = 0
    if SPLITS > 1:
        share = tl.cdiv(steps, SPLITS)
        first = split * share
        steps = min(steps - first, share)
    lefts = (group * CO + co) * g_c
    rights = (group * CI + ci) * x_c
    if WIDE:
        lefts, rights = (group * CO + co).to(tl.int64) * g_c, (group * CI + ci).to(tl.int64) * x_c
    total = tl.zeros((BLOCK_M, BLOCK_N), tl.float32)
    for step in range(0, steps):
        place = (first + step) * BLOCK_K + tl.arange(0, BLOCK_K)
        image = place // (OH * OW)
        row = (place // OW) % OH
        column = place % OW
        if WIDE:
            image, row, column = image.to(tl.int64), row.to(tl.int64), column.to(tl.int64)
        left = tl.load(g + lefts[:, None] + (image * g_n + row * g_h + column * g_w)[None, :],
                       mask=(co < CO)[:, None] & (place < places)[None, :], other=0.0)
        if ONE_TAP:
            h = row * step_h - pad_h + across * BLOCK_N // CI // KW * gap_h
            v = column * step_w - pad_w + across * BLOCK_N // CI % KW * gap_w
            inside = (place < places) & (h >= 0) & (h < IH) & (v >= 0) & (v < IW)
            right = tl.load(x + (image * x_n + h * x_h + v * x_w)[:, None] + rights[None, :], mask=inside[:, None], other=0.0)
        else:
            h = (row * step_h - pad_h)[:, None] + (kh * gap_h)[None, :]
            v = (column * step_w - pad_w)[:, None] + (kw * gap_w)[None, :]
            inside = (place < places)[:, None] & (h >= 0) & (h < IH) & (v >= 0) & (v < IW) & (flat < columns)[None, :]
            right = tl.load(x + (image * x_n)[:, None] + h * x_h + v * x_w + rights[None, :], mask=inside, other=0.0)
        total = tl.dot(left, right, total, input_precision=PRECISION)
    if WIDE:
        group, split, flat, ci, tap = group.to(tl.int64), split.to(tl.int64), flat.to(tl.int64), ci.to(tl.int64), tap.to(tl.int64)
    to = ((split * groups + group) * CO + co)[:, None] * columns + (ci * KH * KW + tap)[None, :]
    tl.store(parts + to, total, mask=(co < CO)[:, None] & (flat < columns)[None, :])
