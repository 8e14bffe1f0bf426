"""Eager operations on the device: one kernel for each kind of call, which the host takes no part in."""

import warnings

import girih.torch
import pytest
import torch
import torch.nn.functional as F
from girih.torch.eager import plan


@pytest.fixture(autouse=True)
def strictly():
    girih.torch.strict()
    yield
    girih.torch.strict(False)


@pytest.fixture
def planned(monkeypatch):
    """Counts the plans that Inductor is asked for."""
    seen, compiled = [], plan._compiled
    monkeypatch.setattr(plan, "_compiled", lambda *given: seen.append(given) or compiled(*given))
    return seen


def agree(function, *tensors, **tolerance):
    ours, theirs = function(*(tensor.to("girih") for tensor in tensors)), function(*tensors)
    for a, b in zip(*([t] if isinstance(t, torch.Tensor) else t for t in (ours, theirs)), strict=True):
        torch.testing.assert_close(a.cpu(), b, **tolerance)


CASES = {
    "broadcast": lambda x: x + x[:1] * x[:, :1],
    "numbers": lambda x: (x * 2.5 - 1) / 3,
    "promotion": lambda x: (x * 3).long() * 0.5 + (x > 0),
    "remainder": lambda x: (x * 10).long() % 3,
    "strides": lambda x: x.t()[1:, ::2].contiguous(),
    "conversion": lambda x: x.t().to(torch.bfloat16),
    "in_place": lambda x: x.clone().add_(1).mul_(x).clamp_(-1, 1),
    "view_in_place": lambda x: x.clone().t()[2:].fill_(3),
    "masked": lambda x: x.masked_fill(x > 0, -1.0),
    "boolean_index": lambda x: x[x > 0.5],
    "boolean_index_put": lambda x: x.clone().index_put_((x > 0.5,), x[x > 0.5] * 2),
    "index": lambda x: x[torch.tensor([0, 2, 2]).to(x.device)],
    "index_put": lambda x: x.clone().index_put_((torch.tensor([0, 2]).to(x.device),), x[:2], accumulate=True),
    "gather": lambda x: x.gather(1, (x > 0).long()),
    "cat": lambda x: torch.cat([x, x * 2], 1),
    "sums": lambda x: (x.sum(), x.mean(0), x.prod(1), x.amax(1), x.argmin(0), x.var(0), x.norm(), (x > 1).any(1), x.cumsum(0)),
    "softmax": lambda x: (x.softmax(0), x.log_softmax(1)),
    "norms": lambda x: (F.layer_norm(x, x.shape[1:]), F.group_norm(x[:, :8].unsqueeze(2), 4), F.batch_norm(x, None, None, training=True)),
    "pooling": lambda x: (F.max_pool2d(x[None, None], 3, 2, 1), F.avg_pool2d(x[None, None], 2), F.adaptive_avg_pool2d(x[None], 1)),
    "sort": lambda x: (x.sort(1).values, x.topk(3).values, torch.tril(x)),
}


@pytest.mark.parametrize("name", CASES)
def test_functions(name):
    torch.manual_seed(0)
    agree(CASES[name], torch.randn(12, 10), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("sized", [{"scale_factor": 2}, {"size": (5, 13)}, {"scale_factor": (0.7, 1.6), "recompute_scale_factor": False}])
@pytest.mark.parametrize("align", [False, True])
def test_the_gradient_of_interpolation(sized, align):
    def gradient(x):
        x = x.detach().requires_grad_()
        y = F.interpolate(x, mode="bilinear", align_corners=align, **sized)
        (y * y).sum().backward()
        return x.grad

    torch.manual_seed(0)
    agree(gradient, torch.randn(2, 3, 9, 7), rtol=1e-4, atol=1e-4)


def test_results_of_the_caller():
    x, out = torch.randn(4, 5), torch.empty(0, device="girih")
    assert torch.add(x.to("girih"), 1, out=out) is out and torch.equal(out.cpu(), x + 1)
    torch.abs(x.to("girih"), out=out.t())
    wide = torch.zeros(4, 5, dtype=torch.float64, device="girih")
    torch.add(x.to("girih"), 1, out=wide)
    torch.testing.assert_close(wide.cpu(), (x + 1).double())


def test_memory_that_overlaps_is_read_before_it_is_written():
    x = torch.arange(10.0)
    ours = x.to("girih")
    ours[1:].copy_(ours[:-1].clone())
    ours[:5].add_(ours[::2])
    theirs = x.clone()
    theirs[1:] = x[:-1]
    theirs[:5] = theirs[:5] + theirs[::2]
    assert torch.equal(ours.cpu(), theirs)


def test_sizes_that_change_need_two_plans(planned):
    for shape in [(3, 5), (40, 7), (17, 31), (8, 9)]:
        agree(lambda x: torch.atan(x), torch.randn(shape))
    assert len(planned) == 2


def test_rates_that_change_need_no_plan_each(planned):
    weight = torch.nn.Parameter(torch.ones(6, device="girih"))
    optimizer = torch.optim.Adam([weight], lr=0.1)
    counts = []
    for step in range(6):
        optimizer.param_groups[0]["lr"] = 0.1 / (step + 1)
        weight.grad = torch.ones_like(weight)
        before = len(planned)
        optimizer.step()
        counts.append(len(planned) - before)
    assert counts[3:] == [0, 0, 0]


def test_eager_random_numbers_are_those_of_compiled_functions():
    x = torch.ones(50, 40, device="girih")
    draw = lambda x: torch.rand_like(x)
    torch.manual_seed(4)
    eager = draw(x).cpu()
    torch.manual_seed(4)
    assert torch.equal(torch.compile(draw)(x).cpu(), eager)


def test_a_refused_kernel_names_its_reason():
    girih.torch.strict(False)
    wide = torch.rand(3, dtype=torch.float64).to("girih")
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        torch.testing.assert_close(wide.expm1().cpu(), wide.cpu().expm1())
    assert any("`aten::expm1`" in str(warning.message) and "`fp64`" in str(warning.message) for warning in seen)


CALLS = {
    "whole numbers": lambda x: [x + 1, x * 3, x - 2],
    "fractions": lambda x: [x * 0.5, x / 3, x + 0.1],
    "comparisons": lambda x: [x == 1, x > 0.5],
    "zeros": lambda x: [torch.empty_like(x).fill_(0.0), torch.empty_like(x).fill_(-0.0)],
    "large fractions": lambda x: [torch.empty_like(x).fill_(1.0), torch.empty_like(x).fill_(16777217.0)],
    "between": lambda x: [torch.lerp(x, x + 1, 0.25), torch.lerp(x, x + 1, 1.0)] if x.is_floating_point() else [],
}


@pytest.mark.parametrize("shape", [(), (1,), (5,)], ids=["number", "one", "row"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16, torch.int64, torch.int32, torch.uint8, torch.bool])
@pytest.mark.parametrize("name", CALLS)
def test_numbers_of_python_change_types_as_on_the_processor(name, dtype, shape):
    if dtype == torch.bool and name in ("whole numbers", "large fractions"):
        pytest.skip("PyTorch refuses differences of truth values, and has two values alone")
    if dtype in (torch.float16, torch.uint8) and name == "large fractions":
        pytest.skip("the number is beyond the type")
    x = torch.full(shape, 1).to(dtype)
    for ours, theirs in zip(CALLS[name](x.to("girih")), CALLS[name](x), strict=True):
        assert ours.dtype == theirs.dtype
        torch.testing.assert_close(ours.cpu(), theirs)
        assert torch.equal(ours.cpu().signbit(), theirs.signbit())


def test_the_default_type_is_that_of_the_call():
    x = torch.arange(4, device="girih")
    assert (x / 2).dtype == torch.float32
    torch.set_default_dtype(torch.bfloat16)
    try:
        assert (x / 2).dtype == (x * 0.5).dtype == torch.bfloat16
    finally:
        torch.set_default_dtype(torch.float32)


def test_a_mask_has_the_shape_of_what_it_is_for():
    x = torch.arange(5.0, device="girih")
    for length in (3, 7):
        mask = torch.ones(length, dtype=torch.bool, device="girih")
        with pytest.raises(IndexError, match="The shape of the mask"):
            x[mask]
        with pytest.raises(IndexError, match="The shape of the mask"):
            x[mask] = 1
    rows = torch.arange(6.0, device="girih").reshape(2, 3)
    assert rows[torch.tensor([True, False], device="girih")].cpu().tolist() == [[0, 1, 2]]


def test_nan_is_one_number():
    from girih.torch import eager

    x, mask = torch.ones(3, device="girih"), torch.tensor([True, False, True], device="girih")
    x.masked_fill(mask, float("nan"))
    before = len(eager._plans)
    assert x.masked_fill(mask, float("nan")).isnan().cpu().tolist() == [True, False, True]
    x.masked_fill(mask, float("nan"))
    assert len(eager._plans) <= before + 1


def test_numbers_of_64_bits_are_not_cut():
    x = torch.tensor([0.1, 0.2, 0.3], dtype=torch.float64)
    ours = x.to("girih")
    for number in (0.3, 1 / 7, 1e300):
        assert torch.equal((ours * number).cpu(), x * number) and torch.equal((ours + number).cpu(), x + number)
    assert torch.equal(torch.compile(lambda a, b: a * b)(ours, torch.tensor(1 / 7, dtype=torch.float64)).cpu(), x * (1 / 7))


def test_quotients_that_are_rounded_down():
    theirs = torch.tensor([1.0, 0.7, float("inf"), -1.0, -0.7, 0.0, -0.0, 5.0])
    ours = theirs.to("girih")
    for by in (0.1, -0.3, 0.0):
        torch.testing.assert_close((ours // by).cpu(), theirs // by, rtol=0, atol=0, equal_nan=True)
    torch.testing.assert_close((7.0 // ours).cpu(), 7.0 // theirs, rtol=0, atol=0, equal_nan=True)
    torch.testing.assert_close(torch.div(ours, ours + 0.5, rounding_mode="floor").cpu(), torch.div(theirs, theirs + 0.5, rounding_mode="floor"), equal_nan=True)
    whole = torch.arange(-5, 6)
    assert torch.equal((whole.double().to("girih") // 2).cpu(), whole.double() // 2)
    assert torch.equal((whole.to("girih") // 3).cpu(), whole // 3)


def test_group_norm_of_any_layout():
    x = torch.randn(2, 6, 4, 5).to(memory_format=torch.channels_last)
    results = []
    for device in ("cpu", "girih"):
        given = x.clone().to(device).requires_grad_()
        result = torch.nn.functional.group_norm(given, 3)
        result.sin().sum().backward()
        results.append((result.cpu(), given.grad.cpu()))
    torch.testing.assert_close(*results)


def test_labels_end_at_the_first_that_is_none():
    for shape, reduction in [((4,), "mean"), ((3, 4), "none"), ((5, 7), "sum"), ((2, 6), "mean")]:
        x = torch.randn(shape)
        labels = torch.full(shape, -1)
        labels[..., 0], labels[..., 1], labels[..., -1] = 2, 1, 3
        found = []
        for device in ("cpu", "girih"):
            here = x.clone().to(device).requires_grad_()
            loss = torch.nn.functional.multilabel_margin_loss(here, labels.to(device), reduction=reduction)
            (loss * torch.arange(1.0, loss.numel() + 1, device=device).reshape(loss.shape)).sum().backward()
            found.append((loss.detach().cpu(), here.grad.cpu()))
        torch.testing.assert_close(found[1], found[0])
    assert not any("multilabel" in name for name in girih.torch.fallbacks())


def test_plans_for_all_sizes_know_their_numbers():
    """The second size is also the number of columns, so what was planned for it is for it alone."""
    for length in (5, 2, 8):
        x = torch.arange(length) * 3
        ours = torch.stack([x.to("girih"), x.to("girih") + 1], 1)
        assert torch.equal(ours.cpu(), torch.stack([x, x + 1], 1))
