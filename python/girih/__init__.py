"""Girih: Bend programs and Triton kernels on every GPU.

>>> import girih
>>> girih.render("shaders/plasma.bend", size=(320, 200)).shape
(200, 320, 4)
"""

from girih._native import VERSION as __version__
from girih._native import AssertionFailed, Buffer, Device, Error, Kernel, KernelFile, OutOfBounds, OutOfMemory, devices
from girih.arrays import Array, array, empty
from girih.device import default_device, use
from girih.kernels import JitKernel, jit
from girih.pictures import render
from girih.programs import Function, Program, bend, bend_function

__all__ = [
    "Array",
    "AssertionFailed",
    "Buffer",
    "Device",
    "Error",
    "Function",
    "JitKernel",
    "Kernel",
    "KernelFile",
    "OutOfBounds",
    "OutOfMemory",
    "Program",
    "array",
    "bend",
    "bend_function",
    "default_device",
    "devices",
    "empty",
    "jit",
    "render",
    "use",
]
