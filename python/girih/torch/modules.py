"""Modules that are moved to the device or from it: their parameters stay the same objects, so that weights that are shared stay shared and optimizers keep theirs.

PyTorch changes a parameter in place where the old and the new tensor are of one kind, which tensors of the host and of `girih` are not. It would make new parameters then.
Invariant: what stays on its device is moved as without Girih.
"""

import functools
import threading

import torch
from torch.nn.parameter import UninitializedTensorMixin, is_lazy

_apply = torch.nn.Module._apply
_state = threading.local()


def register() -> None:
    """Puts it in place."""

    @functools.wraps(_apply)
    def apply(module, function, recurse=True):
        if not _crosses(module, function):
            return _apply(module, function, recurse)
        if recurse:
            for child in module.children():
                child._apply(function)
        return _cross(module, function)

    torch.nn.Module._apply = _remembering(apply)


def _remembering(apply):
    """Keeps which parameters were replaced until the outermost module is done."""

    @functools.wraps(_apply)
    def outermost(module, function, recurse=True):
        if getattr(_state, "replaced", None) is not None:
            return apply(module, function, recurse)
        # By the old parameter, which is kept alive beside the new one so that its number stays its own.
        _state.replaced = {}
        try:
            return apply(module, function, recurse)
        finally:
            _state.replaced = None

    return outermost


def _crosses(module, function) -> bool:
    """Whether parameters of a module itself come to the device or leave it."""
    return any(_is_moved(parameter, function) for parameter in module._parameters.values() if parameter is not None)


def _is_moved(parameter, function) -> bool:
    if parameter.device.type == "meta":
        return False
    probe = torch.empty(0, dtype=parameter.dtype, device=parameter.device)
    try:
        device = function(probe).device.type
    except Exception:
        # What is no conversion of any tensor says so itself, on the parameter.
        return False
    return device != parameter.device.type and "girih" in (device, parameter.device.type)


def _cross(module, function):
    _shared_and_lazy(module, function)
    kept = [(parameter, dict(parameter.__dict__), parameter._backward_hooks) for parameter in module._parameters.values() if parameter is not None]
    was = torch.__future__.get_swap_module_params_on_conversion()
    torch.__future__.set_swap_module_params_on_conversion(True)
    try:
        moved = _apply(module, function, False)
    except RuntimeError as error:
        if "Couldn't swap" not in str(error):
            raise
        # Someone holds the parameter in a way that its contents cannot be swapped: a weak reference, or a graph of gradients.
        torch.__future__.set_swap_module_params_on_conversion(False)
        moved = _replace(module, function)
    finally:
        torch.__future__.set_swap_module_params_on_conversion(was)
    for parameter, attributes, hooks in kept:
        parameter.__dict__.update(attributes)
        if hooks is not None:
            parameter._backward_hooks = hooks
    return moved


def _replace(module, function):
    before = dict(module._parameters)
    moved = _apply(module, function, False)
    for name, old in before.items():
        new = module._parameters[name]
        if old is not None and new is not old:
            new.__dict__.update(old.__dict__)
            _state.replaced[id(old)] = (old, new)
    return moved


def _shared_and_lazy(module, function) -> None:
    """What another module has replaced is the new one here, too; what has no shape yet is made anew."""
    for name, parameter in module._parameters.items():
        if parameter is None:
            continue
        if id(parameter) in _state.replaced:
            module._parameters[name] = _state.replaced[id(parameter)][1]
        elif is_lazy(parameter) and isinstance(parameter, UninitializedTensorMixin):
            like = function(torch.empty(0, dtype=parameter.dtype, device=parameter.device))
            new = type(parameter)(requires_grad=parameter.requires_grad, device=like.device, dtype=like.dtype)
            _state.replaced[id(parameter)] = (parameter, new)
            module._parameters[name] = new
