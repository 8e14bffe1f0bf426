"""What the package imports is what pip installs with it."""

import ast
import pathlib
import re
import sys
import tomllib

import girih

PROJECT = pathlib.Path(__file__).resolve().parent.parent


def imported(file):
    """The packages that a file imports, wherever in it."""
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Import):
            yield from (name.name.partition(".")[0] for name in node.names)
        elif isinstance(node, ast.ImportFrom) and not node.level:
            yield node.module.partition(".")[0]


def test_every_import_is_a_dependency():
    project = tomllib.loads((PROJECT / "pyproject.toml").read_text())["project"]
    package = pathlib.Path(girih.__file__).parent
    needed = {"girih": set(), "girih.torch": set()}
    for file in package.rglob("*.py"):
        part = "girih.torch" if package / "torch" in file.parents else "girih"
        needed[part] |= set(imported(file)) - sys.stdlib_module_names - {"girih", "__future__"}

    def names(requirements):
        return {re.match(r"[\w-]+", requirement).group() for requirement in requirements}

    assert needed["girih"] == names(project["dependencies"]) == {"numpy"}
    # The sources of kernels import Triton, which nobody runs.
    assert needed["girih.torch"] - needed["girih"] - {"triton"} == names(project["optional-dependencies"]["torch"])
