"""Losses whose decomposition in PyTorch is wrong: rows of the eager table.

`multilabel_margin_loss`: PyTorch's own rule also counts the places behind the first -1 of a row of labels, as if they named class 0.
"""

import torch

_aten = torch.ops.aten


def _margins(input, target):
    """By row, label and class: which labels there are, where they stand, and by how much each other class comes too near; and which classes are labels."""
    input, target = torch.atleast_2d(input), torch.atleast_2d(target)
    classes = torch.arange(input.shape[1], device=input.device)
    ends = torch.where(target == -1, classes, input.shape[1]).amin(-1, keepdim=True)
    given = classes < ends
    places = torch.where(given, target, 0)
    is_label = ((classes == places.unsqueeze(-1)) & given.unsqueeze(-1)).any(1)
    near = 1 - input.gather(-1, places).unsqueeze(-1) + input.unsqueeze(1)
    counts = given.unsqueeze(-1) & ~is_label.unsqueeze(1)
    return places, torch.where(counts, near.clamp_min(0), 0), is_label


def _multilabel_margin(input, target, reduction):
    _places, near, is_label = _margins(input, target)
    loss = near.sum((1, 2)) / near.shape[-1]
    loss = {0: lambda: loss.reshape(input.shape[:-1]), 1: loss.mean, 2: loss.sum}[reduction]()
    return loss, is_label.to(input.dtype).reshape(target.shape)


def _multilabel_margin_backward(gradient, input, target, reduction, is_target):
    places, near, _is_label = _margins(input, target)
    is_near = (near > 0).to(input.dtype)
    by_label = torch.zeros_like(is_near[:, 0]).scatter_add(-1, places, is_near.sum(2))
    rows = near.shape[0] if reduction == 1 else 1
    return ((is_near.sum(1) - by_label) * (gradient.reshape(-1, 1) / (near.shape[-1] * rows))).reshape(input.shape)


ROWS = {
    _aten.multilabel_margin_loss_forward.default: _multilabel_margin,
    _aten.multilabel_margin_loss_backward.default: _multilabel_margin_backward,
}
