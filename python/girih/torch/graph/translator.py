"""From a stage of PyTorch's graph to a graph of `core/tensor`, for tensors of known layouts.

Invariant: a call that cannot be translated is named by `Untranslated`; what is translated has the type and the sizes that PyTorch has inferred.
"""

import torch
from torch.fx.node import map_arg

import girih
from girih.torch import device, storages
from girih.torch.graph import layouts
from girih.torch.graph.operations import OPERATIONS
from girih.torch.graph.values import Missing, Value, Writer

# Bytes between the seeds of a run, so that each is where every device reads.
_APART = 256


class Untranslated(Exception):
    """A node of PyTorch's graph that the graph compiler has no operation for."""

    def __init__(self, node, reason):
        super().__init__(reason)
        self.node, self.reason = node, reason


def name_of(target) -> str:
    """An operation's name, without its namespace if that is PyTorch's own."""
    return str(target).removeprefix("aten.")


class Kernels:
    """A stage that was compiled for some layouts of its inputs: what a run takes, starts and gives."""

    def __init__(self, stage, values):
        writer = Writer()
        # Whether each input is copied to a layout that a graph can read.
        self._copied = []
        found = {}
        for node, value in zip(stage.inputs, values):
            found[node] = self._given(writer, value)
        numbers = {value.number for value in found.values() if isinstance(value, Value)}
        for node in stage.nodes:
            found[node] = _written(writer, node, found)
        self._seeds = writer.seeds()
        # For each output how it is made: a number, or type, sizes and strides.
        self._outputs, results = [], []
        for node in stage.outputs:
            value = found[node]
            if not isinstance(value, Value):
                self._outputs.append((value, None))
                continue
            order = _order(node.meta["val"])
            result = writer.permute(value, order)
            # An output is memory of its own, also where it is an input.
            results.append((writer.op("reshape", result, sizes=result.sizes) if result.number in numbers else result).number)
            self._outputs.append((None, (value.sizes, layouts.strides_of(value.sizes, order), value.dtype)))
        self._plan = writer.graph.compile(device.current(), results) if results else None

    @property
    def launches(self):
        """How many kernels a run starts."""
        return self._plan.launches if self._plan else 0

    def _given(self, writer, value):
        if not isinstance(value, torch.Tensor):
            return value
        sizes, strides = list(value.size()), list(value.stride())
        readable = layouts.is_readable(sizes, strides)
        self._copied.append(not readable)
        return layouts.given(writer, value.dtype, sizes, strides if readable else storages.contiguous(sizes))

    def run(self, values):
        """What the stage gives for its inputs."""
        given = [value for value in values if isinstance(value, torch.Tensor)]
        given = [value.contiguous() if copied else value for value, copied in zip(given, self._copied)]
        addresses = [storages.address_of(value) for value in given]
        if self._seeds:
            seeds = torch.zeros(self._seeds, _APART // 8, dtype=torch.int64)
            seeds[:, 0].random_(-(1 << 63), None)
            seeds = seeds.to("girih")
            addresses += [storages.address_of(seeds) + _APART * at for at in range(self._seeds)]
        made = [number if layout is None else storages.empty(*layout) for number, layout in self._outputs]
        if self._plan:
            self._plan.run(addresses, [storages.address_of(tensor) for tensor, (_, layout) in zip(made, self._outputs) if layout])
        return made


def _order(value) -> list[int]:
    """The order of the axes of a tensor of PyTorch's tracer, whose sizes may be symbols with an example."""
    plain = lambda numbers: [number if isinstance(number, int) else number.node.hint for number in numbers]
    return layouts.order(plain(value.size()), plain(value.stride()))


def _written(writer, node, found):
    """The values that a node gives."""
    args, kwargs = map_arg((node.args, node.kwargs), lambda used: found[used])
    if not isinstance(node.target, torch._ops.OpOverload):
        # Parts of what an operation gives, and arithmetic on sizes.
        return node.target(*args, **kwargs)
    try:
        value = OPERATIONS[name_of(node.target)](writer, *args, **kwargs)
    except Missing as problem:
        raise Untranslated(node, str(problem)) from None
    except girih.Error as problem:
        raise Untranslated(node, problem.message) from None
    _check(node, value)
    return value


def _check(node, value):
    """Compares a translation with what PyTorch has inferred."""
    expected = node.meta.get("val")
    if not isinstance(value, Value) or not isinstance(expected, torch.Tensor):
        return
    known = all(isinstance(length, int) for length in expected.size())
    if value.dtype != expected.dtype or value.rank != expected.dim() or known and value.sizes != list(expected.size()):
        raise RuntimeError(f"`{name_of(node.target)}` was translated to {value.dtype}{value.sizes}, and PyTorch gives {expected.dtype}{list(expected.size())}: this is a mistake of Girih")
