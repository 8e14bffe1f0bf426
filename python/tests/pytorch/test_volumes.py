"""Convolutions in three dimensions and products of other types, without the host: results and gradients are those of the processor."""

import girih.torch
import pytest
import torch


@pytest.fixture(autouse=True)
def strict():
    girih.torch.strict()
    yield
    girih.torch.strict(False)


# Stride, padding, dilation and groups.
NUMBERS = [(1, 0, 1, 1), ((2, 1, 1), (1, 0, 1), (1, 2, 1), 2)]


@pytest.mark.parametrize("numbers", NUMBERS)
@pytest.mark.parametrize("transposed", [False, True])
def test_volumes(numbers, transposed):
    torch.manual_seed(0)
    stride, padding, dilation, groups = numbers
    x, w = torch.randn(2, 4, 5, 6, 7), torch.randn((4, 6 // groups, 3, 2, 2) if transposed else (6, 4 // groups, 3, 2, 2))
    found = []
    for place in ("cpu", "girih"):
        given = [t.clone().to(place).requires_grad_() for t in (x, w, torch.arange(6.0))]
        run = torch.conv_transpose3d if transposed else torch.conv3d
        made = run(*given, stride, padding, 0, groups, dilation) if transposed else run(*given, stride, padding, dilation, groups)
        weights = torch.cos(torch.arange(made.numel())).reshape(made.shape).to(place)
        found.append([made.detach(), *torch.autograd.grad(made, given, weights)])
    for theirs, ours in zip(*found, strict=True):
        torch.testing.assert_close(ours.cpu(), theirs, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("dtype", [torch.int64, torch.float64])
def test_products_of_other_types(dtype):
    a, b, c = (torch.arange(size[0] * size[1]).reshape(size).to(dtype) for size in ((3, 5), (5, 4), (3, 4)))
    ours = [t.to("girih") for t in (a, b, c)]
    assert torch.equal((ours[0] @ ours[1]).cpu(), a @ b)
    assert torch.equal(torch.addmm(ours[2], *ours[:2], beta=2, alpha=3).cpu(), torch.addmm(c, a, b, beta=2, alpha=3))
    assert torch.equal(torch.mm(*ours[:2], out=torch.empty(0, dtype=dtype, device="girih")).cpu(), a @ b)
    x, w = torch.arange(2 * 4 * 25).reshape(2, 4, 5, 5).to(dtype), torch.arange(6 * 2 * 9).reshape(6, 2, 3, 3).to(dtype)
    assert torch.equal(torch.conv2d(x.to("girih"), w.to("girih"), None, 2, 1, 1, 2).cpu(), torch.conv2d(x, w, None, 2, 1, 1, 2))


@pytest.mark.parametrize("reduce", ["sum", "mean", "prod", "amax", "amin"])
def test_reductions_at_indices(reduce):
    torch.manual_seed(0)
    x, index, source = torch.randn(5, 6), torch.randint(0, 5, (4, 5)), torch.randn(4, 6)
    for include_self in (True, False):
        ours = x.to("girih").scatter_reduce(0, index.to("girih"), source.to("girih"), reduce, include_self=include_self)
        torch.testing.assert_close(ours.cpu(), x.scatter_reduce(0, index, source, reduce, include_self=include_self))
    if reduce != "sum":
        with pytest.raises(IndexError):
            x.to("girih").scatter_reduce(0, index.to("girih") + 3, source.to("girih"), reduce)
            girih.torch.synchronize()
