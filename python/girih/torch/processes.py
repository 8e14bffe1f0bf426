"""Other processes on the same machine: what a fork is told, and how tensors of the device are sent to workers of data loaders and through queues.

Invariant: a process that was forked from one that has opened the device touches neither the device nor its memory: each operation there is a `RuntimeError`. Tensors are sent as copies by way of the host.
"""

import functools
import os
from multiprocessing import reduction

import torch
from torch.multiprocessing import reductions
from torch.nn.parameter import Parameter

from girih.torch import device, storages

_is_fork = False


def own() -> None:
    """Raises `RuntimeError` in a fork of a process that has opened the device."""
    if _is_fork:
        raise RuntimeError(
            "Cannot use the device girih in a forked subprocess: its driver does not survive a fork. To use girih with multiprocessing, you must use the 'spawn' start method: "
            '`DataLoader(.., multiprocessing_context="spawn")`, or `torch.multiprocessing.get_context("spawn")`'
        )


def is_fork() -> bool:
    """Whether this process is such a fork."""
    return _is_fork


def _after_fork() -> None:
    global _is_fork
    _is_fork = _is_fork or device.is_open()


def register() -> None:
    """Puts it in place."""
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=_after_fork)
    for kind in (torch.Tensor, Parameter):
        reduction.register(kind, _reduced)
    _storages_of_a_size()


def _reduced(tensor):
    """How a tensor is sent: one of the device by its bytes."""
    if tensor.device.type != "girih" or tensor.layout != torch.strided:
        return reductions.reduce_tensor(tensor)
    if tensor.requires_grad and not tensor.is_leaf:
        # PyTorch refuses these by a message of its own.
        return reductions.reduce_tensor(tensor)
    copy = tensor.detach().cpu().contiguous()
    sent = bytes(storages.memory(copy)) if copy.numel() else b""
    return _received, (type(tensor), sent, tensor.dtype, tensor.size(), tensor.requires_grad)


def _received(kind, sent, dtype, size, requires_grad):
    copy = torch.frombuffer(bytearray(sent), dtype=dtype).reshape(size) if sent else torch.empty(size, dtype=dtype)
    there = copy.to("girih")
    return Parameter(there, requires_grad) if issubclass(kind, Parameter) else there.requires_grad_(requires_grad)


def _storages_of_a_size() -> None:
    """`torch.UntypedStorage(size, device="girih")`, which data loaders call. PyTorch would look for an allocator in C++."""
    theirs = torch.UntypedStorage.__new__

    @functools.wraps(theirs)
    def new(kind, *args, **kwargs):
        place = kwargs.get("device")
        if place is None or torch.device(place).type != "girih":
            return theirs(kind, *args, **kwargs)
        given = args[0] if args else kwargs.get("size", 0)
        if isinstance(given, int):
            return storages.empty([given], dtype=torch.uint8).untyped_storage()
        return torch.tensor(given, dtype=torch.uint8).to("girih").untyped_storage()

    torch.UntypedStorage.__new__ = new
