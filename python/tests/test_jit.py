"""Triton kernels in Python files."""

import pickle
import threading

import girih
import girih.triton as triton
import girih.triton.language as tl
import numpy as np
import pytest
from girih.triton.tools.tensor_descriptor import TensorDescriptor


@girih.jit
def add(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr = 64):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n)
    tl.store(out_ptr + at, x + tl.load(y_ptr + at, mask=at < n), mask=at < n)


@triton.jit
def scale(x_ptr, n, by, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x_ptr + at, tl.load(x_ptr + at, mask=at < n) * by, mask=at < n)


@triton.jit
def wrong(x_ptr, n, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(x_ptr + at, missing, mask=at < n)  # noqa: F821


@triton.autotune(configs=[triton.Config({"BLOCK": 32}), triton.Config({"BLOCK": 128}, num_warps=2)], key=["n"])
@triton.jit
def tuned(x_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x_ptr + at, tl.load(x_ptr + at, mask=at < n) + 1, mask=at < n)


@triton.jit
def turned(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(out_ptr + at, tl.load(x_ptr + n - 1 - at, mask=at < n), mask=at < n)


@triton.autotune(configs=[triton.Config({"BLOCK": 32}), triton.Config({"BLOCK": 64})], key=["n"])
@triton.jit
def picky(x_ptr, n, BLOCK: tl.constexpr, MOST: tl.constexpr):
    tl.static_assert(BLOCK <= MOST, "the block is too large")
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x_ptr + at, tl.load(x_ptr + at, mask=at < n) + 1, mask=at < n)


@triton.heuristics({"BLOCK": lambda args: triton.next_power_of_2(args["n"])})
@triton.jit
def whole(x_ptr, n, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(x_ptr + at, at, mask=at < n)


def blocks(args):
    return (triton.cdiv(args["n"], args["BLOCK"]),)


@pytest.mark.parametrize("dtype", ["float32", "int32", "int16", "float16", "uint8"])
def test_numpy_arrays_go_in_and_come_back(device, dtype):
    if device.kind == "wgpu" and dtype == "float16":
        pytest.skip("this adapter may have no 16-bit floats")
    x, y = np.arange(1000).astype(dtype), np.ones(1000, dtype)
    out = np.zeros_like(x)
    add[blocks](x, y, out, 1000, device=device)
    assert (out == x + y).all()


def test_arrays_of_a_device_stay_there(device):
    x, y = np.arange(300, dtype=np.float32), np.full(300, 0.5, np.float32)
    out = girih.empty(300, device=device)
    add[(5,)](girih.array(x, device=device), girih.array(y, device=device), out, 300, BLOCK=64)
    assert (out.numpy() == x + y).all()


def test_memory_begins_at_any_element(device):
    x = girih.array(np.arange(100, dtype=np.float32), device=device)
    for first in (0, 1, 3, 4):
        before = x.numpy()
        scale.kernel.launch(
            device, (1,), {"x_ptr": (x.buffer, 4 * first, "fp32"), "n": 10, "by": 2.0, "BLOCK": 16}
        )
        before[first : first + 10] *= 2
        assert (x.numpy() == before).all()


def test_the_same_array_twice_is_one(device):
    x = np.arange(64, dtype=np.int32)
    add[(1,)](x, x, x, 64, device=device)
    assert (x == 2 * np.arange(64)).all()


def test_parts_of_one_array_are_refused(device):
    x = np.zeros(100, np.float32)
    with pytest.raises(ValueError, match="part of another"):
        add[(1,)](x[:64], x[32:96], np.zeros(64, np.float32), 64, device=device)


def test_what_offers_dlpack_is_taken(device):
    class Packed:
        def __init__(self, array):
            self.array = array

        def __dlpack__(self, **how):
            return self.array.__dlpack__(**how)

        def __dlpack_device__(self):
            return self.array.__dlpack_device__()

    x = np.arange(64, dtype=np.float32)
    scale[(1,)](Packed(x), 64, 3.0, BLOCK=64, device=device)
    assert (x == 3 * np.arange(64)).all()


class Offered:
    """An array with DLPack alone. One that is old gives capsules that do not say whether they may be written."""

    def __init__(self, array, is_old=False, kind=1):
        self.array, self.is_old, self.kind = array, is_old, kind

    def __dlpack__(self, **how):
        if self.is_old and how:
            raise TypeError("an old producer takes no arguments")
        return self.array.__dlpack__(**how)

    def __dlpack_device__(self):
        return self.kind, 0


def test_what_is_written_to_read_only_memory_is_not_dropped(device):
    def frozen(array):
        array.flags.writeable = False
        return array

    for make in (frozen, lambda array: Offered(array, is_old=True)):
        x = np.arange(64, dtype=np.float32)
        with pytest.raises(ValueError, match="has written to `x_ptr`, whose memory is read-only"):
            scale[(1,)](make(x), 64, 3.0, BLOCK=64, device=device)
        assert (x == np.arange(64)).all()
    # What is only read may be read-only, whatever its bytes are.
    y, out = np.full(64, np.nan, np.float32), np.zeros(64, np.float32)
    add[(1,)](frozen(y.copy()), Offered(y, is_old=True), out, 64, device=device)
    assert np.isnan(out).all()


def test_a_view_that_may_be_written_is_written(device):
    x = np.arange(64, dtype=np.float32)
    view = x[:]
    view.flags.writeable = False
    add[(1,)](view, view, x, 64, device=device)
    assert (x == 2 * np.arange(64)).all()


def test_memory_of_other_devices_is_refused_by_name(device):
    with pytest.raises(TypeError, match="`x_ptr` is on `the device 0 of DLPack's kind 2`, which is no device of Girih"):
        scale[(1,)](Offered(np.zeros(4, np.float32), kind=2), 4, 2.0, BLOCK=4, device=device)


def test_an_error_underlines_the_source(device):
    with pytest.raises(girih.Error) as caught:
        wrong[(1,)](np.zeros(4, np.float32), 4, BLOCK=4, device=device)
    error = caught.value
    assert error.code == "B1003" and "missing" in error.message
    assert "tl.store(x_ptr + at, missing" in error.rendered and "^^^^^^^" in error.rendered
    assert str(error) == error.rendered and "test_jit.py" in error.rendered


def test_wrong_arguments_are_named(device):
    x = np.zeros(4, np.float32)
    with pytest.raises(TypeError, match="has no parameter `m`"):
        scale[(1,)](x, m=4)
    with pytest.raises(girih.Error, match="by"):
        scale[(1,)](x, 4, BLOCK=4, device=device)
    with pytest.raises(TypeError, match="launch it as"):
        scale(x, 4, 2.0, 4)
    with pytest.raises(TypeError, match="no elements of the type `complex64`"):
        scale[(1,)](np.zeros(4, np.complex64), 4, 2.0, BLOCK=4, device=device)


def test_the_fastest_configuration_is_chosen_and_leaves_no_trace(device):
    x = girih.array(np.zeros(100, np.float32), device=device)
    tuned.best.clear()
    tuned[blocks](x, 100)
    assert (x.numpy() == 1).all()
    tuned[blocks](x, 100)
    assert (x.numpy() == 2).all()
    assert len(tuned.best) == 1


def test_a_configuration_that_does_not_fit_is_skipped_and_noted(device):
    x = girih.array(np.zeros(100, np.float32), device=device)
    picky.best.clear()
    picky.skipped.clear()
    with pytest.warns(UserWarning, match=r"`picky` is tuned without Config\(\{'BLOCK': 64\}.*which does not fit: .*the block is too large"):
        picky[blocks](x, 100, MOST=32)
    assert (x.numpy() == 1).all()
    assert [config.kwargs for config in picky.best.values()] == [{"BLOCK": 32}]
    assert [(config.kwargs, error.code) for config, error in picky.skipped] == [({"BLOCK": 64}, "B1011")]
    # Where none fits, the reason of the first one is the error.
    with pytest.raises(girih.Error, match="the block is too large"):
        picky[blocks](x, 99, MOST=16)
    # Other errors are the kernel's own.
    broken = triton.autotune(configs=picky.configs, key=["n"])(wrong)
    with pytest.raises(girih.Error, match="missing"):
        broken[blocks](x, 100)


def test_the_key_of_a_tuning_is_checked(device):
    with pytest.raises(ValueError, match="`m` in the `key` of `autotune` is no parameter of `scale`: its parameters are x_ptr, n, by, BLOCK"):
        triton.autotune(configs=tuned.configs, key=["m"])(scale)
    with pytest.raises(ValueError, match="`m` in the `key`"):
        triton.autotune(configs=tuned.configs, key=["m"])(pickle.loads(pickle.dumps(scale)))
    with pytest.raises(TypeError, match="is not given the argument `n`"):
        tuned[(1,)](girih.array(np.zeros(4, np.float32), device=device))


def test_each_device_is_tuned_for():
    tuned.best.clear()
    for name in ("cpu", "interpreter"):
        tuned[blocks](girih.array(np.zeros(50, np.float32), device=name), 50)
    girih.use("interpreter")
    try:
        tuned[blocks](np.zeros(50, np.float32), 50)
    finally:
        girih.use(None)
    assert [key[-1].name for key in tuned.best] == ["cpu", "interpreter"]


def test_heuristics_choose_constants(device):
    x = np.zeros(100, np.int32)
    whole[(1,)](x, 100, device=device)
    assert (x == np.arange(100)).all()


def test_no_program_runs_in_an_empty_grid(device):
    x = np.ones(4, np.float32)
    scale[(0,)](x, 4, 2.0, BLOCK=4, device=device)
    assert (x == 1).all()


def test_kernels_are_pickled_by_their_source(device):
    x = np.ones(4, np.float32)
    pickle.loads(pickle.dumps(scale))[(1,)](x, 4, 2.0, BLOCK=4, device=device)
    assert (x == 2).all()


def test_a_kernel_is_compiled_ahead(device):
    scale.warmup(np.ones(4, np.float32), 4, 2.0, BLOCK=4, device=device)


def test_an_array_given_twice_is_loaded_before_it_is_stored_to(device):
    x = np.arange(16, dtype=np.float32)
    turned[(1,)](x, x, 16, BLOCK=16, device=device)
    assert (x == np.arange(16)[::-1]).all()


def test_threads_may_compile_at_once(device):
    fresh = pickle.loads(pickle.dumps(scale))
    arrays = [np.ones(100, np.float32) for _ in range(4)]
    launch = lambda x, warps: fresh[(2,)](x, 100, 2.0, BLOCK=64, num_warps=warps, device=device)
    threads = [threading.Thread(target=launch, args=(x, warps)) for x, warps in zip(arrays, (1, 2, 4, 8))]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    assert all((x == 2).all() for x in arrays)


@triton.jit
def of_tuples(out_ptr, pairs, SHAPE: tl.constexpr):
    at = tl.arange(0, SHAPE[0])
    (x_ptr, y_ptr), (by, more) = pairs
    tl.store(out_ptr + at, tl.load(x_ptr + at) * by + tl.load(y_ptr + at) + more + SHAPE[1])


def test_tuples_are_arguments(device):
    x, y, out = np.arange(8, dtype=np.float32), np.full(8, 0.5, np.float32), np.zeros(8, np.float32)
    for by in (1, 3):
        of_tuples[(1,)](out, ((x, y), (by, 2.5)), (8, 100), device=device)
        assert (out == x * by + 103).all()
    placed = [girih.array(part, device=device) for part in (x, y, out)]
    of_tuples[(1,)](placed[2], ((placed[0], placed[1]), (2, 2.5)), SHAPE=(8, 100))
    assert (placed[2].numpy() == x * 2 + 103).all()


@triton.autotune(configs=[triton.Config({}, num_warps=1), triton.Config({}, num_warps=2)], key=[])
@triton.jit
def doubled(matrix):
    rows, columns = matrix.block_shape
    at = [tl.program_id(0) * rows, tl.program_id(1) * columns]
    matrix.store(at, matrix.load(at) * 2)


@triton.jit
def reads_outside(out_ptr, row, N: tl.constexpr):
    tl.store(out_ptr + tl.arange(0, N), tl.reshape(row.load([2 * row.shape[0] - 4, 0]), [N]))


def test_descriptors_are_arguments(device):
    matrix = np.arange(35, dtype=np.float32).reshape(5, 7)
    given = girih.array(matrix, device=device)
    doubled[(2, 2)](triton.tools.tensor_descriptor.TensorDescriptor.from_tensor(given, [4, 4]))
    assert (given.numpy() == matrix * 2).all()
    host = matrix.copy()
    doubled[(3, 1)](TensorDescriptor(host, host.shape, [7, 1], [2, 8]), device=device)
    assert (host == matrix * 2).all()
    for padding, is_padding in (("zero", lambda x: x == 0), ("nan", np.isnan)):
        out = np.ones(8, np.float32)
        row = TensorDescriptor(host[3], [1, 7], [7, 1], [1, 8], padding)
        reads_outside[(1,)](out, row, N=8, device=device)
        assert is_padding(out).all()
    with pytest.raises(ValueError, match="2, 1 and 2 dimensions"):
        TensorDescriptor(host, host.shape, [1], [2, 8])


@triton.jit
def to_short(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(out_ptr + at, tl.load(x_ptr + at, mask=at < n), mask=at < n)


@pytest.mark.parametrize(("dtype", "bits"), [("float8_e4m3fn", [0x38, 0xB8, 0x50, 0x01]), ("float8_e5m2", [0x3C, 0xBC, 0x48, 0x18])])
def test_elements_of_eight_bits(device, dtype, bits):
    x = np.array([1, -1, 8, 2**-9], np.float32)
    short, back = girih.empty(4, dtype, device=device), girih.empty(4, "float32", device=device)
    to_short[(1,)](girih.array(x, device=device), short, 4, BLOCK=4)
    assert list(short.buffer.read(0, 4)) == bits
    to_short[(1,)](short, back, 4, BLOCK=4)
    assert (back.numpy() == x).all()
