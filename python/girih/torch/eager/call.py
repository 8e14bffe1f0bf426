"""A call of an operation: its tensors, and what else decides which plan computes it.

Invariant: two calls with the same key differ only in what their tensors hold and where they lie.
"""

import functools

import torch

from girih.torch import device, host, storages


class NoPlan(Exception):
    """Why a call cannot be planned for the device."""


class Place:
    """Where a tensor stands among the arguments."""

    __slots__ = ("index",)

    def __init__(self, index):
        self.index = index

    def __eq__(self, other):
        return type(other) is Place and other.index == self.index

    def __hash__(self):
        return hash(("place", self.index))


class Call:
    """One call."""

    __slots__ = ("operation", "args", "kwargs", "tensors", "key", "is_hoisted")

    def __init__(self, operation, args, kwargs, tensors, key, is_hoisted):
        self.operation, self.args, self.kwargs, self.tensors, self.key, self.is_hoisted = operation, args, kwargs, tensors, key, is_hoisted

    def any_size(self):
        """The key of all calls that differ from this one in sizes alone, which a plan for changing sizes can compute; `None` where there can be none."""
        kinds = []
        for tensor in self.tensors:
            order = sorted(range(tensor.dim()), key=lambda at: -tensor.stride(at))
            steps = tuple(min(step, 2) for step in tensor.stride())
            kinds.append((tensor.dtype, tensor.device.type, tuple(min(length, 2) for length in tensor.size()), steps, tuple(order), tensor.is_contiguous()))
        return (self.key[0], self.key[1], self.key[2], tuple(kinds), tuple(key[-1] for key in self.key[3]), *self.key[4:])

    def arguments(self, tensors):
        """The arguments with other tensors in the places of these."""
        args = tuple(filled(value, tensors) for value in self.args)
        return args, {name: filled(value, tensors) for name, value in self.kwargs.items()}

    def written(self):
        """The indices of the tensors that are both read and written to."""
        outs = self.outs()
        return [place.index for place in written_places(self.operation, self.args, self.kwargs) if place.index not in outs]

    def outs(self):
        """The indices of the tensors that are given to hold results."""
        names = [argument.name for argument in self.operation._schema.arguments if argument.is_out]
        values = [self.kwargs.get(name) for name in names]
        return [item.index for value in values for item in (value if isinstance(value, (list, tuple)) else [value]) if type(item) is Place]


def filled(value, tensors):
    """An argument whose places are taken by tensors."""
    if type(value) is Place:
        return tensors[value.index]
    if type(value) in (list, tuple):
        return type(value)(filled(item, tensors) for item in value)
    return value


def described(operation, args, kwargs, hoists=False) -> Call:
    """The description of a call. Where it hoists, numbers are tensors, so that calls with other ones have the same key."""
    return _Describer(operation, args, kwargs, hoists).call()


class _Describer:
    def __init__(self, operation, args, kwargs, hoists):
        self.operation, self.given_args, self.given_kwargs, self.hoists = operation, args, kwargs, hoists
        self.tensors, self.keys, self.indices = [], [], {}
        # The places of copies that stand for tensors marked as conjugates, or as negative.
        self.copies = set()

    def call(self):
        positions, names = host.tensor_parameters(self.operation)
        args = tuple(self._value(value, position in positions) for position, value in enumerate(self.given_args))
        kwargs = {name: self._value(value, name in names) for name, value in self.given_kwargs.items()}
        self._apart(args, kwargs)
        self._upload_numbers()
        key = (self.operation, tuple(map(_frozen, args)), tuple((name, _frozen(value)) for name, value in kwargs.items()), tuple(self.keys), torch.get_default_dtype(), device.current())
        return Call(self.operation, args, kwargs, self.tensors, key, self.hoists)

    def _value(self, value, is_tensor=False):
        if isinstance(value, torch.Tensor):
            return self._tensor(value)
        if type(value) in (list, tuple):
            return type(value)(self._value(item) for item in value)
        if is_tensor and type(value) in (bool, int, float) or self.hoists and type(value) in (int, float):
            return self._tensor(number(value, (*self.given_args, *self.given_kwargs.values())))
        return value

    def _tensor(self, tensor):
        if tensor.dtype.is_complex and tensor.device.type == "cpu" and tensor.dim() == 0:
            tensor = tensor.to("girih")
        if tensor.device.type == "girih":
            if storages.is_flagged(tensor):
                tensor = tensor.clone()
                self.copies.add(len(self.tensors))
            kind = self._kind(tensor)
            place = (tensor.untyped_storage().data_ptr(), tensor.storage_offset(), kind)
        elif tensor.device.type == "cpu" and tensor.dim() == 0:
            place = id(tensor)
            tensor = _short(tensor)
            kind = (tensor.dtype, tensor.device.type)
        else:
            raise NoPlan(f"it is given a tensor of {tensor.device} beside ones of girih")
        if place not in self.indices:
            self.indices[place] = Place(len(self.tensors))
            self.tensors.append(tensor)
            self.keys.append(kind)
        return self.indices[place]

    def _apart(self, args, kwargs):
        """Takes copies of tensors that are read, and share memory in another layout with one that is written to."""
        written = {place.index for place in written_places(self.operation, args, kwargs)}
        if not written:
            return
        if written & self.copies:
            raise NoPlan("it writes to a tensor that is marked as a conjugate, or as negative")
        # Only tensors of one storage can share memory.
        beside = {}
        for index, tensor in enumerate(self.tensors):
            if tensor.device.type == "girih":
                beside.setdefault(tensor.untyped_storage().data_ptr(), []).append(index)
        for target in [self.tensors[index] for index in written]:
            if target.device.type != "girih":
                raise NoPlan("it writes to a tensor of the host")
            if storages.overlaps_itself(target):
                raise NoPlan("it writes to a tensor whose elements share memory")
            for index in beside[target.untyped_storage().data_ptr()]:
                tensor = self.tensors[index]
                if tensor is not target and storages.meet(target, tensor):
                    if index in written:
                        raise NoPlan("it writes twice to the same memory")
                    self.tensors[index] = copy = tensor.clone(memory_format=torch.contiguous_format)
                    self.keys[index] = self._kind(copy)

    def _upload_numbers(self):
        """Takes numbers to the device where they meet a tensor of one element: Inductor would make a tensor of the host of them, which kernels do not reach."""
        if not any(tensor.dim() and tensor.numel() == 1 for tensor in self.tensors):
            return
        for index, tensor in enumerate(self.tensors):
            if tensor.device.type == "cpu":
                self.tensors[index] = there = tensor.to("girih")
                self.keys[index] = self._kind(there)

    @staticmethod
    def _kind(tensor):
        """What plans depend on of a tensor of the device."""
        return tensor.dtype, tensor.device.type, tensor.size(), tensor.stride(), tensor.storage_offset() * tensor.element_size() % 16 == 0


def number(value, beside) -> torch.Tensor:
    """A number as a tensor of the host, which a plan takes in the place of the number."""
    return _short(host.number(value, beside))


def _short(tensor):
    """A number of Python's that PyTorch has wrapped takes part in arithmetic in the default type: kernels need no `float64` for it."""
    if tensor.dtype == torch.float64 and torch.result_type(_integers(), tensor) != torch.float64:
        return tensor.to(torch.float32)
    return tensor


@functools.cache
def _integers():
    return torch.zeros(1, dtype=torch.int64)


def _frozen(value):
    """A value that can be a part of a key. Numbers of different types are different. Zeros of both signs are equal, and a NaN is not itself: their texts tell them apart."""
    if type(value) in (list, tuple):
        return tuple(map(_frozen, value))
    if type(value) is float:
        return float, repr(value)
    return (type(value), value) if isinstance(value, (bool, int, float)) else value


@functools.cache
def _written_arguments(operation):
    """For each argument that is written to: its position, its name, and its alias."""
    found = []
    for position, argument in enumerate(operation._schema.arguments):
        alias = argument.alias_info
        if alias is not None and alias.is_write:
            found.append((position, argument.name, frozenset(alias.before_set)))
    # PyTorch's schemas do not say that batch norms write to these.
    for position, argument in enumerate(operation._schema.arguments):
        if argument.name in ("running_mean", "running_var") and argument.alias_info is None:
            found.append((position, argument.name, frozenset()))
    return found


def written_places(operation, args, kwargs):
    """The places of the tensors that a call writes to."""
    places = []
    for position, name, _ in _written_arguments(operation):
        value = args[position] if position < len(args) else kwargs.get(name)
        if type(value) is Place:
            places.append(value)
        elif type(value) in (list, tuple):
            places.extend(item for item in value if type(item) is Place)
    return places


@functools.cache
def returned_arguments(operation):
    """For each result: the position and name of the argument that it is, or `None` where it is new."""
    by_alias = {alias: (position, name) for position, name, alias in _written_arguments(operation) if alias}
    results = []
    for result in operation._schema.returns:
        alias = result.alias_info
        results.append(by_alias[frozenset(alias.before_set)] if alias is not None and alias.is_write else None)
    return results
