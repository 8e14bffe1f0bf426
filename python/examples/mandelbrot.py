"""The Mandelbrot set by a kernel and by a shader of Bend, beside NumPy: `python mandelbrot.py [--device NAME] [--size W H] [--out FILE.png]`."""

import argparse
import pathlib
import time

import girih
import girih.triton as triton
import girih.triton.language as tl
import numpy as np

ROUNDS = 20

SHADER = """
def rounds(cx: f24, cy: f24, x: f24, y: f24, left: u24) -> u24:
  switch left:
    case 0:
      return 0
    case _:
      if x * x + y * y > 4.0:
        return left-1 + 1
      else:
        return rounds(cx, cy, x * x - y * y + cx, 2.0 * x * y + cy, left-1)

def shader(x: u24, y: u24, t: f24) -> u24:
  cx = -2.0 + 3.0 * u24/to_f24(x) / u24/to_f24(width)
  cy = -1.0 + 2.0 * u24/to_f24(y) / u24/to_f24(height)
  return rounds(cx, cy, 0.0, 0.0, 20) * 12 * 257

def width() -> u24:
  return 1536

def height() -> u24:
  return 1024
"""


@girih.jit
def mandelbrot(out_ptr, width, height, ROUNDS: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    cx = -2.0 + 3.0 * (at % width).to(tl.float32) / width
    cy = -1.0 + 2.0 * (at // width).to(tl.float32) / height
    x = tl.zeros([BLOCK], tl.float32)
    y = tl.zeros([BLOCK], tl.float32)
    count = tl.zeros([BLOCK], tl.int32)
    for _ in range(ROUNDS):
        inside = x * x + y * y <= 4.0
        count += inside.to(tl.int32)
        x, y = tl.where(inside, x * x - y * y + cx, x), tl.where(inside, 2.0 * x * y + cy, y)
    tl.store(out_ptr + at, count, mask=at < width * height)


def by_numpy(width, height):
    cx = (-2.0 + 3.0 * np.arange(width, dtype=np.float32) / np.float32(width))[None, :]
    cy = (-1.0 + 2.0 * np.arange(height, dtype=np.float32) / np.float32(height))[:, None]
    x = np.zeros((height, width), np.float32)
    y, count = np.zeros_like(x), np.zeros(x.shape, np.int32)
    for _ in range(ROUNDS):
        inside = x * x + y * y <= 4.0
        count += inside
        x, y = np.where(inside, x * x - y * y + cx, x), np.where(inside, 2 * x * y + cy, y)
    return count


def timed(name, call):
    began = time.perf_counter()
    result = call()
    print(f"{name:12} {1000 * (time.perf_counter() - began):8.2f} ms")
    return result


def main():
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--device", help="cpu, cuda, wgpu, ..; the best there is if absent")
    options.add_argument("--size", nargs=2, type=int, default=(1536, 1024), metavar=("W", "H"))
    options.add_argument("--out", type=pathlib.Path, help="where the picture goes")
    given = options.parse_args()
    girih.use(given.device)
    width, height = given.size

    out = girih.empty((height, width), "int32")

    def by_kernel():
        mandelbrot[lambda args: (triton.cdiv(width * height, args["BLOCK"]),)](out, width, height, ROUNDS, BLOCK=1024)
        return out.numpy()

    by_kernel()
    count = timed("kernel", by_kernel)
    expected = timed("NumPy", lambda: by_numpy(width, height))
    # The last bit of a sum may decide on which side of the border a point is.
    assert (count != expected).mean() < 0.005
    picture = timed("Bend", lambda: girih.render(text=SHADER, size=(width, height), device=given.device))
    if given.out is not None:
        given.out.write_bytes(picture._repr_png_())
        print(f"wrote {given.out}")


if __name__ == "__main__":
    main()
