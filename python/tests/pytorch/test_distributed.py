"""Two processes, each with its device: collectives, and training with `DistributedDataParallel` as one process with twice the batch trains."""

import os
import socket

import pytest
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

import girih.torch

pytestmark = pytest.mark.skipif(not dist.is_available() or not dist.is_gloo_available(), reason="PyTorch was built without gloo")
STEPS, BATCH = 3, 8


def _in_two(work, *args):
    """What a function gives in each of two processes."""
    context = torch.multiprocessing.get_context("spawn")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    answers = context.Queue()
    processes = [context.Process(target=_begin, args=(rank, port, answers, work, args)) for rank in range(2)]
    for process in processes:
        process.start()
    given = dict(answers.get(timeout=600) for _ in processes)
    for process in processes:
        process.join()
    assert all(process.exitcode == 0 for process in processes)
    for problem in given.values():
        assert not isinstance(problem, str), problem
    return [given[0], given[1]]


def _begin(rank, port, answers, work, args):
    import traceback

    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
    try:
        dist.init_process_group("gloo", rank=rank, world_size=2)
        answer = work(rank, *args)
        dist.barrier()
        dist.destroy_process_group()
    except Exception:
        answer = traceback.format_exc()
    answers.put((rank, answer))


def _collectives(rank):
    other = 1 - rank

    def mine(*size, dtype=torch.float32):
        return torch.full(size, rank + 1, dtype=dtype).to("girih")

    found = {}
    total = mine(4)
    dist.all_reduce(total)
    found["all_reduce"] = total
    greatest = mine(2, 3, dtype=torch.int64).t()
    dist.all_reduce(greatest, op=dist.ReduceOp.MAX)
    found["all_reduce of a view"] = greatest
    late = mine(4)
    work = dist.all_reduce(late, async_op=True)
    work.wait()
    found["later"] = late
    sent = mine(3)
    dist.broadcast(sent, src=1)
    found["broadcast"] = sent
    parts = [mine(2), mine(2)]
    dist.all_gather(parts, mine(2) * 10)
    found["all_gather"] = torch.cat(parts)
    whole = mine(4)
    dist.all_gather_into_tensor(whole, mine(2) * 5)
    found["all_gather_into_tensor"] = whole
    reduced = mine(3)
    dist.reduce(reduced, dst=0)
    found["reduce"] = reduced if rank == 0 else mine(1)
    gathered = [mine(2), mine(2)] if rank == 0 else None
    dist.gather(mine(2) * 7, gathered, dst=0)
    found["gather"] = torch.cat(gathered) if rank == 0 else mine(1)
    given = mine(2)
    dist.scatter(given, [mine(2) * 3, mine(2) * 4] if rank == 0 else None, src=0)
    found["scatter"] = given
    turned = mine(4)
    dist.all_to_all_single(turned, torch.arange(4.0, device="girih") + 10 * rank)
    found["all_to_all"] = turned
    # Both wait for the other's message before they send their own: nothing waits for it.
    received = mine(2)
    coming = dist.irecv(received, src=other)
    dist.send(mine(2) * 100, dst=other)
    coming.wait()
    found["received"] = received
    said = [None, None]
    dist.all_gather_object(said, {"rank": rank})
    return {name: tensor.cpu().tolist() for name, tensor in found.items()} | {"said": said}


def test_collectives():
    first, second = _in_two(_collectives)
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


def _model():
    torch.manual_seed(5)
    layers = torch.nn.Conv2d(1, 4, 3, padding=1), torch.nn.ReLU(), torch.nn.MaxPool2d(2), torch.nn.Flatten(), torch.nn.Linear(64, 3)
    return torch.nn.Sequential(*layers).to("girih")


def _train(model, of=slice(None)):
    """The parameters after some steps on a part of each batch."""
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    random = torch.Generator().manual_seed(1)
    for _ in range(STEPS):
        pictures = torch.randn(BATCH, 1, 8, 8, generator=random)[of].to("girih")
        kinds = torch.randint(3, (BATCH,), generator=random)[of].to("girih")
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(model(pictures), kinds).backward()
        optimizer.step()
    return [parameter.detach().cpu().numpy() for parameter in model.parameters()]


def _share(rank):
    half = BATCH // 2
    return _train(DistributedDataParallel(_model()), slice(rank * half, (rank + 1) * half))


def test_two_processes_train_as_one():
    first, second = _in_two(_share)
    alone = _train(_model())
    for mine, other, right in zip(first, second, alone, strict=True):
        assert (mine == other).all()
        torch.testing.assert_close(torch.from_numpy(mine), torch.from_numpy(right), rtol=1e-4, atol=1e-5)
