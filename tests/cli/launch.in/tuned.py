import triton
import triton.language as tl


@triton.autotune(configs=[triton.Config({"BLOCK": b}) for b in [4, 8, 16]], key=["n"])
@triton.jit
def fill(out_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out_ptr + at, at, mask=at < n)
