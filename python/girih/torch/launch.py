"""Launches kernels of Girih on tensors."""

import functools
from importlib import resources

import torch

import girih
from girih.torch import device, storages

# What Triton calls the types of memory.
NAMES = {
    torch.bool: "i1",
    torch.int8: "i8",
    torch.int16: "i16",
    torch.int32: "i32",
    torch.int64: "i64",
    torch.uint8: "u8",
    torch.uint16: "u16",
    torch.uint32: "u32",
    torch.uint64: "u64",
    torch.float16: "fp16",
    torch.bfloat16: "bf16",
    torch.float32: "fp32",
    torch.float64: "fp64",
}


@functools.cache
def _file(name: str):
    text = resources.files("girih.torch").joinpath("kernels", f"{name}.py").read_text()
    return girih.KernelFile(f"girih/torch/kernels/{name}.py", text)


@functools.cache
def kernel(file: str, name: str):
    """A kernel of `girih/torch/kernels`."""
    return _file(file).kernel(name)


def argument(value):
    """What a kernel is given for a tensor, or any other value."""
    if not isinstance(value, torch.Tensor):
        return value
    buffer, offset = storages.place_of(value)
    return buffer, offset, NAMES[value.dtype]


def launch(chosen, grid: tuple, arguments: dict, num_warps: int = 4) -> None:
    """Launches a kernel with arguments by name."""
    given = {name: argument(value) for name, value in arguments.items()}
    chosen.launch(device.current(), grid, given, num_warps=num_warps)
