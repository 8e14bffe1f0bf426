# Softmax of each row of a matrix. A program takes rows in turns; a row fits into one block.
import triton
import triton.language as tl


@triton.jit
def softmax(out_ptr, in_ptr, row_stride, out_stride, rows, columns, BLOCK: tl.constexpr):
    step = tl.num_programs(0)
    for row in tl.range(tl.program_id(0), rows, step, num_stages=2):
        column = tl.arange(0, BLOCK)
        inside = column < columns
        x = tl.load(in_ptr + row * row_stride + column, mask=inside, other=-float("inf"))
        e = tl.exp(x - tl.max(x, axis=0))
        tl.store(out_ptr + row * out_stride + column, e / tl.sum(e, axis=0), mask=inside)
