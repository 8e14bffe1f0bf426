"""Compares the two compilers behind `torch.compile` on the device `girih`: `GIRIH_CACHE= python3 benches/torch/compilers.py graph --on cpu`, and `.. inductor`.

The models are the eleven of the tests, and one of wide dense layers. For each: how many kernels forward and backward start, the processor's time for the first step with all compilers, and the least of twenty
later ones, because other processes only add to it. A step is forward and backward; nothing is cached.
"""

import argparse
import os
import pathlib
import sys
import tempfile
import time

import torch

import girih.torch
from girih.torch import attention, convolutions, graph, launch, products
from girih.torch.inductor import kernels

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "python/tests/pytorch"))
from models import MODELS  # noqa: E402

STEPS = 20


def wide():
    """Products that are large for a processor."""
    nn = torch.nn
    model = nn.Sequential(nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, 10))
    return model, torch.randn(256, 512), nn.functional.cross_entropy, torch.randint(0, 10, (256,))


class Counted:
    """A launch of a kernel that counts how often it is started."""

    started = 0

    def __init__(self, step):
        self.step = step

    def launch(self, *addresses):
        Counted.started += 1
        self.step.launch(*addresses)


def count_launches():
    """Counts the launches of all kernels in Triton's language: Inductor's, and those of products and convolutions."""
    prepare, of_inductor = launch.prepare, kernels.Kernel._prepare

    def prepared(*arguments, **named):
        return Counted(prepare(*arguments, **named))

    def prepared_for_inductor(self, key, numbers):
        self._prepared[key] = made = Counted(of_inductor(self, key, numbers))
        return made

    attention.prepare = products.prepare = convolutions.prepare = prepared
    kernels.Kernel._prepare = prepared_for_inductor


def launches():
    return Counted.started + graph.launches()["kernels"]


def measure(name, compiler):
    torch.manual_seed(0)
    torch._dynamo.reset()
    model, x, loss, wanted = (MODELS | {"wide": wide})[name]()
    model, x, wanted = model.to("girih"), x.to("girih"), wanted.to("girih")
    step = torch.compile(lambda: loss(model(x), wanted), backend="girih", options={"compiler": compiler})
    times, busy, counts = [], [], []
    for _ in range(STEPS + 1):
        model.zero_grad()
        girih.torch.synchronize()
        start, used, before = time.perf_counter(), time.process_time(), launches()
        step().backward()
        girih.torch.synchronize()
        times.append(time.perf_counter() - start)
        busy.append(time.process_time() - used)
        counts.append(launches() - before)
    print(f"| {name} | {counts[-1]} | {busy[0]:.1f} s | {min(times[1:]) * 1e3:.2f} ms |", flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("compiler", choices=["graph", "inductor"])
    parser.add_argument("--on", default="cpu")
    given = parser.parse_args()
    girih.torch.use(given.on)
    count_launches()
    with tempfile.TemporaryDirectory() as folder:
        os.environ |= {"TORCHINDUCTOR_CACHE_DIR": folder, "TORCHINDUCTOR_FX_GRAPH_CACHE": "0", "TORCHINDUCTOR_AUTOGRAD_CACHE": "0"}
        # What both need once in a process is no part of the first model.
        torch.compile(lambda x: x + 1, backend="girih", options={"compiler": given.compiler})(torch.ones(2, device="girih"))
        for name in [*MODELS, "wide"]:
            measure(name, given.compiler)


main()
