"""Which device is meant: everything that takes a device takes the same, and asks the same where none is named."""

import girih
import numpy as np
import pytest

BEND = "def double(x: u24) -> u24:\n  return x * 2\n"
SHADER = "def shader(x: u24, y: u24, t: f24) -> u24:\n  return x\n"


def docstring(device):
    @girih.bend_function(device=device)
    def double(x):
        """
        def double(x: u24) -> u24:
          return x * 2
        """

    return double(4)


# What takes `device=`; each is called with one.
TAKERS = {
    "array": lambda device: girih.array(np.zeros(2), device=device).shape,
    "empty": lambda device: girih.empty(2, device=device).shape,
    "render": lambda device: girih.render(text=SHADER, size=(2, 2), device=device).shape,
    "bend": lambda device: girih.bend(text=BEND, device=device).double(4),
    "function": lambda device: girih.bend(text=BEND).double(4, device=device),
    "docstring": docstring,
}


@pytest.mark.parametrize("name", TAKERS)
def test_devices_are_names_or_themselves(name):
    assert TAKERS[name]("cpu") == TAKERS[name](girih.Device("cpu"))
    with pytest.raises(girih.Error, match="`nosuch` is not a device"):
        TAKERS[name]("nosuch")
    with pytest.raises(TypeError, match="a device is a name .* not an object of the type `int`"):
        TAKERS[name](3)


@pytest.mark.parametrize("name", TAKERS)
def test_where_none_is_named_the_variable_is_asked(name, monkeypatch):
    monkeypatch.setenv("GIRIH_DEVICE", "nosuch")
    with pytest.raises(girih.Error, match="`nosuch` is not a device"):
        TAKERS[name](None)
    girih.use("cpu")
    try:
        assert TAKERS[name](None) == TAKERS[name]("cpu")
    finally:
        girih.use(None)


def test_use_refuses_what_is_no_device():
    with pytest.raises(TypeError, match="a device is a name"):
        girih.use(3)
    assert girih.default_device() == girih.Device(girih.default_device().name)
