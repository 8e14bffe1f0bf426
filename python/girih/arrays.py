"""Arrays of a device, and what their elements are called.

An object that says where its elements are on a device has a method `__girih_buffer__()`, which gives `(buffer, offset in bytes, dtype)`, or `NotImplemented`
if it is an object of the host after all.
"""

from __future__ import annotations

import math
import operator
from typing import Any

from girih._native import Buffer, Device
from girih.device import as_device

# What elements are called in kernels, by NumPy's names.
_KERNEL_NAMES = {
    "bool": "int1",
    "int8": "int8",
    "int16": "int16",
    "int32": "int32",
    "int64": "int64",
    "uint8": "uint8",
    "uint16": "uint16",
    "uint32": "uint32",
    "uint64": "uint64",
    "float8_e4m3fn": "float8e4nv",
    "float8_e5m2": "float8e5",
    "float16": "float16",
    "bfloat16": "bfloat16",
    "float32": "float32",
    "float64": "float64",
}

_SIZES = {
    "bool": 1, "int8": 1, "uint8": 1, "float8_e4m3fn": 1, "float8_e5m2": 1, "int16": 2, "uint16": 2, "float16": 2, "bfloat16": 2,
    "int32": 4, "uint32": 4, "float32": 4, "int64": 8, "uint64": 8, "float64": 8,
}  # fmt: skip


def kernel_name(dtype: str) -> str:
    """What elements of NumPy's name are called in kernels.

    Raises `TypeError` for elements that kernels do not have.
    """
    name = _KERNEL_NAMES.get(dtype)
    if name is None:
        raise TypeError(f"kernels have no elements of the type `{dtype}`: use one of {', '.join(_KERNEL_NAMES)}")
    return name


class Array:
    """Elements on a device, one beside the other, the last dimension varying fastest."""

    __slots__ = ("buffer", "dtype", "shape")

    def __init__(self, buffer: Buffer, shape: int | tuple[int, ...], dtype: Any) -> None:
        """Elements of a buffer, from its first byte on. Raises `ValueError` if the buffer has fewer."""
        shape, dtype = _lengths(shape), element_name(dtype)
        kernel_name(dtype)
        needed = math.prod(shape) * _SIZES[dtype]
        if needed > buffer.nbytes:
            raise ValueError(f"an array of shape {shape} of {dtype} has {needed} bytes, and its buffer {buffer.nbytes}")
        self.buffer, self.shape, self.dtype = buffer, shape, dtype

    @property
    def device(self) -> Device:
        """The device that it is on."""
        return self.buffer.device

    @property
    def size(self) -> int:
        """How many elements it has."""
        return math.prod(self.shape)

    def strides(self) -> tuple[int, ...]:
        """How many elements lie between two of each dimension."""
        return tuple(math.prod(self.shape[at + 1 :]) for at in range(len(self.shape)))

    def numpy(self) -> Any:
        """Waits for the device, and gives a new NumPy array with the elements. Raises `TypeError` if NumPy has none of their type."""
        import numpy

        elements = numpy.empty(self.shape, _numpy_type(self.dtype))
        if elements.nbytes:
            self.buffer.read_into(elements.reshape(-1))
        return elements

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        """The elements as NumPy asks for them: always a copy."""
        if copy is False:
            raise ValueError("the elements are on a device: NumPy needs a copy of them")
        elements = self.numpy()
        return elements if dtype is None else elements.astype(dtype)

    def __girih_buffer__(self) -> tuple[Buffer, int, str]:
        return self.buffer, 0, kernel_name(self.dtype)

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("an array without dimensions has no length")
        return self.shape[0]

    def __repr__(self) -> str:
        return f"<girih.Array of shape {self.shape}, {self.dtype}, on {self.device!r}>"


def empty(shape: int | tuple[int, ...], dtype: Any = "float32", device: str | Device | None = None) -> Array:
    """A new array whose elements are not said.

    `shape` is a length, or one for each dimension; `dtype` is a name or a type of NumPy. Raises `TypeError` for elements that kernels do not have, and for
    lengths that are no whole numbers, `ValueError` for negative ones, `girih.OutOfMemory` if the device has not as much memory.
    """
    shape, name = _lengths(shape), element_name(dtype)
    kernel_name(name)
    return Array(as_device(device).allocate(math.prod(shape) * _SIZES[name]), shape, name)


def array(elements: Any, dtype: Any = None, device: str | Device | None = None) -> Array:
    """A new array with these elements: a NumPy array, or what NumPy makes one of. Raises `TypeError` for elements that kernels or NumPy do not have."""
    import numpy

    wanted = None if dtype is None else _numpy_type(element_name(dtype))
    elements = numpy.asarray(elements, wanted, order="C")
    made = empty(elements.shape, elements.dtype, device)
    if elements.nbytes:
        made.buffer.write(elements.reshape(-1))
    return made


def element_name(dtype: Any) -> str:
    """NumPy's name of elements, for a name or a type. Raises `TypeError` if their bytes are in the order of other machines."""
    if isinstance(dtype, str) and dtype in _SIZES:
        return dtype
    name = getattr(dtype, "name", None) or getattr(dtype, "__name__", None) or str(dtype)
    if not getattr(dtype, "isnative", True):
        raise TypeError(f"elements of the type `{dtype.str}` ({name}) have their bytes in the order of other machines: give `.astype(\"{name}\")`")
    return {"bool_": "bool"}.get(name, name)


def _numpy_type(name: str) -> Any:
    """NumPy's type for elements of this name."""
    import numpy

    kernel_name(name)
    try:
        return numpy.dtype(name)
    except TypeError:
        hint = "the package `ml_dtypes`, once imported, gives it such; `.buffer.read()` gives the bytes"
        raise TypeError(f"NumPy has no elements of the type `{name}`: {hint}") from None


def _lengths(shape: Any) -> tuple[int, ...]:
    """A shape as whole numbers."""
    try:
        lengths = (operator.index(shape),)
    except TypeError:
        try:
            lengths = tuple(operator.index(length) for length in shape)
        except TypeError:
            raise TypeError(f"a shape is a whole number, or a tuple of them, not {shape!r}") from None
    if any(length < 0 for length in lengths):
        raise ValueError(f"there is no array of shape {lengths}: lengths are 0 or more")
    return lengths
