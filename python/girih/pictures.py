"""Pictures of image shaders, which are Bend programs."""

from __future__ import annotations

import os
from typing import Any

from girih import _native
from girih.device import device_name


def render(
    program: str | os.PathLike[str] | None = None,
    *,
    text: str | None = None,
    size: tuple[int, int] | None = None,
    time: float = 0.0,
    device: str | _native.Device | None = None,
) -> Any:
    """The picture of a shader at a time in seconds: an array of `uint8` with the shape (height, width, 4), which notebooks show.

    `program` is the path of a `.bend` file, or `text` is the program itself. `size` is (width, height); without it the shader's own. Without a device it is
    that of `girih.use` or `GIRIH_DEVICE`. Raises `girih.Error` if something is wrong with the program, `ValueError` unless there is either a path or a text.
    """
    if (program is None) == (text is None):
        raise ValueError("give either the path of a program or its `text`")
    import numpy

    name = "text.bend" if program is None else os.fspath(program)
    width, height, pixels = _native.render(name, text, size, time, device_name(device))
    return numpy.frombuffer(bytearray(pixels), numpy.uint8).reshape(height, width, 4).view(_image())


def _image() -> Any:
    """NumPy's arrays that notebooks show as pictures. NumPy is looked for when a picture is made."""
    global _Image
    if _Image is None:
        import numpy

        class Image(numpy.ndarray):
            """Pixels of the shape (height, width, 4), which notebooks show."""

            def _repr_png_(self) -> bytes | None:
                if self.ndim != 3 or self.shape[2] != 4 or self.dtype != numpy.uint8:
                    return None
                return _native.png(self.shape[1], self.shape[0], numpy.ascontiguousarray(self))

        _Image = Image
    return _Image


_Image: Any = None
