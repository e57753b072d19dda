"""Format an event as a sentence: its kind's template with the names of that moment."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import PurePath
from string import Formatter
from typing import TYPE_CHECKING

from engine.inspect.events import ALLOCATORS, HOLDERS, KEYS, coded, device_name, short_op
from engine.inspect.history.arguments import show_argument
from engine.inspect.history.autograd import descriptions as autograd_descriptions
from engine.inspect.history.autograd.descriptions import GRADIENTS, NODES, reworded
from engine.inspect.history.jit import descriptions as jit_descriptions
from engine.inspect.history.paths import parameter_path

if TYPE_CHECKING:
    from engine._generated.event_kinds import Kind
    from engine.inspect.history import History

_MAX_TEXT = 60
Spelled = Callable[["History", int, int], str]


def sentence(history: History, m: int, kind: Kind, fields: dict[str, int]) -> str:
    template = _template(history, kind, fields)
    used = _used(template)
    named = {field: say(history, m, field, fields[field]) for field in used if field in fields}
    if "holder" in used:
        named["holder"] = _holder(history, m, fields["holder_kind"], fields["holder"])
        if "tensor" in fields:
            named |= autograd_descriptions.holder(history, m, fields)
            named |= jit_descriptions.holder(history, m, fields)
    if "line" in used:
        named["line"] = location(history, m, fields)
    if "owner" in used:
        named["owner"] = autograd_descriptions.owner(history, m, fields)
    if kind.name == "NODE_NEW":
        named["node"] = fields["node"]
    named |= jit_descriptions.event_words(history, kind.name, fields)
    try:
        text = template.format(**named)
    except (KeyError, IndexError, ValueError):
        text = kind.sentence
    more = _MORE.get(kind.name)
    return text + more(history, m, fields) if more else text


def _template(history: History, kind: Kind, fields: dict[str, int]) -> str:
    """Return the kind's template, in the variant for this event."""
    template = reworded(kind.name, kind.sentence, fields)
    if kind.name == "OP_ENTER" and history.of_compiler(fields["call"]):
        return template.replace("was called", "was called by the compiler")
    if kind.name == "WRITE" and not fields["tensor"]:
        return template.replace(" through tensor {tensor}", "")
    if kind.name == "GRAPH" and history.string(fields["phase"]) == "as it came":
        return "the first graph of function {function} is graph {graph}: {nodes} nodes"
    if fields.get("changes") == 1:
        return template.replace("rewrites", "rewrite")
    if fields.get("refcount") == 1:
        return template.replace("references", "reference")
    return template


@cache
def _used(template: str) -> tuple[str, ...]:
    """Return the fields that a template uses."""
    return tuple(dict.fromkeys(name for _, name, _, _ in Formatter().parse(template) if name))


def location(history: History, m: int, fields: dict[str, int]) -> str:
    """Return `train.py:12`."""
    file = fields.get("file", 0)
    if not file and (frame := history.frame(fields.get("frame", 0), m)):
        file = frame.file
    path = history.source(file)[0] if file else ""
    return f"{PurePath(path).name}:{fields['line']}" if path else str(fields["line"])


def tensor_words(history: History, m: int, tensor: int) -> str:
    """Return `x (#17)`, or `#17` for a tensor without a name."""
    label = history.label(tensor, m)
    return label if label.startswith("#") else f"{label} (#{tensor})"


def short(text: str) -> str:
    """Return one line, not too long."""
    text = " ".join(text.split())
    return text if len(text) <= _MAX_TEXT else text[: _MAX_TEXT - 3] + "..."


_TENSORS = ("TENSOR", "WRAPPER", "SPARSE")  # holders that are tensors


def _holder(history: History, m: int, kind: int, holder: int) -> str:
    name = coded(HOLDERS, kind)
    return tensor_words(history, m, holder) if name in _TENSORS else str(holder)


CODES: dict[str, Callable[[int], str]] = {
    "allocator": lambda code: coded(ALLOCATORS, code),
    "device": device_name,
    "holder_kind": lambda code: coded(HOLDERS, code).lower(),
    "key": lambda code: coded(KEYS, code),
    "stream": lambda code: coded(("stdin", "stdout", "stderr"), code),
}
"""Fields that hold a code, and how it is spelled."""

TENSORS = ("tensor", "base", "first", "second", "third", *GRADIENTS)
STRINGS = ("op", "kernel", "loop", "isa", "function", "name", "type", "file", "id")
TEXTS = (
    "ERROR",
    "MARK",
    "REGION",
    "OUTPUT",
    "EXCEPTION",
    *autograd_descriptions.TEXTS,
    *jit_descriptions.TEXTS,
)
"""Kinds whose sentence ends with their own text, or contains names that none of their fields holds."""


def say(history: History, m: int, field: str, value: int) -> object:
    """Format a field for a sentence."""
    spelled = _SPELLED.get(field)
    return value if spelled is None else spelled(history, m, value)


def _gradient(history: History, m: int, tensor: int) -> str:
    return tensor_words(history, m, tensor) if tensor else "None"


def _code(name: Callable[[int], str]) -> Spelled:
    return lambda history, m, code: name(code)


def _string(history: History, m: int, number: int) -> str:
    return history.string(number)


_SPELLED: dict[str, Spelled] = {
    **dict.fromkeys(STRINGS, _string),
    **dict.fromkeys(TENSORS, tensor_words),
    **dict.fromkeys(GRADIENTS, _gradient),
    **dict.fromkeys(NODES, lambda history, m, node: history.autograd.describe_node(node, m)),
    **{field: _code(name) for field, name in CODES.items()},
    "op": lambda history, m, op: short_op(history.string(op)),
    "name": lambda history, m, number: parameter_path(history.string(number)),
    "file": lambda history, m, file: PurePath(history.source(file)[0]).name or str(file),
    "id": lambda history, m, number: f'{number} ("{short(history.string(number))}")',
}
"""How a field is spelled in a sentence; the others are numbers."""


def _its_code(history: History, m: int, fields: dict[str, int]) -> str:
    code = short(history.line_text(fields["file"], fields["line"]))
    return f": {code}" if code else ""


def _described(history: History, m: int, fields: dict[str, int]) -> str:
    fact = history.tensor(fields["tensor"], m)
    if fact is None:
        return ""
    return f": {fact.dtype} {fact.sizes}, strides {fact.strides}, offset {fact.offset}"


def _called_with(history: History, m: int, fields: dict[str, int]) -> str:
    call = history.call(fields["call"])
    if call is None:
        return ""
    named = (show_argument(argument, lambda t: history.label(t, m)) for argument in call.args)
    return f": {call.op}({', '.join(named)})"


def _returned(history: History, m: int, fields: dict[str, int]) -> str:
    call = history.call(fields["call"])
    if call is None:
        return ""
    results = ", ".join(tensor_words(history, m, tensor) for tensor in call.results if tensor)
    return f" from {call.op}" + (f" with {results}" if results else "")


def _by(history: History, m: int, fields: dict[str, int]) -> str:
    if not fields["tensor"]:
        return " from outside the engine"
    call = history.call(fields["call"])
    return f" by {call.op}" if call else " as it was made"


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
    "LINE": _its_code,
    "TENSOR_NEW": _described,
    "TENSOR_META": _described,
    "OP_ENTER": _called_with,
    "OP_EXIT": _returned,
    "WRITE": _by,
    "NAME_BIND": _bound_to,
    "ERROR": _its_text,
    "MARK": _its_text,
    "REGION": _its_text,
    "OUTPUT": _its_text,
    "EXCEPTION": _raised,
    **autograd_descriptions.MORE,
    **jit_descriptions.MORE,
}

ADDED = {
    "TENSOR_NEW": " strides offset ",
    "TENSOR_META": " strides offset ",
    "OP_ENTER": " by the compiler ",
    "OP_EXIT": " from with ",
    "WRITE": " by from outside the engine as it was made ",
    "NAME_BIND": " to tensor ",
    **autograd_descriptions.ADDED,
}
"""The words that _MORE can add to a kind's own sentence."""
