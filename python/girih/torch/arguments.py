"""Tensors of the device `girih` as arguments of `girih.jit` kernels.

Invariant: a kernel works on a tensor's own memory, from its first element on, whatever its strides: as in Triton, the kernel is given these as numbers.
"""

import torch

from girih.torch import storages
from girih.torch.launch import NAMES


def _place(tensor):
    """Where a tensor is, for kernels; a tensor of the host is copied by DLPack."""
    if tensor.device.type == "cpu":
        return NotImplemented
    if tensor.device.type != "girih":
        raise TypeError(f'a tensor on `{tensor.device}` is no argument of a kernel of Girih: give one of the device `girih`, by `.to("girih")`, or of the host')
    return (*storages.place_of(tensor), NAMES[tensor.dtype])


def register() -> None:
    """Puts it in place."""
    torch.Tensor.__girih_buffer__ = _place
