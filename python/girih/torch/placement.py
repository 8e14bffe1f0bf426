"""Tensors of other devices beside those of `girih`: PyTorch's error for calls that mix devices.

Invariant: a call that has tensors of two devices is an error, as on PyTorch's own cards. What these take is handled before: numbers of the host, indices of the host, copies, and probabilities of `bernoulli_`.
"""

import torch
from torch.utils import _pytree


def refuse_mixed(operation, args, kwargs) -> None:
    """Raises `RuntimeError` if a call has tensors of other devices that have dimensions, or that it writes to."""
    schema = operation._schema.arguments
    named = [*zip(schema, args), *((argument, kwargs[argument.name]) for argument in schema if argument.name in kwargs)]
    for argument, value in named:
        is_written = argument.alias_info is not None and argument.alias_info.is_write
        for tensor in _tensors(value):
            if tensor.device.type != "girih" and (is_written or tensor.dim() or tensor.device.type != "cpu"):
                raise error(tensor.device, argument.name, operation._schema.name)


def error(other, argument: str, operation: str) -> RuntimeError:
    """What PyTorch says of a tensor that is on another device than `girih:0`."""
    return RuntimeError(
        f"Expected all tensors to be on the same device, but found at least two devices, girih:0 and {other}! (when checking argument for argument {argument} in method {operation})"
    )


def _tensors(value):
    return [leaf for leaf in _pytree.tree_leaves(value) if isinstance(leaf, torch.Tensor)] if isinstance(value, (torch.Tensor, list, tuple)) else []
