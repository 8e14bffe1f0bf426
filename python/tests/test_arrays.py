"""Arrays of a device: their shapes, their elements, and what NumPy has not."""

import girih
import girih.triton as triton
import girih.triton.language as tl
import numpy as np
import pytest


@triton.jit
def invert(x_ptr, out_ptr, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(out_ptr + at, ~tl.load(x_ptr + at))


def test_shapes_are_whole_numbers_of_any_kind(device):
    assert girih.empty(np.int64(3), device=device).shape == (3,)
    assert girih.empty([np.uint8(2), 3], device=device).shape == (2, 3)
    assert girih.empty((), device=device).size == 1
    for wrong in (-3, (2, -1)):
        with pytest.raises(ValueError, match="there is no array of shape .*-"):
            girih.empty(wrong, device=device)
    for wrong in (2.5, (2, "3"), None):
        with pytest.raises(TypeError, match="a shape is a whole number, or a tuple of them, not"):
            girih.empty(wrong, device=device)


def test_an_array_without_dimensions_stays_one(device):
    five = girih.array(np.array(5.0), device=device)
    assert five.shape == () and five.numpy() == 5.0 and five.numpy().shape == ()


def test_rows_that_do_not_stand_side_by_side_are_copied(device):
    x = np.arange(12, dtype=np.int32).reshape(3, 4)
    assert (girih.array(x.T, device=device).numpy() == x.T).all()
    assert (girih.array(x[:, ::2], device=device).numpy() == x[:, ::2]).all()


def test_what_numpy_does_not_have_is_named(device):
    short = girih.empty(4, "bfloat16", device=device)
    assert short.buffer.nbytes == 8
    for ask in (short.numpy, lambda: girih.array([1, 2], "bfloat16", device=device)):
        with pytest.raises(TypeError, match="NumPy has no elements of the type `bfloat16`.*`.buffer.read"):
            ask()


def test_bytes_in_the_order_of_other_machines_are_refused(device):
    foreign = np.arange(4).astype(np.dtype(np.float32).newbyteorder("S"))
    refusal = r"of the type `.f4` \(float32\) have their bytes in the order of other machines: give `.astype\(\"float32\"\)`"
    with pytest.raises(TypeError, match=refusal):
        girih.array(foreign, device=device)
    with pytest.raises(TypeError, match=refusal):
        girih.empty(4, foreign.dtype, device=device)
    with pytest.raises(TypeError, match=refusal):
        invert[(1,)](foreign, np.zeros(4, np.float32), BLOCK=4, device=device)
    assert (girih.array(foreign.astype("float32"), device=device).numpy() == np.arange(4)).all()


def test_truth_values_have_one_bit(device):
    x, out = np.array([True, False, True, False]), np.zeros(4, bool)
    invert[(1,)](x, out, BLOCK=4, device=device)
    assert out.view(np.uint8).tolist() == [0, 1, 0, 1]
    there = girih.empty(4, bool, device=device)
    invert[(1,)](girih.array(x, device=device), there, BLOCK=4)
    assert there.dtype == "bool" and there.numpy().view(np.uint8).tolist() == [0, 1, 0, 1]
