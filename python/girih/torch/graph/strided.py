"""Views that PyTorch makes by strides, where they show the elements of a tensor in another order: averages of whole pictures are given their layout so.

Invariant: what a view shows lies side by side in memory, each element once. Other views have no row here, and break the graph.
"""

import torch

_aten = torch.ops.aten


def _order(size, stride):
    """The dimensions as they lie in memory, from the slowest one, or `None` where elements do not lie side by side."""
    order = sorted(range(len(size)), key=lambda at: (-stride[at], size[at] == 1, at))
    step = 1
    for at in reversed([at for at in order if size[at] > 1]):
        if stride[at] != step:
            return None
        step *= size[at]
    return order


def _place(tensor, size, stride, offset):
    """Both orders, and where a view begins among the elements of a tensor; `None` where it is no such view."""
    if not all(isinstance(number, int) for number in (*tensor.size(), *tensor.stride(), *size, *stride)):
        return None
    own, shown = _order(tensor.size(), tensor.stride()), _order(size, stride)
    start = 0 if offset is None else offset - tensor.storage_offset()
    if own is None or shown is None or not 0 <= start <= tensor.numel() - torch.Size(size).numel():
        return None
    return own, shown, start


def _seen(flat, size, order):
    """A row of elements that lie in an order, as a tensor of a size."""
    back = [order.index(at) for at in range(len(order))]
    return flat.reshape([size[at] for at in order]).permute(back)


def _as_strided(tensor, size, stride, storage_offset=None):
    place = _place(tensor, size, stride, storage_offset)
    if place is None:
        return NotImplemented
    own, shown, start = place
    flat = tensor.permute(own).reshape(-1)
    return _seen(flat.narrow(0, start, torch.Size(size).numel()), size, shown)


def _as_strided_scatter(tensor, source, size, stride, storage_offset=None):
    place = _place(tensor, size, stride, storage_offset)
    if place is None:
        return NotImplemented
    own, shown, start = place
    put, end = source.expand(size).permute(shown).reshape(-1), start + source.numel()
    if source.numel() < tensor.numel():
        flat = tensor.permute(own).reshape(-1)
        put = torch.cat([flat[:start], put, flat[end:]])
    return _seen(put, tensor.size(), own)


ROWS = {
    _aten.as_strided.default: _as_strided,
    _aten.as_strided_scatter.default: _as_strided_scatter,
}
