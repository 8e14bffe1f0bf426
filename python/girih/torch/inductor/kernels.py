"""Runs the kernels that Inductor writes: their grid follows from what Inductor says of them, their blocks from a rule here.

Invariant: any block is right, because the kernels mask what is beyond the end; blocks decide only speed.
"""

import ast

import girih
from girih.torch import device, storages

_IMPORTS = """import triton
import triton.language as tl
from torch._inductor.runtime import triton_helpers, triton_heuristics
from torch._inductor.runtime.triton_helpers import libdevice, math as tl_math
"""
# Elements of a program of a pointwise kernel, and of a reduction at once.
_ELEMENTS, _REDUCED = 1024, 2048
_WARPS = 4
_POINTWISE = "pointwise"
# Launches that are kept for sizes.
_MOST_PREPARED = 1024


class Kernel:
    """One kernel of Inductor's."""

    def __init__(self, name: str, source: str):
        decorator, function = _parts(source)
        meta = _keyword(decorator, "triton_meta")
        self._signature = _text_items(_item(meta, "signature"))
        self._parameters = [parameter.arg for parameter in function.args.args]
        inductor_meta = _keyword(decorator, "inductor_meta")
        self._grid_type = ast.literal_eval(_item(inductor_meta, "grid_type"))
        hints = _keyword(decorator, "size_hints")
        self._blocks = blocks(self._parameters, ast.literal_eval(hints) if hints is not None else {}, decorator.func.attr)
        self._passed = [name for name in self._parameters if name not in self._blocks]
        text = _IMPORTS + source[source.index("@triton.jit") :]
        self._name, self._kernel = name, girih.KernelFile(f"{name}.py", text).kernel(function.name, asserts="device_assert(" in text)
        places = range(len(self._passed))
        self._memory = [place for place in places if self._signature[self._passed[place]].startswith("*")]
        self._numbers = [place for place in places if place not in self._memory]
        self._prepared = {}

    def run(self, *arguments, stream=None, **named):
        """Launches it, behind all work so far. What is the same but for its memory is prepared once."""
        if len(arguments) != len(self._passed):
            raise TypeError(f"{self._name} is given {len(arguments)} arguments, and takes {len(self._passed)}")
        numbers = tuple([arguments[place] for place in self._numbers])
        # Zeros of both signs are equal, and a NaN is not itself: their texts tell them apart.
        key = (device.current(), tuple([repr(number) if type(number) is float else number for number in numbers]))
        step = self._prepared.get(key)
        if step is None:
            step = self._prepare(key, numbers)
        step.launch(*[storages.address_of(arguments[place]) for place in self._memory])

    def _prepare(self, key, numbers):
        given = dict(self._blocks)
        given |= {self._passed[place]: value for place, value in zip(self._numbers, numbers)}
        grid = self._grid(given)
        given |= {self._passed[place]: (self._signature[self._passed[place]][1:],) for place in self._memory}
        step = self._kernel.prepare(device.current(), grid, given, num_warps=_WARPS)
        # Sizes that change all the time are not all kept.
        if len(self._prepared) >= _MOST_PREPARED:
            self._prepared.clear()
        self._prepared[key] = step
        return step

    def _grid(self, given):
        from torch._inductor.runtime.triton_heuristics import GridExpr

        values = {name: value for name, value in given.items() if isinstance(value, int)}
        expression = GridExpr.from_meta({"grid_type": self._grid_type}, self._blocks)
        return tuple(int(n) for n in expression.eval_slow(values))


def blocks(parameters: list[str], hints: dict[str, int], kind: str) -> dict[str, int]:
    """The sizes of a kernel's blocks: powers of two, no larger than what there is of elements."""
    names = [name for name in parameters if name.endswith("BLOCK")]
    unknown = [name for name in parameters if name.startswith(("RSPLIT", "NUM_STAGES"))]
    if unknown:
        raise NotImplementedError(f"kernels of Inductor with the parameter `{unknown[0]}` are not supported on girih")
    across = sum(1 for name in names if not name.startswith("R"))
    chosen, elements, reduced = {}, _ELEMENTS, _REDUCED
    for name in names:
        hint = max(1, hints.get(name.removesuffix("BLOCK").lower(), 1))
        hint = 1 << (hint - 1).bit_length()
        if name.startswith("R"):
            chosen[name] = min(hint, reduced)
            reduced = max(reduced // chosen[name], 1)
        elif kind != _POINTWISE:
            chosen[name] = 1
        else:
            chosen[name] = min(hint, elements if across == 1 else (32 if across == 2 else 8))
    return chosen


def _parts(source: str):
    """The decorator of `triton_heuristics` and the function that it is on."""
    for node in ast.parse(source).body:
        if isinstance(node, ast.FunctionDef):
            for decorator in node.decorator_list:
                if isinstance(decorator, ast.Call) and isinstance(decorator.func, ast.Attribute):
                    return decorator, node
    raise NotImplementedError("Inductor has written a kernel without a decorator of triton_heuristics")


def _keyword(call: ast.Call, name: str):
    return next((keyword.value for keyword in call.keywords if keyword.arg == name), None)


def _item(dictionary: ast.Dict, name: str):
    pairs = zip(dictionary.keys, dictionary.values)
    return next(value for key, value in pairs if isinstance(key, ast.Constant) and key.value == name)


def _text_items(dictionary: ast.Dict) -> dict[str, str]:
    return ast.literal_eval(dictionary)
