"""The kernels of `shaders/` by girih, by Triton and by PyTorch on the same card: medians, each result checked.

    python3 benches/tile/rivals.py GIRIH [--only TEXT]

GIRIH is the release binary. It needs PyTorch and Triton. Triton compiles the very files that girih does, with the same blocks and warps.
"""

import argparse
import importlib.util
import json
import statistics
import subprocess
from pathlib import Path

import torch
import triton

SHADERS = Path(__file__).resolve().parent.parent.parent / "shaders"


def shader(name):
    spec = importlib.util.spec_from_file_location(name, SHADERS / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def milliseconds(run, runs=30):
    """The median of some runs, after others that warm up."""
    for _ in range(20):
        run()
    times = []
    for _ in range(runs):
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        run()
        end.record()
        end.synchronize()
        times.append(start.elapsed_time(end))
    return statistics.median(times)


def near(found, expected, bound, what):
    """Stops everything if a result is wrong: a fast wrong answer is no figure."""
    error = ((found.double() - expected.double()).norm() / expected.double().norm()).item()
    if not error <= bound:
        raise SystemExit(f"{what}: the result is off by {error}")


def vector_add(n):
    kernel = shader("vector_add").vector_add
    x, y = torch.randn(n, device="cuda"), torch.randn(n, device="cuda")
    out = torch.empty_like(x)
    run = lambda: kernel[(triton.cdiv(n, 1024),)](x, y, out, n, BLOCK=1024, num_warps=4)
    run()
    near(out, x + y, 1e-6, "vector add")
    yield f"vector add f32 {n}", milliseconds(run), milliseconds(lambda: torch.add(x, y, out=out))


def softmax(rows, columns):
    kernel = shader("softmax").softmax
    x = torch.randn(rows, columns, device="cuda")
    out = torch.empty_like(x)
    block = triton.next_power_of_2(columns)
    warps = min(max(block // 1024, 4), 32)
    run = lambda: kernel[(rows,)](out, x, columns, columns, rows, columns, BLOCK=block, num_warps=warps)
    run()
    near(out, torch.softmax(x, 1), 1e-5, "softmax")
    yield f"softmax f32 {rows}x{columns}", milliseconds(run), milliseconds(lambda: torch.softmax(x, 1))


def layer_norm(rows, columns):
    kernel = shader("layer_norm").layer_norm
    x = torch.randn(rows, columns, device="cuda", dtype=torch.float16)
    weight, bias = (torch.randn(columns, device="cuda", dtype=torch.float16) for _ in range(2))
    y, mean, rstd = torch.empty_like(x), torch.empty(rows, device="cuda"), torch.empty(rows, device="cuda")
    block, warps = min(triton.next_power_of_2(columns), 4096), min(max(columns // 512, 1), 4)
    run = lambda: kernel[(rows,)](
        x, y, weight, bias, mean, rstd, columns, columns, 1e-5, BLOCK=block, num_warps=warps
    )
    torch_run = lambda: torch.nn.functional.layer_norm(x, (columns,), weight, bias, 1e-5)
    run()
    near(y, torch_run(), 2e-3, "layer norm")
    yield f"layer norm f16 {rows}x{columns}", milliseconds(run), milliseconds(torch_run)


def matmul(n, dtype, name, blocks, warps):
    kernel = shader("matmul").matmul.fn
    a, b = (torch.randn(n, n, device="cuda", dtype=dtype) / 8 for _ in range(2))
    c = torch.empty(n, n, device="cuda", dtype=dtype)
    m, k, d = blocks
    run = lambda: kernel[(triton.cdiv(n, m) * triton.cdiv(n, k),)](
        a, b, c, n, n, n, n, 1, n, 1, n, 1,
        BLOCK_M=m, BLOCK_N=k, BLOCK_K=d, GROUP=8, ACTIVATION="", num_warps=warps, num_stages=3,
    )
    run()
    near(c, a @ b, 5e-3, "matmul")
    yield f"matmul {name} {n}", milliseconds(run), milliseconds(lambda: torch.mm(a, b, out=c))


def attention(heads, n, head):
    kernel = shader("attention").attention
    q, k, v = (torch.randn(heads, n, head, device="cuda", dtype=torch.float16) for _ in range(3))
    out = torch.empty_like(q)
    run = lambda: kernel[(triton.cdiv(n, 128), heads)](
        q, k, v, out, n, head**-0.5, BLOCK_M=128, BLOCK_N=128, HEAD=head, num_warps=8, num_stages=2
    )
    batch = lambda x: x.unsqueeze(0)
    torch_run = lambda: torch.nn.functional.scaled_dot_product_attention(batch(q), batch(k), batch(v))
    run()
    near(out, torch_run()[0], 5e-3, "attention")
    yield f"attention f16 {heads}x{n}x{head}", milliseconds(run), milliseconds(torch_run)


def rivals():
    yield from vector_add(1 << 28)
    for columns in [512, 1823, 4096, 12672, 32768]:
        yield from softmax(4096, columns)
    for columns in [1024, 4096, 8192]:
        yield from layer_norm(4096, columns)
    for n in [2048, 4096, 8192]:
        yield from matmul(n, torch.float16, "f16", (128, 256, 64), 8)
    yield from matmul(4096, torch.float32, "f32", (128, 128, 32), 8)
    yield from attention(64, 2048, 64)
    yield from attention(64, 2048, 128)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("girih")
    parser.add_argument("--only", default="")
    arguments = parser.parse_args()
    command = [arguments.girih, "--json", "bench", "tile", "--device", "cuda", "--samples", "30"]
    if arguments.only:
        command += ["--only", arguments.only]
    lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    ours = {row["name"]: row["median_ms"] for line in lines for row in json.loads(line).get("rows", [])}
    print(f"{'':34}{'girih':>10}{'Triton':>10}{'PyTorch':>10}   ms    girih is faster than Triton, PyTorch")
    for name, by_triton, by_torch in rivals():
        if name in ours:
            mine = ours[name]
            print(f"{name:34}{mine:10.4f}{by_triton:10.4f}{by_torch:10.4f}  {by_triton / mine:8.2f}{by_torch / mine:8.2f}")


if __name__ == "__main__":
    main()
