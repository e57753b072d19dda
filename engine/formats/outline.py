"""A pickle without its objects: what each would be created by, as data."""

from __future__ import annotations

from typing import Any

from engine.formats.restricted_pickle import Opaque

__all__ = ["GlobalName", "Outline", "StorageId"]


class GlobalName(str):
    """The name of a class or function in a file: `torch._utils._rebuild_tensor_v2`."""


class StorageId:
    """The persistent id of a storage, as the file has it."""

    __slots__ = ("fields",)

    def __init__(self, fields: Any) -> None:
        self.fields = fields


class Outline:
    """A resolver that accepts every global and creates none: calls become `Opaque` objects."""

    def __init__(self) -> None:
        self.globals: set[tuple[str, str]] = set()

    def find(self, module: str, name: str) -> Any:
        self.globals.add((module, name))
        return GlobalName(f"{module}.{name}")

    def call(self, function: Any, arguments: tuple[Any, ...]) -> Any:
        return Opaque(function, arguments)

    new = call

    def build(self, target: Any, state: Any) -> None:
        if isinstance(target, Opaque):
            target.state = state

    def persistent(self, pid: Any) -> Any:
        return StorageId(pid)
