"""Automatic mixed precision (`torch.autocast("girih")`): which operations compute in the lower precision, which in float32, and which in the widest type given.

The lists are those that PyTorch documents for CUDA. Weights are cast once until the outermost block of autocast ends, as on PyTorch's own devices.
Invariants: an operation that is in none of the lists is not changed; a kept cast is never older than its weight.
"""

import weakref

import torch
from torch.utils import _pytree

_KEY = "AutocastPrivateUse1"
_EXCLUDED = torch._C.DispatchKeySet(torch._C.DispatchKey.AutocastPrivateUse1)
_FLOATS = (torch.float16, torch.bfloat16, torch.float32)

_LOWER = """
    _convolution addbmm addmm addmv addr baddbmm bmm chain_matmul conv1d conv2d conv3d conv_tbc conv_transpose1d conv_transpose2d conv_transpose3d
    convolution gru_cell linalg_multi_dot linalg_vecdot linear lstm_cell matmul mm mv prelu rnn_relu_cell rnn_tanh_cell scaled_dot_product_attention
"""
_SINGLE = """
    acos asin binary_cross_entropy_with_logits cdist cosh cosine_embedding_loss cosine_similarity cross_entropy_loss cumprod cumsum dist
    erfinv exp expm1 frobenius_norm group_norm hinge_embedding_loss huber_loss kl_div l1_loss layer_norm linalg_vector_norm linalg_matrix_norm log log10
    log1p log2 log_softmax logsumexp margin_ranking_loss mse_loss multi_margin_loss multilabel_margin_loss native_layer_norm nll_loss nll_loss2d norm
    nuclear_norm pdist poisson_nll_loss pow prod reciprocal renorm rsqrt sinh smooth_l1_loss soft_margin_loss softmax softplus sum tan
    triplet_margin_loss
"""
_WIDEST = "addcdiv addcmul atan2 bilinear cat cross dot grid_sampler index_put scatter_add stack tensordot vdot"

_library = torch.library.Library("aten", "IMPL")
_all = torch.library.Library("_", "IMPL")


def _is_cast(value) -> bool:
    return isinstance(value, torch.Tensor) and value.device.type == "girih" and value.dtype in _FLOATS


def _lower(tensors) -> torch.dtype:
    return torch.get_autocast_dtype("girih")


def _single(tensors) -> torch.dtype:
    return torch.float32


def _widest(tensors) -> torch.dtype:
    types = {tensor.dtype for tensor in tensors}
    return types.pop() if len(types) == 1 else torch.float32


class _Casts:
    """Casts of weights. A weight that is changed in place is cast anew, and so is one that was cast where no gradients were asked for."""

    def __init__(self):
        self._kept = {}

    def of(self, tensor: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
        """A tensor in a type."""
        if tensor.dtype == dtype or not self._is_kept(tensor, dtype):
            return tensor.to(dtype)
        key = id(tensor), dtype, torch.is_grad_enabled()
        weight, version, cast = self._kept.get(key, (lambda: None, 0, None))
        if weight() is not tensor or version != tensor._version:
            cast = tensor.to(dtype)
            self._kept[key] = weakref.ref(tensor), tensor._version, cast
        return cast

    def clear(self) -> None:
        """Forgets them."""
        self._kept.clear()

    @staticmethod
    def _is_kept(tensor, dtype) -> bool:
        """Whether a tensor is a weight that is narrowed. What compilers trace is none."""
        is_weight = type(tensor) in (torch.Tensor, torch.nn.Parameter) and tensor.requires_grad and tensor.is_leaf and not tensor._is_view()
        return is_weight and tensor.dtype == torch.float32 and dtype != torch.float32 and torch.is_autocast_cache_enabled()


_casts = _Casts()


def _casting(operation, choose):
    """The operation, on tensors of the type that is chosen for them."""

    def cast(*args, **kwargs):
        with torch._C._ExcludeDispatchKeyGuard(_EXCLUDED):
            leaves, structure = _pytree.tree_flatten((args, kwargs))
            tensors = [leaf for leaf in leaves if _is_cast(leaf)]
            if tensors:
                dtype = choose(tensors)
                leaves = [_casts.of(leaf, dtype) if _is_cast(leaf) else leaf for leaf in leaves]
                args, kwargs = _pytree.tree_unflatten(leaves, structure)
            return operation(*args, **kwargs)

    return cast


def _refused(*args, **kwargs):
    raise RuntimeError("binary_cross_entropy is unsafe in autocast: use binary_cross_entropy_with_logits, which takes what the sigmoid would be given")


def register() -> None:
    """Registers it."""
    _all.fallback(torch.library.fallthrough_kernel, _KEY)
    for names, choose in ((_LOWER, _lower), (_SINGLE, _single), (_WIDEST, _widest)):
        for name in names.split():
            packet = getattr(torch.ops.aten, name)
            for overload in packet.overloads():
                operation = getattr(packet, overload)
                # What writes to a tensor that is given keeps that tensor's type.
                if not operation._schema.is_mutable:
                    _library.impl(operation._name.removeprefix("aten::"), _casting(operation, choose), _KEY)
    _library.impl("binary_cross_entropy", _refused, _KEY)
    _forget_at_the_end()


def _forget_at_the_end() -> None:
    """PyTorch asks for this when the outermost block of autocast ends."""
    theirs = torch.clear_autocast_cache

    def clear_autocast_cache():
        theirs()
        _casts.clear()

    torch.clear_autocast_cache = clear_autocast_cache
