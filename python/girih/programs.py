"""Bend programs as objects whose attributes are their functions."""

from __future__ import annotations

import collections
import dataclasses
import functools
import hashlib
import inspect
import os
import threading
import weakref
from collections.abc import Callable
from typing import Any

from girih._native import BendProgram, Device
from girih.device import device_name
from girih.names import python_names


def bend(program: str | os.PathLike[str] | None = None, *, text: str | None = None, device: str | Device | None = None) -> Program:
    """Opens a Bend program: a file, or a `text`.

    Raises `girih.Error` if something is wrong with it, `ValueError` unless there is either a path or a text.
    """
    if (program is None) == (text is None):
        raise ValueError("give either the path of a program or its `text`")
    name = "text.bend" if program is None else os.fspath(program)
    return Program(name, text, device)


class Program:
    """A Bend program. Its functions are its attributes, and so are its data types and their constructors, as classes.

    Numbers, texts, lists, tuples and `None` go in and come out as they are; NumPy arrays go in as lists. What has a name that Python does not take, such as
    `List/reverse`, is `program["List/reverse"]`, and the attribute that `girih.names.python_names` says: `program.List_reverse`.
    """

    def __init__(self, name: str, text: str | None = None, device: str | Device | None = None, sources: Any = None) -> None:
        self._name, self._device = name, device
        self._native = BendProgram(name, text, sources)
        self._functions = dict(self._native.functions())
        self._types, self._members = _classes(self, self._native.constructors())
        self._native.use_classes(self._members)
        _opened[_digest(name, device, self._native.sources())] = self
        called = python_names([*self._functions, *self._types], taken=dir(type(self)) + ["_attributes", *self.__dict__])
        self._attributes = {attribute: full for full, attribute in called.items()}

    def __getitem__(self, name: str) -> Any:
        """A function or a type by its full name in Bend. Raises `KeyError` if there is none."""
        if name in self._functions:
            return Function(self, name)
        return self._types[name]

    def __getattr__(self, name: str) -> Any:
        attributes = self.__dict__.get("_attributes", {})
        if name in attributes:
            return self[attributes[name]]
        if name.startswith("_"):
            raise AttributeError(name)
        known = ", ".join(self._functions) or "none"
        raise AttributeError(f"`{self._name}` has no function or type `{name}`: its functions are {known}")

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self._attributes]

    def __reduce__(self) -> tuple[Any, ...]:
        return _made_again, (self._name, self._device, self._native.sources())

    def __repr__(self) -> str:
        return f"<girih.Program {self._name}: {', '.join(self._functions)}>"


class Function:
    """A function of a Bend program."""

    def __init__(self, program: Program, name: str) -> None:
        self.program, self.name = program, name
        self.__name__ = name
        self.__doc__ = f"{name}: {self.type}"

    @property
    def type(self) -> str:
        """Its type, as Bend writes it."""
        return self.program._functions[self.name]

    def __call__(self, *arguments: Any, device: str | Device | None = None) -> Any:
        """Calls it. Raises `girih.Error` if an argument is not of its type, or the function fails."""
        device = self.program._device if device is None else device
        return self.program._native.call(self.name, arguments, device_name(device))

    def __reduce__(self) -> tuple[Any, ...]:
        return Function, (self.program, self.name)

    def __repr__(self) -> str:
        return f"<girih.Function {self.name}: {self.type}>"


def bend_function(function: Callable[..., Any] | None = None, *, device: str | Device | None = None) -> Any:
    """Makes a function that of the Bend program in its docstring with the same name; its body is not run.

    Raises `ValueError` if there is no docstring, `girih.Error` if the program is wrong, `AttributeError` if it has no such function.
    """
    if function is None:
        return functools.partial(bend_function, device=device)
    if not function.__doc__:
        raise ValueError(f"`{function.__name__}` has no docstring with a Bend program")
    text = inspect.cleandoc(function.__doc__) + "\n"
    name = f"{function.__code__.co_filename}::{function.__name__}"
    return getattr(Program(name, text, device), function.__name__)


def _made_again(name: str, device: str | Device | None, sources: Any) -> Program:
    """A program that was pickled: the one of this process if there is one, else made from its files as they were, which need not be there."""
    with _lock:
        program = _opened.get(_digest(name, device, sources)) or Program(name, None, device, sources)
        # The functions of a worker's task come and go: their program is not compiled anew for each.
        _unpickled.append(program)
        return program


def _digest(name: str, device: str | Device | None, sources: Any) -> bytes:
    return hashlib.sha256(repr((name, device, sources)).encode()).digest()


_lock = threading.RLock()
_opened: weakref.WeakValueDictionary[bytes, Program] = weakref.WeakValueDictionary()
_unpickled: collections.deque[Program] = collections.deque(maxlen=64)


def _value(program: Program, number: int, fields: tuple[Any, ...]) -> Any:
    """An object of a program's constructor that was pickled."""
    return program._members[number](*fields)


def _classes(program: Program, constructors: list[tuple[str, list[str]]]) -> tuple[dict[str, Any], list[Any]]:
    """The class of each data type, by its full name, and that of each constructor, in their order.

    The constructors of a type are data classes that derive from it, and its attributes. A type with one constructor of its own name, as `object` makes it, is that
    one's class.
    """
    kinds: dict[str, list[str]] = {}
    for full, _ in constructors:
        kind, _, short = full.rpartition("/")
        kinds.setdefault(kind or short, []).append(short)
    called = {kind: python_names(shorts) for kind, shorts in kinds.items()}
    types = {kind: _type_of(kind) for kind, shorts in kinds.items() if shorts != [kind.rpartition("/")[2]]}
    members = []
    for number, (full, fields) in enumerate(constructors):
        kind, _, short = full.rpartition("/")
        kind = kind or short
        namespace = {"__bend_ctor__": number, "__doc__": f"`{full}` of a Bend program.", "__reduce__": _reduction(program, number)}
        bases = (types[kind],) if kind in types else ()
        names = list(python_names(fields).values())
        member = dataclasses.make_dataclass(called[kind][short], names, bases=bases, namespace=namespace, frozen=True)
        members.append((kind, member))
    # Only now: data classes take attributes of their type for defaults of fields that are called so.
    for kind, member in members:
        setattr(types.setdefault(kind, member), member.__name__, member)
    return types, [member for _, member in members]


def _reduction(program: Program, number: int) -> Callable[[Any], tuple[Any, ...]]:
    return lambda value: (_value, (program, number, tuple(getattr(value, name) for name in value.__match_args__)))


def _type_of(kind: str) -> type:
    return type(kind.rpartition("/")[2], (), {"__doc__": f"The data type `{kind}` of a Bend program."})
