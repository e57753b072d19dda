"""The program's output is recorded between its lines, and nothing that the program can see changes."""

from __future__ import annotations

import re
import subprocess
import sys
import textwrap
from pathlib import Path

from engine.inspect.history import History
from engine.inspect.models import project
from engine.inspect.selection import Selection
from engine.inspect.trace import TraceReader

_RECORD = "import sys; from engine.inspect.recorder import record_program as r; sys.exit(r(sys.argv[2:], sys.argv[1]))"


def recorded(folder: Path, text: str, stdin: str = "") -> tuple[History, str, str]:
    """Run the script with and without recording; both must print the same."""
    script = folder / "script.py"
    script.write_text(textwrap.dedent(text), encoding="utf-8")
    results = [
        subprocess.run(
            [sys.executable, *command, str(script)],
            input=stdin,
            capture_output=True,
            text=True,
            cwd=folder,
        )
        for command in ([], ["-c", _RECORD, str(folder / "trace.uht")])
    ]
    plain, under = (
        (r.returncode, r.stdout, re.sub("0x[0-9a-f]+", "0x", r.stderr)) for r in results
    )
    assert plain == under
    return History(TraceReader.open(folder / "trace.uht")), plain[1], plain[2]


def outputs(history: History) -> list[tuple[int, int, str]]:
    """(line of the program, stream, text) of each output event."""
    facts = history.output(history.end - 1)
    lines = [history.line_at(fact.moment) for fact in facts]
    return [
        (line.line if line else 0, fact.stream, fact.text)
        for line, fact in zip(lines, facts, strict=True)
    ]


def test_each_text_is_next_to_the_line_that_wrote_it(tmp_path: Path) -> None:
    history, out, _ = recorded(
        tmp_path,
        """\
        import sys
        print("a", 1, [2])
        print(".", end="")
        print(".", end="")
        print("é漢 \\x1b[1m")
        sys.stderr.write("odd\\n")
        """,
    )
    assert outputs(history) == [
        (2, 1, "a 1 [2]\n"),
        (3, 1, "."),
        (4, 1, "."),
        (5, 1, "é漢 \x1b[1m\n"),
        (6, 2, "odd\n"),
    ]
    assert "".join(text for _, stream, text in outputs(history) if stream == 1) == out
    moments = [fact.moment for fact in history.output(history.end - 1)]
    assert history.event(moments[0]).sentence.startswith("the program wrote to stdout: ")
    assert history.event(moments[-1]).sentence.startswith("the program wrote to stderr: ")


def test_streams_and_tracebacks_are_the_programs_own(tmp_path: Path) -> None:
    recorded(
        tmp_path,
        """\
        import os, sys, io, threading
        print(type(sys.stdout).__name__, sys.stdout is sys.__stdout__, sys.stdout.isatty(), sys.stdout.write.__name__)
        print(sys.stdout.write.__doc__, sys.stdout.write.__self__ is sys.stdout, sys.stdout.write.__qualname__)
        for wrong in (lambda: sys.stdout.write(5), lambda: sys.stdout.write(), lambda: sys.stdout.write("a", "b")):
            try:
                wrong()
            except TypeError as error:
                print(error)
        seen = []
        sys.settrace(lambda frame, event, argument: seen.append(frame.f_code.co_name))
        print("traced")
        sys.settrace(None)
        print(seen)
        thread = threading.Thread(target=print, args=("thread",))
        thread.start(); thread.join()
        sys.stdout.flush()
        pid = os.fork()
        if not pid:
            print("child"); sys.exit(0)
        os.waitpid(pid, 0)
        sys.stdout.buffer.write(b"bytes\\n")
        sys.stdout.reconfigure(errors="backslashreplace")
        print("surrogate \\udc80")
        class Late:
            def __del__(self):
                print("late")
        keep = Late()
        sys.stdout.detach().write(b"detached\\n")
        raise ValueError("ends")
        """,
    )


def test_a_closed_and_a_replaced_stream(tmp_path: Path) -> None:
    history, _, _ = recorded(
        tmp_path,
        """\
        import contextlib, io, sys
        text = io.StringIO()
        with contextlib.redirect_stdout(text):
            print("inside")
        print("outside")
        sys.stdout.close()
        try:
            sys.stdout.write("x")
        except ValueError as error:
            sys.stderr.write(f"{error}\\n")
        """,
    )
    assert [text for _, _, text in outputs(history)] == [
        "outside\n",
        "I/O operation on closed file.\n",
    ]


def test_the_source_shows_the_newest_output(tmp_path: Path) -> None:
    history, _, _ = recorded(tmp_path, "for i in range(30):\n    print('number', i)\nx = 1\n")
    model = project("source", history, history.output(history.end - 1)[14].moment, Selection())
    assert [line.text for line in model.output] == [f"number {i}" for i in range(3, 15)]
    assert {line.line for line in model.output} == {2}
    timeline = project("timeline", history, history.end - 1, Selection())
    assert set(timeline.outputs) <= {fact.moment for fact in history.output(history.end - 1)}
    assert timeline.outputs
