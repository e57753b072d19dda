"""The handle that removes a hook of a module or an optimizer."""

from __future__ import annotations

import itertools
import weakref
from collections import OrderedDict
from typing import Any

__all__ = ["RemovableHandle"]

_numbers = itertools.count()


class RemovableHandle:
    """Removes a hook from its registers: `handle.remove()`, or at the end of a `with` block."""

    def __init__(self, register: Any, *others: Any) -> None:
        self.id = next(_numbers)
        self._registers = [weakref.ref(entry) for entry in (register, *others)]

    def remove(self) -> None:
        """Unregister the hook. A second call does nothing."""
        for reference in self._registers:
            register = reference()
            if register is not None:
                register.pop(self.id, None)

    def __enter__(self) -> RemovableHandle:
        return self

    def __exit__(self, *exception: object) -> None:
        self.remove()

    def __getstate__(self) -> tuple[int, list[Any]]:
        return self.id, [reference() for reference in self._registers]

    def __setstate__(self, state: tuple[int, list[Any]]) -> None:
        self.id, registers = state
        self._registers = [
            weakref.ref(OrderedDict() if entry is None else entry) for entry in registers
        ]
