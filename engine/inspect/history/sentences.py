"""Say an event in plain words: its kind's sentence with the names that hold at that moment."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import PurePath
from typing import TYPE_CHECKING

from engine.inspect.events import ALLOCATORS, DEVICES, HOLDERS, KEYS, coded, short_op
from engine.inspect.history.arguments import show_argument

if TYPE_CHECKING:
    from engine._generated.event_kinds import Kind
    from engine.inspect.history import History

_MOST_TEXT = 60


def sentence(history: History, m: int, kind: Kind, fields: dict[str, int]) -> str:
    said: dict[str, object] = dict(fields)
    for name, value in fields.items():
        if name in _SAYERS:
            said[name] = _SAYERS[name](history, m, value)
    if "holder" in fields:
        said["holder"] = _holder(history, m, fields["holder_kind"], fields["holder"])
    if "line" in fields:
        said["line"] = place(history, m, fields)
    try:
        text = kind.sentence.format(**said)
    except (KeyError, IndexError, ValueError):
        text = kind.sentence
    more = _MORE.get(kind.name)
    return text + more(history, m, fields) if more else text


def place(history: History, m: int, fields: dict[str, int]) -> str:
    """`train.py:12`."""
    file = fields.get("file", 0)
    if not file and (frame := history.frame(fields.get("frame", 0), m)):
        file = frame.file
    path = history.source(file)[0] if file else ""
    return f"{PurePath(path).name}:{fields['line']}" if path else str(fields["line"])


def tensor_words(history: History, m: int, tensor: int) -> str:
    """`x (#17)`, or `#17` for a tensor without a name."""
    label = history.label(tensor, m)
    return label if label.startswith("#") else f"{label} (#{tensor})"


def short(text: str) -> str:
    """One line, not too long."""
    text = " ".join(text.split())
    return text if len(text) <= _MOST_TEXT else text[: _MOST_TEXT - 3] + "..."


def _holder(history: History, m: int, kind: int, holder: int) -> str:
    if coded(HOLDERS, kind) in ("TENSOR", "WRAPPER"):
        return tensor_words(history, m, holder)
    return str(holder)


def _text(history: History, m: int, value: int) -> str:
    return history.string(value)


def _string_number(history: History, m: int, value: int) -> str:
    return f'{value} ("{short(history.string(value))}")'


_SAYERS: dict[str, Callable[[History, int, int], str]] = {
    "tensor": lambda history, m, value: tensor_words(history, m, value),
    "base": lambda history, m, value: tensor_words(history, m, value),
    "op": lambda history, m, value: short_op(history.string(value)),
    "kernel": _text,
    "function": _text,
    "name": _text,
    "type": _text,
    "file": lambda history, m, value: PurePath(history.source(value)[0]).name or str(value),
    "allocator": lambda history, m, value: coded(ALLOCATORS, value),
    "device": lambda history, m, value: coded(DEVICES, value),
    "holder_kind": lambda history, m, value: coded(HOLDERS, value).lower(),
    "key": lambda history, m, value: coded(KEYS, value),
    "id": _string_number,
}


def _called_with(history: History, m: int, fields: dict[str, int]) -> str:
    call = history.call(fields["call"])
    if call is None:
        return ""
    said = (show_argument(argument, lambda t: history.label(t, m)) for argument in call.args)
    return f": {call.op}({', '.join(said)})"


def _returned(history: History, m: int, fields: dict[str, int]) -> str:
    call = history.call(fields["call"])
    if call is None:
        return ""
    results = ", ".join(tensor_words(history, m, tensor) for tensor in call.results if tensor)
    return f" from {call.op}" + (f" with {results}" if results else "")


def _by(history: History, m: int, fields: dict[str, int]) -> str:
    call = history.call(fields["call"])
    return f" by {call.op}" if call else " from outside the engine"


def _bound_to(history: History, m: int, fields: dict[str, int]) -> str:
    if fields["tensor"]:
        return f" to tensor #{fields['tensor']}"
    text = short(history.text(m))
    return f" to {text}" if text else ""


def _its_text(history: History, m: int, fields: dict[str, int]) -> str:
    text = short(history.text(m))
    return f": {text}" if text else ""


def _raised(history: History, m: int, fields: dict[str, int]) -> str:
    return f": {history.string(fields['type'])}{_its_text(history, m, fields)}"


_MORE: dict[str, Callable[[History, int, dict[str, int]], str]] = {
    "OP_ENTER": _called_with,
    "OP_EXIT": _returned,
    "WRITE": _by,
    "NAME_BIND": _bound_to,
    "ERROR": _its_text,
    "MARK": _its_text,
    "OUTPUT": _its_text,
    "EXCEPTION": _raised,
}
