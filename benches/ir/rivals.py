"""What others reach on this CUDA machine at the jobs of the IR's benchmarks: medians of 50, each result checked.

    python3 benches/ir/rivals.py [--json FILE] [--only NAME,...]

It needs nvcc, PyTorch and Triton. The kernels that `girih` runs beside these compute the same functions of the same sizes.
"""

import argparse
import json
import statistics
import sys
from pathlib import Path

import torch
import triton
import triton.language as tl

sys.path.insert(0, str(Path(__file__).parent))
from cuda_driver import compile_cuda, times  # noqa: E402

HERE = Path(__file__).parent
VECTOR = 1 << 28
SOFTMAX_ROWS = SOFTMAX_COLUMNS = 4096
MANDELBROT_SIZE, MANDELBROT_LIMIT = 256, 1000
TILE_SIDE = 4096
MATMUL_SIDE = 8192


def row(name, micros, amount, unit, error, **more):
    """One figure: the median and spread of `micros`, `amount` (bytes or operations) over the median in `unit`."""
    median = statistics.median(micros)
    tenth = len(micros) // 10
    scale = {"GB/s": 1e3, "TFLOP/s": 1e6, "Giter/s": 1e3}[unit]
    return dict(name=name, median_us=median, low_us=micros[tenth], high_us=micros[-1 - tenth],
                figure=amount / median / scale, unit=unit, error=error, **more)


def expect(name, error, bound):
    """Stops everything if a result is wrong: a fast wrong answer is no figure."""
    if not error <= bound:
        raise SystemExit(f"{name}: the result is off by {error}, more than {bound}")
    return error


def relative(result, reference):
    reference = reference.double()
    return ((result.double() - reference).norm() / reference.norm()).item()


def device_copy():
    source = torch.randn(VECTOR, device="cuda")
    target = torch.full_like(source, float("nan"))
    micros = times(lambda: target.copy_(source))
    error = expect("copy", float((source != target).sum()), 0)
    yield row("copy", micros, 8 * VECTOR, "GB/s", error, size=VECTOR)


def vector_add():
    add = compile_cuda(HERE / "vector_add.cu").kernel("vector_add")
    x, y = torch.randn(VECTOR, device="cuda"), torch.randn(VECTOR, device="cuda")
    z = torch.full_like(x, float("nan"))
    micros = times(lambda: add((VECTOR // 4 // 256,), (256,), x, y, z, VECTOR))
    error = expect("vector_add", float((z != x + y).sum()), 0)
    yield row("vector_add", micros, 12 * VECTOR, "GB/s", error, size=VECTOR)


def mandelbrot():
    kernel = compile_cuda(HERE / "mandelbrot.cu", "-fmad=false").kernel("mandelbrot")
    size, limit = MANDELBROT_SIZE, MANDELBROT_LIMIT
    counts = torch.full((size, size), 1 << 30, device="cuda", dtype=torch.int32)
    micros = times(lambda: kernel((size // 16, size // 16), (16, 16), counts, size, limit))
    wanted = mandelbrot_reference(size, limit)
    error = expect("mandelbrot", float((counts != wanted).sum()), 0)
    iterations = int(wanted.long().sum())
    yield row("mandelbrot", micros, iterations, "Giter/s", error, size=size, limit=limit, iterations=iterations)


def mandelbrot_reference(size, limit):
    """The counts by PyTorch, one rounded operation at a time."""
    at = torch.arange(size, device="cuda", dtype=torch.float32) * torch.tensor(3.0 / size, device="cuda")
    cx, cy = (at - 2.25).expand(size, size), (at - 1.5)[:, None].expand(size, size)
    x, y = torch.zeros_like(cx), torch.zeros_like(cx)
    counts = torch.zeros((size, size), device="cuda", dtype=torch.int32)
    inside = torch.ones((size, size), device="cuda", dtype=torch.bool)
    for _ in range(limit):
        x2, y2 = x * x, y * y
        inside &= (x2 + y2) <= 4.0
        counts += inside
        x, y = (x2 - y2) + cx, (2.0 * x) * y + cy
    return counts


def tile_matmul():
    kernel = compile_cuda(HERE / "tile_matmul.cu").kernel("tile_matmul")
    n = TILE_SIDE
    a, b = torch.randn(n, n, device="cuda"), torch.randn(n, n, device="cuda")
    c = torch.full_like(a, float("nan"))
    micros = times(lambda: kernel((n // 16, n // 16), (16, 16), a, b, c, n))
    error = expect("tile_matmul", relative(c, a.double() @ b.double()), 1e-5)
    yield row("tile_matmul", micros, 2 * n**3, "TFLOP/s", error, size=n)


@triton.jit
def softmax_row(target, source, columns, WIDTH: tl.constexpr):
    """A program a row, the row in registers."""
    start = tl.program_id(0).to(tl.int64) * columns
    at = tl.arange(0, WIDTH)
    inside = at < columns
    values = tl.load(source + start + at, mask=inside, other=-float("inf"))
    powers = tl.exp(values - tl.max(values, axis=0))
    tl.store(target + start + at, powers / tl.sum(powers, axis=0), mask=inside)


@triton.jit
def softmax_rows(target, source, rows, columns, WIDTH: tl.constexpr, STAGES: tl.constexpr):
    """As many programs as fit at once, each every so many rows, the next rows' loads under way."""
    at = tl.arange(0, WIDTH)
    inside = at < columns
    for r in tl.range(tl.program_id(0), rows, tl.num_programs(0), num_stages=STAGES):
        start = r.to(tl.int64) * columns
        values = tl.load(source + start + at, mask=inside, other=-float("inf"))
        powers = tl.exp(values - tl.max(values, axis=0))
        tl.store(target + start + at, powers / tl.sum(powers, axis=0), mask=inside)


def softmax():
    rows, columns = SOFTMAX_ROWS, SOFTMAX_COLUMNS
    source = torch.randn(rows, columns, device="cuda")
    wanted = torch.softmax(source.double(), dim=1)
    width = triton.next_power_of_2(columns)
    multiprocessors = torch.cuda.get_device_properties(0).multi_processor_count
    best = None
    for warps in (4, 8, 16):
        target = torch.empty_like(source)
        forms = {f"a row a program, {warps} warps": lambda: softmax_row[(rows,)](target, source, columns, width, num_warps=warps)}
        for stages, many in ((2, 2), (2, 4), (4, 2), (1, 64 // warps)):
            forms[f"persistent, {warps} warps, {stages} stages, {many} a multiprocessor"] = (
                lambda stages=stages, many=many: softmax_rows[(many * multiprocessors,)](
                    target, source, rows, columns, width, stages, num_warps=warps))
        for form, work in forms.items():
            target.fill_(float("nan"))
            micros = times(work)
            error = expect(f"softmax ({form})", relative(target, wanted), 1e-6)
            found = row("softmax_triton", micros, 8 * rows * columns, "GB/s", error, size=[rows, columns], form=form)
            if best is None or found["median_us"] < best["median_us"]:
                best = found
    yield best


def matmul():
    n = MATMUL_SIDE
    a = torch.randn(n, n, device="cuda", dtype=torch.float16)
    b = torch.randn(n, n, device="cuda", dtype=torch.float16)
    some = torch.randint(0, n, (64,), device="cuda")
    for name, right in (("cublas_f16", b), ("cublas_f16_k_major", b.t())):
        out = torch.full((n, n), float("nan"), device="cuda", dtype=torch.float16)
        micros = times(lambda: torch.matmul(a, right, out=out))
        error = expect(name, relative(out[some], a[some].double() @ right.double()), 2e-3)
        yield row(name, micros, 2 * n**3, "TFLOP/s", error, size=n)


JOBS = dict(copy=device_copy, vector_add=vector_add, mandelbrot=mandelbrot, tile_matmul=tile_matmul, softmax=softmax,
            matmul=matmul)


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--json", type=Path, help="write the figures here too")
    arguments.add_argument("--only", help=f"some of {', '.join(JOBS)}")
    chosen = arguments.parse_args()
    torch.manual_seed(20260101)
    names = chosen.only.split(",") if chosen.only else list(JOBS)
    rows = []
    for name in names:
        rows += JOBS[name]()
        torch.cuda.empty_cache()
    for r in rows:
        note = r.get("form", "")
        print(f"{r['name']:<20} {r['median_us']:>11.1f} us  {r['figure']:>8.1f} {r['unit']:<8} error {r['error']:.1e}  {note}")
    if chosen.json:
        about = dict(device=torch.cuda.get_device_name(), torch=torch.__version__, triton=triton.__version__, repeats=50)
        chosen.json.write_text(json.dumps(dict(about=about, rows=rows), indent=1) + "\n")


if __name__ == "__main__":
    main()
