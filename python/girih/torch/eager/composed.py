"""Operations that are composed of others when they are called, because the size of their result, or what they answer, depends on what tensors hold.

Also those whose usual composition in PyTorch is worse than what Inductor makes of them as a whole.
"""

import functools

import torch

from girih.torch.library import Library

_aten = torch.ops.aten
_library = Library("aten", "IMPL")
_WHOLE = ("cummax", "cummin", "logcumsumexp", "native_group_norm")


def _nonzero(tensor):
    """The places of what is not zero, one a row."""
    inside = (tensor != 0).reshape(-1)
    ranks = inside.cumsum(0)
    count = int(ranks[-1].item()) if tensor.numel() else 0
    # What is zero goes to a row behind the last one.
    rows = torch.where(inside, ranks - 1, count)
    places = torch.empty(count + 1, dtype=torch.int64, device=tensor.device)
    places.index_put_((rows,), torch.arange(tensor.numel(), device=tensor.device))
    places, columns = places[:count], []
    for length in reversed(tensor.shape):
        columns.insert(0, places % max(length, 1))
        places = places // max(length, 1)
    return torch.stack(columns, 1) if columns else places.new_empty((count, 0))


def _masked_select(tensor, mask):
    tensor, mask = torch.broadcast_tensors(tensor, mask)
    return tensor.reshape(-1)[_nonzero(mask.reshape(-1)).squeeze(1)]


def _places(tensor, indices):
    """Indices with places where there were masks, or `None` if there are no masks on the device. Raises `IndexError` where a mask has not the shape of what it is for."""
    is_mask = lambda index: index is not None and index.dtype in (torch.bool, torch.uint8)
    if not any(map(is_mask, indices)) or any(index is not None and index.device.type != "girih" for index in indices):
        return None
    found = []
    for index in indices:
        if not is_mask(index):
            found.append(index)
            continue
        at = len(found)
        wanted = tensor.shape[at : at + index.dim()]
        if wanted != index.shape:
            raise IndexError(f"The shape of the mask {list(index.shape)} at index {at} does not match the shape {list(wanted)} of what it is for")
        found.extend(_nonzero(index).unbind(1))
    return found


def _index(run, tensor, indices):
    return run(_aten.index.Tensor, tensor, _places(tensor, indices) or indices)


def _index_put(run, tensor, indices, values, accumulate=False, unsafe=False):
    return run(_aten._index_put_impl_.default, tensor, _places(tensor, indices) or indices, values, accumulate, unsafe)


def _equal(a, b):
    return a.shape == b.shape and bool((a == b).all().item())


def _nonzero_static(tensor, *, size, fill_value=-1):
    places = _nonzero(tensor)[:size]
    return torch.cat([places, places.new_full((size - places.shape[0], tensor.dim()), fill_value)])


def _repeat_interleave(repeats, *, output_size=None):
    """Each place as often as a number says."""
    if repeats.dim() != 1 or repeats.dtype not in (torch.int32, torch.int64):
        raise RuntimeError(f"repeat_interleave takes a row of int32 or int64, not {repeats.dtype} of shape {tuple(repeats.shape)}")
    if repeats.numel() == 0:
        return torch.empty_like(repeats)
    if (repeats < 0).any().item():
        raise RuntimeError("repeats can not be negative")
    ends = repeats.cumsum(0)
    total = int(ends[-1].item())
    if output_size is not None and output_size != total:
        raise RuntimeError(f"allocated size does not match required size: {output_size} for {total}")
    return torch.searchsorted(ends, torch.arange(total, device=repeats.device), right=True).to(repeats.dtype)


def _unique(tensor, is_sorted=True, return_inverse=False, return_counts=False):
    values, places = tensor.reshape(-1).sort(stable=True)
    firsts, inverse, counts = _runs(values, return_inverse, return_counts)
    if return_inverse:
        inverse = torch.empty_like(inverse).scatter_(0, places, inverse).reshape(tensor.shape)
    return firsts, inverse, counts


def _unique_consecutive(run, tensor, return_inverse=False, return_counts=False, dim=None):
    if dim is not None:
        return run(_aten.unique_consecutive.default, tensor, return_inverse, return_counts, dim)
    firsts, inverse, counts = _runs(tensor.reshape(-1), return_inverse, return_counts)
    return firsts, inverse.reshape(tensor.shape) if return_inverse else inverse, counts


def _runs(values, return_inverse, return_counts):
    """Of each run of equal numbers in a row: the first one, which run an element is in, and how many there are."""
    none = torch.empty(0, dtype=torch.int64, device=values.device)
    if values.numel() == 0:
        return values.clone(), none, none
    begins = torch.cat([torch.ones(1, dtype=torch.bool, device=values.device), values[1:] != values[:-1]])
    starts = _nonzero(begins).squeeze(1)
    ends = torch.cat([starts[1:], starts.new_full((1,), values.numel())])
    return values[starts], begins.cumsum(0) - 1 if return_inverse else none, ends - starts if return_counts else none


_ALONE = {
    "nonzero": _nonzero,
    "nonzero_static": _nonzero_static,
    "masked_select": _masked_select,
    "equal": _equal,
    "repeat_interleave.Tensor": _repeat_interleave,
    "_unique2": _unique,
}


def register(run) -> None:
    """Registers them. `run` runs any call."""
    for name, function in _ALONE.items():
        _library.impl(name, function, "PrivateUse1")
    for name, function in (("index.Tensor", _index), ("_index_put_impl_", _index_put), ("unique_consecutive", _unique_consecutive)):
        _library.impl(name, functools.partial(function, run), "PrivateUse1")
    for name in _WHOLE:
        operation = getattr(_aten, name).default
        _library.impl(name, lambda *args, operation=operation, **kwargs: run(operation, *args, **kwargs), "PrivateUse1")
