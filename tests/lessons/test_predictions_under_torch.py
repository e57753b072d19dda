"""What lessons 13 to 20 let the learner predict is so in PyTorch as well: same code, same answer."""

from __future__ import annotations

import sys
from typing import Any

import pytest

from lessons._runner import child
from lessons._runner.lesson import Step
from lessons._runner.loader import load_all

torch = pytest.importorskip("torch")

# What only this engine can be asked: its own inspection, versions of saved tensors.
OURS = ("engine.inspect", "_raw_saved_self.versions", "saved.versions")
STEPS = [
    pytest.param(step, id=f"{lesson.number}-{step.name}")
    for lesson in load_all()
    if lesson.number >= 13
    for step in lesson.steps
    if step.predict is not None and not any(word in step.code for word in OURS)
]


def answer(step: Step, engine: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The step's answer where `import engine` gives `engine`."""
    assert step.predict is not None
    monkeypatch.setitem(sys.modules, "engine", engine)
    for name in ("autograd", "nn", "optim"):
        monkeypatch.setitem(sys.modules, f"engine.{name}", getattr(engine, name))
    names: dict[str, Any] = {"nodes_behind": child.nodes_behind, "engine": engine}
    exec(compile(step.code, step.name, "exec"), names)
    return child.encode(child.evaluate(step.predict.answer, names))["value"]


@pytest.mark.parametrize("step", STEPS)
def test_the_answer_is_pytorchs(step: Step, monkeypatch: pytest.MonkeyPatch) -> None:
    import engine

    assert answer(step, engine, monkeypatch) == answer(step, torch, monkeypatch)


def test_most_predictions_are_compared() -> None:
    assert len(STEPS) > 35
