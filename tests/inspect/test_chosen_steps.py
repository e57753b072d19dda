"""`record --steps` records some iterations, with the tensors that existed before them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import engine
from engine.inspect import live
from engine.inspect.chosen_steps import parse_steps
from engine.inspect.history import History
from engine.inspect.recorder import record
from engine.inspect.trace import TraceReader

RECORD = """
import json, sys
from engine.inspect.recorder import record_program
sys.exit(record_program(sys.argv[3:], sys.argv[1], steps=tuple(json.loads(sys.argv[2]))))
"""
TRAIN = """import engine
w = engine.full((2,), 3.0, requires_grad=True)
v = w.detach().view(2, 1)
optimizer = engine.optim.SGD([w], lr=0.5, momentum=0.9)
for i in range(5):
    optimizer.zero_grad()
    loss = (w * i).sum()
    loss.backward()
    optimizer.step()
print(w.tolist())
"""
COUNTED = """import engine, engine.inspect
for i in range(4):
    x = engine.full((1,), float(i))
    engine.inspect.step()
"""


@pytest.mark.parametrize(
    ("text", "steps"), [("3:5", (3, 5)), ("3:", (3, None)), (":2", (0, 2)), ("4", (4, 5))]
)
def test_steps_are_a_slice(text: str, steps: tuple[int, int | None]) -> None:
    assert parse_steps(text) == steps


@pytest.mark.parametrize("text", ["", "a:b", "5:3", "2:2", "-1:4", "1:2:3"])
def test_other_texts_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"expected .*, got "):
        parse_steps(text)


def recorded(folder: Path, program: str, steps: str) -> tuple[History, str, str]:
    """(history, stdout, stderr) of a program that was recorded so."""
    script, path = folder / "program.py", folder / "trace.uht"
    script.write_text(program)
    command = [sys.executable, "-c", RECORD, str(path), steps, str(script)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=600)
    return History(TraceReader.open(path)), done.stdout, done.stderr


def calls(history: History, name: str) -> int:
    return sum(history.call(int(number)).op == name for number in history.tables.calls.id)  # type: ignore[union-attr]


def test_two_steps_of_an_optimizer(tmp_path: Path) -> None:
    history, output, errors = recorded(tmp_path, TRAIN, "[1, 3]")
    plain = subprocess.run(
        [sys.executable, "-c", TRAIN], capture_output=True, text=True, check=True
    )
    assert (output, errors) == (plain.stdout, "")
    assert calls(history, "sum") == 2
    last = history.end - 2
    by_name = {history.label(tensor.id, last): tensor for tensor in history.tensors_at(last)}
    w = by_name["w"]
    assert {"w", "v", "optimizer.state[0].momentum_buffer"} <= by_name.keys()
    assert by_name["v"].storage == w.storage
    start = int(history.tables.numbers("LINE")[0]) - 1
    assert history.autograd.requires_grad(w.id, start)
    content, known = history.bytes_of(w.storage, start)
    assert known.all()
    assert memoryview(content).cast("f").tolist() == [3.0, 3.0]  # the first gradient was 0
    assert history.owners(w.id, last).object.count >= 1


def test_steps_that_the_program_counts(tmp_path: Path) -> None:
    history, _, _ = recorded(tmp_path, COUNTED, "[2, null]")
    assert calls(history, "full") == 2


def test_the_first_step_begins_with_the_program(tmp_path: Path) -> None:
    history, _, _ = recorded(tmp_path, COUNTED, "[0, 1]")
    assert calls(history, "full") == 1


def test_a_program_with_too_few_steps(tmp_path: Path) -> None:
    _, _, errors = recorded(tmp_path, COUNTED, "[9, 10]")
    assert (
        "nothing was recorded: the program ended 4 steps, and step 9 was to be the first" in errors
    )


def test_a_block_knows_the_tensors_before_it(tmp_path: Path) -> None:
    x = engine.ones(2, 3, requires_grad=True)
    (x * 2).sum().backward()
    view = x.detach()[1]
    view += 1
    counts = [(live.use_count(t), live.storage_use_count(t), live.version(t)) for t in (x, view)]
    with record(tmp_path / "block.uht") as recording:
        view.sum()
    assert counts == [
        (live.use_count(t), live.storage_use_count(t), live.version(t)) for t in (x, view)
    ]
    history = History(TraceReader.open(recording.path))
    last = history.end - 1
    fact, other = (
        history.tensor(live.tensor_id(x), last),
        history.tensor(live.tensor_id(view), last),
    )
    assert fact is not None
    assert other is not None
    assert (fact.sizes, other.sizes, other.offset) == ((2, 3), (3,), 3)
    assert fact.storage == other.storage
    content, known = history.bytes_of(fact.storage, last)
    assert known.all()
    assert memoryview(content).cast("f").tolist() == [1, 1, 1, 2, 2, 2]
    gradient = history.autograd.grad(fact.id, last)
    assert gradient is not None
    assert history.tensor(gradient.grad, last) is not None
    assert history.version(fact.counter, last) == live.version(x)
