"""`flex_attention`: attention whose scores and masks a program computes. The device composes it of products and a softmax, with all scores in memory.

Inductor's own kernels for it are templates for CUDA. Where a graph is traced, the composition is traced in the place of the operation, so scores are fused with what the program does to them.
"""

import torch
import torch.nn.attention.flex_attention as flex
from torch._dynamo._trace_wrapped_higher_order_op import TransformGetItemToIndex
from torch._higher_order_ops.flex_attention import flex_attention, flex_attention_backward, sdpa_dense, sdpa_dense_backward
from torch._higher_order_ops.utils import reenter_make_fx
from torch.fx.experimental.proxy_tensor import ProxyTorchDispatchMode
from torch.utils import _pytree

from girih.torch.library import traced_like


def register() -> None:
    """Puts it in place."""
    theirs = flex._validate_device

    @traced_like(theirs)
    def validate(query, key, value):
        if query.device.type != "girih":
            theirs(query, key, value)

    flex._validate_device = validate
    flex_attention.py_impl(torch._C.DispatchKey.AutocastPrivateUse1)(_autocast)
    _trace_as(flex_attention, _forward)
    _trace_as(flex_attention_backward, _backward)


def _autocast(query, key, value, *args, **named):
    dtype = torch.get_autocast_dtype("girih")
    query, key, value = (tensor.to(dtype) if tensor.dtype != torch.float64 else tensor for tensor in (query, key, value))
    with torch._C._ExcludeDispatchKeyGuard(torch._C.DispatchKeySet(torch._C.DispatchKey.AutocastPrivateUse1)):
        return flex_attention(query, key, value, *args, **named)


def _trace_as(operation, composed) -> None:
    """Has an operation traced as its composition for tensors of the device."""
    theirs = operation.python_key_table[ProxyTorchDispatchMode]

    def traced(mode, query, *args, **named):
        if query.device.type != "girih":
            return theirs(mode, query, *args, **named)
        return composed(mode, query, *args, **named)

    operation.python_key_table[ProxyTorchDispatchMode] = traced


def _forward(mode, query, key, value, score, mask, scale, options, score_tensors=(), mask_tensors=()):
    score = _alone(score, query, score_tensors, before=1)
    mask = (*mask[:-1], _alone(mask[-1], query, mask_tensors))
    return _traced(mode, sdpa_dense, query, key, value, score, mask, scale, options, score_tensors, mask_tensors)


def _backward(mode, query, key, value, out, sums, grad_out, grad_sums, score, slope, mask, scale, options, score_tensors=(), mask_tensors=()):
    score, slope = _alone(score, query, score_tensors, before=1), _alone(slope, query, score_tensors, before=1, behind=1)
    mask = (*mask[:-1], _alone(mask[-1], query, mask_tensors))
    return _traced(mode, sdpa_dense_backward, query, key, value, out, sums, grad_out, grad_sums, score, slope, mask, scale, options, score_tensors, mask_tensors)


def _traced(mode, dense, *args):
    """What a composition gives, traced without its changes in place."""
    values, tree = _pytree.tree_flatten(args)
    places = [at for at, value in enumerate(values) if isinstance(value, torch.Tensor)]

    def composed(*tensors):
        filled = dict(enumerate(values)) | dict(zip(places, tensors))
        return dense(*_pytree.tree_unflatten(list(filled.values()), tree))

    tensors = [values[at] for at in places]
    graph = reenter_make_fx(torch.func.functionalize(composed, remove="mutations"))(*tensors)
    with mode:
        return graph(*tensors)


def _alone(function, query, tensors, before=0, behind=0):
    """A program's function, traced for one score: of a score, where it is, and its gradient, as far as the function takes them."""
    scores = [query.new_zeros(()) for _ in range(before + behind)]
    places = [query.new_zeros((), dtype=torch.int32) for _ in ("batch", "head", "query", "key")]
    with TransformGetItemToIndex():
        return reenter_make_fx(function)(*scores[:before], *places, *scores[before:], *tensors)
