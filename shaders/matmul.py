# C = activation(A B). Programs are taken in groups of rows, so that blocks of B stay in the cache.
import triton
import triton.language as tl

CONFIGS = [
    triton.Config({"BLOCK_M": m, "BLOCK_N": n, "BLOCK_K": k, "GROUP": 8}, num_warps=w, num_stages=3)
    for m, n, k, w in [(32, 32, 32, 4), (64, 64, 32, 4), (128, 128, 32, 8), (128, 128, 64, 4), (128, 256, 64, 8)]
]


@triton.jit
def leaky(x):
    return tl.where(x >= 0, x, 0.01 * x)


@triton.jit
def place(pid, m, n, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, GROUP: tl.constexpr):
    across = tl.cdiv(n, BLOCK_N)
    group = pid // (GROUP * across)
    first = group * GROUP
    size = min(tl.cdiv(m, BLOCK_M) - first, GROUP)
    inside = pid % (GROUP * across)
    return first + inside % size, inside // size


@triton.autotune(configs=CONFIGS, key=["m", "n", "k"])
@triton.jit
def matmul(
    a_ptr, b_ptr, c_ptr,
    m, n, k,
    stride_am, stride_ak, stride_bk, stride_bn, stride_cm, stride_cn,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, GROUP: tl.constexpr,
    ACTIVATION: tl.constexpr = "", PRECISION: tl.constexpr = None,
):
    row, column = place(tl.program_id(0), m, n, BLOCK_M, BLOCK_N, GROUP)
    # Rows and columns beyond the edges repeat the first ones; they are not stored.
    rm = (row * BLOCK_M + tl.arange(0, BLOCK_M)) % m
    rn = (column * BLOCK_N + tl.arange(0, BLOCK_N)) % n
    rk = tl.arange(0, BLOCK_K)
    a_ptrs = a_ptr + rm[:, None] * stride_am + rk[None, :] * stride_ak
    b_ptrs = b_ptr + rk[:, None] * stride_bk + rn[None, :] * stride_bn
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for step in range(0, tl.cdiv(k, BLOCK_K)):
        left = k - step * BLOCK_K
        a = tl.load(a_ptrs, mask=rk[None, :] < left, other=0.0)
        b = tl.load(b_ptrs, mask=rk[:, None] < left, other=0.0)
        acc = tl.dot(a, b, acc, input_precision=PRECISION)
        a_ptrs += BLOCK_K * stride_ak
        b_ptrs += BLOCK_K * stride_bk
    if ACTIVATION == "leaky":
        acc = leaky(acc)
    cm = row * BLOCK_M + tl.arange(0, BLOCK_M)
    cn = column * BLOCK_N + tl.arange(0, BLOCK_N)
    c_ptrs = c_ptr + cm[:, None] * stride_cm + cn[None, :] * stride_cn
    tl.store(c_ptrs, acc.to(c_ptr.dtype.element_ty), mask=(cm[:, None] < m) & (cn[None, :] < n))
