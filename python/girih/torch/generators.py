"""`torch.Generator(device="girih")`: a generator of the host's kind, which draws the seeds of the device's kernels.

PyTorch makes generators in C++, one class for each device, and has none for this one. A generator of the device is one of the host that says of itself that it is on `girih:0`.
Invariant: what is drawn on the device depends on the state of the generator that a call is given alone, or of the host's default generator where it is given none.
"""

import contextlib
import threading

import torch

_Plain = torch._C.Generator
_drawing = threading.local()


class _Kind(type):
    """PyTorch's own generators, which C++ makes, are instances of `torch.Generator`, too."""

    def __instancecheck__(cls, value):
        return isinstance(value, _Plain)


class Generator(_Plain, metaclass=_Kind):
    """What `torch.Generator` is: PyTorch's, with the device `girih` among its devices."""

    def __new__(cls, device="cpu"):
        place = torch.device(device)
        if place.type != "girih":
            return _Plain(place)
        made = super().__new__(cls, "cpu")
        return made

    @property
    def device(self):
        return torch.device("girih", 0)

    def clone_state(self):
        """A generator of the device with the same state."""
        return self.__class__("girih").set_state(self.get_state())

    def __reduce__(self):
        return _restored, (self.get_state(),)

    def __deepcopy__(self, memory):
        return self.clone_state()

    def __repr__(self):
        return f"<torch.Generator on girih:0, first seed {self.initial_seed()}>"


def _restored(state):
    return Generator("girih").set_state(state)


@contextlib.contextmanager
def drawing_from(generator):
    """Has seeds drawn from a generator."""
    before = current()
    _drawing.generator = generator
    try:
        yield
    finally:
        _drawing.generator = before


def current():
    """The generator that seeds are drawn from; `None` stands for the host's default one."""
    return getattr(_drawing, "generator", None)


def without(args, kwargs):
    """The generator of a call, or `None`, and the call's arguments without it."""
    found = next((value for value in (*args, *kwargs.values()) if isinstance(value, _Plain)), None)
    if found is None:
        return None, args, kwargs
    drop = lambda value: None if isinstance(value, _Plain) else value
    return found, tuple(map(drop, args)), {name: drop(value) for name, value in kwargs.items()}


def register() -> None:
    """Puts it in place."""
    Generator.__module__, Generator.__qualname__ = "torch", "Generator"
    torch.Generator = Generator
