"""Sorting of rows of any length, and what is made of it, without the host: what the processor gives, ties and special numbers included."""

import girih.torch
import pytest
import torch

# One of each kind of key: floats of both widths, signed and unsigned numbers, truth values.
TYPES = [torch.float32, torch.bfloat16, torch.int32, torch.uint8, torch.bool]


@pytest.fixture(autouse=True)
def strict():
    girih.torch.strict()
    yield
    girih.torch.strict(False)


def rows(dtype, length):
    """Rows with many ties, and with special numbers where there are any."""
    torch.manual_seed(length)
    numbers = (torch.randn(2, length) * 50).round() / 8
    if not dtype.is_floating_point:
        return numbers.to(torch.int32).to(dtype)
    numbers[0, :6] = torch.tensor([float("nan"), float("inf"), -float("inf"), 0.0, -0.0, -float("nan")])
    return numbers.to(dtype)


def same(ours, theirs):
    for a, b in zip(ours, theirs, strict=True):
        assert torch.equal(a.cpu().nan_to_num(nan=7.5), b.nan_to_num(nan=7.5)) if b.is_floating_point() else torch.equal(a.cpu(), b)


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("length", [9, 700])
def test_rows_are_sorted_and_ties_stay_in_order(dtype, length):
    x = rows(dtype, length)
    for descending in (False, True):
        same(x.to("girih").sort(dim=1, stable=True, descending=descending), x.sort(dim=1, stable=True, descending=descending))
    same(x.t().to("girih").sort(dim=0, stable=True), x.t().sort(dim=0, stable=True))


def test_the_ends_of_whole_numbers_are_in_order():
    for dtype in (torch.int64, torch.int8):
        limits = torch.iinfo(dtype)
        x = torch.tensor([0, limits.max, -1, limits.min, 1] * 120, dtype=dtype)
        same(x.to("girih").sort(stable=True), x.sort(stable=True))


def test_medians_modes_and_the_largest():
    torch.manual_seed(1)
    x = torch.randperm(3000).reshape(3, 1000).float()
    same(x.to("girih").median(1), x.median(1))
    same(x.to("girih").topk(600, 1), x.topk(600, 1))
    same(x.to("girih").kthvalue(700, 1), x.kthvalue(700, 1))
    x[0, 9] = float("nan")
    same([x.to("girih").median(), x.to("girih").nanmedian()], [x.median(), x.nanmedian()])
    same(x.to("girih").nanmedian(1), x.nanmedian(1))
    counted = (x.nan_to_num() % 37).long()
    same([counted.to("girih").mode(1).values], [counted.mode(1).values])


def test_what_is_there_once():
    x = (rows(torch.int64, 700) % 11).flatten()
    same(x.to("girih").unique(return_inverse=True, return_counts=True), x.unique(return_inverse=True, return_counts=True))
    same(x.to("girih").unique_consecutive(return_inverse=True, return_counts=True), x.unique_consecutive(return_inverse=True, return_counts=True))
    assert torch.empty(0, device="girih").unique().numel() == 0


def test_long_scans():
    x = torch.arange(40000) % 7
    same([x.to("girih").cumsum(0), x.to("girih").nonzero()], [x.cumsum(0), x.nonzero()])
    same(x.to("girih").cummax(0), x.cummax(0))
