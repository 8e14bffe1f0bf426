"""Runs the kernels that Inductor writes: their grid follows from what Inductor says of them, their blocks from a rule here.

Invariant: any block is right, because the kernels mask what is beyond the end; blocks decide only speed.
"""

import ast
import math

import girih
from girih._native import Launcher
from girih.torch import device

_IMPORTS = """import triton
import triton.language as tl
from torch._inductor.runtime import triton_helpers, triton_heuristics
from torch._inductor.runtime.triton_helpers import libdevice, math as tl_math
"""
# Elements of a program: of a pointwise kernel, of a reduction that goes along its rows, of one that goes across them.
_ELEMENTS, _ALONG, _ACROSS = 1024, 2048, 1024
_POINTWISE, _FOREACH = "pointwise", "foreach"


class Kernel:
    """One kernel of Inductor's."""

    def __init__(self, name: str, source: str):
        decorator, function = _parts(source)
        meta = _keyword(decorator, "triton_meta")
        self._signature = _text_items(_item(meta, "signature"))
        self._parameters = [parameter.arg for parameter in function.args.args]
        inductor_meta = _keyword(decorator, "inductor_meta")
        self._grid_meta = {name: ast.literal_eval(value) for name, value in _items(inductor_meta) if name in ("grid_type", "combo_grid_meta")}
        hints = _keyword(decorator, "size_hints")
        direction = _keyword(decorator, "reduction_hint")
        self._blocks = blocks(self._parameters, ast.literal_eval(hints) if hints is not None else {}, decorator.func.attr, direction.attr if direction is not None else "")
        self._warps = 8 if decorator.func.attr == _FOREACH else 4
        self._passed = [name for name in self._parameters if name not in self._blocks]
        text = _IMPORTS + source[source.index("@triton.jit") :]
        self._name, self._kernel = name, girih.KernelFile(f"{name}.py", text).kernel(function.name, asserts="device_assert(" in text)
        self._is_memory = is_memory = [self._signature[name].startswith("*") for name in self._passed]
        self._memory = [name for name, is_one in zip(self._passed, is_memory) if is_one]
        self._numbers = [name for name, is_one in zip(self._passed, is_memory) if not is_one]
        # Launches it, behind all work so far.
        self.run = Launcher(name, is_memory, self._prepare).run

    def compile_early(self, arguments: tuple, submit) -> None:
        """Has the kernel compiled for a launch with such numbers, if all of them are known. `submit` runs a function in another thread."""
        numbers = tuple(value for value, is_one in zip(arguments, self._is_memory) if not is_one)
        if len(arguments) == len(self._is_memory) and None not in numbers:
            submit(lambda chosen: self._prepare(chosen, numbers).compile(), device.current())

    def _prepare(self, chosen, numbers):
        """A launch on a device with such numbers."""
        given = self._blocks | dict(zip(self._numbers, numbers))
        grid = self._grid(given)
        # Floats of Python have 32 bits in kernels unless it is said otherwise.
        given |= {name: ("fp64", given[name]) for name in self._numbers if self._signature[name] == "fp64" and isinstance(given[name], float)}
        given |= {name: (self._signature[name][1:],) for name in self._memory}
        return self._kernel.prepare(chosen, grid, given, num_warps=self._warps)

    def _grid(self, given):
        from torch._inductor.runtime.triton_heuristics import GridExpr

        values = {name: value for name, value in given.items() if isinstance(value, int)}
        expression = GridExpr.from_meta(self._grid_meta, self._blocks)
        return tuple(int(n) for n in expression.eval_slow(values))


def blocks(parameters: list[str], hints: dict[str, int], kind: str, direction: str) -> dict[str, int]:
    """The sizes of a kernel's blocks: powers of two, no larger than what there is of elements. `direction` is Inductor's hint of how a reduction's elements lie."""
    names = [name for name in parameters if name.endswith("BLOCK")]
    unknown = [name for name in parameters if name.startswith(("RSPLIT", "NUM_STAGES"))]
    if unknown:
        raise NotImplementedError(f"kernels of Inductor with the parameter `{unknown[0]}` are not supported on girih")
    most = {name: 1 << (max(1, length) - 1).bit_length() for name, length in hints.items()}
    across = sum(1 for name in names if not name.startswith("R"))
    if kind == _POINTWISE:
        limit = _ELEMENTS if across == 1 else 32 if across == 2 else 8
        return {name: min(_most(most, name), limit) for name in names}
    chosen, left = {}, _ALONG
    if across == 1 and "XBLOCK" in names:
        chosen["XBLOCK"], left = _rows(most, direction, is_whole=names == ["XBLOCK"])
    for name in names:
        if name.startswith("R"):
            chosen[name] = min(_most(most, name), left)
            left = max(left // chosen[name], 1)
        else:
            chosen.setdefault(name, 1)
    return chosen


def _rows(most: dict[str, int], direction: str, is_whole: bool) -> tuple[int, int]:
    """How many results of a reduction a program computes, and how many elements of each it takes at once. Neighbours in memory are taken together: those of one
    result, or where `direction` says that these lie apart, those of several. Where `is_whole`, all elements of a result are taken at once."""
    rows, length = most.get("x", 1), math.prod(length for name, length in most.items() if name.startswith("r"))
    if is_whole:
        least = 8 if direction == "OUTER" else 1
        return min(rows, max(_ALONG // length, least), 128), _ALONG
    # Which way is faster is not known for those without a direction: eight neighbours are a unit of memory, and so are 128.
    at_once = {"INNER": 1, "OUTER": 32, "OUTER_TINY": 32}.get(direction, 8)
    rows = min(rows, max(at_once, _ACROSS // length if at_once > 1 else 1))
    return rows, max((_ALONG if at_once == 1 else _ACROSS) // rows, 1)


def _most(most: dict[str, int], name: str) -> int:
    """The power of two that is no less than what there is of elements in a direction."""
    return most.get(name.removesuffix("BLOCK").lower(), 1)


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


def _items(dictionary: ast.Dict):
    """Its items whose keys are texts."""
    pairs = zip(dictionary.keys, dictionary.values)
    return [(key.value, value) for key, value in pairs if isinstance(key, ast.Constant)]


def _item(dictionary: ast.Dict, name: str):
    return next(value for key, value in _items(dictionary) if key == name)


def _text_items(dictionary: ast.Dict) -> dict[str, str]:
    return ast.literal_eval(dictionary)
