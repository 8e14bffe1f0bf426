"""Operations on lists of tensors, as optimizers call them: a kernel for many tensors, where PyTorch's own composition has a call for each.

Invariant: a list whose tensors differ in their types, or meet others of another shape, is computed tensor by tensor, as PyTorch does.
"""

import functools

import torch

from girih.torch import device, storages
from girih.torch.eager import call as calls
from girih.torch.eager.plan import Plan
from girih.torch.library import Library

_aten = torch.ops.aten
_library = Library("aten", "IMPL")
_PLAIN = ("neg", "abs", "sqrt", "rsqrt", "reciprocal", "sign")
_WITH_ONE = ("add", "sub", "mul", "div", "maximum", "minimum", "clamp_min", "clamp_max")
_WITH_TWO = ("addcmul", "addcdiv")
# Plans, by what they depend on, and where each of their tensors comes from.
_known, _MOST = {}, 1024
# PyTorch's composition for lists, which calls the operation of each tensor's own device.
_EACH = torch._C.DispatchKeySet(torch._C.DispatchKey.CPU)


def _overloads():
    """The operations that Inductor has kernels for."""
    for name in _PLAIN:
        yield from _both(name, "default")
    for name in _WITH_ONE:
        for overload in ("List", "Scalar", "ScalarList"):
            yield from _both(name, overload)
    for name in ("add", "mul", "div"):
        yield from _both(name, "Tensor")
    for name in _WITH_TWO:
        for overload in ("Scalar", "ScalarList"):
            yield from _both(name, overload)
    yield from _both("lerp", "Scalar")
    yield _aten._foreach_copy_.default


def _both(name, overload):
    """The operation that gives new tensors, and the one that works in place."""
    yield getattr(getattr(_aten, f"_foreach_{name}"), overload)
    yield getattr(getattr(_aten, f"_foreach_{name}_"), overload)


def _with_one_number(operation, args):
    """A call with a number for each tensor as one with a number for all, where they are the same."""
    if operation._overloadname == "ScalarList" and len({(type(number), repr(number)) for number in args[-1]}) == 1:
        return getattr(operation._overloadpacket, "Scalar"), (*args[:-1], args[-1][0])
    return operation, args


def _are_alike(lists) -> bool:
    """Whether all tensors are of one type and on the device, those in the same place of several lists have one shape, and each has elements."""
    first, *others = lists
    if not first or any(len(other) != len(first) for other in others):
        return False
    dtype = first[0].dtype
    if any(tensor.dtype != dtype or tensor.device.type != "girih" or not tensor.numel() for tensors in lists for tensor in tensors):
        return False
    return all(one.shape == same.shape for other in others for one, same in zip(first, other))


def _kind(operation, args, kwargs, tensors):
    """What the plan of a call depends on, where its tensors have no memory in common; else `None`. It takes a tenth of the time that a description of the call takes."""
    places = []
    for tensor in tensors:
        place = tensor.data_ptr()
        if place % 16:
            return None
        length = tensor.nbytes if tensor.is_contiguous() else storages.span(tensor.size(), tensor.stride()) * tensor.itemsize
        places.append((place, place + length))
    ordered = sorted(places)
    if any(end > start for (_, end), (start, _) in zip(ordered, ordered[1:])):
        return None
    numbers = [(type(value), repr(value)) for value in (*args, *kwargs.values()) if isinstance(value, (bool, int, float))]
    layouts = tuple([(tensor.dtype, tensor.size(), tensor.stride()) for tensor in tensors])
    return operation, tuple(kwargs), tuple(numbers), layouts, torch.get_default_dtype(), device.current()


def _call(planned, computed, operation, *args, **kwargs):
    operation, args = _with_one_number(operation, args)
    lists = [value for value in args if isinstance(value, (list, tuple)) and (not value or isinstance(value[0], torch.Tensor))]
    if operation._overloadname == "ScalarList" or not _are_alike(lists):
        return operation.redispatch(_EACH, *args, **kwargs)
    tensors = [tensor for tensors in lists for tensor in tensors]
    has_numbers = any(isinstance(value, torch.Tensor) for value in args)
    kind = None if has_numbers else _kind(operation, args, kwargs, tensors)
    known = _known.get(kind) or _known.get(_of_any_numbers(kind))
    if known is not None:
        plan, places = known
        return plan.repeat(_in_order(places, tensors, args, kwargs))
    found = planned(operation, args, kwargs)
    is_done, result = (False, found) if isinstance(found, str) else computed(*found)
    if not is_done:
        return operation.redispatch(_EACH, *args, **kwargs)
    if kind is not None:
        _keep(kind, tensors, *found)
    return result


def _of_any_numbers(kind):
    """The kind of all calls that differ in numbers alone, where a plan takes these as tensors."""
    if kind is None:
        return None
    operation, names, numbers, layouts, *rest = kind
    # Whole numbers may be beyond what tensors of whole numbers hold.
    if not layouts[0][0].is_floating_point:
        return None
    return (operation, names, tuple([ty for ty, _ in numbers]), layouts, *rest)


def _keep(kind, tensors, plan, call):
    """Keeps the plan of a call, with where each of its tensors comes from: a place in the lists, or `None` for the next number."""
    # A copy of a tensor is one of this call alone.
    if not isinstance(plan, Plan) or not plan.can_be_repeated() or len({id(tensor) for tensor in tensors}) != len(tensors):
        return
    by_identity = {id(tensor): place for place, tensor in enumerate(tensors)}
    places = [by_identity.get(id(tensor)) for tensor in call.tensors]
    numbers = [tensor for tensor, place in zip(call.tensors, places) if place is None]
    if len(places) - len(numbers) != len(tensors) or any(tensor.device.type != "cpu" for tensor in numbers):
        return
    if call.is_hoisted and len(numbers) != len(kind[2]) or not call.is_hoisted and numbers:
        return
    if len(_known) >= _MOST:
        _known.clear()
    kind = _of_any_numbers(kind) if call.is_hoisted else kind
    if kind is not None:
        _known[kind] = plan, places


def _in_order(places, tensors, args, kwargs):
    """The tensors of a call in the order of its plan."""
    values = (*args, *kwargs.values())
    numbers = iter([value for value in values if isinstance(value, (int, float))])
    return [calls.number(next(numbers), values) if place is None else tensors[place] for place in places]


def register(planned, computed) -> None:
    """Registers them. `planned` gives the plan of a call and the call's description, `computed` says whether a plan has computed a call, and the result."""
    for operation in _overloads():
        _library.impl(operation._schema.name.removeprefix("aten::") + f".{operation._overloadname}".removesuffix(".default"), functools.partial(_call, planned, computed, operation), "PrivateUse1")
