"""What PyTorch calls for layers of transformers where no gradient is asked for: an attention with its projections, and a layer of an encoder, each as one operation.

PyTorch makes nested tensors of rows that end in padding. The device has none: rows keep their padding, which no other place attends to, and are zero there in the end.

Invariant: they are composed of products, norms and `scaled_dot_product_attention`, as the layers are where gradients are asked for.
"""

import math

import torch
import torch.nn.functional as F

from girih.torch.library import Library, traced_like

_library = Library("aten", "IMPL")
# Which mask it is: of queries and keys, or of keys; the third kind has a mask for each head.
_OF_KEYS = 1


def _attention(query, key, value, channels, heads, weight, bias, out_weight, out_bias, mask=None, need_weights=True, average_attn_weights=True, mask_type=None):
    parts = weight.chunk(3), (None,) * 3 if bias is None else bias.chunk(3)
    projected = [F.linear(given, *part) for given, *part in zip((query, key, value), *parts)]
    q, k, v = (each.unflatten(-1, (heads, channels // heads)).transpose(1, 2) for each in projected)
    mask = _mask(mask, mask_type, q.dtype)
    if not need_weights:
        return _joined(F.scaled_dot_product_attention(q, k, v, attn_mask=mask), out_weight, out_bias), None
    scores = torch.matmul(q, k.transpose(-2, -1)) / math.sqrt(q.shape[-1])
    weights = (scores if mask is None else scores + mask).softmax(-1)
    return _joined(torch.matmul(weights, v), out_weight, out_bias), weights.mean(1) if average_attn_weights else weights


def _joined(made, weight, bias):
    return F.linear(made.transpose(1, 2).flatten(2), weight, bias)


def _mask(mask, kind, dtype):
    """What is added to scores: minus infinity where a mask of truth values is set."""
    if mask is None:
        return None
    if mask.dtype == torch.bool:
        mask = torch.where(mask, -math.inf, 0.0).to(dtype)
    return mask[:, None, None, :] if kind == _OF_KEYS else mask


def _layer(source, channels, heads, weight, bias, out_weight, out_bias, use_gelu, norm_first, eps, *rest):
    *numbers, mask, mask_type = [*rest, *[None] * (10 - len(rest))]
    first, second, wide, narrow = (numbers[at : at + 2] for at in range(0, 8, 2))
    norm = lambda x, each: F.layer_norm(x, (channels,), *each, eps)
    attend = lambda x: _attention(x, x, x, channels, heads, weight, bias, out_weight, out_bias, mask, False, True, mask_type)[0]
    feed = lambda x: F.linear((F.gelu if use_gelu else F.relu)(F.linear(x, *wide)), *narrow)
    if norm_first:
        source = source + attend(norm(source, first))
        return source + feed(norm(source, second))
    source = norm(source + attend(source), first)
    return norm(source + feed(source), second)


def _ends_in_padding(_, mask) -> bool:
    """Whether what a mask leaves out of each row is at its end."""
    places = torch.arange(mask.shape[1], device=mask.device)
    return bool(((places < mask.sum(1, keepdim=True)) == mask).all().item())


class _Nested(NotImplementedError):
    """Where PyTorch would go on with a nested tensor."""


def _nested(tensor, mask, mask_check=True):
    raise _Nested("the device girih has no nested tensors with strides, which `aten::_nested_tensor_from_mask` makes: use `layout=torch.jagged`")


def _keep_padding() -> None:
    """An encoder whose rows end in padding computes with it."""
    theirs = torch.nn.TransformerEncoder.forward

    @traced_like(theirs)
    def forward(self, src, mask=None, src_key_padding_mask=None, is_causal=None):
        try:
            return theirs(self, src, mask, src_key_padding_mask, is_causal)
        except _Nested:
            padding = src_key_padding_mask != 0
        for layer in self.layers:
            src = layer(src, src_key_padding_mask=padding, is_causal=bool(is_causal))
        src = src.masked_fill(padding.unsqueeze(-1), 0.0)
        return src if self.norm is None else self.norm(src)

    torch.nn.TransformerEncoder.forward = forward


def register() -> None:
    """Registers them."""
    _library.impl("_nested_tensor_from_mask_left_aligned", _ends_in_padding, "PrivateUse1")
    _library.impl("_nested_tensor_from_mask", _nested, "PrivateUse1")
    _keep_padding()
    _library.impl("_native_multi_head_attention", _attention, "PrivateUse1")
    _library.impl("_transformer_encoder_layer_fwd", _layer, "PrivateUse1")
