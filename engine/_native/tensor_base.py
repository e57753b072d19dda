"""The native bases of Tensor and of autograd's Nodes: the address of a TensorImpl or Node, and the deallocator.

tensor_base.c defines them; in Python they are ordinary classes with one slot.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from engine._native.library import lib

if TYPE_CHECKING:
    from engine.dtypes import Size

    class _TensorBase:
        """PyObject_HEAD and the address of a TensorImpl."""

        _h: int

        def _remember(self) -> Any: ...
        @staticmethod
        def _wrap(handle: int) -> Any: ...
        @staticmethod
        def _set_classes(tensor: type, size: type) -> None: ...
        def _nested(self, kind: str) -> Any: ...
        @property
        def shape(self) -> Size: ...

    class _NodeBase:
        """PyObject_HEAD and the address of a Node."""

        _node: int
else:
    _types: list[type] = []
    if lib.uh_base_types(id(_types)):
        raise MemoryError("no memory for the types _TensorBase and _NodeBase")
    _TensorBase, _NodeBase = _types
