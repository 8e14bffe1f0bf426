"""Prepares launches of the kernels in `girih/torch/kernels`.

Invariant: a launch that is prepared for one device is kept with the sizes and the device that it is for, so it is prepared once.
"""

import functools
from importlib import resources

import torch

import girih
from girih.torch import device

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
    torch.float8_e4m3fn: "fp8e4nv",
    torch.float8_e5m2: "fp8e5",
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
def _kernel(file: str, name: str):
    """A kernel of `girih/torch/kernels`."""
    return _file(file).kernel(name)


def prepare(file: str, name: str, grid: tuple, memory: dict[str, torch.dtype], constants: dict, num_warps: int = 4):
    """A launch of a kernel of `girih/torch/kernels` with all that it is given but memory. `launch(*addresses)` runs it, with addresses in the order of `memory`."""
    kernel = _kernel(file, name)
    order = [parameter for parameter, _ in kernel.parameters if parameter in memory]
    if order != list(memory):
        raise ValueError(f"the kernel `{name}` takes memory as {order}, not as {list(memory)}")
    given = constants | {parameter: (NAMES[dtype],) for parameter, dtype in memory.items()}
    return kernel.prepare(device.current(), grid, given, num_warps=num_warps)
