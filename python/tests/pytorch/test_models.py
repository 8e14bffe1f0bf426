"""Eleven models train ten steps on the device, eagerly and compiled, and come where PyTorch's own processor comes.

Accuracy is judged as PyTorch judges its compilers: beside a run in float64, no further off than float32 on the processor is.
"""

import copy

import girih.torch  # noqa: F401
import pytest
import torch
from models import MODELS
from torch._dynamo.utils import same

STEPS = 10


def train(model, x, loss, wanted, compiles=None):
    """The losses of all steps, and the parameters at the end, on the host; the step is what `compiles` makes of it."""
    torch._dynamo.reset()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.9)
    compute = lambda x, wanted: loss(model(x), wanted)
    compute = compiles(compute) if compiles else compute
    losses = []
    for _ in range(STEPS):
        optimizer.zero_grad()
        value = compute(x, wanted)
        value.backward()
        optimizer.step()
        losses.append(value.item())
    return torch.tensor(losses), {name: value.detach().cpu() for name, value in model.state_dict().items()}


def in_float64(value):
    return value.double() if value.is_floating_point() else value


@pytest.mark.parametrize("compiled", [False, True], ids=["eager", "compiled"])
@pytest.mark.parametrize("name", MODELS)
def test_training(name, compiled):
    torch.manual_seed(0)
    model, x, loss, wanted = MODELS[name]()
    exact = train(copy.deepcopy(model).double(), in_float64(x), loss, in_float64(wanted))
    plain = train(copy.deepcopy(model), x, loss, wanted)
    ours = train(copy.deepcopy(model).to("girih"), x.to("girih"), loss, wanted.to("girih"), torch.compile if compiled else None)
    assert ours[0][-1] != ours[0][0]
    assert same(plain, ours, exact, tol=1e-3)
