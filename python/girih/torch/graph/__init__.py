"""`torch.compile(model, backend="girih", options={"compiler": "graph"})`: Girih's own graph compiler in the place of PyTorch's Inductor.

PyTorch traces the function and its derivatives, and decomposes them (`decompositions.py`). What it gives is cut into stages (`stages.py`): each is one graph of
tensor operations, which `translator.py` writes by the table in `operations/`, and `core/tensor` compiles; `launches.py` runs it on the tensors' own memory.

Invariant: an operation that is not in the table, or not for such arguments, runs between two stages as it would without a compiler, and is listed by its name.
"""

from collections import Counter

_breaks = {}
_launches = Counter()


def breaks() -> dict[str, str]:
    """The operations that ran between two graphs because the graph compiler has none of their kind, with the reason."""
    return dict(_breaks)


def launches() -> dict[str, int]:
    """How many kernels graphs have started so far (`kernels`), and how many runs of graphs that were (`runs`)."""
    return {"kernels": _launches["kernels"], "runs": _launches["runs"]}


def compiled(graph, inputs):
    """What Dynamo calls in the place of a graph that it has captured."""
    from torch._dynamo.backends.common import aot_autograd
    from torch._functorch.partitioners import min_cut_rematerialization_partition

    from girih.torch.graph import decompositions, stages

    compiler = aot_autograd(
        fw_compiler=stages.staged, bw_compiler=stages.staged, decompositions=decompositions.table(), partition_fn=min_cut_rematerialization_partition
    )
    return compiler(graph, inputs)
