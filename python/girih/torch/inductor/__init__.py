"""`torch.compile` for the device `girih`: PyTorch's Inductor plans and writes kernels in Triton's language, and Girih compiles and runs them."""


def register() -> None:
    """Tells Dynamo and Inductor of the device."""
    from girih.torch import triton_names

    triton_names.register()
    from torch._dynamo import trace_rules
    from torch._dynamo.device_interface import register_interface_for_device

    from girih.torch.inductor.interface import Interface

    register_interface_for_device("girih", Interface)
    # Where a graph breaks, operations run while Dynamo looks at each function that is called. What runs them here is not the user's program.
    trace_rules.add("girih")
    from girih.torch.inductor import backend

    backend.register()
