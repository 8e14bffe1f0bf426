"""Steps of optimizers as one operation, and scaled gradients: what they do on the processor, without the host."""

import girih.torch
import pytest
import torch
import torch.nn.functional as F
from girih.torch import eager

SHAPES = [(5, 4), (7,), (3, 2, 2)]
OPTIMIZERS = {
    "SGD": lambda p: torch.optim.SGD(p, 0.1, momentum=0.9, nesterov=True, weight_decay=0.1, fused=True),
    "SGD without momentum": lambda p: torch.optim.SGD(p, 0.1, maximize=True, fused=True),
    "Adam": lambda p: torch.optim.Adam(p, 0.1, weight_decay=0.1, fused=True),
    "AdamW": lambda p: torch.optim.AdamW(p, 0.1, amsgrad=True, fused=True),
    "Adagrad": lambda p: torch.optim.Adagrad(p, 0.1, lr_decay=0.1, weight_decay=0.1, fused=True),
}


@pytest.fixture(autouse=True)
def strictly():
    girih.torch.strict()
    yield
    girih.torch.strict(False)


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_fused_optimizers(name):
    stepped = []
    for device in ("cpu", "girih"):
        torch.manual_seed(1)
        parameters = [torch.nn.Parameter(torch.randn(shape).to(device)) for shape in SHAPES]
        optimizer = OPTIMIZERS[name](parameters)
        schedule = torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.9)
        for step in range(5):
            for parameter in parameters:
                parameter.grad = torch.randn(parameter.shape).to(device)
            known = len(eager._plans)
            optimizer.step()
            schedule.step()
        stepped.append([parameter.detach().cpu() for parameter in parameters])
    assert len(eager._plans) == known, "a step with another rate needs no new plan"
    for one, other in zip(*stepped, strict=True):
        torch.testing.assert_close(other, one)


def test_16_bits_are_computed_in_32():
    torch.manual_seed(0)
    theirs, gradient = torch.randn(9), torch.randn(9)
    ours = torch.nn.Parameter(theirs.bfloat16().to("girih"))
    ours.grad = gradient.bfloat16().to("girih")
    wide = torch.nn.Parameter(theirs.bfloat16().float())
    wide.grad = gradient.bfloat16().float()
    for parameter in (ours, wide):
        torch.optim.AdamW([parameter], 0.1, fused=True).step()
    assert torch.equal(ours.detach().cpu(), wide.detach().bfloat16())


@pytest.mark.parametrize("fused", [False, True])
def test_scaled_gradients(fused):
    """The third step finds an infinite gradient: it changes nothing, and the scale falls. It rises after two good steps."""
    seen = []
    for device in ("cpu", "girih"):
        torch.manual_seed(0)
        model = torch.nn.Linear(4, 3).to(device)
        optimizer = torch.optim.SGD(model.parameters(), 0.1, momentum=0.9, fused=fused)
        scaler, scales = torch.amp.GradScaler(device, init_scale=16.0, growth_interval=2), []
        for step in range(5):
            loss = F.mse_loss(model(torch.randn(6, 4).to(device)), torch.zeros(6, 3).to(device))
            scaler.scale(loss).backward()
            if step == 2:
                model.weight.grad[0, 0] = float("inf")
            if not fused:
                scaler.unscale_(optimizer)
            scaler.step(optimizer)
            scaler.update()
            optimizer.zero_grad()
            scales.append(scaler.get_scale())
        seen.append((scales, model.weight.detach().cpu(), scaler.state_dict()))
    (scales, weight, state), ours = seen
    assert ours[0] == scales == [16, 32, 16, 16, 32] and ours[2] == state
    torch.testing.assert_close(ours[1], weight)
