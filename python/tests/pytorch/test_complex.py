"""Complex numbers on the device: their operations are kernels, marks of conjugates are obeyed, and Fourier transforms are those of PyTorch's processor."""

import os

import girih.torch
import pytest
import torch


# A device's driver may take seconds to compile a kernel: those other than the processor run a few of the tests, and all with GIRIH_TESTS=full.
IS_ALL = os.environ.get("GIRIH_DEVICE", "cpu") == "cpu" or os.environ.get("GIRIH_TESTS") == "full"
in_full = pytest.mark.skipif(not IS_ALL, reason="runs on the processor; elsewhere with GIRIH_TESTS=full")


def some(names, every):
    return list(names) if IS_ALL else list(names)[::every]


@pytest.fixture(autouse=True)
def strictly():
    girih.torch.strict()
    yield
    girih.torch.strict(False)


def numbers(*shape):
    torch.manual_seed(0)
    return torch.randn(*shape, dtype=torch.complex64)


def agree(function, *tensors, rtol=1e-4, atol=1e-5):
    ours, theirs = function(*(tensor.to("girih") for tensor in tensors)), function(*tensors)
    torch.testing.assert_close(ours.cpu().resolve_conj(), theirs.resolve_conj(), rtol=rtol, atol=atol)
    assert ours.stride() == theirs.stride()


CASES = {
    "broadcast": lambda z: z + z[:1] * z[:, :1],
    "numbers": lambda z: (z * 2.5 - 1j) / (3 + 1j),
    "alpha": lambda z: torch.add(z, z, alpha=2j),
    "real_and_complex": lambda z: z * z.real + z.imag,
    "from_real": lambda z: z.real + 1j,
    "in_place": lambda z: z.clone().mul_(2j).add_(z),
    "view_in_place": lambda z: z.clone().t()[1:].fill_(3j).contiguous(),
    "set_item": lambda z: set_row(z.clone()),
    "strides": lambda z: z.t()[1:, ::2] * 2,
    "conversion": lambda z: z.to(torch.complex128).to(torch.complex64),
    "conjugate": lambda z: z.conj() + z,
    "imaginary_of_conjugate": lambda z: z.conj().imag + 1,
    "conjugate_copied": lambda z: z.conj().clone(),
    "copied_to_conjugate": lambda z: copied_to_conjugate(z),
    "product": lambda z: z @ z.mH,
    "batched_product": lambda z: torch.bmm(z[None].expand(2, -1, -1), z.t()[None].expand(2, -1, -1)),
    "product_and_sum": lambda z: torch.addmm(z[:, :1], z, z.t(), beta=2j, alpha=3),
    "sums": lambda z: torch.cat([z.sum(0), z.mean(1), z.cumsum(1)[0], z.prod(1), z.prod()[None]]),
    "norms": lambda z: torch.stack([torch.linalg.norm(z), z.abs().max(), z.var(), z.angle().mean()]),
    "polar": lambda z: torch.polar(z.real.abs(), z.imag),
    "parts": lambda z: torch.complex(z.imag, z.real),
    "views": lambda z: torch.view_as_complex(torch.view_as_real(z).contiguous() * 2) * 1j,
    "indices": lambda z: z[torch.tensor([2, 0], device=z.device)].index_fill(1, torch.tensor([1], device=z.device), 2),
    "choices": lambda z: torch.where(z.real > 0, z, 0).masked_fill(z.imag > 1, 2j),
    "truths": lambda z: (z == z.conj()) | z.isnan() | (z != 0).any() | z.bool().all(),
    "made": lambda z: torch.full((4,), 2 + 1j, device=z.device) + torch.ones_like(z)[0, :4] + torch.zeros(4, dtype=z.dtype, device=z.device),
    "pieces": lambda z: torch.cat([torch.stack(z.unbind(0)), z.flip(0)]),
    "tensors_of_the_host": lambda z: torch.pow(torch.tensor(2.0), z) / torch.tensor(3j) + torch.where(z.real > 0, z, torch.tensor(1.0)),
    "powers": lambda z: z**3 + z**-2 + z**2.5 + z**z + 2**z,
}
FUNCTIONS = """acos acosh angle asin asinh atan atanh conj_physical cos cosh exp exp2 expm1 log log10 log1p log2 neg reciprocal rsqrt sgn sigmoid sin sinh sqrt square tan tanh""".split()


def set_row(z):
    z[:, 1] = 5j
    return z


def copied_to_conjugate(z):
    target = torch.zeros_like(z)
    target.conj().copy_(z)
    return target


@pytest.mark.parametrize("name", some(CASES, 6))
def test_operations(name):
    agree(CASES[name], numbers(6, 5))


@pytest.mark.parametrize("name", some(FUNCTIONS, 9))
def test_functions(name):
    function = torch.neg if name == "neg" else getattr(torch, name)
    agree(function, numbers(8, 8) * 2)


@pytest.mark.parametrize("name", some(["sqrt", "exp", "tanh", "log", "asin", "acos"], 6))
def test_functions_take_the_branches_of_the_processor(name):
    points = torch.tensor([-2 + 0j, complex(-2, -0.0), 2 + 0j, 2j, -2j, 30 + 1j, -30 + 1j, 0j, 1e-20 + 1e-20j])
    agree(getattr(torch, name), points)


def test_division_neither_overflows_nor_underflows():
    large = torch.tensor([1e30 + 1e30j, 1e-30 + 1e-30j, 1e30 + 0j, 3e38j])
    agree(lambda z: z / z, large)


@in_full
@pytest.mark.parametrize("function", [torch.polar, torch.complex, lambda x, y: torch.complex(x, y).t().exp()], ids=["polar", "complex", "turned"])
def test_sizes_change(function):
    torch.manual_seed(0)
    for length in (5, 8, 9, 12):
        agree(function, torch.rand(3, length), torch.rand(3, length))


LENGTHS = [60, 1, 2, 7, 32, 37, 97, 128, 131, 262, 1000]


@pytest.mark.parametrize("length", some(LENGTHS, 20))
def test_fourier_transforms(length):
    z, x = numbers(3, length), torch.randn(3, length)
    scale = {"rtol": 1e-4, "atol": 3e-6 * length}
    same = lambda function, tensor: torch.testing.assert_close(function(tensor.to("girih")).cpu(), function(tensor), **scale)
    same(torch.fft.fft, z)
    same(lambda z: torch.fft.ifft(z, norm="ortho"), z)
    same(torch.fft.rfft, x)
    same(lambda z: torch.fft.irfft(z, n=length), z[:, : length // 2 + 1])


@in_full
def test_fourier_transforms_of_several_axes():
    x = torch.randn(2, 6, 10)
    for function in (torch.fft.fft2, torch.fft.rfft2, torch.fft.ihfft2, torch.fft.fftn, lambda x: torch.fft.irfft2(torch.fft.rfft2(x), s=x.shape[1:])):
        torch.testing.assert_close(function(x.to("girih")).cpu(), function(x), rtol=1e-4, atol=1e-4)


@in_full
def test_short_time_transforms_lead_back():
    x, window = torch.randn(2, 2000), torch.hann_window(200)
    transform = lambda x, window: torch.stft(x, 200, 80, window=window, return_complex=True)
    back = lambda x, window: torch.istft(transform(x, window), 200, 80, window=window, length=2000)
    for function in (transform, back):
        torch.testing.assert_close(function(x.to("girih"), window.to("girih")).cpu(), function(x, window), rtol=1e-4, atol=1e-4)


def gradients(function, *tensors):
    for device in ("girih", "cpu"):
        given = [tensor.to(device).detach().requires_grad_() for tensor in tensors]
        function(*given).abs().sum().backward()
        yield [tensor.grad.cpu() for tensor in given]


@in_full
@pytest.mark.parametrize(
    "function",
    [lambda z: z * z.conj() * torch.exp(z), lambda z: torch.fft.fft(z) / (z + 3), lambda z: torch.fft.irfft(torch.fft.rfft(z.real) * z[:, :3]), lambda z: z @ z.mH + torch.sqrt(z @ z.t())],
    ids=["functions", "transform", "filter", "products"],
)
def test_gradients(function):
    for ours, theirs in zip(*gradients(function, numbers(4, 4))):
        torch.testing.assert_close(ours, theirs, rtol=1e-3, atol=1e-4)


@in_full
def test_compiled_functions():
    def rotated(x, angles):
        turns = torch.polar(torch.ones_like(angles), angles)
        pairs = torch.view_as_complex(x.reshape(*x.shape[:-1], -1, 2))
        return torch.view_as_real(pairs * turns).flatten(-2) * 2

    def mixed(x):
        return (torch.fft.fft(torch.fft.fft(x, dim=-1), dim=-2).real * 2 + 1).relu()

    x, angles = torch.randn(2, 5, 8), torch.randn(5, 4)
    for function, tensors in ((rotated, (x, angles)), (mixed, (x,))):
        for ours, theirs in zip(*gradients(lambda *given, function=function: given[0].new_tensor(1) * (torch.compile(function) if given[0].device.type == "girih" else function)(*given), *tensors)):
            torch.testing.assert_close(ours, theirs, rtol=1e-3, atol=1e-4)


TRANSFORMS = {
    "of_the_first_axis": lambda x: torch.fft.fft(x, dim=0),
    "of_all_axes": lambda x: torch.fft.fftn(x),
    "of_two_axes": lambda x: torch.fft.ifft2(torch.fft.rfft2(x, dim=(0, 2)), dim=(1, 0)),
    "of_turned_numbers": lambda x: torch.fft.fft2(x.transpose(0, 2) + 1j, dim=(2, 0)),
    "to_real_numbers": lambda x: torch.fft.irfftn(torch.fft.rfftn(x, dim=(2, 1)), s=(5, 4), dim=(2, 1)),
}


@in_full
@pytest.mark.parametrize("name", TRANSFORMS)
def test_compiled_transforms_have_the_strides_that_they_are_planned_with(name):
    function = lambda x: torch.view_as_real(TRANSFORMS[name](x) * (1 + 0j)) * 2
    x = torch.randn(3, 4, 5)
    torch.testing.assert_close(torch.compile(function)(x.to("girih")).cpu(), function(x), rtol=1e-4, atol=1e-4)


def test_numbers_are_printed_saved_and_moved(tmp_path):
    z = numbers(2, 3)
    ours = z.to("girih")
    assert ours[0, 1].item() == z[0, 1].item() and repr(z)[7:30] in repr(ours)
    torch.save(ours, tmp_path / "numbers")
    assert torch.equal(torch.load(tmp_path / "numbers").cpu(), z)
    assert torch.equal(ours.conj().cpu(), z.conj())


@in_full
def test_random_numbers():
    torch.manual_seed(0)
    drawn = torch.randn(4000, dtype=torch.complex64, device="girih")
    assert abs(drawn.mean().item()) < 0.1 and abs(drawn.var().item() - 1) < 0.1 and abs(drawn.real.var().item() - 0.5) < 0.1
    drawn = torch.rand(4000, dtype=torch.complex64, device="girih")
    assert abs(drawn.mean().item() - (0.5 + 0.5j)) < 0.1 and drawn.real.min().item() >= 0 and drawn.imag.max().item() < 1


def test_what_has_no_rule_runs_on_the_host():
    girih.torch.strict(False)
    z = numbers(4, 3)
    before = girih.torch.fallbacks().get("aten::cumprod", 0)
    torch.testing.assert_close(z.to("girih").cumprod(0).cpu(), z.cumprod(0))
    assert girih.torch.fallbacks()["aten::cumprod"] == before + 1


def test_results_are_written_to_what_is_marked_as_a_conjugate():
    girih.torch.strict(False)
    z = numbers(3, 3)

    def product(z):
        made = torch.zeros_like(z)
        torch.mm(z, z, out=made.conj())
        return made

    agree(product, z)
