"""Compiles the kernels of a function before it is called first, several at a time, while PyTorch plans the rest of it.

Invariant: nothing depends on it. A kernel that is not compiled yet, or was compiled for other memory, is compiled when it is launched; what is wrong with it is said then.
"""

import ast
import concurrent.futures
import functools
import math
import os
import re

_LAUNCH = re.compile(r"^\s*(\w+\.run\(.*\))$", re.MULTILINE)
# Compilers at work: they share the processor with PyTorch's own.
_MOST_THREADS = 8


def launches(source: str) -> list[tuple[str, tuple]]:
    """The launches in code that Inductor has written: a kernel's name, and for each argument its value where it is a number; `None` stands for what only the call knows."""
    found = {}
    for line in _LAUNCH.findall(source):
        call = ast.parse(line, mode="eval").body
        if isinstance(call.func.value, ast.Name):
            found[call.func.value.id, tuple(_number(argument) for argument in call.args)] = None
    return list(found)


def compile_early(kernels: dict, launches: list[tuple[str, tuple]]) -> None:
    """Begins to compile the kernels of these names for such launches."""
    for name, arguments in launches:
        begin = getattr(kernels.get(name), "compile_early", None)
        if begin is not None:
            begin(arguments, _threads().submit)


def _number(argument: ast.expr):
    try:
        value = ast.literal_eval(argument)
    except (TypeError, ValueError):
        return None
    # What is written into the code must be read there again, which infinity is not.
    return value if isinstance(value, (bool, int, float)) and math.isfinite(value) else None


@functools.cache
def _threads():
    count = min(_MOST_THREADS, os.cpu_count() or 1)
    return concurrent.futures.ThreadPoolExecutor(count, thread_name_prefix="girih-compile")
