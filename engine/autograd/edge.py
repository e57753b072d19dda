"""GradientEdge: a place in the graph where a gradient arrives."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from engine.autograd.graph import Node


class GradientEdge(NamedTuple):
    """The gradient of output `output_nr` of `node`: what `backward` and `grad` take in a tensor's place."""

    node: Node
    output_nr: int
