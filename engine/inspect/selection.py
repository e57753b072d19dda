"""What the user points at: one selection for all views, which light up what belongs to it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any


@dataclass(frozen=True, slots=True)
class Selection:
    """0, -1, None and "" mean that nothing of that sort is selected."""

    tensor: int = 0
    storage: int = 0
    byte: int = -1
    """Address inside the storage of the selected cell."""
    index: tuple[int, ...] | None = None
    name: str = ""
    file: int = 0
    line: int = 0
    call: int = 0
    node: int = 0
    """A node of the autograd graph."""
    value: int = 0
    """A Value of a graph of the JIT: its family is lit in every pass, and in the source."""

    def select(self, **changes: Any) -> Selection:
        """This selection with some parts changed."""
        return replace(self, **changes)

    def select_tensor(self, tensor: int, storage: int = 0, name: str = "") -> Selection:
        """Point at a whole tensor: a cell selected before is let go."""
        return replace(self, tensor=tensor, storage=storage, name=name, byte=-1, index=None)

    def select_cell(
        self, storage: int, byte: int, index: tuple[int, ...] | None = None
    ) -> Selection:
        """Point at one cell of a storage; the selected tensor stays when it is on that storage."""
        tensor = self.tensor if storage == self.storage else 0
        return replace(self, tensor=tensor, storage=storage, byte=byte, index=index)

    def select_line(self, file: int, line: int) -> Selection:
        return replace(self, file=file, line=line)

    def select_call(self, call: int) -> Selection:
        return replace(self, call=call)

    def select_node(self, node: int) -> Selection:
        return replace(self, node=node)

    def select_value(self, value: int) -> Selection:
        return replace(self, value=value)

    def __bool__(self) -> bool:
        """Return whether anything is selected."""
        return self != Selection()
