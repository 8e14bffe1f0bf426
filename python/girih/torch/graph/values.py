"""Graphs of `core/tensor` as operations write them: values with PyTorch's types, and steps that repeat and convert where PyTorch does so by itself.

Invariant: a value's type and sizes are those that the graph has inferred.
"""

import torch

from girih._native import TensorGraph

# What the graph calls PyTorch's types.
NAMES = {
    torch.bool: "bool",
    torch.int8: "i8",
    torch.int16: "i16",
    torch.int32: "i32",
    torch.int64: "i64",
    torch.uint8: "u8",
    torch.uint16: "u16",
    torch.uint32: "u32",
    torch.uint64: "u64",
    torch.float16: "f16",
    torch.bfloat16: "bf16",
    torch.float32: "f32",
    torch.float64: "f64",
}
_TYPES = {name: dtype for dtype, name in NAMES.items()}
# Arithmetic on truth values.
_OF_TRUTH = {"add": "or", "mul": "and", "max": "or", "min": "and"}


class Missing(Exception):
    """Why the graph compiler has no operation for a call."""


class Value:
    """A tensor that a node of a graph computes."""

    __slots__ = ("number", "dtype", "sizes")

    def __init__(self, number, name, sizes):
        self.number, self.dtype, self.sizes = number, _TYPES[name], list(sizes)

    @property
    def rank(self):
        return len(self.sizes)


class Writer:
    """Writes a graph."""

    def __init__(self):
        self.graph = TensorGraph()
        self._seeds = []

    def op(self, name, *values, **attributes) -> Value:
        """A node."""
        return Value(*self.graph.add(name, *[value.number for value in values], **attributes))

    def derivatives(self, name, values, derivative, by, **attributes) -> list[Value]:
        """The derivatives of an operation with respect to the operands `by`."""
        made = self.graph.add_derivatives(name, [value.number for value in values], derivative.number, by, **attributes)
        return [Value(*one) for one in made]

    def input(self, dtype, sizes) -> Value:
        """A tensor that is given."""
        return self.op("input", to=NAMES[dtype], sizes=list(sizes))

    def full(self, number, dtype, sizes) -> Value:
        """One number everywhere."""
        number = float(number) if dtype.is_floating_point else int(bool(number)) if dtype == torch.bool else int(number)
        return self.op("full", to=NAMES[dtype], sizes=list(sizes), value=number)

    def positions(self, sizes, axis, dtype=torch.int64) -> Value:
        """Each element's own position along an axis."""
        return self.op("iota", to=NAMES[dtype], sizes=list(sizes), axis=[axis])

    def random(self, sizes) -> Value:
        """Numbers in [0, 1), other ones in each run."""
        self._seeds.append(self.input(torch.int64, []))
        seed = self.convert(self._seeds[-1], torch.uint64)
        return self.op("random", seed, self.full(0, torch.uint64, []), sizes=list(sizes))

    def seeds(self) -> int:
        """How many random numbers are inputs, each drawn for each run; they come after all other inputs."""
        return len(self._seeds)

    def convert(self, value, dtype) -> Value:
        """The same numbers as another type."""
        if value.dtype == dtype:
            return value
        if dtype not in NAMES:
            raise Missing(f"there are no elements of {dtype}")
        return self.op("convert", value, to=NAMES[dtype])

    def reshape(self, value, sizes) -> Value:
        """The same elements in order in another shape."""
        return value if value.sizes == list(sizes) else self.op("reshape", value, sizes=list(sizes))

    def permute(self, value, axes) -> Value:
        """Dimensions in another order."""
        return value if list(axes) == list(range(value.rank)) else self.op("permute", value, axes=list(axes))

    def broadcast(self, value, sizes) -> Value:
        """Repeated to sizes, which may be more."""
        value = self.reshape(value, [1] * (len(sizes) - value.rank) + value.sizes)
        return value if value.sizes == list(sizes) else self.op("broadcast", value, sizes=list(sizes))

    def slice(self, value, axis, start, end, step=1) -> Value:
        """Positions along an axis."""
        if (start, end, step) == (0, value.sizes[axis], 1):
            return value
        starts, ends, steps = [0] * value.rank, list(value.sizes), [1] * value.rank
        starts[axis], ends[axis], steps[axis] = start, end, step
        return self.op("slice", value, start=starts, end=ends, step=steps)

    def pad(self, value, low, high, number=0) -> Value:
        """More elements around."""
        if not any(low) and not any(high):
            return value
        number = float(number) if value.dtype.is_floating_point else int(number)
        return self.op("pad", value, low=list(low), high=list(high), value=number)

    def concat(self, values, axis) -> Value:
        """One after the other."""
        return values[0] if len(values) == 1 else self.op("concat", *values, axis=[axis])

    def value(self, given, dtype) -> Value:
        """A value, or a number, as a value of a type."""
        return self.convert(given, dtype) if isinstance(given, Value) else self.full(given, dtype, [])

    def together(self, dtype, *given) -> list[Value]:
        """Values and numbers as values of one type and one shape."""
        values = [self.value(one, dtype) for one in given]
        sizes = common([value.sizes for value in values])
        return [self.broadcast(value, sizes) for value in values]

    def binary(self, name, a, b, dtype=None) -> Value:
        """An operation of two tensors or numbers, by PyTorch's rules of types."""
        dtype = dtype or promoted(a, b)
        name = _OF_TRUTH.get(name, name) if dtype == torch.bool else name
        return self.op(name, *self.together(dtype, a, b))

    def where(self, condition, then, otherwise, dtype=None) -> Value:
        """The elements of one where a condition holds, else those of another."""
        dtype = dtype or promoted(then, otherwise)
        then, otherwise = self.value(then, dtype), self.value(otherwise, dtype)
        sizes = common([condition.sizes, then.sizes, otherwise.sizes])
        return self.op("where", *[self.broadcast(value, sizes) for value in (self.convert(condition, torch.bool), then, otherwise)])

    def along(self, name, value, axes, keeps=False) -> Value:
        """A reduction."""
        axes = axes_of(value, axes)
        reduced = self.op(name, value, axes=axes)
        return self.reshape(reduced, [1 if axis in axes else length for axis, length in enumerate(value.sizes)]) if keeps else reduced


def axis_of(value, axis) -> int:
    """An axis that may be counted from the end."""
    return axis % max(value.rank, 1)


def axes_of(value, axes) -> list[int]:
    """Axes, which may be counted from the end, in order; none are all."""
    if axes is None or axes == []:
        return list(range(value.rank))
    return sorted(axis_of(value, axis) for axis in ([axes] if isinstance(axes, int) else axes)) if value.rank else []


def common(shapes) -> list[int]:
    """The shape that all are repeated to."""
    return list(torch.broadcast_shapes(*shapes))


def promoted(*given) -> torch.dtype:
    """The type that PyTorch computes in: a tensor without dimensions, or a number, decides only if it is of a higher kind than the others."""
    ranks = ([], [], [])
    for one in given:
        if isinstance(one, Value):
            ranks[0 if one.rank else 1].append(one.dtype)
        else:
            ranks[2].append(_number_type(one))
    result = None
    for types in ranks:
        for dtype in types:
            if result is None:
                result = dtype
            elif types is ranks[0] or not any(_kind(known) >= _kind(dtype) for rank in ranks[: ranks.index(types)] for known in rank):
                result = torch.promote_types(result, dtype)
    return result


def floating(value) -> torch.dtype:
    """The type of floats for what is computed of a value."""
    return value.dtype if value.dtype.is_floating_point else torch.get_default_dtype()


def _number_type(number) -> torch.dtype:
    if isinstance(number, bool):
        return torch.bool
    return torch.int64 if isinstance(number, int) else torch.get_default_dtype()


def _kind(dtype) -> int:
    return 2 if dtype.is_floating_point else 0 if dtype == torch.bool else 1
