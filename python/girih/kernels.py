"""Triton kernels that are written in Python files.

The compiler reads the file that a kernel stands in: Python only calls it. So a kernel sees what its file defines and imports, as the file's text says it.
"""

from __future__ import annotations

import functools
import inspect
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from girih._native import Device, Kernel, KernelFile
from girih.arrays import element_name, kernel_name
from girih.device import as_device

Grid = int | tuple[int, ...] | Callable[[dict[str, Any]], int | tuple[int, ...]]


def jit(function: Callable[..., Any] | None = None, **options: Any) -> Any:
    """Makes a function a Triton kernel: `@girih.jit`, launched as `kernel[grid](...)`.

    `num_warps` and `num_stages` are what launches say unless they say something else. Errors of the kernel are `girih.Error`, which underlines its source.
    """
    if function is None:
        return functools.partial(jit, **options)
    try:
        lines, _ = inspect.findsource(function)
    except OSError as error:
        raise OSError(f"the source of `{function.__name__}` cannot be read: a kernel is compiled from its file") from error
    name = inspect.getsourcefile(function) or function.__code__.co_filename
    parameters = inspect.signature(function).parameters.values()
    defaults = {p.name: p.default for p in parameters if p.default is not p.empty}
    kernel = JitKernel(function.__name__, name, "".join(lines), defaults, options)
    functools.update_wrapper(kernel, function)
    return kernel


class JitKernel:
    """A Triton kernel of a file, compiled when it is launched, once for each device and kind of arguments."""

    def __init__(
        self, name: str, file: str, text: str, defaults: dict[str, Any], options: dict[str, Any] | None = None
    ) -> None:
        self.name, self.file, self.text, self.defaults = name, file, text, defaults
        self.options = dict(options or {})
        self._lock = threading.Lock()
        self._kernel: Kernel | None = None
        self._names: list[str] = []
        self._constants: set[str] = set()

    @property
    def kernel(self) -> Kernel:
        """The kernel of the compiler. Raises `girih.Error` if the file cannot be read as Python."""
        if self._kernel is None:
            with self._lock:
                kernel = KernelFile(self.file, self.text).kernel(self.name)
                self._names = [name for name, _ in kernel.parameters]
                self._constants = {name for name, is_constant in kernel.parameters if is_constant}
                self._kernel = kernel
        return self._kernel

    def parameters(self) -> list[str]:
        """The names of its parameters. The file is not compiled for them where the function is at hand."""
        if hasattr(self, "__wrapped__"):
            return list(inspect.signature(self.__wrapped__).parameters)
        return [name for name, _ in self.kernel.parameters]

    def __getitem__(self, grid: Grid) -> Callable[..., None]:
        """What launches so many programs: `kernel[(4,)](x, n, BLOCK=64)`. A grid is a number, a tuple, or a function of the arguments."""
        return functools.partial(self.run, grid=grid)

    def run(self, *arguments: Any, grid: Grid, **named: Any) -> None:
        """Launches the kernel.

        Arguments are NumPy arrays (copied to the device, and back when the kernel is done), `girih.Array`, other objects with memory on a device, objects of
        the host's memory with DLPack, numbers, tuples of these, `TensorDescriptor`s, and for constants also texts, types and `None`. `device`, `num_warps` and `num_stages` say more of the launch.
        Raises `ValueError` if the kernel has written to an array that is read-only: what it has written to the others is in them then.
        """
        kernel = self.kernel
        call = Call(self, self.bind(arguments, named), self.launch_options(named))
        size = grid(call.meta) if callable(grid) else grid
        kernel.launch(call.device, size, call.arguments, call.num_warps, call.num_stages)
        call.bring_back()

    def warmup(self, *arguments: Any, grid: Grid = (1,), **named: Any) -> None:
        """Compiles the kernel for such arguments, and launches nothing."""
        kernel = self.kernel
        call = Call(self, self.bind(arguments, named), self.launch_options(named))
        kernel.warmup(call.device, call.arguments, call.num_warps, call.num_stages)

    def bind(self, arguments: tuple[Any, ...], named: dict[str, Any]) -> dict[str, Any]:
        """The arguments by the names of the parameters. Raises `TypeError` as a call of the function would."""
        kernel = self.kernel
        if len(arguments) > len(self._names):
            raise TypeError(f"{kernel.name}() takes {len(self._names)} arguments but {len(arguments)} were given")
        bound = dict(zip(self._names, arguments))
        for name, value in named.items():
            if name in bound:
                raise TypeError(f"{kernel.name}() got two values for the argument `{name}`")
            if name in self._names:
                bound[name] = value
            elif name not in LAUNCH_OPTIONS:
                raise TypeError(f"{kernel.name}() has no parameter `{name}`: its parameters are {', '.join(self._names)}")
        return {name: bound.get(name, self.defaults.get(name)) for name in self._names if name in bound or name in self.defaults}

    def launch_options(self, named: dict[str, Any]) -> dict[str, Any]:
        """What a launch says beside arguments, or else the decorator."""
        return self.options | {name: named[name] for name in LAUNCH_OPTIONS if name in named and name not in self._names}

    def __call__(self, *arguments: Any, **named: Any) -> None:
        """A kernel is not called by Python."""
        raise TypeError(f"`{self.name}` is a kernel: launch it as `{self.name}[grid](...)`")

    def __reduce__(self) -> tuple[Any, ...]:
        return JitKernel, (self.name, self.file, self.text, self.defaults, self.options)

    def __repr__(self) -> str:
        return f"<girih.JitKernel {self.name}>"


# What a launch may say beside arguments.
LAUNCH_OPTIONS = ("device", "num_warps", "num_stages")


class Call:
    """The arguments of a launch as the device has them, and which arrays of the host wait for what the kernel writes."""

    def __init__(self, kernel: JitKernel, bound: dict[str, Any], options: dict[str, Any]) -> None:
        self.num_warps, self.num_stages = options.get("num_warps"), options.get("num_stages")
        self.meta = bound
        self.arguments: dict[str, Any] = {}
        self._host: list[tuple[str, Any, Any]] = []
        self.device = launch_device(bound, options.get("device"))
        for name, value in bound.items():
            self.arguments[name] = self._argument(name, value)

    def _argument(self, name: str, value: Any) -> Any:
        place = _on_device(value)
        if place is not None:
            return place
        if value is None or isinstance(value, (bool, int, float, str)):
            return value
        if isinstance(value, tuple):
            return [self._argument(f"{name}[{i}]", element) for i, element in enumerate(value)]
        if _is_descriptor(value):
            return self._descriptor(name, value)
        if hasattr(value, "value") and type(value).__name__ == "constexpr":
            return value.value
        if type(value).__name__ == "dtype" and not hasattr(value, "itemsize"):
            return str(value)
        if hasattr(value, "__array_interface__") and getattr(value, "shape", None) == () and hasattr(value, "item"):
            if not hasattr(value, "setflags") or type(value).__name__ != "ndarray":
                return value.item()
        if hasattr(value, "__array_interface__") or hasattr(value, "__dlpack__"):
            return self._upload(name, value)
        raise TypeError(f"`{name}` is given an object of the type `{type(value).__name__}`, which is no array and no number")

    def memory(self) -> list[Any]:
        """The buffers that the kernel is given, each once."""
        found: dict[int, Any] = {}
        rest = list(self.arguments.values())
        while rest:
            value = rest.pop()
            if isinstance(value, tuple):
                found[id(value[0])] = value[0]
            elif isinstance(value, list):
                rest += value
            elif isinstance(value, dict):
                rest.append(value["base"])
        return list(found.values())

    def _descriptor(self, name: str, value: Any) -> dict[str, Any]:
        numbers = {part: [int(n) for n in getattr(value, part)] for part in ("shape", "strides", "block_shape")}
        return {"base": self._argument(f"{name}.base", value.base), "padding": getattr(value, "padding", "zero"), **numbers}

    def _upload(self, name: str, value: Any) -> tuple[Any, int, str]:
        import numpy

        host = value
        if not isinstance(value, numpy.ndarray):
            _refuse_other_devices(name, value)
            host = numpy.from_dlpack(value) if hasattr(value, "__dlpack__") else numpy.asarray(value, copy=False)
        dtype = kernel_name(element_name(host.dtype))
        # Rows that stand one beside the other have their elements so, too.
        flat = host.T if host.flags.f_contiguous and not host.flags.c_contiguous else host
        if not flat.flags.c_contiguous:
            raise ValueError(f"the elements of `{name}` do not stand one beside the other: give `numpy.ascontiguousarray({name})`")
        flat = flat.reshape(-1)
        for at, (_, other, buffer) in enumerate(self._host):
            if _same_memory(other, flat):
                # One of two views may be the one that can be written.
                if flat.flags.writeable:
                    self._host[at] = (name, flat, buffer)
                return buffer, 0, dtype
            if numpy.may_share_memory(other, flat):
                raise ValueError(f"the memory of `{name}` is a part of another argument's: give a copy, or arrays of a device")
        buffer = self.device.allocate(flat.nbytes)
        if flat.nbytes:
            buffer.write(flat)
        self._host.append((name, flat, buffer))
        return buffer, 0, dtype

    def bring_back(self) -> None:
        """Waits for the kernel if arrays of the host may have been written, and copies what they have now."""
        import numpy

        lost = []
        for name, host, buffer in self._host:
            if host.nbytes and host.flags.writeable:
                buffer.read_into(host)
            elif host.nbytes:
                now = numpy.frombuffer(buffer.read(0, host.nbytes), numpy.uint8)
                lost += [] if numpy.array_equal(now, host.view(numpy.uint8)) else [name]
        if lost:
            hint = "give a writable array, or one of a device, such as `girih.array(..)`"
            raise ValueError(f"the kernel has written to {', '.join(f'`{name}`' for name in lost)}, whose memory is read-only, so it is as before: {hint}")

    def seconds(self, kernel: Kernel, size: Any, runs: int) -> float:
        """How long a launch takes: the best of some, after one that does not count."""
        best = float("inf")
        for number in range(runs + 1):
            self.device.synchronize()
            began = time.perf_counter()
            kernel.launch(self.device, size, self.arguments, self.num_warps, self.num_stages)
            self.device.synchronize()
            if number > 0:
                best = min(best, time.perf_counter() - began)
        return best


def _same_memory(one: Any, other: Any) -> bool:
    return one.__array_interface__["data"][0] == other.__array_interface__["data"][0] and one.nbytes == other.nbytes


def launch_device(bound: dict[str, Any], asked: str | Device | None) -> Device:
    """The device that a launch with such arguments runs on: the one that is asked for, that of the first array of a device, or the default one."""
    if asked is None:
        for value in single(bound.values()):
            place = _on_device(value)
            if place is not None:
                return place[0].device
    return as_device(asked)


def single(values: Iterable[Any]) -> Iterator[Any]:
    """The values that are not made of others: the elements of tuples, and what descriptors describe."""
    for value in values:
        if isinstance(value, tuple):
            yield from single(value)
        else:
            yield value.base if _is_descriptor(value) else value


def _is_descriptor(value: Any) -> bool:
    """Whether it is what `triton.tools.tensor_descriptor` has, of Triton itself or of the module that stands in for it."""
    return type(value).__name__ == "TensorDescriptor" and hasattr(value, "block_shape")


def _on_device(value: Any) -> tuple[Any, int, str] | None:
    """Where a value is that is on a device."""
    if not hasattr(value, "__girih_buffer__"):
        return None
    place = value.__girih_buffer__()
    return None if place is NotImplemented else place


# The kinds of devices of DLPack whose memory the host reaches: its own, and what drivers of CUDA and ROCm have pinned there.
_HOST_KINDS = (1, 3, 11)


def _refuse_other_devices(name: str, value: Any) -> None:
    """Raises `TypeError` for an object whose memory is on a device that is not of Girih."""
    kind, number = value.__dlpack_device__() if hasattr(value, "__dlpack_device__") else (1, 0)
    if kind not in _HOST_KINDS:
        place = getattr(value, "device", None) or f"the device {number} of DLPack's kind {int(kind)}"
        raise TypeError(f"`{name}` is on `{place}`, which is no device of Girih: give a copy in the host's memory")
