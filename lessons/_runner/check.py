"""`underhood lessons check`: runs every lesson and checks that it does what it says.

In each lesson every block runs, and each prediction has an answer that differs from the typical wrong
ones. Every look points at something that exists. The starter of the exercise fails; the solution and at
least two other programs pass; at least three typical wrong programs are rejected with the message meant
for them. No file is unused.
"""

from __future__ import annotations

import argparse
import string
import tempfile
import textwrap
import tomllib
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from engine.inspect.models import VIEWS
from lessons._runner import grading
from lessons._runner.lesson import Lesson, LessonError, Step
from lessons._runner.loader import FILES, LESSONS, load, load_all
from lessons._runner.look_target import resolve_look
from lessons._runner.runner import Runner, RunResult

MIN_PREDICTIONS = 3
MIN_ACCEPTED = 2
MIN_REJECTED = 3
MAX_LINES = 6  # of a reply
COLUMNS = 100


def main(argv: list[str] | None = None) -> int:
    """Checks the lessons named in `argv` (all, if none); prints what is wrong; 0 if nothing is."""
    parser = argparse.ArgumentParser(prog="underhood lessons check", description=__doc__)
    parser.add_argument("lesson", nargs="*", help="names or numbers of lessons; all if left out")
    names = parser.parse_args(argv).lesson
    known = facts()
    try:
        lessons = [load(name) for name in names] if names else load_all()
    except LessonError as error:
        print(f"PROBLEM {error}")
        return 1
    problems = 0
    with ThreadPoolExecutor(max_workers=2) as pool:
        for lesson, problems_of_lesson in zip(
            lessons, pool.map(check_lesson, lessons), strict=True
        ):
            unknown = [fact for fact in lesson.covers if fact not in known]
            problems_of_lesson += [f"covers {fact!r}, which facts.toml lacks" for fact in unknown]
            problems += len(problems_of_lesson)
            print(
                f"{'ok     ' if not problems_of_lesson else 'PROBLEM'} {lesson.name}: {lesson.title}"
            )
            for problem in problems_of_lesson:
                print(f"        {problem}")
    if not names:
        print(uncovered(known, lessons))
    return 1 if problems else 0


def facts(root: Path = LESSONS) -> dict[str, str]:
    """Return each fact in one line by its id, in the order of `facts.toml`."""
    groups = tomllib.loads((root / "facts.toml").read_text(encoding="utf-8"))
    return {name: text for group in groups.values() for name, text in group.items()}


def uncovered(known: dict[str, str], lessons: list[Lesson]) -> str:
    """Return the facts that no lesson covers yet, as text to print."""
    taught = {fact for lesson in lessons for fact in lesson.covers}
    missing = [name for name in known if name not in taught]
    lines = [f"{len(known) - len(missing)} of {len(known)} facts are taught."]
    if missing:
        lines.append("No lesson covers yet:")
        lines += [f"  {name:4} {known[name]}" for name in missing]
    return "\n".join(lines)


def check_lesson(lesson: Lesson, choose: Callable[[list[Any]], list[Any]] = list) -> list[str]:
    """Return descriptions of all problems of one lesson.

    `choose` gets the numbered right answers of an exercise, then its wrong ones, and returns those to try.
    """
    with tempfile.TemporaryDirectory(prefix="underhood-check-") as folder:
        runner = Runner(lesson, folder=Path(folder))
        problems = list(check_files(lesson.folder))
        predictions = sum(step.kind == "predict" for step in lesson.steps)
        if predictions < MIN_PREDICTIONS:
            problems.append(f"has {predictions} predictions of at least {MIN_PREDICTIONS}")
        runs: dict[str, RunResult] = {}
        for i, step in enumerate(lesson.steps):
            label = f"step {i + 1} ({step.title!r})"
            problems += [
                f"{label}: {problem}" for problem in check_step(runner, i, step, runs, choose)
            ]
        return problems


def check_files(folder: Path) -> Iterator[str]:
    """Yield the files that belong to no lesson."""
    for path in sorted(folder.iterdir()):
        if path.name not in FILES and path.name != "__pycache__":
            yield f"{path.name} is a stray file: a lesson has {', '.join(FILES)}"


def check_step(
    runner: Runner,
    i: int,
    step: Step,
    runs: dict[str, RunResult],
    choose: Callable[[list[Any]], list[Any]],
) -> Iterator[str]:
    """Yield the problems of one step of any kind. `runs` are the recorded runs so far, by their code."""
    if not step.text:
        yield "has no text"
    for text in strings_of(step):
        yield from check_fields(text)
    if any(not hint.strip() for hint in step.hints):
        yield "has an empty hint"
    if step.kind == "run":
        result = runs[step.code] = runner.run_step(i)
        if result.error:
            yield f"its code fails: {result.error}"
        elif result.trace_path is None:
            yield "its run was not recorded"
    elif step.kind == "look":
        yield from check_look(runs.get(step.code) or runner.run_step(i), step)
    elif step.kind == "predict":
        yield from check_predict(runner, step)
    elif step.kind == "exercise":
        yield from check_exercise(runner, step, choose)


def strings_of(step: Step) -> list[str]:
    """Return the strings of a step that contain values."""
    strings = [goal.message for goal in step.exercise.goals] if step.exercise else []
    if step.predict:
        strings += [step.predict.why, *(wrong.message for wrong in step.predict.wrong)]
    return strings


def check_fields(text: str) -> Iterator[str]:
    """Yield each `{expression}` of a text that is none (a `:` in it would begin the format)."""
    for _, field, _, _ in string.Formatter().parse(text):
        try:
            compile((field or "None").strip(), "<text>", "eval")
        except SyntaxError as error:
            yield f"{{{field}}} in {text!r} is not an expression: {error.msg}"


def check_look(result: RunResult, step: Step) -> Iterator[str]:
    """Check that the view exists, and that the recorded code has the line and the name to look at."""
    look = step.look
    assert look is not None
    if look.view not in VIEWS:
        yield f"view {look.view!r} is none of {', '.join(VIEWS)}"
    if result.error or result.trace_path is None:
        yield f"there is nothing to look at: {result.error or 'its run was not recorded'}"
        return
    from engine.inspect import History, TraceError, TraceReader

    try:
        resolve_look(look, History(TraceReader.open(result.trace_path)))
    except (LessonError, TraceError) as error:
        yield str(error)


def check_predict(runner: Runner, step: Step) -> Iterator[str]:
    """Check that the answer can be computed and typed, and no typical wrong answer is right."""
    assert step.predict is not None
    try:
        right, also, wrong, why = runner.ask(step)
    except LessonError as error:
        yield str(error)
        return
    tolerance = step.predict.tolerance
    if not grading.matches(right["text"], right, tolerance):
        yield f"typing the answer itself, {right['text']}, is not understood"
    if not why.strip():
        yield "does not say why"
    if not wrong:
        yield "has no typical wrong answer"
    for answer, message in wrong:
        if any(
            grading.matches(answer["text"], right_answer, tolerance)
            for right_answer in [right, *also]
        ):
            yield f"its wrong answer {answer['text']} is right ({message!r})"


def check_exercise(
    runner: Runner, step: Step, choose: Callable[[list[Any]], list[Any]]
) -> Iterator[str]:
    """Check starter, solution, other right answers, wrong answers, hints."""
    exercise = step.exercise
    assert exercise is not None
    folder = runner.lesson.folder
    if len(step.hints) < 2:
        yield f"has {len(step.hints)} hints; expected at least 2"
    if runner.check_exercise(folder / "exercise.py").ok:
        yield "the starter passes already"
    if "# TODO" not in (folder / "exercise.py").read_text(encoding="utf-8"):
        yield "the starter does not mark the work with `# TODO`"
    verdict = runner.check_exercise(folder / "solution.py")
    if not verdict.ok:
        yield f"the solution fails: {verdict.message}"
    rights = {code.strip() for code in exercise.accepts} - {runner.solution().strip()}
    if len(rights) < MIN_ACCEPTED:
        yield f"lists {len(rights)} other right answers; expected at least {MIN_ACCEPTED}"
    if len(exercise.rejects) < MIN_REJECTED:
        yield f"lists {len(exercise.rejects)} wrong answers; expected at least {MIN_REJECTED}"
    for number, goal in enumerate(exercise.goals, 1):
        if not any(field for _, field, _, _ in string.Formatter().parse(goal.message)):
            yield f"the message of goal {number} shows no value of the program: {goal.message!r}"
    for number, code in choose(list(enumerate(exercise.accepts, 1))):
        if message := judge(runner, step, code):
            yield f"right answer {number} is refused: {message}"
    for number, rejected in choose(list(enumerate(exercise.rejects, 1))):
        message = judge(runner, step, rejected.code)
        if not message:
            yield f"wrong answer {number} passes"
        elif rejected.message not in message:
            yield f"wrong answer {number} gets {message!r}, which lacks {rejected.message!r}"
        elif (lines := len(textwrap.wrap(message, COLUMNS))) > MAX_LINES:
            yield f"wrong answer {number} gets {lines} lines: {message!r}"


def judge(runner: Runner, step: Step, code: str) -> str:
    """Return the reply to a learner who wrote `code`; "" if it is right."""
    path = runner.folder / "try.py"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(code, encoding="utf-8")
    verdict = runner.check_exercise(path)
    return "" if verdict.ok else verdict.message


if __name__ == "__main__":
    raise SystemExit(main())
