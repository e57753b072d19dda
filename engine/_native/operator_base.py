"""The native bases of operators and namespaces: operator_call.c makes their calls and look-ups."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from engine._native.library import lib

if TYPE_CHECKING:

    class _OperatorBase:
        """A callable that runs an operator, or its `_call_generic`."""

        def __call__(self, *args: Any, **options: Any) -> Any: ...
        def _prepare(
            self,
            name: bytes,
            kinds: bytes,
            names: tuple[str, ...],
            defaults: tuple[Any, ...],
            positional: int,
            returned: int,
        ) -> None: ...

    class _NamespaceBase:
        """An object whose `_forget` runs before the first access after operators were registered or removed."""

else:
    _types: list[type] = []
    if lib.uh_operator_types(id(_types)):
        raise MemoryError("no memory for the types _OperatorBase and _NamespaceBase")
    _OperatorBase, _NamespaceBase = _types
