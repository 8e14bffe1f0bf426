"""Tensors as arguments of kernels of one's own."""

import girih
import girih.torch
import girih.triton as triton
import girih.triton.language as tl
import numpy as np
import pytest
import torch
from girih.triton.tools.tensor_descriptor import TensorDescriptor


@girih.jit
def scale(x_ptr, out_ptr, rows, step, by, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(out_ptr + at, tl.load(x_ptr + at * step, mask=at < rows) * by, mask=at < rows)


@girih.jit
def invert(x_ptr, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(x_ptr + at, ~tl.load(x_ptr + at))


@triton.autotune(configs=[triton.Config({"BLOCK": 8}), triton.Config({"BLOCK": 16})], key=["rows"])
@girih.jit
def tuned(x_ptr, rows, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x_ptr + at, tl.load(x_ptr + at, mask=at < rows) + 1, mask=at < rows)


@girih.jit
def shorten(x, out):
    at = [tl.program_id(0) * 4, tl.program_id(1) * 8]
    out.store(at, x.load(at))


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.int32])
def test_a_kernel_works_on_the_memory_of_a_tensor(dtype):
    x = torch.arange(12, dtype=dtype).reshape(3, 4)
    ours, out = x.to("girih"), torch.zeros(5, dtype=dtype, device="girih")
    column = ours[:, 1]
    scale[(1,)](column, out[1:], 3, column.stride(0), 2, BLOCK=4)
    assert torch.equal(out.cpu(), torch.tensor([0, 2, 10, 18, 0], dtype=dtype))
    assert torch.equal(ours.cpu(), x)


def test_truth_values():
    x = torch.tensor([True, False, True, False], device="girih")
    invert[(1,)](x, BLOCK=4)
    assert x.tolist() == [False, True, False, True]


def test_kernels_are_tuned_on_tensors():
    x = torch.zeros(20, device="girih")
    tuned[lambda args: (triton.cdiv(args["rows"], args["BLOCK"]),)](x, 20)
    assert x.tolist() == [1] * 20


def test_tensors_and_arrays_go_together():
    x, out = torch.ones(4).to("girih"), np.zeros(4, np.float32)
    scale[(1,)](x, out, 4, 1, 3.0, BLOCK=4)
    assert out.tolist() == [3] * 4
    # A tensor of the host goes there and back.
    theirs = torch.zeros(4)
    scale[(1,)](x, theirs, 4, 1, 3.0, BLOCK=4)
    assert theirs.tolist() == [3] * 4


def test_tensors_of_other_devices_are_refused_by_name():
    with pytest.raises(TypeError, match="a tensor on `meta` is no argument of a kernel of Girih"):
        scale[(1,)](torch.ones(4, device="meta"), torch.ones(4, device="girih"), 4, 1, 3.0, BLOCK=4)


@pytest.mark.parametrize("dtype", [torch.float8_e4m3fn, torch.float8_e5m2])
def test_elements_of_eight_bits_and_descriptors(dtype):
    x = torch.randn(6, 8)
    out = torch.zeros(6, 8, dtype=dtype, device="girih")
    shorten[(2, 1)](TensorDescriptor.from_tensor(x.to("girih"), [4, 8]), TensorDescriptor.from_tensor(out, [4, 8]))
    assert torch.equal(out.cpu().float(), x.to(dtype).float())
