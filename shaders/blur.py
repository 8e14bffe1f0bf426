# An image filter: the weighted mean of the 3 x 3 pixels around each, the edge repeated.
import triton
import triton.language as tl

WEIGHTS = (1, 2, 1)


@triton.jit
def blur(in_ptr, out_ptr, width, height, TILE: tl.constexpr = 32):
    column = tl.program_id(0) * TILE + tl.arange(0, TILE)[None, :]
    row = tl.program_id(1) * TILE + tl.arange(0, TILE)[:, None]
    inside = (row < height) & (column < width)
    total = tl.zeros([TILE, TILE], tl.float32)
    for dy in tl.static_range(3):
        for dx in tl.static_range(3):
            y = tl.clamp(row + (dy - 1), 0, height - 1)
            x = tl.clamp(column + (dx - 1), 0, width - 1)
            total += WEIGHTS[dy] * WEIGHTS[dx] * tl.load(in_ptr + y * width + x, mask=inside, other=0.0)
    tl.store(out_ptr + row * width + column, total / 16, mask=inside)
