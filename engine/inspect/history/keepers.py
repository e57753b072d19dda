"""Keepers: the chain of references from a program's name to a tensor that it keeps alive.

A holder is followed to its end: a saved tensor to its node, the graph above it, the result whose
grad_fn that graph is, and the name of that result. A chain ends at a name, or at "held elsewhere" if
nothing more was recorded: nothing is guessed.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from engine.inspect.events import holder_label
from engine.inspect.history.facts import Holder, NameFact

if TYPE_CHECKING:
    from engine.inspect.history import History

_MAX_NODES = 20_000  # nodes of a graph that are searched for a result
_MAX_STEPS = 12  # links of one chain
_MAX_WAYS = 8  # chains that are listed


@dataclass(frozen=True, slots=True)
class Keeper:
    """One chain: descriptions of its links, from the tensor outwards. `named`: it ends at a name."""

    links: tuple[str, ...]
    named: bool
    since: int

    @property
    def text(self) -> str:
        return " → ".join(self.links)


def keepers(history: History, tensor: int, m: int) -> tuple[Keeper, ...]:
    """Return the keepers of a tensor: a chain for each holder, those that end at a name first."""
    ways = [*_object_ways(history, tensor, m), *_native_ways(history, tensor, m, {tensor})]
    ways.sort(key=lambda way: (not way.named, way.since))
    return tuple(ways[:_MAX_WAYS])


def node_keepers(history: History, node: int, m: int) -> tuple[Keeper, ...]:
    """Return the keepers of a node: the graph above it, its result, and the name of its result."""
    return (_node_way(history, node, m, set()),)


def _object_ways(history: History, tensor: int, m: int) -> list[Keeper]:
    """Return the names and containers that hold the Python object, and its unknown holders."""
    names = history.names_of(tensor, m)
    ways = [_name_way(history, name, m) for name in names]
    owners = history.owners(tensor, m).object
    hidden = [each for each in owners.holders if each.kind == "ELSEWHERE"] if owners else []
    for holder in hidden:
        ways.append(Keeper(_hidden(history, tensor, holder, m), False, holder.since))
    return ways


def _hidden(history: History, tensor: int, holder: Holder, m: int) -> tuple[str, ...]:
    text = f"{holder.count} held elsewhere"
    if history.names_of(tensor, m):
        return (f"{text}: outside the names and containers of the program",)
    rows = history.tables.names.until_now("tensor", tensor, m)
    if not len(rows):
        return (f"{text}: no name has led to it",)
    row = int(rows[history.tables.names.until[rows].argmax()])
    lost = int(history.tables.names.until[row])
    line = history.line_at(lost)
    at = f" until line {line.line}" if line is not None else ""
    name = history.names_of(tensor, int(history.tables.names.since[row]))
    called = next((each.label for each in name), "a name")
    return (
        f"{text}: its last name was {called}{at}; a reference cycle keeps it until the collector runs, "
        "or an object that is not searched",
    )


def _name_way(history: History, name: NameFact, m: int) -> Keeper:
    """Return `item history[0] → name history → the module`."""
    links = [f"{holder_label(name.kind)} {name.label}"]
    root = name.name.partition(".")[0].partition("[")[0]
    if name.kind != "NAME" and root != name.name:
        links.append(f"name {root}")
    frame = history.frame(name.frame, m)
    if frame is not None:
        module = frame.function == "<module>"
        links.append("the module" if module else f"the running function {frame.function}")
    line = history.line_at(name.since)
    if line is not None:
        links[-1] += f", since line {line.line}"
    return Keeper(tuple(links), True, name.since)


def _native_ways(history: History, tensor: int, m: int, seen: set[int]) -> list[Keeper]:
    """Return the chains from the holders of the TensorImpl, other than its Python object."""
    ways = []
    for holder in history.owners(tensor, m).impl.holders:
        if holder.kind == "WRAPPER":
            continue
        count = f"{holder.count} " if holder.kind == "ELSEWHERE" else ""
        links, named = _further(history, holder, m, seen)
        ways.append(Keeper((f"{count}{holder.name}", *links), named, holder.since))
    return ways


def _further(
    history: History, holder: Holder, m: int, seen: set[int]
) -> tuple[tuple[str, ...], bool]:
    """Return the links after a holder, and whether they end at a name."""
    if holder.kind == "SAVED":
        way = _node_way(history, holder.id, m, seen)
        return way.links[1:], way.named
    if holder.kind in ("GRAD", "TENSOR", "SPARSE") and holder.id not in seen:
        return _tensor_links(history, holder.id, m, seen)
    return (), False


def _tensor_links(
    history: History, tensor: int, m: int, seen: set[int]
) -> tuple[tuple[str, ...], bool]:
    """Return the links from a tensor to a name: its own, or that of its first holder that has one."""
    names = history.names_of(tensor, m)
    if names:
        own = [_name_way(history, name, m) for name in names]
        best = min(own, key=lambda way: (len(way.links), way.since))
        return best.links, True
    if tensor in seen or len(seen) > _MAX_STEPS:
        return (), False
    ways = _native_ways(history, tensor, m, seen | {tensor})
    named = [way for way in ways if way.named]
    if named:
        return min(named, key=lambda way: len(way.links)).links, True
    owners = history.owners(tensor, m).object
    if owners is not None and owners.count:
        return (f"Python object of #{tensor}, {owners.count} held elsewhere",), False
    return (ways[0].links, False) if ways else ((), False)


def _node_way(history: History, node: int, m: int, seen: set[int]) -> Keeper:
    """Return the chain from a node up its graph to the result whose grad_fn leads to it."""
    described = f"node {history.autograd.describe_node(node)}"
    since = history.autograd.since(node)
    best: Keeper | None = None
    for top, count, result in _results(history, node, m):
        graph = f"the graph of node {history.autograd.describe_node(top)}"
        links = [described]
        if top != node:
            nodes = f"{count} node{'' if count == 1 else 's'} further"
            links.append(f"{graph}, {nodes}")
        label = history.label(result, m)
        links.append(f"grad_fn of {f'tensor {label}' if label.startswith('#') else label}")
        if result in seen:
            continue
        more, named = _tensor_links(history, result, m, seen | {result})
        way = Keeper((*links, *more), named, since)
        if named:
            return way
        best = best or way
    if best is not None:
        return best
    run = history.autograd.run_at(m)
    running = run is not None and run.index(node) >= 0 and run.since <= m < run.until
    holder = f"backward pass {run.id}, while it runs" if run and running else "1 held elsewhere"
    return Keeper((described, holder), False, since)


def result_name(history: History, node: int, m: int) -> str:
    """Return the name of the nearest result whose graph contains the node; "" if none has a name."""
    named = (tensor for *_, tensor in _results(history, node, m) if history.names_of(tensor, m))
    return next((history.label(tensor, m) for tensor in named), "")


def _results(history: History, node: int, m: int) -> list[tuple[int, int, int]]:
    """Return (node, distance, tensor) of the living tensors whose grad_fn leads to a node: those with a name first,
    then the nearest."""
    tables = history.autograd.tables
    edges = tables.edges
    named: list[tuple[int, int, int]] = []
    others: list[tuple[int, int, int]] = []
    queue, known = deque([(node, 0)]), {node}
    while queue and len(known) < _MAX_NODES and len(named) < _MAX_WAYS:
        at, distance = queue.popleft()
        rows = tables.grad_fns.where_at("node", at, m)
        for tensor in np.unique(tables.grad_fns.tensor[rows]).tolist():
            if history.tensor(tensor, m) is not None:
                results = named if history.names_of(tensor, m) else others
                results.append((at, distance, tensor))
        for above in edges.node[edges.where_at("next", at, m)].tolist():
            if above not in known:
                known.add(above)
                queue.append((above, distance + 1))
    return [*named, *others[:_MAX_WAYS]]
