"""The names of Triton's language, for editors and for what Python looks at before a kernel is compiled.

None of these functions computes anything: the compiler reads a kernel's source.
"""

from __future__ import annotations

from typing import Any


class dtype:
    """A type of elements."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return self.name

    def __eq__(self, other: object) -> bool:
        return isinstance(other, dtype) and self.name == other.name

    def __hash__(self) -> int:
        return hash(self.name)


class constexpr:
    """A constant of a kernel: as an annotation, or around a value."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def __repr__(self) -> str:
        return f"constexpr[{self.value}]"


int1, int8, int16, int32, int64 = (dtype(f"int{bits}") for bits in (1, 8, 16, 32, 64))
uint8, uint16, uint32, uint64 = (dtype(f"uint{bits}") for bits in (8, 16, 32, 64))
float8e4nv, float8e5 = dtype("float8e4nv"), dtype("float8e5")
float16, bfloat16, float32, float64 = dtype("float16"), dtype("bfloat16"), dtype("float32"), dtype("float64")


class _Name:
    """Something that is only in kernels."""

    def __init__(self, name: str) -> None:
        self.__name__ = name

    def __getattr__(self, name: str) -> _Name:
        if name.startswith("__"):
            raise AttributeError(name)
        return _Name(f"{self.__name__}.{name}")

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        raise TypeError(f"`tl.{self.__name__}` is only in kernels: decorate the function with `@triton.jit`")


def __getattr__(name: str) -> _Name:
    if name.startswith("__"):
        raise AttributeError(name)
    return _Name(name)
