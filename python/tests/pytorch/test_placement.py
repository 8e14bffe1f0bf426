"""Calls that mix tensors of the device and of the host: what PyTorch's own cards refuse is refused by the same error, and what they take is computed on the device."""

import girih.torch
import pytest
import torch
import torch.nn.functional as F
from torch import nn


@pytest.fixture(autouse=True)
def strictly():
    girih.torch.strict()
    yield
    girih.torch.strict(False)


def ours(*size):
    return torch.ones(*size, device="girih")


REFUSED = {
    "sum": lambda: ours(3) + torch.ones(3),
    "one element": lambda: ours(3) + torch.ones(1),
    "in place": lambda: torch.ones(3).add_(ours(3)),
    "number in place": lambda: torch.tensor(1.0).add_(ours(1)[0]),
    "result": lambda: torch.add(ours(2), 1, out=torch.empty(2)),
    "loss": lambda: F.cross_entropy(ours(2, 3), torch.tensor([0, 1])),
    "product": lambda: torch.mm(ours(2, 3), torch.ones(3, 2)),
    "batches": lambda: torch.bmm(ours(1, 2, 3), torch.ones(1, 3, 2)),
    "layer": lambda: nn.Linear(3, 2)(ours(1, 3)),
    "convolution": lambda: nn.Conv2d(3, 2, 3)(ours(1, 3, 5, 5)),
    "list": lambda: torch.cat([ours(2), torch.ones(2)]),
    "foreach": lambda: torch._foreach_add([ours(2)], [torch.ones(2)]),
    "rows": lambda: ours(3).index_select(0, torch.tensor([1])),
    "table": lambda: nn.Embedding(3, 2).to("girih")(torch.tensor([1])),
    "table of the host": lambda: nn.Embedding(3, 2)(torch.tensor([1]).to("girih")),
    "mask": lambda: ours(2).masked_select(torch.tensor([True, False])),
    "values": lambda: ours(3).index_put_((torch.tensor([0, 1]),), torch.ones(2)),
    "norm": lambda: nn.BatchNorm1d(3)(ours(2, 3)),
}


@pytest.mark.parametrize("name", REFUSED)
def test_two_devices_are_an_error(name):
    with pytest.raises(RuntimeError, match="Expected all tensors to be on the same device, but found at least two devices, girih:0 and cpu!"):
        REFUSED[name]()


def test_indices_of_the_device_are_not_for_the_host():
    with pytest.raises(RuntimeError, match="indices should be either on cpu or on the same device as the indexed tensor"):
        torch.ones(3)[torch.tensor([1]).to("girih")]


TAKEN = {
    "number": lambda x: x + torch.tensor(2.0),
    "number of a list": lambda x: torch._foreach_mul([x], torch.tensor(3.0))[0],
    "index": lambda x: x[torch.tensor([2, 0])],
    "mask": lambda x: x[torch.tensor([True, False, True])],
    "index of both": lambda x: x.expand(3, 3)[torch.tensor([1]), torch.tensor([2]).to(x.device)],
    "number at an index": lambda x: x.index_put((torch.tensor([1]),), torch.tensor(5.0)),
    "copy": lambda x: x.clone().copy_(torch.ones(3)),
    "where": lambda x: torch.where(x > 1, torch.tensor(7.0), x),
    "probabilities": lambda x: x.clone().bernoulli_(torch.ones(3)),
    "lengths": lambda x: nn.utils.rnn.pack_padded_sequence(x.reshape(1, 3, 1), torch.tensor([2]), batch_first=True).data,
}


@pytest.mark.parametrize("name", TAKEN)
def test_what_cards_take_of_the_host(name):
    x = torch.arange(3.0)
    made = TAKEN[name](x.to("girih"))
    assert made.device.type == "girih"
    torch.testing.assert_close(made.cpu(), TAKEN[name](x))


ERRORS = {
    "product": lambda d: torch.ones(2, 3, device=d) @ torch.ones(4, 5, device=d),
    "batches": lambda d: torch.bmm(torch.ones(2, 3, 4, device=d), torch.ones(2, 5, 6, device=d)),
    "layer": lambda d: nn.Linear(4, 5).to(d)(torch.ones(2, 3, device=d)),
    "list": lambda d: torch.cat([torch.ones(2, 3, device=d), torch.ones(2, 4, device=d)]),
    "channels": lambda d: F.conv2d(torch.ones(1, 2, 5, 5, device=d), torch.ones(4, 3, 3, 3, device=d)),
    "index of floats": lambda d: torch.ones(3, device=d).gather(0, torch.ones(1, device=d)),
    "largest": lambda d: torch.ones(3, device=d).topk(5),
    "count": lambda d: torch.bincount(torch.tensor([-1], device=d)),
}


@pytest.mark.parametrize("name", ERRORS)
def test_errors_are_those_of_the_processor(name, capfd):
    with pytest.raises(Exception) as theirs:
        ERRORS[name]("cpu")
    with pytest.raises(type(theirs.value)) as mine:
        ERRORS[name]("girih")
    first = lambda problem: str(problem.value).splitlines()[0]
    assert first(mine) == first(theirs)
    # Planning the call says nothing of its own.
    assert "fake_tensor" not in capfd.readouterr().err


@pytest.mark.parametrize("call", [lambda x, at: x[at], lambda x, at: x.index_select(0, at), lambda x, at: F.embedding(at, x.reshape(3, 1))], ids=["index", "rows", "table"])
def test_an_index_out_of_range_is_named_with_the_range(call):
    if girih.torch.current().kind != "cpu":
        pytest.skip("other devices tell of it later")
    with pytest.raises(IndexError, match=r"index out of range in self: an index of `aten::\w+` is (not in the range from -?\d to 2|too far) .shapes of its tensors: .*\[3"):
        call(torch.ones(3, device="girih"), torch.tensor([7], device="girih"))
