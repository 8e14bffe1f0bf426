"""What Dynamo and Inductor ask of the device `girih`."""

import types

from torch._dynamo.device_interface import DeviceInterface

from girih.torch import device as devices

# Inductor weighs plans by these figures: those of a middling card.
_PROPERTIES = types.SimpleNamespace(
    name="girih",
    type="girih",
    major=8,
    minor=0,
    warp_size=32,
    regs_per_multiprocessor=65536,
    max_threads_per_multi_processor=2048,
    max_threads_per_block=1024,
    multi_processor_count=80,
    shared_memory_per_block=32768,
    total_memory=4 << 30,
    gcnArchName="",
)


class Interface(DeviceInterface):
    """The device, as Dynamo sees it."""

    class device:
        """A block of code for one device: there is only one."""

        def __init__(self, index=None):
            pass

        def __enter__(self):
            return self

        def __exit__(self, *problem):
            return False

    class Worker:
        """What processes ask that compile kernels."""

        @staticmethod
        def set_device(index):
            pass

        @staticmethod
        def current_device():
            return 0

        @staticmethod
        def get_device_properties(device=None):
            return _PROPERTIES

    @staticmethod
    def current_device():
        return 0

    @staticmethod
    def set_device(device):
        pass

    @staticmethod
    def maybe_exchange_device(device):
        return 0

    @staticmethod
    def exchange_device(device):
        return 0

    @staticmethod
    def device_count():
        return 1

    @staticmethod
    def is_available():
        return True

    @staticmethod
    def synchronize(device=None):
        devices.synchronize()

    @staticmethod
    def get_raw_stream(index):
        return 0

    @classmethod
    def get_device_properties(cls, device=None):
        return _PROPERTIES

    @staticmethod
    def get_compute_capability(device=None):
        return 80

    @staticmethod
    def is_bf16_supported(including_emulation=False):
        return True

    @staticmethod
    def is_dtype_supported(dtype, including_emulation=False):
        return True

    @staticmethod
    def is_triton_capable(device=None):
        return True

    @staticmethod
    def raise_if_triton_unavailable(device=None):
        pass
