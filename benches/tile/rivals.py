"""The kernels of `shaders/` by girih, by Triton and by PyTorch on the same card: medians, each result checked.

    python3 benches/tile/rivals.py GIRIH [--only TEXT]

GIRIH is the release binary. It needs PyTorch and Triton. Triton compiles the very files that girih does, with the same blocks and warps.
"""

import argparse
import importlib.util
import json
import math
import signal
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
        raise ValueError(f"{what}: the result is off by {error}")


def vector_add(n):
    kernel = shader("vector_add").vector_add
    x, y = torch.randn(n, device="cuda"), torch.randn(n, device="cuda")
    out = torch.empty_like(x)
    run = lambda: kernel[(triton.cdiv(n, 1024),)](x, y, out, n, BLOCK=1024, num_warps=4)
    run()
    near(out, x + y, 1e-6, "vector add")
    yield f"vector_add f32 {n}", milliseconds(run), milliseconds(lambda: torch.add(x, y, out=out))


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
    yield f"layer_norm f16 {rows}x{columns}", milliseconds(run), milliseconds(torch_run)


def matmul(n, dtype, name, blocks, warps, precision=None):
    torch.backends.cuda.matmul.allow_tf32 = precision == "tf32"
    kernel = shader("matmul").matmul.fn
    a, b = (torch.randn(n, n, device="cuda", dtype=dtype) / 8 for _ in range(2))
    c = torch.empty(n, n, device="cuda", dtype=dtype)
    m, k, d = blocks
    run = lambda: kernel[(triton.cdiv(n, m) * triton.cdiv(n, k),)](
        a, b, c, n, n, n, n, 1, n, 1, n, 1,
        BLOCK_M=m, BLOCK_N=k, BLOCK_K=d, GROUP=8, ACTIVATION="", PRECISION=precision, num_warps=warps, num_stages=3,
    )
    run()
    near(c, a @ b, 5e-3, "matmul")
    yield f"matmul {name} {n}x{n}", milliseconds(run), milliseconds(lambda: torch.mm(a, b, out=c))


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
    yield f"attention f16 {heads} heads of {head} {n}", milliseconds(run), milliseconds(torch_run)


def rivals():
    """What to measure: a name that `--only` may be a part of, and what yields rows."""
    for columns in [1024, 4096, 8192]:
        yield "layer_norm", lambda c=columns: layer_norm(4096, c)
    for columns in [512, 1823, 4096, 12672, 32768]:
        yield "softmax", lambda c=columns: softmax(4096, c)
    for n in [4096, 8192, 2048]:
        yield "matmul f16", lambda n=n: matmul(n, torch.float16, "f16", (128, 256, 64), 8)
    yield "matmul tf32", lambda: matmul(4096, torch.float32, "tf32", (128, 128, 32), 8, "tf32")
    yield "matmul f32", lambda: matmul(4096, torch.float32, "f32", (128, 128, 32), 8, "ieee")
    for head in [64, 128]:
        yield "attention", lambda h=head: attention(64, 2048, h)
    yield "matmul bf16", lambda: matmul(4096, torch.bfloat16, "bf16", (128, 256, 64), 8)
    yield "vector_add", lambda: vector_add(1 << 28)


def measured(text):
    """Our times in milliseconds, by name and size, of what `girih --json bench` prints."""
    try:
        figures = [json.loads(text)]
    except ValueError:
        figures = [json.loads(line) for line in text.splitlines() if line.startswith("{")]
    rows = [row for each in figures if each.get("kind") == "bench" for row in each["rows"]]
    return {f"{row['name']} {row['size']}": 1e3 * row["runs"][0]["seconds"]["median"] for row in rows if row["runs"]}


def too_long(*_):
    raise TimeoutError("it takes too long")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("girih")
    parser.add_argument("--only", action="append", default=[])
    parser.add_argument("--limit", type=int, default=30, help="seconds for each job of the rivals")
    parser.add_argument("--ours", help="what `girih --json bench tile --device cuda` has printed before")
    arguments = parser.parse_args()
    command = [arguments.girih, "--json", "bench", "tile", "--device", "cuda", "--samples", "30"]
    if arguments.ours:
        text = Path(arguments.ours).read_text()
    else:
        only = [word for text in arguments.only for word in ["--only", text]]
        text = subprocess.run(command + only, capture_output=True, text=True, timeout=300).stdout
    ours = measured(text)
    print(f"{'':34}{'girih':>10}{'Triton':>10}{'PyTorch':>10}   ms    girih is faster than Triton, PyTorch")
    signal.signal(signal.SIGALRM, too_long)
    for kind, rows in rivals():
        if arguments.only and not any(word in kind for word in arguments.only):
            continue
        # What fails or takes too long has no figures, and ends no other.
        try:
            signal.alarm(arguments.limit)
            for name, by_triton, by_torch in rows():
                mine = ours.get(name, math.nan)
                times = f"{mine:10.4f}{by_triton:10.4f}{by_torch:10.4f}"
                print(f"{name:34}{times}  {by_triton / mine:8.2f}{by_torch / mine:8.2f}", flush=True)
        except Exception as error:
            print(f"{kind}: {type(error).__name__}: {str(error)[:200]}", flush=True)
        finally:
            signal.alarm(0)


if __name__ == "__main__":
    main()
