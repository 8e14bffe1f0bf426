"""Data loaders with workers: forks of a process that uses the device are refused by a sentence, and tensors of the device are sent to others."""

import os
import pickle
from multiprocessing.reduction import ForkingPickler

import girih.torch
import pytest
import torch
from torch.utils.data import DataLoader, TensorDataset


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there are no forks here")
def test_a_fork_is_told_so():
    data = TensorDataset(torch.arange(6.0).to("girih"))
    with pytest.raises(RuntimeError, match="Cannot use the device girih in a forked subprocess"):
        list(DataLoader(data, batch_size=3, num_workers=2, multiprocessing_context="fork"))
    # What stays on the host goes on in forks.
    theirs = TensorDataset(torch.arange(6.0))
    assert [len(batch[0]) for batch in DataLoader(theirs, batch_size=3, num_workers=1, multiprocessing_context="fork")] == [3, 3]


def test_tensors_are_sent_to_other_processes():
    x = torch.arange(6.0).to("girih")
    for sent in (x, x.bfloat16()[1:4], x.reshape(2, 3).t(), x[:0], torch.nn.Parameter(x)):
        there = pickle.loads(ForkingPickler.dumps(sent))
        assert type(there) is type(sent) and there.device.type == "girih" and there.requires_grad == sent.requires_grad
        assert there.dtype == sent.dtype and torch.equal(there.cpu(), sent.cpu())


def test_storages_of_a_size():
    assert torch.UntypedStorage(10, device="girih").device.type == "girih"
    x = torch.arange(6.0).to("girih")
    assert torch.empty(0, device="girih").set_(x.untyped_storage()).tolist() == x.tolist()
    assert torch.empty(0, device="girih").set_(x.untyped_storage(), 1, (2, 2), (2, 1)).tolist() == [[1, 2], [3, 4]]
    assert x.set_().numel() == 0
