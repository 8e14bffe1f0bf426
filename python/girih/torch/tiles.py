"""How products are cut into tiles: blocks, warps and parts of the depth, by the device and the sizes.

Invariant: any choice gives the same numbers up to the order of sums.
"""

import torch

from girih.torch import device, storages

# Programs that are enough not to take smaller tiles, those that keep a card busy where the depth is cut, and the blocks of depth below which a part is not worth its sum.
_ENOUGH, PROGRAMS, _LEAST_STEPS = 64, 256, 16
# The same where factors are gathered. Finding their places is most of the work there, so that large tiles are worth more parts, as long as at most so much of a tile is empty.
_ENOUGH_PARTS, _LEAST_GATHERED, _MOST_EMPTY = 132, 8, 1.25
# Rows, columns and depth of tiles, and warps, the largest first; as measured on an H200.
_CARD_HALVES = [(128, 256, 64, 8), (128, 128, 64, 8), (64, 128, 64, 4), (64, 64, 64, 4)]
_CARD_SINGLES = [(128, 128, 32, 8), (64, 64, 32, 4), (32, 32, 32, 4)]
_MIDDLING = [(64, 64, 32, 4), (32, 32, 32, 4)]
_SMALL = [(32, 32, 32, 4)]


def cdiv(length: int, block: int) -> int:
    return -(-length // block)


def _choices(dtype: torch.dtype) -> list:
    kind = device.current().kind
    if kind == "cuda":
        return _CARD_SINGLES if dtype == torch.float32 else _CARD_HALVES
    return _MIDDLING if kind == "wgpu" else _SMALL


def _fitting(block: int, length: int) -> int:
    """A block that is not larger than what there is needs: a power of two from 16 on."""
    return max(16, min(block, 1 << (length - 1).bit_length()))


class Tiles:
    """The tiles of `batches` products of `m` by `n`, each a sum of `k`. Only a product that may be `split` is a sum of parts. Tiles have at most `most_columns` columns.

    `gathers` says that the places of factors are computed in each step.
    """

    def __init__(self, m: int, n: int, k: int, batches: int, dtype: torch.dtype, precision: str, splits: bool = False, most_columns: int = 1 << 30, gathers: bool = False):
        fitting = [(_fitting(rows, m), _fitting(min(columns, most_columns), n), _fitting(depth, k), warps) for rows, columns, depth, warps in _choices(dtype)]
        area = lambda rows, columns: cdiv(m, rows) * rows * cdiv(n, columns) * columns
        least = area(*fitting[-1][:2])
        least_steps = _LEAST_GATHERED if gathers else _LEAST_STEPS
        for rows, columns, depth, warps in fitting:
            self.count = cdiv(m, rows) * cdiv(n, columns)
            most = max(1, cdiv(k, depth) // least_steps) if splits else 1
            if self.count * batches >= _ENOUGH:
                break
            if gathers and self.count * batches * most >= _ENOUGH_PARTS and area(rows, columns) <= _MOST_EMPTY * least:
                break
        self.warps, self.splits = 4 if rows * columns <= 64 * 64 else warps, 1
        if splits and self.count * batches < _ENOUGH:
            # Small tiles leave room for more of them.
            wanted = PROGRAMS * (2 if gathers and rows * columns < 128 * 128 else 1)
            self.splits = min(cdiv(wanted, self.count * batches), most)
        self.constants = {"BLOCK_M": rows, "BLOCK_N": columns, "BLOCK_K": depth, "GROUP": 8, "PRECISION": precision, "SPLITS": self.splits}


def precision() -> str:
    """How factors in float32 are read: whole, or in TF32 where PyTorch was told so by `torch.set_float32_matmul_precision`."""
    return "ieee" if torch.get_float32_matmul_precision() == "highest" else "tf32"


def convolution_precision() -> str:
    """The same for convolutions: on cards in TF32 unless PyTorch was told otherwise by `torch.backends.cudnn.allow_tf32`, which is its rule for its own cards."""
    return "tf32" if torch.backends.cudnn.allow_tf32 and device.current().kind == "cuda" else precision()


# A tensor's sizes and its strides.
Shape = tuple[torch.Size, tuple[int, ...]]


def shape_of(tensor: torch.Tensor) -> Shape:
    return tensor.shape, tensor.stride()


def is_wide(*shapes: Shape) -> bool:
    """Whether offsets of an element need more than 32 bits."""
    return any(storages.span(*shape) >= 1 << 31 for shape in shapes)


def strides(name: str, shape: Shape, axes: str) -> dict[str, int]:
    """A tensor's strides as the parameters of a kernel."""
    return {f"{name}_{axis}": stride for axis, stride in zip(axes, shape[1], strict=True)}
