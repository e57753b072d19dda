"""Descriptions of the JIT's holders of a tensor: a register of a frame, an attribute, a constant, an
item.

csrc/events/record.h defines `holder` and `position` of TENSOR_RETAIN for each kind of holder.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from engine.inspect.events import FOREVER

if TYPE_CHECKING:
    from engine.inspect.history import History

_REGISTER_BITS = 16
_NAMED = re.compile(r"\((%[^)]+)\)$")


def holder_words(history: History, kind: str, holder: int, index: int, m: int) -> str:
    """Return a description of the holder: "register 3 (%h) of frame 7 (forward)"."""
    if kind == "REGISTER":
        number, pc = index & ((1 << _REGISTER_BITS) - 1), index >> _REGISTER_BITS
        value = _value_in(history, holder, number, pc, m)
        return f"register {number}{value} of {_frame(history, holder, m)}"
    if kind == "OPERAND":
        return f"stack slot {index} of {_frame(history, holder, m)}"
    if kind in ("LIST", "TUPLE"):
        return f"item {index} of a {kind.lower()}"
    if kind == "DICT":
        return f"entry {history.string(index)} of a dict"
    if kind == "OBJECT":
        return history.string(index)
    if kind == "CONSTANT":
        return f"constant{_constant(history, holder, index, m)} of {_graph(history, holder)}"
    if kind == "CODE":
        return f"constant {index} of the code of {_code(history, holder)}"
    if kind == "GROUP":
        return f"constant {index} of fused group {holder}"
    return f"the trace that makes {_graph(history, holder)}"


def _function(history: History, number: int) -> str:
    function = history.jit.function(number) if number else None
    return _short(function.name) if function else ""


def _short(name: str) -> str:
    """Return `Reader.forward` of `__torch__.Reader.forward`."""
    return name.removeprefix("__torch__.")


def _frame(history: History, frame: int, m: int) -> str:
    table = history.jit.tables.frames
    row = table.last("id", frame, m)
    if row < 0:
        return f"frame {frame}"
    name = _function(history, int(table.function[row]))
    if not name:
        code = history.jit.code(_code_in(history, frame, m))
        name = _short(code.name) if code else ""
    return f"frame {frame} ({name})" if name else f"frame {frame}"


def _code_in(history: History, frame: int, m: int) -> int:
    """Return the number of the code that the frame runs, which a bail-out changes."""
    frames, outs = history.jit.tables.frames, history.jit.tables.bail_outs
    ended = outs.last("frame", frame, m)
    if ended >= 0:
        return int(outs.to[ended])
    row = frames.last("id", frame, m)
    return int(frames.code[row]) if row >= 0 else 0


def _value_in(history: History, frame: int, register: int, pc: int, m: int) -> str:
    """Return ` (%h)`: the Value that the instruction at `pc` put there."""
    code = history.jit.code(_code_in(history, frame, m))
    if code is None:
        return ""
    # An instruction that stores several values has no name; the next reader of the register has.
    for instruction in code.instructions[pc:]:
        if instruction["op"] not in ("STORE", "LOAD", "MOVE", "DROPR"):
            continue
        named = _NAMED.search(str(instruction["text"]))
        if int(instruction["x"]) == register:
            return f" ({named[1]})" if named else ""
    return ""


def _graph(history: History, graph: int) -> str:
    """Return `graph 12 (sign_matters)`."""
    name = _name_of_graph(history, graph)
    return f"graph {graph} ({name})" if name else f"graph {graph}"


def _name_of_graph(history: History, graph: int) -> str:
    tables = history.jit.tables
    for table, column in ((tables.graphs, "id"), (tables.runs, "graph"), (tables.codes, "graph")):
        row = table.last(column, graph, FOREVER - 1)
        if row >= 0 and (name := _function(history, int(table.function[row]))):
            return name
    matches = (item.name for item in history.jit.functions(history.end) if item.graph == graph)
    return _short(next(matches, ""))


def _constant(history: History, graph: int, node: int, m: int) -> str:
    """Return ` %c`: the name in the graph, if the graph was recorded."""
    state = history.jit.graph_at(graph, m) or history.jit.graph_at(graph, FOREVER - 1)
    outputs = state.nodes.get(node, {}).get("outputs", ()) if state is not None else ()
    return f" %{outputs[0]['name']}" if outputs else ""


def _code(history: History, number: int) -> str:
    code = history.jit.code(number)
    if code is None:
        return f"code {number}"
    return _function(history, code.function) or code.name or f"code {number}"
