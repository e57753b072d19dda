"""Printer of a graph as Python source, for reading: `fn.code`, in PyTorch's form.

A value with one use, by the next statement, is printed inline if the line stays short and the order
of evaluation stays the same. Constants are always inline; named values keep their names.
"""

from __future__ import annotations

import inspect
import keyword
import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from engine.jit.ir.graph import Value
from engine.jit.nesting import deeply
from engine.jit.python_print.expressions import annotation, constant, expression
from engine.tensor import Tensor

if TYPE_CHECKING:
    from engine.jit.runtime.function import NativeFunction

Data = dict[str, Any]  # a block, node or value of the snapshot: see csrc/jit/ir/snapshot.h
_LONG = 40  # columns, with the indentation: a longer expression gets its own line
_ENDLESS = str(2**63 - 1)  # trip count of a loop without `range`
_RETURN = "return"  # marks the end of a block among the uses of a value


def python_of(function: NativeFunction, name: str) -> str:
    """Prints the graph of `function` as a Python function."""
    return python_with_constants(function, name)[0]


def python_with_constants(function: NativeFunction, name: str) -> tuple[str, dict[str, Tensor]]:
    """Prints the function, and returns the tensors that the source calls CONSTANTS.c0 and so on."""
    graph = function.graph
    with deeply(RuntimeError, f"the code of {name}"):
        writer = PythonPrinter(graph.snapshot()["block"])
        text = writer.function(name, function.signature())
    constants = {f"c{i}": Value(graph, value).toIValue() for value, i in writer.constants.items()}
    return text, constants


class PythonPrinter:
    def __init__(self, block: Data) -> None:
        self.block = block
        self.types: dict[int, str] = {}
        self.made_by: dict[int, Data] = {}
        self.home: dict[int, Data] = {}  # node -> its block
        self.uses: dict[int, list[tuple[Data | str, Data]]] = {}  # value -> (user, its block)
        self._read(block)
        self.inline: set[int] = set()  # nodes
        self._scan(block)
        self.expressions: dict[int, str] = {}  # the text of each inline value
        self.waiting: dict[int, None] = {}  # inline values that are not printed yet, in order
        self.tensors: dict[Any, int] = {}  # constants, in the order of their first use
        self.constants: dict[int, int] = {}  # value -> index of the constant
        self.names: set[str] = set()
        self.numbers: dict[str, int] = {}  # stem -> the next number to try
        self.lines: list[str] = []

    def _read(self, block: Data) -> None:
        self.types.update({param["id"]: param["type"] for param in block["params"]})
        for node in block["nodes"]:
            self.home[node["id"]] = block
            for output in node["outputs"]:
                self.types[output["id"]] = output["type"]
                self.made_by[output["id"]] = node
            for value in node["inputs"]:
                self.uses.setdefault(value, []).append((node, block))
            for inner in _inside(node):
                self._read(inner)
        for value in block["returns"]:
            self.uses.setdefault(value, []).append((_RETURN, block))

    # Choice of the values that are printed inline

    def _scan(self, block: Data) -> None:
        nodes = block["nodes"]
        positions = {node["id"]: i for i, node in enumerate(nodes)}

        def before(i: int) -> int:
            """Returns the index of the last node before `i` that is not a constant; -1."""
            i -= 1
            while i >= 0 and _constant_like(nodes[i]):
                i -= 1
            return i

        def inputs(values: Sequence[int], position: int) -> int:
            """Marks the inputs that are computed right before `position` as inline, starting from
            the last."""
            for value in reversed(values):
                node = self.made_by.get(value)
                if node is None or position < 0 or node["id"] != nodes[position]["id"]:
                    continue
                if self._may_be_inline(node):
                    self.inline.add(node["id"])
                    position = inputs(node["inputs"], before(position))
            return position

        inputs(block["returns"], before(len(nodes)))
        for node in reversed(nodes):
            for inner in _inside(node):
                self._scan(inner)
            if node["id"] not in self.inline:
                inputs(node["inputs"], before(positions[node["id"]]))

    def _may_be_inline(self, node: Data) -> bool:
        if len(node["outputs"]) != 1 or node["kind"] == "prim::isinstance" or _inside(node):
            return False
        (value,) = node["outputs"]
        uses = self.uses.get(value["id"], [])
        if len(uses) != 1 or uses[0][1] is not self.home[node["id"]]:
            return False
        return uses[0][0] is _RETURN or value["name"].isdigit()

    # Names

    def _name(self, value: Data) -> str:
        """Returns x for %x.1, x0 for the next x; _0 for a value without a name."""
        stem = re.sub(r"\W", "_", re.sub(r"\.\d+$", "", value["name"]))
        if not stem or stem[0].isdigit():
            stem = "_"
        elif keyword.iskeyword(stem):
            stem += "_"
        name, number = stem, self.numbers.get(stem, 0)
        while name == "_" or name in self.names:
            name, number = f"{stem}{number}", number + 1
        self.numbers[stem] = number
        self.names.add(name)
        self.expressions[value["id"]] = name
        return name

    def _share(self, values: Sequence[Data], names: Sequence[str]) -> None:
        self.expressions.update(
            {value["id"]: name for value, name in zip(values, names, strict=True)}
        )

    # Statements

    def function(self, name: str, signature: inspect.Signature) -> str:
        """Prints the function; `signature` gives its defaults."""
        parameters: list[str] = []
        for value, python in zip(self.block["params"], signature.parameters.values(), strict=True):
            output = self._name({**value, "name": python.name})
            if value["name"].partition(".")[0] == "self" and not parameters:  # `self`
                parameters.append(output)
                continue
            text = f"{output}: {annotation(value['type'])}"
            if python.default is not inspect.Parameter.empty:
                text += f"={constant(python.default)}"
            parameters.append(text)
        for node in self._constants(self.block, set()):
            self._constant(node)
        self._nodes(self.block, 1)
        self._split(self.block["returns"], 1)
        results = [self._used(value) for value in self.block["returns"]]
        result = results[0] if len(results) == 1 else f"({', '.join(results)})"
        self._say(1, f"return {result}")
        types = [annotation(self.types[value]) for value in self.block["returns"]]
        type = types[0] if len(types) == 1 else f"Tuple[{', '.join(types)}]"
        head = f"def {name}({(',' + chr(10) + '    ').join(parameters)}) -> {type}:"
        return "\n".join([head, *self.lines]) + "\n"

    def _say(self, level: int, text: str) -> None:
        self.lines.append("  " * level + text)

    def _constants(self, block: Data, seen: set[int]) -> Iterator[Data]:
        """Collects all constants, in the order of their first use."""
        for node in block["nodes"]:
            yield from self._constants_of(node["inputs"], seen)
            for inner in _inside(node):
                yield from self._constants(inner, seen)
        yield from self._constants_of(block["returns"], seen)

    def _constants_of(self, values: Sequence[int], seen: set[int]) -> Iterator[Data]:
        for value in values:
            node = self.made_by.get(value)
            if node is not None and _constant_like(node) and node["id"] not in seen:
                seen.add(node["id"])
                yield node

    def _constant(self, node: Data) -> None:
        (value,) = node["outputs"]
        text = expression(node, [], self.types)
        if node["kind"] == "prim::Constant" and annotation(value["type"]) == "Tensor":
            known = text if text != "CONSTANT" else value["id"]  # large ones are unique
            number = self.tensors.setdefault(known, len(self.tensors))
            if number not in self.constants.values():
                self.constants[value["id"]] = number
            text = f"CONSTANTS.c{number}"
        if node["kind"] == "prim::Uninitialized" or len(text) + 2 >= _LONG:
            self._say(1, f"{self._name(value)} = {text}")
        else:
            self.expressions[value["id"]] = text

    def _nodes(self, block: Data, level: int) -> None:
        for node in block["nodes"]:
            if node["kind"] == "prim::If":
                self._if(node, level)
            elif node["kind"] == "prim::Loop":
                self._loop(node, level)
            elif node["kind"] == "prim::fork":
                self._fork(node, level)
            elif not _constant_like(node):
                self._plain(node, level)

    def _plain(self, node: Data, level: int) -> None:
        self._split(node["inputs"], level)
        creators = {value: self.made_by[value] for value in node["inputs"] if value in self.made_by}
        built = {value for value, node in creators.items() if node["kind"] == "prim::ListConstruct"}
        args = [self._used(value) for value in node["inputs"]]
        text = expression(node, args, self.types, built)
        outputs = node["outputs"]
        if node["id"] in self.inline:
            self.expressions[outputs[0]["id"]] = text
            self.waiting[outputs[0]["id"]] = None
        elif not outputs:
            self._say(level, text)
        else:
            names = ", ".join(map(self._name, outputs))
            unpacks = node["kind"] in ("prim::TupleUnpack", "prim::ListUnpack")
            self._say(level, f"{names}{', ' if unpacks else ' '}= {text}")

    def _split(self, values: Sequence[int], level: int) -> None:
        """Prints the values that are too long to be inline, and all pending values before them, so
        that the order of evaluation is kept."""
        long = [
            value
            for value in values
            if value in self.waiting and len(self.expressions[value]) + 2 * level >= _LONG
        ]
        order = {value: position for position, value in enumerate(self.waiting)}
        last = max((order[value] for value in long), default=-1)
        for value in list(self.waiting)[: last + 1]:
            self._line_for(value, level)

    def _line_for(self, value: int, level: int) -> None:
        text = self._used(value)
        named = next(o for o in self.made_by[value]["outputs"] if o["id"] == value)
        self._say(level, f"{self._name(named)} = {text}")

    def _used(self, value: int) -> str:
        """Returns the text of a value and removes it from the pending ones."""
        self.waiting.pop(value, None)
        return self.expressions[value]

    def _assign(self, level: int, names: Sequence[str], values: Sequence[int]) -> None:
        if names:
            operands = ", ".join(map(self._used, values))
            self._say(level, f"{', '.join(names)} = {operands}")

    def _if(self, node: Data, level: int) -> None:
        self._split(node["inputs"], level)
        condition = self._used(node["inputs"][0])
        outputs = node["outputs"]
        names = [self._name(output) for output in outputs]
        for word, block in zip((f"if {condition}:", "else:"), node["blocks"], strict=True):
            self._say(level, word)
            start = len(self.lines)
            self._nodes(block, level + 1)
            self._split(block["returns"], level + 1)
            if len(names) == 1 and self._differs(block["returns"][0], outputs[0]):
                of = annotation(outputs[0]["type"])
                self._assign(level + 1, [f"{names[0]} : {of}"], block["returns"])
            else:
                self._assign(level + 1, names, block["returns"])
            if len(self.lines) == start:
                self._say(level + 1, "pass")

    def _fork(self, node: Data, level: int) -> None:
        """Prints the body of a fork as a nested function."""
        for value in node["inputs"]:
            if value in self.waiting:
                self._line_for(value, level)
        (block,) = _inside(node)
        self._share(block["params"], [self._used(operand) for operand in node["inputs"]])
        function = self._name({"id": -1, "name": "__forked_function"})
        self._say(level, f"def {function}():")
        self._nodes(block, level + 1)
        self._split(block["returns"], level + 1)
        self._say(level + 1, f"return {self._used(block['returns'][0])}")
        self._say(level, f"{self._name(node['outputs'][0])} = fork({function})")

    def _differs(self, value: int, expected: Data) -> bool:
        actual = annotation(self.types[value])
        return actual not in (annotation(expected["type"]), "NoneType")

    def _is_true(self, value: int) -> bool:
        node = self.made_by.get(value)
        return node is not None and _constant_like(node) and self.expressions[value] == "True"

    def _loop(self, node: Data, level: int) -> None:
        count, start, *carried = node["inputs"]
        (block,) = node["blocks"]
        turn, *params = block["params"]
        condition, *returned = block["returns"]
        self._split(node["inputs"], level)
        names = [self._name(output) for output in node["outputs"]]
        self._share(params, names)
        for name, value, output in zip(names, carried, node["outputs"], strict=True):
            differs = annotation(self.types[value]) != annotation(output["type"])
            of = f": {annotation(output['type'])}" if differs else ""
            self._say(level, f"{name}{of} = {self._used(value)}")
        endless = self._used(count) == _ENDLESS
        always = self.expressions[start] == "True" and self._is_true(condition)
        if endless and not always:
            going = self._name({"id": -1, "name": ""})
            self._say(level, f"{going} = {self._used(start)}")
            self._say(level, f"while {going}:")
            names, returned = [going, *names], [condition, *returned]
        else:
            counter = self._name(turn)
            self._say(level, f"for {counter} in range({self.expressions[count]}):")
        body_start = len(self.lines)
        self._nodes(block, level + 1)
        self._split(returned, level + 1)
        self._assign(level + 1, names, returned)
        if not endless and not always:  # created by passes only, never from source
            self._say(level + 1, f"if not {self.expressions[condition]}: break")
        if len(self.lines) == body_start:
            self._say(level + 1, "pass")


def _inside(node: Data) -> list[Data]:
    """Returns the blocks of a node; for a fork the block of its graph."""
    if node["kind"] == "prim::fork":
        return [node["graphs"]["Subgraph"]["block"]]
    blocks: list[Data] = node["blocks"]
    return blocks


def _constant_like(node: Data) -> bool:
    return node["kind"] in ("prim::Constant", "prim::Uninitialized")
