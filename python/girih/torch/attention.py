"""Attention on the device, by the kernels of `kernels/attention.py`, forward and backward, without scores in memory.

Invariant: what these kernels do not have (devices of wgpu, dropout, masks that need gradients, values with other channels than keys) is composed of products and a softmax, as
PyTorch composes it; both ways give the same numbers up to rounding.
"""

import functools
import math

import torch

from girih.torch import device, storages, tiles
from girih.torch.launch import prepare
from girih.torch.library import Library
from girih.torch.tiles import Shape

_library = Library("girih", "DEF")
_aten_library = Library("aten", "IMPL")
_sdpa = torch.ops.aten.scaled_dot_product_attention.default
_FLOATS = (torch.float32, torch.float16, torch.bfloat16)
# Channels of a head that fit into a program's fast memory.
_MOST_CHANNELS = 128
# Queries, keys and warps of a program: forward, and for the gradients of keys and of queries; those for cards as measured on an H200.
_FEW_CHANNELS = 64
_CARD_HALVES = (64, 64, 4), (64, 64, 4), (64, 64, 4)
_CARD_HALVES_OF_MANY = (128, 128, 8), (128, 64, 8), (128, 128, 8)
_CARD_SINGLES = (64, 32, 4), (32, 32, 4), (32, 32, 4)
_OTHERS = (32, 32, 4), (32, 32, 4), (32, 32, 4)


def _attend(q, k, v, attn_mask=None, dropout_p=0.0, is_causal=False, *, scale=None, enable_gqa=False):
    """`torch.nn.functional.scaled_dot_product_attention`."""
    if not _is_ours(q, k, v, attn_mask, dropout_p, is_causal, enable_gqa):
        return _sdpa.decompose(q, k, v, attn_mask, dropout_p, is_causal, scale=scale, enable_gqa=enable_gqa)
    if attn_mask is not None:
        if attn_mask.dtype == torch.bool:
            attn_mask = torch.where(attn_mask, 0.0, -math.inf).to(q.dtype)
        attn_mask = attn_mask.expand(*q.shape[:3], k.shape[2])
    return torch.ops.girih.attention(q, k, v, attn_mask, is_causal, 1 / math.sqrt(q.shape[3]) if scale is None else float(scale))[0]


def _is_ours(q, k, v, mask, dropout_p, is_causal, enable_gqa) -> bool:
    """Whether the kernels are for such a call. Calls that PyTorch refuses are not: it says why. `torch.nn.attention.sdpa_kernel` can ask for the composition, which has derivatives of any order."""
    if not (torch.backends.cuda.flash_sdp_enabled() or torch.backends.cuda.mem_efficient_sdp_enabled()):
        return False
    # Drivers of wgpu that compute in software take minutes to compile these kernels, and others were not measured.
    if device.current().kind == "wgpu":
        return False
    tensors = [q, k, v] if mask is None else [q, k, v, mask]
    if dropout_p or any(t.device.type != "girih" for t in tensors) or (mask is not None and (is_causal or mask.requires_grad)):
        return False
    if q.dtype not in _FLOATS or any(t.dtype != q.dtype or t.dim() != 4 or 0 in t.shape for t in (q, k, v)):
        return False
    if mask is not None and (mask.dtype not in (torch.bool, q.dtype) or mask.dim() > 4 or not _expands(mask.shape, (*q.shape[:3], k.shape[2]))):
        return False
    groups = q.shape[1] % k.shape[1] == 0 if enable_gqa else q.shape[1] == k.shape[1]
    same = k.shape == v.shape and q.shape[0] == k.shape[0] and q.shape[3] == k.shape[3]
    return groups and same and q.shape[3] <= _MOST_CHANNELS


def _expands(shape, wanted) -> bool:
    return all(length in (1, whole) for length, whole in zip(reversed(shape), reversed(wanted)))


def _blocks(dtype, channels) -> tuple:
    if device.current().kind != "cuda":
        return _OTHERS
    if dtype == torch.float32:
        return _CARD_SINGLES
    return _CARD_HALVES if channels <= _FEW_CHANNELS else _CARD_HALVES_OF_MANY


def _result(q):
    """A tensor for the result: the heads of a query stand side by side, as PyTorch's own kernels leave them."""
    batches, heads, length, channels = q.shape
    return q.new_empty((batches, length, heads, channels)).transpose(1, 2)


def _constants(q: Shape, k: Shape, bias: Shape | None, is_causal, scale, precision) -> dict:
    (batches, heads, m, channels), (_, others, n, _) = q[0], k[0]
    added = bias or ((0, 0, 0, 0), (0, 0, 0, 0))
    constants = {"scale": scale, "group": heads // others, "heads": heads, "M": m, "N": n, "D": channels}
    constants |= {"BIAS": bias is not None, "CAUSAL": is_causal, "PRECISION": precision, "BLOCK_D": max(16, 1 << (channels - 1).bit_length())}
    return constants | tiles.strides("q", q, "bhmd") | tiles.strides("k", k, "bhnd") | tiles.strides("bias", added, "bhmn")


@functools.lru_cache(maxsize=4096)
def _forward(chosen, dtype, out: Shape, q: Shape, k: Shape, v: Shape, bias: Shape | None, is_causal, scale, precision):
    """The launch of the forward kernel, prepared for the device."""
    rows, columns, warps = _blocks(dtype, q[0][3])[0]
    constants = _constants(q, k, bias, is_causal, scale, precision) | tiles.strides("out", out, "bhmd") | tiles.strides("v", v, "bhnd")
    constants |= {"BLOCK_M": rows, "BLOCK_N": columns}
    memory = {"out": dtype, "logs": torch.float32, "q": dtype, "k": dtype, "v": dtype, "bias": dtype}
    return prepare("attention", "forward", (tiles.cdiv(q[0][2], rows), q[0][1], q[0][0]), memory, constants, warps)


@functools.lru_cache(maxsize=4096)
def _backward(chosen, dtype, out: Shape, g: Shape, q: Shape, k: Shape, v: Shape, bias: Shape | None, made: tuple[Shape, Shape, Shape], is_causal, scale, precision):
    """The launches of the backward kernels, prepared for the device."""
    _, for_keys, for_queries = _blocks(dtype, q[0][3])
    (batches, heads, m, channels), (_, others, n, _) = q[0], k[0]
    constants = _constants(q, k, bias, is_causal, scale, precision) | tiles.strides("v", v, "bhnd") | tiles.strides("g", g, "bhmd")
    few = {name: constants[name] for name in ("heads", "M", "D", "BLOCK_D", "g_b", "g_h", "g_m", "g_d")} | tiles.strides("out", out, "bhmd") | {"BLOCK_M": 32}
    sums = prepare("attention", "inner", (tiles.cdiv(m, 32), heads, batches), {"sums": torch.float32, "out": dtype, "g": dtype}, few, 4)
    read = {"q": dtype, "k": dtype, "v": dtype, "g": dtype, "bias": dtype, "logs": torch.float32, "sums": torch.float32}
    rows, columns, warps = for_keys
    of_keys = constants | tiles.strides("k_out", made[1], "bhnd") | tiles.strides("v_out", made[2], "bhnd") | {"BLOCK_M": rows, "BLOCK_N": columns}
    keys = prepare("attention", "keys_backward", (tiles.cdiv(n, columns), others, batches), {"k_out": dtype, "v_out": dtype} | read, of_keys, warps)
    rows, columns, warps = for_queries
    of_queries = constants | tiles.strides("out", made[0], "bhmd") | {"BLOCK_M": rows, "BLOCK_N": columns}
    queries = prepare("attention", "queries_backward", (tiles.cdiv(m, rows), heads, batches), {"out": dtype} | read, of_queries, warps)
    return sums, keys, queries


def _run(q, k, v, bias, is_causal, scale):
    out, logs = _result(q), q.new_empty(q.shape[:3], dtype=torch.float32)
    shapes = [None if t is None else tiles.shape_of(t) for t in (out, q, k, v, bias)]
    step = _forward(device.current(), q.dtype, *shapes, is_causal, scale, tiles.precision())
    step.launch(*[storages.address_of(t) for t in (out, logs, q, k, v, q if bias is None else bias)])
    return out, logs


def _run_backward(g, q, k, v, bias, out, logs, is_causal, scale):
    made = _result(q), _result(k), _result(v)
    shapes = [None if t is None else tiles.shape_of(t) for t in (out, g, q, k, v, bias)]
    chosen = device.current()
    inner, keys, queries = _backward(chosen, q.dtype, *shapes, tuple(map(tiles.shape_of, made)), is_causal, scale, tiles.precision())
    sums = torch.empty_like(logs)
    inner.launch(*[storages.address_of(t) for t in (sums, out, g)])
    read = [storages.address_of(t) for t in (q, k, v, g, q if bias is None else bias, logs, sums)]
    keys.launch(storages.address_of(made[1]), storages.address_of(made[2]), *read)
    queries.launch(storages.address_of(made[0]), *read)
    return made


def _save(ctx, inputs, output):
    q, k, v, bias, ctx.is_causal, ctx.scale = inputs
    ctx.save_for_backward(q, k, v, bias, *output)
    ctx.mark_non_differentiable(output[1])


def _gradients(ctx, g, _):
    q, k, v, bias, out, logs = ctx.saved_tensors
    return *torch.ops.girih.attention_backward(g, q, k, v, bias, out, logs, ctx.is_causal, ctx.scale), None, None, None


def register() -> None:
    """Registers it."""
    _library.define("attention(Tensor q, Tensor k, Tensor v, Tensor? bias, bool is_causal, float scale) -> (Tensor, Tensor)")
    _library.define("attention_backward(Tensor g, Tensor q, Tensor k, Tensor v, Tensor? bias, Tensor out, Tensor logs, bool is_causal, float scale) -> (Tensor, Tensor, Tensor)")
    _library.impl("attention", _run, "PrivateUse1")
    _library.impl("attention_backward", _run_backward, "PrivateUse1")
    torch.library.register_fake("girih::attention", lambda q, *others: (_result(q), q.new_empty(q.shape[:3], dtype=torch.float32)), lib=_library)
    torch.library.register_fake("girih::attention_backward", lambda g, q, k, v, *others: (_result(q), _result(k), _result(v)), lib=_library)
    torch.library.register_autograd("girih::attention", _gradients, setup_context=_save, lib=_library)
    for key in ("AutogradPrivateUse1", "PrivateUse1"):
        _aten_library.impl("scaled_dot_product_attention", _attend, key)
