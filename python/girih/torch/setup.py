"""Tells PyTorch of the device `girih`, once: its name, its module `torch.girih`, its operations, and `torch.compile`."""

import functools

import torch
from torch.utils.backend_registration import _setup_privateuseone_for_python_backend

from girih.torch import device, processes, storages
from girih.torch.inductor.interface import Interface
from girih.torch.library import Library

_all = Library("_", "IMPL")


class Module:
    """What `torch.girih` is: the functions that PyTorch asks of a device's module.

    Random numbers have one state, the host's generator: the host draws the seeds of kernels, and the numbers of operations that run there.
    """

    device = Interface.device

    def is_initialized(self):
        return True

    def is_available(self):
        return True

    def _is_in_bad_fork(self):
        return processes.is_fork()

    def device_count(self):
        return 1

    def current_device(self):
        return 0

    def set_device(self, index):
        pass

    def synchronize(self, index=None):
        device.synchronize()

    def get_amp_supported_dtype(self):
        return [torch.float16, torch.bfloat16]

    def manual_seed(self, seed):
        torch.default_generator.manual_seed(seed)

    manual_seed_all = manual_seed

    def seed(self):
        torch.default_generator.seed()

    seed_all = seed

    def initial_seed(self):
        return torch.default_generator.initial_seed()

    def get_rng_state(self, index=None):
        return torch.default_generator.get_state()

    def set_rng_state(self, state, index=None):
        torch.default_generator.set_state(state)

    def get_rng_state_all(self):
        return [self.get_rng_state()]

    def set_rng_state_all(self, states):
        for state in states:
            self.set_rng_state(state)

    def is_bf16_supported(self, including_emulation=True):
        return True

    def get_device_name(self, index=None):
        return device.current().name

    def get_device_properties(self, index=None):
        return Interface.get_device_properties()

    def memory_summary(self, index=None, abbreviated=False):
        return device.memory_summary()

    def memory_allocated(self, index=None):
        """Bytes of the tensors that there are."""
        return device.current().memory()["live"]

    def max_memory_allocated(self, index=None):
        """The most bytes that there were at once."""
        return device.current().memory()["peak"]

    def memory_reserved(self, index=None):
        """The same, with what is kept for later tensors."""
        figures = device.current().memory()
        return figures["live"] + figures["cached"]

    def empty_cache(self):
        device.current().trim()


def register() -> None:
    """Registers all of it."""
    _setup_privateuseone_for_python_backend("girih", backend_module=Module())
    from girih.torch import arguments, attention, autocast, convolutions, ctc, distributed, eager, flex, fourier, generators, modules, operations, parallel, processes, products

    operations.register()
    products.register()
    convolutions.register()
    attention.register()
    ctc.register()
    fourier.register()
    autocast.register()
    eager.register()
    generators.register()
    arguments.register()
    distributed.register()
    modules.register()
    flex.register()
    parallel.register()
    processes.register()
    _storages_that_move()
    _pinned_memory()
    _print_from_the_host()
    _refuse_sparse()
    from girih.torch import inductor

    inductor.register()


def _storages_that_move() -> None:
    """`torch.save` and `deepcopy` move storages without an operation: they ask the storage."""
    to_host, clone = torch.UntypedStorage.cpu, torch.UntypedStorage.clone

    def cpu(storage):
        if storage.device.type != "girih":
            return to_host(storage)
        return _bytes(storage).cpu().untyped_storage()

    def cloned(storage):
        if storage.device.type != "girih":
            return clone(storage)
        copy = storages.empty([storage.nbytes()], dtype=torch.uint8)
        copy.copy_(_bytes(storage))
        return copy.untyped_storage()

    torch.UntypedStorage.cpu, torch.UntypedStorage.clone = cpu, cloned
    # Asked before PyTorch's own rule, which needs an allocator in C++.
    torch.serialization.register_package(5, _saved_place, _loaded)


def _pinned_memory() -> None:
    """PyTorch asks the device that it takes to be the machine's for pinned memory. Girih copies from any memory: where there is no card of CUDA a tensor counts as pinned as it is."""
    pin = torch.Tensor.pin_memory

    @functools.wraps(pin)
    def pin_memory(tensor, device=None):
        if device is None and tensor.device.type == "cpu":
            return pin(tensor, "cuda") if torch.cuda.is_available() else tensor
        return pin(tensor) if device is None else pin(tensor, device)

    torch.Tensor.pin_memory = pin_memory


def _saved_place(storage):
    """Where `torch.save` says that a storage was."""
    return "girih:0" if storage.device.type == "girih" else None


def _loaded(storage, place):
    """The storage that `torch.load` puts there, for one of the host."""
    if not place.startswith("girih") or storage.device.type != "cpu":
        return None
    whole = storages.empty([storage.nbytes()], dtype=torch.uint8)
    return whole.copy_(torch.empty(0, dtype=torch.uint8).set_(storage)).untyped_storage()


def _print_from_the_host() -> None:
    """Numbers are printed by some twenty operations, which say nothing of the program: they run on a copy."""
    text = torch._tensor_str._tensor_str

    def of_host(tensor, indent):
        return text(tensor.cpu() if tensor.device.type == "girih" else tensor, indent)

    torch._tensor_str._tensor_str = of_host


def _refuse_sparse() -> None:
    """Sparse tensors have no memory here: each operation on them is refused by name, and says what to do."""

    def refused(operation, *args, **kwargs):
        hint = "keep them on the host, or use `.to_dense()` there; `sparse=True` of embeddings makes such gradients"
        raise NotImplementedError(f"the device girih has no sparse tensors, which `{operation.name()}` is called for: {hint}")

    for key in ("SparsePrivateUse1", "SparseCsrPrivateUse1"):
        _all.fallback(refused, key)


def _bytes(storage):
    """A tensor of all bytes of a storage."""
    return storages.empty([0], dtype=torch.uint8).set_(storage, 0, [storage.nbytes()], [1])
