"""The page that `e` opens: a description of this event, its call, the documentation of the operator."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from engine.inspect.history import History
    from tui.navigator import Navigator


def explanation(nav: Navigator) -> str:
    """Return a short text (the Markdown that `prose` reads) about the navigator's moment."""
    history, moment = nav.history, nav.moment
    event = history.event(moment)
    parts = [f"# {event.sentence}", ""]
    line = nav.line()
    if line is not None:
        text = history.source(line.file)[1].splitlines()
        code = text[line.line - 1].strip() if 0 < line.line <= len(text) else ""
        parts += [f"While line {line.line} of `{line.path}` ran:", "", f"```\n{code}\n```", ""]
    call = running_call(history, moment)
    if call is not None:
        parts += describe_call(history, call, moment)
    if event.fields:
        parts += ["", "# The event's own fields", ""]
        parts += [
            f"- `{name}` {field(history, moment, name, value)}" for name, value in event.fields
        ]
    return "\n".join(parts)


def field(history: History, moment: int, name: str, value: int) -> str:
    """Return a field as it was recorded and, where that is a number for something, what it stands for."""
    from engine.inspect.history.sentences import say

    written = f"{value:#x}" if name == "address" else f"{value:,}"
    means = say(history, moment, name, value) if value else value
    return written if means == value else f"{written}: {means}"


def running_call(history: History, moment: int) -> Any | None:
    """Return the innermost call that runs at the moment, or the one this event ended."""
    running = history.calls_at(moment)
    if running:
        return running[-1]
    fields = dict(history.event(moment).fields)
    return history.call(fields["call"]) if fields.get("call") else None


def describe_call(history: History, call: Any, moment: int) -> list[str]:
    """Return the call with its real arguments, and the operator's own documentation."""
    lines = [f"# Operator {call.op}", "", f"`{call.schema}`", ""]
    for argument in call.args:
        value = argument.value
        if argument.kind == "tensor":
            value = history.label(value, moment)
        elif argument.kind == "tensors":
            value = ", ".join(history.label(each, moment) for each in value)
        lines.append(f"- `{argument.name}` = {value}")
    if call.results:
        lines.append(
            "- returned " + ", ".join(history.label(each, moment) for each in call.results)
        )
    if call.error:
        lines.append(f"- failed: {call.error}")
    documentation = operator_doc(call.op)
    return [*lines, "", documentation] if documentation else lines


def operator_doc(name: str) -> str:
    """Return the docstring of the engine's function or method of that name."""
    try:
        import engine
    except ImportError:  # a trace can be viewed without the engine
        return ""
    function = getattr(engine, name, None) or getattr(getattr(engine, "Tensor", None), name, None)
    return inspect.getdoc(function) or "" if callable(function) else ""
