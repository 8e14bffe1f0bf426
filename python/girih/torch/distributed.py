"""Several processes, each with its device: collectives of `torch.distributed` on tensors of `girih`, by the process group's engine for the host (gloo).

PyTorch sends a collective to the kernel for its tensors' device. Those for `girih` are here: they give the same operation the host's view of the tensors, and
bring back what it has written. So a group that `init_process_group("gloo")` makes takes tensors of the device, and `DistributedDataParallel` trains with it.

Invariant: the work that a collective returns is done only when its results are on the device. Collectives begin in the order in which they were called.
"""

import threading
import warnings

import torch
import torch.distributed as dist
from torch.utils import _pytree

from girih.torch import host
from girih.torch.library import Library

# For each collective the position of the argument that it writes to, if there is one.
_WRITTEN = {
    "_allgather_base_": 0,
    "_reduce_scatter_base_": 0,
    "allgather_": 0,
    "allgather_coalesced_": 0,
    "allgather_into_tensor_coalesced_": 0,
    "allreduce_": 0,
    "allreduce_coalesced_": 0,
    "alltoall_": 0,
    "alltoall_base_": 0,
    "barrier": None,
    "broadcast_": 0,
    "gather_": 0,
    "monitored_barrier_": None,
    "recv_": 0,
    "recv_any_source_": 0,
    "reduce_": 0,
    "reduce_scatter_": 0,
    "reduce_scatter_tensor_coalesced_": 0,
    "scatter_": 0,
    "send": None,
}


def register() -> None:
    """Registers them, where PyTorch was built with `torch.distributed`."""
    if not dist.is_available():
        return
    global _library
    _library = Library("c10d", "IMPL")
    # PyTorch has kernels of its own for them, which ask a group for an engine that there is not. Replacing them is meant.
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Warning only once for all operators")
        for name, written in _WRITTEN.items():
            _library.impl(name, _collective(getattr(torch.ops.c10d, name).default, written), "PrivateUse1", allow_override=True)


_library = None


def _collective(operation, written):
    """The kernel of a collective for tensors of the device."""

    def run(*args, **kwargs):
        view = host.HostView()
        given = _pytree.tree_map_only(torch.Tensor, view.of, args)
        results = operation(*given, **kwargs)
        if results is None:
            return None
        work = dist.Work.unbox(results[-1] if isinstance(results, tuple) else results)
        outputs = [] if written is None else args[written]
        for tensor in _pytree.tree_leaves(outputs):
            view.written(tensor)
        done = _when_done(work, view, outputs).boxed()
        return (outputs, done) if isinstance(results, tuple) else done

    return run


def _when_done(work, view, outputs):
    """Work that ends when another one has ended, and its results are back on the device."""
    future = torch.futures.Future()

    def finish():
        try:
            work.wait()
            view.write_back()
        except Exception as problem:
            future.set_exception(problem)
        else:
            future.set_result(_pytree.tree_leaves(outputs))

    # Each waits in a thread of its own: a message that is received may come after any number of other collectives.
    threading.Thread(target=finish, name="girih-collective", daemon=True).start()
    return torch._C._distributed_c10d._create_work_from_future(future)
