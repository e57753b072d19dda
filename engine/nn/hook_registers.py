"""The registers of hooks for all modules, and hooks that are bound to their module.

hooks.py fills them and runs forward hooks, backward_hooks.py runs backward hooks.
"""

from __future__ import annotations

import functools
import weakref
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

Hook = Callable[..., Any]
Register = OrderedDict[int, Hook]


class BoundHook:
    """A hook with its module as the first argument, which it does not keep alive."""

    def __init__(self, hook: Hook, module: Any) -> None:
        self.hook, self.module = hook, weakref.ref(module)
        functools.update_wrapper(self, hook)

    def __call__(self, *args: Any, **options: Any) -> Any:
        module = self.module()
        if module is None:
            raise RuntimeError("You are trying to call the hook of a dead Module!")
        return self.hook(module, *args, **options)

    def __getstate__(self) -> dict[str, Any]:
        return {"hook": self.hook, "module": self.module()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        if state["module"] is None:
            raise RuntimeError("You are trying to revive the hook of a dead Module!")
        self.hook, self.module = state["hook"], weakref.ref(state["module"])


class GlobalHooks:
    """The registers for all modules, each an OrderedDict of hooks by number.

    `Module.__call__` uses those in `call_registers`; `any` is True if one of them has an entry.
    """

    def __init__(self) -> None:
        self.forward_pre: Register = OrderedDict()
        self.forward_pre_with_kwargs: OrderedDict[int, bool] = OrderedDict()
        self.forward: Register = OrderedDict()
        self.forward_with_kwargs: OrderedDict[int, bool] = OrderedDict()
        self.forward_always: OrderedDict[int, bool] = OrderedDict()
        self.backward_pre: Register = OrderedDict()
        self.backward: Register = OrderedDict()
        self.full_backward: bool | None = None
        self.parameter: Register = OrderedDict()
        self.buffer: Register = OrderedDict()
        self.module: Register = OrderedDict()

    def replaced(self, register: Register, module: Any, name: str, value: Any) -> Any:
        """Return a parameter, buffer or module as the registration hooks replace it."""
        for hook in register.values():
            replacement = hook(module, name, value)
            value = value if replacement is None else replacement
        return value


shared = GlobalHooks()
