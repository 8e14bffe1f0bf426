"""`torch.compile` on the device: what Inductor writes is run by Girih, and gives what the processor gives."""

import girih.torch
import pytest
import torch
import torch.nn.functional as F
from torch._dynamo.utils import counters
from torch._inductor.compile_fx import compile_fx


@pytest.fixture(autouse=True)
def fresh():
    torch._dynamo.reset()


CASES = {
    "pointwise": lambda x: F.gelu(x) * 2 + torch.where(x > 0, x.sin(), x.exp()),
    "softmax": lambda x: torch.softmax(x, -1),
    "norm": lambda x: F.layer_norm(x, x.shape[-1:]),
    "sums": lambda x: (x.sum(0), x.mean(1), x.amax(0), x.argmax(1), x.var(0)),
    "transposed": lambda x: x.t().contiguous() + 1,
    "integers": lambda x: (x * 10).long() // 3 % 5,
    "product": lambda x: F.relu(x @ x.t()) + 1,
    "scan": lambda x: x.cumsum(0),
    "sorted": lambda x: x.sort(1).values,
    "gathered": lambda x: x[torch.arange(x.shape[0], device=x.device) // 2],
}


@pytest.mark.parametrize("name", CASES)
def test_functions(name):
    torch.manual_seed(0)
    x = torch.randn(37, 70)
    ours = torch.compile(CASES[name])(x.to("girih"))
    theirs = CASES[name](x)
    for a, b in zip(*([t] if isinstance(t, torch.Tensor) else t for t in (ours, theirs)), strict=True):
        torch.testing.assert_close(a.cpu(), b, rtol=1e-4, atol=1e-4)


def test_sizes_may_change():
    seen = []

    def counted(graph, example):
        seen.append(graph)
        return compile_fx(graph, example)

    f = torch.compile(lambda x: torch.softmax(x * 2, -1), dynamic=True, backend=counted)
    for shape in [(3, 5), (40, 7), (17, 300)]:
        x = torch.randn(shape)
        torch.testing.assert_close(f(x.to("girih")).cpu(), torch.softmax(x * 2, -1))
    assert len(seen) == 1


PICTURES = {
    "windows": lambda x: x.unfold(2, 4, 2).unfold(3, 4, 2).sum((-1, -2)) * 2,
    "a network": lambda x: F.relu(F.batch_norm(F.max_pool2d(F.conv2d(x, torch.ones(5, 3, 3, 3, device=x.device), stride=2, padding=1), 3, 2, 1), None, None, training=True)).mean((2, 3)),
    "interpolation": lambda x: F.interpolate(F.avg_pool2d(x, 2), size=x.shape[2:], mode="bilinear") + x,
}


@pytest.mark.parametrize("name", PICTURES)
def test_sizes_of_pictures_may_change(name):
    """A size of Inductor's is then a formula of others, and two texts may mean the same one."""
    torch.manual_seed(0)
    compiled = torch.compile(PICTURES[name], dynamic=True)
    for size in ((2, 3, 12, 10), (3, 3, 14, 17)):
        x, results = torch.randn(size), []
        for device, function in (("girih", compiled), ("cpu", PICTURES[name])):
            given = x.to(device, copy=True).requires_grad_()
            y = function(given)
            (y * torch.cos(torch.arange(y.numel(), device=device)).reshape(y.shape)).sum().backward()
            results.append((y.detach().cpu(), given.grad.cpu()))
        for ours, theirs in zip(*results, strict=True):
            torch.testing.assert_close(ours, theirs, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("mode", ["reduce-overhead", "max-autotune", "max-autotune-no-cudagraphs"])
def test_modes(mode):
    """Nothing is chosen by measuring, because there is one kernel for a product."""
    torch.manual_seed(0)
    x, weights, bias = torch.randn(5, 8), torch.randn(7, 8), torch.randn(7)
    compute = lambda x, weights, bias: F.relu(F.linear(x, weights, bias)) @ weights + torch.bmm(x[None], x.t()[None])[0].sum()
    ours = torch.compile(compute, mode=mode)(*(value.to("girih") for value in (x, weights, bias)))
    torch.testing.assert_close(ours.cpu(), compute(x, weights, bias), rtol=1e-4, atol=1e-4)


def test_changes_in_place():
    x = torch.randn(20, 30)
    ours = x.to("girih")
    torch.compile(lambda t: t.mul_(2).add_(1))(ours)
    torch.testing.assert_close(ours.cpu(), x * 2 + 1)


def test_dropout_keeps_the_right_share_and_repeats_with_the_seed():
    f = torch.compile(lambda x: F.dropout(x, 0.25))
    x = torch.ones(100, 100, device="girih")
    torch.manual_seed(1)
    first = f(x).cpu()
    torch.manual_seed(1)
    assert torch.equal(first, f(x).cpu())
    assert abs((first == 0).float().mean().item() - 0.25) < 0.03
    assert set(first.unique().tolist()) <= {0.0, torch.tensor(1 / 0.75).item()}


@pytest.mark.parametrize("kind", ["SGD", "Adam", "AdamW"])
def test_optimizers_are_compiled(kind):
    torch.manual_seed(0)
    start = torch.randn(30, 20)
    ends = []
    for place in ("cpu", "girih"):
        weight = torch.nn.Parameter(start.clone().to(place))
        optimizer = getattr(torch.optim, kind)([weight], lr=0.1)
        step = torch.compile(optimizer.step) if place == "girih" else optimizer.step
        for _ in range(3):
            optimizer.zero_grad()
            (weight * weight).sum().backward()
            step()
        ends.append(weight.detach().cpu())
    torch.testing.assert_close(*ends, rtol=1e-4, atol=1e-5)


def test_kernels_run_without_the_host():
    x = torch.randn(64, 64).to("girih")
    before = dict(girih.torch.fallbacks())
    girih.torch.strict()
    try:
        torch.compile(lambda x: F.layer_norm(F.gelu(x @ x), (64,)).sum(0))(x)
    finally:
        girih.torch.strict(False)
    assert girih.torch.fallbacks() == before


def test_dynamo_compiles_the_users_functions_alone():
    """Where a graph breaks, operations run while Dynamo looks at each function that begins: those that run them here are none of its business."""

    def f(x):
        y = x * 2
        if (y > 3).any().item():
            y = y + 1
        return y.sum() + torch.nonzero(y).shape[0]

    torch._dynamo.reset()
    counters["frames"].clear()
    x = torch.arange(4.0)
    assert torch.compile(f)(x.to("girih")).item() == f(x).item()
    # The function, and what is left of it behind each of two breaks.
    assert counters["frames"]["total"] == 3


def test_kernels_are_compiled_before_they_are_launched():
    from girih.torch.inductor import early

    source = """
    triton_a.run(arg0_1, buf0, 4096, 1.5, stream=stream0)
    triton_a.run(arg0_1, buf0, 4096, 1.5, stream=stream0)
    triton_b.run(buf0, reinterpret_tensor(buf1, (2, 3), (3, 1), 0), s0, -1, 1e999, stream=stream0)
    extern_kernels.mm(buf0, buf1, out=buf2)
"""
    assert early.launches(source) == [("triton_a", (None, None, 4096, 1.5)), ("triton_b", (None, None, None, -1, None))]
    begun = []

    class Kernel:
        def compile_early(self, arguments, submit):
            begun.append((arguments, submit(lambda: 7).result()))

    early.compile_early({"triton_a": Kernel(), "triton_b": None}, [("triton_a", (1,)), ("triton_b", (2,)), ("triton_c", ())])
    assert begun == [((1,), 7)]


DOUBLES = {
    "powers": lambda x: 1 / 10000**x + x**-0.5 + x**3,
    "waves": lambda x: torch.cat([x.sin(), x.cos()]),
    "norms": lambda x: F.gelu(F.layer_norm(x, x.shape[-1:])).softmax(-1),
    "tanh": lambda x: torch.tanh(x) * 2,
    "scan": lambda x: x.logcumsumexp(0),
    "products": lambda x: F.linear(x, x, x[:, 0]) @ x + torch.ones(x.shape, dtype=x.dtype, device=x.device).addmm_(x, x.t() @ x),
    "whole numbers": lambda x: (x * 10).long() @ (x * 10).long().t(),
}


@pytest.mark.parametrize("name", DOUBLES)
def test_numbers_of_64_bits(name):
    """The device computes functions in 32 bits alone: those of 64 run on the host, between kernels."""
    if girih.torch.current().kind != "cpu":
        pytest.skip("not every device has numbers of 64 bits")
    torch.manual_seed(0)
    x = torch.rand(5, 7, dtype=torch.float64) + 0.1
    torch.testing.assert_close(torch.compile(DOUBLES[name])(x.to("girih")).cpu(), DOUBLES[name](x), rtol=1e-12, atol=1e-12)
