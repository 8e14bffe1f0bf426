"""Writes the test data of ONNX's standard into a folder, a model and its tensors for each: `python onnx_data.py FOLDER`. Needs the package `onnx`, which knows how to make them."""

import pathlib
import shutil
import sys

import numpy
import onnx
from onnx.backend.test.case.node import collect_testcases


def tensor(value, name):
    """The message of a tensor; none of a value that is no tensor."""
    if isinstance(value, onnx.TensorProto):
        return value
    if isinstance(value, numpy.ndarray) or numpy.isscalar(value):
        return onnx.numpy_helper.from_array(numpy.asarray(value), name)
    return None


def write(folder, case):
    data = folder / case.name / "test_data_set_0"
    data.mkdir(parents=True, exist_ok=True)
    (data.parent / "model.onnx").write_bytes(case.model.SerializeToString())
    inputs, outputs = case.data_sets[0]
    for kind, values, infos in (("input", inputs, case.model.graph.input), ("output", outputs, case.model.graph.output)):
        for number, (value, info) in enumerate(zip(values, infos)):
            message = tensor(value, info.name)
            if message is not None:
                (data / f"{kind}_{number}.pb").write_bytes(message.SerializeToString())


def main():
    folder = pathlib.Path(sys.argv[1])
    for case in collect_testcases(None):
        write(folder / "node", case)
    # Those of whole models lie in the package as files.
    package = pathlib.Path(onnx.__file__).parent / "backend/test/data"
    for kind in ("simple", "pytorch-converted", "pytorch-operator"):
        shutil.copytree(package / kind, folder / kind, dirs_exist_ok=True)


main()
