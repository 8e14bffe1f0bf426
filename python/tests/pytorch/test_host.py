"""What is copied to the host, where it does not reach the device's memory: no more than what is asked for."""

import types

import girih.torch
import pytest
import torch
from girih.torch import extents, host, storages


class Counted:
    """A buffer that counts what is moved."""

    def __init__(self, buffer, moved):
        self.buffer, self.moved = buffer, moved
        self.address, self.nbytes = buffer.address, buffer.nbytes

    def read_into(self, target, offset):
        self.moved.append(("read", offset, len(target)))
        self.buffer.read_into(target, offset)

    def write(self, source, offset):
        self.moved.append(("write", offset, len(source)))
        self.buffer.write(source, offset)


@pytest.fixture
def moved(monkeypatch):
    """What is moved by views of the host, which take every device for one whose memory the host does not reach."""
    moved, buffer_of = [], storages.buffer_of
    far = types.SimpleNamespace(kind="far")
    monkeypatch.setattr(host, "device", types.SimpleNamespace(current=lambda: far, synchronize=girih.torch.synchronize))
    monkeypatch.setattr(host.storages, "buffer_of", lambda tensor: Counted(buffer_of(tensor), moved))
    return moved


def test_items_and_rows_move_alone(moved):
    x = torch.arange(4000, dtype=torch.float32).reshape(40, 100).to("girih")
    moved.clear()
    assert x[3, 7].item() == 307
    assert torch.equal(x[5].cpu(), torch.arange(500.0, 600.0))
    assert torch.equal(x[:3, 99].cpu(), torch.tensor([99.0, 199.0, 299.0]))
    assert moved == [("read", 4 * 307, 4), ("read", 2000, 400), ("read", 4 * 99, 4 * 201)]


def test_operations_move_what_their_arguments_are(moved):
    aten = torch.ops.aten
    x = torch.arange(4000, dtype=torch.float32).reshape(40, 100).to("girih")
    expected = torch.arange(4000, dtype=torch.float32).reshape(40, 100)
    moved.clear()
    host.on_host(aten.mul_.Scalar, x[2, 10:20], 2)
    assert moved == [("read", 4 * 210, 40), ("write", 4 * 210, 40)]
    # Two views of one storage have their common bytes once, and see each other's changes; what nobody has written stays.
    moved.clear()
    view, (left, right) = host.HostView(), (x[0, :10], x[0, 5:15])
    ours = view.of(left), view.of(right)
    ours[0].fill_(7)
    view.written(left)
    view.write_back()
    assert ours[1].tolist() == [7] * 5 + [10, 11, 12, 13, 14]
    assert moved == [("read", 0, 40), ("read", 40, 20), ("write", 0, 40)]
    host.on_host(aten.mul_.Scalar, x[:3, 99], 0)
    expected[2, 10:20] *= 2
    expected[0, :10] = 7
    expected[:3, 99] = 0
    assert torch.equal(x.cpu(), expected)


def test_what_is_missing():
    assert extents.missing((0, 10), []) == [(0, 10)]
    assert extents.missing((2, 8), [(0, 10)]) == []
    assert extents.missing((0, 10), [(2, 4), (6, 12)]) == [(0, 2), (4, 6)]
    assert extents.missing((0, 2), [(4, 6)]) == [(0, 2)]
    assert extents.missing((5, 9), [(0, 3), (4, 6)]) == [(6, 9)]
    assert extents.merged([(4, 6), (0, 2), (1, 4), (8, 9)]) == [(0, 6), (8, 9)]


def test_operations_may_resize_what_they_write_to():
    """Training with weights as if they were rounded: the first step gives the numbers of each row their size."""
    import torch.ao.quantization as quantization

    results = []
    for device in ("cpu", "girih"):
        torch.manual_seed(0)
        model = torch.nn.Sequential(torch.nn.Linear(4, 3))
        model.qconfig = quantization.get_default_qat_qconfig("fbgemm")
        model = quantization.prepare_qat(model.train()).to(device)
        for _ in range(2):
            y = model(torch.linspace(-1, 1, 8).reshape(2, 4).to(device))
            y.square().sum().backward()
        results.append([y.detach().cpu(), model[0].weight.grad.cpu(), *(buffer.cpu() for buffer in model.buffers())])
    for ours, theirs in zip(*reversed(results), strict=True):
        torch.testing.assert_close(ours, theirs)
