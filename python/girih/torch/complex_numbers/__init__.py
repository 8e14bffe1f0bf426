"""Complex numbers in kernels: an operation on them becomes operations on their real and their imaginary parts.

Kernels know real numbers alone. An operation is traced to simpler ones, and each of those has a rule (`lowering.py`): it acts on each part for itself, it is arithmetic (`parts.py`), or it is a
function of a complex variable (`functions.py`). In memory both parts of a number lie beside each other, as PyTorch has them, so a kernel reads and writes the view with one dimension more
(`torch.view_as_real`).
Invariant: an operation without a rule has no plan, and runs on the host.
"""
