"""Additions of autograd's events to the sentence of their kind."""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import TYPE_CHECKING

from engine._generated.codes import (
    ACCUMULATE,
    ACCUMULATE_MODES,
    CREATE_GRAPH,
    GRADIENT_HOOKS,
    HOOKS,
    KEEP_GRAPH,
)
from engine._generated.event_kinds import KINDS
from engine.inspect.events import HOLDERS, coded

if TYPE_CHECKING:
    from engine.inspect.history import History

Fields = dict[str, int]

NODES = ("node", "next")
"""Fields that hold a node."""
GRADIENTS = ("incoming", "grad", "sum", "before", "after")
"""Fields that hold a tensor, or 0: None."""


def hook_name(kind: int) -> str:
    return HOOKS[kind] if 0 <= kind < len(HOOKS) else HOOKS[0]


def accumulation_mode(mode: int) -> str:
    return ACCUMULATE_MODES[mode] if 0 <= mode < len(ACCUMULATE_MODES) else ""


def reworded(kind: str, template: str, fields: Fields) -> str:
    """Return the kind's sentence, reworded if a 0 or a 1 has a special meaning."""
    if kind == "NODE_NEW" and not fields["call"]:
        return template.replace(" for call {call}", "")
    if kind == "EDGE" and not fields["next"]:
        return "edge {index} of node {node} leads nowhere: that argument needs no gradient"
    if kind == "GRAD_FN" and not fields["node"]:
        return "tensor {tensor} has no grad_fn any more"
    if kind == "DEPENDENCY" and fields["count"] == 1:
        return template.replace("gradients", "gradient")
    if kind == "BACKWARD_END" and fields["nodes"] == 1:
        return template.replace(" nodes", " node")
    if kind == "ARRIVE" and not fields["tensor"]:
        return template.replace("gradient {tensor}", "None")
    if kind == "GRAD_SET" and not fields["grad"]:
        return template.replace("now tensor", "now")
    if kind == "HOOK":
        return template.replace("a hook", "a " + hook_name(fields["kind"]))
    return template


def holder(history: History, m: int, fields: Fields) -> dict[str, object]:
    """Return the holder of a tensor, if it belongs to autograd."""
    kind, number = coded(HOLDERS, fields["holder_kind"]), fields["holder"]
    if kind == "GRAD":
        return {"holder_kind": ".grad of", "holder": history.label(number, m)}
    if kind in ("SAVED", "BUFFER"):
        role = "the saved tensors of node" if kind == "SAVED" else "the input buffer of node"
        return {"holder_kind": role, "holder": history.autograd.describe_node(number, m)}
    return {}


def owner(history: History, m: int, fields: Fields) -> object:
    """Return the owner of a hook; for a tensor's hook its grad_fn, or the leaf."""
    if fields["kind"] not in GRADIENT_HOOKS:
        return f"node {history.autograd.describe_node(fields['owner'], m)}"
    table = history.autograd.tables.hooks
    node = int(table.node[table.started_by(m) - 1])
    return f"node {history.autograd.describe_node(node or fields['owner'], m)}"


def _call(history: History, m: int, fields: Fields) -> str:
    call = history.call(fields["call"]) if fields["call"] else None
    return f": {call.op}" if call else ""


def _roots(history: History, m: int, fields: Fields) -> str:
    blob = history.trace.blob(m)
    numbers = [word for (word,) in struct.iter_unpack("<q", blob[: len(blob) & ~7])]
    nodes = ", ".join(history.autograd.describe_node(node, m) for node in numbers[::3])
    flags = fields["flags"]
    named = f" at node {nodes}" if nodes else ""
    named += " and keeps the graph" if flags & KEEP_GRAPH else ""
    named += " and builds a graph of itself" if flags & CREATE_GRAPH else ""
    named += "" if flags & ACCUMULATE else "; the gradients are returned"
    return named + (f"; it runs inside of pass {fields['outer']}" if fields["outer"] else "")


def _failed(history: History, m: int, fields: Fields) -> str:
    return " with an error" if fields["failed"] else ""


def _unneeded(history: History, m: int, fields: Fields) -> str:
    return "" if fields["needed"] else ", but no requested gradient needs it"


def _gradients(history: History, m: int, fields: Fields) -> str:
    """Return the gradients that entered or left a node."""
    blob = history.trace.blob(m)
    numbers = [word for (word,) in struct.iter_unpack("<q", blob[: len(blob) & ~7])]
    if not numbers:
        return ""
    return " with " + ", ".join(history.label(word, m) if word else "None" for word in numbers)


def _accumulation(history: History, m: int, fields: Fields) -> str:
    word = accumulation_mode(fields["mode"])
    return f": {word}" if word else ""


def _writer(history: History, m: int, fields: Fields) -> str:
    """Return the operator and the line that wrote a saved tensor."""
    for saved in history.autograd.saved_by(fields["node"], m):
        if saved.slot != fields["slot"]:
            continue
        for write in history.autograd.writes_after(saved, m):
            call = history.call(write.call) if write.call else None
            if call is not None:
                return f" by {call.op}" + (f" on line {call.line}" if call.line else "")
    return ""


MORE: dict[str, Callable[[History, int, Fields], str]] = {
    "NODE_NEW": _call,
    "BACKWARD_BEGIN": _roots,
    "BACKWARD_END": _failed,
    "DEPENDENCY": _unneeded,
    "NODE_ENTER": _gradients,
    "NODE_EXIT": _gradients,
    "ACCUMULATE": _accumulation,
    "STALE": _writer,
}
"""The text after the sentence of a kind."""

_HOLDERS = " .grad of the saved tensors of node the input buffer accumulategrad backward "
ADDED = {
    "TENSOR_RETAIN": _HOLDERS,
    "TENSOR_RELEASE": _HOLDERS,
    **{kind.name: " of " for kind in KINDS.values() if set(NODES) & set(kind.fields)},
    "EDGE": " of nowhere that argument needs no gradient ",
    "GRAD_FN": " of has no grad_fn any more ",
    "BACKWARD_END": " with an error ",
    "DEPENDENCY": " of gradient but no requested gradient needs it ",
    "ARRIVE": " of none ",
    "ACCUMULATE": " none " + " ".join(ACCUMULATE_MODES),
    "GRAD_SET": " none ",
}
"""The words that these can add to a kind's own sentence."""

TEXTS = ("BACKWARD_BEGIN", "NODE_ENTER", "NODE_EXIT", "STALE", "NODE_NEW", "HOOK")
"""Kinds whose sentence may contain names that none of their fields holds."""
