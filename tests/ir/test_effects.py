"""Passes may remove only calls without effects: for every operator, if it draws random numbers or writes."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from engine import ops
from tests.ir.test_passes import parsed

ROOT = Path(__file__).resolve().parents[2]
# Of random.yaml, what computes the same every time.
NOT_RANDOM = {"native_dropout_backward"}
SCHEMAS = sorted(ops.schemas())
RANDOM = {
    name
    for name in re.findall(
        r"^- schema: (\w+)", (ROOT / "csrc/ops/random.yaml").read_text(), flags=re.MULTILINE
    )
    if name not in NOT_RANDOM
} | {"lstm", "gru", "rnn_tanh", "rnn_relu", "scaled_dot_product_attention"}


# Graphs hold PyTorch's numbers of these.
GRAPH_WORDS = {"ScalarType": "int", "ScalarType?": "int?", "MemoryFormat?": "int?"}


def graph_of(name: str) -> str:
    """Return a graph that calls the operator with its inputs and does not use what it gives."""
    schema = ops.schema(name)
    inputs = [GRAPH_WORDS.get(a.type_text, a.type_text) for a in schema.arguments]
    outputs = [result.type_text for result in schema.returns]
    head = ", ".join(f"%i{i}.1 : {kind}" for i, kind in enumerate(inputs))
    result = ", ".join(f"%o{i}.1 : {kind}" for i, kind in enumerate(outputs))
    call = ", ".join(f"%i{i}.1" for i in range(len(inputs)))
    return f"graph({head}):\n  {result} = aten::{name.split('.')[0]}({call})\n  return ()\n"


@pytest.mark.parametrize("name", SCHEMAS)
def test_unused_calls_go_unless_they_do_something(name: str) -> None:
    schema = ops.schema(name)
    writes = schema.written is not None or (name.startswith("_fused_") and name.endswith("_"))
    writes |= name.split(".")[0] in ("batch_norm", "native_batch_norm", "instance_norm")
    stays = writes or name.split(".")[0] in RANDOM or "dropout_p" in schema.text
    with parsed(graph_of(name)) as graph:
        graph.run("dce")
        assert (f"aten::{name.split('.')[0]}(" in graph.text()) == stays, graph.text()
