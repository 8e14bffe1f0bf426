"""Pictures of shaders."""

import girih
import numpy as np
import pytest

TEXT = "def shader(x: u24, y: u24, t: f24) -> u24:\n  return x * 65536 + y * 256 + 7\n"


def test_a_shader_is_an_array():
    picture = girih.render(text=TEXT, size=(4, 3), device="cpu")
    assert picture.shape == (3, 4, 4) and picture.dtype == np.uint8
    assert picture[2, 3].tolist() == [3, 2, 7, 255]


def test_notebooks_show_it():
    shown = girih.render(text=TEXT, size=(4, 3), device="cpu")._repr_png_()
    assert shown.startswith(b"\x89PNG\r\n")
    assert girih.render(text=TEXT, size=(4, 3), device="cpu")[0]._repr_png_() is None


def test_a_mistake_is_underlined():
    with pytest.raises(girih.Error) as caught:
        girih.render(text=TEXT.replace("x *", "z *"))
    assert "z * 65536" in caught.value.rendered and "^" in caught.value.rendered
