"""Compiled functions are recorded when they are called again, and repeated afterwards: results stay those of the processor, and what is not recorded runs each time."""

import gc
import threading

import girih
import girih.torch
import pytest
import torch
import torch.nn.functional as F
from girih.torch.inductor.recorded import Recorded, can_be_recorded


@pytest.fixture(autouse=True)
def fresh():
    torch._dynamo.reset()
    torch.manual_seed(0)


def functions():
    """All compiled functions that live."""
    gc.collect()
    return {id(each): each for each in gc.get_objects() if type(each) is Recorded}


class Made:
    """The compiled functions that a block of code has made, and how many recordings they have."""

    def __enter__(self):
        self._before = functions()
        return self

    def __exit__(self, *problem):
        pass

    def recordings(self):
        made = [each for key, each in functions().items() if key not in self._before]
        return sum(len(kept.recordings) for each in made for kept in each._kept.values())


def compiled(function, **options):
    """A function compiled anew: what earlier tests have made of the same code has its own recordings."""
    return torch.compile(function, options={"fx_graph_cache": False}, **options)


def test_other_numbers_of_the_same_layout():
    def function(x, w):
        y = F.gelu(x @ w)
        return y, y.softmax(-1).sum(0), y.t()[1:], 3

    with Made() as made:
        ours = compiled(function)
        for _ in range(5):
            x, w = torch.randn(20, 30), torch.randn(30, 40)
            for a, b in zip(ours(x.to("girih"), w.to("girih")), function(x, w), strict=True):
                torch.testing.assert_close(a.cpu() if isinstance(a, torch.Tensor) else a, b, rtol=1e-4, atol=1e-4)
        assert made.recordings() == 1


def test_arguments_that_are_changed_returned_or_share_memory():
    def function(x, y, z):
        x.add_(1)
        return x, y[1:] * 2, z.mul_(y), x[:, 1:]

    def arguments(device, shift):
        base = torch.arange(60.0).reshape(6, 10).to(device)
        both = torch.arange(80.0).to(device)
        # Two views of one memory, elsewhere in it each time.
        return base, both[:20].view(2, 10), both[20 + shift : 40 + shift].view(2, 10)

    ours = compiled(function)
    for shift in (0, 0, 0, 4, 4, 8, 0):
        given, wanted = arguments("girih", shift), arguments("cpu", shift)
        results = ours(*given)
        for a, b in zip([*results, *given], [*function(*wanted), *wanted], strict=True):
            torch.testing.assert_close(a.cpu(), b)
        assert results[0] is given[0]


@pytest.mark.parametrize("first", [1, 2, 4])
def test_arguments_overlap_only_later(first):
    def function(x, y):
        return x.flip(0) * 2 + y

    ours = compiled(function)
    for overlaps in (False, False, False, True, False):
        x = torch.arange(40.0)
        there, other = x.to("girih"), (x + 100).to("girih")
        result = ours(there[:16], (there if overlaps else other)[first : first + 16])
        torch.testing.assert_close(result.cpu(), function(x[:16], (x if overlaps else x + 100)[first : first + 16]))


def test_random_numbers_are_drawn_anew():
    def function(x):
        return F.dropout(x, 0.5) + torch.rand_like(x)

    def run(ours, count):
        torch.manual_seed(7)
        return [ours(torch.ones(1000, device="girih")).cpu() for _ in range(count)]

    ours = compiled(function)
    first = run(ours, 5)
    for one, other in zip(first, first[1:]):
        assert not torch.equal(one, other)
    for one, other in zip(first, run(ours, 5), strict=True):
        assert torch.equal(one, other)


def test_sizes_change():
    ours = compiled(lambda x, n: (x * n).cumsum(0).relu(), dynamic=True)
    for _ in range(3):
        for length, n in [(5, 2), (70, 2), (300, 3), (5, 4)]:
            x = torch.randn(length, 3)
            torch.testing.assert_close(ours(x.to("girih"), n).cpu(), (x * n).cumsum(0).relu(), rtol=1e-4, atol=1e-4)


def test_operations_of_others_run_each_time():
    calls = []

    @torch.library.custom_op("girih_tests::counted", mutates_args=())
    def counted(x: torch.Tensor) -> torch.Tensor:
        calls.append(len(calls))
        return x + len(calls)

    counted.register_fake(torch.empty_like)
    with Made() as made:
        ours = compiled(lambda x: counted(x * 2) * 3)
        for number in range(1, 6):
            torch.testing.assert_close(ours(torch.ones(4, device="girih")).cpu(), torch.full((4,), 3.0 * (2 + number)))
        assert len(calls) == 5
        # The operation adds by an eager operation, which is recorded by itself.
        assert made.recordings() <= 1
    assert can_be_recorded("torch.ops.aten.sort.stable(x)")
    assert not can_be_recorded("torch.ops.girih_tests.counted.default(x)")


def test_what_the_host_looks_at_is_not_recorded():
    def function(x):
        return torch.nonzero(x * 2)

    ours = compiled(function, fullgraph=False)
    for count in (3, 5, 2, 7, 1, 4):
        x = torch.zeros(10)
        x[:count] = 1
        assert torch.equal(ours(x.to("girih")).cpu(), function(x))


def test_a_network_trains_as_on_the_processor():
    def trained(device, wrap):
        torch.manual_seed(3)
        network = torch.nn.Sequential(torch.nn.Conv2d(3, 8, 3, padding=1, bias=False), torch.nn.BatchNorm2d(8), torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.Linear(8 * 64, 5)).to(device)
        optimizer = torch.optim.AdamW(network.parameters(), lr=1e-2)

        @wrap
        def loss_of(x, y):
            return F.cross_entropy(network(x), y)

        losses = []
        for step in range(8):
            generator = torch.Generator().manual_seed(step)
            x, y = torch.randn(4, 3, 8, 8, generator=generator), torch.randint(5, (4,), generator=generator)
            loss = loss_of(x.to(device), y.to(device))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        return losses, [parameter.detach().cpu() for parameter in network.state_dict().values()]

    with Made() as made:
        ours, weights = trained("girih", compiled)
        assert made.recordings() >= 2
    theirs, wanted = trained("cpu", lambda function: function)
    torch.testing.assert_close(ours, theirs, rtol=1e-3, atol=1e-4)
    for a, b in zip(weights, wanted, strict=True):
        torch.testing.assert_close(a, b, rtol=1e-2, atol=1e-3)


def test_memory_goes_when_nothing_uses_it():
    def function(x):
        for _ in range(6):
            x = (x @ x).softmax(-1)
        return x

    def live():
        gc.collect()
        return girih.torch.device.current().memory()["live"]

    ours = compiled(function)
    x = torch.randn(64, 64, device="girih")
    ours(x), ours(x)
    before = live()
    for _ in range(20):
        result = ours(x)
    assert live() - before <= 2 * result.numel() * 4


def test_an_index_out_of_range_is_an_error_also_then():
    ours = compiled(lambda x, i: x[i] * 2)
    x = torch.arange(10.0, device="girih")
    for _ in range(4):
        torch.testing.assert_close(ours(x, torch.tensor([1, 9], device="girih")).cpu(), torch.tensor([2.0, 18.0]))
    with pytest.raises(girih.OutOfBounds):
        ours(x, torch.tensor([1, 10], device="girih")).cpu()
    torch.testing.assert_close(ours(x, torch.tensor([3, 4], device="girih")).cpu(), torch.tensor([6.0, 8.0]))


def test_threads_call_one_function():
    ours = compiled(lambda x: (x * 3).sum(0) + x)
    ours(torch.ones(50, 50, device="girih"))
    wrong = []

    def work(seed):
        generator = torch.Generator().manual_seed(seed)
        for _ in range(10):
            x = torch.randn(50, 50, generator=generator)
            if not torch.allclose(ours(x.to("girih")).cpu(), (x * 3).sum(0) + x, rtol=1e-4, atol=1e-4):
                wrong.append(seed)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
