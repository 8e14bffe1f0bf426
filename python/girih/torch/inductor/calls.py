"""What the code around Inductor's kernels calls, past PyTorch's dispatcher, which takes as long as the rest of such a call.

Invariant: each does what the operation does that it stands for.
"""

import torch
from torch._inductor.select_algorithm import extern_kernels as theirs

from girih.torch import products
from girih.torch.storages import empty

_aten = torch.ops.aten
# Inductor gives size, stride and type in this order.
empty_strided_girih = empty


_OURS = {
    "mm": products.plain(_aten.mm.default),
    "bmm": products.plain(_aten.bmm.default),
    "addmm": products.adding(_aten.addmm.default),
    "baddbmm": products.adding(_aten.baddbmm.default),
}


class _Externs:
    """The operations that are called between kernels: products of tensors of the device directly, all others as before."""

    def __getattr__(self, name):
        return getattr(theirs, name)


def _chosen(name, ours):
    def call(*args, **kwargs):
        return (ours if args[0].device.type == "girih" else getattr(theirs, name))(*args, **kwargs)

    return call


extern_kernels = _Externs()
for _name, _function in _OURS.items():
    setattr(extern_kernels, _name, _chosen(_name, _function))
