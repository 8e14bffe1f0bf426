"""The examples, as people run them."""

import pathlib
import subprocess
import sys

EXAMPLES = pathlib.Path(__file__).resolve().parent.parent / "examples"


def run(name, *arguments):
    command = [sys.executable, str(EXAMPLES / name), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_arrays_are_added(device):
    assert "added 1000000 numbers" in run("add.py", "--device", device.name)


def test_the_mandelbrot_set_is_drawn(device, tmp_path):
    file = tmp_path / "mandelbrot.png"
    said = run("mandelbrot.py", "--device", device.name, "--size", "192", "128", "--out", str(file))
    assert "kernel" in said and "Bend" in said
    assert file.read_bytes().startswith(b"\x89PNG")
