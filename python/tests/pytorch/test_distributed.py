"""Two processes, each with its device: collectives, and training with `DistributedDataParallel` as one process with twice the batch trains."""

import multiprocessing
import socket
from concurrent.futures import ProcessPoolExecutor

import processes
import pytest
import torch
import torch.distributed as dist

import girih.torch

pytestmark = pytest.mark.skipif(not dist.is_available() or not dist.is_gloo_available(), reason="PyTorch was built without gloo")
# Seconds; only ends what hangs.
PATIENCE = 900


def _in_two(work):
    """What a function gives in each of two processes. One that ends early ends the test."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("spawn")) as pool:
        answers = [pool.submit(processes.begin, rank, port, work) for rank in range(2)]
        return [answer.result(timeout=PATIENCE) for answer in answers]


def test_collectives():
    first, second = _in_two(processes.collectives)
    both = {
        "all_reduce": [3.0] * 4,
        "all_reduce of a view": [[2, 2]] * 3,
        "later": [3.0] * 4,
        "broadcast": [2.0] * 3,
        "all_gather": [10.0, 10.0, 20.0, 20.0],
        "all_gather_into_tensor": [5.0, 5.0, 10.0, 10.0],
        "said": [{"rank": 0}, {"rank": 1}],
    }
    assert first == both | {
        "reduce": [3.0] * 3,
        "gather": [7.0, 7.0, 14.0, 14.0],
        "scatter": [3.0, 3.0],
        "all_to_all": [0.0, 1.0, 10.0, 11.0],
        "received": [200.0, 200.0],
    }
    assert second == both | {"reduce": [2.0], "gather": [2.0], "scatter": [4.0, 4.0], "all_to_all": [2.0, 3.0, 12.0, 13.0], "received": [100.0, 100.0]}


def test_two_processes_train_as_one():
    first, second = _in_two(processes.share)
    alone = processes.train(processes.model())
    for mine, other, right in zip(first, second, alone, strict=True):
        assert (mine == other).all()
        torch.testing.assert_close(torch.from_numpy(mine), torch.from_numpy(right), rtol=1e-4, atol=1e-5)
