"""A module `triton` where none is installed: what Inductor's code generation asks of it while nothing runs in Triton itself.

Kernels are written as text, which Girih's own compiler reads. So decorators return what they are given, and names of the language stand for themselves.
Invariant: a real `triton` is never replaced, and calling what would compile or run a kernel is an error that says what to import instead.
"""

import functools
import hashlib
import importlib.machinery
import importlib.util
import pathlib
import sys
import types


def _refused(name):
    """The error of what only Triton itself can run."""
    hint = "import `girih.triton` for kernels on devices of Girih, or install Triton"
    return RuntimeError(f"`{name}` of Triton cannot be run: there is only Girih's stand-in for the module `triton`; {hint}")


class _Named:
    """A name of the language, which has no meaning for Python."""

    def __init__(self, name="tensor"):
        self.name = name

    def __call__(self, *arguments, **named):
        raise _refused(self.name)


class _Unlaunchable(_Named):
    """A kernel of a library that takes the stand-in for Triton."""

    def __getitem__(self, grid):
        raise _refused(self.name)


class dtype(_Named):
    """A type of the language."""


class constexpr:
    """A constant of a kernel."""

    def __init__(self, value):
        self.value = value


class JITFunction:
    """A kernel of Triton; none is ever made here."""


class KernelInterface:
    """What Inductor's own launchers derive from."""

    def __class_getitem__(cls, item):
        return cls


class Config:
    """A configuration of a kernel."""

    def __init__(self, kwargs, num_warps=4, num_stages=3, num_ctas=1, maxnreg=None, pre_hook=None, ir_override=None):
        self.kwargs, self.num_warps, self.num_stages, self.num_ctas = kwargs, num_warps, num_stages, num_ctas
        self.maxnreg, self.pre_hook, self.ir_override = maxnreg, pre_hook, ir_override


class Autotuner(KernelInterface):
    """Triton's own search for configurations; none is ever made here."""


class Heuristics(KernelInterface):
    """Values that follow from others; none are ever made here."""


class CompiledKernel:
    """A kernel that Triton has compiled; none is ever made here."""


class ASTSource:
    """The source of a kernel; none is ever made here."""


class OutOfResources(Exception):
    """A kernel that is too large for a device."""


class CompilationError(Exception):
    """A kernel that Triton refuses."""


class GPUTarget:
    """What Triton compiles for."""

    def __init__(self, backend, arch, warp_size):
        self.backend, self.arch, self.warp_size = backend, arch, warp_size


class Backend:
    """What Triton compiles with; its name takes part in the keys of Inductor's caches."""

    def hash(self):
        return _key()


class _Driver:
    """What Triton runs kernels by; only its target is asked for."""

    def get_current_target(self):
        return GPUTarget("girih", 80, 32)

    def get_current_device(self):
        return 0


class _Language(types.ModuleType):
    """`triton.language`, whose names stand for themselves."""

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return _Named(name)


def _jit(function=None, **options):
    """Functions of PyTorch's own are read as text, and stay as they are; nobody can launch others."""
    if function is None:
        return _jit
    return function if function.__module__.partition(".")[0] == "torch" else _Unlaunchable(function.__name__)


def _view(input, shape, _semantic=None):
    raise _refused("view")


def _cdiv(a, b):
    return -(-a // b)


def _next_power_of_2(n):
    return 1 << max(n - 1, 0).bit_length()


@functools.cache
def _key():
    """What Inductor's caches tell versions of Girih by: its version, and the text of what takes part in writing kernels."""
    import girih

    texts = hashlib.sha256()
    for file in sorted(pathlib.Path(__file__).parent.rglob("*.py")):
        texts.update(file.read_bytes())
    return f"girih-{girih.__version__}-{texts.hexdigest()[:16]}"


def register() -> None:
    """Puts the modules in place, unless Triton is installed."""
    if "triton" in sys.modules or importlib.util.find_spec("triton") is not None:
        return
    language = _module("triton.language", _Language, dtype=dtype, constexpr=constexpr, tensor=_Named, math=_Language("triton.language.math"))
    for name in ("float16", "bfloat16", "float32", "float64", "int1", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"):
        setattr(language, name, dtype(name))
    language.core = _module("triton.language.core", _Language, view=_view)
    language.standard = _module("triton.language.standard", _Language, _log2=_Named("_log2"))
    language.extra = _module("triton.language.extra", _Language)
    language.extra.libdevice = _module("triton.language.extra.libdevice", _Language)
    compiler = _module("triton.compiler", CompiledKernel=CompiledKernel)
    compiler.compiler = _module("triton.compiler.compiler", ASTSource=ASTSource, CompiledKernel=CompiledKernel, triton_key=_key, make_backend=lambda target: Backend())
    compiler.errors = _module("triton.compiler.errors", CompilationError=CompilationError)
    backends = _module("triton.backends", backends={})
    backends.compiler = _module("triton.backends.compiler", GPUTarget=GPUTarget)
    runtime = _module("triton.runtime")
    runtime.autotuner = _module("triton.runtime.autotuner", Autotuner=Autotuner, Config=Config, Heuristics=Heuristics, OutOfResources=OutOfResources)
    runtime.jit = _module("triton.runtime.jit", JITFunction=JITFunction, KernelInterface=KernelInterface)
    active = _Driver()
    runtime.driver = _module("triton.runtime.driver", active=active)
    runtime.driver.driver = runtime.driver
    runtime.cache = _module("triton.runtime.cache", triton_key=_key)
    names = {"Config": Config, "JITFunction": JITFunction, "jit": _jit, "cdiv": _cdiv, "next_power_of_2": _next_power_of_2}
    parts = {"language": language, "compiler": compiler, "backends": backends, "runtime": runtime}
    _module("triton", __version__="3.6.0", is_stand_in=True, **names, **parts)


def is_stand_in() -> bool:
    """Whether `triton` is this module."""
    return getattr(sys.modules.get("triton"), "is_stand_in", False)


def _module(name, kind=types.ModuleType, **names):
    """A module in `sys.modules`."""
    made = kind(name)
    made.__dict__.update(names)
    made.__spec__ = importlib.machinery.ModuleSpec(name, None, is_package=True)
    made.__path__ = []
    sys.modules[name] = made
    return made
