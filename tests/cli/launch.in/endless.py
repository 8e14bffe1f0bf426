import triton
import triton.language as tl


@triton.jit
def endless(out_ptr):
    while tl.atomic_add(out_ptr, 0) == 0:
        pass
