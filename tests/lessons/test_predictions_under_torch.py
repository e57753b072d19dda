"""The answers that lessons expect are PyTorch's too: same code, same answer."""

from __future__ import annotations

import sys
import warnings
from pathlib import Path
from typing import Any

import pytest

from lessons._runner import child
from lessons._runner.lesson import Step
from lessons._runner.loader import load_all

torch = pytest.importorskip("torch")

# What only this engine can be asked: its inspection, where its methods come from, which block its pool
# gives, versions of saved tensors, passes, instructions, its files, builds and extension libraries.
OURS = (
    ".__code__",
    '"Source:"',
    "z.data_ptr() == address",
    "from_address(address)",
    "engine.inspect",
    "_raw_saved_self.versions",
    "saved.versions",
    "run_pass",
    "register_pass",
    "FusionGroup",
    ".instructions(",
    ".safetensors",
    "data[:length]",
    "forged",
    "cpp_extension",
    "sparse_conv",
)
STEPS = [
    pytest.param(step, id=f"{lesson.number}-{step.name}")
    for lesson in load_all()
    for step in lesson.steps
    if step.predict is not None and not any(word in step.code for word in OURS)
]


def answer(step: Step, engine: Any, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The step's answer where `import engine` gives `engine`.

    The code is in a file, where `jit.script` looks for the source that it compiles.
    """
    assert step.predict is not None
    monkeypatch.setitem(sys.modules, "engine", engine)
    for name in ("autograd", "nn", "optim"):
        monkeypatch.setitem(sys.modules, f"engine.{name}", getattr(engine, name))
    names: dict[str, Any] = {
        "__name__": "__main__",
        "nodes_behind": child.nodes_behind,
        "engine": engine,
    }
    program = folder / f"{step.name}.py"
    program.write_text(step.code, encoding="utf-8")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # TracerWarnings are what some steps are about
        exec(compile(step.code, str(program), "exec"), names)
    return child.encode(child.evaluate(step.predict.answer, names))["value"]


@pytest.mark.parametrize("step", STEPS)
def test_the_answer_is_pytorchs(
    step: Step, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import engine

    ours = answer(step, engine, tmp_path, monkeypatch)
    assert ours == answer(step, torch, tmp_path, monkeypatch)


def test_most_predictions_are_compared() -> None:
    assert len(STEPS) > 110
