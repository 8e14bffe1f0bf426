"""Tensor descriptors: arguments of kernels that are read and written in blocks."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any


@dataclasses.dataclass
class TensorDescriptor:
    """An array with its lengths, its strides in elements, and the lengths of the blocks that a kernel reads and writes: `descriptor.load([row, column])`.

    What is read outside of the array is zero, or not a number where `padding` is `"nan"`. Raises `ValueError` if the numbers of dimensions differ.
    """

    base: Any
    shape: Sequence[int]
    strides: Sequence[int]
    block_shape: Sequence[int]
    padding: str = "zero"

    def __post_init__(self) -> None:
        if not len(self.shape) == len(self.strides) == len(self.block_shape):
            counts = f"{len(self.shape)}, {len(self.strides)} and {len(self.block_shape)}"
            raise ValueError(f"`shape`, `strides` and `block_shape` have {counts} dimensions: give one number of each for every dimension")
        if self.padding not in ("zero", "nan"):
            raise ValueError(f"there is no padding {self.padding!r}: it is 'zero' or 'nan'")

    @classmethod
    def from_tensor(cls, tensor: Any, block_shape: Sequence[int], padding: str = "zero") -> TensorDescriptor:
        """A descriptor of a whole tensor or array."""
        return cls(tensor, tuple(tensor.shape), _strides(tensor), tuple(block_shape), padding)


def _strides(tensor: Any) -> tuple[int, ...]:
    """Elements between neighbours: PyTorch's tensors and arrays of a device are asked for them, and NumPy's arrays have bytes."""
    if hasattr(tensor, "stride"):
        return tuple(tensor.stride())
    if callable(tensor.strides):
        return tuple(tensor.strides())
    return tuple(step // tensor.itemsize for step in tensor.strides)
