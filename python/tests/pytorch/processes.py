"""What the processes of `test_distributed.py` do: a module of its own, which they find by its name."""

import os

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

import girih.torch

STEPS, BATCH = 3, 8


def begin(rank, port, work):
    """What a function gives as one of two processes."""
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
    dist.init_process_group("gloo", rank=rank, world_size=2)
    try:
        answer = work(rank)
        dist.barrier()
    finally:
        dist.destroy_process_group()
    return answer


def collectives(rank):
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


def model():
    torch.manual_seed(5)
    layers = torch.nn.Conv2d(1, 4, 3, padding=1), torch.nn.ReLU(), torch.nn.MaxPool2d(2), torch.nn.Flatten(), torch.nn.Linear(64, 3)
    return torch.nn.Sequential(*layers).to("girih")


def train(model, of=slice(None)):
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


def share(rank):
    half = BATCH // 2
    return train(DistributedDataParallel(model()), slice(rank * half, (rank + 1) * half))
