"""Names of Bend as names of Python.

Invariant: different names stay different, and a name that Python can have is never changed.
"""

from __future__ import annotations

import keyword
import unicodedata
from collections.abc import Collection, Iterable


def python_names(names: Iterable[str], taken: Collection[str] = ()) -> dict[str, str]:
    """What each name is called in Python, where the names in `taken` mean something else.

    A character that no name has becomes `_`. A keyword, a name with two underscores on either side, one that is taken and one that is called like another
    before it get an underscore behind them.
    """
    names = list(dict.fromkeys(names))
    called = {name: name for name in names if _changed(name) == name and _is_free(name) and name not in taken}
    used = set(called) | set(taken)
    for name in names:
        if name not in called:
            new = _changed(name)
            while new in used or not _is_free(new):
                new += "_"
            called[name] = new
            used.add(new)
    return {name: called[name] for name in names}


def _changed(name: str) -> str:
    """The name as Python reads it, with characters that names can have."""
    name = unicodedata.normalize("NFKC", name)
    name = "".join(character if f"a{character}".isidentifier() else "_" for character in name)
    return name if name.isidentifier() else f"_{name}"


def _is_free(name: str) -> bool:
    """Whether Python does not use a name itself."""
    is_special = name.startswith("__") and name.endswith("__") and not name.endswith("___")
    return not keyword.iskeyword(name) and not is_special
