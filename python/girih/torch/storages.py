"""Tensors of the device `girih` over memory of Girih, made from DLPack capsules.

A capsule of DLPack's type "extension device" becomes a plain `torch.Tensor` with a storage. The storage's address finds its memory.

Invariant: memory is kept exactly as long as PyTorch keeps the storage over it.
"""

import ctypes

import torch

from girih._native import kept_memory, memory_of
from girih.torch import device

# The codes of DLPack: integer, unsigned, float, bfloat, complex, bool.
CODES = {
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
    torch.complex32: (5, 32),
    torch.complex64: (5, 64),
    torch.complex128: (5, 128),
    torch.bool: (6, 8),
    torch.float8_e4m3fn: (10, 8),
    torch.float8_e5m2: (12, 8),
}
# The types that tensors of the device can have.
TYPES = frozenset(CODES)


def span(size, stride) -> int:
    """How many elements lie from the first to the last one of a tensor."""
    if 0 in size:
        return 0
    return 1 + sum((length - 1) * step for length, step in zip(size, stride))


def is_flagged(tensor) -> bool:
    """Whether a tensor says that it is the conjugate, or the negative, of what is in memory."""
    return tensor.is_neg() or tensor.is_conj()


def flagged_as(tensor, plain) -> torch.Tensor:
    """A tensor without such marks, with those of another one. Applied to a tensor that has them, it takes them away."""
    if tensor.is_conj():
        plain = plain.conj()
    return torch._neg_view(plain) if tensor.is_neg() else plain


def alone(tensor) -> torch.Tensor:
    """The same tensor as one that is no view of another."""
    return torch.empty(0, dtype=tensor.dtype, device=tensor.device).set_(tensor.untyped_storage(), tensor.storage_offset(), tensor.size(), tensor.stride())


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
    stride, step = [], 1
    for length in reversed(size):
        stride.append(step)
        step *= max(length, 1)
    return stride[::-1]


def empty(size, stride=None, dtype=None) -> torch.Tensor:
    """A new tensor on the device; what is in it is not said."""
    size = [int(length) for length in size]
    stride = contiguous(size) if stride is None else [int(step) for step in stride]
    dtype = dtype or torch.get_default_dtype()
    if dtype not in CODES:
        raise NotImplementedError(f"tensors of {dtype} cannot be on the device girih")
    code, bits = CODES[dtype]
    # Memory in whole words, for devices that move no others.
    nbytes = -(-max(span(size, stride) * (bits // 8), 1) // 16) * 16
    return torch._C._from_dlpack(device.current().storage(nbytes, size, stride, code, bits))


def host_bytes(address: int, nbytes: int, owner) -> torch.Tensor:
    """A tensor of the host over bytes that the host reaches, which keeps `owner`."""
    memory = (ctypes.c_uint8 * nbytes).from_address(address)
    memory.owner = owner
    return torch.frombuffer(memory, dtype=torch.uint8)


def memory(whole):
    """The bytes of a contiguous tensor of the host, as Python's buffers are. The tensor has to live as long as they are used."""
    nbytes = whole.numel() * whole.element_size()
    return memoryview((ctypes.c_uint8 * nbytes).from_address(whole.data_ptr())).cast("B")


def address_of(tensor: torch.Tensor) -> int:
    """Where a tensor begins, for kernels. PyTorch has no address for one without elements: then it is where its storage begins."""
    return tensor.data_ptr() or tensor.untyped_storage().data_ptr()


def buffer_of(tensor: torch.Tensor):
    """The buffer under a tensor's storage."""
    found = memory_of(tensor.untyped_storage().data_ptr())
    if found is None:
        raise RuntimeError(f"a tensor of shape {tuple(tensor.shape)} on the device girih has no memory of Girih")
    return found[0]


def place_of(tensor: torch.Tensor):
    """The buffer under a tensor, and the byte where the tensor begins."""
    return buffer_of(tensor), tensor.storage_offset() * tensor.element_size()


def count() -> int:
    """How many storages there are."""
    return kept_memory()
