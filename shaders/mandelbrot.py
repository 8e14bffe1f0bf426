# How many steps points of the plane stay near 0 under z -> z^2 + c, for a tile of pixels a program.
import triton
import triton.language as tl


@triton.jit
def mandelbrot(out_ptr, width, height, x0, y0, pixel, limit, TILE_X: tl.constexpr = 32, TILE_Y: tl.constexpr = 8):
    column = tl.program_id(0) * TILE_X + tl.arange(0, TILE_X)
    row = tl.program_id(1) * TILE_Y + tl.arange(0, TILE_Y)
    cx = (x0 + column * pixel)[None, :]
    cy = (y0 + row * pixel)[:, None]
    x = tl.zeros([TILE_Y, TILE_X], tl.float32)
    y = tl.zeros([TILE_Y, TILE_X], tl.float32)
    count = tl.zeros([TILE_Y, TILE_X], tl.int32)
    step = 0
    alive = 1
    while (step < limit) & (alive > 0):
        near = x * x + y * y <= 4.0
        x, y = tl.where(near, x * x - y * y + cx, x), tl.where(near, 2 * x * y + cy, y)
        count += near.to(tl.int32)
        alive = tl.max(tl.max(near.to(tl.int32), 1), 0)
        step += 1
    inside = (row[:, None] < height) & (column[None, :] < width)
    tl.store(out_ptr + row[:, None] * width + column[None, :], count, mask=inside)
