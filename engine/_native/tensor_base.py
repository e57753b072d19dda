"""The native base class of Tensor: `_h`, the address of its TensorImpl, and the deallocator.

Made by tensor_base.c. Python sees an ordinary class with one slot.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from engine._native.library import lib

if TYPE_CHECKING:

    class _TensorBase:
        """PyObject_HEAD and the address of a TensorImpl."""

        _h: int

        def _remember(self) -> Any: ...
        @staticmethod
        def _wrap(handle: int) -> Any: ...
        @staticmethod
        def _set_class(kind: type) -> None: ...
else:
    _made: list[type] = []
    if lib.uh_tensor_base_type(id(_made)):
        raise MemoryError("no memory for the type _TensorBase")
    _TensorBase = _made[0]
