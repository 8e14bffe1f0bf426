"""The operations that make tensors, view them, and move them between the host and the device."""

import torch

from girih.torch import device, eager, host, storages
from girih.torch.library import Library

_library, _marks = Library("aten", "IMPL"), torch.library.Library("aten", "IMPL")
_HOST = torch._C.DispatchKeySet(torch._C.DispatchKey.CPU)


def _empty(size, *, dtype=None, layout=None, device=None, pin_memory=None, memory_format=None):
    return storages.empty(size, _strides(size, memory_format), dtype)


def _strides(size, memory_format):
    """The strides of an order of elements; `None` for the usual one. Raises PyTorch's error where it does not fit the size."""
    if memory_format in (torch.channels_last, torch.channels_last_3d):
        return list(torch.empty(size, device="meta", memory_format=memory_format).stride())
    return None


def _empty_strided(size, stride, *, dtype=None, layout=None, device=None, pin_memory=None):
    return storages.empty(size, stride, dtype)


def _copy_from(source, target, non_blocking=False):
    if source.device.type == "girih" and target.device.type == "girih":
        _copy_on_device(source, target)
    elif target.device.type == "girih":
        host.upload(target, source.expand(target.size()))
    else:
        target.copy_(host.HostView().of(source))
    return target


def _copy_on_device(source, target):
    """Copies between two tensors of the device: bytes where both have them in the same order, else by a kernel."""
    source = source.expand(target.size())
    if storages.is_flagged(source) or storages.is_flagged(target):
        source, target = _without_marks(source, target)
    same = source.dtype == target.dtype and source.stride() == target.stride()
    if same and source.numel() and storages.span(source.size(), source.stride()) == source.numel():
        from_buffer, from_offset = storages.place_of(source)
        to_buffer, to_offset = storages.place_of(target)
        to_buffer.copy_from(from_buffer, from_offset, to_offset, source.numel() * source.element_size())
        return
    if source.numel() == 0:
        return
    eager.copy(target, source)


def _without_marks(source, target):
    """What to copy where, when a tensor is marked as the conjugate or the negative of what is in memory."""
    is_conjugate, is_negative = source.is_conj() != target.is_conj(), source.is_neg() != target.is_neg()
    source, target = storages.flagged_as(source, source), storages.flagged_as(target, target)
    if is_conjugate:
        source = eager.run(torch.ops.aten._conj_physical.default, source)
    return eager.run(torch.ops.aten.neg.default, source) if is_negative else source, target


def _item(tensor):
    return host.download(tensor).item()


def _set_storage(tensor, source, offset, size, stride=()):
    return torch.ops.aten.set_.source_Storage_storage_offset.redispatch(_HOST, tensor, source, offset, size, stride)


def _set_tensor(tensor, source):
    place = source.untyped_storage(), source.storage_offset(), source.size(), source.stride()
    return _set_storage(tensor, *place)


def _set_whole_storage(tensor, source):
    return _set_storage(tensor, source, 0, [source.nbytes() // tensor.element_size()])


def _set_nothing(tensor):
    return _set_storage(tensor, storages.empty([0], dtype=tensor.dtype).untyped_storage(), 0, [0])


def _zeros(size, *, dtype=None, layout=None, device=None, pin_memory=None):
    """What PyTorch calls for zeros that its derivatives need, and need not take memory on its own devices."""
    return torch.zeros(size, dtype=dtype, device="girih")


def _resize(tensor, size, *, memory_format=None):
    """Resizes a tensor: in its own memory if it fits, else in new memory that begins with what it held."""
    size = [int(length) for length in size]
    stride = _strides(size, memory_format) or storages.contiguous(size)
    needed = (tensor.storage_offset() + storages.span(size, stride)) * tensor.element_size()
    storage = tensor.untyped_storage()
    if needed <= storage.nbytes():
        return _set_storage(tensor, storage, tensor.storage_offset(), size, stride)
    larger = storages.empty([-(-needed // tensor.element_size())], dtype=tensor.dtype)
    if storage.nbytes():
        nbytes = storage.nbytes() // tensor.element_size() * tensor.element_size()
        storages.buffer_of(larger).copy_from(storages.buffer_of(tensor), 0, 0, nbytes)
    return _set_storage(tensor, larger.untyped_storage(), tensor.storage_offset(), size, stride)


_OPERATIONS = {
    "empty.memory_format": _empty,
    "empty_strided": _empty_strided,
    "_copy_from": _copy_from,
    "_local_scalar_dense": _item,
    "set_.source_Storage_storage_offset": _set_storage,
    "set_.source_Tensor": _set_tensor,
    "set_.source_Storage": _set_whole_storage,
    "set_": _set_nothing,
    "_efficientzerotensor": _zeros,
    "resize_": _resize,
}


def register() -> None:
    """Registers them."""
    for name, function in _OPERATIONS.items():
        _library.impl(name, function, "PrivateUse1")
    # PyTorch would give copies of what is marked as a conjugate to these, and make the copies by them.
    for key in ("Conjugate", "Negative"):
        _marks.impl("_copy_from", torch.library.fallthrough_kernel, key)
