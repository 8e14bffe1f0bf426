"""Arrays of a device, and which device is meant where none is named.

An object that says where its elements are on a device has a method `__girih_buffer__()`, which gives `(buffer, offset in bytes, dtype)`.
"""

from __future__ import annotations

import math
import os
import threading
from typing import Any

from girih._native import Buffer, Device

# What elements are called in kernels, by NumPy's names.
_KERNEL_NAMES = {
    "bool": "int8",
    "int8": "int8",
    "int16": "int16",
    "int32": "int32",
    "int64": "int64",
    "uint8": "uint8",
    "uint16": "uint16",
    "uint32": "uint32",
    "uint64": "uint64",
    "float16": "float16",
    "bfloat16": "bfloat16",
    "float32": "float32",
    "float64": "float64",
}

_SIZES = {
    "bool": 1, "int8": 1, "uint8": 1, "int16": 2, "uint16": 2, "float16": 2, "bfloat16": 2,
    "int32": 4, "uint32": 4, "float32": 4, "int64": 8, "uint64": 8, "float64": 8,
}  # fmt: skip

_chosen = threading.local()


def use(device: str | Device | None) -> None:
    """Chooses the device of this thread where none is named; `None` goes back to `GIRIH_DEVICE` or the best there is."""
    _chosen.device = Device(device) if isinstance(device, str) else device


def default_device() -> Device:
    """The device that is meant where none is named: that of `use`, of the variable `GIRIH_DEVICE`, or the best there is."""
    chosen = getattr(_chosen, "device", None)
    return chosen if chosen is not None else Device(os.environ.get("GIRIH_DEVICE") or None)


def as_device(device: str | Device | None) -> Device:
    """A device by its name or itself."""
    if device is None:
        return default_device()
    return Device(device) if isinstance(device, str) else device


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

    def __init__(self, buffer: Buffer, shape: tuple[int, ...], dtype: str) -> None:
        """Elements of a buffer, from its first byte on. Raises `ValueError` if the buffer has fewer."""
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
        """Waits for the device, and gives a new NumPy array with the elements."""
        import numpy

        elements = numpy.empty(self.shape, self.dtype)
        if elements.nbytes:
            self.buffer.read_into(elements)
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

    `dtype` is a name or a type of NumPy. Raises `TypeError` for elements that kernels do not have, `girih.OutOfMemory` if the device has not as much memory.
    """
    shape = (shape,) if isinstance(shape, int) else tuple(shape)
    name = _name_of(dtype)
    kernel_name(name)
    return Array(as_device(device).allocate(math.prod(shape) * _SIZES[name]), shape, name)


def array(elements: Any, dtype: Any = None, device: str | Device | None = None) -> Array:
    """A new array with these elements: a NumPy array, or what NumPy makes one of."""
    import numpy

    elements = numpy.ascontiguousarray(numpy.asarray(elements, dtype))
    made = empty(elements.shape, elements.dtype, device)
    if elements.nbytes:
        made.buffer.write(elements)
    return made


def _name_of(dtype: Any) -> str:
    if isinstance(dtype, str) and dtype in _SIZES:
        return dtype
    name = getattr(dtype, "name", None) or getattr(dtype, "__name__", None) or str(dtype)
    return {"bool_": "bool"}.get(name, name)
