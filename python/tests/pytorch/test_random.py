"""Random numbers: their means, variances and distributions, and that neither neighbours nor calls depend on each other. Seeds are fixed."""

import math

import girih.torch
import pytest
import torch

COUNT = 1 << 15


def empty():
    return torch.empty(COUNT, device="girih")


# What draws, and the mean, the deviation and the distribution function of what is drawn.
DRAWS = {
    "normal_": (lambda: empty().normal_(1, 2), 1, 2, lambda x: torch.special.ndtr((x - 1) / 2)),
    "randn": (lambda: torch.randn(COUNT, device="girih"), 0, 1, torch.special.ndtr),
    "uniform_": (lambda: empty().uniform_(-1, 3), 1, 4 / math.sqrt(12), lambda x: (x + 1) / 4),
    "rand": (lambda: torch.rand(COUNT, device="girih"), 0.5, 1 / math.sqrt(12), lambda x: x),
    "exponential_": (lambda: empty().exponential_(2), 0.5, 0.5, lambda x: 1 - torch.exp(-2 * x)),
    "log_normal_": (lambda: empty().log_normal_(0, 0.5).log(), 0, 0.5, lambda x: torch.special.ndtr(2 * x)),
    "bernoulli_": (lambda: empty().bernoulli_(0.3), 0.3, math.sqrt(0.21), None),
    "bernoulli": (lambda: torch.bernoulli(torch.full((COUNT,), 0.7, device="girih")), 0.7, math.sqrt(0.21), None),
    "geometric_": (lambda: empty().geometric_(0.25), 4, math.sqrt(12), None),
    "randint": (lambda: torch.randint(0, 10, (COUNT,), device="girih").float(), 4.5, math.sqrt(99 / 12), None),
    "random_": (lambda: empty().random_(0, 100), 49.5, math.sqrt(9999 / 12), None),
    "randperm": (lambda: torch.randperm(COUNT, device="girih").float(), (COUNT - 1) / 2, math.sqrt((COUNT**2 - 1) / 12), None),
}


def correlation(a, b) -> float:
    return torch.corrcoef(torch.stack([a, b]))[0, 1].item()


# In compiled functions, Inductor draws all numbers by these two.
RUNS = [(name, False) for name in DRAWS] + [("randn", True), ("rand", True)]


@pytest.mark.parametrize("name,compiled", RUNS)
def test_numbers_are_distributed_as_they_should_be(name, compiled):
    draw, mean, deviation, distribution = DRAWS[name]
    torch._dynamo.reset()
    draw = torch.compile(draw) if compiled else draw
    torch.manual_seed(7)
    first, second = (draw().cpu().double() for _ in range(2))
    # Five standard errors: of the mean, of a correlation, and of the deviation of what has heavy tails.
    error = 5 / math.sqrt(COUNT)
    for drawn in (first, second):
        assert abs(drawn.mean().item() - mean) < error * deviation
        assert abs(drawn.std().item() / deviation - 1) < 2 * error
        assert abs(correlation(drawn[1:], drawn[:-1])) < error
        # Programs of 1024 numbers do not repeat each other.
        assert abs(correlation(drawn[1024:], drawn[:-1024])) < error
        if distribution is not None:
            # Kolmogorov's statistic; 1.95 is passed once in a thousand.
            wanted = torch.arange(1, COUNT + 1, dtype=torch.float64) / COUNT
            assert (distribution(drawn.sort().values) - wanted).abs().max().item() * math.sqrt(COUNT) < 1.95
    assert abs(correlation(first, second)) < error
    torch.manual_seed(7)
    assert torch.equal(draw().cpu().double(), first)


def test_a_permutation_has_each_number_once():
    for count in (1, 2, 600, 5000):
        assert torch.equal(torch.randperm(count, device="girih").cpu().sort().values, torch.arange(count))


def test_whole_numbers_come_equally_often():
    torch.manual_seed(3)
    counts = torch.randint(0, 10, (COUNT,), device="girih").cpu().bincount(minlength=10).double()
    # Chi squared with nine degrees of freedom; 27.9 is passed once in a thousand.
    assert ((counts - COUNT / 10) ** 2 / (COUNT / 10)).sum().item() < 27.9


@pytest.mark.parametrize("draw", [lambda x: x.uniform_(2, 1), lambda x: x.bernoulli_(2.0), lambda x: x.to(torch.uint8).random_(0, 1000)], ids=["uniform_", "bernoulli_", "random_"])
def test_what_nothing_can_be_drawn_from_is_an_error(draw):
    for device in ("cpu", "girih"):
        with pytest.raises(RuntimeError, match="expects|out of bounds"):
            draw(torch.empty(3, device=device))
