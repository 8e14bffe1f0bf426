# softmax(Q K^T * scale) V, without ever holding the whole matrix of scores: a program takes a block of queries and goes through the keys.
import triton
import triton.language as tl


@triton.jit
def step(acc, total, most, q, k, v, seen, scale):
    scores = tl.where(seen, tl.dot(q, tl.trans(k)) * scale, -1.0e30)
    now = tl.maximum(most, tl.max(scores, 1))
    weights = tl.exp2(scores - now[:, None])
    old = tl.exp2(most - now)
    acc = tl.dot(weights.to(v.dtype), v, acc * old[:, None])
    return acc, total * old + tl.sum(weights, 1), now


@triton.jit
def attention(
    q_ptr, k_ptr, v_ptr, out_ptr, n, scale,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, HEAD: tl.constexpr, CAUSAL: tl.constexpr = False,
):
    start = tl.program_id(0) * BLOCK_M
    head = tl.program_id(1).to(tl.int64) * n * HEAD
    rows = start + tl.arange(0, BLOCK_M)
    depth = tl.arange(0, HEAD)
    q = tl.load(q_ptr + head + rows[:, None] * HEAD + depth[None, :], mask=rows[:, None] < n, other=0.0)
    acc = tl.zeros([BLOCK_M, HEAD], dtype=tl.float32)
    total = tl.zeros([BLOCK_M], dtype=tl.float32)
    most = tl.full([BLOCK_M], -float("inf"), tl.float32)
    # exp2 is one instruction where exp is two.
    scale *= 1.44269504
    end = n
    if CAUSAL:
        end = tl.minimum(n, start + BLOCK_M)
    for first in range(0, end, BLOCK_N):
        keys = first + tl.arange(0, BLOCK_N)
        at = head + keys[:, None] * HEAD + depth[None, :]
        k = tl.load(k_ptr + at, mask=keys[:, None] < n, other=0.0)
        v = tl.load(v_ptr + at, mask=keys[:, None] < n, other=0.0)
        seen = keys[None, :] < n
        if CAUSAL:
            seen = seen & (rows[:, None] >= keys[None, :])
        acc, total, most = step(acc, total, most, q, k, v, seen, scale)
    out = (acc / total[:, None]).to(out_ptr.dtype.element_ty)
    tl.store(out_ptr + head + rows[:, None] * HEAD + depth[None, :], out, mask=rows[:, None] < n)
