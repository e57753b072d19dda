"""A graph as Python source again: `fn.code`, for reading.

Constants, and what is used once by the statement that follows, are written where they are used.
"""

from __future__ import annotations

import keyword
import re
from typing import Any

from engine._native import lib
from engine.jit.graph import Graph, text_of

_INFIX = {
    "aten::__and__": "&", "aten::__or__": "|", "aten::__xor__": "^", "aten::lt": "<",
    "aten::gt": ">", "aten::le": "<=", "aten::ge": ">=", "aten::eq": "==", "aten::ne": "!=",
    "aten::__is__": "is", "aten::__isnot__": "is not", "aten::floordiv": "//",
}  # fmt: skip
_WORDS = {"aten::__not__": "not {}", "aten::neg": "-{}", "aten::len": "len({})"}
_CASTS = {
    "aten::Bool": "bool", "aten::Int": "int", "aten::Float": "float", "aten::str": "str",
    "prim::Print": "print",
}  # fmt: skip


def python_of(graph: Graph, name: str) -> str:
    """The source of a function that does what the graph does."""
    return _Writer(graph.snapshot()).function(name)


def _annotation(type: str) -> str:
    return text_of(lib.uh_type_annotation(type.encode()))


class _Writer:
    def __init__(self, snapshot: dict[str, Any]) -> None:
        self.block = snapshot["block"]
        self.names: dict[int, str] = {}
        self.taken: set[str] = set()
        self.uses: dict[int, int] = {}
        self.types: dict[int, str] = {}
        self._count(self.block)
        self.lines: list[str] = []

    def _count(self, block: dict[str, Any]) -> None:
        self.types.update({one["id"]: one["type"] for one in block["params"]})
        for node in block["nodes"]:
            self.types.update({one["id"]: one["type"] for one in node["outputs"]})
            for value in node["inputs"]:
                self.uses[value] = self.uses.get(value, 0) + 1
            for inner in node["blocks"]:
                self._count(inner)
        for value in block["returns"]:
            self.uses[value] = self.uses.get(value, 0) + 1

    # Names

    def _name(self, value: dict[str, Any]) -> str:
        """x for %x.1, x0 for the next x; _0 for what has only a number."""
        stem = re.sub(r"\W", "_", re.sub(r"\.\d+$", "", value["name"]))
        if not stem or stem[0].isdigit():
            stem = "_"
        if keyword.iskeyword(stem):
            stem += "_"
        name, number = (stem, 0) if stem != "_" else ("_0", 1)
        while name in self.taken:
            name, number = f"{stem}{number}", number + 1
        self.taken.add(name)
        self.names[value["id"]] = name
        return name

    def _of(self, value: int) -> str:
        return self.names[value]

    # Writing

    def function(self, name: str) -> str:
        parameters = []
        for value in self.block["params"]:
            declared = f": {_annotation(value['type'])}"
            shown = self._name(value)
            is_self = shown == "self" and value["type"].startswith("__torch__.")
            parameters.append(shown if is_self else shown + declared)
        self._body(self.block, 1)
        results = [self._of(value) for value in self.block["returns"]]
        returned = results[0] if len(results) == 1 else f"({', '.join(results)})"
        self._say(1, f"return {returned}")
        types = [_annotation(self.types[value]) for value in self.block["returns"]]
        result = types[0] if len(types) == 1 else f"Tuple[{', '.join(types)}]"
        head = f"def {name}({(',' + chr(10) + '    ').join(parameters)}) -> {result}:"
        return "\n".join([head, *self.lines]) + "\n"

    def _say(self, depth: int, text: str) -> None:
        self.lines.append("  " * depth + text)

    def _body(self, block: dict[str, Any], depth: int) -> None:
        nodes = block["nodes"]
        for i, node in enumerate(nodes):
            follower = nodes[i + 1]["inputs"] if i + 1 < len(nodes) else block["returns"]
            self._node(node, depth, follower)

    def _node(self, node: dict[str, Any], depth: int, follower: list[int]) -> None:
        kind = node["kind"]
        if kind == "prim::If":
            self._branches(node, depth)
        elif kind == "prim::Loop":
            self._loop(node, depth)
        else:
            text = self._expression(node)
            outputs = node["outputs"]
            if kind == "prim::Constant":
                self.names[outputs[0]["id"]] = text
            elif not outputs:
                self._say(depth, text)
            elif len(outputs) == 1 and self._goes_along(node, outputs[0], follower):
                self.names[outputs[0]["id"]] = f"({text})" if " " in text.split("(")[0] else text
            else:
                self._say(depth, f"{', '.join(map(self._name, outputs))} = {text}")

    def _goes_along(self, node: dict[str, Any], value: dict[str, Any], follower: list[int]) -> bool:
        """Used once, by what comes next, and without a name of its own."""
        plain = value["name"].isdigit() and self.uses.get(value["id"]) == 1
        return plain and value["id"] in follower and not node["kind"].endswith("_")

    def _branches(self, node: dict[str, Any], depth: int) -> None:
        names = [self._name(value) for value in node["outputs"]]
        first = len(self.lines)
        for word, block in zip(
            (f"if {self._of(node['inputs'][0])}:", "else:"), node["blocks"], strict=True
        ):
            self._say(depth, word)
            before = len(self.lines)
            self._body(block, depth + 1)
            for name, value in zip(names, block["returns"], strict=True):
                self._say(depth + 1, f"{name} = {self._of(value)}")
            if len(self.lines) == before:
                self._say(depth + 1, "pass")
        assert len(self.lines) > first

    def _loop(self, node: dict[str, Any], depth: int) -> None:
        count, start, *carried = node["inputs"]
        (block,) = node["blocks"]
        names = [self._name(value) for value in node["outputs"]]
        for name, value in zip(names, carried, strict=True):
            self._say(depth, f"{name} = {self._of(value)}")
        turn, *params = block["params"]
        condition, *returned = block["returns"]
        for name, value in zip(names, params, strict=True):
            self.names[value["id"]] = name
        endless = self._of(count) == str(2**63 - 1)
        counter = self._name(turn)
        if endless:
            going = self._name({"id": node["id"], "name": "going"})
            self._say(depth, f"{going} = {self._of(start)}")
            self._say(depth, f"while {going}:")
        else:
            self._say(depth, f"for {counter} in range({self._of(count)}):")
        self._body(block, depth + 1)
        news = [self._of(value) for value in returned]
        if names:
            self._say(depth + 1, f"{', '.join(names)} = {', '.join(news)}")
        if endless:
            self._say(depth + 1, f"{going} = {self._of(condition)}")
        elif self._of(condition) != "True":
            self._say(depth + 1, f"if not {self._of(condition)}: break")
        elif not names and not block["nodes"]:
            self._say(depth + 1, "pass")

    def _expression(self, node: dict[str, Any]) -> str:
        kind, args = node["kind"], [self._of(value) for value in node["inputs"]]
        attributes = node["attributes"]
        match kind:
            case "prim::Constant":
                return _constant(attributes, node["outputs"][0]["type"])
            case "prim::ListConstruct":
                return f"[{', '.join(args)}]"
            case "prim::TupleConstruct":
                return f"({', '.join(args)}{',' if len(args) == 1 else ''})"
            case "prim::DictConstruct":
                pairs = zip(args[::2], args[1::2], strict=True)
                return "{" + ", ".join(f"{k}: {v}" for k, v in pairs) + "}"
            case "prim::ListUnpack" | "prim::TupleUnpack":
                return args[0]
            case "prim::TupleIndex" | "aten::__getitem__":
                return f"{args[0]}[{args[1]}]"
            case "aten::_set_item":
                return f"{args[0]}[{args[1]}] = {args[2]}"
            case "prim::GetAttr":
                return f"{args[0]}.{attributes['name'].strip(chr(34))}"
            case "prim::SetAttr":
                return f"{args[0]}.{attributes['name'].strip(chr(34))} = {args[1]}"
            case "prim::CallFunction":
                return f"{args[0]}({', '.join(args[1:])})"
            case "prim::CallMethod":
                method = attributes["name"].strip('"')
                return f"{args[0]}.{method}({', '.join(args[1:])})"
            case "prim::RaiseException":
                return f"ops.prim.RaiseException({args[0]})"
            case "prim::unchecked_cast":
                return f"unchecked_cast({_annotation(node['outputs'][0]['type'])}, {args[0]})"
        if kind in _INFIX and len(args) == 2 and not _tensors(node):
            return f"{args[0]} {_INFIX[kind]} {args[1]}"
        if kind in _WORDS and not _tensors(node):
            return _WORDS[kind].format(*args)
        if kind in _CASTS:
            return f"{_CASTS[kind]}({', '.join(args)})"
        space, _, name = kind.partition("::")
        where = "torch" if space == "aten" else f"ops.{space}"
        return f"{where}.{name}({', '.join(args)})"


def _tensors(node: dict[str, Any]) -> bool:
    return any("Tensor" in value["type"] or "(" in value["type"] for value in node["outputs"])


def _constant(attributes: dict[str, str], type: str) -> str:
    if "name" in attributes:
        return attributes["name"].strip('"')
    text = attributes.get("value", "None")
    if type == "bool":
        return str(text == "1")
    if type == "Device":
        return f"torch.device({text})"
    if type == "float" and text in ("inf", "-inf", "nan"):
        return f'float("{text}")'
    return "CONSTANT" if text.startswith("<") else text
