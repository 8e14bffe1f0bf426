"""`torch.compile(backend="girih", options={"compiler": "graph"})`: PyTorch's graphs, compiled by `core/tensor`."""

import copy
import itertools

import girih.torch
import pytest
import torch
import torch.nn.functional as F
from girih.torch import graph
from girih.torch.graph import decompositions
from girih.torch.graph.operations import OPERATIONS
from girih.torch.graph.translator import name_of
from models import MODELS
from test_models import in_float64, train
from torch._dynamo.utils import same


@pytest.fixture(autouse=True)
def fresh():
    torch._dynamo.reset()
    graph._breaks.clear()


def compiled(function, **options):
    return torch.compile(function, backend="girih", options={"compiler": "graph"}, **options)


# The software driver of Vulkan takes seconds for each kernel, and models have a hundred.
TRAINED = MODELS if girih.torch.current().kind == "cpu" else ["mlp", "cats_and_dogs"]


@pytest.mark.parametrize("name", TRAINED)
def test_training(name):
    torch.manual_seed(0)
    model, x, loss, wanted = MODELS[name]()
    exact = train(copy.deepcopy(model).double(), in_float64(x), loss, in_float64(wanted))
    plain = train(copy.deepcopy(model), x, loss, wanted)
    runs = graph.launches()["runs"]
    ours = train(copy.deepcopy(model).to("girih"), x.to("girih"), loss, wanted.to("girih"), compiled)
    # Ten times forwards and ten times backwards, a graph each. PyTorch's attention has kernels of its own between two graphs.
    assert graph.breaks() == {}
    if not any(getattr(module, "fused", False) for module in model.modules()):
        assert graph.launches()["runs"] - runs == 20
    assert ours[0][-1] != ours[0][0]
    assert same(plain, ours, exact, tol=1e-3)


def truths(x):
    return torch.where(x > 0, x > 1, x < -1)


# Functions of a tensor [6, 10], with derivatives where they give floats.
FUNCTIONS = {
    "arithmetic": lambda x: (x + 2, 3 - x, x * x, x / 3, x / (x.abs() + 1), x.add(x, alpha=3), -x, x.sign()),
    "functions": lambda x: (x.exp(), x.sin(), x.cos(), x.tanh(), x.sigmoid(), x.erf(), x.expm1(), x.abs().log1p(), x.square().sqrt(), (x.abs() + 1).rsqrt()),
    "hyperbolic": lambda x: (x.sinh(), x.cosh(), x.asinh(), (x * 1e6).asinh(), (x.abs() + 1).acosh(), (x * 0.3).atanh(), x.atan(), (x * 0.3).asin(), torch.atan2(x, x.flip(0))),
    "powers": lambda x: (x**2, x**3, (x.abs() + 1) ** 0.5, (x.abs() + 1) ** -1.5, 2.0**x, (x.abs() + 0.5) ** x),
    "rounding": lambda x: (x.floor(), x.ceil(), x.round(), x.trunc(), x.clamp(-0.5, 0.5), x.clamp(min=0), torch.maximum(x, -x)),
    "activations": lambda x: (F.gelu(x), F.gelu(x, approximate="tanh"), F.silu(x), F.elu(x), F.leaky_relu(x), F.hardswish(x), F.softplus(x), F.relu6(x), F.mish(x), F.glu(x)),
    "integers": lambda x: ((x * 10).long() // 3, (x * 10).long() % 3, (x * 10).int().remainder(-7), (x * 10).long() & 6, (x * 10).long().sum(0), (x * 10).int() / 4),
    "truths": lambda x: (truths(x), ~truths(x), truths(x) | (x == 0), truths(x).any(), truths(x).all(1), truths(x).sum(0), truths(x) == (x > 0), truths(x) * 2.5),
    "types": lambda x: (x.double() + 1, x.half() * 2, x.to(torch.bfloat16).float(), x.long().float(), (x > 0).to(torch.uint8), x.half().exp(), x.int() + 1.5, x.to(torch.int8) + 1),
    "sums": lambda x: (x.sum(), x.sum(0), x.mean(1, keepdim=True), x.amax(1), x.amin(0), x.argmax(1), x.argmin(), x.var(0), x.std(), x.detach().prod(1), x.norm(), x.max(1), x.logsumexp(1)),
    "softmax": lambda x: (x.softmax(-1), x.log_softmax(0), F.layer_norm(x, [10]), F.normalize(x), F.group_norm(x[None], 2)),
    "scans": lambda x: (x.cumsum(0), x.cumsum(1), (x > 0).cumsum(1)),
    "sorted": lambda x: (*x.sort(), *x.sort(0, descending=True), *x.topk(3), x.round().argsort(dim=0, stable=True), *torch.where(x > 1, float("nan"), x).sort(1), x.long().topk(2, 0, largest=False).values),
    "views": lambda x: (x.t() + 1, x.view(3, 20), x[None].expand(2, 6, 10) * 2, x.reshape(2, 3, 10).transpose(0, 2) + 1, x.unsqueeze(1).squeeze(1) + 1, x.flatten()),
    "parts": lambda x: (x[1:5:2] + 1, x[:, -3:] * 2, x[2] + 1, x[:, 3], x.chunk(2, 1), x.split([1, 2, 3]), x.unbind(0)[3] * 2, x.narrow(1, 2, 3) + 1, x.flip(0, 1)),
    "joined": lambda x: (torch.cat([x, x * 2], 1), torch.stack([x, -x], 1), F.pad(x, (1, 2, 0, 3), value=1.5), F.pad(x, (-1, 2)), x.repeat(2, 1, 3), x.roll(2, 1), F.pad(x[None], (1, 2), mode="reflect")),
    "triangles": lambda x: (x.tril(), x.triu(1), torch.arange(3, 30, 4, device=x.device), torch.arange(0.5, 2, 0.25, device=x.device), torch.zeros_like(x) + x, torch.full([3], 7, device=x.device), torch.linspace(0, 1, 5, device=x.device) + x[0, :5]),
    "gathered": lambda x: (
        x[torch.arange(5, device=x.device) // 2],
        x[:, torch.tensor([0, -1, 3], device=x.device)],
        x[torch.tensor([0, 2], device=x.device), torch.tensor([1, -2], device=x.device)],
        x.gather(1, x.long().abs() % 10),
        x.index_select(1, torch.tensor([4, 4, 0], device=x.device)),
        x.take_along_dim(x.long().abs() % 10, 1),
    ),
    "put": lambda x: (
        x.masked_fill(x > 0, -1.0),
        x.scatter(1, x.long().abs()[:, :1] % 10, 7.0),
        x.scatter(1, x.long().abs() % 10, 7.0),
        x.scatter(1, x.argsort(1)[:, :4], x[:, :4] * 2),
        x.scatter_add(1, x.long().abs() % 10, x * 2),
        x.index_add(0, torch.tensor([1, 1], device=x.device), x[:2]),
        x.index_put((torch.tensor([1, 3], device=x.device),), x[:2] * 2, accumulate=True),
        x.index_put((torch.tensor([1, 3], device=x.device),), torch.zeros((), device=x.device)),
    ),
    "slices_put": lambda x: (x.slice_scatter(x[:2] * 2, 0, 1, 3), x.slice_scatter(x[:, :3] * 2, 1, 1, 9, 3), x.select_scatter(x[0] * 2, 0, -1)),
    "products": lambda x: (x @ x.t(), torch.einsum("ij,kj->ik", x, x), F.linear(x, x, x[:, 0]), x @ x[0], torch.outer(x[0], x[1]), torch.baddbmm(x[:, :6].expand(2, 6, 6), x.expand(2, 6, 10), x.t().expand(2, 10, 6), beta=0.5, alpha=2)),
    "losses": lambda x: (F.cross_entropy(x, torch.arange(6, device=x.device)), F.mse_loss(x, x * 2), F.smooth_l1_loss(x, x * 3), F.binary_cross_entropy_with_logits(x, x.sigmoid()), F.kl_div(x.log_softmax(1), x.softmax(0)), F.cross_entropy(x, torch.tensor([1, 2, 3, -100, 5, 6], device=x.device), label_smoothing=0.1)),
}

# Functions of pictures [2, 4, 9, 8].
PICTURES = {
    "convolution": lambda x: F.conv2d(x, x[:1, :, :3, :3].expand(6, 4, 3, 3), x[0, 0, 0, :6], stride=(2, 1), padding=(0, 1), dilation=(1, 2)),
    "groups": lambda x: F.conv2d(x, x[:, :, :3, :2].reshape(4, 2, 3, 2), groups=2),
    "depthwise": lambda x: F.conv2d(x, x[0, :, :3, :3].unsqueeze(1), padding=1, groups=4),
    "transposed": lambda x: F.conv_transpose2d(x, x[0, :, :3, :3].unsqueeze(1).expand(4, 3, 3, 3), x[0, 0, 0, :3], stride=2, padding=1, output_padding=(1, 0)),
    "transposed_groups": lambda x: F.conv_transpose2d(x, x[0, :, :3, :2].unsqueeze(1).expand(4, 2, 3, 2), groups=2, dilation=2),
    "line": lambda x: F.conv1d(x[:, :, 0], x[0, :, :3, :3].transpose(0, 1), padding=1, stride=2),
    "maximum": lambda x: (F.max_pool2d(x, 2), F.max_pool2d(x, 3, 2, 1), F.max_pool2d(x, (2, 3), ceil_mode=True), F.max_pool2d(x, 3, 1, dilation=2), F.max_pool2d(x[0], 2), F.max_pool1d(x[0], 3)),
    "ties": lambda x: (F.max_pool2d(x.round(), 2), F.max_pool2d(x.round(), 3, 1)),
    "mean": lambda x: (F.avg_pool2d(x, 2), F.avg_pool2d(x, 3, 2, 1), F.adaptive_avg_pool2d(x, 1), F.adaptive_avg_pool2d(x, (3, 4)), F.adaptive_avg_pool2d(x, (9, 3))),
    "mean_of_all": lambda x: (F.adaptive_avg_pool2d(x.contiguous(memory_format=torch.channels_last), 1), F.adaptive_avg_pool1d(x[:, :, 0].transpose(1, 2), 1)),
    "strided": lambda x: ((x * 2).as_strided((2, 8, 4, 9), (288, 1, 72, 8)), x.exp().as_strided((4, 9), (9, 1), 36)),
    "batch_norm": lambda x: (F.batch_norm(x, None, None, training=True), F.batch_norm(x, x[0, :, 0, 0].detach(), x[0, :, 0, 1].detach().abs()), F.instance_norm(x), F.group_norm(x, 2)),
    "sampled": lambda x: F.grid_sample(x.detach(), F.affine_grid(torch.tensor([[[0.8, 0.3, 0.1], [-0.2, 0.7, 0.0]]], device=x.device).expand(2, 2, 3), (2, 4, 5, 6), align_corners=False), align_corners=False),
    "larger": lambda x: (F.interpolate(x, scale_factor=2), F.interpolate(x, size=(13, 5), mode="bilinear"), F.interpolate(x, scale_factor=2, mode="bilinear", align_corners=True), F.pixel_shuffle(x, 2)),
    "channels_last": lambda x: F.conv2d(x.contiguous(memory_format=torch.channels_last), x[:, :, :3, :3]) + 1,
    "attention": lambda x: (F.scaled_dot_product_attention(x, x, x), F.scaled_dot_product_attention(x, x, x, is_causal=True), F.scaled_dot_product_attention(x, x, x, attn_mask=x[0, 0, :, :1] > 0)),
}
CASES = [*itertools.product(["table"], FUNCTIONS), *itertools.product(["pictures"], PICTURES)]


def tensors(result):
    """All tensors of a result."""
    if isinstance(result, torch.Tensor):
        return [result]
    return [tensor for one in result for tensor in tensors(one)]


def differentiate(results):
    """Goes backwards from all floats, each element with another derivative."""
    floats = [result for result in results if result.requires_grad]
    derivatives = [torch.linspace(0.5, 1.5, result.numel(), dtype=result.dtype).view(result.shape).to(result.device) for result in floats]
    torch.autograd.backward(floats, derivatives)


@pytest.mark.parametrize(("kind", "name"), CASES)
def test_functions_and_their_derivatives(kind, name):
    torch.manual_seed(0)
    function, x = (FUNCTIONS[name], torch.randn(6, 10)) if kind == "table" else (PICTURES[name], torch.randn(2, 4, 9, 8))
    theirs, ours = x.clone().requires_grad_(), x.to("girih").requires_grad_()
    expected, found = tensors(function(theirs)), tensors(compiled(function, fullgraph=True)(ours))
    # Attention's own kernels lay out results in their own way, on any compiler.
    layout = lambda a: (a.dtype, a.shape, a.stride() if name != "attention" else None)
    assert list(map(layout, found)) == list(map(layout, expected))
    for a, b in zip(found, expected):
        torch.testing.assert_close(a.cpu(), b, rtol=2e-3 if a.dtype in (torch.float16, torch.bfloat16) else 1e-4, atol=1e-4, equal_nan=True)
    if any(result.requires_grad for result in expected):
        differentiate(found)
        differentiate(expected)
        torch.testing.assert_close(ours.grad.cpu(), theirs.grad, rtol=1e-3, atol=1e-3)
    assert graph.breaks() == {}


def test_an_operation_that_is_missing_breaks_the_graph_and_is_named():
    f = lambda x: (x * 2).cumprod(1).exp() + x.sum()
    x = torch.randn(5, 7)
    runs = graph.launches()["runs"]
    torch.testing.assert_close(compiled(f)(x.to("girih")).cpu(), f(x))
    assert graph.breaks() == {"cumprod.default": "the graph compiler has no such operation"}
    assert graph.launches()["runs"] - runs == 2


def test_arguments_that_an_operation_is_not_for_break_the_graph():
    f = lambda x: F.avg_pool2d(x * 2, 3, 2, 1, count_include_pad=False) + 1
    x = torch.randn(1, 2, 6, 6)
    torch.testing.assert_close(compiled(f)(x.to("girih")).cpu(), f(x))
    assert list(graph.breaks()) == ["avg_pool2d.default"]
    assert "differs from the size of a window" in graph.breaks()["avg_pool2d.default"]


def test_what_goes_to_the_host_is_no_part_of_a_graph():
    f = lambda x: ((x + 1).cpu(), x * 2)
    x = torch.randn(4)
    there, here = compiled(f)(x.to("girih"))
    assert (there.device.type, here.device.type) == ("cpu", "girih")
    torch.testing.assert_close((there, here.cpu()), f(x))


LAYOUTS = {
    "transposed": lambda x: x.t(),
    "columns": lambda x: x[:, 2:7],
    "far": lambda x: x[1:, 3:][::2, ::3],
    "repeated": lambda x: x[:, :1].expand(6, 10),
    "one": lambda x: x[3, 4],
    "row": lambda x: x[2],
    "overlapping": lambda x: x.as_strided((4, 5), (1, 2)),
    "windows": lambda x: x.as_strided((4, 5), (3, 2), 1),
    "empty": lambda x: x[:0],
    "mixed": lambda x: x.view(2, 3, 10).permute(2, 0, 1)[::2],
}


@pytest.mark.parametrize("name", LAYOUTS)
def test_inputs_of_any_layout(name):
    x = torch.randn(6, 10)
    f = lambda x: x * 2 + 1
    found = compiled(f)(LAYOUTS[name](x.to("girih")))
    torch.testing.assert_close(found.cpu(), f(LAYOUTS[name](x)))


def test_truth_values_of_any_layout():
    x = torch.randn(6, 10) > 0
    f = lambda x: ~x
    for layout in (lambda x: x[1:, 3:], lambda x: x.t(), lambda x: x[0, 1:]):
        torch._dynamo.reset()
        assert torch.equal(compiled(f)(layout(x.to("girih"))).cpu(), f(layout(x)))


def test_results_are_memory_of_their_own():
    f = lambda x: (x.clone(), x.clone(), x + 0)
    x = torch.ones(3, device="girih")
    first, second, third = compiled(f)(x)
    first.add_(1)
    assert [tensor.tolist() for tensor in (x, first, second, third)] == [[1.0] * 3, [2.0] * 3, [1.0] * 3, [1.0] * 3]


def test_views_of_inputs_stay_views():
    x = torch.zeros(2, 3, device="girih")
    view = compiled(lambda x: x.t())(x)
    view.add_(1)
    assert x.sum().item() == 6


def test_sizes_may_change():
    f = lambda x: torch.softmax(x * x.shape[0], -1).sum(0)
    ours = compiled(f, dynamic=True)
    for shape in [(3, 5), (40, 7), (17, 300)]:
        x = torch.randn(shape)
        torch.testing.assert_close(ours(x.to("girih")).cpu(), f(x))
    assert graph.breaks() == {}


def test_changes_in_place():
    x = torch.randn(20, 30)
    ours = x.to("girih")
    compiled(lambda t: t.mul_(2).add_(1))(ours)
    torch.testing.assert_close(ours.cpu(), x * 2 + 1)


def test_dropout_keeps_the_right_share_and_repeats_with_the_seed():
    f = compiled(lambda x: F.dropout(x, 0.25) + F.dropout(x, 0.25) * 10)
    x = torch.ones(100, 100, device="girih", requires_grad=True)
    torch.manual_seed(1)
    first = f(x)
    first.sum().backward()
    torch.testing.assert_close(x.grad, first)
    first, second = first.detach().cpu(), f(x).detach().cpu()
    torch.manual_seed(1)
    assert torch.equal(first, f(x).detach().cpu())
    assert not torch.equal(first, second)
    # The second of the two is ten times as large.
    second = (first > 5).float()
    for kept in (second, first - second * 10 / 0.75 > 1):
        assert abs(kept.float().mean().item() - 0.75) < 0.03


@pytest.mark.parametrize("kind", ["SGD", "Adam", "AdamW"])
def test_optimizers(kind):
    """Each on the host, and its step compiled on the device."""
    start = torch.randn(5, 4)
    ends = []
    for device in ("cpu", "girih"):
        weights = start.clone().to(device).requires_grad_()
        optimizer = getattr(torch.optim, kind)([weights], lr=0.05, weight_decay=0.1)
        step = compiled(optimizer.step) if device == "girih" else optimizer.step
        for _ in range(4):
            optimizer.zero_grad()
            (weights**2).sum().backward()
            step()
        ends.append(weights.detach().cpu())
    torch.testing.assert_close(ends[1], ends[0], rtol=1e-4, atol=1e-5)


def test_two_sizes_of_one_function_are_translated_each():
    f = compiled(lambda x: x.cumsum(0) * 2)
    for length in (4, 9, 4):
        x = torch.arange(length, dtype=torch.float32)
        assert torch.equal(f(x.to("girih")).cpu(), x.cumsum(0) * 2)


def test_positions_beyond_the_end_read_zeros_and_write_nothing():
    x = torch.arange(1.0, 5.0, device="girih")
    assert compiled(lambda x, at: x[at])(x, torch.tensor([0, 9, -1, -7], device="girih")).tolist() == [1.0, 0.0, 4.0, 0.0]
    put = compiled(lambda x, at: x.index_put((at,), x[:2] * 10, accumulate=True))
    assert put(x, torch.tensor([1, 7], device="girih")).tolist() == [1.0, 12.0, 3.0, 4.0]


def test_the_last_of_several_elements_for_one_position_is_put():
    x, at = torch.zeros(2, 4), torch.tensor([[1, 1, 3], [0, 2, 0]])
    put = compiled(lambda x, at: x.scatter(1, at, torch.arange(1.0, 7.0, device=x.device).view(2, 3)))
    assert put(x.to("girih"), at.to("girih")).tolist() == [[0, 2, 0, 3], [6, 0, 5, 0]]
    assert graph.breaks() == {}


def test_options_are_checked():
    for options in ({"compiler": "none"}, {"compiler": "graph", "speed": 11}):
        with pytest.raises(Exception, match="options of the backend girih are"):
            torch.compile(lambda x: x + 1, backend="girih", options=options)(torch.ones(2, device="girih"))


def test_functions_without_derivatives_run_in_one_graph():
    runs = graph.launches()["runs"]
    with torch.no_grad():
        x = torch.randn(3, 3)
        torch.testing.assert_close(compiled(lambda x: x.relu() @ x)(x.to("girih")).cpu(), x.relu() @ x)
    assert graph.launches()["runs"] - runs == 1


# PyTorch's core operations that break graphs.
CORE_MISSING = """
    _adaptive_avg_pool3d.default _cdist_forward.default _embedding_bag.default _fft_c2r.default _fft_r2c.default _local_scalar_dense.default _pdist_forward.default
    atan2.out avg_pool3d.default diagonal.default masked_scatter.default max_pool3d_with_indices.default nonzero.default randperm.default resize_.default
    scatter_reduce.two sym_storage_offset.default
""".split()


def test_all_other_core_operations_are_in_the_table():
    packets = [getattr(torch.ops.aten, name) for name in dir(torch.ops.aten)]
    operations = [getattr(packet, overload) for packet in packets if hasattr(packet, "overloads") for overload in packet.overloads()]
    core = [operation for operation in operations if torch.Tag.core in operation.tags]
    missing = [name_of(operation) for operation in core if operation not in decompositions.table() and name_of(operation) not in OPERATIONS]
    assert len(core) > 180
    assert sorted(missing) == sorted(CORE_MISSING)
