"""Without PyTorch everything else works, and `girih.torch` says what to install."""

import subprocess
import sys

HIDDEN = """
import sys
sys.modules["torch"] = None
import girih
try:
    import girih.torch
except ImportError as problem:
    print(problem)
"""


def test_a_sentence_says_what_to_install():
    result = subprocess.run([sys.executable, "-c", HIDDEN], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "girih.torch needs PyTorch 2.11: `pip install torch==2.11.0`"
