"""Modules that are moved, and what must be as it is without Girih."""

import copy
import weakref

import pytest
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

import girih.torch


class Tied(nn.Module):
    """Two layers with one weight."""

    def __init__(self):
        super().__init__()
        self.into, self.out = nn.Embedding(4, 3), nn.Linear(3, 4, bias=False)
        self.out.weight = self.into.weight


def test_weights_that_are_shared_stay_shared():
    model = Tied()
    weight = model.into.weight
    optimizer = torch.optim.SGD(model.parameters(), lr=1.0)
    model.to("girih")
    assert model.into.weight is model.out.weight is weight is optimizer.param_groups[0]["params"][0]
    assert weight.device.type == "girih"


def test_weights_that_are_held_elsewhere_stay_shared():
    model = Tied()
    held = weakref.ref(model.into.weight)
    model.to("girih")
    assert model.into.weight is model.out.weight and model.into.weight.device.type == "girih"
    assert held() is None or held() is model.into.weight


@pytest.mark.parametrize("device", ["cpu", "girih"])
def test_hooks_and_attributes_stay(device):
    layer = nn.Linear(2, 1)
    layer.weight.register_hook(lambda gradient: gradient * 0)
    layer.weight.tag = "kept"
    layer.to(device).double()
    layer(torch.ones(1, 2, dtype=torch.float64, device=device)).sum().backward()
    assert layer.weight.grad.tolist() == [[0, 0]] and layer.weight.tag == "kept"


def test_conversions_of_the_host_are_those_of_pytorch():
    layer = nn.Linear(2, 1)
    held = weakref.ref(layer.weight)
    layer.half()
    assert held() is layer.weight and layer.weight.dtype == torch.float16
    with torch.inference_mode():
        frozen = nn.Linear(2, 1)
    assert frozen.to("cpu").weight.device.type == "cpu"


@pytest.mark.skipif(torch.cuda.is_available(), reason="PyTorch takes a card of CUDA instead")
def test_data_parallel_has_one_device():
    layer = nn.Linear(2, 1).to("girih")
    for device in ("cpu", "girih"):
        x = torch.ones(3, 2, device=device, requires_grad=True)
        y = nn.DataParallel(layer)(x)
        y.sum().backward()
        assert y.device.type == "girih" and x.grad.device.type == device
        torch.testing.assert_close(x.grad.cpu(), layer.weight.detach().cpu().expand(3, 2))


def test_weights_under_a_norm_move():
    old = nn.utils.weight_norm(nn.Linear(3, 4)).to("girih")
    assert old(torch.ones(1, 3, device="girih")).shape == (1, 4)
    new = nn.utils.parametrizations.weight_norm(nn.Linear(3, 4))
    expected = new(torch.ones(1, 3))
    new.to("girih")
    new(torch.ones(1, 3, device="girih")).sum().backward()
    torch.testing.assert_close(new.to("cpu")(torch.ones(1, 3)), expected)


@pytest.mark.parametrize("device", ["cpu", "girih"])
def test_layers_without_a_shape_move(device):
    layer = nn.LazyLinear(3).to(device)
    assert layer(torch.ones(2, 5, device=device)).shape == (2, 3)
    assert layer.weight.device.type == device and type(layer) is nn.Linear


def test_pinned_batches():
    data = TensorDataset(torch.arange(8.0), torch.arange(8))
    batches = [x.to("girih", non_blocking=True).sum().item() for x, _ in DataLoader(data, batch_size=4, pin_memory=True)]
    assert batches == [6, 22]


def test_memory_is_told():
    before = torch.girih.memory_allocated()
    kept = torch.zeros(1000, device="girih")
    assert torch.girih.memory_allocated() >= before + 4000
    assert torch.girih.max_memory_allocated() >= torch.girih.memory_allocated() >= kept.nbytes
    assert torch.girih.memory_reserved() >= torch.girih.memory_allocated()
    torch.girih.manual_seed(3)
    assert torch.girih.initial_seed() == 3 and torch.girih.get_device_name() == girih.torch.current().name


@pytest.mark.parametrize("kind", [nn.LSTM, nn.GRU, nn.RNN])
@pytest.mark.parametrize("options", [{}, {"bidirectional": True, "num_layers": 2}, {"bias": False}])
def test_recurrent_networks(kind, options):
    theirs = kind(4, 5, **options)
    ours = copy.deepcopy(theirs).to("girih")
    x = torch.randn(3, 2, 4)
    gradients = []
    before = girih.torch.fallbacks()
    for model in (theirs, ours):
        device = next(model.parameters()).device
        given = x.clone().to(device).requires_grad_()
        model(given)[0].sin().sum().backward()
        gradients.append([given.grad.cpu(), *(parameter.grad.cpu() for parameter in model.parameters())])
    torch.testing.assert_close(*gradients)
    assert girih.torch.fallbacks() == before


@pytest.mark.parametrize("kind", [nn.LSTM, nn.GRU])
def test_recurrent_networks_of_sequences_of_several_lengths(kind):
    theirs = kind(4, 5)
    ours, x = copy.deepcopy(theirs).to("girih"), torch.randn(3, 2, 4)
    packed = [nn.utils.rnn.pack_padded_sequence(given, [3, 2]) for given in (x, x.to("girih"))]
    torch.testing.assert_close(ours(packed[1])[0].data.cpu(), theirs(packed[0])[0].data)
