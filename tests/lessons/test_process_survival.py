"""A learner's program may abuse its machine: it harms neither the explorer nor the next run, and leaves
no process and no file.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from lessons._runner import process
from lessons._runner.process import Outcome, Questions, run_program
from tests.processes import alive_with

pytestmark = pytest.mark.skipif(not Path("/proc").is_dir(), reason="needs Linux's /proc")

Run = Callable[..., Outcome]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "temporary"))
    (tmp_path / "temporary").mkdir()

    def run(code: str, **options: object) -> Outcome:
        program = tmp_path / "mine" / "exercise.py"
        program.parent.mkdir(exist_ok=True)
        program.write_text(code)
        outcome = run_program(program, **options)  # type: ignore[arg-type]
        assert list((tmp_path / "temporary").iterdir()) == [], "temporary files are left"
        return outcome

    return run


def test_a_program_that_kills_its_parent_ends_itself(run: Run) -> None:
    code = "import os, signal, time\nos.kill(os.getppid(), signal.SIGKILL)\ntime.sleep(100)"
    assert "killed the process that started it" in run(code).error


LEAVES_CHILDREN = """
import os, subprocess, sys
sleep = [sys.executable, "-c", "import time; time.sleep(300)  # {word}"]
subprocess.Popen(sleep)
subprocess.Popen(sleep, start_new_session=True)
if not os.fork():
    os.setsid()
    if not os.fork():  # an orphan in its own session
        os.execv(sleep[0], sleep)
    os._exit(0)
{end}
"""


@pytest.mark.parametrize(
    "end",
    ["print('done')", "os._exit(3)", "while True: pass", "os.kill(os.getppid(), 9)"],
    ids=("ends", "exits", "loops", "kills its parent"),
)
def test_children_do_not_outlive_the_run_even_in_sessions_of_their_own(run: Run, end: str) -> None:
    word = f"left-{os.getpid()}-{time.monotonic_ns()}"
    run(LEAVES_CHILDREN.format(word=word, end=end), time_limit=0.5)
    assert alive_with(word) == []


def test_a_program_that_stops_itself_is_ended_and_its_line_named(run: Run) -> None:
    error = run("import os, signal\n\nos.kill(os.getpid(), signal.SIGSTOP)\n").error
    assert error == "The program stopped itself at line 3 (SIGSTOP), so it was ended."


def test_a_program_that_is_late_because_it_stopped_itself_is_told_so(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(process, "WAITING", 1)
    code = "import os, signal\n\nos.kill(os.getpid(), signal.SIGSTOP)\nprint('on')"
    assert "stopped itself at line 3" in run(code, time_limit=0.5).error


def test_a_fork_that_comes_to_the_end_gives_no_second_answer(run: Run) -> None:
    code = (
        "import os, time\nchild = os.fork()\nif child:\n    os.waitpid(child, 0)\nx = bool(child)"
    )
    for _ in range(3):
        assert run(code, questions=Questions(values=("x",))).values[0]["value"] is True


def test_a_program_that_deletes_its_folder_is_checked_all_the_same(run: Run) -> None:
    code = "import os, shutil\nshutil.rmtree(os.path.dirname(__file__))\nx = 1"
    assert run(code, questions=Questions(goals=(("x == 2", "x is {x}."),))).failed == "x is 1."


def test_what_a_program_writes_just_before_it_ends_is_read() -> None:
    """It may write and end between a look at its output, which finds nothing, and one at its state."""
    reader, writer = os.pipe()

    class Program:
        stdout = os.fdopen(reader, "rb")
        has_ended = False

        def poll(self) -> int:
            if not self.has_ended:
                self.has_ended = True
                os.write(writer, b"the last line")
                os.close(writer)
            return 0

    class Clock:
        def over(self) -> bool:
            return False

    program: Any = Program()
    clock: Any = Clock()
    with program.stdout:
        assert process._read(program, clock) == "the last line"


def test_temporary_files_of_a_program_go_with_it(run: Run) -> None:
    code = "import os, tempfile\nprint(os.path.exists(tempfile.mkdtemp()))\nos._exit(1)"
    assert run(code).stdout == "True\n"  # that nothing is left is asserted for every run


def test_a_program_that_takes_all_memory_gets_an_error(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(process, "MEMORY_LIMIT", 256 << 20)
    assert "MemoryError" in run("kept = []\nwhile True:\n    kept.append(bytearray(1 << 24))").error


BAD_STR = """
class Mean(Exception):
    def __str__(self):
        raise {failure}
    __repr__ = __str__
raise Mean
"""


@pytest.mark.parametrize("failure", ["ValueError('no')", "SystemExit(3)", "KeyboardInterrupt"])
def test_an_exception_whose_str_raises_is_told(run: Run, failure: str) -> None:
    error = run(BAD_STR.format(failure=failure)).error
    assert error.startswith("line 6: `raise Mean`: Mean, whose __str__ raises ")


def test_a_function_that_ends_the_process_while_it_is_checked_is_told(run: Run) -> None:
    questions = Questions(goals=(("f() == 1", "f() is {f()}."),))
    assert "SystemExit" in run("import sys\n\ndef f():\n    sys.exit(3)", questions=questions).error


@pytest.mark.parametrize("text", ["", "{", '{"error": "", "valu', "[]", '{"erro": ""}'])
def test_a_result_that_is_cut_short_is_an_outcome(
    run: Run, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    """However it came to be: the program writes it here in place of the child."""
    code = f"""
import json, os, sys
for path in [line for line in open("/proc/self/cmdline").read().split(chr(0)) if "job.json" in line]:
    result = json.load(open(path))["result"]
open(result, "w").write({json.dumps(text)})
os._exit(0)
"""
    assert run(code).error.startswith("The program's result cannot be read: ")


def test_names_of_the_checker_are_the_programs_own_for_its_functions(run: Run) -> None:
    code = "start = [1]\nlive = 2\ndef f():\n    return start[0] + live"
    assert run(code, questions=Questions(goals=(("f() == 3", "f() is {f()}."),))).failed == ""


def test_what_is_watched_is_noted_at_every_change(run: Run) -> None:
    questions = Questions(values=("watched",))
    outcome = run("x = 1; x = 2\nfor x in (2, 3):\n    pass\n", questions=questions, watch="x")
    assert outcome.values[0]["value"] == [1, 2, 3]


def test_a_long_value_loses_its_middle(run: Run) -> None:
    questions = Questions(goals=(("False", "x is {x}, not short."),))
    failed = run("x = list(range(10_000))", questions=questions).failed
    assert len(failed) < 200
    assert failed.startswith("x is [0, 1, 2, 3")
    assert failed.endswith("9998, 9999], not short.")


def test_a_value_of_an_earlier_goal_is_not_told_as_that_of_a_later_one(run: Run) -> None:
    goals = (("(found := f(1)) == 1", ""), ("(found := f(0)) == 1", "f(0) is {found}, not 1."))
    failed = run("def f(x):\n    return x / x", questions=Questions(goals=goals)).failed
    assert failed.startswith("f(0) is ?, not 1. (line 2: `return x / x`: ZeroDivisionError")
