"""Graphs in whole terminal cells: layers, orthogonal channels, portals. Pure functions of flat lists.

`layout()` places boxes and wires, `rails()` draws the same graph as a list with lanes, `repeats()` finds
blocks that follow each other unchanged. None of them knows what a node stands for.
"""

from tui.render.graph.layout import Layout, Link, layout
from tui.render.graph.rails import Rails, rails
from tui.render.graph.repeats import Run, repeats

__all__ = ["Layout", "Link", "Rails", "Run", "layout", "rails", "repeats"]
