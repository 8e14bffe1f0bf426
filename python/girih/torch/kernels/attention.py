# Attention, in Triton's language. Girih's own compiler reads this file; Python does not run it.
#
# Scores are never in memory: a program goes over blocks of keys and keeps, for each query, the largest score so far and the sum of exponentials below it, by which it
# scales what it has summed when a larger one comes (Milakov and Gimelshein 2018; Dao et al., FlashAttention-2, 2023). Exponentials have base 2. For the gradients the
# scores are computed again from the logarithms of these sums. A query head reads the key head of its group. Sums are in float32.
import triton
import triton.language as tl

LOG2E = tl.constexpr(1.4426950408889634)


@triton.jit
def rows_of(memory, at, there, row_step, channel, channel_step, D: tl.constexpr):
    """Rows of a matrix of D channels."""
    return tl.load(memory + at[:, None] * row_step + channel[None, :] * channel_step, mask=there[:, None] & (channel < D)[None, :], other=0.0)


@triton.jit
def columns_of(memory, at, there, row_step, channel, channel_step, D: tl.constexpr):
    """Rows of a matrix of D channels, as columns."""
    return tl.load(memory + at[None, :] * row_step + channel[:, None] * channel_step, mask=there[None, :] & (channel < D)[:, None], other=0.0)


@triton.jit
def scored(scores, bias, m, n, M, N, scale, bias_m, bias_n, BIAS: tl.constexpr, CAUSAL: tl.constexpr, EDGE: tl.constexpr):
    """Scores with their factor and what is added to them, of queries `m` and keys `n`; those that are left out are minus infinity."""
    scores *= scale * LOG2E
    there = (m < M) & (n < N)
    if BIAS:
        scores += tl.load(bias + m * bias_m + n * bias_n, mask=there, other=0.0).to(tl.float32) * LOG2E
    if EDGE:
        if CAUSAL:
            there = there & (m >= n)
        scores = tl.where(there, scores, float("-inf"))
    return scores


@triton.jit
def step_forward(total, most, result, query, k, v, bias, start, m, channel, M, N, scale, k_n, k_d, v_n, v_d, bias_m, bias_n,
                 D: tl.constexpr, BIAS: tl.constexpr, CAUSAL: tl.constexpr, EDGE: tl.constexpr, PRECISION: tl.constexpr, BLOCK_N: tl.constexpr):
    """Takes another block of keys."""
    n = start + tl.arange(0, BLOCK_N)
    scores = tl.dot(query, columns_of(k, n, n < N, k_n, channel, k_d, D), input_precision=PRECISION)
    scores = scored(scores, bias, m[:, None], n[None, :], M, N, scale, bias_m, bias_n, BIAS, CAUSAL, EDGE)
    larger = tl.maximum(most, tl.max(scores, 1))
    # A query without any key so far.
    origin = tl.where(larger == float("-inf"), 0.0, larger)
    weights = tl.exp2(scores - origin[:, None])
    factor = tl.exp2(most - origin)
    total = total * factor + tl.sum(weights, 1)
    value = rows_of(v, n, n < N, v_n, channel, v_d, D)
    result = tl.dot(weights.to(value.dtype), value, result * factor[:, None], input_precision=PRECISION)
    return total, larger, result


@triton.jit
def forward(out, logs, q, k, v, bias, scale, heads, group, M, N,
            out_b, out_h, out_m, out_d, q_b, q_h, q_m, q_d, k_b, k_h, k_n, k_d, v_b, v_h, v_n, v_d, bias_b, bias_h, bias_m, bias_n,
            D: tl.constexpr, BIAS: tl.constexpr, CAUSAL: tl.constexpr, PRECISION: tl.constexpr,
            BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_D: tl.constexpr):
    """out = softmax(q @ k.T * scale + bias) @ v for a block of queries of a head; `logs` are the logarithms of the sums."""
    block, head, batch = tl.program_id(0), tl.program_id(1), tl.program_id(2).to(tl.int64)
    other = head // group
    q += batch * q_b + head * q_h
    k += batch * k_b + other * k_h
    v += batch * v_b + other * v_h
    bias += batch * bias_b + head * bias_h
    m = block * BLOCK_M + tl.arange(0, BLOCK_M)
    channel = tl.arange(0, BLOCK_D)
    query = rows_of(q, m, m < M, q_m, channel, q_d, D)
    total = tl.zeros((BLOCK_M,), tl.float32)
    most = tl.full((BLOCK_M,), float("-inf"), tl.float32)
    result = tl.zeros((BLOCK_M, BLOCK_D), tl.float32)
    whole, end = N // BLOCK_N * BLOCK_N, N
    if CAUSAL:
        end = min(N, (block + 1) * BLOCK_M)
        whole = min(whole, block * BLOCK_M // BLOCK_N * BLOCK_N)
    for start in range(0, whole, BLOCK_N):
        total, most, result = step_forward(total, most, result, query, k, v, bias, start, m, channel, M, N, scale, k_n, k_d, v_n, v_d, bias_m, bias_n,
                                           D, BIAS, CAUSAL, False, PRECISION, BLOCK_N)
    for start in range(whole, end, BLOCK_N):
        total, most, result = step_forward(total, most, result, query, k, v, bias, start, m, channel, M, N, scale, k_n, k_d, v_n, v_d, bias_m, bias_n,
                                           D, BIAS, CAUSAL, True, PRECISION, BLOCK_N)
    # A query for which all keys are left out gives zeros.
    empty = total == 0.0
    result = result / tl.where(empty, 1.0, total)[:, None]
    tl.store(logs + (batch * heads + head) * M + m, tl.where(empty, 0.0, most + tl.log2(total)), mask=m < M)
    to = out + batch * out_b + head * out_h + m[:, None] * out_m + channel[None, :] * out_d
    tl.store(to, result.to(out.dtype.element_ty), mask=(m < M)[:, None] & (channel < D)[None, :])


@triton.jit
def inner(sums, out, g, heads, M, out_b, out_h, out_m, out_d, g_b, g_h, g_m, g_d, D: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_D: tl.constexpr):
    """For each query, the sum of its result times that result's gradient."""
    block, head, batch = tl.program_id(0), tl.program_id(1), tl.program_id(2).to(tl.int64)
    m = block * BLOCK_M + tl.arange(0, BLOCK_M)
    channel = tl.arange(0, BLOCK_D)
    result = rows_of(out + batch * out_b + head * out_h, m, m < M, out_m, channel, out_d, D).to(tl.float32)
    gradient = rows_of(g + batch * g_b + head * g_h, m, m < M, g_m, channel, g_d, D).to(tl.float32)
    tl.store(sums + (batch * heads + head) * M + m, tl.sum(result * gradient, 1), mask=m < M)


@triton.jit
def step_keys(key_gradient, value_gradient, key, value, q, g, bias, logs, sums, start, n, channel, M, N, scale, q_m, q_d, g_m, g_d, bias_m, bias_n,
              D: tl.constexpr, BIAS: tl.constexpr, CAUSAL: tl.constexpr, EDGE: tl.constexpr, PRECISION: tl.constexpr, BLOCK_M: tl.constexpr):
    """Takes another block of queries."""
    m = start + tl.arange(0, BLOCK_M)
    query = rows_of(q, m, m < M, q_m, channel, q_d, D)
    gradient = rows_of(g, m, m < M, g_m, channel, g_d, D)
    log = tl.load(logs + m, mask=m < M, other=0.0)
    sum = tl.load(sums + m, mask=m < M, other=0.0)
    scores = tl.dot(key, tl.trans(query), input_precision=PRECISION)
    scores = scored(scores, bias, m[None, :], n[:, None], M, N, scale, bias_m, bias_n, BIAS, CAUSAL, EDGE)
    weights = tl.exp2(scores - log[None, :])
    value_gradient = tl.dot(weights.to(gradient.dtype), gradient, value_gradient, input_precision=PRECISION)
    change = weights * (tl.dot(value, tl.trans(gradient), input_precision=PRECISION) - sum[None, :])
    key_gradient = tl.dot(change.to(query.dtype), query, key_gradient, input_precision=PRECISION)
    return key_gradient, value_gradient


@triton.jit
def keys_backward(k_out, v_out, q, k, v, g, bias, logs, sums, scale, heads, group, M, N,
                  k_out_b, k_out_h, k_out_n, k_out_d, v_out_b, v_out_h, v_out_n, v_out_d,
                  q_b, q_h, q_m, q_d, k_b, k_h, k_n, k_d, v_b, v_h, v_n, v_d, g_b, g_h, g_m, g_d, bias_b, bias_h, bias_m, bias_n,
                  D: tl.constexpr, BIAS: tl.constexpr, CAUSAL: tl.constexpr, PRECISION: tl.constexpr,
                  BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_D: tl.constexpr):
    """The gradients of a block of keys and values of a head, summed over the queries of its group."""
    block, other, batch = tl.program_id(0), tl.program_id(1), tl.program_id(2).to(tl.int64)
    n = block * BLOCK_N + tl.arange(0, BLOCK_N)
    channel = tl.arange(0, BLOCK_D)
    key = rows_of(k + batch * k_b + other * k_h, n, n < N, k_n, channel, k_d, D)
    value = rows_of(v + batch * v_b + other * v_h, n, n < N, v_n, channel, v_d, D)
    key_gradient = tl.zeros((BLOCK_N, BLOCK_D), tl.float32)
    value_gradient = tl.zeros((BLOCK_N, BLOCK_D), tl.float32)
    # Where queries do not see later keys, the blocks on the diagonal need a look at each place. Queries beyond the last one add nothing, because their gradient is zero.
    first, second = 0, 0
    if CAUSAL:
        first = block * BLOCK_N // BLOCK_M * BLOCK_M
        second = min(tl.cdiv((block + 1) * BLOCK_N, BLOCK_M) * BLOCK_M, M)
    for head in range(other * group, other * group + group):
        queries = q + batch * q_b + head * q_h
        gradients = g + batch * g_b + head * g_h
        added = bias + batch * bias_b + head * bias_h
        row = (batch * heads + head) * M
        for start in range(first, second, BLOCK_M):
            key_gradient, value_gradient = step_keys(key_gradient, value_gradient, key, value, queries, gradients, added, logs + row, sums + row, start, n, channel,
                                                     M, N, scale, q_m, q_d, g_m, g_d, bias_m, bias_n, D, BIAS, CAUSAL, True, PRECISION, BLOCK_M)
        for start in range(second, M, BLOCK_M):
            key_gradient, value_gradient = step_keys(key_gradient, value_gradient, key, value, queries, gradients, added, logs + row, sums + row, start, n, channel,
                                                     M, N, scale, q_m, q_d, g_m, g_d, bias_m, bias_n, D, BIAS, CAUSAL, False, PRECISION, BLOCK_M)
    there = (n < N)[:, None] & (channel < D)[None, :]
    to = k_out + batch * k_out_b + other * k_out_h + n[:, None] * k_out_n + channel[None, :] * k_out_d
    tl.store(to, (key_gradient * scale).to(k_out.dtype.element_ty), mask=there)
    to = v_out + batch * v_out_b + other * v_out_h + n[:, None] * v_out_n + channel[None, :] * v_out_d
    tl.store(to, value_gradient.to(v_out.dtype.element_ty), mask=there)


@triton.jit
def step_queries(result, query, gradient, log, sum, k, v, bias, start, m, channel, M, N, scale, k_n, k_d, v_n, v_d, bias_m, bias_n,
                 D: tl.constexpr, BIAS: tl.constexpr, CAUSAL: tl.constexpr, EDGE: tl.constexpr, PRECISION: tl.constexpr, BLOCK_N: tl.constexpr):
    """Takes another block of keys."""
    n = start + tl.arange(0, BLOCK_N)
    key = rows_of(k, n, n < N, k_n, channel, k_d, D)
    scores = tl.dot(query, tl.trans(key), input_precision=PRECISION)
    scores = scored(scores, bias, m[:, None], n[None, :], M, N, scale, bias_m, bias_n, BIAS, CAUSAL, EDGE)
    weights = tl.exp2(scores - log[:, None])
    change = weights * (tl.dot(gradient, columns_of(v, n, n < N, v_n, channel, v_d, D), input_precision=PRECISION) - sum[:, None])
    return tl.dot(change.to(key.dtype), key, result, input_precision=PRECISION)


@triton.jit
def queries_backward(out, q, k, v, g, bias, logs, sums, scale, heads, group, M, N,
                     out_b, out_h, out_m, out_d, q_b, q_h, q_m, q_d, k_b, k_h, k_n, k_d, v_b, v_h, v_n, v_d, g_b, g_h, g_m, g_d, bias_b, bias_h, bias_m, bias_n,
                     D: tl.constexpr, BIAS: tl.constexpr, CAUSAL: tl.constexpr, PRECISION: tl.constexpr,
                     BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_D: tl.constexpr):
    """The gradient of a block of queries of a head."""
    block, head, batch = tl.program_id(0), tl.program_id(1), tl.program_id(2).to(tl.int64)
    other = head // group
    k += batch * k_b + other * k_h
    v += batch * v_b + other * v_h
    bias += batch * bias_b + head * bias_h
    m = block * BLOCK_M + tl.arange(0, BLOCK_M)
    channel = tl.arange(0, BLOCK_D)
    query = rows_of(q + batch * q_b + head * q_h, m, m < M, q_m, channel, q_d, D)
    gradient = rows_of(g + batch * g_b + head * g_h, m, m < M, g_m, channel, g_d, D)
    row = (batch * heads + head) * M
    log = tl.load(logs + row + m, mask=m < M, other=0.0)
    sum = tl.load(sums + row + m, mask=m < M, other=0.0)
    result = tl.zeros((BLOCK_M, BLOCK_D), tl.float32)
    whole, end = N // BLOCK_N * BLOCK_N, N
    if CAUSAL:
        end = min(N, (block + 1) * BLOCK_M)
        whole = min(whole, block * BLOCK_M // BLOCK_N * BLOCK_N)
    for start in range(0, whole, BLOCK_N):
        result = step_queries(result, query, gradient, log, sum, k, v, bias, start, m, channel, M, N, scale, k_n, k_d, v_n, v_d, bias_m, bias_n,
                              D, BIAS, CAUSAL, False, PRECISION, BLOCK_N)
    for start in range(whole, end, BLOCK_N):
        result = step_queries(result, query, gradient, log, sum, k, v, bias, start, m, channel, M, N, scale, k_n, k_d, v_n, v_d, bias_m, bias_n,
                              D, BIAS, CAUSAL, True, PRECISION, BLOCK_N)
    to = out + batch * out_b + head * out_h + m[:, None] * out_m + channel[None, :] * out_d
    tl.store(to, (result * scale).to(out.dtype.element_ty), mask=(m < M)[:, None] & (channel < D)[None, :])
