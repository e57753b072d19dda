"""The interpreter's model, from recorded runs: every instruction that ran, and what it left."""

from __future__ import annotations

import itertools

import pytest

from engine.inspect.models import project
from tests.inspect.jit_traces import FAILS, LOOP, recorded
from tests.inspect.selections import select


def at(history, moment, **selected):
    return project("interpreter", history, moment, select(**selected))


def steps_of(history, frame):
    steps = history.jit.tables.steps
    rows = steps.where("frame", frame)
    return [(int(steps.since[row]), int(steps.pc[row])) for row in rows]


def test_each_step_is_one_instruction_and_says_which_comes_next():
    history = recorded(LOOP)
    walked = steps_of(history, 1)
    assert len(walked) > 10
    for (moment, pc), (_, then) in itertools.pairwise(walked):
        model = at(history, moment)
        assert (model.pc, model.next_pc) == (pc, then)
        assert [row.pc for row in model.instructions if row.current] == [pc]
        assert model.function == "looped"


def test_a_loop_runs_its_body_as_often_as_it_says():
    history = recorded(LOOP)
    last = steps_of(history, 1)[-1][0]
    model = at(history, last)
    runs = {row.op: row.runs for row in model.instructions if "aten::relu" in row.text}
    assert list(runs.values()) == [2]


def test_a_frame_that_is_over_tells_its_result():
    history = recorded(LOOP)
    frames = history.jit.tables.frames
    model = at(history, int(frames.until[0]))
    assert model.done
    assert "float32 2×3" in model.result


def test_the_newest_frame_ran_specialised_code_behind_guards():
    history = recorded(LOOP)
    model = at(history, history.end - 1)
    assert any(row.op == "GUARD" for row in model.instructions)
    assert any(note.kind == "guard" and note.good for note in model.notes)
    assert any(note.kind == "fused" for note in model.notes)


def test_a_value_lights_its_instructions():
    history = recorded(LOOP)
    moment, _ = steps_of(history, 1)[5]
    result = next(row for row in at(history, moment).instructions if row.value)
    highlighted = at(history, moment, value=result.value)
    assert result.pc in [row.pc for row in highlighted.instructions if row.highlighted]


def test_an_assertion_that_fails_is_told_where_it_failed():
    history = recorded(FAILS)
    model = at(history, history.end - 1)
    assert model.done
    assert "n must be positive" in model.error


@pytest.mark.parametrize("program", [LOOP, FAILS])
def test_there_is_a_model_at_every_moment(program):
    history = recorded(program)
    for moment in range(0, history.end, 7):
        at(history, moment)


def test_before_the_first_frame_it_says_so():
    assert "comes later" in at(recorded(LOOP), 0).why


BAILS = """
import engine

@engine.jit.script
def f(x):
    return (x * 2).exp()

for _ in range(3):
    f(engine.ones(4))
out = f(engine.ones(4, dtype=engine.float64))
"""


def test_after_a_bail_out_the_other_code_is_shown():
    history = recorded(BAILS)
    (out,) = (int(moment) for moment in history.jit.tables.bail_outs.since)
    frame = int(history.jit.tables.bail_outs.frame[0])
    walked = steps_of(history, frame)
    before = [moment for moment, _ in walked if moment < out]
    gives_up = at(history, before[-1])
    assert [row.op for row in gives_up.instructions if row.current] == ["BAIL_OUT"]
    assert gives_up.next_pc == -1  # it is an instruction of other code
    for step, (moment, pc) in enumerate(walked[len(before) :]):
        model = at(history, moment)
        assert model.code == int(history.jit.tables.bail_outs.to[0]) != gives_up.code
        assert not any(row.op in ("GUARD", "BAIL_OUT") for row in model.instructions)
        assert [row.runs for row in model.instructions[: step + 1]] == [1] * (step + 1)
        assert [row.pc for row in model.instructions if row.current] == [pc]
    assert [note.kind for note in model.notes] == ["guard", "bail-out"]


KINDS = """
import engine

@engine.jit.script
def doubled(x):
    return x * 2 + 1

for _ in range(4):
    doubled(engine.ones(2))
for _ in range(6):
    doubled(engine.ones(2, 2))
"""


def test_after_another_kind_of_input_has_come_often_the_code_begins_with_it():
    jit = recorded(KINDS).jit
    codes = jit.tables.frames.code[-2:].tolist()
    assert codes[0] == codes[1]
    assert jit.code(codes[0]).guards
    last = int(jit.tables.frames.since[-2])
    assert (jit.tables.bail_outs.since < last).sum() >= 2
    assert not (jit.tables.bail_outs.since > last).any()


MANY_KINDS = """
import engine

@engine.jit.script
def doubled(x, unused):
    return x * 2 + 1

for _ in range(4):
    doubled(engine.ones(2), engine.ones(2))
for rank in range(5):
    doubled(engine.ones(2), engine.ones([1] * rank, dtype=engine.int64))
for rank in range(12):
    for _ in range(4):
        doubled(engine.ones([1] * rank), engine.ones(2))
"""


def test_nothing_is_promised_of_what_is_not_used_and_there_is_an_end_to_special_code():
    history = recorded(MANY_KINDS)
    tables = history.jit.tables
    other = int(tables.frames.since[4 + 5])
    assert not (tables.bail_outs.since < other).any()
    assert 2 <= len(tables.specialisations) <= 8
    assert (tables.bail_outs.since > other).any()
