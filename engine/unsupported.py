"""Placeholders for names of PyTorch that scripts import but the engine leaves out; the error of a call has the
alternative.

A library that imports `fx.GraphModule` for an isinstance check runs; a call raises NotImplementedError.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

from engine._native.namespace import namespace, no_attribute


def placeholder(qualified_name: str, reason: str) -> Any:
    """Return a class (for a capitalised name) or function that raises NotImplementedError when it is called.

    >>> placeholder("fx.symbolic_trace", "use engine.jit.trace")()
    Traceback (most recent call last):
    NotImplementedError: fx.symbolic_trace is not supported: use engine.jit.trace
    """
    home, _, name = qualified_name.rpartition(".")
    message = f"{qualified_name} is not supported: {reason}"

    def refuse(*args: Any, **options: Any) -> NoReturn:
        raise NotImplementedError(message)

    contents = {
        "__doc__": f"Raise NotImplementedError: {reason}.",
        "__module__": f"{namespace()}.{home}",
    }
    if name.lstrip("_")[:1].isupper():
        return type(name, (), {**contents, "__init__": refuse})
    refuse.__name__ = refuse.__qualname__ = name
    refuse.__doc__, refuse.__module__ = contents["__doc__"], contents["__module__"]
    return refuse


def module_getattr(
    module: str, names: str, reason: str, namespace: dict[str, Any]
) -> Callable[[str], Any]:
    """Return the `__getattr__` of a module whose public names are placeholders for one reason."""
    known = frozenset(names.split())

    def find(name: str) -> Any:
        if name not in known:
            raise no_attribute(module, name)
        value = namespace[name] = placeholder(f"{module}.{name}", reason)
        return value

    return find
