# Small kernels that stress what operations mean where compilers go wrong: signs, types that meet, rounding, masks, order, joins of control flow.
# `values.json` says what they are given, and what Triton 3.6 computes by its own interpreter.

import triton
import triton.language as tl

@triton.jit
def div_mod(a, b, q, r, N: tl.constexpr):
    i = tl.arange(0, N)
    x = tl.load(a + i)
    y = tl.load(b + i)
    tl.store(q + i, x // y)
    tl.store(r + i, x % y)

@triton.jit
def mixed_types(a, b, o1, o2, o3, o4, N: tl.constexpr):
    i = tl.arange(0, N)
    x = tl.load(a + i)
    y = tl.load(b + i)
    tl.store(o1 + i, x + y)
    tl.store(o2 + i, x * y)
    tl.store(o3 + i, x - y)
    tl.store(o4 + i, (x < y).to(tl.int32) + 2 * (x == y).to(tl.int32) + 4 * (x >= y).to(tl.int32))

@triton.jit
def scalars(a, o1, o2, o3, o4, N: tl.constexpr, S: tl.constexpr, F: tl.constexpr):
    i = tl.arange(0, N)
    x = tl.load(a + i)
    tl.store(o1 + i, x + S)
    tl.store(o2 + i, S - x)
    tl.store(o3 + i, x * F)
    tl.store(o4 + i, x / F)

@triton.jit
def shifts(a, o1, o2, o3, o4, N: tl.constexpr):
    i = tl.arange(0, N)
    x = tl.load(a + i)
    tl.store(o1 + i, x >> 3)
    tl.store(o2 + i, x << 2)
    tl.store(o3 + i, ~x)
    tl.store(o4 + i, -x)

@triton.jit
def to_int(a, o, N: tl.constexpr, T: tl.constexpr):
    i = tl.arange(0, N)
    x = tl.load(a + i)
    tl.store(o + i, x.to(T))

@triton.jit
def bits(a, o, N: tl.constexpr, T: tl.constexpr):
    i = tl.arange(0, N)
    x = tl.load(a + i)
    tl.store(o + i, x.to(T, bitcast=True))

@triton.jit
def other_int(a, o, n, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(o + i, tl.load(a + i, mask=i < n, other=7))

@triton.jit
def other_float(a, o, n, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(o + i, tl.load(a + i, mask=i < n, other=-1.75))

@triton.jit
def other_inf(a, o, n, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(o + i, tl.load(a + i, mask=i < n, other=-float('inf')))

@triton.jit
def reversed_rows(a, o, stride, N: tl.constexpr):
    i = tl.arange(0, N)
    r = tl.program_id(0)
    x = tl.load(a + r * N + (N - 1) * 1 + i * stride)
    tl.store(o + r * N + i, x)

@triton.jit
def broadcast_store(o, v, N: tl.constexpr, M: tl.constexpr):
    r = tl.arange(0, N)[:, None]
    c = tl.arange(0, M)[None, :]
    tl.store(o + r * M + c, tl.load(v + r))

@triton.jit
def store_cast(a, o, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(o + i, tl.load(a + i))

@triton.jit
def collatz(a, o, N: tl.constexpr):
    i = tl.arange(0, N)
    x = tl.load(a + i)
    steps = tl.zeros([N], tl.int32)
    while tl.max(x, 0) > 1:
        go = x > 1
        steps += go.to(tl.int32)
        x = tl.where(go, tl.where(x % 2 == 0, x // 2, 3 * x + 1), x)
    tl.store(o + i, steps)

@triton.jit
def nested_if(a, o, n, N: tl.constexpr):
    i = tl.arange(0, N)
    x = tl.load(a + i)
    pid = tl.program_id(0)
    if pid > 0:
        if pid == n:
            y = x * 2
            z = 1
        elif pid < n:
            y = x - 1
            z = 2
        else:
            y = x
            z = 3
    else:
        y = -x
        z = 0
    tl.store(o + pid * N + i, y + z)

@triton.jit
def pair(a, b):
    return a + b, a - b

@triton.jit
def tuples(a, b, o1, o2, N: tl.constexpr):
    i = tl.arange(0, N)
    t = pair(tl.load(a + i), tl.load(b + i))
    s, d = pair(*t)
    u = (s, d, t[0])
    tl.store(o1 + i, u[0] + u[2])
    tl.store(o2 + i, u[1])

@triton.jit
def reduce_axes(a, o1, o2, o3, o4, N: tl.constexpr, M: tl.constexpr):
    r = tl.arange(0, N)
    c = tl.arange(0, M)
    x = tl.load(a + r[:, None] * M + c[None, :])
    tl.store(o1 + c, tl.sum(x, axis=0))
    tl.store(o2 + r, tl.sum(x, axis=1))
    m = tl.max(x, axis=1, keep_dims=True)
    tl.store(o3 + r[:, None] * M + c[None, :], x - m)
    tl.store(o4, tl.min(x))

@triton.jit
def arg_ties(a, o1, o2, o3, o4, N: tl.constexpr, M: tl.constexpr):
    r = tl.arange(0, N)
    c = tl.arange(0, M)
    x = tl.load(a + r[:, None] * M + c[None, :])
    tl.store(o1 + r, tl.argmin(x, axis=1))
    tl.store(o2 + c, tl.argmax(x, axis=0))
    v, w = tl.max(x, axis=1, return_indices=True)
    tl.store(o3 + r, v)
    tl.store(o4 + r, w)

@triton.jit
def linear(a1, b1, a2, b2):
    return a1 * a2, b1 * a2 + b2

@triton.jit
def recurrence(a, b, o1, o2, o3, N: tl.constexpr):
    i = tl.arange(0, N)
    x = tl.load(a + i)
    y = tl.load(b + i)
    p, q = tl.associative_scan((x, y), 0, linear)
    tl.store(o1 + i, p)
    tl.store(o2 + i, q)
    p, q = tl.associative_scan((x, y), 0, linear, reverse=True)
    tl.store(o3 + i, q)

@triton.jit
def larger(a, b):
    return tl.where(a > b, a, b)

@triton.jit
def own_reduce(a, o1, o2, N: tl.constexpr, M: tl.constexpr):
    r = tl.arange(0, N)
    c = tl.arange(0, M)
    x = tl.load(a + r[:, None] * M + c[None, :])
    tl.store(o1 + r, tl.reduce(x, 1, larger))
    tl.store(o2 + c, tl.reduce(x, 0, larger))

@triton.jit
def counts(a, o, n, N: tl.constexpr, B: tl.constexpr):
    i = tl.arange(0, N)
    x = tl.load(a + i)
    tl.store(o + tl.arange(0, B), tl.histogram(x, B))

@triton.jit
def atomics(a, cell, old, N: tl.constexpr):
    i = tl.arange(0, N)
    v = tl.load(a + i)
    tl.store(old + i, tl.atomic_add(cell + i, v))
    tl.store(old + N + i, tl.atomic_max(cell + N + i, v))
    tl.store(old + 2 * N + i, tl.atomic_min(cell + 2 * N + i, v))
    tl.store(old + 3 * N + i, tl.atomic_xchg(cell + 3 * N + i, v))

@triton.jit
def atomic_bits(a, cell, old, N: tl.constexpr):
    i = tl.arange(0, N)
    v = tl.load(a + i)
    tl.store(old + i, tl.atomic_and(cell + i, v))
    tl.store(old + N + i, tl.atomic_or(cell + N + i, v))
    tl.store(old + 2 * N + i, tl.atomic_xor(cell + 2 * N + i, v))
    tl.store(old + 3 * N + i, tl.atomic_cas(cell + 3 * N + i, v, v + 1))

@triton.jit
def atomic_masked(a, cell, old, n, N: tl.constexpr):
    i = tl.arange(0, N)
    v = tl.load(a + i)
    o = tl.atomic_add(cell + i % 4, v, mask=i < n)
    tl.store(old + i, tl.where(i < n, 1, 0))

@triton.jit
def random(o1, o2, o3, o4, seed, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(o1 + i, tl.rand(seed, i))
    tl.store(o2 + i, tl.randint(seed, i))
    tl.store(o3 + i, tl.randn(seed, i))
    p, q, r, s = tl.randint4x(seed, i, 7)
    tl.store(o4 + i, p ^ q ^ r ^ s)

@triton.jit
def leaves_early(a, o, n, N: tl.constexpr):
    pid = tl.program_id(0)
    if pid >= n:
        return
    i = tl.arange(0, N)
    tl.store(o + pid * N + i, tl.load(a + pid * N + i) + 1)

@triton.jit
def factorial(n: tl.constexpr):
    if n <= 1:
        return 1
    return n * factorial(n - 1)

@triton.jit
def recursive(o, N: tl.constexpr):
    tl.store(o + tl.arange(0, N), tl.arange(0, N) + factorial(5))

@triton.jit
def constants(a, o, N: tl.constexpr, ACT: tl.constexpr, FLAG: tl.constexpr):
    HALF: tl.constexpr = N // 2
    i = tl.arange(0, N)
    x = tl.load(a + i)
    if ACT == 'relu' and FLAG:
        x = tl.where(x > 0, x, 0)
    elif ACT is None:
        x = x + HALF
    elif not FLAG:
        x = x * (-7 // 2) + (-7 % 3) + 2 ** 3
    tl.store(o + i, x)

@triton.jit
def cast_chain(a, o1, o2, o3, N: tl.constexpr):
    i = tl.arange(0, N)
    x = tl.load(a + i)
    tl.store(o1 + i, x.to(tl.int8).to(tl.int32))
    tl.store(o2 + i, x.to(tl.uint8).to(tl.int32))
    tl.store(o3 + i, (x > 0).to(tl.int8).to(tl.float32) + x.to(tl.int16).to(tl.float32))

@triton.jit
def loop_carry(a, o, n, N: tl.constexpr):
    i = tl.arange(0, N)
    lo = tl.zeros([N], tl.float32)
    last = 0
    for k in range(n, -3, -2):
        lo = lo * 0.5 + tl.load(a + i) * k
        last = k
    tl.store(o + i, lo + last)

@triton.jit
def join_split(a, b, o1, o2, o3, o4, N: tl.constexpr):
    i = tl.arange(0, N)
    x = tl.load(a + i)
    y = tl.load(b + i)
    z = tl.interleave(x, y)
    tl.store(o1 + tl.arange(0, 2 * N), z)
    p, q = tl.split(tl.reshape(z, [N, 2]))
    tl.store(o2 + i, p - q)
    j = tl.join(x, y)
    tl.store(o3 + tl.arange(0, 2)[:, None] * N + i[None, :], tl.permute(j, 1, 0))
    tl.store(o4 + tl.arange(0, 2 * N), tl.cat(x, y, can_reorder=True))

@triton.jit
def blocks(a, o, n, m, sr, sc, N: tl.constexpr, M: tl.constexpr):
    p = tl.make_block_ptr(a, (n, m), (sr, sc), (0, 0), (N, M), (1, 0))
    acc = tl.zeros([N, M], tl.float32)
    for k in range(0, tl.cdiv(m, M)):
        acc += tl.load(p, boundary_check=(0, 1), padding_option='zero')
        p = tl.advance(p, (0, M))
    q = tl.make_block_ptr(o, (N, M), (M, 1), (0, 0), (N, M), (1, 0))
    tl.store(q, acc, boundary_check=(0, 1))

@triton.jit
def math1(a, o1, o2, o3, o4, N: tl.constexpr):
    i = tl.arange(0, N)
    x = tl.load(a + i)
    tl.store(o1 + i, tl.floor(x) + tl.ceil(x) * 100)
    tl.store(o2 + i, tl.abs(x))
    tl.store(o3 + i, tl.sqrt(tl.abs(x)))
    tl.store(o4 + i, tl.exp2(tl.floor(x)))

@triton.jit
def scalar_memory(a, o, n):
    s = 0.0
    c = 0
    for k in range(n):
        v = tl.load(a + k)
        if v > 0:
            s += v
            c += 1
    tl.store(o, s)
    tl.store(o + 1, c)

@triton.jit
def float_mod(a, b, o1, o2, N: tl.constexpr):
    i = tl.arange(0, N)
    x = tl.load(a + i)
    y = tl.load(b + i)
    tl.store(o1 + i, x % y)
    tl.store(o2 + i, x / y)

@triton.jit
def bool_ops(a, b, o, N: tl.constexpr):
    i = tl.arange(0, N)
    x = tl.load(a + i) > 0
    y = tl.load(b + i) > 0
    v = (x & y).to(tl.int32) + 2 * (x | y) + 4 * (x ^ y) + 8 * (not_(x)).to(tl.int32) + 16 * (x == y)
    tl.store(o + i, v)

@triton.jit
def not_(x):
    return x == 0

@triton.jit
def i64_index(a, o, big, N: tl.constexpr):
    i = tl.arange(0, N)
    off = (big.to(tl.int64) * 4) % 8
    tl.store(o + i, tl.load(a + off + i))

@triton.jit
def topk(a, o, N: tl.constexpr, M: tl.constexpr, K: tl.constexpr):
    r = tl.arange(0, N)[:, None]
    c = tl.arange(0, M)[None, :]
    x = tl.load(a + r * M + c)
    tl.store(o + r * K + tl.arange(0, K)[None, :], tl.topk(x, K))

@triton.jit
def descriptors(a, o, n, m, N: tl.constexpr, M: tl.constexpr):
    d = tl.make_tensor_descriptor(a, [n, m], [m, 1], [N, M])
    e = tl.make_tensor_descriptor(o, [n, m], [m, 1], [N, M])
    x = d.load([2, 4])
    e.store([0, 4], x * 2)

@triton.jit
def augmented(a, o, N: tl.constexpr):
    i = tl.arange(0, N)
    x = tl.load(a + i)
    x //= 3
    x <<= 1
    x |= 1
    x ^= 5
    x %= 7
    x -= 2
    tl.store(o + i, x)

@triton.jit
def chars(a, o, N: tl.constexpr):
    i = tl.arange(0, N)
    x = tl.load(a + i)
    lo = (x & 0xF).to(tl.int8)
    hi = (x >> 4) & 0xF
    tl.store(o + 2 * i, lo - 8)
    tl.store(o + 2 * i + 1, hi - 8)

@triton.jit
def logic(a, o, n, m, N: tl.constexpr):
    i = tl.arange(0, N)
    x = tl.load(a + i)
    v = 0
    if n > 3 and m < 5 or n == 0:
        v = 1
    if not (n == 4):
        v += 2
    w = v if m > n else v + 10
    tl.store(o + i, tl.where((i < n) & (x > 0), w, -w))

SCALE = tl.constexpr(3)
TABLE: tl.constexpr = (2, 5, 7)

@triton.jit
def globals_(a, o, N: tl.constexpr):
    i = tl.arange(0, N)
    x = tl.load(a + i)
    for k in tl.static_range(len(TABLE)):
        x = x * SCALE + TABLE[k]
    tl.store(o + i, x)

@triton.jit
def carried_tuple(a, o, n, N: tl.constexpr):
    i = tl.arange(0, N)
    x = tl.load(a + i)
    s = (x, x * 0)
    for k in range(n):
        s = (s[0] + s[1], s[1] + k)
    tl.store(o + i, s[0] * 100 + s[1])

@triton.jit
def while_scalar(o, n):
    a = n
    b = 36
    c = 0
    while b != 0 and c < 50:
        t = a % b
        a = b
        b = t
        c += 1
    tl.store(o, a)
    tl.store(o + 1, c)

@triton.jit
def welford(m1, v1, w1, m2, v2, w2):
    d = m2 - m1
    w = w1 + w2
    r = tl.where(w == 0, 0.0, w2 / w)
    return m1 + d * r, v1 + v2 + d * d * w1 * r, w

@triton.jit
def welford_rows(a, o1, o2, N: tl.constexpr, M: tl.constexpr):
    r = tl.arange(0, N)
    c = tl.arange(0, M)
    x = tl.load(a + r[:, None] * M + c[None, :])
    m, v, w = tl.reduce((x, tl.zeros_like(x), tl.full([N, M], 1.0, tl.float32)), 1, welford)
    tl.store(o1 + r, m)
    tl.store(o2 + r, v / w)

@triton.jit
def argmax_combine(v1, i1, v2, i2):
    better = (v1 > v2) | ((v1 == v2) & (i1 < i2))
    return tl.where(better, v1, v2), tl.where(better, i1, i2)

@triton.jit
def argmax_own(a, o1, o2, N: tl.constexpr, M: tl.constexpr):
    r = tl.arange(0, N)
    c = tl.arange(0, M)
    x = tl.load(a + r[:, None] * M + c[None, :])
    ix = tl.broadcast_to(c[None, :], [N, M])
    v, k = tl.reduce((x, ix), axis=1, combine_fn=argmax_combine)
    tl.store(o1 + r, v)
    tl.store(o2 + r, k)

@triton.jit
def nf4(a, o, N: tl.constexpr):
    i = tl.arange(0, N)
    x = tl.load(a + i)
    q = tl.where(x > 0.5, tl.where(x > 0.75, 3, 2), tl.where(x > 0.25, 1, 0))
    p = tl.reshape(q, [N // 2, 2])
    lo, hi = tl.split(p)
    tl.store(o + tl.arange(0, N // 2), (lo | (hi << 4)).to(tl.uint8))

@triton.jit
def unpack(a, s, o, N: tl.constexpr):
    i = tl.arange(0, N)
    w = tl.load(a + i // 8)
    v = (w >> ((i % 8) * 4)) & 0xF
    tl.store(o + i, (v - 8) * tl.load(s + i // 16))

@triton.jit
def swizzle(o, n, m, G: tl.constexpr):
    pid = tl.program_id(0)
    i = pid // m
    j = pid % m
    x, y = tl.swizzle2d(i, j, n, m, G)
    tl.store(o + pid, x * 100 + y)

@triton.jit
def hashes(a, o, N: tl.constexpr):
    i = tl.arange(0, N)
    x = tl.load(a + i).to(tl.uint32)
    x = (x ^ 61) ^ (x >> 16)
    x *= 9
    x = x ^ (x >> 4)
    x *= 0x27d4eb2d
    x = x ^ (x >> 15)
    tl.store(o + i, x)

@triton.jit
def bin_edges(a, o, N: tl.constexpr):
    i = tl.arange(0, N)
    x = tl.load(a + i)
    tl.store(o + i, tl.floor(x * 4).to(tl.int32) + (x * 4).to(tl.int32) * 1000)

@triton.jit
def select_scalar(a, o, n):
    p = tl.program_id(0)
    x = tl.load(a + p)
    y = tl.where(p < n, x, -x)
    z = y if p % 2 == 0 else y * 10
    tl.store(o + p, z)

@triton.jit
def f16_accumulate(a, o, n, N: tl.constexpr):
    i = tl.arange(0, N)
    acc = tl.zeros([N], tl.float16)
    for k in range(n):
        acc += tl.load(a + i + k)
    tl.store(o + i, acc)

@triton.jit
def f16_math(a, b, o1, o2, o3, N: tl.constexpr):
    i = tl.arange(0, N)
    x = tl.load(a + i)
    y = tl.load(b + i)
    tl.store(o1 + i, x * y + x)
    tl.store(o2 + i, (x.to(tl.float32) * y.to(tl.float32) + x.to(tl.float32)).to(tl.float16))
    tl.store(o3 + i, x * 0.1 - y * 3)

@triton.jit
def int_to_float(a, o1, o2, o3, N: tl.constexpr):
    i = tl.arange(0, N)
    x = tl.load(a + i)
    tl.store(o1 + i, x.to(tl.float32))
    tl.store(o2 + i, x.to(tl.float16))
    tl.store(o3 + i, x.to(tl.float64))

@triton.jit
def cumsum_mask(a, o, n, N: tl.constexpr):
    i = tl.arange(0, N)
    keep = (tl.load(a + i, mask=i < n, other=0) > 0).to(tl.int32)
    at = tl.cumsum(keep, 0) - keep
    tl.store(o + at, i, mask=keep != 0)

@triton.jit
def three_d(a, o, A: tl.constexpr, B: tl.constexpr, C: tl.constexpr):
    x = tl.load(a + tl.arange(0, A * B * C)).reshape(A, B, C)
    y = tl.permute(x, (2, 0, 1))
    tl.store(o + tl.arange(0, A * B * C), tl.ravel(y))

@triton.jit
def inner(x, F: tl.constexpr, G):
    if F:
        return x + G
    else:
        return x - G

@triton.jit
def helper_defaults(x, k=4, F: tl.constexpr = True):
    return inner(x, F, k)

@triton.jit
def defaults(a, o1, o2, o3, N: tl.constexpr):
    i = tl.arange(0, N)
    x = tl.load(a + i)
    tl.store(o1 + i, helper_defaults(x))
    tl.store(o2 + i, helper_defaults(x, F=False))
    tl.store(o3 + i, helper_defaults(x, x, False))

@triton.jit
def chained(a, o, n, N: tl.constexpr):
    i = tl.arange(0, N)
    x = tl.load(a + i)
    m = (x > -20) & (x <= 20) & (i % 3 != 0)
    tl.store(o + i, tl.where(m, x, tl.where(~m & (x > 0), 1000, -1000)))

@triton.jit
def break_like(a, o, n):
    k = 0
    going = True
    s = 0
    while going:
        v = tl.load(a + k)
        s += v
        k += 1
        going = (k < n) and (s < 50)
    tl.store(o, s)
    tl.store(o + 1, k)

@triton.jit
def loop_if(a, o, n, N: tl.constexpr):
    i = tl.arange(0, N)
    acc = tl.zeros([N], tl.int32)
    best = -1
    for k in range(n):
        x = tl.load(a + k * N + i)
        s = tl.sum(x, 0)
        if s > 0:
            acc += x
            if s > 50:
                best = k
        else:
            acc -= 1
    tl.store(o + i, acc * 10 + best)

@triton.jit
def row_argmin(a, o, n, N: tl.constexpr):
    i = tl.arange(0, N)
    x = tl.load(a + i, mask=i < n, other=float('inf'))
    k = tl.argmin(x, 0)
    tl.store(o, k)
    tl.store(o + 1, tl.argmax(tl.where(i < n, x, -float('inf')), 0))

@triton.jit
def pointer_of_elements(a, b, p, q, o, N: tl.constexpr):
    i = tl.arange(0, N)
    odd = i % 2 == 1
    at = tl.where(odd, a + i, b + N - 1 - i)
    tl.store(o + i, tl.load(at, mask=i != 3, other=-5))
    tl.store(tl.where(odd, p + i, q + i // 2), i + 100, mask=i < N - 2)

@triton.jit
def pointer_of_a_branch(a, b, c, p, q, n, N: tl.constexpr):
    i = tl.arange(0, N)
    if tl.program_id(0) < n:
        base = a
        out = p
    elif tl.program_id(0) == n:
        base = b + 1
        out = q
    else:
        base = c
        out = q + N
    out = out if n > 0 else p
    tl.store(out + i, tl.load(base + i[:, None], mask=i[:, None] < 7, other=9).reshape(N) * 2)

@triton.jit
def turned(p, q):
    return q, p

@triton.jit
def pointers_take_turns(a, b, n, N: tl.constexpr):
    i = tl.arange(0, N)
    one = a + i
    other = b + i
    for k in range(n):
        tl.store(other, tl.load(one) * 2 + k)
        one, other = turned(one, other)

@triton.jit
def pointer_that_waits(a, b, o, n, N: tl.constexpr):
    i = tl.arange(0, N)
    p = (a + i)[:, None]
    k = 0
    while k < n:
        if k == 2:
            p = (b + i)[:, None] + 1
        tl.store(o + k * N + i[:, None], tl.load(p))
        k += 1

@triton.jit
def block_of_a_branch(a, b, o, n, N: tl.constexpr):
    if n > 3:
        block = tl.make_block_ptr(a, (5, 7), (7, 1), (1, 2), (N, N), (1, 0))
    else:
        block = tl.make_block_ptr(b, (7, 5), (1, 7), (0, 1), (N, N), (1, 0))
    r = tl.arange(0, N)
    tl.store(o + r[:, None] * N + r[None, :], tl.load(block, boundary_check=(0, 1)))

@triton.jit
def atomics_of_two(a, b, x, o1, o2, N: tl.constexpr):
    i = tl.arange(0, N)
    p = tl.where(i < 3, a + i, b + i)
    tl.store(o1 + i, tl.atomic_add(p, tl.load(x + i), mask=i != 1), mask=i != 1)
    tl.store(o2 + i, tl.atomic_cas(p, tl.full([N], 11, tl.int32), tl.full([N], 77, tl.int32)))
    tl.atomic_max(p, 20)

@triton.jit
def pair_of_numbers(a, o, N: tl.constexpr):
    x, y = tl.split(tl.load(a + tl.arange(0, 2)))
    tl.store(o, x - y)
    tl.store(o + 1 + tl.arange(0, N), tl.program_id(0)[:, None] + x[None, :] + tl.arange(0, N))

@triton.jit
def rows_by_number(a, b, x, o, n, N: tl.constexpr, W: tl.constexpr):
    rows = tl.load(x + tl.arange(0, N))
    source = tl.make_tensor_descriptor(a, [5, 24], [24, 1], [1, W])
    target = tl.make_tensor_descriptor(b, [6, 24], [24, 1], [1, W])
    found = source.gather(rows, n)
    tl.store(o + tl.arange(0, N)[:, None] * W + tl.arange(0, W)[None, :], found)
    target.scatter(found * 2, rows, n)

def twice(n):
    template = "mul.f32 ${out}, ${given}, 0f40000000;"
    return " ".join(("{" + template.format(out=i, given=i + n) + "}\n") for i in range(n))

DOUBLE: tl.constexpr = tl.constexpr(twice(1))

@triton.jit
def cube_or_root(x, k):
    if x > 0:
        y = x * x * x
    else:
        y = tl.sqrt(-x)
    n = 0
    while y > k:
        y = y - k
        n += 1
    return y, n

@triton.jit
def in_fours(a, b, c, d):
    return a + b, b - c, c * d, d

@triton.jit
def mapped(a, o, m, q, k, N: tl.constexpr):
    i = tl.arange(0, N)
    x = tl.load(a + i)
    y, n = tl.map_elementwise(cube_or_root, x, k)
    tl.store(o + i, y)
    tl.store(m + i, n)
    tl.store(q + i, tl.map_elementwise(in_fours, x, pack=4)[0])

@triton.jit
def assembly(a, b, o, p, q, r, N: tl.constexpr):
    i = tl.arange(0, N)
    x = tl.load(a + i)
    w = tl.load(b + i)
    soft = tl.inline_asm_elementwise(
        """
        {
            .reg .pred p;
            setp.gt.f32  p, $1, 2.;
            @p  mov.f32  $0, $1;
            @!p mul.f32  $0, $1, 0.5;
            @!p add.f32  $0, $0, 1.0;
        }
        """, "=r,r", [x], dtype=tl.float32, is_pure=True, pack=1)
    tl.store(o + i, soft)
    tl.store(p + i, tl.inline_asm_elementwise(DOUBLE, "=r,r", [x], dtype=tl.float32, is_pure=True, pack=1))
    inverse = tl.inline_asm_elementwise(
        "{ .reg .f32 r0, e; rcp.approx.f32 r0, $1; fma.rn.f32 e, $1, r0, 0fBF800000; sub.ftz.f32 e, 0f80000000, e; fma.rn.f32 $0, r0, e, r0; }",
        "=f,f", [x], dtype=tl.float32, is_pure=True, pack=1)
    tl.store(q + i, inverse)
    both, least = tl.inline_asm_elementwise(
        "and.b32 $0, $2, 0x0f; min.s32 $1, $2, $3;", "=r,=r,r,r", [w, x.to(tl.int32)], dtype=(tl.int32, tl.int32), is_pure=True, pack=1)
    tl.store(r + i, both * 100 + least)
