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

from girih.torch import device, eager
from girih.torch.inductor import doubles

_OPTIONS = {
    # Also where Inductor trusts an index: what another kernel has checked, and has not told the host yet, may be wrong.
    "debug_index_asserts": True,
    # A product has one kernel here, and kernels have one size of blocks: there is nothing to choose from by measuring.
    "max_autotune": False,
    "max_autotune_gemm": False,
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
    _say_what_is_summed()
    _scan_rows_whole()
    _tile_as_far_as_is_known()
    doubles.register(_is_ours.get)


@contextlib.contextmanager
def _compiling():
    token = _is_ours.set(True)
    try:
        # Inductor's options are the process's.
        with compile_lock, config.patch({**_OPTIONS, **_limits()}):
            yield
    finally:
        _is_ours.reset(token)


# Buffers that a kernel has beside those of its tensors: assertions, numbers.
_OWN_BUFFERS = 4


def _limits() -> dict:
    """How many tensors one kernel may use: fewer than Inductor takes where the device has few buffers for a kernel, as Vulkan's and Metal's have."""
    most = device.current().buffers - _OWN_BUFFERS
    if most >= config.combo_kernel_max_num_args:
        return {}
    return {"combo_kernel_max_num_args": most, "max_fusion_unique_io_buffers": most}


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


def _say_what_is_summed() -> None:
    """Sums at indices are atomic where a kernel makes them. In compiled functions only those of 32 bits are, which every device has: others become eager operations."""
    from torch._inductor import decomposition, lowering

    theirs = utils.needs_fallback_due_to_atomic_add_limitations

    def needs_fallback(dtype):
        if not _is_ours.get():
            return theirs(dtype)
        return dtype == torch.bool or not eager.is_planning() and dtype not in (torch.float32, torch.int32)

    for module in (utils, decomposition, lowering):
        module.needs_fallback_due_to_atomic_add_limitations = needs_fallback


def _scan_rows_whole() -> None:
    """A program scans a row. Inductor's scans of a row by several programs wait for each other, which no device has to run at the same time."""
    from torch._inductor import ir

    theirs = ir.Scan.num_splits.__func__

    @functools.wraps(theirs)
    def num_splits(cls, *arguments, **named):
        hint, count = theirs(cls, *arguments, **named)
        return hint, 1 if _is_ours.get() else count

    ir.Scan.num_splits = classmethod(num_splits)


def _tile_as_far_as_is_known() -> None:
    """Inductor looks at how a kernel's elements lie before it cuts it into tiles. Where sizes change, it may not see that two texts mean the same size, and gives up the whole graph
    by an assertion: such a kernel is cut as if nobody had looked, which is slower at most."""
    from torch._inductor.codegen import simd

    theirs = simd.analyze_memory_coalescing

    @functools.wraps(theirs)
    def analyze(node):
        try:
            return theirs(node)
        except AssertionError:
            if not _is_ours.get():
                raise
            return None

    simd.analyze_memory_coalescing = analyze
