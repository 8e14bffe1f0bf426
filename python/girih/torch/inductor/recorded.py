"""Repeats calls of compiled functions without running the code around their kernels again.

The code that Inductor writes around its kernels does the same each time, for inputs of the same layouts: it makes memory, launches kernels, and lets memory go. The second such call is
recorded, later ones repeat what was recorded.
Invariant: only code that calls nothing but Inductor's kernels and PyTorch's own operations is recorded, and a recording is repeated only where the settings that these look at are the same.
"""

import re

from girih._native import is_recording, record
from girih.torch import processes, storages, tiles

# Recordings that are kept of a function: one for each kind of sizes. Calls that are tried before a function is taken to be one that cannot be recorded.
_MOST, _TRIES = 16, 4
# Whose operations do nothing that a recording does not know.
_OURS = {"aten", "prims", "girih", "inductor"}
_NAMESPACE = re.compile(r"torch\.ops\.(\w+)\.")


def can_be_recorded(source: str) -> bool:
    """Whether code that Inductor has written calls only operations whose work is known. Others may do what they like: they run each time."""
    return set(_NAMESPACE.findall(source)) <= _OURS


class Recorded:
    """A compiled function that is recorded when it is called again."""

    def __init__(self, call):
        self._call = call
        # By the settings: the recordings, and how many calls were tried. A first call compiles kernels.
        self._kept = {}

    def __call__(self, arguments):
        processes.own()
        # What is called by a function that is being recorded is a part of it.
        if is_recording():
            return self._call(arguments)
        settings = (tiles.precision(), tiles.convolution_precision())
        kept = self._kept.get(settings)
        if kept is None:
            kept = self._kept[settings] = _Kept()
            return self._call(arguments)
        for recording in kept.recordings:
            results = recording.run(arguments)
            if results is not None:
                return results
        if kept.tries >= _TRIES or len(kept.recordings) >= _MOST:
            return self._call(arguments)
        results, recording = record(self._call, arguments, storages.CODES)
        if recording is None:
            kept.tries += 1
        else:
            kept.recordings.append(recording)
        return results


class _Kept:
    __slots__ = ("recordings", "tries")

    def __init__(self):
        self.recordings, self.tries = [], 0
