"""PyTorch's graph in stages: what one graph of `core/tensor` computes, then the operations that it has not, run one by one, then the next graph.

Invariant: a stage is translated when it is first run with some layouts, so sizes are numbers, also where PyTorch has traced symbols.
"""

import torch
from torch._functorch.aot_autograd import make_boxed_func
from torch.fx.node import map_arg

from girih.torch import device, graph
from girih.torch.graph.operations import OPERATIONS
from girih.torch.graph.translator import Kernels, Untranslated, name_of

# Layouts that a stage keeps kernels for.
_MOST = 64


def staged(module, inputs):
    """What runs a graph of PyTorch's core operations."""
    return make_boxed_func(Program(module).run)


class Stage:
    """Nodes that one graph computes, with those that it takes and gives."""

    def __init__(self, nodes):
        inside = set(nodes)
        used = dict.fromkeys(used for node in nodes for used in node.all_input_nodes)
        self.nodes = nodes
        self.inputs = [node for node in used if node not in inside]
        self.outputs = [node for node in nodes if any(user not in inside for user in node.users)]
        self._kernels = {}

    def run(self, found):
        """Computes its outputs and adds them to the values of nodes."""
        values = [_on_device(found[node]) for node in self.inputs]
        key = (device.current(), *[(value.dtype, value.size(), value.stride()) if isinstance(value, torch.Tensor) else value for value in values])
        kernels = self._kernels.get(key)
        if kernels is None:
            kernels = Kernels(self, values)
            if len(self._kernels) >= _MOST:
                self._kernels.clear()
            self._kernels[key] = kernels
        found.update(zip(self.outputs, kernels.run(values)))
        graph._launches["kernels"] += kernels.launches
        graph._launches["runs"] += 1


class Program:
    """A graph of PyTorch's."""

    def __init__(self, module):
        self._nodes = [node for node in module.graph.nodes if node.op == "call_function"]
        self._inputs = [node for node in module.graph.nodes if node.op == "placeholder"]
        self._constants = {node: getattr(module, node.target) for node in module.graph.nodes if node.op == "get_attr"}
        self._result = next(node for node in module.graph.nodes if node.op == "output").args[0]
        self._given = set(_nodes_in(self._result))
        self._apart = {}
        for node in self._nodes:
            reason = _missing(node, node in self._given)
            if reason is not None:
                self._sets_apart(node, reason)
        self._steps = self._cut()

    def run(self, *args):
        """What the graph gives for some arguments. A call that turns out to have no translation is set apart, and all is computed again: nothing has been changed."""
        while True:
            try:
                return self._run(args)
            except Untranslated as problem:
                self._sets_apart(problem.node, problem.reason)
                self._steps = self._cut()

    def _sets_apart(self, node, reason):
        self._apart[node] = reason
        # What Girih has kernels of its own for is not missing: it is better off alone.
        if node.target.namespace != "girih":
            graph._breaks[name_of(node.target)] = reason

    def _run(self, args):
        found = {**self._constants, **dict(zip(self._inputs, args))}
        for step in self._steps:
            if isinstance(step, Stage):
                step.run(found)
                continue
            given, named = map_arg((step.args, step.kwargs), lambda node: found[node])
            with torch.no_grad():
                found[step] = step.target(*given, **named)
        return map_arg(self._result, lambda node: found[node])

    def _cut(self):
        """Stages, and nodes that are run between them, in order."""
        levels, apart = {}, set(self._apart)
        for node in self._nodes:
            is_part = not isinstance(node.target, torch._ops.OpOverload) and any(used in apart for used in node.all_input_nodes)
            if is_part:
                apart.add(node)
            after = [levels.get(used, 0) + (used in apart and node not in apart) for used in node.all_input_nodes]
            levels[node] = max(after, default=0)
        steps = []
        for level in range(max(levels.values(), default=0) + 1):
            here = [node for node in self._nodes if levels[node] == level]
            nodes = [node for node in here if node not in apart]
            steps += [Stage(nodes)] if nodes else []
            steps += [node for node in here if node in apart]
        return steps


def _on_device(value):
    return value.to("girih") if isinstance(value, torch.Tensor) and value.device.type != "girih" else value


def _nodes_in(result):
    """The nodes that a graph gives."""
    found = []
    map_arg(result, found.append)
    return found


def _missing(node, is_given):
    """Why a node is in no stage, if that is known before it is run. Numbers that are on the host on their way are computed on the device."""
    if not isinstance(node.target, torch._ops.OpOverload):
        return None
    if name_of(node.target) not in OPERATIONS:
        return "the graph compiler has no such operation"
    if not is_given:
        return None
    values = node.meta.get("val")
    values = values if isinstance(values, (tuple, list)) else [values]
    elsewhere = [value.device for value in values if isinstance(value, torch.Tensor) and value.device.type != "girih"]
    return f"it gives a tensor on {elsewhere[0]}" if elsewhere else None
