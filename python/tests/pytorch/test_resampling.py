"""Interpolation, pooling and the connectionist loss with their gradients, and operations that make whole numbers: the processor's results, without the host."""

import girih.torch
import pytest
import torch
import torch.nn.functional as F


@pytest.fixture(autouse=True)
def strictly():
    girih.torch.strict()
    yield
    girih.torch.strict(False)


def with_gradient(function, x, device):
    x = x.to(device, copy=True).requires_grad_()
    y = function(x)
    (y * torch.cos(torch.arange(y.numel(), device=device)).reshape(y.shape)).sum().backward()
    return y.detach().cpu(), x.grad.cpu()


RESAMPLED = {
    "nearest, exact": lambda x: F.interpolate(x, mode="nearest-exact", scale_factor=(1.7, 0.6)),
    "linear": lambda x: F.interpolate(x[:, :, 0], mode="linear", size=9),
    "smooth": lambda x: F.interpolate(x, mode="bilinear", size=(4, 9), antialias=True),
    "shares": lambda x: F.adaptive_avg_pool2d(x, (4, 3)),
    "windows": lambda x: F.avg_pool2d(x, 6, 2, 3, ceil_mode=True, count_include_pad=False),
    "the largest": lambda x: F.max_pool2d(x, 6, 1, 2),
    "the largest of windows with gaps": lambda x: F.max_pool2d(x, 3, 1, padding=1, dilation=2),
    "the largest of shares": lambda x: F.adaptive_max_pool2d(x, 3),
    "repeated edges": lambda x: F.pad(x, (2, 1, 0, 3), mode="replicate"),
    "repeated edges of a row": lambda x: F.pad(x[:, :, 0, :1], (2, 3), mode="replicate"),
    "repeated edges of volumes": lambda x: F.pad(x.unsqueeze(0), (1, 0, 2, 1, 0, 1), mode="replicate"),
}


@pytest.mark.parametrize("name", RESAMPLED)
def test_pictures(name):
    torch.manual_seed(0)
    x = torch.randn(2, 3, 6, 5)
    for ours, theirs in zip(with_gradient(RESAMPLED[name], x, "girih"), with_gradient(RESAMPLED[name], x, "cpu"), strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("p", [0.0, 0.7, 1.0, 2.0, 3.0, float("inf")])
def test_the_gradient_of_distances(p):
    torch.manual_seed(0)
    points = torch.randn(2, 4, 3)
    # The first two of the second set are points of the first one: such distances have no slope.
    others = torch.cat([points[:, :2], torch.randn(2, 3, 3)], 1)
    for ours, theirs in zip(*(with_gradient(lambda x: torch.cdist(x, others.to(x.device), p), points, device) for device in ("girih", "cpu")), strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-4, atol=1e-5)
    of_others = [with_gradient(lambda x: torch.cdist(points.to(x.device), x, p), others, device)[1] for device in ("girih", "cpu")]
    torch.testing.assert_close(*of_others, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("padding,align", [("zeros", False), ("border", True), ("reflection", False)])
def test_the_gradient_of_sampling(padding, align):
    torch.manual_seed(0)
    x, grid, results = torch.randn(2, 3, 6, 5), torch.rand(2, 4, 4, 2) * 3 - 1.5, []
    for device in ("girih", "cpu"):
        ends = [each.to(device, copy=True).requires_grad_() for each in (x, grid)]
        y = F.grid_sample(*ends, padding_mode=padding, align_corners=align)
        (y * torch.cos(torch.arange(y.numel(), device=device)).reshape(y.shape)).sum().backward()
        results.append([end.grad.cpu() for end in ends])
    for ours, theirs in zip(*results, strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-4, atol=1e-4)


def test_the_gradient_of_cubic_interpolation():
    torch.manual_seed(0)
    given = torch.randn(1, 2, 9, 3)
    backward = lambda x: torch.ops.aten.upsample_bicubic2d_backward(x, [9, 3], [1, 2, 6, 5], False, None, None)
    torch.testing.assert_close(backward(given.to("girih")).cpu(), backward(given), rtol=1e-4, atol=1e-5)


def test_the_connectionist_loss():
    torch.manual_seed(0)
    logs, lengths = torch.randn(12, 3, 5), [4, 0, 3]
    targets = torch.tensor([[1, 1, 2, 4], [0, 0, 0, 0], [3, 3, 1, 0]])
    # The last one does not fit: its loss is infinite, and taken to be zero.
    run = lambda x: F.ctc_loss(x.log_softmax(2), targets.to(x.device), [12, 9, 3], lengths, reduction="none", zero_infinity=True)
    for ours, theirs in zip(with_gradient(run, logs, "girih"), with_gradient(run, logs, "cpu"), strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-4, atol=1e-5)


def whole(values, dtype=torch.int64):
    return torch.tensor(values, dtype=dtype)


NUMBERS = {
    "counts": lambda d: (whole([1, 2, 2, 5]).to(d).bincount(minlength=9), torch.bincount(whole([1, 2, 2]).to(d), torch.tensor([0.5, 1, 2]).to(d))),
    "large steps": lambda d: (torch.arange(0, 10**12, 10**11, device=d), torch.arange(2**40, 2**40 + 5, device=d)),
    "without a sign": lambda d: [f(whole([7, 250, 0], torch.uint8).to(d)) for f in (lambda x: x // 3, lambda x: x % 3, lambda x: torch.fmod(x, 9), lambda x: x // whole([2, 3, 4], torch.uint8).to(d))],
    "powers of two": lambda d: [torch.ldexp(torch.tensor([1.5, -2, 3]).to(d), whole([1, -1, 0]).to(d))],
    "rows that are there once": lambda d: torch.unique(whole([[3, 1], [0, 2], [3, 1], [0, 1]]).to(d), dim=0, return_inverse=True, return_counts=True),
    "rows in a row": lambda d: torch.unique_consecutive(whole([[3, 1], [3, 1], [0, 2]]).to(d), dim=0, return_counts=True),
    "rows that are searched": lambda d: [torch.searchsorted(whole([[1, 3, 5], [2, 3, 4]]).to(d), (torch.arange(1400) % 7).reshape(2, 700).to(d), right=True)],
    "lengths that change": lambda d: [f(torch.arange(n).to(d)) for n in (3, 5, 9) for f in (lambda x: torch.searchsorted(x, x), lambda x: torch.bucketize(x, x, right=True))],
    "digamma": lambda d: [torch.digamma(torch.tensor([0.1, 1, 2.5, -0.3, -5.5, 30, 0, -1]).to(d))],
    "shrunk rows": lambda d: [F.embedding(whole([1, 1, 3]).to(d), torch.arange(8.0).reshape(4, 2).to(d), max_norm=1.0)],
    "rounded": lambda d: [torch.fake_quantize_per_tensor_affine(torch.linspace(-20, 20, 9).to(d), 0.1, 3, -128, 127)],
}


@pytest.mark.parametrize("name", NUMBERS)
def test_numbers(name):
    for ours, theirs in zip(NUMBERS[name]("girih"), NUMBERS[name]("cpu"), strict=True):
        torch.testing.assert_close(ours.cpu(), theirs, equal_nan=True)


@pytest.mark.parametrize("norm_first", [False, True])
def test_layers_of_transformers_that_need_no_gradient(norm_first):
    torch.manual_seed(0)
    layer = torch.nn.TransformerEncoderLayer(8, 2, 16, batch_first=True, norm_first=norm_first).eval()
    x, padded = torch.randn(2, 5, 8), torch.tensor([[False] * 5, [False] * 3 + [True] * 2])
    causal = torch.nn.Transformer.generate_square_subsequent_mask(5)
    with torch.no_grad():
        theirs = [layer(x), layer(x, src_key_padding_mask=padded)[:, :3], layer(x, src_mask=causal), *layer.self_attn(x, x, x)]
        layer.to("girih")
        x, padded, causal = (each.to("girih") for each in (x, padded, causal))
        ours = [layer(x), layer(x, src_key_padding_mask=padded)[:, :3], layer(x, src_mask=causal), *layer.self_attn(x, x, x)]
    for one, other in zip(ours, theirs, strict=True):
        torch.testing.assert_close(one.cpu(), other, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("is_at_end", [True, False])
def test_encoders_of_padded_rows(is_at_end):
    """PyTorch makes nested tensors of rows that end in padding, and zeros of it."""
    torch.manual_seed(0)
    encoder = torch.nn.TransformerEncoder(torch.nn.TransformerEncoderLayer(8, 2, 16, batch_first=True), 2, torch.nn.LayerNorm(8)).eval()
    x, padded = torch.randn(2, 5, 8), torch.tensor([[False] * 5, [False] * 3 + [True] * 2 if is_at_end else [True] * 2 + [False] * 3])
    with torch.no_grad():
        theirs = encoder(x, src_key_padding_mask=padded)
        ours = encoder.to("girih")(x.to("girih"), src_key_padding_mask=padded.to("girih"))
        # Dynamo looks into what stands in for PyTorch's own function, also for tensors of the host.
        torch._dynamo.reset()
        graph = torch.compile(encoder, backend="eager", fullgraph=True)(x.to("girih"), src_key_padding_mask=padded.to("girih"))
    torch.testing.assert_close(ours.cpu(), theirs, rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(graph[~padded].cpu(), theirs[~padded], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("mode", ["sum", "mean"])
def test_bags_of_rows(mode):
    results = []
    for device in ("cpu", "girih"):
        torch.manual_seed(0)
        bag = torch.nn.EmbeddingBag(10, 3, mode=mode, padding_idx=4).to(device)
        indices, offsets = whole([1, 2, 4, 5, 4, 3, 2, 9]).to(device), whole([0, 4, 4]).to(device)
        made = [bag(indices, offsets), bag(indices.reshape(2, 4))]
        if mode == "sum":
            made.append(bag(indices, offsets, per_sample_weights=torch.arange(8.0).to(device)))
        sum(each.square().sum() for each in made).backward()
        results.append([*(each.detach().cpu() for each in made), bag.weight.grad.cpu()])
    for ours, theirs in zip(*reversed(results), strict=True):
        torch.testing.assert_close(ours, theirs)


def test_weights_of_a_norm():
    results = []
    for device in ("cpu", "girih"):
        torch.manual_seed(0)
        layer = torch.nn.utils.parametrizations.weight_norm(torch.nn.Linear(4, 3)).to(device)
        layer(torch.randn(2, 4).to(device)).square().sum().backward()
        results.append([parameter.grad.cpu() for parameter in layer.parameters()])
    for ours, theirs in zip(*reversed(results), strict=True):
        torch.testing.assert_close(ours, theirs)
