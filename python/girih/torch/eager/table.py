"""What operations decompose to before Inductor plans kernels: its own table, PyTorch's, and the rows here for what neither has.

Invariant: a row is written in operations that Inductor has kernels for.
"""

import functools
import math

import torch

from girih.torch.eager import integers, losses, recurrent, resampling, scattering, sorting, special
from girih.torch.eager.call import NoPlan

_aten = torch.ops.aten
# The most comparisons of a search in rows.
_MOST_PAIRS = 1 << 28


def _uniform(tensor, low=0.0, high=1.0, generator=None):
    if low > high:
        raise RuntimeError(f"uniform_ expects to return a [from, to) range, but found from={low:g} > to={high:g}")
    drawn = torch.rand_like(tensor, dtype=_drawn(tensor)) * (high - low) + low
    # The upper end is not drawn: what would be rounded to it stands for the lower one, as in PyTorch's kernels for cards.
    return (torch.where(drawn >= _rounded_to(high, tensor.dtype), low, drawn) if low < high else drawn).to(tensor.dtype)


def _rounded_to(high, dtype):
    """The least number that is rounded to an upper end in a type of 16 bits; the end itself for others, in which numbers are drawn as they are."""
    if dtype.itemsize != 2 or high == 0:
        return high
    digits, (fraction, exponent) = _digits(dtype), math.frexp(high)
    fraction, exponent = math.frexp(math.ldexp(round(math.ldexp(fraction, digits)), exponent - digits))
    return math.ldexp(fraction, exponent) - 2.0 ** (exponent - digits - (2 if fraction == 0.5 else 1))


def _normal(tensor, mean=0.0, std=1.0, generator=None):
    return (torch.randn_like(tensor, dtype=_drawn(tensor)) * std + mean).to(tensor.dtype)


def _exponential(tensor, rate=1.0, generator=None):
    return (-torch.log1p(-torch.rand_like(tensor, dtype=_drawn(tensor))) / rate).to(tensor.dtype)


def _cauchy(tensor, median=0.0, sigma=1.0, generator=None):
    return (median + sigma * torch.tan(math.pi * (torch.rand_like(tensor, dtype=_drawn(tensor)) - 0.5))).to(tensor.dtype)


def _log_normal(tensor, mean=1.0, std=2.0, generator=None):
    return _normal(tensor.to(_drawn(tensor)), mean, std).exp().to(tensor.dtype)


def _geometric(tensor, p, generator=None):
    drawn = torch.rand_like(tensor, dtype=torch.float32)
    return (torch.floor(torch.log1p(-drawn) / math.log1p(-p)) + 1).to(tensor.dtype)


def _bernoulli(tensor, generator=None):
    return (torch.rand_like(tensor, dtype=torch.float32) < tensor).to(tensor.dtype)


def _bernoulli_of(tensor, p=0.5, generator=None):
    if not isinstance(p, torch.Tensor) and not 0 <= p <= 1:
        raise RuntimeError(f"bernoulli_ expects p to be in [0, 1], but got p={p:g}")
    return (torch.rand_like(tensor, dtype=torch.float32) < p).to(tensor.dtype)


def _normal_of(mean, std=1.0, generator=None):
    """Normal numbers, where the mean or the deviation is a tensor."""
    size = torch.broadcast_shapes(*(value.shape for value in (mean, std) if isinstance(value, torch.Tensor)))
    like = mean if isinstance(mean, torch.Tensor) else std
    return (torch.randn(size, dtype=_drawn(like), device=like.device) * std + mean).to(like.dtype)


def _integers_between(tensor, low, high, generator=None):
    if high is not None and not tensor.is_floating_point() and tensor.dtype != torch.bool:
        limits = torch.iinfo(tensor.dtype)
        if not limits.min <= low < high <= limits.max + 1:
            raise RuntimeError(f"random_ expects whole numbers that {tensor.dtype} holds, in a range that is not empty, but got from={low} and to={high}")
    high = min(1 << _digits(tensor.dtype), (1 << 63) - 1) if high is None else high
    return torch.randint(low, high, tensor.shape, dtype=torch.int64, device=tensor.device).to(tensor.dtype)


def _digits(dtype):
    """How many binary digits the whole numbers have that a type holds exactly."""
    return {torch.float64: 53, torch.float32: 24, torch.float16: 11, torch.bfloat16: 8, torch.bool: 1}.get(dtype) or torch.iinfo(dtype).max.bit_length()


def _addbmm(tensor, a, b, beta=1, alpha=1):
    if not tensor.is_floating_point():
        alpha, beta = int(alpha), int(beta)
    total = _aten.bmm(a, b).sum(0)
    total = total if alpha == 1 else total * alpha
    return total + tensor * beta if beta else total


def _take(tensor, index):
    return _aten.index.Tensor(tensor.reshape(-1), [index])


def _embedding(weight, index, padding_idx=-1, scale_grad_by_freq=False, sparse=False):
    return _aten.index.Tensor(weight, [_counted(index, weight.size(0))])


def _index_select(tensor, dim, index):
    if tensor.dim() == 0:
        return _aten.index.Tensor(tensor.reshape(1), [_counted(index, 1)]).reshape(())
    return _aten.index.Tensor(tensor, [None] * (dim % tensor.dim()) + [_counted(index.reshape(-1), tensor.size(dim))])


def _gather(tensor, dim, index, sparse_grad=False):
    if index.numel() == 0:
        return tensor.new_empty(index.shape)
    if tensor.dim() == 0:
        return _aten.index.Tensor(tensor.reshape(1), [_counted(index, 1)])
    dim %= tensor.dim()
    places = [torch.arange(length, device=index.device).reshape([-1] + [1] * (index.dim() - at - 1)) for at, length in enumerate(index.shape)]
    places[dim] = _counted(index, tensor.size(dim))
    return _aten.index.Tensor(tensor, places)


def _counted(index, length):
    """An index that is not counted from the end, as other operations allow: what is below 0 is beyond the end, too, where an assertion finds it."""
    return torch.where(index < 0, length, index)


def _distances(a, b, p, mode=None):
    return _aten.linalg_vector_norm(a.unsqueeze(-2) - b.unsqueeze(-3), p, [-1])


def _distances_backward(gradient, a, b, p, distances):
    """The gradient of distances for the points of `a`. Where two points are the same, there is none."""
    between = a.unsqueeze(-2) - b.unsqueeze(-3)
    gradient, distances = gradient.unsqueeze(-1), distances.unsqueeze(-1)
    if p == 0:
        return torch.zeros_like(a)
    if p == 1:
        slope = torch.sign(between)
    elif p == math.inf:
        slope = torch.where(between.abs() == distances, torch.sign(between), 0.0)
    else:
        slope = torch.where((distances == 0) | (between == 0), 0.0, torch.sign(between) * (between.abs() / distances) ** (p - 1))
    return (gradient * slope).sum(-2)


def _multinomial(weights, count, replacement=False, generator=None):
    """The largest of weights over exponential numbers are a sample without replacement. What has no weight is never drawn."""
    wide = weights.to(_drawn(weights))
    _aten._assert_async.msg(((wide >= 0) & (wide < math.inf)).all(), "probability tensor contains either `inf`, `nan` or element < 0")
    if not replacement and count > weights.shape[-1]:
        raise RuntimeError("cannot sample n_sample > prob_dist.size(-1) samples without replacement")
    enough = (wide > 0).sum(-1) >= (1 if replacement else count)
    _aten._assert_async.msg(enough.all(), "invalid multinomial distribution: there are fewer categories with a probability than are to be drawn")
    if replacement and count > 1:
        return _drawn_with_replacement(wide, count)
    # The least of the numbers that are drawn may be 0.
    exponential = (-torch.log1p(-torch.rand_like(wide))).clamp(min=torch.finfo(wide.dtype).tiny)
    drawn = torch.where(wide > 0, wide / exponential, -1.0)
    return drawn.argmax(-1, keepdim=True) if count == 1 else sorting.topk(drawn, count)[1]


def _drawn_with_replacement(weights, count):
    """Where random parts of the sum of weights are reached. What has no weight is never reached, because the sum does not grow there."""
    ends = weights.cumsum(-1)
    drawn = torch.rand(*weights.shape[:-1], count, dtype=weights.dtype, device=weights.device) * ends[..., -1:]
    # Rounded up, a part may be the whole sum: the last number that has a weight stands there.
    last = (ends < ends[..., -1:]).sum(-1, keepdim=True)
    return torch.minimum(torch.searchsorted(ends, drawn, right=True), last)


def _group_norm(x, *rest):
    """PyTorch's own row takes the elements to be in order."""
    from torch._decomp import decomposition_table

    return decomposition_table[_aten.native_group_norm.default](x.contiguous(), *rest)


def _group_norm_backward(gradient, x, *rest):
    from torch._decomp import decomposition_table

    return decomposition_table[_aten.native_group_norm_backward.default](gradient.contiguous(), x.contiguous(), *rest)


def _quotient(a, b, rounding_mode=None):
    """A quotient of floats that is rounded down is that of what the remainder leaves, as in PyTorch: `a == (a // b) * b + a % b`.

    In `float64` it is the quotient itself that is rounded down: not every device has remainders of that type.
    """
    dtype = torch.result_type(a, b)
    if dtype == torch.uint8 and rounding_mode is not None:
        return torch.div(_as_int(a), _as_int(b), rounding_mode="trunc").to(dtype)
    if rounding_mode != "floor" or not dtype.is_floating_point or dtype == torch.float64:
        return NotImplemented
    quotient = (a - torch.remainder(a, b)) / b
    whole = torch.floor(quotient)
    whole = torch.where(quotient - whole > 0.5, whole + 1, whole)
    exact = a / b
    whole = torch.where(quotient == 0, exact * 0, whole)
    return torch.where((b == 0) | torch.zeros_like(whole, dtype=torch.bool), exact, whole)


def _as_int(value):
    return value.to(torch.int32) if isinstance(value, torch.Tensor) else value


def _rest(a, b):
    """The rest of a division of numbers without a sign: kernels divide by numbers of Python, which have one."""
    dtype = torch.result_type(a, b)
    return torch.fmod(_as_int(a), _as_int(b)).to(dtype) if dtype == torch.uint8 else NotImplemented


def _searched(ends, values, *, out_int32=False, right=False, side=None, sorter=None):
    """Where numbers belong in rows. Inductor's search looks beyond the last row."""
    if ends.dim() == 1:
        return _of_known_length(ends)
    if values.numel() * ends.shape[-1] > _MOST_PAIRS:
        raise NoPlan("there are too many numbers for rows of such a length")
    ends = (ends if sorter is None else _aten.gather.default(ends, -1, sorter)).unsqueeze(-2)
    before = ends <= values.unsqueeze(-1) if right or side == "right" else ends < values.unsqueeze(-1)
    return before.sum(-1).to(torch.int32 if out_int32 else torch.int64)


def _of_known_length(ends):
    """Inductor's search has a kernel for each length of a row: its steps are counted when it is compiled."""
    if isinstance(ends.shape[0], torch.SymInt):
        raise NoPlan("a search is compiled for each length of a row")
    return NotImplemented


def _shrink_backward(gradient, tensor, size):
    return torch.where(tensor.abs() <= size, 0.0, gradient)


def _fake_quantized(tensor, scale, zero, low, high):
    """A tensor as it would be after it was rounded to whole numbers between two ends, and whether it is inside."""
    whole = torch.round(tensor.float() * (1 / scale)) + zero
    return ((whole.clamp(low, high) - zero) * scale).to(tensor.dtype), (whole >= low) & (whole <= high)


def _fake_quantized_by_channel(tensor, scale, zero, axis, low, high):
    shape = [-1 if at == axis % tensor.dim() else 1 for at in range(tensor.dim())]
    return _fake_quantized(tensor, scale.float().reshape(shape), zero.float().reshape(shape), low, high)


def _fake_quantized_where(tensor, scale, zero, is_on, low, high):
    made, inside = _fake_quantized(tensor, scale.float(), zero.float(), low, high)
    return torch.where(is_on == 0, tensor, made), inside | (is_on == 0)


def _weight_norm_backward(gradient, v, g, norms, dim):
    """The gradients of `v * g / norms` for `v` and `g`, where the norms are those of `v` along all dimensions but one."""
    axes = [at for at in range(v.dim()) if at != dim % v.dim()]
    wide, norms = v.float(), norms.float()
    along = (gradient.float() * wide).sum(axes, keepdim=True) / norms
    factor = g.float() / norms
    return (factor * (gradient.float() - wide * along / norms)).to(v.dtype), along.to(g.dtype)


def _drawn(tensor):
    """The type that random numbers are drawn in."""
    return torch.float64 if tensor.dtype == torch.float64 else torch.float32


_ROWS = {
    _aten.uniform.default: _uniform,
    _aten.normal_functional.default: _normal,
    _aten.exponential.default: _exponential,
    _aten.cauchy.default: _cauchy,
    _aten.log_normal.default: _log_normal,
    _aten.geometric.default: _geometric,
    _aten.bernoulli.default: _bernoulli,
    _aten.bernoulli.p: _bernoulli_of,
    _aten.bernoulli.Tensor: _bernoulli_of,
    _aten.normal.Tensor_float: _normal_of,
    _aten.normal.float_Tensor: _normal_of,
    _aten.normal.Tensor_Tensor: _normal_of,
    _aten.random.default: lambda tensor, generator=None: _integers_between(tensor, 0, None),
    _aten.random.to: lambda tensor, high, generator=None: _integers_between(tensor, 0, high),
    getattr(_aten.random, "from"): _integers_between,
    _aten.multinomial.default: _multinomial,
    _aten.div.Tensor_mode: _quotient,
    _aten.div.Scalar_mode: _quotient,
    _aten.floor_divide.default: lambda a, b: torch.div(a, b, rounding_mode="floor"),
    _aten.floor_divide.Scalar: lambda a, b: torch.div(a, b, rounding_mode="floor"),
    _aten.remainder.Scalar: _rest,
    _aten.remainder.Tensor: _rest,
    _aten.fmod.Scalar: _rest,
    _aten.fmod.Tensor: _rest,
    _aten.searchsorted.Tensor: _searched,
    _aten.bucketize.Tensor: lambda values, ends, **named: _of_known_length(ends),
    _aten.softshrink_backward.default: _shrink_backward,
    _aten.hardshrink_backward.default: _shrink_backward,
    _aten.fake_quantize_per_tensor_affine_cachemask.default: _fake_quantized,
    _aten.fake_quantize_per_channel_affine_cachemask.default: _fake_quantized_by_channel,
    _aten._fake_quantize_per_tensor_affine_cachemask_tensor_qparams.default: _fake_quantized_where,
    _aten._weight_norm_interface_backward.default: _weight_norm_backward,
    _aten.native_group_norm.default: _group_norm,
    _aten.native_group_norm_backward.default: _group_norm_backward,
    _aten.addbmm.default: _addbmm,
    _aten.take.default: _take,
    _aten.embedding.default: _embedding,
    _aten.index_select.default: _index_select,
    _aten.gather.default: _gather,
    _aten._cdist_forward.default: _distances,
    _aten._cdist_backward.default: _distances_backward,
}


def _less(a, b):
    """What is left of a list when a list, or a number, is taken from it."""
    return torch._foreach_sub(a, b) if isinstance(b, (list, tuple)) else torch._foreach_add(a, b, alpha=-1)


# The operations whose numbers may change from call to call, as rates of optimizers and counts of steps do, by formulas that take them as tensors.
HOISTED = {
    "aten::add": lambda a, b, alpha=1: a + b * alpha,
    "aten::sub": lambda a, b, alpha=1: a - b * alpha,
    "aten::mul": lambda a, b: a * b,
    "aten::div": lambda a, b: a / b,
    "aten::addcmul": lambda a, b, c, value=1: a + b * c * value,
    "aten::addcdiv": lambda a, b, c, value=1: a + b / c * value,
    "aten::lerp": lambda a, b, weight: torch.where(weight < 0.5, a + (b - a) * weight, b - (b - a) * (1 - weight)),
    "aten::fill": lambda a, value: value.to(a.dtype).expand(a.size()).clone(),
    "aten::clamp_min": lambda a, least: torch.maximum(a, least),
    "aten::clamp_max": lambda a, most: torch.minimum(a, most),
    "aten::eq": lambda a, b: a == b,
    "aten::ne": lambda a, b: a != b,
    "aten::lt": lambda a, b: a < b,
    "aten::le": lambda a, b: a <= b,
    "aten::gt": lambda a, b: a > b,
    "aten::ge": lambda a, b: a >= b,
    "aten::_foreach_add": lambda a, b, alpha=None: torch._foreach_add(a, b if alpha is None else torch._foreach_mul(b, alpha)),
    "aten::_foreach_sub": lambda a, b, alpha=None: _less(a, b if alpha is None else torch._foreach_mul(b, alpha)),
    "aten::_foreach_mul": lambda a, b: torch._foreach_mul(a, b),
    "aten::_foreach_div": lambda a, b: torch._foreach_div(a, b),
    "aten::_foreach_addcmul": lambda a, b, c, value: torch._foreach_add(a, torch._foreach_mul(torch._foreach_mul(b, c), value)),
    "aten::_foreach_addcdiv": lambda a, b, c, value: torch._foreach_add(a, torch._foreach_mul(torch._foreach_div(b, c), value)),
}


@functools.cache
def formula(operation):
    """The formula of an operation whose numbers can be hoisted, else `None`. Those that round a quotient have none."""
    names = [argument.name for argument in operation._schema.arguments]
    return None if "rounding_mode" in names else HOISTED.get(operation._schema.name.removesuffix("_"))


def pytorchs():
    """PyTorch's table of decompositions."""
    from torch._decomp import decomposition_table

    return decomposition_table


@functools.cache
def decompositions():
    """All of them."""
    from torch._inductor.decomposition import select_decomp_table
    from torch._inductor.lowering import lowerings

    theirs = {operation: rule for operation, rule in pytorchs().items() if operation not in lowerings}
    return theirs | select_decomp_table() | integers.ROWS | losses.ROWS | recurrent.ROWS | resampling.ROWS | scattering.ROWS | sorting.ROWS | special.ROWS | _ROWS
