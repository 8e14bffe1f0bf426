# The sums of connectionist temporal classification (Graves et al. 2006), in Triton's language. Girih's own compiler reads this file; Python does not run it.
#
# A program has one sequence, and each of its lanes one place between or on the labels: blank, first label, blank, second label, and so on. Each frame's row is made of the row before (forward) or
# behind it (backward), which the program itself has written: a program's own accesses are in order. All is in logarithms.
import triton
import triton.language as tl


@triton.jit
def labels_of(targets, first, step, length, s, BLANK: tl.constexpr):
    """The label of each place."""
    return tl.load(targets + first + (s // 2) * step, mask=(s % 2 == 1) & (s >= 0) & (s < 2 * length + 1), other=BLANK)


@triton.jit
def summed(a, b, c):
    """The logarithm of the sum of what these are the logarithms of."""
    most = tl.maximum(tl.maximum(a, b), c)
    origin = tl.where(most == float("-inf"), 0.0, most)
    return tl.log(tl.exp(a - origin) + tl.exp(b - origin) + tl.exp(c - origin)) + origin


@triton.jit
def forward(loss, alpha, logs, targets, firsts, frames, lengths, T, step, logs_t, logs_n, logs_c, WIDTH, BLANK: tl.constexpr, BLOCK: tl.constexpr):
    n = tl.program_id(0)
    s = tl.arange(0, BLOCK)
    first, count, length = tl.load(firsts + n), tl.load(frames + n), tl.load(lengths + n)
    there = s < 2 * length + 1
    label = labels_of(targets, first, step, length, s, BLANK)
    skips = there & (s >= 3) & (label != BLANK) & (label != labels_of(targets, first, step, length, s - 2, BLANK))
    here = logs + n * logs_n + label * logs_c
    rows = alpha + n * T * WIDTH
    value = tl.load(here, mask=there & (s < 2) & (count > 0), other=float("-inf"))
    tl.store(rows + s, value, mask=there & (count > 0))
    for t in range(1, count):
        before = rows + (t - 1) * WIDTH + s
        stays = tl.load(before, mask=there, other=float("-inf"))
        steps = tl.load(before - 1, mask=there & (s >= 1), other=float("-inf"))
        jumps = tl.load(before - 2, mask=skips, other=float("-inf"))
        value = summed(stays, steps, jumps) + tl.load(here + t * logs_t, mask=there, other=0.0)
        tl.store(rows + t * WIDTH + s, value, mask=there)
    last = rows + (count - 1) * WIDTH + 2 * length
    end = tl.load(last, mask=count > 0, other=float("-inf"))
    label_end = tl.load(last - 1, mask=(count > 0) & (length > 0), other=float("-inf"))
    most = tl.maximum(end, label_end)
    origin = tl.where(most == float("-inf"), 0.0, most)
    total = -(tl.log(tl.exp(end - origin) + tl.exp(label_end - origin)) + origin)
    tl.store(loss + n, tl.where((count == 0) & (length == 0), 0.0, total))


@triton.jit
def backward(beta, logs, targets, firsts, frames, lengths, T, step, logs_t, logs_n, logs_c, WIDTH, BLANK: tl.constexpr, BLOCK: tl.constexpr):
    n = tl.program_id(0)
    s = tl.arange(0, BLOCK)
    first, count, length = tl.load(firsts + n), tl.load(frames + n), tl.load(lengths + n)
    there = s < 2 * length + 1
    label = labels_of(targets, first, step, length, s, BLANK)
    following = labels_of(targets, first, step, length, s + 2, BLANK)
    skips = (s + 2 < 2 * length + 1) & (following != BLANK) & (following != label)
    here = logs + n * logs_n + label * logs_c
    rows = beta + n * T * WIDTH
    value = tl.load(here + (count - 1) * logs_t, mask=there & (s >= 2 * length - 1) & (count > 0), other=float("-inf"))
    tl.store(rows + (count - 1) * WIDTH + s, value, mask=there & (count > 0))
    for back in range(1, count):
        t = count - 1 - back
        behind = rows + (t + 1) * WIDTH + s
        stays = tl.load(behind, mask=there, other=float("-inf"))
        steps = tl.load(behind + 1, mask=s + 1 < 2 * length + 1, other=float("-inf"))
        jumps = tl.load(behind + 2, mask=skips, other=float("-inf"))
        value = summed(stays, steps, jumps) + tl.load(here + t * logs_t, mask=there, other=0.0)
        tl.store(rows + t * WIDTH + s, value, mask=there)
