"""What the texts of the JIT's events have to look like, so that whoever reads one need not ask.

A trace can be damaged, or made by somebody. A text of another form counts as one that was not kept:
`Jit.json` gives {} for it, and the views say what is missing.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

_PLACE = re.compile(r"\d+:\d+:\d+:\d+", re.ASCII)
Json = dict[str, Any]
Form = Callable[[Any], bool]

EDITS = frozenset(
    (
        *("create", "insert", "unlink", "destroy", "add_block", "drop_block", "set_kind", "span"),
        *("set_input", "insert_input", "drop_input", "add_output", "drop_output"),
        *("set_type", "set_name", "set_attribute", "drop_attribute", "replaced", "origin"),
    )
)
"""The kinds of edits of Note [Edits] in csrc/jit/ir/graph.h."""


def read(text: str, form: Form) -> Json:
    """The JSON of a text; {} where it is none, or of another form."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) and fits(found, form) else {}


def fits(found: Any, form: Form) -> bool:
    """Whether it is of the form. Forms look for what they need: what is not there does not fit."""
    try:
        return form(found)
    except (KeyError, TypeError, ValueError, IndexError, AttributeError, RecursionError):
        return False


def graph_in(words: str) -> Json:
    """The graph that an attribute holds; {} for an attribute of another sort."""
    return read(words, graph) if words.startswith('{"graph":') else {}


# ---- graphs and edits: there are many, so each is one expression


def graph(found: Any) -> bool:
    """A snapshot."""
    return type(found["graph"]) is int and type(found["name"]) is str and _block(found["block"])


def _block(found: Any) -> bool:
    return (
        type(found["id"]) is int
        and type(found["param"]) is int
        and type(found["return"]) is int
        and type(found["returns"]) is list
        and type(found["params"]) is list
        and type(found["nodes"]) is list
        and all(type(one) is int for one in found["returns"])
        and all(map(_value, found["params"]))
        and all(map(_node, found["nodes"]))
    )


def _value(found: Any) -> bool:
    return (
        type(found["id"]) is int
        and type(found["name"]) is str
        and type(found["type"]) is str
        and type(found["origins"]) is list
        and all(type(one) is int for one in found["origins"])
    )


def _node(found: Any) -> bool:
    return (
        type(found["id"]) is int
        and type(found["kind"]) is str
        and type(found["inputs"]) is list
        and type(found["outputs"]) is list
        and type(found["blocks"]) is list
        and all(type(one) is int for one in found["inputs"])
        and all(map(_value, found["outputs"]))
        and all(map(_block, found["blocks"]))
        and all(type(text) is str for text in found["attributes"].values())
        and type(found.get("schema", "")) is str
        and all(map(graph, found.get("graphs", {}).values()))
        and _span(found["span"])
    )


def _span(found: Any) -> bool:
    """file, line, column and where it ends; None: it has no place."""
    if found is None:
        return True
    return (
        type(found) is list
        and len(found) == 5
        and type(found[0]) is str
        and all(type(one) is int for one in found[1:])
    )


def _edit(found: Any) -> bool:
    kind, a, b, c, d, text, words = found
    return (
        kind in EDITS
        and type(a) is type(b) is type(c) is type(d) is int
        and type(text) is type(words) is str
        and (kind != "span" or not text or _PLACE.fullmatch(words) is not None)
    )


# ---- the rest


def number(found: Any) -> bool:
    return type(found) is int


def text(found: Any) -> bool:
    return type(found) is str


def flag(found: Any) -> bool:
    return type(found) is bool


def each(form: Form) -> Form:
    """A list of things of a form."""
    return lambda found: type(found) is list and all(map(form, found))


def record(known: dict[str, Form], **needed: Form) -> Form:
    """`needed` has to be there, `known` may be."""

    def form(found: Any) -> bool:
        return (
            type(found) is dict
            and all(one(found[name]) for name, one in needed.items())
            and all(one(found[name]) for name, one in known.items() if name in found)
        )

    return form


def _token(found: Any) -> bool:
    """kind, text, and a place without a file."""
    return type(found[0]) is str and _span(found[1:]) and len(found) == 6


def _syntax(found: Any) -> bool:
    """A node of a syntax tree, or what one of its fields holds."""
    if isinstance(found, list):
        return all(map(_syntax, found))
    if not isinstance(found, dict):
        return True
    span = found.get("span")
    placed = span is None or (each(number)(span) and len(span) == 4)
    return placed and all(_syntax(one) for name, one in found.items() if name != "span")


def _tree(found: Any) -> bool:
    """Of a kernel: a leaf, a step with its operands, or a step that is told elsewhere."""
    if "step" not in found:
        return text(found["leaf"])
    whole = "op" not in found or (text(found["op"]) and each(_tree)(found["operands"]))
    return number(found["step"]) and whole


def _kernel(found: Any) -> bool:
    """A fused program: every step that its trees name is there, and is told once with its operands."""
    told, named = set(), set()
    rest = [output["tree"] for output in found["outputs"]]
    while rest:
        one = rest.pop()
        if "step" in one:
            named.add(one["step"])
        if "op" in one:
            told.add(one["step"])
            rest += one["operands"]
    return named == told and all(0 <= step < len(found["steps"]) for step in told)


_HELD = record({"tensor": number, "text": text, "type": text})
"""A value as the interpreter tells it."""


def _registers(found: Any) -> bool:
    """Numbers with what is there; None: it was emptied."""
    numbered = all(name.isascii() and name.isdecimal() for name in found)
    return numbered and all(one is None or _HELD(one) for one in found.values())


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
"""Anything that has names."""

_PROGRAM = record(
    {
        "inputs": each(record({}, dtype=text, zero_dim=flag, used=flag)),
        "registers": lambda found: type(found) is list,
        "launch": record({"l1_bytes": number, "gathered": number, "ns": number}),
        "read_bytes": number, "written_bytes": number, "eager_bytes": number,
    },
    steps=each(_STEP), units=each(_UNIT), outputs=each(_OUTPUT),
)  # fmt: skip

FORMS: dict[str, Form] = {
    "FUNCTION_NEW": record({"first_line": number, "source": text, "graph": number}),
    "SYNTAX": record({"tokens": each(_token), "tree": _syntax}),
    "GRAPH": graph,
    "REWRITE": record({"reason": text, "file": text, "nodes": each(number)}, edits=each(_edit)),
    "CODE": record(
        {"constants": each(text), "guards": each(ANY)},
        name=text,
        registers=number,
        instructions=each(_INSTRUCTION),
    ),
    "JIT_FRAME": record({"inputs": each(_HELD)}),
    "JIT_FRAME_END": record({"outputs": each(_HELD), "error": text}),
    "JIT_STEP": record({"registers": _registers, "stack": each(_HELD)}),
    "FUSED_NEW": lambda found: _PROGRAM(found) and _kernel(found),
}
