"""What kernels import where Triton is not installed: `import girih.triton as triton`, `import girih.triton.language as tl`."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

from girih._native import Error
from girih.kernels import Call, Grid, JitKernel, jit, launch_device, single
from girih.triton import language, tools

__all__ = ["Config", "autotune", "cdiv", "heuristics", "jit", "language", "next_power_of_2", "tools"]


def cdiv(x: int, y: int) -> int:
    """`x` divided by `y`, rounded up."""
    return -(-x // y)


def next_power_of_2(n: int) -> int:
    """The smallest power of two that is not less than `n`."""
    return 1 << max(n - 1, 0).bit_length()


class Config:
    """A configuration to choose from: constants of a kernel, warps and stages."""

    def __init__(self, kwargs: dict[str, Any], num_warps: int = 4, num_stages: int = 3, **others: Any) -> None:
        self.kwargs, self.num_warps, self.num_stages, self.others = kwargs, num_warps, num_stages, others

    def all_kwargs(self) -> dict[str, Any]:
        """What a launch is given for it."""
        return self.kwargs | {"num_warps": self.num_warps, "num_stages": self.num_stages}

    def __repr__(self) -> str:
        return f"Config({self.kwargs}, num_warps={self.num_warps}, num_stages={self.num_stages})"


class _Choosing:
    """A kernel whose launches are given more than their caller says."""

    def __init__(self, kernel: Any) -> None:
        self.kernel = kernel
        self.name = kernel.name

    def bind(self, arguments: tuple[Any, ...], named: dict[str, Any]) -> dict[str, Any]:
        return self.kernel.bind(arguments, named)

    def launch_options(self, named: dict[str, Any]) -> dict[str, Any]:
        return self.kernel.launch_options(named)

    def parameters(self) -> list[str]:
        return self.kernel.parameters()

    def chosen(self, arguments: tuple[Any, ...], grid: Grid, named: dict[str, Any]) -> dict[str, Any]:
        raise NotImplementedError

    def __getitem__(self, grid: Grid) -> Callable[..., None]:
        return lambda *arguments, **named: self.run(*arguments, grid=grid, **named)

    def run(self, *arguments: Any, grid: Grid, **named: Any) -> None:
        self.kernel.run(*arguments, grid=grid, **(named | self.chosen(arguments, grid, named)))

    def warmup(self, *arguments: Any, grid: Grid = (1,), **named: Any) -> None:
        self.kernel.warmup(*arguments, grid=grid, **(named | self.chosen(arguments, grid, named)))


# The errors of a configuration that does not fit, where another one may: the device lacks something for it or has not as much, its driver refuses it, or a
# static assertion of the kernel does.
_UNFIT = {"B0801", "B0802", "B0905", "B1011"}


class Autotuned(_Choosing):
    """A kernel in the configuration that takes least time for its arguments.

    `best` has what was chosen, and `skipped` which configurations did not fit and why.
    """

    RUNS = 3

    def __init__(self, kernel: Any, configs: list[Config], key: list[str]) -> None:
        super().__init__(kernel)
        if not configs:
            raise ValueError("a kernel is tuned for at least one `triton.Config`")
        known = kernel.parameters()
        for name in key:
            if name not in known:
                raise ValueError(f"`{name}` in the `key` of `autotune` is no parameter of `{self.name}`: its parameters are {', '.join(known)}")
        self.configs, self.key = configs, key
        self.best: dict[tuple[Any, ...], Config] = {}
        self.skipped: list[tuple[Config, Error]] = []

    def chosen(self, arguments: tuple[Any, ...], grid: Grid, named: dict[str, Any]) -> dict[str, Any]:
        bound = self.bind(arguments, named)
        for name in self.key:
            if name not in bound:
                raise TypeError(f"{self.name}() is not given the argument `{name}`, which is in the `key` of its `autotune`")
        kinds = tuple(str(value.dtype) for value in single(bound.values()) if hasattr(value, "dtype"))
        device = launch_device(bound, self.launch_options(named).get("device"))
        key = (*(bound[name] for name in self.key), *kinds, device)
        if key not in self.best:
            only = len(self.configs) == 1
            self.best[key] = self.configs[0] if only else self._fastest(arguments, grid, named)
        return self.best[key].all_kwargs()

    def _fastest(self, arguments: tuple[Any, ...], grid: Grid, named: dict[str, Any]) -> Config:
        times, unfit = [], []
        for at, config in enumerate(self.configs):
            try:
                times.append((self._time(config, arguments, grid, named), at))
            except Error as error:
                if error.code not in _UNFIT:
                    raise
                unfit.append((config, error))
        if not times:
            raise unfit[0][1]
        for config, error in unfit:
            warnings.warn(f"`{self.name}` is tuned without {config}, which does not fit: {error.message}", stacklevel=2)
        self.skipped += unfit
        return self.configs[min(times)[1]]

    def _time(self, config: Config, arguments: tuple[Any, ...], grid: Grid, named: dict[str, Any]) -> float:
        """How long a launch takes in a configuration. What arrays of a device have is put back; those of the host are not touched."""
        kernel: Any = self.kernel
        given = named | config.all_kwargs()
        while isinstance(kernel, _Choosing):
            given |= kernel.chosen(arguments, grid, given)
            kernel = kernel.kernel
        call = Call(kernel, kernel.bind(arguments, given), kernel.launch_options(given))
        kept = [(buffer, call.device.allocate(buffer.nbytes)) for buffer in call.memory()]
        for buffer, copy in kept:
            copy.copy_from(buffer)
        try:
            return call.seconds(kernel.kernel, grid(call.meta) if callable(grid) else grid, self.RUNS)
        finally:
            for buffer, copy in kept:
                buffer.copy_from(copy)


class Heuristic(_Choosing):
    """A kernel some of whose constants are functions of its arguments."""

    def __init__(self, kernel: Any, values: dict[str, Callable[[dict[str, Any]], Any]]) -> None:
        super().__init__(kernel)
        self.values = values

    def chosen(self, arguments: tuple[Any, ...], grid: Grid, named: dict[str, Any]) -> dict[str, Any]:
        bound = self.bind(arguments, named)
        return {name: value(bound) for name, value in self.values.items()}


def autotune(configs: list[Config], key: list[str], **others: Any) -> Callable[[Any], Autotuned]:
    """Chooses the fastest configuration, once for each value of the parameters in `key`, the types of the arrays, and the device.

    A configuration that does not fit the device is left out with a warning. Raises `ValueError` if `key` names what is no parameter.
    """
    if others:
        raise TypeError(f"`autotune` takes `configs` and `key` here, not {', '.join(others)}")
    return lambda kernel: Autotuned(kernel, configs, key)


def heuristics(values: dict[str, Callable[[dict[str, Any]], Any]]) -> Callable[[Any], Heuristic]:
    """Computes constants from the arguments of a launch."""
    return lambda kernel: Heuristic(kernel, values)
