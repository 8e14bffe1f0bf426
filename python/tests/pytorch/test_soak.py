"""Many steps and many models: nothing that a step or a model has made stays. `GIRIH_SOAK` is how many times as many there are as the tests take by themselves."""

import json
import os
import pathlib
import subprocess
import sys

import pytest
from soak import WORKS

# Python's own arenas and malloc's grow in pieces.
SLACK = 8 << 20


@pytest.mark.skipif(sys.platform != "linux", reason="the memory of a process is read as Linux shows it")
@pytest.mark.parametrize("work", WORKS)
def test_nothing_stays(work):
    program = pathlib.Path(__file__).with_name("soak.py")
    done = subprocess.run([sys.executable, program, work, os.environ.get("GIRIH_SOAK", "1")], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    stayed = json.loads(done.stdout.splitlines()[-1])
    assert stayed["device"] == 0
    assert stayed["process"] < SLACK
