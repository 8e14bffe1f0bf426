"""Girih: Triton kernels and Bend's pictures on every GPU.

>>> import girih
>>> girih.render("shaders/plasma.bend", size=(320, 200)).shape
(200, 320, 4)
"""

from girih._native import Buffer, Device, Error, Kernel, KernelFile, OutOfMemory, devices
from girih.arrays import Array, array, default_device, empty, use
from girih.kernels import JitKernel, jit
from girih.pictures import render

__all__ = [
    "Array",
    "Buffer",
    "Device",
    "Error",
    "JitKernel",
    "Kernel",
    "KernelFile",
    "OutOfMemory",
    "array",
    "default_device",
    "devices",
    "empty",
    "jit",
    "render",
    "use",
]
