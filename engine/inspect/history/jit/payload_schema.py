"""The schema of the JIT's event payloads, so that their readers need no checks.

A trace can be damaged or forged. A payload that does not fit its schema counts as missing:
`Jit.json` returns {} for it, and the views show what is missing.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

from engine._generated.codes import EDITS

_PLACE = re.compile(r"\d+:\d+:\d+:\d+", re.ASCII)
Json = dict[str, Any]
Form = Callable[[Any], bool]


def read(text: str, form: Form) -> Json:
    """Return the JSON of a payload; {} if it is invalid or of another form."""
    try:
        payload = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return payload if isinstance(payload, dict) and fits(payload, form) else {}


def fits(payload: Any, form: Form) -> bool:
    """Return whether a payload has the form. A form reads the fields that it requires; a payload without one
    does not match."""
    try:
        return form(payload)
    except (KeyError, TypeError, ValueError, IndexError, AttributeError, RecursionError):
        return False


def graph_in(attribute: str) -> Json:
    """Return the graph in an attribute; {} for an attribute of another kind."""
    return read(attribute, graph) if attribute.startswith('{"graph":') else {}


# ---- graphs and edits: there are many, so each is one expression


def graph(payload: Any) -> bool:
    """Return a snapshot."""
    return (
        type(payload["graph"]) is int and type(payload["name"]) is str and _block(payload["block"])
    )


def _block(payload: Any) -> bool:
    return (
        type(payload["id"]) is int
        and type(payload["param"]) is int
        and type(payload["return"]) is int
        and type(payload["returns"]) is list
        and type(payload["params"]) is list
        and type(payload["nodes"]) is list
        and all(type(item) is int for item in payload["returns"])
        and all(map(_value, payload["params"]))
        and all(map(_node, payload["nodes"]))
    )


def _value(payload: Any) -> bool:
    return (
        type(payload["id"]) is int
        and type(payload["name"]) is str
        and type(payload["type"]) is str
        and type(payload["origins"]) is list
        and all(type(item) is int for item in payload["origins"])
    )


def _node(payload: Any) -> bool:
    return (
        type(payload["id"]) is int
        and type(payload["kind"]) is str
        and type(payload["inputs"]) is list
        and type(payload["outputs"]) is list
        and type(payload["blocks"]) is list
        and all(type(item) is int for item in payload["inputs"])
        and all(map(_value, payload["outputs"]))
        and all(map(_block, payload["blocks"]))
        and all(type(text) is str for text in payload["attributes"].values())
        and type(payload.get("schema", "")) is str
        and type(payload.get("scope", "")) is str
        and all(map(graph, payload.get("graphs", {}).values()))
        and _span(payload["span"])
    )


def _span(payload: Any) -> bool:
    """Check file, line, column and end; None: no source range."""
    if payload is None:
        return True
    return (
        type(payload) is list
        and len(payload) == 5
        and type(payload[0]) is str
        and all(type(item) is int for item in payload[1:])
    )


def _edit(payload: Any) -> bool:
    kind, a, b, c, d, text, attribute = payload
    return (
        kind in EDITS
        and type(a) is type(b) is type(c) is type(d) is int
        and type(text) is type(attribute) is str
        and (kind != "span" or not text or _PLACE.fullmatch(attribute) is not None)
    )


# ---- the rest


def number(payload: Any) -> bool:
    return type(payload) is int


def text(payload: Any) -> bool:
    return type(payload) is str


def flag(payload: Any) -> bool:
    return type(payload) is bool


def each(form: Form) -> Form:
    """Return the form of a list whose items have a form."""
    return lambda payload: type(payload) is list and all(map(form, payload))


def record(known: dict[str, Form], **needed: Form) -> Form:
    """Check an object: `needed` keys are required, `known` ones optional."""

    def form(payload: Any) -> bool:
        return (
            type(payload) is dict
            and all(item(payload[name]) for name, item in needed.items())
            and all(item(payload[name]) for name, item in known.items() if name in payload)
        )

    return form


def _token(payload: Any) -> bool:
    """Check kind, text, and a range without a file."""
    return type(payload[0]) is str and _span(payload[1:]) and len(payload) == 6


def _syntax(payload: Any) -> bool:
    """Check a node of a syntax tree, or the value of one of its fields."""
    if isinstance(payload, list):
        return all(map(_syntax, payload))
    if not isinstance(payload, dict):
        return True
    span = payload.get("span")
    placed = span is None or (each(number)(span) and len(span) == 4)
    return placed and all(_syntax(item) for name, item in payload.items() if name != "span")


def _tree(payload: Any) -> bool:
    """Check the tree of a kernel: a leaf, a step with its operands, or a step defined elsewhere."""
    if "step" not in payload:
        return text(payload["leaf"])
    complete = "op" not in payload or (text(payload["op"]) and each(_tree)(payload["operands"]))
    return number(payload["step"]) and complete


def _kernel(payload: Any) -> bool:
    """Check a fused program: every step that its trees name exists, once with its operands."""
    steps, named = set(), set()
    remaining = [output["tree"] for output in payload["outputs"]]
    while remaining:
        item = remaining.pop()
        if "step" in item:
            named.add(item["step"])
        if "op" in item:
            steps.add(item["step"])
            remaining += item["operands"]
    return named == steps and all(0 <= step < len(payload["steps"]) for step in steps)


_VALUE = record({"tensor": number, "text": text, "type": text})
"""A value as the interpreter records it."""


def _registers(payload: Any) -> bool:
    """Check registers by number; None: the register was emptied."""
    numbered = all(name.isascii() and name.isdecimal() for name in payload)
    return numbered and all(item is None or _VALUE(item) for item in payload.values())


_STEP = record(
    {}, unit=number, op=text, computes=text, dtype=text, operands=each(text), parameters=each(text),
    to=text, expr=text,
)  # fmt: skip
_OUTPUT = record({"reduce": text, "dims": number}, dtype=text, tree=_tree)
_UNIT = record({"code_bytes": number}, kind=text, reads=each(text), writes=each(text))
_INSTRUCTION = record(
    {}, text=text, op=text, x=number, n=number, node=number, value=number, span=_span
)
ANY = record({})
"""Any JSON object."""

_PROGRAM = record(
    {
        "inputs": each(record({}, dtype=text, zero_dim=flag, used=flag)),
        "registers": lambda payload: type(payload) is list,
        "launch": record({"l1_bytes": number, "gathered": number, "ns": number}),
        "read_bytes": number, "written_bytes": number, "eager_bytes": number,
    },
    steps=each(_STEP), units=each(_UNIT), outputs=each(_OUTPUT),
)  # fmt: skip

FORMS: dict[str, Form] = {
    "FUNCTION_NEW": record({"first_line": number, "source": text, "graph": number}),
    "AST": record({"tokens": each(_token), "tree": _syntax}),
    "GRAPH": graph,
    "REWRITE": record({"reason": text, "file": text, "nodes": each(number)}, edits=each(_edit)),
    "CODE": record(
        {"constants": each(text), "guards": each(ANY)},
        name=text,
        registers=number,
        instructions=each(_INSTRUCTION),
    ),
    "JIT_FRAME": record({"inputs": each(_VALUE)}),
    "JIT_FRAME_END": record({"outputs": each(_VALUE), "error": text}),
    "JIT_STEP": record({"registers": _registers, "stack": each(_VALUE)}),
    "FUSED_NEW": lambda payload: _PROGRAM(payload) and _kernel(payload),
}
