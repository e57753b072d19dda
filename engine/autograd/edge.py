"""GradientEdge: an output of a Node, at which a gradient arrives."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from engine.autograd.graph import Node


class GradientEdge(NamedTuple):
    """The gradient of output `output_nr` of `node`; `backward` and `grad` accept it in place of a tensor."""

    node: Node
    output_nr: int
