"""Girih: Bend programs and Triton kernels on every GPU."""

from girih._native import Buffer, Device, Error, Kernel, KernelFile, OutOfMemory, devices

__all__ = ["Buffer", "Device", "Error", "Kernel", "KernelFile", "OutOfMemory", "devices"]
