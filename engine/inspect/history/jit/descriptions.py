"""Descriptions of the JIT's events: names for the numbers in their fields, and details from their
JSON."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from engine._generated.codes import JIT_HOLDERS
from engine.inspect.events import HOLDERS, coded
from engine.inspect.history.jit.holders import holder_words

if TYPE_CHECKING:
    from engine.inspect.history import History

TEXTS = (
    "FUNCTION_NEW",
    "AST",
    "GRAPH",
    "PASS_BEGIN",
    "PASS_END",
    "REWRITE",
    "CODE",
    "BAIL_OUT",
    "SPECIALISE",
    "JIT_WARNING",
)
"""Kinds whose sentence contains names that none of their fields holds as a string."""
_NAMED = ("origin", "phase", "pass", "rule")


def event_words(history: History, kind: str, fields: dict[str, int]) -> dict[str, str]:
    """Return the fields of a JIT event that its sentence replaces by names."""
    if kind in ("FUSED_NEW", "FUSED_RUN"):
        return {"kernel": str(fields["kernel"])}  # a number here, a kernel's name elsewhere
    if kind not in TEXTS:
        return {}
    names = {name: history.string(fields[name]) for name in _NAMED if name in fields}
    if kind == "REWRITE":
        names["index"] = str(fields["index"] + 1)  # recorded from 0, counted from 1 in sentences
    if "function" in fields and kind != "FUNCTION_NEW":
        function = history.jit.function(fields["function"])
        names["function"] = function.name if function else str(fields["function"])
    return names


def holder(history: History, m: int, fields: dict[str, int]) -> dict[str, str]:
    """Return the holder of a tensor, if it belongs to the JIT."""
    kind = coded(HOLDERS, fields["holder_kind"])
    if kind not in JIT_HOLDERS:
        return {}
    first, _, remaining = holder_words(
        history, kind, fields["holder"], fields["position"], m
    ).partition(" ")
    return {"holder_kind": first, "holder": remaining}


def _ended(history: History, m: int, fields: dict[str, int]) -> str:
    row = history.jit.tables.runs.last("id", fields["run"], m)
    if row < 0:
        return ""
    run = history.jit.run_fact(int(row))
    failed = f"; it failed: {' '.join(run.failed.split())}" if run.failed else ""
    return f": {run.name}{failed}"


def _reason(history: History, m: int, fields: dict[str, int]) -> str:
    reason = str(history.jit.json(m).get("reason", ""))
    return f" ({reason})" if reason else ""


def _text(history: History, m: int, fields: dict[str, int]) -> str:
    text = " ".join(history.text(m).split())
    return f": {text}" if text else ""


MORE: dict[str, Callable[[History, int, dict[str, int]], str]] = {
    "PASS_END": _ended,
    "REWRITE": _reason,
    "BAIL_OUT": _text,
    "JIT_WARNING": _text,
}
