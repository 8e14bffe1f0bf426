"""Products and convolutions of the types that the kernels of `kernels/products.py` do not have: whole numbers, and `float64`.

Invariant: rows are written in operations that Inductor has kernels for; what those kernels do have is left to them.
"""

import itertools

import torch

from girih.torch.eager.call import NoPlan

_aten = torch.ops.aten
_THEIRS = (torch.float32, torch.float16, torch.bfloat16)


def _product(a, b):
    """The product of matrices, or of batches of them, as one reduction."""
    total = (a.unsqueeze(-1) * b.unsqueeze(-3)).sum(-2)
    return total.to(a.dtype)


def _plain(a, b):
    return NotImplemented if a.dtype in _THEIRS else _product(a, b)


def _adding(c, a, b, *, beta=1, alpha=1):
    if a.dtype in _THEIRS:
        return NotImplemented
    if not a.is_floating_point():
        beta, alpha = int(beta), int(alpha)
    total = _product(a, b) * alpha
    # A factor of zero hides NaN, too.
    return (total + c * beta if beta else total).to(a.dtype)


def _convolution(x, w, bias, stride, padding, dilation, transposed, output_padding, groups):
    """A sum over the taps of a convolution, each a product of shifted pictures with the channels of the weights."""
    if x.dtype in _THEIRS:
        return NotImplemented
    if transposed or x.numel() == 0 or w.numel() == 0:
        raise NoPlan(f"transposed convolutions of {x.dtype}, and those without elements, have no kernel")
    axes = x.dim() - 2
    stride, padding, dilation = (list(numbers) * axes if len(numbers) == 1 else list(numbers) for numbers in (stride, padding, dilation))
    x = _aten.constant_pad_nd(x, [end for pad in reversed(padding) for end in (pad, pad)])
    images, channels = x.shape[0], w.shape[0] // groups
    outs = [(x.shape[2 + at] - dilation[at] * (w.shape[2 + at] - 1) - 1) // stride[at] + 1 for at in range(axes)]
    total = 0
    for tap in itertools.product(*(range(length) for length in w.shape[2:])):
        part = x
        for at in range(axes):
            first = tap[at] * dilation[at]
            part = part[(slice(None),) * (2 + at) + (slice(first, first + (outs[at] - 1) * stride[at] + 1, stride[at]),)]
        part = part.reshape(images, groups, 1, -1, *outs)
        factors = w[(..., *tap)].reshape(1, groups, channels, -1, *[1] * axes)
        total = total + (part * factors).sum(3)
    total = total.reshape(images, w.shape[0], *outs)
    return total if bias is None else total + bias.reshape([-1] + [1] * axes)


ROWS = {
    _aten.mm.default: _plain,
    _aten.bmm.default: _plain,
    _aten.addmm.default: _adding,
    _aten.baddbmm.default: _adding,
    _aten.convolution.default: _convolution,
}
