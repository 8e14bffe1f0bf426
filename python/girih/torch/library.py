"""Operations of PyTorch's libraries, implemented here, whoever calls them.

Where a graph breaks, `torch.compile` runs operations while Dynamo looks at each function that begins. What an implementation calls is not the user's program: without this,
Dynamo would compile the functions by which a kernel is planned, by the hundred.
"""

import functools

import torch
from torch._C._dynamo.eval_frame import get_eval_frame_callback, set_eval_frame

from girih.torch import processes


def unseen(function):
    """The function, with Dynamo looking at nothing that it calls. In a fork it is an error."""

    @functools.wraps(function, updated=())
    def run(*args, **kwargs):
        processes.own()
        if get_eval_frame_callback() is None:
            return function(*args, **kwargs)
        looking = set_eval_frame(None)
        try:
            return function(*args, **kwargs)
        finally:
            set_eval_frame(looking)

    return run


def traced_like(theirs):
    """Decorates a function that stands in for one of PyTorch's which Dynamo traces: Dynamo looks at the file of a function, and into none of Girih's."""

    def placed(function):
        function.__code__ = function.__code__.replace(co_filename=theirs.__code__.co_filename)
        return functools.wraps(theirs)(function)

    return placed


class Library(torch.library.Library):
    """A library whose implementations Dynamo does not look into."""

    def impl(self, name, function, *args, **kwargs):
        """As the method of `torch.library.Library`."""
        return super().impl(name, unseen(function), *args, **kwargs)

    def fallback(self, function, *args, **kwargs):
        """As the method of `torch.library.Library`."""
        return super().fallback(unseen(function), *args, **kwargs)
