"""Operations that run at once on the device: Inductor writes a kernel for each kind of call, and Girih compiles and runs it.

One rule stands for all operations. A call is described by its operation, its numbers, and the types and layouts of its tensors (`call.py`); what computes such calls
is planned once (`plan.py`) and kept. A call for which there is no plan runs on the host.
Invariant: a call runs on the device as a whole, or on the host as a whole; the second is counted, and warned of with its reason.
"""

import functools
import logging
import re
import threading

import torch

import girih
from girih._native import host_step
from girih.torch import device, generators, host, storages
from girih.torch.eager import call as calls
from girih.torch.eager import bags, composed, lists, optimizers, table, transformers
from girih.torch.eager import plan as plans
from girih.torch.library import Library

_aten = torch.ops.aten
# By the key of a call: its plan, or why there is none. By the key of calls of any size: the plans for changing sizes, and whether a size was seen.
_plans, _sized, _sizes_seen = {}, {}, set()
# By the key of a call without its numbers: those that it was first called with.
_numbers = {}
_MOST = 1 << 16
_planning = threading.local()
_SEEDS = getattr(_aten.random_, "from")


def run(operation, *args, **kwargs):
    """Runs any operation of PyTorch that has no kernel of its own."""
    if host.is_view(operation):
        return host.run(operation, *args, **kwargs)
    if _draws_seeds(operation, args, kwargs):
        return _draw_seeds(*args)
    generator, plain_args, plain_kwargs = generators.without(args, kwargs)
    if generator is not None:
        with generators.drawing_from(generator):
            is_done, result = on_device(operation, plain_args, plain_kwargs)
        return result if is_done else host.run(operation, *args, reason=result, **kwargs)
    is_done, result = on_device(operation, args, kwargs)
    return result if is_done else host.run(operation, *args, reason=result, **kwargs)


def on_device(operation, args, kwargs):
    """Whether there is a plan for a call, and the call's result, or why there is none."""
    planned = _planned(operation, args, kwargs)
    return (False, planned) if isinstance(planned, str) else computed(*planned)


def computed(plan, call):
    """Whether a plan has computed a call, and the call's result, or why it has not."""
    try:
        return True, plan.run(call)
    except calls.NoPlan as problem:
        _plans[call.key] = str(problem)
        return False, str(problem)
    except girih.OutOfBounds as problem:
        raise _named(problem, call) from None


_RANGE = re.compile(r"index out of bounds: (?:\S+ <= )?\w+ < (\w+)")
# Operations that count negative indices from the end.
_FROM_THE_END = ("aten::index", "aten::_index_put_impl", "aten::index_put", "aten::take", "aten::put")


def _named(problem, call):
    """The same error with the operation and its shapes. Where a device works behind the host, another call may be to blame, and the error stays as it is."""
    found = _RANGE.search(str(problem))
    if found is None or device.current().kind != "cpu":
        return problem
    name, end = call.operation._schema.name, found[1]
    # A plan for all sizes has names in the place of sizes.
    where = f"not in the range from {-int(end) if name.removesuffix('_') in _FROM_THE_END else 0} to {int(end) - 1}" if end.isdigit() else "too far"
    shapes = " and ".join(str(list(tensor.shape)) for tensor in call.tensors)
    named = girih.OutOfBounds(f"index out of range in self: an index of `{name}` is {where} (shapes of its tensors: {shapes})")
    for attribute, value in vars(problem).items():
        setattr(named, attribute, value)
    return named


class _Quiet(logging.Filter):
    """While a call is planned, PyTorch's compiler writes of each call that it refuses. The caller gets the error itself."""

    def filter(self, record):
        return not is_planning()


def _planned(operation, args, kwargs):
    """A plan and the call that it is for, or why there is none."""
    if is_planning():
        return "it is called while a kernel is planned"
    try:
        call = calls.described(operation, args, kwargs)
        plan = _plans.get(call.key)
        if plan is None and _changes(call):
            call = calls.described(operation, args, kwargs, hoists=True)
            plan = _plans.get(call.key)
    except calls.NoPlan as problem:
        return str(problem)
    if plan is None:
        plan = _new_plan(call)
        if max(map(len, (_plans, _sized, _numbers))) >= _MOST:
            for kept in (_plans, _sized, _sizes_seen, _numbers):
                kept.clear()
        _plans[call.key] = plan
    return plan if isinstance(plan, str) else (plan, call)


def _changes(call) -> bool:
    """Whether a call differs from an earlier one in numbers alone, and there is a formula that takes them as tensors."""
    if table.formula(call.operation) is None and optimizers.step(call.operation) is None:
        return False
    numbers = tuple(value for value in (*call.args, *call.kwargs.values()) if type(value) in (int, float))
    if not numbers or any(tensor.dtype.is_complex for tensor in call.tensors):
        return False
    # Whole numbers beyond what floats hold stay exact, and those beyond their tensors' type are not made to fit.
    for dtype in {tensor.dtype for tensor in call.tensors}:
        if not dtype.is_floating_point and not all(_holds(dtype, number) for number in numbers):
            return False
    without = (call.operation, len(call.args), tuple(call.kwargs), tuple(map(type, numbers)), *call.key[3:])
    return _numbers.setdefault(without, numbers) != numbers


def _holds(dtype, number) -> bool:
    """Whether a number is one of a type of whole numbers."""
    if dtype == torch.bool or type(number) is float:
        return False
    limits = torch.iinfo(dtype)
    return limits.min <= number <= limits.max


def _new_plan(call):
    """A plan for a call: one for all sizes where sizes have changed before, else one for this size; or why there is none."""
    kind = call.any_size()
    sized = _sized.setdefault(kind, [])
    for plan in sized:
        if plan.fits(call):
            return plan.plan.again()
    is_first = kind not in _sizes_seen
    _sizes_seen.add(kind)
    # Inductor's options are the process's: one thread plans or compiles at a time.
    with _compile_lock():
        _planning.is_on = True
        try:
            return _made(call, sized, is_first)
        except calls.NoPlan as problem:
            return str(problem)
        finally:
            _planning.is_on = False


@functools.cache
def _compile_lock():
    """PyTorch's own lock; it is asked for late, because it takes seconds to import."""
    from torch._dynamo.convert_frame import compile_lock

    return compile_lock


def _made(call, sized, is_first):
    """A new plan. Raises `NoPlan` if there is none."""
    if not is_first:
        try:
            made = plans.planned(call, run, any_size=True)
            if not isinstance(made, plans.SizedPlan):
                return made
            if made.fits(call):
                sized.append(made)
                return made.plan
        except calls.NoPlan:
            # What needs the numbers of a size is planned for each size.
            pass
    return plans.planned(call, run)


def is_planning() -> bool:
    """Whether this thread plans an eager operation, rather than a compiled function."""
    return getattr(_planning, "is_on", False)


def _draws_seeds(operation, args, kwargs) -> bool:
    """Whether this is how Inductor draws the seeds of random kernels: the host's generator gives them, eagerly as in compiled functions."""
    return operation is _SEEDS and args[1] == -(1 << 63) and kwargs.get("generator") is None and args[0].is_contiguous()


def _draw_seeds(target, least, most):
    """Draws seeds, also where the call around it is repeated."""
    size, dtype = target.size(), target.dtype

    def draw(buffer, offset):
        seeds = torch.empty(size, dtype=dtype).random_(least, most, generator=generators.current())
        buffer.write(storages.memory(seeds), offset)

    host_step(storages.address_of(target), draw)
    return target


def copy(target, source) -> None:
    """Copies between two tensors of the device, of any types and layouts."""
    run(_aten.copy_.default, target, source)


def register() -> None:
    """Makes this what runs where the device has no operation of its own."""
    _library.fallback(run, "PrivateUse1")
    logging.getLogger("torch._subclasses.fake_tensor").addFilter(_Quiet())
    composed.register(run)
    bags.register(run)
    lists.register(_planned, computed)
    optimizers.register(run)
    transformers.register()


_library = Library("_", "IMPL")
