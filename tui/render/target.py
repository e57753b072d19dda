"""Targets: the items that are selected when a user points at a span of a picture."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Union

if TYPE_CHECKING:
    from engine.inspect.selection import SelectionItem


class ViewItem:
    """An item that views define for themselves. Pointing at it selects `selects`, and changes nothing else."""

    opens_details = False
    """Whether Enter opens the view's page of details."""

    @property
    def selects(self) -> SelectionItem | None:
        return None


@dataclass(frozen=True, slots=True)
class OwnersPage(ViewItem):
    """The holders of the selected tensor or storage."""


@dataclass(frozen=True, slots=True)
class LaunchItem(ViewItem):
    """The launch of a fused kernel at this moment."""

    moment: int


@dataclass(frozen=True, slots=True)
class MenuItem(ViewItem):
    """An entry of a menu."""

    key: str


TargetItem = Union["SelectionItem", ViewItem]


@dataclass(frozen=True, slots=True)
class Target:
    """The item of a span, others that are selected with it, and the event to go to (-1: none)."""

    item: TargetItem | None = None
    also: tuple[SelectionItem, ...] = ()
    event: int = -1
