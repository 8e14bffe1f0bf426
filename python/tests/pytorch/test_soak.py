"""Many steps and many models: nothing that a step or a model has made stays. `GIRIH_SOAK` is how many times as many there are as the tests take by themselves."""

import gc
import io
import os
import resource

import pytest
import torch

import girih.torch

TIMES = int(os.environ.get("GIRIH_SOAK", "1"))
# Python's own arenas and malloc's grow in pieces.
SLACK = 8 << 20


def _model():
    return torch.nn.Sequential(torch.nn.Linear(16, 32), torch.nn.GELU(), torch.nn.LayerNorm(32), torch.nn.Linear(32, 4)).to("girih")


def _resident():
    """How many bytes the process has had at most, which is what a leak raises."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10


def _live():
    gc.collect()
    girih.torch.synchronize()
    return girih.torch.current().memory()["live"]


def _steps(step, count):
    for _ in range(count):
        step()


@pytest.mark.parametrize("is_compiled", [False, True])
def test_training_steps_leave_nothing(is_compiled):
    model = _model()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    forward = torch.compile(model) if is_compiled else model

    def step():
        optimizer.zero_grad()
        x = torch.randn(8, 16).to("girih")
        torch.nn.functional.cross_entropy(forward(x), torch.arange(8).remainder(4).to("girih")).backward()
        optimizer.step()

    _steps(step, 50)
    live, resident = _live(), _resident()
    _steps(step, 100 * TIMES)
    assert _live() == live
    assert _resident() < resident + SLACK


def test_models_that_are_loaded_leave_nothing():
    packed = io.BytesIO()
    torch.save(_model().state_dict(), packed)

    def load():
        packed.seek(0)
        model = _model()
        model.load_state_dict(torch.load(packed))
        model(torch.ones(2, 16, device="girih")).sum().item()

    _steps(load, 20)
    live, resident = _live(), _resident()
    _steps(load, 50 * TIMES)
    assert _live() == live
    assert _resident() < resident + SLACK
