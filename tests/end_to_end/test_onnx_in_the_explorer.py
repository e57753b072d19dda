"""A recorded export: the JIT view steps from the IR to the nodes of the model, each with its line."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("onnx", reason="the package onnx is not installed")

PROGRAM = """
import engine


@engine.jit.script
def halves(x, n: int):
    for _ in range(n):
        if bool(x.sum() > 1):
            x = x / 2
    return engine.nn.functional.linear(x, engine.eye(3))


program = engine.onnx.export(halves, (engine.ones(3, 3), 4))
"""


def underhood(*arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "tui", *arguments], capture_output=True, text=True, check=True
    )
    return done.stdout


def test_an_export_is_a_pass_of_the_recorded_graph(tmp_path: Path) -> None:
    script, trace = tmp_path / "program.py", tmp_path / "program.uht"
    script.write_text(PROGRAM)
    underhood("record", "-o", str(trace), str(script))
    at_end = underhood("show", str(trace), "--view", "jit", "--at", "end", "--json")
    assert '"onnx"' in at_end
    for text in (
        "prim::Loop -> Loop",
        "aten::linear -> Gemm",
        "onnx::Loop",
        "onnx::If",
        "onnx::Div",
    ):
        assert text in at_end, text
    assert f"{script}:7" in at_end  # the loop's line is the reason of its rewrite
