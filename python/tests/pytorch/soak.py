"""`python soak.py WORK TIMES` does the work many times over and prints, as JSON, what stayed: bytes on the device, and bytes that the process grew by.

Each work is a process of its own: what other tests left for Python to collect would count as this one's.
"""

import gc
import io
import json
import pathlib
import sys

import torch

import girih.torch


def _model():
    return torch.nn.Sequential(torch.nn.Linear(16, 32), torch.nn.GELU(), torch.nn.LayerNorm(32), torch.nn.Linear(32, 4)).to("girih")


def _training(compiles):
    model = _model()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    forward = torch.compile(model) if compiles else model

    def step():
        optimizer.zero_grad()
        x = torch.randn(8, 16).to("girih")
        torch.nn.functional.cross_entropy(forward(x), torch.arange(8).remainder(4).to("girih")).backward()
        optimizer.step()

    return step


def _loading():
    packed = io.BytesIO()
    torch.save(_model().state_dict(), packed)

    def load():
        packed.seek(0)
        model = _model()
        model.load_state_dict(torch.load(packed))
        model(torch.ones(2, 16, device="girih")).sum().item()

    return load


# What is done, and how often: until nothing new is compiled, and then while it is watched.
WORKS = {"training": (lambda: _training(False), 50, 100), "compiled": (lambda: _training(True), 50, 100), "loading": (_loading, 20, 50)}


def _kept():
    """Bytes that tensors hold on the device, and the process in memory."""
    gc.collect()
    girih.torch.synchronize()
    pages = int(pathlib.Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return girih.torch.current().memory()["live"], pages * 4096


def main():
    work, times = sys.argv[1:]
    prepare, first, watched = WORKS[work]
    do = prepare()
    for _ in range(first):
        do()
    live, resident = _kept()
    for _ in range(watched * int(times)):
        do()
    live_after, resident_after = _kept()
    print(json.dumps({"device": live_after - live, "process": resident_after - resident}))


if __name__ == "__main__":
    main()
