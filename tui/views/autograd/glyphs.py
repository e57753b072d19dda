"""The symbols of the autograd view: the state of a node or group, and of a wire."""

from __future__ import annotations

from dataclasses import dataclass

from engine.inspect.models.autograd import STATES, Autograd, BufferSlot, NodeBox
from tui.render import Glyphs
from tui.views.autograd.fold import NODE, Folded

_STYLES = {
    "": "text",
    "waiting": "waits",
    "partly": "waits",
    "ready": "ready",
    "running": "current",
    "done": "done",
    "skipped": "dim",
    "failed": "error",
    "captured": "done",
}
_URGENT = ("failed", "running", "ready", "partly", "waiting", "done", "captured", "skipped", "")


@dataclass(frozen=True, slots=True)
class StateGlyph:
    """A state as it is drawn: symbol and number, the styles of text and frame, and a description."""

    text: str
    style: str
    frame: str
    description: str
    exists: bool = True  # False: not created yet
    stale: bool = False


NOT_YET = StateGlyph("", "dim", "frame", "not created yet", False)


def node_glyph(box: NodeBox, glyphs: Glyphs, run: bool) -> StateGlyph:
    """Return the state of one node."""
    text, description = _of_state(box, glyphs, run)
    style = _STYLES[box.state]
    frame = "frame" if style in ("text", "dim") else "done" if style == "done" else style
    if not box.alive:
        description = f"{description}; freed since" if box.state == "done" else "freed"
        text = glyphs.ghost + (str(box.order) if box.order else "")
        style = frame = "dim"
    if box.stale:
        style = frame = "error"
    frame = {"current": "ready", "error": "error"}.get(frame, frame)
    return StateGlyph(text, style, frame, description, True, box.stale)


def _of_state(box: NodeBox, glyphs: Glyphs, run: bool) -> tuple[str, str]:
    left, all_ = box.waits_for, box.dependencies
    if box.state == "waiting":
        return f"{glyphs.waits}{left}", f"waits for {_gradients(left)}"
    if box.state == "partly":
        return f"{glyphs.partly}{left}", f"waits for {left} more of {_gradients(all_)}"
    if box.state == "ready":
        return (
            f"{glyphs.ready}{box.queue_position + 1}",
            f"ready, number {box.queue_position + 1} in the queue",
        )
    if box.state == "running":
        return f"{glyphs.current}{box.order or ''}", "runs now"
    if box.state == "done":
        return f"{glyphs.done}{box.order or ''}", f"ran as number {box.order} of the pass"
    if box.state == "skipped":
        return glyphs.skipped, "reached, but need not run: inputs= requests no gradient after it"
    if box.state == "captured":
        return glyphs.mark, "autograd.grad() returns its gradient; it does not run"
    if box.state == "failed":
        return f"{glyphs.fail}{box.order or ''}", "the pass failed here"
    return "", "not reached by this pass" if run else "no backward pass has reached it yet"


def _gradients(count: int) -> str:
    return f"{count} gradient" + ("" if count == 1 else "s")


def group_glyph(model: Autograd, folded: Folded, number: int, glyphs: Glyphs) -> StateGlyph:
    """Return the state of a group: the most urgent state of its nodes, and how many have run."""
    import numpy as np

    nodes, ids = model.nodes, folded.ids[number]
    rows = np.minimum(np.searchsorted(nodes.ids, ids), max(0, len(nodes.ids) - 1))
    exist = nodes.ids[rows] == ids if len(nodes.ids) else np.zeros(len(ids), bool)
    if not exist.any():
        return NOT_YET
    rows = rows[exist]
    counts = np.bincount(nodes.codes[rows], minlength=len(STATES)).tolist()
    by_state = dict(zip(STATES, counts, strict=True))
    state = next(name for name in _URGENT if by_state[name])
    alive = int(nodes.alive[rows].sum())
    glyph = {
        "failed": glyphs.fail,
        "running": glyphs.current,
        "ready": glyphs.ready,
        "partly": glyphs.partly,
        "waiting": glyphs.waits,
        "done": glyphs.done,
        "skipped": glyphs.skipped,
        "captured": glyphs.mark,
        "": "",
    }[state]
    ran, all_ = by_state["done"], len(ids)
    text = f"{glyph}{ran}/{all_}" if by_state[""] < len(rows) else ""
    description = f"{all_} nodes, {len(rows)} created, {alive} alive, {ran} have run"
    style = _STYLES[state]
    stale = bool(np.isin(np.array(model.stale, dtype=np.int64), ids).any())
    if not alive:
        text, style = glyphs.ghost, "dim"
    if stale:
        style = "error"
    frame = {"current": "ready", "text": "frame", "dim": "frame"}.get(style, style)
    return StateGlyph(text, style, frame, description, True, stale)


def item_glyph(model: Autograd, folded: Folded, number: int, glyphs: Glyphs) -> StateGlyph:
    """Return the state of an item, be it a node or a group."""
    item = folded.items[number]
    if item.key[1] != NODE:
        return group_glyph(model, folded, number, glyphs)
    box = model.nodes.of(item.key[0])
    return NOT_YET if box is None else node_glyph(box, glyphs, model.run is not None)


def slot_glyph(slot: BufferSlot, glyphs: Glyphs) -> str:
    """Return the content of an input buffer as one symbol."""
    return {
        "not yet": glyphs.dot,
        "none": glyphs.none,
        "zero": "0",
        "one": glyphs.single,
        "sum": glyphs.sum,
    }[slot.state]


def slot_style(slot: BufferSlot) -> str:
    return {"not yet": "dim", "none": "type", "zero": "number"}.get(slot.state, "done")


def buffer_text(box: NodeBox, glyphs: Glyphs) -> str:
    """Return the buffers of a node: a symbol per input; of several gradients, how many have arrived and are
    expected."""
    if len(box.inputs) > 2:
        return "".join(slot_glyph(slot, glyphs) for slot in box.inputs[:6])
    return " ".join(
        slot_glyph(slot, glyphs) + (f" {slot.arrived}/{slot.expected}" if slot.expected > 1 else "")
        for slot in box.inputs
    )


def wire_glyph(
    model: Autograd, folded: Folded, edge: int, state: StateGlyph, glyphs: Glyphs
) -> tuple[str, str]:
    """Return (symbol, style) of the end of a wire: has a gradient come along it, and was it None? `state` is
    the symbol of the item that it leaves."""
    node_index, number = folded.edges[edge]
    head = folded.heads[edge]
    if folded.items[head].key[1] != NODE:
        return (glyphs.came, "done") if state.style == "done" else (glyphs.to_come, "wire")
    box = model.nodes.of(folded.part.nodes[node_index].id)
    if box is None or number >= len(box.sent):
        return glyphs.to_come, "wire"
    return (glyphs.came, "done") if box.sent.tensors[number] else (glyphs.none, "type")
