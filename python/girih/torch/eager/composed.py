"""Operations that are composed of others when they are called, because the size of their result, or what they answer, depends on what tensors hold.

Also those whose usual composition in PyTorch is worse than what Inductor makes of them as a whole.
"""

import functools
import math

import torch

from girih.torch import placement
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
    placement.refuse_mixed(_aten.masked_select.default, (tensor, mask), {})
    tensor, mask = torch.broadcast_tensors(tensor, mask)
    return tensor.reshape(-1)[_nonzero(mask.reshape(-1)).squeeze(1)]


def _places(tensor, indices):
    """Indices of the device, with places where there were masks. Raises `IndexError` where a mask has not the shape of what it is for."""
    found = []
    for index in indices:
        if index is None:
            found.append(index)
            continue
        index = _brought(tensor, index)
        if index.dtype not in (torch.bool, torch.uint8):
            found.append(index)
            continue
        at = len(found)
        wanted = tensor.shape[at : at + index.dim()]
        if wanted != index.shape:
            raise IndexError(f"The shape of the mask {list(index.shape)} at index {at} does not match the shape of the indexed tensor {list(tensor.shape)} at index {at}")
        found.extend(_nonzero(index).unbind(1))
    return found


def _brought(tensor, index):
    """An index on the device of what it is for: PyTorch takes indices of the host for tensors of any device."""
    if index.device == tensor.device:
        return index
    if tensor.device.type != "girih" or index.device.type != "cpu":
        raise RuntimeError(f"indices should be either on cpu or on the same device as the indexed tensor ({tensor.device})")
    return index.to(tensor.device)


def _index(run, tensor, indices):
    return run(_aten.index.Tensor, tensor, _places(tensor, indices))


def _index_put(run, tensor, indices, values, accumulate=False, unsafe=False):
    return run(_aten._index_put_impl_.default, tensor, _places(tensor, indices), values, accumulate, unsafe)


def _bernoulli_(run, tensor, p, *, generator=None):
    """PyTorch takes probabilities of the host for tensors of any device."""
    return run(_aten.bernoulli_.Tensor, tensor, p.to(tensor.device), generator=generator)


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


def _unique_consecutive(tensor, return_inverse=False, return_counts=False, dim=None):
    if dim is not None:
        rows = _rows_along(tensor, dim)
        return _runs_of_rows(tensor, rows, dim, return_inverse, return_counts, torch.arange(rows.shape[0], device=tensor.device))
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


def _rows_along(tensor, dim):
    moved = tensor.movedim(dim, 0)
    return moved.reshape(moved.shape[0], math.prod(moved.shape[1:]))


def _unique_rows(tensor, dim, is_sorted=True, return_inverse=False, return_counts=False):
    """What is there once along a dimension, in the order of dictionaries."""
    rows = _rows_along(tensor, dim)
    order = torch.arange(rows.shape[0], device=tensor.device)
    for column in reversed(range(rows.shape[1])):
        order = order[rows[order, column].sort(stable=True).indices]
    found = _runs_of_rows(tensor, rows[order], dim, return_inverse, return_counts, order)
    inverse = torch.empty_like(order).scatter_(0, order, found[1]) if return_inverse else found[1]
    return found[0], inverse, found[2]


def _runs_of_rows(tensor, rows, dim, return_inverse, return_counts, order):
    """Of each run of equal rows: the first one, as a part of a tensor, which run a row is in, and how many there are."""
    changed = (rows[1:] != rows[:-1]).any(1)
    keys = torch.cat([changed.new_zeros(min(1, rows.shape[0])), changed]).cumsum(0)
    _, inverse, counts = _runs(keys, return_inverse, return_counts)
    firsts = _nonzero(torch.cat([changed.new_ones(min(1, rows.shape[0])), changed])).squeeze(1)
    return tensor.index_select(dim, order[firsts]), inverse, counts


def _bincount(tensor, weights=None, minlength=0):
    """How often each number is there, or the sum of its weights."""
    if tensor.dim() != 1 or tensor.is_floating_point() or tensor.dtype == torch.bool:
        raise RuntimeError("bincount only supports 1-d non-negative integral inputs.")
    if minlength < 0:
        raise RuntimeError("minlength should be >= 0")
    placement.refuse_mixed(_aten.bincount.default, (tensor, weights), {})
    if weights is not None and weights.shape != tensor.shape:
        raise RuntimeError("weights should be 1-d and have the same length as input")
    least, most = torch.stack(tensor.long().aminmax()).tolist() if tensor.numel() else (0, -1)
    if least < 0:
        raise RuntimeError("bincount only supports 1-d non-negative integral inputs.")
    dtype = torch.int32 if weights is None else torch.float32 if weights.dtype == torch.float32 else torch.float64
    added = torch.ones_like(tensor, dtype=dtype) if weights is None else weights.to(dtype)
    counts = torch.zeros(max(most + 1, minlength), dtype=dtype, device=tensor.device).index_add_(0, tensor.long(), added)
    return counts.long() if weights is None else counts


def _embedding_renorm_(weight, indices, max_norm, norm_type):
    """Shortens the rows of a table that are asked for and too long."""
    rows = weight.index_select(0, indices.reshape(-1))
    lengths = torch.linalg.vector_norm(rows, norm_type, 1, keepdim=True)
    return weight.index_put_((indices.reshape(-1),), torch.where(lengths > max_norm, rows * (max_norm / (lengths + 1e-7)), rows))


def _ldexp(tensor, exponent):
    made = tensor * torch.pow(torch.tensor(2.0), exponent)
    # The power is a `float32`, which decides the type of no result.
    return made.to(tensor.dtype) if tensor.is_floating_point() and not exponent.is_floating_point() else made


def _counted(run, start, end, step=1, *, out):
    """Whole numbers beyond 32 bits are made of smaller ones: Inductor counts in 32 bits."""
    is_whole = all(type(number) is int for number in (start, end, step)) and out.dtype == torch.int64
    if not is_whole or not step or (end - start) * step < 0 or max(abs(start), abs(end), abs(step)) < 1 << 31:
        return run(_aten.arange.start_out, start, end, step, out=out)
    places = torch.arange(-(-(end - start) // step), device=out.device)
    whole = lambda number: torch.full((), number, dtype=torch.int64, device=out.device)
    return out.resize_(places.shape).copy_(places * whole(step) + whole(start))


def _permuted(run, count, generator=None, *, out):
    """A permutation by the order of random numbers."""
    if count < 0:
        raise RuntimeError(f"n must be non-negative, got {count}")
    drawn = torch.empty(count, dtype=torch.int64, device=out.device).random_(generator=generator)
    return out.resize_(count).copy_(drawn.sort().indices)


_ALONE = {
    "nonzero": _nonzero,
    "nonzero_static": _nonzero_static,
    "masked_select": _masked_select,
    "equal": _equal,
    "repeat_interleave.Tensor": _repeat_interleave,
    "_unique2": _unique,
    "unique_dim": _unique_rows,
    "unique_consecutive": _unique_consecutive,
    "bincount": _bincount,
    "embedding_renorm_": _embedding_renorm_,
    "ldexp.Tensor": _ldexp,
}


def register(run) -> None:
    """Registers them. `run` runs any call."""
    for name, function in _ALONE.items():
        _library.impl(name, function, "PrivateUse1")
    for name, function in (("index.Tensor", _index), ("_index_put_impl_", _index_put), ("randperm.generator_out", _permuted), ("arange.start_out", _counted), ("bernoulli_.Tensor", _bernoulli_)):
        _library.impl(name, functools.partial(function, run), "PrivateUse1")
    for name in _WHOLE:
        operation = getattr(_aten, name).default
        _library.impl(name, lambda *args, operation=operation, **kwargs: run(operation, *args, **kwargs), "PrivateUse1")
