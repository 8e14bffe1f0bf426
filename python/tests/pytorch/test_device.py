"""The device `girih`: storages, views, copies, autograd, saving, and what runs on the host."""

import copy
import gc
import io
import subprocess
import sys
import warnings

import girih.torch
import pytest
import torch
import torch.nn.functional as F
from girih.torch import autocast, storages


def on_device(tensor):
    return tensor.to("girih")


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16, torch.int64, torch.int8, torch.bool])
def test_copies_there_and_back(dtype):
    x = torch.randint(0, 2, (3, 5)).to(dtype)
    assert torch.equal(on_device(x).cpu(), x)
    assert torch.equal(on_device(x.t()).cpu(), x.t())
    assert torch.equal(on_device(x)[1:, ::2].cpu(), x[1:, ::2])


def test_views_share_memory():
    x = on_device(torch.zeros(4, 6))
    x.t()[2:4].fill_(1)
    x.view(-1)[-1] = 7
    expected = torch.zeros(4, 6)
    expected[:, 2:4] = 1
    expected[3, 5] = 7
    assert torch.equal(x.cpu(), expected)
    assert x.t()._base is x and x._version == x.t()._version > 0


def test_memory_goes_with_the_storage():
    gc.collect()
    before = storages.count()
    x = on_device(torch.zeros(1000))
    view = x[10:]
    del x
    assert storages.count() == before + 1 and view.sum().item() == 0
    del view
    gc.collect()
    assert storages.count() == before


def test_printing_and_items():
    x = on_device(torch.tensor([1.5, 2.0]))
    assert repr(x) == "tensor([1.5000, 2.0000], device='girih:0')"
    assert x[0].item() == 1.5 and x.tolist() == [1.5, 2.0]


def test_results_that_grow_and_overlap():
    out = torch.empty(0, device="girih")
    torch.mm(on_device(torch.eye(3)), on_device(torch.ones(3, 2)), out=out)
    assert torch.equal(out.cpu(), torch.ones(3, 2))
    square = on_device(torch.tensor([[1.0, 1.0], [0.0, 1.0]]))
    torch.mm(square, square, out=square)
    assert square.cpu().tolist() == [[1.0, 2.0], [0.0, 1.0]]


def test_a_product_hides_what_a_factor_of_zero_covers():
    nothing = on_device(torch.full((2, 2), float("nan")))
    product = torch.addmm(nothing, on_device(torch.eye(2)), on_device(torch.ones(2, 2)), beta=0)
    assert torch.equal(product.cpu(), torch.ones(2, 2))
    empty = torch.addmm(on_device(torch.ones(2, 3)), torch.empty(2, 0, device="girih"), torch.empty(0, 3, device="girih"), beta=2)
    assert torch.equal(empty.cpu(), torch.full((2, 3), 2.0))


def test_products_of_wrong_shapes_are_errors():
    with pytest.raises(RuntimeError, match="shapes cannot be multiplied"):
        torch.mm(torch.ones(2, 3, device="girih"), torch.ones(2, 3, device="girih"))


def test_saving_loading_and_copying():
    model = torch.nn.Linear(3, 2).to("girih")
    file = io.BytesIO()
    torch.save(model.state_dict(), file)
    file.seek(0)
    for name, value in torch.load(file, map_location="cpu").items():
        assert torch.equal(value, model.state_dict()[name].cpu())
    file.seek(0)
    there = torch.load(file)
    assert there["weight"].device.type == "girih" and torch.equal(there["weight"].cpu(), model.weight.cpu())
    twin = copy.deepcopy(model)
    twin.weight.data.fill_(0)
    assert twin.weight.device.type == "girih" and model.weight.abs().sum().item() > 0


def test_seeds_repeat_numbers():
    torch.manual_seed(3)
    first = torch.rand(4, device="girih").cpu()
    torch.manual_seed(3)
    assert torch.equal(first, torch.rand(4, device="girih").cpu())


def test_memory_summary():
    kept = torch.zeros(100, device="girih")
    assert "live" in girih.torch.memory_summary() and kept.numel() == 100


def test_fallbacks_are_warned_of_once_counted_and_refused():
    x = on_device(torch.tensor([3.0, 1.0, 2.0]))
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        for _ in range(2):
            assert torch.special.airy_ai(x).shape == (3,)
    messages = [str(warning.message) for warning in seen]
    assert sum("`aten::special_airy_ai`" in message for message in messages) == 1
    assert girih.torch.fallbacks()["aten::special_airy_ai"] == 2
    girih.torch.strict()
    try:
        with pytest.raises(NotImplementedError, match="`aten::special_airy_ai`"):
            torch.special.airy_ai(x)
    finally:
        girih.torch.strict(False)


def test_another_device_is_refused_while_tensors_live():
    kept = torch.zeros(3, device="girih")
    with pytest.raises(RuntimeError, match="still on"):
        girih.torch.use("interpreter")
    assert kept.numel() == 3


CONVOLUTIONS = [(1, 0, 1, 1, False), (2, 1, 1, 2, False), (1, 2, 2, 1, False), (2, 1, 1, 2, True), (3, 0, 1, 4, False)]


@pytest.mark.parametrize("step,pad,gap,groups,transposed", CONVOLUTIONS)
@pytest.mark.parametrize("rank", [1, 2])
@pytest.mark.parametrize("last", [False, True], ids=["plain", "channels_last"])
def test_convolutions_forward_and_backward(rank, step, pad, gap, groups, transposed, last):
    torch.manual_seed(0)
    size = [9, 8][:rank]
    outs = 4 if transposed else 8
    x = torch.randn(2, 4, *size)
    w = torch.randn(outs, (8 if transposed else 4) // groups, *[3] * rank)
    function = getattr(torch.nn.functional, f"conv{'_transpose' if transposed else ''}{rank}d")

    def run(device):
        ends = [t.to(device, copy=True) for t in (x, w, torch.ones(8))]
        if last and rank == 2:
            ends[0] = ends[0].to(memory_format=torch.channels_last)
        ends = [t.detach().requires_grad_() for t in ends]
        y = function(*ends, stride=step, padding=pad, dilation=gap, groups=groups)
        (y * y).sum().backward()
        return [y.detach().cpu(), *[end.grad.cpu() for end in ends]]

    for ours, theirs in zip(run("girih"), run("cpu"), strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-4, atol=1e-3)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_products_of_halves(dtype):
    torch.manual_seed(0)
    a, b = torch.randn(33, 70).to(dtype), torch.randn(70, 19).to(dtype)
    torch.testing.assert_close((on_device(a) @ on_device(b)).cpu(), (a.float() @ b.float()).to(dtype), rtol=2e-2, atol=2e-2)


@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize("batches", [(), (2,)])
def test_products_of_rows_that_begin_anywhere(batches, transposed):
    torch.manual_seed(0)
    # Rows of 77 and 261 elements.
    a, b = torch.randn(*batches, 300, 77).half(), torch.randn(*batches, *((300, 261) if transposed else (261, 77))).half()
    multiply = (lambda a, b: a.mT @ b) if transposed else (lambda a, b: a @ b.mT)
    expected = multiply(a.float(), b.float())
    a, b = a.to("girih"), b.to("girih")
    # Also rows that begin at multiples of 16 bytes, and end anywhere.
    wide = [torch.nn.functional.pad(x, (0, 19))[..., : x.shape[-1]] for x in (a, b)]
    for x, y in ((a, b), wide):
        torch.testing.assert_close(multiply(x, y).cpu().float(), expected, rtol=2e-2, atol=5e-2)


def test_types_that_are_refused():
    for make in (lambda: torch.ones(2).to(torch.float8_e4m3fnuz).to("girih"), lambda: torch.empty(4, dtype=torch.float8_e4m3fnuz, device="girih")):
        with pytest.raises(NotImplementedError, match="torch.float8_e4m3fnuz cannot be on the device girih"):
            make()


def test_a_bias_may_have_gaps():
    x, w, b = torch.randn(2, 3, 5, 5), torch.randn(4, 3, 3, 3), torch.randn(8)
    ours = F.conv2d(x.to("girih"), w.to("girih"), b.to("girih")[::2])
    torch.testing.assert_close(ours.cpu(), F.conv2d(x, w, b[::2]), rtol=1e-5, atol=1e-5)


def test_products_in_place_keep_their_shape():
    a, b = torch.ones(2, 4, device="girih"), torch.ones(4, 3, device="girih")
    with pytest.raises(RuntimeError, match="cannot be changed in place"):
        torch.ones(3, device="girih").addmm_(a, b)
    with pytest.raises(RuntimeError, match="on the same device"):
        torch.mm(a, b.cpu())


@pytest.mark.parametrize("groups", [1, 4])
def test_convolutions_of_pictures_whose_channels_are_last_give_such_pictures(groups):
    x = torch.randn(2, 8, 9, 9).to(memory_format=torch.channels_last)
    w = torch.randn(12, 8 // groups, 3, 3)
    run = lambda x, w: F.conv2d(x, w, padding=1, groups=groups)
    for f in (run, torch.compile(run)):
        ours, theirs = f(x.to("girih"), w.to("girih")), run(x, w)
        assert ours.stride() == theirs.stride()
        torch.testing.assert_close(ours.cpu(), theirs, rtol=1e-4, atol=1e-4)


def test_the_depth_of_a_long_product_is_summed_in_parts():
    torch.manual_seed(0)
    a, b, c = torch.randn(3, 5, 3000), torch.randn(3, 3000, 7), torch.randn(7)
    ours = torch.baddbmm(c.to("girih"), a.to("girih"), b.to("girih"), beta=0.5, alpha=2)
    torch.testing.assert_close(ours.cpu(), torch.baddbmm(c, a, b, beta=0.5, alpha=2), rtol=1e-4, atol=1e-3)


@pytest.mark.parametrize("compiled", [False, True], ids=["eager", "compiled"])
def test_autocast_computes_as_on_the_processor(compiled):
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Conv2d(3, 8, 3), torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.LayerNorm(288), torch.nn.Linear(288, 10))
    x, wanted = torch.randn(4, 3, 8, 8), torch.randint(0, 10, (4,))

    def loss(model, x, wanted):
        with torch.autocast(x.device.type, torch.bfloat16):
            made = model(x)
            return made, F.cross_entropy(made, wanted)

    theirs = loss(model, x, wanted)
    run = torch.compile(loss) if compiled else loss
    ours = run(copy.deepcopy(model).to("girih"), x.to("girih"), wanted.to("girih"))
    assert [t.dtype for t in ours] == [t.dtype for t in theirs] == [torch.bfloat16, torch.float32]
    torch.testing.assert_close(ours[1].cpu(), theirs[1], rtol=2e-2, atol=2e-2)
    with pytest.raises(RuntimeError, match="unsafe in autocast"), torch.autocast("girih"):
        F.binary_cross_entropy(x.sigmoid().to("girih"), x.sigmoid().to("girih"))


def test_the_device_is_chosen_by_its_name_or_itself():
    there = girih.torch.current()
    girih.torch.use(there)
    girih.torch.use(there.name)
    assert girih.torch.current() == there
    with pytest.raises(TypeError, match="a device is a name"):
        girih.torch.use(3)
    with pytest.raises(TypeError, match="takes the name of a device"):
        girih.torch.use(None)


def test_nothing_is_said_when_it_is_imported():
    text = "import torch, girih.torch; print((torch.ones(2, device='girih') + 1).tolist())"
    done = subprocess.run([sys.executable, "-W", "error::UserWarning", "-c", text], capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("[2.0, 2.0]\n", ""), done.stderr


def test_autocast_casts_a_weight_once_until_it_is_changed():
    weight = torch.nn.Parameter(torch.ones(4, 4, device="girih"))
    x = torch.ones(2, 4, device="girih")

    def cast():
        return autocast._casts.of(weight, torch.bfloat16)

    with torch.autocast("girih", torch.bfloat16):
        first = cast()
        F.linear(x, weight).sum().backward()
        assert cast() is first
        with torch.no_grad():
            # No gradient goes through what was cast here.
            assert cast() is not first
            weight.zero_()
            assert not F.linear(x, weight).any()
        F.linear(x, weight).sum().backward()
        assert cast() is not first and not cast().any()
        last = cast()
    assert cast() is not last and cast().dtype == torch.bfloat16
    torch.testing.assert_close(weight.grad.cpu(), torch.full((4, 4), 4.0))
