"""Operations on lists of tensors are a kernel's work for many, and optimizers, which are made of them, take the steps that they take on the processor."""

import girih.torch
import pytest
import torch
from girih.torch import eager

SHAPES = [(10, 20), (7,), (6, 3, 3, 3), (1,), (), (33, 65)]


def drawn():
    return [torch.randn(shape) for shape in SHAPES]


CALLS = {
    "add_": lambda a, b, c, number: torch._foreach_add_(a, b, alpha=number),
    "add": lambda a, b, c, number: torch._foreach_add(a, b, alpha=number),
    "sub": lambda a, b, c, number: torch._foreach_sub(a, number),
    "mul_": lambda a, b, c, number: torch._foreach_mul_(a, number),
    "div_": lambda a, b, c, number: torch._foreach_div_(a, [number] * len(a)),
    "div_ by several": lambda a, b, c, number: torch._foreach_div_(a, [number + i for i in range(len(a))]),
    "addcmul_": lambda a, b, c, number: torch._foreach_addcmul_(a, b, c, number),
    "addcdiv_": lambda a, b, c, number: torch._foreach_addcdiv_(a, b, c, [number] * len(a)),
    "lerp_": lambda a, b, c, number: torch._foreach_lerp_(a, b, number),
    "maximum": lambda a, b, c, number: torch._foreach_maximum(a, b),
    "clamp_min_": lambda a, b, c, number: torch._foreach_clamp_min_(a, number),
    "sqrt": lambda a, b, c, number: torch._foreach_sqrt(c),
    "neg_": lambda a, b, c, number: torch._foreach_neg_(a),
    "copy_": lambda a, b, c, number: torch._foreach_copy_(a, b),
    "norm": lambda a, b, c, number: torch._foreach_norm(a, 2),
    "with itself": lambda a, b, c, number: torch._foreach_mul_(a, a),
}


@pytest.mark.parametrize("name", CALLS)
def test_lists(name):
    torch.manual_seed(0)
    # Numbers that change need no plan each.
    for number in (0.1, 0.2, 0.3):
        theirs = [drawn(), drawn(), [t.abs() + 0.5 for t in drawn()]]
        ours = [[t.to("girih") for t in tensors] for tensors in theirs]
        there, here = CALLS[name](*theirs, number), CALLS[name](*ours, number)
        for one, other in zip([*ours[0], *(here or ())], [*theirs[0], *(there or ())], strict=True):
            torch.testing.assert_close(one.cpu(), other)
    assert not [name for name in girih.torch.fallbacks() if "foreach" in name]


def test_lists_of_different_kinds_are_computed_one_by_one():
    ours = [torch.ones(3, device="girih"), torch.ones(2, dtype=torch.int64, device="girih"), torch.ones(0, device="girih")]
    torch._foreach_add_(ours, 2)
    assert [t.tolist() for t in ours] == [[3, 3, 3], [3, 3], []]
    with pytest.raises(RuntimeError):
        torch._foreach_add_(ours, ours[:2])


def test_tensors_that_share_memory():
    """A view that goes through another one's memory, in a call of a kind that was computed before."""
    for apart in (True, False):
        theirs = torch.arange(64.0)
        ours = theirs.to("girih")
        for whole in (theirs, ours):
            other = whole if not apart else whole.clone()
            torch._foreach_mul_([whole[:32:4], other[32:48]], 2.0)
            torch._foreach_mul_([whole[::8], other[32:48]], 2.0)
        torch.testing.assert_close(ours.cpu(), theirs)


OPTIMIZERS = {
    "SGD": lambda p: torch.optim.SGD(p, 0.1, momentum=0.9, nesterov=True, weight_decay=0.01),
    "Adam": lambda p: torch.optim.Adam(p, 0.01),
    "AdamW": lambda p: torch.optim.AdamW(p, 0.01, amsgrad=True),
    "RMSprop": lambda p: torch.optim.RMSprop(p, 0.01, momentum=0.5),
    "Adagrad": lambda p: torch.optim.Adagrad(p),
    "NAdam": lambda p: torch.optim.NAdam(p),
}


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_optimizers(name):
    stepped = []
    for device in ("cpu", "girih"):
        torch.manual_seed(1)
        parameters = [torch.nn.Parameter(t.to(device)) for t in drawn()]
        optimizer = OPTIMIZERS[name](parameters)
        schedule = torch.optim.lr_scheduler.StepLR(optimizer, 1, 0.9)
        for step in range(6):
            for parameter, gradient in zip(parameters, drawn()):
                parameter.grad = gradient.to(device)
            torch.nn.utils.clip_grad_norm_(parameters, 1.0)
            optimizer.step()
            schedule.step()
            if step == 3:
                known = len(eager._plans)
        stepped.append([parameter.detach().cpu() for parameter in parameters])
    assert len(eager._plans) == known, "a step with another rate needs no new plan"
    for one, other in zip(*stepped, strict=True):
        torch.testing.assert_close(other, one)


def test_compiled():
    torch._dynamo.reset()
    torch.manual_seed(0)
    theirs, others = drawn(), drawn()
    ours = [t.to("girih") for t in theirs]
    torch.compile(lambda a, b: torch._foreach_add_(a, b, alpha=0.1))(ours, [t.to("girih") for t in others])
    for one, other, added in zip(ours, theirs, others, strict=True):
        torch.testing.assert_close(one.cpu(), other + added * 0.1)


@pytest.mark.parametrize("count", [10, 125, 160])
def test_long_lists_are_few_kernels(count):
    tensors = [torch.rand(3, 5) + i for i in range(count)]
    there = [tensor.to("girih") for tensor in tensors]
    is_done, roots = eager.on_device(torch.ops.aten._foreach_sqrt.default, (there,), {})
    assert is_done, roots
    for a, b in zip(roots, tensors, strict=True):
        torch.testing.assert_close(a.cpu(), b.sqrt())


@pytest.mark.parametrize("dtype", [torch.float32, torch.int32])
def test_numbers_that_change_from_call_to_call(dtype):
    tensors = [(torch.rand(3, 5) * 10).to(dtype) for _ in range(4)]
    there = [tensor.to("girih") for tensor in tensors]
    numbers = [2, 3, 5, -7, 11] if dtype == torch.int32 else [0.5, 0.25, -0.0, float("inf"), float("nan"), 3.0]
    for number in numbers:
        torch._foreach_mul_(tensors, number)
        torch._foreach_mul_(there, number)
        for a, b in zip([*there, *torch._foreach_add(there, number)], [*tensors, *torch._foreach_add(tensors, number)], strict=True):
            torch.testing.assert_close(a.cpu(), b, equal_nan=True)
