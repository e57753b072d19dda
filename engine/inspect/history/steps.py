"""Stepping: the moments at which each grain stops.

`raw event` stops everywhere. `event` leaves out the bookkeeping: records about the recording itself, and
reference counts, which follow from the events around them. `op` stops where an operator that the program called
has returned, so that its result can be seen. `node` stops where a node of the autograd graph is complete, where
one is about to run with all of its gradients, and where a backward pass has ended. `line` stops where
a line is about to run: the previous line's effects are complete. Of the JIT: `instruction` stops where the
interpreter has run one, `rewrite` where a pass has changed its graph once, `pass` where a pass that changed it
has ended. The first and the last moment are stops of every grain, so stepping is symmetric.
"""

from __future__ import annotations

import numpy as np

from engine.inspect.history.fold import Tables

GRAINS = ("raw event", "event", "instruction", "rewrite", "op", "node", "pass", "line")
"""From the finest to the coarsest."""
BOOKKEEPING = (
    "STRING", "SOURCE", "VALUES", "THREAD", "OBJECT", "EDGE", "GRAD_FN",
    "STORAGE_RETAIN", "STORAGE_RELEASE", "TENSOR_RETAIN", "TENSOR_RELEASE",
)  # fmt: skip
"""Kinds of events that no line of the program caused: the grain `event` skips them."""
NEEDS = {"node": "NODE_NEW", "instruction": "JIT_STEP", "rewrite": "REWRITE", "pass": "PASS_END"}
"""A grain that not every trace has, and the event without which it does not."""


def stops(tables: Tables, grain: str) -> np.ndarray:
    """Return all stops of a grain, ascending."""
    if grain == "event":
        return tables.numbers_without(*BOOKKEEPING)
    if grain == "op":
        return tables.returns
    if grain == "node":
        return tables.node_stops
    if grain == "line":
        return tables.lines.since
    if grain == "instruction":
        return tables.numbers("JIT_STEP")
    if grain == "rewrite":
        return tables.numbers("REWRITE")
    if grain == "pass":
        since, ends = tables.of("PASS_END")
        return since[ends["changes"] != 0]
    raise ValueError(f"grain {grain!r} is not one of {', '.join(GRAINS)}")


def grains(tables: Tables) -> tuple[str, ...]:
    """Return the grains of this trace."""
    return tuple(g for g in GRAINS if g not in NEEDS or len(tables.numbers(NEEDS[g])))


def next_stop(tables: Tables, m: int, grain: str) -> int:
    last = max(len(tables.events) - 1, 0)
    if grain == "raw event":
        return min(m + 1, last)
    moments = stops(tables, grain)
    index = int(np.searchsorted(moments, m, "right"))
    return int(moments[index]) if index < len(moments) else last


def previous_stop(tables: Tables, m: int, grain: str) -> int:
    if grain == "raw event":
        return max(m - 1, 0)
    moments = stops(tables, grain)
    index = int(np.searchsorted(moments, m, "left")) - 1
    return int(moments[index]) if index >= 0 else 0
