"""These tests need PyTorch. Without it they are skipped with a line, or fail where `GIRIH_REQUIRE_TORCH` is set."""

import importlib.util
import os
import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parent))

_is_missing = importlib.util.find_spec("torch") is None
if _is_missing and os.environ.get("GIRIH_REQUIRE_TORCH"):
    raise ImportError("GIRIH_REQUIRE_TORCH is set, and PyTorch is not installed")
# PyTorch's samples of its operations need this package.
_has_no_samples = importlib.util.find_spec("expecttest") is None
if _has_no_samples and os.environ.get("GIRIH_REQUIRE_TORCH"):
    raise ImportError("GIRIH_REQUIRE_TORCH is set, and expecttest is not installed")
collect_ignore_glob = ["test_*.py"] if _is_missing else ["test_opinfo.py"] if _has_no_samples else []
if not _is_missing:
    import torch

    # Results are compared with the processor's, so convolutions on cards read their factors whole.
    torch.backends.cudnn.allow_tf32 = False


# What Python decides before a kernel starts is the same for each device, so these files run on the processor alone; elsewhere with GIRIH_TESTS=full.
_ONCE = {"test_generators.py", "test_modules.py", "test_placement.py", "test_processes.py", "test_resampling.py", "test_steps.py"}


def pytest_collection_modifyitems(items):
    if os.environ.get("GIRIH_DEVICE", "cpu") == "cpu" or os.environ.get("GIRIH_TESTS") == "full":
        return
    for item in items:
        if item.path.name in _ONCE:
            item.add_marker(pytest.mark.skip(reason="runs on the processor; elsewhere with GIRIH_TESTS=full"))


def pytest_terminal_summary(terminalreporter):
    if _is_missing:
        terminalreporter.write_line("skipped: the tests of girih.torch, without PyTorch")
    elif _has_no_samples:
        terminalreporter.write_line("skipped: PyTorch's samples of its operations, without the package expecttest")
