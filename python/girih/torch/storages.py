"""Tensors of the device `girih` over memory of Girih, made from DLPack capsules.

A capsule of DLPack's type "extension device" becomes a plain `torch.Tensor` with a storage. The storage's address finds its buffer.

Invariant: a buffer is kept exactly as long as PyTorch keeps the storage over it.
"""

import ctypes
import math

import torch

from girih.torch import device

HOST, EXTENSION = 1, 12

# The codes of DLPack: integer, unsigned, float, bfloat, bool.
_CODES = {
    torch.int8: (0, 8),
    torch.int16: (0, 16),
    torch.int32: (0, 32),
    torch.int64: (0, 64),
    torch.uint8: (1, 8),
    torch.uint16: (1, 16),
    torch.uint32: (1, 32),
    torch.uint64: (1, 64),
    torch.float16: (2, 16),
    torch.float32: (2, 32),
    torch.float64: (2, 64),
    torch.bfloat16: (4, 16),
    torch.bool: (6, 8),
}


class _Device(ctypes.Structure):
    _fields_ = [("type", ctypes.c_int32), ("index", ctypes.c_int32)]


class _Type(ctypes.Structure):
    _fields_ = [("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16)]


class _Tensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device", _Device),
        ("dimensions", ctypes.c_int32),
        ("type", _Type),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("offset", ctypes.c_uint64),
    ]


class _Managed(ctypes.Structure):
    pass


_Deleter = ctypes.CFUNCTYPE(None, ctypes.POINTER(_Managed))
_Managed._fields_ = [("tensor", _Tensor), ("context", ctypes.c_void_p), ("deleter", _Deleter)]

_new_capsule = ctypes.pythonapi.PyCapsule_New
_new_capsule.restype = ctypes.py_object
_new_capsule.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]

# The types that tensors of the device can have.
TYPES = frozenset(_CODES)

# What is kept for each capsule, by its address; and the buffers, by theirs.
_kept = {}
_buffers = {}


@_Deleter
def _forget(managed):
    kept = _kept.pop(ctypes.addressof(managed.contents), None)
    if kept is not None and kept[1] is not None:
        _buffers.pop(kept[1], None)


def _import(address, kind, size, stride, dtype, owner, registered):
    """A tensor over memory at an address, which keeps `owner`."""
    code, bits = _CODES[dtype]
    numbers = ctypes.c_int64 * max(len(size), 1)
    shape, strides = numbers(*size), numbers(*stride)
    described = _Tensor(address, _Device(kind, 0), len(size), _Type(code, bits, 1), shape, strides, 0)
    managed = _Managed(described, None, _forget)
    key = ctypes.addressof(managed)
    _kept[key] = (managed, address if registered else None, owner, shape, strides)
    return torch._C._from_dlpack(_new_capsule(key, b"dltensor", None))


def span(size, stride) -> int:
    """How many elements lie from the first to the last one of a tensor."""
    if 0 in size:
        return 0
    return 1 + sum((length - 1) * step for length, step in zip(size, stride))


def overlaps_itself(tensor) -> bool:
    """Whether elements of a tensor may share memory: `True` for layouts in which that is not plain."""
    if tensor.numel() == 0:
        return False
    needed = 1
    for step, length in sorted((step, length) for length, step in zip(tensor.size(), tensor.stride()) if length > 1):
        if step < needed:
            return True
        needed += (length - 1) * step
    return False


def meet(one, other) -> bool:
    """Whether the memory from the first to the last element of two tensors of the device has a byte in common."""
    if other.device != one.device or one.untyped_storage().data_ptr() != other.untyped_storage().data_ptr():
        return False
    starts = [tensor.storage_offset() * tensor.element_size() for tensor in (one, other)]
    ends = [start + span(tensor.size(), tensor.stride()) * tensor.element_size() for start, tensor in zip(starts, (one, other))]
    return max(starts) < min(ends)


def contiguous(size) -> list[int]:
    """The strides of a tensor that has no gaps, in order."""
    return [math.prod(max(length, 1) for length in size[at + 1 :]) for at in range(len(size))]


def empty(size, stride=None, dtype=None) -> torch.Tensor:
    """A new tensor on the device; what is in it is not said."""
    size = [int(length) for length in size]
    stride = contiguous(size) if stride is None else [int(step) for step in stride]
    dtype = dtype or torch.get_default_dtype()
    if dtype not in _CODES:
        raise NotImplementedError(f"tensors of {dtype} cannot be on the device girih")
    # Memory in whole words, for devices that move no others.
    nbytes = -(-max(span(size, stride) * dtype.itemsize, 1) // 16) * 16
    buffer = device.current().allocate(nbytes)
    _buffers[buffer.address] = buffer
    return _import(buffer.address, EXTENSION, size, stride, dtype, buffer, True)


def host_bytes(address: int, nbytes: int, owner) -> torch.Tensor:
    """A tensor of the host over bytes that the host reaches."""
    return _import(address, HOST, [nbytes], [1], torch.uint8, owner, False)


def buffer_of(tensor: torch.Tensor):
    """The buffer under a tensor's storage."""
    buffer = _buffers.get(tensor.untyped_storage().data_ptr())
    if buffer is None:
        raise RuntimeError(f"a tensor of shape {tuple(tensor.shape)} on the device girih has no memory of Girih")
    return buffer


def place_of(tensor: torch.Tensor):
    """The buffer under a tensor, and the byte where the tensor begins."""
    return buffer_of(tensor), tensor.storage_offset() * tensor.element_size()


def count() -> int:
    """How many storages there are."""
    return len(_buffers)
