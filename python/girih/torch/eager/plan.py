"""Plans how a kind of call is computed on the device: the operation is traced to simpler ones, for which Inductor writes kernels.

Invariant: a plan runs kernels of Girih and nothing else; what Inductor would leave to PyTorch is no plan.
"""

import re

import torch
from torch.fx.experimental.proxy_tensor import make_fx
from torch.utils import _pytree

import girih
from girih.torch import storages
from girih.torch.complex_numbers import lowering
from girih.torch.eager import optimizers
from girih.torch.eager.call import NoPlan, returned_arguments
from girih.torch.eager.table import decompositions, formula, pytorchs

# What plans may leave to PyTorch: products and convolutions, which have kernels of their own, and the seeds of random numbers.
_OURS = re.compile(r"^(mm|bmm|addmm|baddbmm|convolution|randint\.low_out|random_\.from)\b")
# What PyTorch traces by.
_TRACING = ("Functionalize", "FuncTorchDynamicLayerBackMode", "FuncTorchDynamicLayerFrontMode", "PythonTLSSnapshot", "Python")
_LEFT = re.compile(r"(?:torch\.ops\.(?!inductor\._alloc)\w+\.|extern_kernels\.|aten\.)(\w+(?:\.\w+)?)\(")


class Plan:
    """What computes one kind of call."""

    def __init__(self, compiled, returned, rebuilt):
        self._compiled, self._returned, self._rebuilt = compiled, returned, rebuilt
        self._is_tried = False

    def run(self, call):
        """Computes a call of this kind."""
        made = iter(self._compiled(_real(call.tensors)) if self._is_tried else self._try(call))
        results = [self._given(call, place) if place else rebuilt(made) for place, rebuilt in zip(self._returned, self._rebuilt)]
        return self._results(results)

    def can_be_repeated(self) -> bool:
        """Whether it was run, and all results are new."""
        return self._is_tried and not any(self._returned)

    def repeat(self, tensors):
        """Computes a call of this kind whose results are all new, with these tensors."""
        made = iter(self._compiled(_real(tensors)))
        return self._results([rebuilt(made) for rebuilt in self._rebuilt])

    @staticmethod
    def _results(results):
        return results[0] if len(results) == 1 else tuple(results) if results else None

    def _try(self, call):
        """The first run compiles kernels. Raises `NoPlan` if the device refuses one; what the call writes to is then as it was."""
        tensors = list(call.tensors)
        # A single kernel has written nothing when it is refused. A copy does not read its target, and is what brings results back here.
        is_plain = self._compiled.source_code.count(".run(") <= 1 or call.operation is torch.ops.aten.copy_.default
        written = [] if is_plain else [*call.written(), *call.outs()]
        for index in written:
            # The plan is for these strides; a clone of a part of a tensor has none of its gaps.
            tensors[index] = torch.empty_strided(tensors[index].size(), tensors[index].stride(), dtype=tensors[index].dtype, device="girih").copy_(tensors[index])
        try:
            made = self._compiled(_real(tensors))
        except (girih.OutOfMemory, girih.AssertionFailed):
            # That is no refusal of a kernel, and may be otherwise the next time.
            raise
        except girih.Error as problem:
            raise NoPlan(_reason(problem)) from problem
        for index in written:
            call.tensors[index].copy_(tensors[index])
        self._is_tried = True
        return made

    def again(self):
        """The same plan for another size, whose first run is a first run, too: a device may refuse a kernel for it alone."""
        return Plan(self._compiled, self._returned, self._rebuilt)

    @staticmethod
    def _given(call, place):
        position, name = place
        value = call.args[position] if position < len(call.args) else call.kwargs[name]
        if isinstance(value, (list, tuple)):
            return [call.tensors[item.index] for item in value]
        return call.tensors[value.index]


def _real(tensors):
    """What kernels are given for tensors: for complex numbers their parts, beside each other."""
    return [torch.view_as_real(tensor) if tensor.dtype.is_complex else tensor for tensor in tensors]


class SizedPlan:
    """A plan for tensors whose sizes change, with the conditions that they must meet."""

    def __init__(self, plan, shapes, fakes):
        self.plan, self._conditions = plan, shapes.produce_guards_expression(fakes)
        self._shapes, self._fixed = shapes, [_fixed(fake) for fake in fakes]

    def fits(self, call) -> bool:
        """Whether it computes this call."""
        # PyTorch's conditions do not name lengths that turned out to be fixed.
        if not all(_is_met(lengths, (*tensor.size(), *tensor.stride())) for lengths, tensor in zip(self._fixed, call.tensors)):
            return False
        return not self._conditions or self._shapes.evaluate_guards_expression(self._conditions, call.tensors)


def _fixed(fake):
    """The lengths and the strides of a tensor that a plan was made for; `None` for those that may change."""
    return [length if isinstance(length, int) else length.node.maybe_as_int() for length in (*fake.size(), *fake.stride())]


def _is_met(fixed, lengths) -> bool:
    return all(wanted is None or wanted == length for wanted, length in zip(fixed, lengths, strict=True))


class Resizing:
    """Gives results that the caller has made the sizes that they need, and then runs the call."""

    def __init__(self, sizes, run):
        self._sizes, self._run = sizes, run

    def run(self, call):
        """Resizes them, and computes."""
        for place, size in self._sizes.items():
            call.tensors[place].resize_(size)
        args, kwargs = call.arguments(call.tensors)
        return self._run(call.operation, *args, **kwargs)


def planned(call, run, any_size=False):
    """The plan for a kind of call, or for all sizes. `run` runs any call."""
    for tensor in call.tensors:
        if tensor.dtype not in storages.TYPES:
            raise NoPlan(f"tensors of {tensor.dtype} cannot be on the device girih")
    try:
        with seeing_all():
            sizes = {} if call.is_hoisted else _sizes(call)
            if sizes:
                return Resizing(sizes, run)
            mode, fakes = _fakes(call, any_size)
            graph, reals, rebuilt = _traced(call, mode, fakes)
            _checked(graph)
            compiled = _compiled(graph, reals)
    except NoPlan:
        raise
    except Exception as problem:
        raise NoPlan(_reason(problem)) from problem
    plan = Plan(compiled, returned_arguments(call.operation), rebuilt)
    return SizedPlan(plan, mode.shape_env, fakes) if any_size else plan


def seeing_all():
    """A guard under which operations go through all that tracing needs: a compiled function calls them past some of it."""
    included, excluded = torch._C._dispatch_tls_local_include_set(), torch._C._dispatch_tls_local_exclude_set()
    for name in _TRACING:
        excluded = excluded.remove(getattr(torch._C.DispatchKey, name))
    return torch._C._ForceDispatchKeyGuard(included, excluded)


def _reason(problem) -> str:
    text = str(problem).strip().splitlines()
    return text[0] if text else type(problem).__name__


def _fakes(call, any_size=False):
    """A mode of PyTorch's in which only shapes and types are computed, and tensors in it for those of a call."""
    from torch._subclasses.fake_tensor import FakeTensorMode
    from torch.fx.experimental.symbolic_shapes import ShapeEnv

    mode = FakeTensorMode(allow_fallback_kernels=False, shape_env=ShapeEnv())
    # PyTorch would make a view again as a view, of the type of what it is one of.
    tensors = [storages.alone(tensor) if tensor.dtype.is_complex else tensor for tensor in call.tensors]
    return mode, [mode.from_tensor(tensor, static_shapes=not any_size) for tensor in tensors]


def _sizes(call):
    """The sizes that results need which the caller has made in another size, by their indices."""
    outs = call.outs()
    if not outs:
        return {}
    mode, fakes = _fakes(call)
    args, kwargs = call.arguments(fakes)
    with mode:
        call.operation(*args, **kwargs)
    return {index: fakes[index].size() for index in outs if fakes[index].size() != call.tensors[index].size()}


def _traced(call, mode, fakes):
    """The graph of a call, its tensors, and how results are made of the graph's."""
    returned = returned_arguments(call.operation)
    rebuilt = [None] * len(returned)

    def function(*tensors):
        args, kwargs = call.arguments(tensors)
        step = optimizers.step(call.operation)
        if step is not None:
            step(*args, **kwargs)
            return []
        result = _hoisted(call, args, kwargs) if call.is_hoisted else call.operation(*args, **kwargs)
        results = result if isinstance(result, tuple) and len(returned) != 1 else [result]
        made = []
        for index, (value, given) in enumerate(zip(results, returned)):
            if given is None:
                rebuilt[index] = _collected(value, made)
        return [value.clone() if any(value is tensor for tensor in tensors) else value for value in made]

    with mode:
        if _is_complex(call):
            # Views have rules of their own, and what they give stays one.
            function = lowering.Lowering(_graph(function, fakes, lowering.decompositions(pytorchs()), "mutations")).run
            fakes = _real(fakes)
            graph = _graph(function, fakes, decompositions(), "mutations")
        else:
            graph = _graph(function, fakes, decompositions())
    return graph, fakes, rebuilt


def _graph(function, fakes, table, removed="mutations_and_views"):
    """A graph without changes in place, or without views, too."""
    return make_fx(torch.func.functionalize(function, remove=removed), decomposition_table=table, tracing_mode="real")(*fakes)


def _is_complex(call) -> bool:
    """Whether complex numbers take part in a call."""
    given = _pytree.tree_leaves((call.args, call.kwargs))
    kinds = [tensor.dtype for tensor in call.tensors] + [value for value in given if isinstance(value, torch.dtype)]
    return any(dtype.is_complex for dtype in kinds) or any(isinstance(value, complex) for value in given) or call.operation._schema.name in lowering.MAKERS_OF_COMPLEX


def _hoisted(call, args, kwargs):
    """The result of a call with hoisted numbers, by its formula."""
    outs = [kwargs.pop(argument.name) for argument in call.operation._schema.arguments if argument.is_out and argument.name in kwargs]
    result = formula(call.operation)(*args, **kwargs)
    if isinstance(result, (list, tuple)):
        return list(result) if call.operation._schema.returns else torch._foreach_copy_(args[0], result) and None
    target = outs[0] if outs else args[0] if returned_arguments(call.operation)[0] else None
    if target is not None and target.size() != result.size():
        raise NoPlan("a result needs another size")
    return result if target is None else target.copy_(result)


def _collected(value, made):
    """Puts the tensors of a result into a list, and tells how the result is made of them again."""
    if value is None:
        return lambda results: None
    if isinstance(value, torch.Tensor):
        made.append(value)
        return _complex_next if value.dtype.is_complex else next
    if isinstance(value, (list, tuple)):
        each = [_collected(item, made) for item in value]
        return lambda results: [rebuilt(results) for rebuilt in each]
    raise NoPlan(f"it gives a `{type(value).__name__}`")


def _complex_next(results):
    return torch.view_as_complex(next(results))


def _checked(graph) -> None:
    """Refuses types that the device has no memory for."""
    for node in graph.graph.nodes:
        value = node.meta.get("val")
        for item in value if isinstance(value, (list, tuple)) else [value]:
            if not isinstance(item, torch.Tensor):
                continue
            if item.dtype not in storages.TYPES:
                raise NoPlan(f"tensors of {item.dtype} cannot be on the device girih")
            if item.dtype.is_complex:
                raise NoPlan(f"`{node.name}` gives complex numbers, and has no rule")


def _compiled(graph, fakes):
    """What Inductor makes of a graph."""
    from torch._guards import TracingContext, tracing
    from torch._inductor.compile_fx import compile_fx_inner
    from torch._inductor.fx_passes.replace_random import replace_random_passes
    from torch._inductor.virtualized import V

    output = next(iter(reversed(graph.graph.nodes)))
    output.meta["user_visible_output_idxs"] = list(range(len(output.args[0])))
    mode = fakes[0].fake_mode if fakes else None
    with tracing(TracingContext(mode)), V.set_fake_mode(mode), torch._inductor.config.patch(size_asserts=False):
        replace_random_passes(graph)
        compiled = compile_fx_inner(graph, fakes, is_inference=True)
    left = [name for name in _LEFT.findall(compiled.source_code) if not _OURS.match(name)]
    if left:
        raise NoPlan(f"Inductor has no kernel for `{left[0]}`")
    return compiled
