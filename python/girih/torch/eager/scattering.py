"""Numbers that are brought to places by their indices, where several may meet: sums, products, extremes, counts.

Invariant: rows are written in operations that Inductor has kernels for, and indices are checked as those of other operations.
"""

import torch

_aten = torch.ops.aten
# Extremes and products compare each number with each place. Beyond so many pairs the host is faster.
_MOST_PAIRS = 1 << 28
# Types of 16 bits have no atomic sums: they are summed in float32, and rounded once.
_SHORT = (torch.float16, torch.bfloat16)


def index_put(tensor, indices, values, accumulate=False, unsafe=False):
    """Brings values to places, or adds them there."""
    if accumulate and tensor.dtype in _SHORT:
        return _aten.index_put(tensor.float(), indices, values.float(), True).to(tensor.dtype)
    return _aten.index_put(tensor, indices, values, accumulate)


def _index_put_row(tensor, indices, values, accumulate=False):
    return index_put(tensor, indices, values, True) if accumulate and tensor.dtype in _SHORT else NotImplemented


def _index_add(tensor, dim, index, source, *, alpha=1):
    source = source if alpha == 1 else source * alpha
    if tensor.dim() == 0:
        return index_put(tensor.reshape(1), [index.reshape(-1)], source.reshape(-1), True).reshape(())
    return index_put(tensor, [None] * (dim % tensor.dim()) + [index.reshape(-1)], source.to(tensor.dtype), True)


def _scatter_add(tensor, dim, index, source):
    if tensor.dtype in _SHORT:
        return _aten.scatter_add(tensor.float(), dim, index, source.float()).to(tensor.dtype)
    return NotImplemented


def _put(tensor, index, source, accumulate=False):
    return index_put(tensor.reshape(-1), [index.reshape(-1)], source.reshape(-1), accumulate).reshape(tensor.shape)


def _scatter_reduce(tensor, dim, index, source, reduce, *, include_self=True):
    if reduce == "sum" and include_self:
        return NotImplemented
    if tensor.dim() == 0:
        rows = (each.reshape(-1) for each in (tensor, index, source))
        return _as_number(_scatter_reduce, *rows, reduce, include_self)
    if index.numel() == 0:
        return tensor.clone()
    dim %= tensor.dim()
    source = source[tuple(slice(length) for length in index.shape)]
    # Only this part can be reached.
    part = tensor[tuple(slice(None) if at == dim else slice(length) for at, length in enumerate(index.shape))]
    if index.numel() * tensor.size(dim) > _MOST_PAIRS:
        return NotImplemented
    _aten._assert_async.msg(((index >= 0) & (index < tensor.size(dim))).all(), "index out of bounds: an index of scatter_reduce")
    # One more dimension: the pairs of a place and a number.
    numbers, indices = source.movedim(dim, -1).unsqueeze(-2), index.movedim(dim, -1).unsqueeze(-2)
    meets = indices == torch.arange(tensor.size(dim), device=tensor.device).unsqueeze(1)
    count = meets.sum(-1).movedim(-1, dim)
    reduced = _REDUCTIONS[reduce](numbers, meets, part.dtype).movedim(-1, dim)
    if include_self:
        reduced = _JOINED[reduce](part, reduced)
        count = count + 1
    if reduce == "mean":
        several = count.clamp(min=1)
        reduced = reduced / several if part.is_floating_point() else torch.div(reduced, several, rounding_mode="floor")
    reached = meets.any(-1).movedim(-1, dim)
    return torch.where(_grown(reached, tensor), _grown(reduced.to(part.dtype), tensor), tensor)


def _as_number(rule, tensor, index, source, reduce, include_self):
    """What a rule makes of a row with one place, as a number."""
    made = rule(tensor, 0, index, source, reduce, include_self=include_self)
    return made if made is NotImplemented else made.reshape(())


def _grown(part, like):
    """A tensor of another one's size, with zeros beyond a part."""
    pads = [end for at in reversed(range(like.dim())) for end in (0, like.size(at) - part.size(at))]
    return _aten.constant_pad_nd(part, pads)


def _sum(numbers, meets, dtype):
    return torch.where(meets, numbers, torch.zeros((), dtype=dtype, device=numbers.device)).sum(-1)


def _prod(numbers, meets, dtype):
    return torch.where(meets, numbers, torch.ones((), dtype=dtype, device=numbers.device)).prod(-1)


def _extreme(largest):
    def extreme(numbers, meets, dtype):
        if dtype == torch.bool:
            neutral = not largest
        elif dtype.is_floating_point:
            neutral = float("-inf") if largest else float("inf")
        else:
            neutral = torch.iinfo(dtype).min if largest else torch.iinfo(dtype).max
        chosen = torch.where(meets, numbers, torch.full((), neutral, dtype=dtype, device=numbers.device))
        return chosen.amax(-1) if largest else chosen.amin(-1)

    return extreme


_REDUCTIONS = {"sum": _sum, "mean": _sum, "prod": _prod, "amax": _extreme(True), "amin": _extreme(False)}
_JOINED = {
    "sum": torch.add,
    "mean": torch.add,
    "prod": torch.mul,
    "amax": torch.maximum,
    "amin": torch.minimum,
}


def _index_reduce(tensor, dim, index, source, reduce, *, include_self=True):
    if tensor.dim() == 0:
        rows = (each.reshape(-1) for each in (tensor, index, source))
        return _as_number(_index_reduce, *rows, reduce, include_self)
    dim %= tensor.dim()
    index = index.reshape([-1] + [1] * (tensor.dim() - dim - 1)).expand(source.shape)
    return _scatter_reduce(tensor, dim, index, source, reduce, include_self=include_self)


def _histc(tensor, bins=100, min=0, max=0):
    """How many numbers are in each of equal intervals. The last one has its upper end, too."""
    if bins <= 0:
        raise RuntimeError(f"histc: bins must be > 0, but got {bins}")
    if tensor.numel() == 0:
        return tensor.new_zeros(bins)
    wide = tensor.reshape(-1).to(torch.float32) if tensor.dtype in _SHORT else tensor.reshape(-1)
    low, high = (torch.full((), end, dtype=wide.dtype, device=tensor.device) for end in (min, max))
    if min == max:
        low, high = wide.min(), wide.max()
        low, high = torch.where(low == high, low - 1, low), torch.where(low == high, high + 1, high)
    inside = (wide >= low) & (wide <= high)
    at = ((wide - low) * bins / (high - low)).to(torch.int64).clamp(0, bins - 1)
    counts = torch.zeros(bins + 1, dtype=torch.int32, device=tensor.device)
    counts = _aten.index_put(counts, [torch.where(inside, at, bins)], torch.ones_like(at, dtype=torch.int32), True)
    return counts[:bins].to(tensor.dtype)


ROWS = {
    _aten._index_put_impl_.default: index_put,
    _aten._index_put_impl.default: index_put,
    _aten.index_put.default: _index_put_row,
    _aten.index_add.default: _index_add,
    _aten.scatter_add.default: _scatter_add,
    _aten.put.default: _put,
    _aten.scatter_reduce.two: _scatter_reduce,
    _aten.index_reduce.default: _index_reduce,
    _aten.histc.default: _histc,
}
