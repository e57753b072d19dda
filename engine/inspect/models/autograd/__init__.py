"""The autograd graph at a moment: nodes and edges, what is saved, and a backward pass step by step.

Parts and the facts of nodes are built once per history; a moment needs a few queries of columns; a node's
box is built on its first use. So a key costs the same in a graph of ten nodes and of ten thousand. The
dataclasses are in boxes.py.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from engine.inspect.history.cache import per_history
from engine.inspect.models.autograd.backward_pass import freed, freed_count, ready, run_box
from engine.inspect.models.autograd.boxes import (
    SLOT_STATES,
    STATES,
    Autograd,
    BufferSlot,
    Edge,
    Flow,
    FormulaRow,
    FreedRow,
    GradBox,
    HookRow,
    NodeBox,
    NodeFact,
    Nodes,
    Overwrite,
    Part,
    ReadyRow,
    RunBox,
    SavedBox,
)
from engine.inspect.models.autograd.components import PartMaker
from engine.inspect.models.autograd.node import NodeMaker, roots

if TYPE_CHECKING:
    from engine.inspect.history import History
    from engine.inspect.selection import Selection

__all__ = [
    "SLOT_STATES",
    "STATES",
    "Autograd",
    "BufferSlot",
    "Edge",
    "Flow",
    "FormulaRow",
    "FreedRow",
    "GradBox",
    "HookRow",
    "NodeBox",
    "NodeFact",
    "Nodes",
    "Overwrite",
    "Part",
    "ReadyRow",
    "RunBox",
    "SavedBox",
    "project",
]

MAX_PARTS = 64


def project(history: History, moment: int, selection: Selection) -> Autograd:
    """Return the living graph at `moment`, and the backward pass that it belongs to."""
    autograd = history.autograd
    maker = _maker(history)
    table = autograd.tables.nodes
    run = autograd.run_at(moment)
    focus, why = _focus(history, moment, selection, run)
    parts, hidden = _visible_parts(history, moment, focus, run, maker)
    rows = maker.rows_of(parts)
    rows = rows[table.since[rows] <= moment]
    nodes = _nodes(history, moment, selection, run, maker, rows)
    saves = autograd.tables.saves
    retained = saves.at(moment)
    return Autograd(
        moment=moment,
        parts=tuple(maker.part(part) for part in parts),
        nodes=nodes,
        created=table.started_by(moment),
        living=len(table.at(moment)),
        hidden=hidden,
        saved_count=len(retained),
        saved_bytes=_bytes(history, np.unique(saves.storage[retained]), moment),
        stale=tuple(np.unique(saves.node[retained[saves.stale[retained] <= moment]]).tolist()),
        run=run_box(history, run, moment) if run else None,
        runs=tuple(run_box(history, each, moment) for each in autograd.runs_at(moment)),
        ready=ready(maker, run, moment) if run else (),
        ready_count=len(run.ready(moment)) if run else 0,
        freed=freed(history, run, moment) if run else (),
        freed_count=freed_count(history, run, moment) if run else 0,
        focus=focus,
        why=why,
    )


@per_history(max_entries=1)
def _maker(history: History) -> PartMaker:
    return PartMaker(history)


def _visible_parts(
    history: History, moment: int, focus: int, run: Any, maker: PartMaker
) -> tuple[tuple[int, ...], int]:
    """Return the parts with a living node or one of the running pass, and that of the node in focus."""
    autograd = history.autograd
    parts, table = autograd.parts, autograd.tables.nodes
    living = table.at(moment)
    matches = np.unique(parts.of_row[living])
    reached = autograd.parts_of_run(run) if run else matches[:0]
    if run and (moment < run.until or not matches.any()):
        matches = np.union1d(matches, reached)
    matches = matches[matches != 0]
    leaves = living[parts.of_row[living] == 0]
    alone = leaves[~np.isin(leaves, maker.rows_of(tuple(matches.tolist())))]
    for row in alone.tolist():
        matches = np.union1d(matches, _part_of_leaf(autograd, row, moment))
    own = parts.of(autograd.row(focus))
    if not np.isin(own, matches).any():
        matches = np.union1d(matches, own[-1:])
    if len(matches) <= MAX_PARTS:
        return tuple(matches.tolist()), 0
    expected = np.isin(matches, reached) | np.isin(matches, own)
    order = np.lexsort([-matches, ~expected])[:MAX_PARTS]
    return tuple(np.sort(matches[order]).tolist()), len(matches) - MAX_PARTS


def _part_of_leaf(autograd: Any, row: int, moment: int) -> Any:
    """Return the newest part that uses a leaf without living users, else the next one."""
    parts = autograd.parts.of(row)
    started = [part for part in parts.tolist() if autograd.since(part) <= moment]
    return started[-1:] or parts[:1]


def _nodes(
    history: History, moment: int, selection: Selection, run: Any, maker: PartMaker, rows: Any
) -> Nodes:
    table = history.autograd.tables.nodes
    ids = table.id[rows]
    codes, waits = np.zeros(len(ids), np.uint8), np.zeros(len(ids), np.int64)
    if run:
        index = np.minimum(np.searchsorted(run.nodes, ids), max(len(run.nodes) - 1, 0))
        inside = run.nodes[index] == ids if len(run.nodes) else np.zeros(len(ids), bool)
        codes[inside] = run.codes(moment)[index[inside]]
        waits[inside] = run.waits(moment)[index[inside]]
    boxes = NodeMaker(history, moment, selection, run)
    return Nodes(
        ids,
        codes,
        table.until[rows] > moment,
        waits,
        lambda index: boxes.box(maker.fact(int(rows[index]))),
    )


def _bytes(history: History, storages: Any, moment: int) -> int:
    """Return the bytes of these storages, each counted once."""
    table = history.tables.storages
    rows = table.at(moment)
    return int(table.nbytes[rows[np.isin(table.id[rows], storages)]].sum())


def _focus(history: History, moment: int, selection: Selection, run: Any) -> tuple[int, str]:
    """Return the node in focus: the selected one, else in a backward pass the node of this event, the running node,
    or the first one; else the node of the selected tensor or call; else the node of
    this event, else the newest."""
    autograd = history.autograd
    table = autograd.tables.nodes
    if selection.node is not None:
        row = autograd.row(selection.node.node)
        if row >= 0 and table.since[row] <= moment:
            return selection.node.node, "selected"
    about = _of_event(history, moment)
    if run and moment < run.until:
        if about:
            return about, "this event is about it"
        if len(running := run.running(moment)):
            return int(running[-1]), "it runs"
        if last := run.last(moment):
            return last, "it ran last"
        if begins := roots(history, run):
            return begins[0][0], "the pass begins here"
    if selection.tensor:
        node = autograd.grad_fn(selection.tensor, moment)[0]
        label = history.label(selection.tensor, moment)
        if node:
            return node, f"grad_fn of {label}"
        leaves = autograd.accumulators(selection.tensor, moment)
        if leaves:
            return leaves[0], f"adds into .grad of {label}"
    if selection.call is not None:
        call = selection.call.call
        rows = table.until_now("call", call, moment)
        if len(rows):
            return int(table.id[rows[-1]]), f"created by call {call}"
    if not table.started_by(moment):
        return 0, "no node has been created yet"
    if about:
        return about, "this event is about it"
    if run and run.failed:
        stopped = np.flatnonzero(run.codes(moment) == STATES.index("failed"))
        if len(stopped):
            return int(run.nodes[stopped[0]]), "the last pass failed here"
    rows = table.at(moment)
    rows = rows[~autograd.leaf[rows]]
    if len(rows):
        return int(table.id[rows[-1]]), "the newest node"
    return 0, "no node is alive"


def _of_event(history: History, moment: int) -> int:
    """Return the node that an event refers to, or 0."""
    if moment < 0:
        return 0
    node = dict(history.fields(moment)).get("node", 0)
    return node if history.autograd.row(node) >= 0 else 0
