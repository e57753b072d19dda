"""ONNXProgram: an exported model, with the IR that it came from."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

import onnx

_LIMIT = (1 << 31) - 1  # maximum bytes of a protobuf message


class NodeOrigin(NamedTuple):
    """A node of the model, with its IR node and source line."""

    name: str
    op_type: str
    ir: str
    source: str
    scope: str


class ONNXProgram:
    """The result of `export`: `model_proto` is the model, `save` writes it, `ir` is its source graph."""

    def __init__(self, model_proto: onnx.ModelProto, ir: str) -> None:
        self.model_proto, self.ir = model_proto, ir

    def origins(self) -> list[NodeOrigin]:
        """Returns every node of the model, those of blocks too, with its origin."""
        return node_origins(self.model_proto)

    def save(self, f: Any) -> None:
        """Writes the model to a path, whose file is replaced when the new one is complete, or to an object with
        `write`.

        Raises: OSError for a path that cannot be written, ValueError for a model of 2 GiB or more.
        """
        if self.model_proto.ByteSize() >= _LIMIT:
            raise ValueError(
                f"onnx.export: the model takes {self.model_proto.ByteSize():,} bytes, and one file of ONNX holds "
                f"at most {_LIMIT:,}"
            )
        data = self.model_proto.SerializeToString()
        if hasattr(f, "write"):
            f.write(data)
            return
        write_whole(Path(os.fspath(f)), data)

    def __repr__(self) -> str:
        graph = self.model_proto.graph
        names = [
            ", ".join(value.name for value in values) for values in (graph.input, graph.output)
        ]
        return f"ONNXProgram({names[0]} -> {names[1]}, {len(graph.node)} nodes)"


def node_origins(model: onnx.ModelProto) -> list[NodeOrigin]:
    """Returns the nodes of a model that `export` wrote, each with its origin ("" for what others added)."""
    origins = []
    graphs = [model.graph]
    while graphs:
        for node in graphs.pop(0).node:
            facts = {entry.key: entry.value for entry in node.metadata_props}
            keys = ("ir_node", "source", "scope")
            origins.append(
                NodeOrigin(node.name, node.op_type, *(facts.get(key, "") for key in keys))
            )
            graphs += [attribute.g for attribute in node.attribute if attribute.HasField("g")]
    return origins


def write_whole(path: Path, data: bytes) -> None:
    """Replaces a file atomically: a reader sees the old bytes or the new ones."""
    handle, temporary = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        mask = os.umask(0)
        os.umask(mask)
        os.chmod(temporary, 0o666 & ~mask)
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise
