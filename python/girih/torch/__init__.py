"""PyTorch on Girih: the device `girih`, its operations, and `torch.compile` for it.

>>> import torch, girih.torch
>>> girih.torch.use("cpu")
>>> torch.ones(3, device="girih") + 1
tensor([2., 2., 2.], device='girih:0')
"""

try:
    import torch as _torch
except ImportError as problem:
    raise ImportError("girih.torch needs PyTorch 2.11: `pip install torch==2.11.0`") from problem

from girih.torch.device import current, memory_summary, synchronize, use
from girih.torch.host import fallbacks, strict
from girih.torch import setup as _setup

_setup.register()

__all__ = ["current", "fallbacks", "memory_summary", "strict", "synchronize", "use"]
