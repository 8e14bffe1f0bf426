"""These tests need PyTorch. Without it they are skipped with a line, or fail where `GIRIH_REQUIRE_TORCH` is set."""

import importlib.util
import os
import pathlib
import sys

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


def pytest_terminal_summary(terminalreporter):
    if _is_missing:
        terminalreporter.write_line("skipped: the tests of girih.torch, without PyTorch")
    elif _has_no_samples:
        terminalreporter.write_line("skipped: PyTorch's samples of its operations, without the package expecttest")
