"""`torch.nn.functional.ctc_loss` on the device, by the kernels of `kernels/ctc.py`, with its gradient.

Invariant: losses are in `float32`; other types run on the host, as does what PyTorch refuses, so that it says why.
"""

import functools
import itertools

import torch

from girih.torch import device, eager, storages
from girih.torch.launch import prepare
from girih.torch.library import Library

_aten = torch.ops.aten
_library = Library("aten", "IMPL")
# Places of the longest targets that one program takes.
_MOST_PLACES = 1 << 14


@functools.lru_cache(maxsize=1024)
def _launch(chosen, name, results, count, dtype, numbers, blank, block):
    """The launch of a kernel, prepared for the device."""
    memory = {result: torch.float32 for result in results} | {"logs": torch.float32, "targets": dtype} | {each: torch.int32 for each in ("firsts", "frames", "lengths")}
    constants = dict(numbers) | {"BLANK": blank, "BLOCK": block}
    return prepare("ctc", name, (count,), memory, constants, 4)


class _Sequences:
    """The sequences of a call."""

    def __init__(self, logs, targets, frames, lengths, blank):
        self.logs, self.targets, self.blank = logs, targets.to(logs.device), blank
        self.frames, self.lengths = list(frames), list(lengths)
        longest = max(self.lengths, default=0)
        self.width = 2 * (targets.shape[1] if targets.dim() == 2 else longest) + 1
        rows = [n * targets.stride(0) for n in range(len(self.lengths))] if targets.dim() == 2 else [0, *itertools.accumulate(self.lengths)][: len(self.lengths)]
        self.numbers = [torch.tensor(each, dtype=torch.int32).to(logs.device) for each in (rows, self.frames, self.lengths)]

    def is_ours(self) -> bool:
        """Whether the kernels are for them: what is out of order is left to PyTorch, which says so."""
        logs, targets = self.logs, self.targets
        if logs.dtype != torch.float32 or logs.dim() != 3 or not logs.numel() or targets.dtype not in (torch.int32, torch.int64) or self.width > _MOST_PLACES:
            return False
        if not len(self.frames) == len(self.lengths) == logs.shape[1] or not 0 <= self.blank < logs.shape[2]:
            return False
        if any(not 0 <= count <= logs.shape[0] for count in self.frames) or min(self.lengths) < 0:
            return False
        return targets.shape[1] >= max(self.lengths) if targets.dim() == 2 else targets.dim() == 1 and targets.numel() == sum(self.lengths)

    def launch(self, name, **results):
        """Runs a kernel."""
        logs, targets = self.logs, self.targets
        numbers = {"T": logs.shape[0], "step": targets.stride(-1) if targets.numel() else 1, "WIDTH": self.width}
        numbers |= {f"logs_{axis}": logs.stride(at) for at, axis in enumerate("tnc")}
        block = max(16, 1 << (self.width - 1).bit_length())
        step = _launch(device.current(), name, tuple(results), logs.shape[1], targets.dtype, tuple(numbers.items()), self.blank, block)
        step.launch(*[storages.address_of(t) for t in (*results.values(), logs, targets, *self.numbers)])

    def places(self):
        """The label at each place, for each sequence."""
        logs, at = self.logs, torch.arange(self.width, device=self.logs.device)
        firsts, _, lengths = (each.long().unsqueeze(1) for each in self.numbers)
        step = self.targets.stride(-1) if self.targets.numel() else 1
        index = torch.where((at % 2 == 1) & (at < 2 * lengths + 1), firsts + at // 2 * step, -1)
        flat = self.targets.as_strided((max(1, storages.span(self.targets.size(), self.targets.stride())),), (1,)) if self.targets.numel() else logs.new_zeros(1, dtype=torch.int64)
        return torch.where(index >= 0, flat[index.clamp(min=0)].long(), self.blank)


def _loss(operation, logs, targets, frames, lengths, blank=0, zero_infinity=False):
    given = _Sequences(logs, targets, _list(frames), _list(lengths), blank)
    if not given.is_ours():
        return eager.run(operation, logs, targets, frames, lengths, blank, zero_infinity)
    alpha = torch.full((logs.shape[1], logs.shape[0], given.width), float("-inf"), device=logs.device)
    loss = torch.empty(logs.shape[1], device=logs.device)
    given.launch("forward", loss=loss, alpha=alpha)
    return loss, alpha


def _gradient(operation, gradient, logs, targets, frames, lengths, loss, alpha, blank, zero_infinity=False):
    given = _Sequences(logs, targets, _list(frames), _list(lengths), blank)
    if not given.is_ours():
        return eager.run(operation, gradient, logs, targets, frames, lengths, loss, alpha, blank, zero_infinity)
    beta = torch.full_like(alpha, float("-inf"))
    given.launch("backward", beta=beta)
    labels = given.places().unsqueeze(1).expand(alpha.shape)
    rows = logs.transpose(0, 1)
    share = torch.exp(alpha + beta + loss.reshape(-1, 1, 1) - rows.gather(2, labels))
    made = rows.exp().contiguous().scatter_add_(2, labels, -share)
    inside = torch.arange(logs.shape[0], device=logs.device) < given.numbers[1].unsqueeze(1)
    if zero_infinity:
        inside = inside & (loss != float("inf")).unsqueeze(1)
    return torch.where(inside.unsqueeze(2), made * gradient.reshape(-1, 1, 1), 0.0).transpose(0, 1).contiguous()


def _list(lengths):
    return lengths.tolist() if isinstance(lengths, torch.Tensor) else lengths


def register() -> None:
    """Registers it, for lengths in lists and in tensors."""
    for overload in ("default", "Tensor"):
        suffix = "" if overload == "default" else ".Tensor"
        _library.impl(f"_ctc_loss{suffix}", functools.partial(_loss, getattr(_aten._ctc_loss, overload)), "PrivateUse1")
        _library.impl(f"_ctc_loss_backward{suffix}", functools.partial(_gradient, getattr(_aten._ctc_loss_backward, overload)), "PrivateUse1")
