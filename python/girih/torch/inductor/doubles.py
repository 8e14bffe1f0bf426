"""Functions of `float64` in compiled functions: the device computes them in `float32` alone, so they leave the kernels and run as eagerly, on the host.

Invariant: what a kernel is written for, the device has; nothing is computed with fewer digits than its type says.
"""

import functools

import torch
import torch._inductor.graph as lowered

from girih.torch import eager

# By what they are called in PyTorch; other functions are made of these before kernels are written.
_NAMES = """
    acos acosh asin asinh atan atan2 atanh cos cosh digamma erf erfc erfinv exp exp2 expm1 fmod hypot i0 i0e i1 i1e lgamma log log10 log1p log2 logcumsumexp pow
    rsqrt sigmoid sin sinh tan tanh
""".split()
# Exponents for which a power is written as products, roots and quotients.
_SIMPLE = {0.5, *range(-32, 33)}


def register(is_ours) -> None:
    """Puts it in place, once. `is_ours` says whether a graph for the device is compiled."""
    theirs = lowered.fallback_node_due_to_unsupported_type

    @functools.wraps(theirs)
    def leaves(node, *args, **kwargs):
        return theirs(node, *args, **kwargs) or is_ours() and not eager.is_planning() and _is_missing(node)

    lowered.fallback_node_due_to_unsupported_type = leaves


@functools.cache
def _missing():
    names = [*_NAMES, *(f"special_{name}" for name in _NAMES)]
    return frozenset(getattr(torch.ops.aten, name) for name in names if hasattr(torch.ops.aten, name))


def _is_missing(node) -> bool:
    """Whether a node is such a function of `float64`."""
    value = node.meta.get("val")
    if node.target.overloadpacket not in _missing() or not isinstance(value, torch.Tensor) or value.dtype != torch.float64:
        return False
    return node.target is not torch.ops.aten.pow.Tensor_Scalar or node.args[1] not in _SIMPLE
