"""Convolutions in three dimensions by those in two: what lies along the depth is laid beside the channels, so that a sum is made in one kernel.

Invariant: a result is that of the convolution as a whole, which rounds once.
"""

import torch

_aten = torch.ops.aten
_FLOATS = (torch.float32, torch.float16, torch.bfloat16)


def are_for(x, w) -> bool:
    """Whether a convolution is made of others here."""
    return x.dim() == w.dim() == 5 and x.dtype in _FLOATS and x.numel() > 0 and w.numel() > 0


def convolution(x, w, bias, stride, padding, dilation, transposed, output_padding, groups):
    """The convolution of volumes, or the transposed one."""
    numbers = [_three(each) for each in (stride, padding, dilation)]
    if not transposed:
        return _forward(x, w, bias, *numbers, groups)
    sizes = zip(x.shape[2:], w.shape[2:], *numbers, _three(output_padding))
    size = [(length - 1) * step - 2 * pad + gap * (taps - 1) + 1 + out for length, taps, step, pad, gap, out in sizes]
    result = _data_gradient(x, [x.shape[0], w.shape[1] * groups, *size], w, *numbers, groups)
    return result if bias is None else result + bias.reshape(-1, 1, 1, 1)


def backward(g, x, w, stride, padding, dilation, transposed, output_padding, groups, mask):
    """The gradients of its input, weights and bias, as far as they are asked for."""
    numbers = [_three(each) for each in (stride, padding, dilation)]
    dx = dw = None
    if mask[0]:
        dx = _forward(g, w, None, *numbers, groups) if transposed else _data_gradient(g, x.shape, w, *numbers, groups)
    if mask[1]:
        dw = _weight_gradient(*((x, g) if transposed else (g, x)), w, *numbers, groups)
    return dx, dw, g.sum([0, 2, 3, 4]) if mask[2] else None


def _three(numbers):
    return list(numbers) * 3 if len(numbers) == 1 else list(numbers)


def _forward(x, w, bias, stride, padding, dilation, groups):
    outs = [(x.shape[2 + at] + 2 * padding[at] - dilation[at] * (w.shape[2 + at] - 1) - 1) // stride[at] + 1 for at in range(3)]
    if min(outs) < 1:
        raise RuntimeError(f"convolution: an input of shape {tuple(x.shape)} is too small for a kernel of shape {tuple(w.shape)}")
    pictures = _laid(x, w, outs[0], stride, padding, dilation)
    out = _aten.convolution(pictures, _flat(w), bias, stride[1:], padding[1:], dilation[1:], False, [0, 0], groups)
    return _stacked(out, x.shape[0])


def _data_gradient(g, size, w, stride, padding, dilation, groups):
    """The gradient of an input of a size."""
    depth = size[2] + 2 * padding[0]
    pictures = torch.empty([g.shape[0] * g.shape[2], size[1] * w.shape[2], *size[3:]], dtype=g.dtype, device=g.device)
    made = _two(_apart(g), pictures, w, stride, padding, dilation, groups, [True, False, False])[0]
    made = made.reshape(g.shape[0], g.shape[2], size[1], w.shape[2], *size[3:]).permute(0, 2, 3, 1, 4, 5)
    # Places that several taps read are summed in float32.
    total = torch.zeros([*size[:2], depth, *size[3:]], dtype=torch.float32, device=g.device)
    for tap in range(w.shape[2]):
        _at_tap(total, tap, g.shape[2], stride, dilation).add_(made[:, :, tap])
    return total.narrow(2, padding[0], size[2]).to(g.dtype).contiguous()


def _weight_gradient(g, x, w, stride, padding, dilation, groups):
    pictures = _laid(x, w, g.shape[2], stride, padding, dilation)
    made = _two(_apart(g), pictures, w, stride, padding, dilation, groups, [False, True, False])[1]
    return made.reshape(w.shape)


def _two(g, pictures, w, stride, padding, dilation, groups, mask):
    """The gradients of the convolution of pictures."""
    return _aten.convolution_backward(g, pictures, _flat(w), None, stride[1:], padding[1:], dilation[1:], False, [0, 0], groups, mask)


def _laid(x, w, outs, stride, padding, dilation):
    """A picture for each place along the depth of the output, with the channels of all taps along it."""
    padded = _aten.constant_pad_nd(x, [0, 0, 0, 0, padding[0], padding[0]]) if padding[0] else x
    taps = torch.stack([_at_tap(padded, tap, outs, stride, dilation) for tap in range(w.shape[2])], 2)
    return taps.permute(0, 3, 1, 2, 4, 5).reshape(x.shape[0] * outs, x.shape[1] * w.shape[2], *x.shape[3:])


def _at_tap(padded, tap, outs, stride, dilation):
    """What a tap reads along the depth."""
    first = tap * dilation[0]
    return padded[:, :, first : first + (outs - 1) * stride[0] + 1 : stride[0]]


def _flat(w):
    return w.reshape(w.shape[0], w.shape[1] * w.shape[2], *w.shape[3:])


def _apart(g):
    """A picture for each place along the depth."""
    return g.transpose(1, 2).reshape(g.shape[0] * g.shape[2], g.shape[1], *g.shape[3:])


def _stacked(pictures, count):
    """The volumes of which these are the pictures."""
    return pictures.reshape(count, -1, *pictures.shape[1:]).transpose(1, 2).contiguous()
