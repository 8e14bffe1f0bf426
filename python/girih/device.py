"""Which device is meant: by name, as itself, or where none is named.

Invariant: whatever takes a `device` takes the same things, a name, a `girih.Device` or `None`, and says the same of anything else.
"""

from __future__ import annotations

import os
import threading

from girih._native import Device

_chosen = threading.local()


def use(device: str | Device | None) -> None:
    """Chooses the device of this thread where none is named; `None` goes back to `GIRIH_DEVICE` or the best there is."""
    _chosen.device = None if device is None else as_device(device)


def default_device() -> Device:
    """The device that is meant where none is named: that of `use`, of the variable `GIRIH_DEVICE`, or the best there is."""
    chosen = getattr(_chosen, "device", None)
    return chosen if chosen is not None else Device(os.environ.get("GIRIH_DEVICE") or None)


def as_device(device: str | Device | None) -> Device:
    """A device by its name or itself; `None` is the default one.

    Raises `TypeError` for anything else, `girih.Error` if there is no device of the name.
    """
    if device is None:
        return default_device()
    if isinstance(device, str):
        return Device(device)
    if not isinstance(device, Device):
        raise TypeError(f'a device is a name such as "cpu", or a `girih.Device`, not an object of the type `{type(device).__name__}`')
    return device


def device_name(device: str | Device | None) -> str | None:
    """What a device is called, for what opens it by its name. `None` where nothing chooses one: then what opens it chooses.

    Raises as `as_device` does.
    """
    if device is None and getattr(_chosen, "device", None) is None and not os.environ.get("GIRIH_DEVICE"):
        return None
    return as_device(device).name
