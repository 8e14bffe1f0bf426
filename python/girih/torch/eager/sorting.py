"""Sorting, and what follows from it: medians, modes, the largest numbers.

Inductor sorts short rows in one kernel. Longer ones are sorted here by their digits (least significant digit first: Knuth, The Art of Computer Programming, volume 3, 5.2.5).

Invariant: rows are written in operations that Inductor has kernels for.
"""

import torch

_aten = torch.ops.aten
# The longest rows that Inductor sorts in one kernel.
_SHORT = 512
# Bits of a digit. A digit's pass counts as many buckets as it has values.
_BITS = 4
_SIGNED = {8: torch.int8, 16: torch.int16, 32: torch.int32, 64: torch.int64}


def _sort(tensor, stable=False, dim=-1, descending=False):
    if tensor.dim() == 0 or tensor.size(dim) <= _SHORT:
        return NotImplemented
    rows = tensor.movedim(dim, -1)
    keys, bits = _keys(rows)
    if descending:
        keys = ~keys
    places = torch.arange(rows.size(-1), device=rows.device).expand(rows.shape)
    for low in range(0, bits, _BITS):
        to = _sorted_by(keys, low, bits)
        places = places.scatter(-1, to, places)
        keys = keys.scatter(-1, to, keys)
    values = _aten.gather.default(rows, -1, places)
    return values.movedim(-1, dim), places.movedim(-1, dim)


def _keys(rows):
    """Whole numbers in the same order, and how many bits of them count. NaN is above all, and zeros of both signs are equal."""
    if rows.dtype == torch.bool:
        return rows.to(torch.int32), 1
    bits = rows.element_size() * 8
    wide = torch.int64 if bits == 64 else torch.int32
    if not rows.is_floating_point():
        # The highest bit of a number without a sign is turned, as if it were one.
        return rows.to(wide) - (0 if rows.dtype.is_signed else 1 << (bits - 1)), bits
    plain = torch.where(rows == 0, torch.zeros_like(rows), rows)
    plain = torch.where(rows.isnan(), torch.full_like(rows, float("nan")), plain)
    pattern = plain.view(_SIGNED[bits]).to(wide)
    # Below zero, patterns fall while numbers rise.
    return torch.where(pattern < 0, pattern ^ ((1 << (bits - 1)) - 1), pattern), bits


def _sorted_by(keys, low, bits):
    """Where each element goes when rows are sorted by the digit that begins at a bit; what is equal stays in order."""
    count = min(_BITS, bits - low)
    digits = (keys >> low) & ((1 << count) - 1)
    if low + count == bits and bits > 1:
        # The highest bit is the sign: what has it is lower.
        digits = digits ^ (1 << (count - 1))
    buckets = torch.arange(1 << count, device=keys.device, dtype=digits.dtype).unsqueeze(1)
    inside = digits.unsqueeze(-2) == buckets
    # Buckets stand one after the other, so that a place is how many were counted before.
    counted = inside.to(torch.int64).flatten(-2).cumsum(-1).reshape(inside.shape)
    return torch.where(inside, counted - 1, 0).sum(-2)


def topk(tensor, k, dim=-1, largest=True, is_sorted=True):
    """The first numbers of a row in order, and their places."""
    parts = _sorted(tensor, dim, largest)
    return tuple(part.narrow(dim, 0, k).clone() if tensor.dim() else part.reshape(()) for part in parts)


def _kth(tensor, k, dim=-1, keepdim=False):
    parts = _sorted(tensor, dim, False)
    if tensor.dim() == 0:
        return tuple(part.reshape(()) for part in parts)
    return tuple(part.narrow(dim, k - 1, 1).clone() if keepdim else part.select(dim, k - 1).clone() for part in parts)


def _sorted(tensor, dim, descending):
    """The values in order, and their places; a number has one dimension."""
    return _aten.sort.stable(tensor.reshape(1) if tensor.dim() == 0 else tensor, stable=True, dim=dim, descending=descending)


def _median(ignores_nan):
    """The lower of the middle numbers, and its place. NaN is above all: where it is not ignored, and there is one, it is the median."""

    def median(tensor, dim, keepdim=False):
        if tensor.numel() == 0:
            return NotImplemented
        values, places = (part.movedim(dim, -1) if tensor.dim() else part for part in _sorted(tensor, dim, False))
        length = values.size(-1)
        middle = torch.full(values.shape[:-1], (length - 1) // 2, dtype=torch.int64, device=values.device)
        if values.is_floating_point():
            plain = length - values.isnan().sum(-1)
            middle = torch.where(plain > 0, (plain - 1) // 2, 0) if ignores_nan else torch.where(plain < length, plain, middle)
        return _picked(tensor, values, places, middle, dim, keepdim)

    return median


def _mode(tensor, dim=-1, keepdim=False):
    """The number that is there most often, the least one of several, and its last place."""
    if tensor.numel() == 0:
        return NotImplemented
    values, places = (part.movedim(dim, -1) if tensor.dim() else part for part in _sorted(tensor, dim, False))
    at = torch.arange(values.size(-1), device=values.device)
    begins = torch.cat([torch.ones_like(values[..., :1], dtype=torch.bool), values[..., 1:] != values[..., :-1]], -1)
    start = torch.where(begins, at, 0).cummax(-1).values
    return _picked(tensor, values, places, (at - start).argmax(-1), dim, keepdim)


def _picked(tensor, values, places, chosen, dim, keepdim):
    """One number of each sorted row, and its place, in the form of a reduction's results."""
    results = [_aten.gather.default(part, -1, chosen.unsqueeze(-1)) for part in (values, places)]
    if tensor.dim() == 0:
        return tuple(part.reshape(()) for part in results)
    return tuple(part.movedim(-1, dim) if keepdim else part.squeeze(-1) for part in results)


def _of_all(rule):
    def reduced(tensor):
        found = rule(tensor.reshape(-1), 0)
        return found if found is NotImplemented else found[0]

    return reduced


ROWS = {
    _aten.sort.stable: lambda tensor, *, stable=False, dim=-1, descending=False: _sort(tensor, stable, dim, descending),
    _aten.sort.default: lambda tensor, dim=-1, descending=False: _sort(tensor, False, dim, descending),
    _aten.topk.default: topk,
    _aten.kthvalue.default: _kth,
    _aten.median.dim: _median(ignores_nan=False),
    _aten.nanmedian.dim: _median(ignores_nan=True),
    _aten.median.default: _of_all(_median(ignores_nan=False)),
    _aten.nanmedian.default: _of_all(_median(ignores_nan=True)),
    _aten.mode.default: _mode,
}
