"""Reads what benches/compare.sh has measured: which programs have a slower row, and the verdict after they were measured again."""

import json
import os
import re
import statistics
import sys

THRESHOLD = float(os.environ.get("THRESHOLD", "1.05"))
TURNS = int(os.environ.get("TURNS", "3"))


def rows(folder):
    """The medians of a report, by program, size and threads; and why programs failed."""
    try:
        with open(os.path.join(folder, "bench.json")) as file:
            report = json.load(file)
    except OSError as error:
        return {}, [f"no report: {error}"]
    medians = {
        (row["name"], row["size"], run["threads"]): run["seconds"]["median"] for row in report["rows"] for run in row["runs"]
    }
    return medians, [f"{failed['name']}: {failed['why'][:160]}" for failed in report["failed"]]


def slower(old, new):
    """Programs of which a row takes longer."""
    before, after = rows(old)[0], rows(new)[0]
    return sorted({key[0] for key in before if key in after and after[key] > before[key] * THRESHOLD})


def verdict(out, device):
    """Prints each suite's rows, and those that are slower in most of all measurements."""
    counted = bad = 0
    for name in sorted(os.listdir(out)):
        suite = name.removeprefix("old-")
        if not name.startswith("old-") or "-" in suite or not os.path.isdir(os.path.join(out, name)):
            continue
        (before, failed_before), (after, failed) = rows(os.path.join(out, name)), rows(os.path.join(out, f"new-{suite}"))
        for why in failed:
            print(f"{device} {suite}: the new build: {why}")
        for why in failed_before:
            print(f"{device} {suite}: the old build: {why}")
        for key in before:
            if key not in after:
                print(f"{device} {suite}: {key} is missing in the new build")
                bad += 1
                continue
            counted += 1
            ratio = after[key] / before[key]
            again, program = [], re.sub("[^A-Za-z0-9]", "_", key[0])
            for turn in range(1, TURNS + 1):
                first, second = (rows(os.path.join(out, f"{side}-{suite}-{program}-{turn}"))[0] for side in ("old", "new"))
                if key in first and key in second:
                    again.append(second[key] / first[key])
            settled = statistics.median(again) if again else ratio
            is_slower = settled > THRESHOLD
            bad += is_slower
            note = "  SLOWER" if is_slower else ""
            turns = " again " + " ".join(f"{value:.2f}" for value in again) if again else ""
            print(f"{device} {suite:6} {key[0]:28} {key[1]:>12} {before[key] * 1e3:10.4f} {after[key] * 1e3:10.4f} ms {ratio:5.2f}{turns}{note}")
    print(f"{device}: {counted} rows, {bad} slower than before by more than {(THRESHOLD - 1) * 100:.0f} %")


if sys.argv[1] == "slower":
    print("\n".join(slower(*sys.argv[2:4])))
else:
    verdict(*sys.argv[2:4])
