"""PyTorch's own samples of its operations (OpInfo) on the device `cpu`, beside a strict list of what is known to be missing.

`opinfo_gaps.tsv` has a row for each entry, type and mode that the device does not do by itself, with its reason; an entry that becomes worse or better fails here
until its row says so. A wrong number is never a known gap. A few entries are run; with `GIRIH_TESTS=full` as many as the list was made of, which takes half an hour:

    python opinfo.py --modes eager --types float32 | grep -vP '\\tdevice\\t'
    python opinfo.py --modes eager --types bfloat16,int64 --every 3 | grep -vP '\\tdevice\\t'
    python opinfo.py --modes compiled --types float32 --every 6 | grep -vP '\\tdevice\\t'

print the rows of the list.
"""

import os
import pathlib

import girih.torch
import opinfo
import pytest

GAPS = pathlib.Path(__file__).with_name("opinfo_gaps.tsv")
SAMPLES = 4
IS_FULL = os.environ.get("GIRIH_TESTS") == "full"
# For a mode and types: of how many entries one is run in full, and otherwise.
RUNS = [("eager", ["float32"], 1, 23), ("eager", ["bfloat16", "int64"], 3, 69), ("compiled", ["float32"], 6, 90)]


def gaps():
    rows = [line.split("\t") for line in GAPS.read_text().splitlines()]
    return {(name, kind, mode): outcome for name, kind, mode, outcome, _ in rows}


def names(every):
    return sorted(opinfo.entries())[::every]


def test_no_gap_is_a_wrong_number_or_a_name_that_is_gone():
    known = opinfo.entries()
    assert not [key for key, outcome in gaps().items() if outcome == "wrong" or key[0] not in known]


@pytest.mark.parametrize("mode,types,full,part", RUNS)
def test_entries_are_as_the_list_says(mode, types, full, part):
    if girih.torch.current().kind != "cpu":
        pytest.skip("the list of gaps is that of the device `cpu`")
    known, changed = gaps(), []
    for name, kind, mode, outcome, reason in opinfo.measured(names(full if IS_FULL else part), types, [mode], SAMPLES):
        expected = known.get((name, kind, mode), "device")
        if outcome != expected:
            changed.append(f"{name} {kind} {mode}: {outcome} for {expected} ({reason})")
    assert not changed, "\n".join(changed)


def test_gradients_are_those_of_the_processor():
    """Gradients may go through the host, or be refused by name; they are never wrong, and never end in another error."""
    if girih.torch.current().kind != "cpu":
        pytest.skip("the samples are run on the device `cpu`")
    rows = opinfo.measured(names(6 if IS_FULL else 90), ["float32"], ["gradient"], SAMPLES)
    assert not [row for row in rows if row[3] in ("error", "wrong")]
