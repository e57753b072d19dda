"""Whatever a learner's program does, it ends in an outcome that says so in words."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from lessons._runner.process import OUTPUT_LIMIT, Outcome, run_program


@pytest.fixture
def run(tmp_path: Path):
    def run(code: str, time_limit: float = 10.0) -> Outcome:
        program = tmp_path / "exercise.py"
        program.write_text(code)
        return run_program(program, time_limit=time_limit)

    return run


def test_a_program_that_ends_well_gives_its_output(run) -> None:
    assert run("print('hello')") == Outcome("hello\n")


def test_sys_exit_zero_is_an_end_like_any_other(run) -> None:
    assert run("import sys\nsys.exit()").error == ""
    assert "sys.exit(3)" in run("import sys\nsys.exit(3)").error


def test_a_syntax_error_names_the_line_and_shows_it(run) -> None:
    error = run("a = 1\nb = = 2\n").error
    assert error.startswith("line 2: SyntaxError")
    assert "`b = = 2`" in error


def test_an_exception_names_the_line_of_the_program(run) -> None:
    error = run("import json\n\njson.loads('{')\n").error
    assert error.startswith("line 3: `json.loads('{')`: JSONDecodeError")


def test_an_endless_loop_is_stopped_and_its_line_named(run) -> None:
    error = run("x = 1\nwhile True:\n    pass\n", time_limit=0.6).error
    assert "Still running" in error
    assert "line 2" in error or "line 3" in error


def test_a_program_that_waits_for_ever_is_stopped_and_its_line_named(run) -> None:
    error = run("import time\n\ntime.sleep(3600)\n", time_limit=0.2).error
    assert error.startswith("Still running at line 3 after 0.2 s")


def test_only_what_a_program_computes_counts(run) -> None:
    assert run("import time\ntime.sleep(0.9)\nprint('fine')", time_limit=0.3) == Outcome("fine\n")


def test_a_program_that_ends_its_process_is_told_so(run) -> None:
    assert "exit code 3" in run("import os\nos._exit(3)").error
    assert "exit code 0" in run("import os\nos._exit(0)").error


def test_a_crash_is_an_outcome(run) -> None:
    error = run("import ctypes\n\nctypes.string_at(0)\n").error
    assert "crashed at line 3" in error
    assert "SIGSEGV" in error


def test_endless_output_is_cut(run) -> None:
    outcome = run("while True: print('x' * 1000)", time_limit=0.6)
    assert len(outcome.stdout) < OUTPUT_LIMIT + 200
    assert "output cut" in outcome.stdout


def test_input_does_not_wait_for_the_keyboard(run) -> None:
    assert "EOFError" in run("input()").error


def test_nothing_of_ours_is_importable_by_accident(run) -> None:
    assert "ModuleNotFoundError" in run("import grading").error


def test_threads_and_children_left_behind_do_not_hold_up_the_answer(run) -> None:
    code = """
import subprocess, sys, threading, time
threading.Thread(target=time.sleep, args=(300,)).start()
subprocess.Popen([sys.executable, "-c", "import time; time.sleep(300)"])
print("done")
"""
    started = time.monotonic()
    assert run(code) == Outcome("done\n")
    assert time.monotonic() - started < 60  # the thread and the child would run for 300 s


def test_stderr_and_text_of_any_language_come_back(run) -> None:
    outcome = run("import sys\nprint('größer 数')\nprint('warned', file=sys.stderr)")
    assert "größer 数" in outcome.stdout
    assert "warned" in outcome.stdout
