# Softmax of each row of a matrix, a row for each program; the last line says with what the kernel is run here.
import triton
import triton.language as tl


@triton.jit
def softmax(x_ptr, y_ptr, columns, BLOCK: tl.constexpr):
    column = tl.arange(0, BLOCK)
    inside = column < columns
    at = tl.program_id(0) * columns + column
    x = tl.load(x_ptr + at, mask=inside, other=-float("inf"))
    # The largest number is taken from each, so that no power is too large for the type.
    power = tl.exp(x - tl.max(x, axis=0))
    tl.store(y_ptr + at, power / tl.sum(power, axis=0), mask=inside)


# run: softmax[2](x_ptr=f32[1, 2, 3, 4, 0, 0, 0, 0], y_ptr=f32.zeros(8) -> f32[0.0320586, 0.0871443, 0.2368828, 0.6439143, 0.25, 0.25, 0.25, 0.25] ~ 1e-4, columns=4, BLOCK=8)
