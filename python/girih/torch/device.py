"""Which device of Girih the tensors of `girih` are on, and its figures.

Invariant: all living tensors are on one device, because PyTorch sees one device `girih:0`.
"""

import os

import girih
from girih.device import as_device

_current = None


def current() -> "girih.Device":
    """The device. It is opened when it is first needed: the one that `use` or the variable `GIRIH_DEVICE` names, else the best one that there is."""
    global _current
    if _current is None:
        _current = girih.Device(os.environ.get("GIRIH_DEVICE") or None)
    return _current


def is_open() -> bool:
    """Whether the device was opened."""
    return _current is not None


def use(name: "str | girih.Device") -> None:
    """Puts the tensors that are made from now on on a device: a `girih.Device`, or a name such as `cpu`, `wgpu`, `cuda` or `cuda:1`.

    Raises `RuntimeError` while tensors are on another one, and `girih.Error` where there is no such device.
    """
    from girih.torch import storages

    global _current
    if name is None:
        raise TypeError("girih.torch.use takes the name of a device, or a `girih.Device`")
    chosen = as_device(name)
    if _current is not None and _current != chosen and storages.count():
        count = storages.count()
        message = f"{count} tensors are still on `{_current.name}`: girih.torch.use(\"{chosen.name}\") comes before the first tensor, or after the last one is gone"
        raise RuntimeError(message)
    _current = chosen


def synchronize() -> None:
    """Waits until the device has done all work so far."""
    current().synchronize()


def memory_summary() -> str:
    """How much memory the device has given out, in a few lines."""
    figures = current().memory()
    rows = [f"  {name:12} {value:>16,}" for name, value in figures.items()]
    return "\n".join([f"memory of {current().name} (bytes, and numbers of buffers)", *rows])
