"""Runs PyTorch's own samples of its operations (OpInfo) on the device, and says of each entry how it went.

    python opinfo.py [--types float32,int64] [--modes eager,compiled,gradient] [--samples N] [--every N] [--part I/N] [NAME..] > results.tsv

A row is an entry, a type, a mode, an outcome, and a reason. The worst of an entry's samples counts. The processor's result in the same type is what is wanted; where
it is missed, a computation in float64 judges both.
"""

import argparse
import sys
import warnings

import girih.torch
import torch
from torch.testing._internal.common_methods_invocations import op_db
from torch.utils import _pytree
from torch.utils._python_dispatch import TorchDispatchMode

TYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16, "int64": torch.int64, "complex64": torch.complex64}
# Those that are run where none is named.
USUAL = "float32,bfloat16,int64"
# From good to bad: the device did it; it went through the host; an error that names what is missing; any other error; a wrong number.
OUTCOMES = ("device", "host", "refused", "error", "wrong")
# How far a result may be off: a part of the number, and beside it. What is further off is judged by float64.
TOLERANCES = {torch.float32: (1e-4, 1e-4), torch.bfloat16: (2e-2, 2e-2), torch.float16: (2e-3, 2e-3), torch.float64: (1e-6, 1e-6)}
MOST_ELEMENTS = 1 << 16


def key(entry) -> str:
    """The name of an entry: an operation has several."""
    return f"{entry.name}.{entry.variant_test_name}" if entry.variant_test_name else entry.name


def entries():
    """All entries by their names."""
    return {key(entry): entry for entry in op_db}


def moved(value, device):
    """A sample with its tensors on another device; the same tensor stays the same."""
    seen = {}

    def move(leaf):
        if isinstance(leaf, torch.Tensor):
            if id(leaf) not in seen:
                seen[id(leaf)] = leaf.detach().to(device, copy=True).requires_grad_(leaf.requires_grad)
            return seen[id(leaf)]
        if isinstance(leaf, (torch.device, str)) and str(leaf) == "cpu":
            return device
        return leaf

    return _pytree.tree_map(move, value)


def tensors(value):
    return [leaf for leaf in _pytree.tree_leaves(value) if isinstance(leaf, torch.Tensor)]


def in_float64(value):
    def widen(leaf):
        if not isinstance(leaf, torch.Tensor):
            return _wide_type(leaf)
        return leaf.to(_wide_type(leaf.dtype))

    return _pytree.tree_map(lambda leaf: widen(leaf) if isinstance(leaf, (torch.Tensor, torch.dtype)) else leaf, value)


def _wide_type(dtype):
    return torch.complex128 if dtype.is_complex else torch.float64 if dtype in TOLERANCES else dtype


def real(tensor):
    """A tensor's numbers as real ones: the parts of complex numbers."""
    return torch.view_as_real(tensor.resolve_conj()) if tensor.dtype.is_complex else tensor


def close(ours, theirs) -> bool:
    rtol, atol = TOLERANCES.get(theirs.dtype, (0, 0))
    return torch.allclose(ours.double(), theirs.double(), rtol=rtol, atol=atol, equal_nan=True)


# The codes of errors that name a limit: what a device, or memory, does not have.
LIMITS = ("B0801", "B0802", "B0902")


class Wrong(Exception):
    """What is wrong with a result."""


def compare(function, sample, ours, theirs) -> None:
    """Raises `Wrong` unless our result is as right as the processor's."""
    left, right = _comparable(function, tensors(ours)), _comparable(function, tensors(theirs))
    if len(left) != len(right):
        raise Wrong(f"{len(left)} tensors for {len(right)}")
    exact = None
    for index, (a, b) in enumerate(zip(left, right)):
        if a.shape != b.shape or a.dtype != b.dtype:
            raise Wrong(f"{a.dtype} of shape {tuple(a.shape)} for {b.dtype} of shape {tuple(b.shape)}")
        a, b = real(a.detach().cpu()), real(b.detach())
        if close(a, b):
            continue
        if b.is_floating_point():
            exact = exact if exact is not None else tensors(function(in_float64(moved(sample, "cpu"))))
            if _as_good(a.double(), b.double(), real(exact[index].detach())):
                continue
        raise Wrong(f"off by {(a.double() - b.double()).abs().max().item():.3g}")


# Their first results are compared. The others are statistics for gradients, whose types and sizes differ between PyTorch's own devices.
NORMS = ("_batch_norm_with_update", "_native_batch_norm_legit", "native_batch_norm", "native_layer_norm")


def _comparable(function, results):
    return results[:1] if getattr(function, "entry", None) in NORMS else results


def _as_good(ours, theirs, exact) -> bool:
    """Whether we are at most thrice as far from the exact result as the processor is, and special numbers are the same."""
    if not exact.is_floating_point() or not torch.equal(ours.isfinite(), theirs.isfinite()):
        return False
    error = lambda values: (values - exact).nan_to_num(0, 0, 0).abs().max()
    return bool(error(ours) <= 3 * error(theirs) + 1e-6)


class _Draws(TorchDispatchMode):
    """Sees whether operations draw random numbers."""

    def __init__(self):
        super().__init__()
        self.seen = False

    def __torch_dispatch__(self, operation, kinds, args=(), kwargs=None):
        self.seen |= torch.Tag.nondeterministic_seeded in operation.tags
        return operation(*args, **(kwargs or {}))


def is_random(function, sample) -> bool:
    """Whether the processor draws random numbers for a sample."""
    with _Draws() as draws:
        function(moved(sample, "cpu"))
    return draws.seen


# Their results are what happens to be in memory.
UNSET = ("empty", "new_empty", "empty_like", "empty_strided", "empty_permuted", "new_empty_strided", "resize_", "resize_as_")


def samples(entry, dtype, most, requires_grad=False):
    """Samples with which the processor can work, as (input, args, kwargs, what makes of the result that which gradients are asked of)."""
    found = []
    torch.manual_seed(0)
    for sample in entry.sample_inputs("cpu", dtype, requires_grad=requires_grad):
        value = (sample.input, tuple(sample.args), dict(sample.kwargs), sample.output_process_fn_grad)
        if sum(tensor.numel() for tensor in tensors(value)) <= MOST_ELEMENTS:
            found.append(value)
        if len(found) == most:
            break
    return found


def attempt(function, compiled, sample):
    """The outcome of one sample, and its reason."""
    try:
        theirs = function(moved(sample, "cpu"))
    except Exception:
        return None
    before = dict(girih.torch.fallbacks())
    try:
        ours = (compiled or function)(moved(sample, "girih"))
        if isinstance(ours, (tuple, list, torch.Tensor)):
            compare(function, sample, ours, theirs)
        elif ours != theirs:
            raise Wrong(f"{ours} for {theirs}")
    except Wrong as problem:
        return ("device", "") if _is_free(function, sample, ours, theirs) else ("wrong", str(problem))
    except Exception as problem:
        return _refusal(problem)
    now = girih.torch.fallbacks()
    reasons = girih.torch.host.reasons()
    fell = sorted(name for name in now if now[name] != before.get(name, 0))
    return ("host", "; ".join(f"{name}: {reasons[name]}" for name in fell)[:200]) if fell else ("device", "")


def _is_free(function, sample, ours, theirs) -> bool:
    """Whether only numbers that are random differ."""
    same = all(a.shape == b.shape and a.dtype == b.dtype for a, b in zip(tensors(ours), tensors(theirs)))
    return same and len(tensors(ours)) == len(tensors(theirs)) and is_random(function, sample)


def _refusal(problem):
    lines = [line.strip() for line in str(problem).splitlines() if line.strip()]
    text = next((line for line in lines if "girih" in line), lines[0] if lines else "")
    # Only what says that it cannot be done is a refusal; any other error is a fault, whatever its text.
    named = isinstance(problem, NotImplementedError) and "girih" in str(problem) or getattr(problem, "code", None) in LIMITS
    return ("refused" if named else "error"), f"{type(problem).__name__}: {text}"[:200]


def gradient_of(entry):
    """The gradients of an entry: of its results times fixed numbers, for all tensors of a sample that require one."""

    def gradient(sample):
        value, args, kwargs, process = sample
        given = [tensor for tensor in tensors(sample) if tensor.requires_grad]
        results = [result for result in tensors(process(entry.op(value, *args, **kwargs))) if result.requires_grad]
        if not results:
            raise NotGiven("no result has a gradient")
        weights = [torch.cos(torch.arange(result.numel())).reshape(result.shape).to(result.device, result.dtype) for result in results]
        return torch.autograd.grad(results, given, weights, allow_unused=True)

    return gradient


class NotGiven(Exception):
    """What an entry has not."""


def measure(entry, dtype, mode, most):
    """The worst outcome of an entry's samples in a type and a mode, or `None` where it has no sample."""
    def function(sample):
        value, args, kwargs, _ = sample
        return entry.op(value, *args, **kwargs)

    function.entry = key(entry)
    if mode == "gradient":
        if dtype not in entry.supported_backward_dtypes("cpu"):
            return None
        function = gradient_of(entry)
    worst = None
    for sample in samples(entry, dtype, most, mode == "gradient"):
        if mode == "compiled":
            torch._dynamo.reset()
        compiled = torch.compile(function) if mode == "compiled" else None
        outcome = attempt(function, compiled, sample)
        if outcome and key(entry).split(".")[0] in UNSET and outcome[0] == "wrong":
            outcome = ("device", "")
        if outcome and (worst is None or OUTCOMES.index(outcome[0]) > OUTCOMES.index(worst[0])):
            worst = outcome
    return worst


def measured(names, types, modes, most):
    """Rows for entries, in order."""
    known = entries()
    for name in names:
        entry = known[name]
        for kind in types:
            if TYPES[kind] not in entry.supported_dtypes("cpu"):
                continue
            for mode in modes:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    outcome = measure(entry, TYPES[kind], mode, most if mode == "eager" else min(most, 2))
                if outcome is not None:
                    yield name, kind, mode, *outcome


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("names", nargs="*")
    parser.add_argument("--types", default=USUAL)
    parser.add_argument("--modes", default="eager,compiled")
    parser.add_argument("--samples", type=int, default=4)
    parser.add_argument("--every", type=int, default=1, help="of how many entries one is run")
    parser.add_argument("--part", default="0/1")
    given = parser.parse_args()
    part, parts = map(int, given.part.split("/"))
    names = given.names or sorted(entries())[:: given.every][part::parts]
    for row in measured(names, given.types.split(","), given.modes.split(","), given.samples):
        print("\t".join(row), flush=True)


if __name__ == "__main__":
    sys.exit(main())
