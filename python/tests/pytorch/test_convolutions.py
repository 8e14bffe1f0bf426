"""Convolutions of all kinds of shapes, with the gradients of inputs, weights and biases, beside PyTorch's on the processor in float64."""

import os

import girih.torch
import pytest
import torch
import torch.nn.functional as F

TOLERANCES = {torch.float32: 2e-5, torch.bfloat16: 3e-2}
ORDERS = {"channels first": torch.contiguous_format, "channels last": torch.channels_last}
# Images, channels in and out, rows, columns, kernel, stride, padding, dilation, groups, and whether it is transposed.
SHAPES = {
    "3x3": (2, 16, 32, 7, 9, 3, 1, 1, 1, 1, False),
    "1x1": (2, 16, 32, 8, 8, 1, 1, 0, 1, 1, False),
    "1x1 with a stride": (2, 24, 16, 9, 7, 1, 2, 0, 1, 1, False),
    "1x1 with padding": (2, 16, 16, 4, 5, 1, 1, 1, 1, 1, False),
    "few channels": (1, 3, 8, 11, 11, 7, 2, 3, 1, 1, False),
    "channels that fill no block": (2, 20, 40, 6, 6, 3, 2, 1, 1, 1, False),
    "depthwise": (2, 32, 32, 6, 6, 3, 1, 1, 1, 32, False),
    "depthwise, with a stride and three of each": (2, 8, 24, 9, 6, 3, 2, 1, 1, 8, False),
    "groups and dilation": (2, 32, 48, 6, 6, 3, 1, 2, 2, 2, False),
    "groups of one tap": (3, 8, 16, 5, 5, 1, 1, 0, 1, 8, False),
    "transposed 1x1 with a stride": (2, 16, 16, 5, 6, 1, 2, 0, 1, 1, True),
    "transposed": (2, 18, 17, 5, 5, 3, 2, 1, 1, 1, True),
    "transposed and depthwise": (1, 16, 16, 5, 5, 3, 1, 1, 1, 16, True),
}


KINDS = [(dtype, order) for dtype in TOLERANCES for order in ORDERS]
if os.environ.get("GIRIH_TESTS") != "full":
    KINDS = [(torch.float32, "channels last"), (torch.bfloat16, "channels first")]


@pytest.mark.parametrize("name", SHAPES)
@pytest.mark.parametrize(("dtype", "order"), KINDS, ids=str)
def test_convolutions(dtype, order, name):
    images, ci, co, rows, columns, kernel, stride, padding, dilation, groups, is_transposed = SHAPES[name]
    torch.manual_seed(0)
    channels = (ci, co // groups) if is_transposed else (co, ci // groups)
    drawn = [torch.randn(images, ci, rows, columns), torch.randn(*channels, kernel, kernel), torch.randn(co)]
    drawn = [t.to(dtype).contiguous(memory_format=ORDERS[order]) if t.dim() == 4 else t.to(dtype) for t in drawn]

    def computed(device, wide):
        x, w, b = (t.to(device).to(wide).detach().requires_grad_() for t in drawn)
        if is_transposed:
            out = F.conv_transpose2d(x, w, b, stride, padding, stride - 1, groups, dilation)
        else:
            out = F.conv2d(x, w, b, stride, padding, dilation, groups)
        torch.manual_seed(1)
        out.backward(torch.randn(out.shape).to(dtype).to(device).to(wide))
        return [t.double().cpu() for t in (out.detach(), x.grad, w.grad, b.grad)]

    for what, one, other in zip(("out", "x", "w", "b"), computed("girih", dtype), computed("cpu", torch.float64), strict=True):
        error = (one - other).abs().max() / other.abs().max()
        assert error < TOLERANCES[dtype], f"{what}: {error:.1e}"
    assert not [name for name in girih.torch.fallbacks() if "convolution" in name]
