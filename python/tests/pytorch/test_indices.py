"""Indices beyond what they are for: an exception as on the processor, nothing read or written elsewhere, and a device that works afterwards."""

import girih
import girih.torch
import pytest
import torch
import torch.nn.functional as F

FAR = 10**7


def on_device(*numbers):
    return torch.tensor(numbers, device="girih")


def row():
    return torch.arange(5.0, device="girih")


def table():
    return torch.arange(12.0, device="girih").reshape(4, 3)


# What is not counted from the end is refused below 0, too.
CASES = {
    "embedding": (lambda at: F.embedding(at, table()), [FAR, 4, -1]),
    "index": (lambda at: row()[at], [FAR, 5, -6]),
    "index_select": (lambda at: row().index_select(0, at), [FAR, -1]),
    "gather": (lambda at: row().gather(0, at), [FAR, -1]),
    "take": (lambda at: row().take(at), [FAR, -6]),
    "index_put": (lambda at: row().index_put_((at,), on_device(1.0)), [FAR, -6]),
    "accumulating": (lambda at: row().index_put_((at,), on_device(1.0), accumulate=True), [FAR]),
    "scatter": (lambda at: row().scatter_(0, at, on_device(1.0)), [FAR, -1]),
    "scatter_add": (lambda at: row().scatter_add_(0, at, on_device(1.0)), [FAR, -1]),
    "index_add": (lambda at: row().index_add_(0, at, on_device(1.0)), [FAR]),
    "index_copy": (lambda at: row().index_copy_(0, at, on_device(1.0)), [FAR]),
    "nll_loss": (lambda at: F.nll_loss(table()[:1], at), [FAR, 3, -3]),
    "embedding's gradient": (lambda at: torch.ops.aten.embedding_dense_backward(torch.ones(1, 3, device="girih"), at, 4, -1, False), [FAR]),
    "masked_scatter": (lambda at: row().masked_scatter_(row() < at, on_device(1.0)), [5]),
}
COMPILED = ("embedding", "index", "index_put", "scatter_add", "nll_loss", "masked_scatter")


def refuses(call, at):
    around = [torch.full((1024,), 7.0, device="girih") for _ in range(4)]
    with pytest.raises(IndexError, match="index out of (bounds|range in self)") as caught:
        call(on_device(at))
        girih.torch.synchronize()
    assert isinstance(caught.value, girih.OutOfBounds) and "in the kernel `triton_" in caught.value.rendered
    assert (row() + 1).cpu().tolist() == [1, 2, 3, 4, 5]
    assert all(bool((tensor.cpu() == 7).all()) for tensor in around)


@pytest.mark.parametrize("name", CASES)
def test_an_index_that_is_out_of_range_is_an_error(name):
    call, indices = CASES[name]
    for at in indices:
        refuses(call, at)


@pytest.mark.parametrize("name", COMPILED)
def test_compiled_functions_check_indices_too(name):
    call, indices = CASES[name]
    refuses(torch.compile(call), indices[0])


def test_indices_at_the_ends_are_right():
    last, first = on_device(4, -1), on_device(0, -5)
    assert row()[last].cpu().tolist() == [4, 4] and row()[first].cpu().tolist() == [0, 0]
    assert F.embedding(on_device(0, 3), table()).cpu().tolist() == [[0, 1, 2], [9, 10, 11]]
    assert F.nll_loss(-table(), on_device(0, 2, -100, 1), reduction="none").cpu().tolist() == [0, 5, 0, 10]
    grid = table().gather(1, on_device(2, 0, 1, 1).reshape(4, 1))
    assert grid.cpu().flatten().tolist() == [2, 3, 7, 10]


def test_the_processor_names_the_call_that_is_wrong():
    if girih.torch.current().kind != "cpu":
        pytest.skip("other devices tell of a failure when the host waits for them")
    with pytest.raises(girih.OutOfBounds):
        row().index_put_((on_device(FAR),), on_device(1.0))


def test_weights_without_a_sample_are_refused():
    for weights, count in (([-1.0, 2.0], 1), ([float("nan"), 1.0], 1), ([0.0, 0.0], 1), ([0.0, 1.0, 3.0], 3)):
        with pytest.raises(girih.AssertionFailed, match="multinomial|probability"):
            torch.multinomial(torch.tensor(weights, device="girih"), count).cpu()
