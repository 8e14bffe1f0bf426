"""What the host makes for launches: `girih.triton.tools.tensor_descriptor`."""

from girih.triton.tools import tensor_descriptor

__all__ = ["tensor_descriptor"]
