"""Attention by kernels of its own, forward and backward, beside PyTorch's on the processor in float64."""

import math

import girih.torch
import pytest
import torch
import torch.nn.functional as F

TOLERANCES = {torch.float32: 1e-5, torch.bfloat16: 4e-2, torch.float16: 6e-3}
# Batches, heads, heads of keys, queries, keys, channels.
SHAPES = [(2, 3, 3, 40, 40, 16), (1, 4, 2, 33, 70, 64), (2, 2, 1, 65, 96, 80), (1, 2, 2, 1, 50, 128), (1, 1, 1, 100, 100, 24)]
MASKS = ["none", "causal", "bool", "float"]


def inputs(shape, dtype, mask):
    batches, heads, others, m, n, channels = shape
    torch.manual_seed(sum(shape))
    drawn = [torch.randn(batches, length, count, channels).to(dtype) for length, count in ((m, heads), (n, others), (n, others), (m, heads))]
    masks = {"bool": torch.rand(batches, 1, m, n) > 0.3, "float": torch.randn(1, heads, m, n).to(dtype)}
    # A query that sees nothing.
    masks["bool"][:, :, 0] = False
    return [t.transpose(1, 2) for t in drawn], masks.get(mask)


def computed(device, dtype, drawn, mask, run, **options):
    q, k, v, g = [t.to(device).to(dtype) for t in drawn]
    q, k, v = [t.detach().requires_grad_() for t in (q, k, v)]
    if mask is not None:
        mask = mask.to(device) if mask.dtype == torch.bool else mask.to(device).to(dtype)
    out = run(q, k, v, attn_mask=mask, **options)
    out.backward(g)
    return [t.double().cpu() for t in (out.detach(), q.grad, k.grad, v.grad)]


def check(shape, dtype, mask, run):
    drawn, bias = inputs(shape, dtype, mask)
    options = {"is_causal": mask == "causal", "enable_gqa": shape[1] != shape[2]}
    ours = computed("girih", dtype, drawn, bias, run, **options)
    theirs = computed("cpu", torch.float64, drawn, bias, F.scaled_dot_product_attention, **options)
    for name, one, other in zip(("out", "q", "k", "v"), ours, theirs, strict=True):
        error = (one - other).abs().max() / max(other.abs().max(), 0.1)
        assert error < TOLERANCES[dtype], f"{name}: {error:.1e}"


@pytest.mark.parametrize("mask", MASKS)
@pytest.mark.parametrize("dtype", TOLERANCES, ids=str)
def test_eagerly(dtype, mask):
    for shape in SHAPES:
        check(shape, dtype, mask, F.scaled_dot_product_attention)
    assert not girih.torch.fallbacks().get("aten::scaled_dot_product_attention")


@pytest.mark.parametrize("mask", MASKS)
def test_compiled(mask):
    torch._dynamo.reset()
    check(SHAPES[1], torch.bfloat16, mask, torch.compile(F.scaled_dot_product_attention))


def test_what_the_kernels_do_not_have_is_composed():
    """Masks with gradients, values with other channels, and dropout."""
    torch.manual_seed(0)
    q, k, v = (torch.randn(1, 2, 9, length) for length in (8, 8, 12))
    bias = torch.randn(9, 9)
    ours = bias.to("girih").requires_grad_()
    F.scaled_dot_product_attention(q.to("girih"), k.to("girih"), v.to("girih"), attn_mask=ours).sum().backward()
    theirs = bias.clone().requires_grad_()
    F.scaled_dot_product_attention(q, k, v, attn_mask=theirs).sum().backward()
    torch.testing.assert_close(ours.grad.cpu(), theirs.grad, rtol=1e-4, atol=1e-4)
    dropped = F.scaled_dot_product_attention(q.to("girih"), k.to("girih"), v.to("girih"), dropout_p=0.5)
    assert dropped.shape == (1, 2, 9, 12) and bool(dropped.isfinite().all())


def test_the_composition_can_be_asked_for():
    """It has derivatives of any order."""
    second = []
    for device in ("cpu", "girih"):
        torch.manual_seed(0)
        q = torch.randn(1, 1, 5, 8).to(device).requires_grad_()
        with torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.MATH):
            out = F.scaled_dot_product_attention(q, q, q)
        (first,) = torch.autograd.grad(out.square().sum(), q, create_graph=True)
        second.append(torch.autograd.grad(first.square().sum(), q)[0].cpu())
    torch.testing.assert_close(*second, rtol=1e-3, atol=1e-3)


@pytest.mark.skipif(girih.torch.device.current().kind == "wgpu", reason="attention is composed there")
def test_scores_are_not_in_memory():
    """Scores of 64 times 8192 places would take 2 MiB."""
    q = torch.randn(1, 1, 8192, 16).to("girih")
    girih.torch.synchronize()
    before = girih.torch.device.current().memory()
    out = F.scaled_dot_product_attention(q[:, :, :64], q, q)
    assert out.shape == (1, 1, 64, 16)
    assert girih.torch.device.current().memory()["live"] - before["live"] < 1 << 20


@pytest.mark.parametrize("compiled", [False, True])
def test_scores_of_a_program(compiled):
    """`flex_attention` with a mask and with scores that read a tensor, beside attention with the same as a tensor."""
    from torch.nn.attention.flex_attention import create_block_mask, flex_attention

    torch._dynamo.reset()
    torch.manual_seed(0)
    values, slopes = torch.randn(3, 2, 4, 24, 16), torch.tensor([0.1, 0.2, 0.3, 0.4])
    distance = torch.arange(24) - torch.arange(24)[:, None]
    q, k, v = (each.clone().requires_grad_() for each in values)
    theirs = F.scaled_dot_product_attention(q, k, v, attn_mask=torch.where(distance <= 0, distance * slopes[:, None, None], -math.inf))
    theirs.square().sum().backward()
    a, b, c = (each.to("girih").requires_grad_() for each in values)
    slopes = slopes.to("girih")
    mask = create_block_mask(lambda batch, head, query, key: query >= key, None, None, 24, 24, device="girih")
    attend = lambda q, k, v: flex_attention(q, k, v, score_mod=lambda score, batch, head, query, key: score + (key - query) * slopes[head], block_mask=mask)
    ours = (torch.compile(attend, fullgraph=True) if compiled else attend)(a, b, c)
    ours.square().sum().backward()
    for one, other in zip((ours.detach(), a.grad, b.grad, c.grad), (theirs.detach(), q.grad, k.grad, v.grad), strict=True):
        torch.testing.assert_close(one.cpu(), other, rtol=1e-4, atol=1e-4)
    with torch.autocast("girih", torch.bfloat16):
        assert attend(a, b, c).dtype == torch.bfloat16
