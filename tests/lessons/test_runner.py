"""One learner, one lesson: predictions graded, the exercise judged by state, nothing typed lost."""

from __future__ import annotations

from pathlib import Path

import pytest

from lessons._runner import LessonError, Progress, Runner
from lessons._runner.loader import load

RUN, PREDICT, THEN, EXERCISE_STEP = 1, 3, 4, 6


@pytest.fixture
def runner(sample, tmp_path: Path) -> Runner:
    progress = Progress.load(tmp_path / "mine" / "progress.json")
    return Runner(load("1", sample.write()), progress, folder=tmp_path / "mine" / "01_first")


def test_a_prediction_is_graded_against_what_the_code_leaves_behind(runner: Runner) -> None:
    verdict = runner.grade(PREDICT, "2")
    assert (verdict.ok, verdict.message, verdict.answer) == (True, "a is 2.", "2")
    assert runner.grade(THEN, "3").ok


def test_other_right_answers_and_wrong_ones_with_their_message(runner: Runner) -> None:
    assert runner.grade(PREDICT, "Two").ok
    assert runner.grade(PREDICT, "3").message == "Not 3, less."
    assert runner.grade(PREDICT, "3").answer == ""
    assert "disagrees with 7" in runner.grade(PREDICT, "7").message
    assert "single number" in runner.grade(PREDICT, "many").message


def test_giving_up_tells_the_answer_and_does_not_count(runner: Runner) -> None:
    assert runner.reveal(PREDICT).answer == "2"
    assert runner.progress is not None
    assert not runner.progress.is_done(runner.lesson, PREDICT)


def test_what_was_typed_survives_a_restart(runner: Runner) -> None:
    runner.grade(PREDICT, "7")
    runner.grade(THEN, "3")
    assert runner.progress is not None
    again = Progress.load(runner.progress.path)
    assert again.step("01_first", "how-long").typed == "7"
    assert not again.is_done(runner.lesson, PREDICT)
    assert again.is_done(runner.lesson, THEN)


def test_the_exercise_is_judged_by_its_goal(runner: Runner) -> None:
    path = runner.start_exercise()
    assert runner.check_exercise(path).message == "y is None, not 3."
    path.write_text("z = 3")
    assert "has no name `y`" in runner.check_exercise(path).message
    path.write_text("y = int('three')")
    assert runner.check_exercise(path).message.startswith("line 1: `y = int('three')`: ValueError")
    path.write_text("y = 2 + 1")
    assert runner.check_exercise(path).ok
    assert runner.progress is not None
    assert runner.progress.is_done(runner.lesson, EXERCISE_STEP)


ASKS_A_FUNCTION = (
    ('check = "y == 3"', 'check = "y() == 3"'),
    ("y is {y}, not 3.", "y() is {y()}, not 3."),
)


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("y = 3", "(`y() == 3` says: TypeError: 'int' object is not callable)"),
        ("def y():\n    return three", "(line 2: `return three`: NameError: name 'three'"),
        ("z = 3", "Your program has no name `y` at its end"),
    ],
)
def test_a_check_that_fails_says_where(sample, tmp_path: Path, code: str, message: str) -> None:
    runner = Runner(load("1", sample.write(*ASKS_A_FUNCTION)), folder=tmp_path / "mine")
    runner.start_exercise().write_text(code)
    assert message in runner.check_exercise().message


def test_a_long_check_is_not_shown(sample, tmp_path: Path) -> None:
    long = (ASKS_A_FUNCTION[0][0], f'check = "y() == 3 == {" == ".join("3" * 40)}"')
    runner = Runner(load("1", sample.write(long)), folder=tmp_path / "mine")
    runner.start_exercise().write_text("y = 3")
    message = runner.check_exercise().message
    assert message == "y is 3, not 3. (TypeError: 'int' object is not callable)"


def test_starting_again_never_overwrites_work(runner: Runner) -> None:
    runner.start_exercise().write_text("y = 30")
    assert runner.start_exercise().read_text() == "y = 30"


def test_reset_keeps_what_was_typed_beside_the_starter(runner: Runner) -> None:
    assert runner.reset() is None
    saved = []
    for work in ("y = 30", "y = 31"):
        runner.start_exercise().write_text(work)
        saved.append(runner.reset())
    assert runner.exercise_path().read_text() == (runner.lesson.folder / "exercise.py").read_text()
    assert [path.read_text() for path in saved if path] == ["y = 30", "y = 31"]


def test_hints_come_in_order_and_the_last_one_stays(runner: Runner) -> None:
    hints = [runner.hint(EXERCISE_STEP, n) for n in (0, 1, 2)]
    assert hints == ["Look at y.", "y = 3", "y = 3"]
    assert runner.hint(PREDICT, 0) == ""


def test_a_step_without_code_says_so(runner: Runner) -> None:
    with pytest.raises(LessonError, match=r"step 1 \(text\) has no code to run"):
        runner.run_step(0)
    with pytest.raises(LessonError, match=r"step 2 \(run\) asks no question"):
        runner.grade(RUN, "1")


def test_a_block_runs_recorded(runner: Runner) -> None:
    result = runner.run_step(RUN)
    assert result.error == ""
    assert result.trace_path is not None
    assert result.trace_path.stat().st_size > 0
    assert runner.progress is not None
    assert runner.progress.is_done(runner.lesson, RUN)


def test_a_run_that_never_ends_is_stopped_and_what_it_did_can_be_looked_at(runner: Runner) -> None:
    runner.start_exercise().write_text(
        "import engine\nx = engine.zeros(3)\nwhile True:\n    pass\n"
    )
    impatient = Runner(runner.lesson, folder=runner.folder, time_limit=1.5)
    result = impatient.run_step(EXERCISE_STEP)
    assert "Still running at line" in result.error
    assert result.trace_path is not None
    from engine.inspect import History, TraceReader

    history = History(TraceReader.open(result.trace_path))
    assert "x" in [name.name for name in history.names_at(history.end - 1)]
