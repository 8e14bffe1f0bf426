import triton
import triton.language as tl


@triton.jit
def wrong(x_ptr):
    a = tl.arange(0, 64)
    b = tl.arange(0, 32)
    tl.store(x_ptr, a + b)
