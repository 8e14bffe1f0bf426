"""What Inductor is told while it compiles a graph for the device `girih`, and only then: graphs of other devices are compiled as if Girih were not there.

Invariant: no option of Inductor's is changed for longer than such a compilation.
"""

import contextlib
import contextvars
import functools

import torch
import torch._inductor.compile_fx as compile_fx
import torch._inductor.config as config
import torch._inductor.utils as utils
from torch._dynamo.convert_frame import compile_lock

_OPTIONS = {
    # Also where Inductor trusts an index: what another kernel has checked, and has not told the host yet, may be wrong.
    "debug_index_asserts": True,
    "triton.autotune_at_compile_time": False,
    "triton.mix_order_reduction": False,
    "triton.cooperative_reductions": False,
}
_is_ours = contextvars.ContextVar("a graph for girih is compiled", default=False)


def register() -> None:
    """Puts it in place, once."""
    theirs = compile_fx._compile_fx_inner

    @functools.wraps(theirs)
    def compiled(graph, inputs, **options):
        if not _is_for_girih(graph, inputs):
            return theirs(graph, inputs, **options)
        with _compiling():
            return theirs(graph, inputs, **options)

    compile_fx._compile_fx_inner = compiled
    _name_the_card()


@contextlib.contextmanager
def _compiling():
    token = _is_ours.set(True)
    try:
        # Inductor's options are the process's.
        with compile_lock, config.patch(_OPTIONS):
            yield
    finally:
        _is_ours.reset(token)


def _is_for_girih(graph, inputs) -> bool:
    """Whether any tensor of a graph is on the device."""
    values = [*inputs, *(node.meta.get("val") for node in graph.graph.nodes)]
    return any(isinstance(value, torch.Tensor) and value.device.type == "girih" for value in values)


def _name_the_card() -> None:
    """Inductor takes it that a machine has one kind of card. Where it asks for that kind, it is told the one of the graph."""
    from torch._inductor.fx_passes import joint_graph, post_grad

    @functools.cache
    def other():
        found = [name for name in utils.GPU_TYPES if name != "girih" and getattr(torch, name).is_available()]
        return found[0] if found else "girih"

    def get_gpu_type():
        return "girih" if _is_ours.get() else other()

    for module in (utils, joint_graph, post_grad):
        module.get_gpu_type = get_gpu_type
