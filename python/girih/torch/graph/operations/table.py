"""The table: which function writes an operation of PyTorch's."""

OPERATIONS = {}


def writes(*names):
    """Says of a function that it writes these operations, `name.overload`, of `aten` or, with their own namespace before, of others. It is given the writer, then the operation's arguments."""

    def registered(function):
        for name in names:
            OPERATIONS[name] = function
        return function

    return registered
