"""Kernels from PTX text or a cubin, through the driver API by ctypes, beside PyTorch's context and memory."""

import ctypes
import subprocess
import tempfile
from pathlib import Path

import torch


class DriverError(RuntimeError):
    """A call of the CUDA driver that failed, with the driver's own words."""


def _driver():
    if not torch.cuda.is_available():
        raise DriverError("no CUDA device is visible")
    torch.cuda.init()
    torch.empty(1, device="cuda")  # makes the primary context current
    return ctypes.CDLL("libcuda.so.1")


_LIB = _driver()


def _check(code, doing, more=""):
    if code == 0:
        return
    text = ctypes.c_char_p()
    _LIB.cuGetErrorString(code, ctypes.byref(text))
    raise DriverError(f"{doing}: {(text.value or b'unknown error').decode()} ({code}){more}")


_LOG_BYTES = 1 << 16
_JIT_ERROR_LOG, _JIT_ERROR_LOG_BYTES = 5, 6
_MAX_DYNAMIC_SHARED = 8


class Module:
    """A loaded image: PTX text (compiled by the driver) or a cubin."""

    def __init__(self, image):
        if isinstance(image, str):
            image = image.encode() + b"\0"
        log = ctypes.create_string_buffer(_LOG_BYTES)
        keys = (ctypes.c_int * 2)(_JIT_ERROR_LOG, _JIT_ERROR_LOG_BYTES)
        values = (ctypes.c_void_p * 2)(ctypes.cast(log, ctypes.c_void_p), _LOG_BYTES)
        self._module = ctypes.c_void_p()
        code = _LIB.cuModuleLoadDataEx(ctypes.byref(self._module), image, 2, keys, values)
        _check(code, "load a module", "\n" + log.value.decode(errors="replace") if code else "")

    def kernel(self, name, shared=0):
        """The kernel `name`, allowed `shared` bytes of dynamic shared memory."""
        function = ctypes.c_void_p()
        _check(_LIB.cuModuleGetFunction(ctypes.byref(function), self._module, name.encode()), f"find `{name}`")
        if shared > 48 * 1024:
            _check(_LIB.cuFuncSetAttribute(function, _MAX_DYNAMIC_SHARED, shared), f"allow {shared} bytes to `{name}`")

        def launch(grid, block, *arguments):
            held = [_argument(a) for a in arguments]
            pointers = (ctypes.c_void_p * len(held))(*[ctypes.addressof(h) for h in held])
            stream = ctypes.c_void_p(torch.cuda.current_stream().cuda_stream)
            grid, block = (*grid, 1, 1)[:3], (*block, 1, 1)[:3]
            code = _LIB.cuLaunchKernel(function, *grid, *block, shared, stream, pointers, None)
            _check(code, f"launch `{name}`")

        return launch


def _argument(value):
    if isinstance(value, torch.Tensor):
        return ctypes.c_uint64(value.data_ptr())
    if isinstance(value, float):
        return ctypes.c_float(value)
    return ctypes.c_uint32(value)


def compile_cuda(source, *flags):
    """The module of a CUDA C file, compiled by nvcc for the device at hand."""
    major, minor = torch.cuda.get_device_capability()
    with tempfile.TemporaryDirectory() as folder:
        cubin = Path(folder) / "kernel.cubin"
        command = ["nvcc", "-cubin", "-O3", f"-arch=sm_{major}{minor}", *flags, "-o", str(cubin), str(source)]
        subprocess.run(command, check=True)
        return Module(cubin.read_bytes())


def times(work, repeats=50, warmups=10):
    """The times of `repeats` runs of `work` in microseconds, ascending, by a pair of events each."""
    for _ in range(warmups):
        work()
    pairs = [(torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)) for _ in range(repeats)]
    for start, stop in pairs:
        start.record()
        work()
        stop.record()
    torch.cuda.synchronize()
    return sorted(start.elapsed_time(stop) * 1000.0 for start, stop in pairs)
