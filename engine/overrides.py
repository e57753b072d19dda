"""PyTorch's `__torch_function__` protocol, which the engine's calls do not look up.

Its predicates therefore return False, and functions that need it raise.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from engine.tensor import Tensor
from engine.unsupported import module_getattr

_REFUSED = (
    "BaseTorchFunctionMode TorchFunctionMode enable_reentrant_dispatch get_default_nowrap_functions "
    "get_ignored_functions get_overridable_functions get_testing_overrides handle_torch_function"
)
__all__ = [
    *_REFUSED.split(),
    "DisableTorchFunction",
    "DisableTorchFunctionSubclass",
    "has_torch_function",
    "has_torch_function_unary",
    "has_torch_function_variadic",
    "is_tensor_like",
    "is_tensor_method_or_property",
    "resolve_name",
    "wrap_torch_function",
]
__getattr__ = module_getattr(
    "overrides", _REFUSED, "calls do not look for __torch_function__; pass plain tensors", globals()
)


class DisableTorchFunction:
    """A context without effect: calls do not look for `__torch_function__` anyway."""

    def __enter__(self) -> None: ...

    def __exit__(self, *unused: Any) -> None: ...


class DisableTorchFunctionSubclass(DisableTorchFunction):
    """The same."""


def has_torch_function(relevant_args: Iterable[Any]) -> bool:
    """Return False: no class overrides the functions. Raises: TypeError for an object without items."""
    iter(relevant_args)
    return False


def has_torch_function_unary(obj: Any) -> bool:
    """Return False: no class overrides the functions."""
    return False


def has_torch_function_variadic(*args: Any) -> bool:
    """Return False: no class overrides the functions."""
    return False


def is_tensor_like(inp: Any) -> bool:
    """Return True for tensors, and for objects of classes that define `__torch_function__`."""
    return isinstance(inp, Tensor) or hasattr(inp, "__torch_function__")


def is_tensor_method_or_property(func: Callable[..., Any]) -> bool:
    """Return True if the function is a method or a property's getter of Tensor."""
    name = getattr(func, "__name__", "")
    return name == "__get__" or getattr(Tensor, name, None) is func


def resolve_name(f: Callable[..., Any]) -> str | None:
    """Return the name of a function with its module's, None if it has none."""
    name = getattr(f, "__qualname__", None)
    return f"{f.__module__}.{name}" if name else None


def wrap_torch_function(dispatcher: Callable[..., Any]) -> Callable[[Any], Any]:
    """Return a decorator that leaves the function as it is."""
    return lambda function: function
