"""Names of PyTorch's C++ module that public libraries touch although they are private."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from engine.default_device import get_default_device
from engine.overrides import DisableTorchFunction as DisableTorchFunction
from engine.overrides import DisableTorchFunctionSubclass as DisableTorchFunctionSubclass


def _disabled_torch_function_impl(
    func: Callable[..., Any], types: Iterable[type], args: Any = (), kwargs: Any = None
) -> Any:
    """Call the function: what classes set as `__torch_function__` to have no override."""
    return func(*args, **(kwargs or {}))


def _get_default_device() -> str:
    """Return the type of the default device."""
    return get_default_device().type
