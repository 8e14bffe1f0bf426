"""`torch.nn.DataParallel`, which splits a batch among the devices of a process: a process has one of Girih's, so it gets the whole batch.

PyTorch's own functions for that are of CUDA alone, and fail by an assertion for other devices.
"""

import functools

import torch
from torch._utils import _get_available_device_type
from torch.nn.parallel import _functions, comm


def register() -> None:
    """Puts it in place."""
    split, join = _functions.Scatter.forward, comm.gather

    @functools.wraps(split)
    def scatter(ctx, devices, chunks, dim, tensor):
        if len(devices) != 1 or not _is_ours(tensor):
            return split(ctx, devices, chunks, dim, tensor)
        # What PyTorch's own derivative reads.
        ctx.dim, ctx.input_device = dim, tensor.get_device()
        return (tensor.to("girih"),)

    @functools.wraps(join)
    def gather(tensors, dim=0, destination=None, *args, **named):
        if len(tensors) != 1 or tensors[0].device.type != "girih":
            return join(tensors, dim, destination, *args, **named)
        return tensors[0].to("cpu" if destination in (-1, "cpu") else "girih")

    _functions.Scatter.forward, comm.gather = staticmethod(scatter), gather


def _is_ours(tensor: torch.Tensor) -> bool:
    """Whether a batch is on the device, or goes there from the host."""
    return tensor.device.type == "girih" or tensor.device.type == "cpu" and _get_available_device_type() == "girih"
