"""Applies recorded edits to the snapshot of a graph, knowing nothing but the JSON of both."""

from __future__ import annotations

import json
from typing import Any

Json = dict[str, Any]


class Replay:
    """A graph as snapshot (csrc/jit/snapshot.h) that edits (Note [Edits] in csrc/jit/graph.h) change."""

    def __init__(self, snapshot: str) -> None:
        self.graph: Json = json.loads(snapshot)
        self.nodes: dict[int, Json] = {}
        self.values: dict[int, Json] = {}
        self.blocks: dict[int, Json] = {}
        self.standing: dict[int, Json] = {}  # a node's number -> the block that it stands in
        self._enter_block(self.graph["block"])

    def _enter_block(self, block: Json) -> None:
        self.blocks[block["id"]] = block
        for value in block["params"]:
            self.values[value["id"]] = value
        # What a param node makes and a return node takes is held by the block.
        self.nodes[block["param"]] = {"outputs": block["params"], "inputs": [], "blocks": []}
        self.nodes[block["return"]] = {"outputs": [], "inputs": block["returns"], "blocks": []}
        for node in block["nodes"]:
            self.nodes[node["id"]] = node
            self.standing[node["id"]] = block
            for value in node["outputs"]:
                self.values[value["id"]] = value
            for inner in node["blocks"]:
                self._enter_block(inner)

    def apply(self, edits: list[list[Any]]) -> None:
        for kind, *fields in edits:
            getattr(self, "_" + kind)(*fields)

    def _create(self, a: int, b: int, c: int, d: int, text: str, words: str) -> None:
        self.nodes[a] = {
            "id": a,
            "kind": text,
            "attributes": {},
            "inputs": [],
            "outputs": [],
            "blocks": [],
            "span": None,
        }

    def _insert(self, a: int, b: int, c: int, *_: Any) -> None:
        block = self.blocks[b]
        ids = [node["id"] for node in block["nodes"]]
        at = len(ids) if c == block["return"] else ids.index(c)
        block["nodes"].insert(at, self.nodes[a])
        self.standing[a] = block

    def _unlink(self, a: int, *_: Any) -> None:
        nodes = self.standing.pop(a)["nodes"]
        nodes.remove(next(node for node in nodes if node["id"] == a))

    def _destroy(self, a: int, *_: Any) -> None:
        node = self.nodes.pop(a)
        left = {key: node[key] for key in ("inputs", "outputs", "blocks") if node[key]}
        assert not left, f"node {a} is destroyed and still has {left}"

    def _set_input(self, a: int, b: int, c: int, *_: Any) -> None:
        assert c in self.values, f"%{c} is used and was never made"
        self.nodes[a]["inputs"][b] = c

    def _insert_input(self, a: int, b: int, c: int, *_: Any) -> None:
        assert c in self.values, f"%{c} is used and was never made"
        self.nodes[a]["inputs"].insert(b, c)

    def _drop_input(self, a: int, b: int, *_: Any) -> None:
        del self.nodes[a]["inputs"][b]

    def _add_output(self, a: int, b: int, c: int, d: int, text: str, words: str) -> None:
        value = {"id": b, "name": words, "type": text, "origins": []}
        self.values[b] = value
        self.nodes[a]["outputs"].append(value)

    def _drop_output(self, a: int, b: int, *_: Any) -> None:
        del self.values[self.nodes[a]["outputs"].pop(b)["id"]]

    def _add_block(self, a: int, b: int, c: int, d: int, *_: Any) -> None:
        block: Json = {"id": b, "param": c, "return": d, "params": [], "nodes": [], "returns": []}
        self._enter_block(block)
        self.nodes[a]["blocks"].append(block)

    def _drop_block(self, a: int, b: int, *_: Any) -> None:
        block = self.nodes[a]["blocks"].pop(b)
        assert not block["nodes"], "a block goes after its nodes"
        del self.blocks[block["id"]], self.nodes[block["param"]], self.nodes[block["return"]]

    def _set_type(self, a: int, b: int, c: int, d: int, text: str, words: str) -> None:
        self.values[a]["type"] = text

    def _set_name(self, a: int, b: int, c: int, d: int, text: str, words: str) -> None:
        self.values[a]["name"] = text

    def _set_attribute(self, a: int, b: int, c: int, d: int, text: str, words: str) -> None:
        # A graph is told as its snapshot, a value as its text.
        if words.startswith('{"graph":'):
            self.nodes[a].setdefault("graphs", {})[text] = json.loads(words)
        else:
            self.nodes[a]["attributes"][text] = words

    def _drop_attribute(self, a: int, b: int, c: int, d: int, text: str, words: str) -> None:
        if self.nodes[a]["attributes"].pop(text, None) is not None:
            return
        graphs = self.nodes[a]["graphs"]
        del graphs[text]
        if not graphs:
            del self.nodes[a]["graphs"]

    def _set_kind(self, a: int, b: int, c: int, d: int, text: str, words: str) -> None:
        self.nodes[a]["kind"] = text
        self.nodes[a].pop("schema", None)
        if words:
            self.nodes[a]["schema"] = words

    def _replaced(self, *_: Any) -> None:
        """Said for the reader: the set_inputs that follow do it."""

    def _origin(self, a: int, b: int, *_: Any) -> None:
        self.values[a]["origins"].append(b)

    def _span(self, a: int, b: int, c: int, d: int, text: str, words: str) -> None:
        self.nodes[a]["span"] = text


def comparable(graph: Json) -> Json:
    """Without spans (edits carry their text only) and lists of nothing."""
    if isinstance(graph, dict):
        return {k: comparable(v) for k, v in graph.items() if k != "span"}
    return [comparable(v) for v in graph] if isinstance(graph, list) else graph
