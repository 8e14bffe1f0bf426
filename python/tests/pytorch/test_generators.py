"""Generators of random numbers for the device: each has a state of its own, and gives the same numbers again from the same state."""

import copy
import pickle

import girih.torch
import pytest
import torch


@pytest.fixture(autouse=True)
def strictly():
    girih.torch.strict()
    yield
    girih.torch.strict(False)


def empty(dtype=torch.float32):
    return torch.empty(6, dtype=dtype, device="girih")


DRAWS = {
    "rand": lambda g: torch.rand(6, generator=g, device="girih"),
    "randn": lambda g: torch.randn(6, generator=g, device="girih"),
    "randint": lambda g: torch.randint(0, 1000, (6,), generator=g, device="girih"),
    "randperm": lambda g: torch.randperm(100, generator=g, device="girih"),
    "normal_": lambda g: empty().normal_(generator=g),
    "exponential_": lambda g: empty().exponential_(generator=g),
    "random_": lambda g: empty(torch.int64).random_(generator=g),
    "multinomial": lambda g: torch.multinomial(torch.ones(50, device="girih"), 9, generator=g),
    "with replacement": lambda g: torch.multinomial(torch.ones(50, device="girih"), 9, True, generator=g),
    "bernoulli_": lambda g: torch.empty(60, device="girih").bernoulli_(generator=g),
}


@pytest.mark.parametrize("name", DRAWS)
def test_a_state_gives_the_same_numbers(name):
    generator, draw = torch.Generator("girih"), DRAWS[name]
    assert generator.manual_seed(5) is generator
    state, first, second = generator.get_state(), draw(generator).cpu(), draw(generator).cpu()
    assert not torch.equal(first, second)
    generator.set_state(state)
    # Other generators draw meanwhile.
    torch.rand(3, device="girih"), torch.rand(3, generator=torch.Generator("girih"), device="girih")
    assert torch.equal(draw(generator).cpu(), first)
    before = torch.get_rng_state()
    draw(generator)
    assert torch.equal(torch.get_rng_state(), before), "the default generator is left alone"


def test_generators_are_copied_and_sent():
    generator = torch.Generator(device="girih:0").manual_seed(3)
    assert generator.device == torch.device("girih", 0) and isinstance(generator, torch.Generator)
    assert isinstance(torch.default_generator, torch.Generator) and torch.Generator().device.type == "cpu"
    expected = [copy.deepcopy(generator), pickle.loads(pickle.dumps(generator)), generator.clone_state()]
    first = DRAWS["rand"](generator).cpu()
    for other in expected:
        assert other.device.type == "girih" and torch.equal(DRAWS["rand"](other).cpu(), first)


def test_the_state_of_the_device():
    state = torch.girih.get_rng_state()
    first = torch.rand(4, device="girih").cpu()
    with torch.random.fork_rng(devices=[0], device_type="girih"):
        torch.rand(4, device="girih")
    torch.girih.set_rng_state_all([state])
    assert torch.equal(torch.rand(4, device="girih").cpu(), first)


def test_what_has_no_weight_is_never_drawn():
    torch.manual_seed(0)
    drawn = torch.multinomial(torch.tensor([[0.0, 1, 3, 0], [1, 0, 0, 1]], device="girih"), 4000, True).cpu()
    shares = [[(row == at).float().mean().item() for at in range(4)] for row in drawn]
    for ours, wanted in zip(shares, [[0, 0.25, 0.75, 0], [0.5, 0, 0, 0.5]]):
        for share, want in zip(ours, wanted):
            assert share == want if want == 0 else abs(share - want) < 0.05
