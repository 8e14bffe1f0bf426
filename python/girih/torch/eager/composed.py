"""Operations that are composed of others when they are called, because the size of their result, or what they answer, depends on what tensors hold.

Also those whose usual composition in PyTorch is worse than what Inductor makes of them as a whole.
"""

import functools

import torch

_aten = torch.ops.aten
_library = torch.library.Library("aten", "IMPL")
_WHOLE = ("cummax", "cummin", "logcumsumexp")


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


def register(run) -> None:
    """Registers them. `run` runs any call."""
    for name, function in (("nonzero", _nonzero), ("masked_select", _masked_select), ("equal", _equal)):
        _library.impl(name, function, "PrivateUse1")
    for name, function in (("index.Tensor", _index), ("_index_put_impl_", _index_put)):
        _library.impl(name, functools.partial(function, run), "PrivateUse1")
    for name in _WHOLE:
        operation = getattr(_aten, name).default
        _library.impl(name, lambda *args, operation=operation, **kwargs: run(operation, *args, **kwargs), "PrivateUse1")
