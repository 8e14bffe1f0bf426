"""Registers the device with Inductor: its scheduler, its wrapper, and what runs its kernels."""

import functools

import torch
import torch._inductor.async_compile as async_compile
import torch._inductor.compile_fx as compile_fx
import torch._inductor.scheduler as scheduler
import torch._inductor.utils as utils
from torch._dynamo import register_backend
from torch._inductor.codegen.common import DeviceOpOverrides, register_backend_for_device, register_device_op_overrides
from torch._inductor.codegen.triton import TritonScheduling
from torch._inductor.codegen.wrapper import PythonWrapperCodegen

from girih.torch import triton_names
from girih.torch.inductor import compiling
from girih.torch.inductor.early import launches
from girih.torch.inductor.kernels import Kernel
from girih.torch.inductor.recorded import can_be_recorded


class Overrides(DeviceOpOverrides):
    """Statements of the wrapper that Inductor writes around its kernels."""

    def import_get_raw_stream_as(self, name):
        return f"def {name}(index):\n    return 0\n"

    def set_device(self, index):
        return "pass"

    def synchronize(self):
        return "torch.girih.synchronize()"

    def device_guard(self, index):
        return "torch._ops.contextlib.nullcontext()"


class Wrapper(PythonWrapperCodegen):
    """The code that Inductor writes around its kernels: it makes tensors and products by `calls`, has its kernels compiled early, and is recorded where it can be."""

    @staticmethod
    def create(is_subgraph, *args, **kwargs):
        return PythonWrapperCodegen.create(is_subgraph, *args, **kwargs) if is_subgraph else Wrapper()

    def write_header(self):
        super().write_header()
        self.header.writeline("from girih.torch.inductor.calls import empty_strided_girih, extern_kernels")

    def generate_after_suffix(self, result):
        super().generate_after_suffix(result)
        result.writeline("from girih.torch.inductor.early import compile_early")
        result.writeline(f"compile_early(globals(), {launches(result.getvalue())!r})")
        if can_be_recorded(result.getvalue()):
            result.writeline("from girih.torch.inductor.recorded import Recorded")
            result.writeline("call = Recorded(call)")

    def make_allocation(self, name, device, *args, **kwargs):
        made = super().make_allocation(name, device, *args, **kwargs)
        if device.type != "girih":
            return made
        return made.replace("empty_strided(", "empty_strided_girih(", 1).replace("device='girih', dtype=", "", 1)


def register() -> None:
    """Registers it, once."""
    if "girih" in utils.GPU_TYPES:
        return
    utils.GPU_TYPES.append("girih")
    register_backend_for_device("girih", TritonScheduling, Wrapper)
    register_device_op_overrides("girih", Overrides())
    scheduler.has_triton = lambda: True
    compiling.register()
    _register_by_name()
    _plan_no_products()
    _launch_ours()
    _need_no_driver()


def _register_by_name() -> None:
    """Makes `torch.compile(backend="girih", options={"compiler": ..})` known: `inductor`, which is meant without options, or `graph`."""

    def girih(graph, inputs, options=None):
        from girih.torch.graph import compiled

        compilers = {"inductor": compile_fx.compile_fx, "graph": compiled}
        rest = dict(options or {})
        name = rest.pop("compiler", "inductor")
        if name not in compilers or rest:
            raise ValueError(f"options of the backend girih are {{'compiler': 'inductor'}} or {{'compiler': 'graph'}}, not {options}")
        return compilers[name](graph, inputs)

    register_backend(girih, name="girih")


def _plan_no_products() -> None:
    """Products are launched by `products`: Inductor's own templates for them are not for this device, whatever its size."""
    theirs = utils.is_big_gpu

    def is_big_gpu(index_or_device=0):
        is_ours = isinstance(index_or_device, torch.device) and index_or_device.type == "girih"
        return not is_ours and theirs(index_or_device)

    utils.is_big_gpu = is_big_gpu


def _need_no_driver() -> None:
    """Where Triton is installed but has no card, the key of Inductor's caches names Girih in the place of Triton's driver."""
    theirs = torch.utils._triton.triton_backend

    def triton_backend():
        try:
            return theirs()
        except RuntimeError:
            return triton_names.Backend()

    torch.utils._triton.triton_backend = triton_backend


def _launch_ours() -> None:
    """Kernels for this device are compiled and run by Girih, others as before."""
    theirs = async_compile.AsyncCompile.triton

    def triton(self, kernel_name, source_code, device_str=None):
        if device_str == "girih":
            return _kernel(kernel_name, source_code)
        if device_str is None:
            # Once Inductor's worker processes are up, it hands each kernel to them ahead of time, whatever device it is for.
            ours = triton_names.is_stand_in() or _is_for_girih(source_code)
            return None if ours else theirs(self, kernel_name, source_code)
        if triton_names.is_stand_in():
            raise RuntimeError(f"torch.compile for tensors of `{device_str}` needs Triton, which is not installed")
        return theirs(self, kernel_name, source_code, device_str)

    async_compile.AsyncCompile.triton = triton


@functools.lru_cache(maxsize=4096)
def _kernel(name: str, source_code: str) -> Kernel:
    """A kernel, made once for each text."""
    return Kernel(name, source_code)


def _is_for_girih(source_code: str) -> bool:
    """Whether Inductor says in a kernel that it is for this device."""
    return "DeviceProperties(type='girih'" in source_code
