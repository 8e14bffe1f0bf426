"""The host's view of tensors of the device, and the operations that fall back to it.

On the device `cpu` the host's bytes are the device's memory. On others what lies between a tensor's first and last element is copied, and copied back if the
operation has written to it.

Invariant: an operation that runs here is counted, and warned of once by its name; in strict mode it is refused.
"""

import functools
import warnings
from collections import Counter, defaultdict

import torch
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.utils import _pytree

from girih.torch import device, extents, placement, storages

_counts = Counter()
_reasons = {}
_is_strict = False
# Parameters that batch norms write to although their schemas do not say so.
_WRITTEN = ("running_mean", "running_var")
# Operations that give what they write to the size that they find, as ones do that fill `out=`.
_RESIZING = ("aten::_fused_moving_avg_obs_fq_helper",)
_VIEWS = torch._C.DispatchKeySet(torch._C.DispatchKey.CPU)


def fallbacks() -> dict[str, int]:
    """The operations that ran on the host because the device has none of their kind, with how often they ran; the most frequent one first."""
    return dict(_counts.most_common())


def reasons() -> dict[str, str]:
    """Why these operations ran on the host, when they did so last."""
    return dict(_reasons)


def strict(enabled: bool = True) -> None:
    """Whether an operation that the device does not have is an error (`NotImplementedError`) rather than run on the host."""
    global _is_strict
    _is_strict = enabled


class HostView:
    """Tensors of the host that stand for tensors of the device during one operation. Those that share a storage share it here, too."""

    def __init__(self):
        self._whole = {}
        # The bytes of each storage that are here, and those that were written, from where to where.
        self._read = defaultdict(list)
        self._written = defaultdict(list)
        self._is_host_memory = device.current().kind == "cpu"
        device.synchronize()

    def of(self, tensor: torch.Tensor) -> torch.Tensor:
        """The host's tensor for one of the device."""
        if tensor.device.type != "girih":
            return tensor
        if tensor.numel() == 0:
            return torch.empty_strided(tensor.size(), tensor.stride(), dtype=tensor.dtype)
        whole = self._bytes(tensor)
        self._fetch(tensor)
        usable = whole.numel() // tensor.element_size() * tensor.element_size()
        return storages.flagged_as(tensor, whole[:usable].view(tensor.dtype).as_strided(tensor.size(), tensor.stride(), tensor.storage_offset()))

    def written(self, tensor: torch.Tensor) -> None:
        """Says that the operation writes to a tensor that `of` was asked for."""
        if tensor.device.type == "girih" and tensor.numel():
            self._written[tensor.untyped_storage().data_ptr()].append(extents.of(tensor))

    def write_back(self) -> None:
        """Brings what was written to the device."""
        if self._is_host_memory:
            return
        for address, changed in self._written.items():
            buffer, whole = self._whole[address]
            for start, end in extents.merged(changed):
                buffer.write(storages.memory(whole[start:end]), start)

    def _bytes(self, tensor):
        """A tensor of all bytes of a storage. Where they are copies, those that nobody has asked for are not there, and take no memory."""
        buffer = storages.buffer_of(tensor)
        if buffer.address not in self._whole:
            if self._is_host_memory:
                whole = storages.host_bytes(buffer.address, buffer.nbytes, buffer)
            else:
                whole = torch.empty(buffer.nbytes, dtype=torch.uint8)
            self._whole[buffer.address] = (buffer, whole)
        return self._whole[buffer.address][1]

    def _fetch(self, tensor):
        """Copies the bytes of a tensor that are not here yet."""
        if self._is_host_memory:
            return
        address = tensor.untyped_storage().data_ptr()
        buffer, whole = self._whole[address]
        for start, end in extents.missing(extents.of(tensor), self._read[address]):
            buffer.read_into(storages.memory(whole[start:end]), start)
        self._read[address] = extents.merged([*self._read[address], extents.of(tensor)])


def upload(target: torch.Tensor, source: torch.Tensor) -> None:
    """Writes a host's tensor to one of the device that has its shape."""
    if target.numel() == 0:
        return
    if target.is_contiguous() and device.current().kind != "cpu" and not storages.is_flagged(target):
        source = source.to(target.dtype).contiguous().resolve_conj().resolve_neg()
        buffer, offset = storages.place_of(target)
        buffer.write(storages.memory(source), offset)
        return
    view = HostView()
    view.of(target).copy_(source)
    view.written(target)
    view.write_back()


def download(source: torch.Tensor) -> torch.Tensor:
    """A new tensor of the host with what one of the device holds."""
    return HostView().of(source).clone(memory_format=torch.preserve_format)


def uploaded(source: torch.Tensor) -> torch.Tensor:
    """A new tensor of the device with what one of the host holds."""
    target = storages.empty(source.size(), source.stride(), source.dtype)
    upload(target, source)
    return target


def refuse(name: str, reason: str = "") -> None:
    """Refuses an operation that would run on the host, in strict mode."""
    if _is_strict:
        raise NotImplementedError(f"the device girih has no `{name}`{_why(reason)}, and girih.torch.strict() forbids to run it on the host")


def note(name: str, reason: str = "") -> None:
    """Counts an operation that runs on the host, and warns of it the first time."""
    if not _counts[name]:
        warnings.warn(f"the device girih has no `{name}`{_why(reason)}: it runs on the host", stacklevel=4)
    _counts[name] += 1
    _reasons[name] = reason


def _why(reason: str) -> str:
    return f" ({reason})" if reason else ""


@functools.cache
def is_view(operation) -> bool:
    """Whether an operation gives another view of a tensor's memory."""
    return any(result.alias_info is not None and not result.alias_info.is_write for result in operation._schema.returns)


def run(operation, *args, reason="", **kwargs):
    """Runs any operation of PyTorch on the host. The reason goes into the warning."""
    if is_view(operation):
        # A view needs only numbers, which the host's own operation makes.
        return operation.redispatch(_VIEWS, *args, **kwargs)
    placement.refuse_mixed(operation, args, kwargs)
    if _is_strict:
        _check(operation, args, kwargs)
    refuse(operation._schema.name, reason)
    # A call that PyTorch refuses has not run: its error says all.
    result = on_host(operation, *args, **kwargs)
    note(operation._schema.name, reason)
    return result


def _check(operation, args, kwargs) -> None:
    """Raises what PyTorch says of a call that no device can run, as far as shapes and types tell."""
    try:
        with FakeTensorMode(allow_fallback_kernels=False) as mode:
            args, kwargs = _pytree.tree_map_only(torch.Tensor, mode.from_tensor, (args, kwargs))
            operation(*args, **kwargs)
    except (IndexError, ValueError, TypeError) as problem:
        raise problem from None
    except RuntimeError as problem:
        if not isinstance(problem, NotImplementedError) and type(problem) is RuntimeError:
            raise problem from None


@functools.cache
def tensor_parameters(operation):
    """The positions and the names of an operation's parameters that are tensors. PyTorch hands over a number of Python's for such a one as a number."""
    found = [(at, argument.name) for at, argument in enumerate(operation._schema.arguments) if str(argument.type) in ("Tensor", "Optional[Tensor]")]
    return frozenset(at for at, _ in found), frozenset(name for _, name in found)


def number(value, beside) -> torch.Tensor:
    """The host's tensor for a number among other arguments, of a type that changes the result's no more than the number does.

    Beside tensors of 16-bit floats it is a `float32`, in which PyTorch computes with numbers. A whole number that their type does not hold is an `int64`.
    """
    tensors = [other for other in beside if isinstance(other, torch.Tensor)]
    dtype = functools.reduce(torch.promote_types, (torch.result_type(tensor, value) for tensor in tensors), torch.tensor(value).dtype if not tensors else torch.bool)
    if type(value) is float:
        is_short = any(tensor.dim() and tensor.dtype == dtype for tensor in tensors) and dtype.itemsize == 2
        return torch.tensor(value, dtype=torch.float32 if is_short or dtype.is_complex else dtype)
    if dtype.is_floating_point or dtype.is_complex or type(value) is bool:
        return torch.tensor(value)
    limits = torch.iinfo(dtype) if dtype != torch.bool else None
    holds = limits is not None and limits.min <= value <= limits.max
    return torch.tensor(value, dtype=dtype if holds else torch.int64)


def on_host(operation, *args, **kwargs):
    """Runs an operation on the host, uncounted."""
    schema, view = operation._schema, HostView()
    originals, outs = {}, []
    tensor_names = tensor_parameters(operation)[1]

    def host(value, parameter):
        if isinstance(value, torch.device) and value.type == "girih":
            return torch.device("cpu")
        if parameter.name in tensor_names and type(value) in (bool, int, float):
            return number(value, (*args, *kwargs.values()))
        if not isinstance(value, torch.Tensor):
            return value
        is_written = parameter.name in _WRITTEN or (parameter.alias_info is not None and parameter.alias_info.is_write)
        if is_written and (parameter.is_out or schema.name in _RESIZING) and value.device.type == "girih":
            stand_in = torch.empty_strided(value.size(), value.stride(), dtype=value.dtype)
            if not parameter.is_out:
                stand_in.copy_(view.of(value))
            outs.append((value, stand_in))
        else:
            stand_in = view.of(value)
            if is_written:
                view.written(value)
        originals[id(stand_in)] = (value, stand_in)
        return stand_in

    def all_host(value, parameter):
        return _pytree.tree_map(lambda leaf: host(leaf, parameter), value)

    parameters = {parameter.name: parameter for parameter in schema.arguments}
    host_args = [all_host(value, parameter) for value, parameter in zip(args, schema.arguments)]
    host_kwargs = {name: all_host(value, parameters[name]) for name, value in kwargs.items()}
    results = operation(*host_args, **host_kwargs)
    view.write_back()
    for target, stand_in in outs:
        if target.size() != stand_in.size():
            target.resize_(stand_in.size())
        upload(target, stand_in)

    def back(value):
        if not isinstance(value, torch.Tensor):
            return value
        if id(value) in originals:
            return originals[id(value)][0]
        if value.layout != torch.strided:
            raise NotImplementedError(f"tensors of {value.layout} cannot be on the device girih")
        return uploaded(value)

    return _pytree.tree_map(back, results)
