import triton
import triton.language as tl


@triton.jit
def prints(n):
    tl.device_print("n is", n, tl.program_id(0))
