"""The playground: typed lines run in another process, whatever they do."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from engine.inspect.history import History
from engine.inspect.playground_process import is_incomplete
from engine.inspect.session import Reply, Session
from engine.inspect.trace import TraceReader


@pytest.fixture
def session(tmp_path: Path) -> Iterator[Session]:
    session = Session(tmp_path / "t.uht")
    yield session
    session.close()


def ask(session: Session, code: str) -> list[tuple[str, str]]:
    session.send(code)
    return [(r.kind, r.text) for r in session.wait(300) if r.kind not in ("ready", "done")]


def until_printed(session: Session, text: str) -> None:
    """Wait until the running code has printed something with that text."""
    output, deadline = "", time.monotonic() + 60
    while text not in output:
        assert time.monotonic() < deadline, output
        time.sleep(0.005)
        output += "".join(reply.text for reply in session.poll() if reply.kind == "stdout")


def last(replies: list[Reply]) -> Reply:
    return replies[-1]


def test_results_output_and_errors(session: Session) -> None:
    assert ask(session, "1 + 1") == [("result", "2")]
    assert ask(session, "x = 5") == []
    assert ask(session, "print('out'); x * 2") == [("stdout", "out\n"), ("result", "10")]
    assert ask(session, "_ + 1") == [("result", "11")]
    assert ask(session, "None") == []
    assert ask(session, "import os; _ = os.system('echo from a child')") == [
        ("stdout", "from a child\n")
    ]
    ((kind, text),) = ask(session, "def f():\n    return 1 / 0\n\nf()\n")
    assert kind == "error"
    assert text.startswith('Traceback (most recent call last):\n  File "<input 7>", line 4')
    assert "    return 1 / 0" in text
    assert "kernel.py" not in text
    ((kind, text),) = ask(session, "x = = 1")
    assert kind == "error"
    assert text.lstrip().startswith('File "<input 8>", line 1')
    assert ask(session, "input()")[0][1].endswith("EOFError: EOF when reading a line\n")


def test_statements_of_several_lines(session: Session) -> None:
    assert ask(session, "for i in range(2):") == [("incomplete", "")]
    assert ask(session, "for i in range(2):\n    print(i)\n") == [("stdout", "0\n1\n")]
    assert ask(session, "a = 1\nb = 2\na + b") == [("result", "3")]


@pytest.mark.parametrize(
    ("text", "more"),
    [
        ("x = 1", False),
        ("if x:", True),
        ("if x:\n    y", True),
        ("if x:\n    y\n", False),
        ("f(", True),
        ("'''a", True),
        ("a = 1\nb = 2", False),
        ("1 +", False),
        ("", False),
    ],
)
def test_when_more_lines_are_needed(text: str, more: bool) -> None:
    assert is_incomplete(text) is more


def test_an_endless_loop_is_interrupted(session: Session) -> None:
    ask(session, "n = 0")
    session.send("print('on', flush=True)\nwhile True: n += 1\n")
    until_printed(session, "on\n")  # before it runs there is nothing to interrupt
    assert session.busy
    session.interrupt()
    assert [r.kind for r in session.wait(300)] == ["error", "done"]
    assert ask(session, "n > 0") == [("result", "True")]
    session.interrupt()  # nothing runs: nothing happens
    assert ask(session, "'still here'") == [("result", "'still here'")]


def test_an_interruption_right_before_a_long_sleep_is_heard(session: Session) -> None:
    """A signal between a line and its sleep is only handled after the sleep, so it is sent again."""
    code = "import os, signal, time\nclass Sleeps:\n    def __index__(self):\n"
    code += "        return 3600\n"
    session.send(code + "print('on', flush=True); time.sleep(3600)\n")
    until_printed(session, "on\n")
    session.interrupt()
    assert [r.kind for r in session.wait(300)] == ["error", "done"]


def test_an_interruption_is_repeated_until_it_is_heard(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    ask(session, "1")
    lost = []
    send = session._kernel.send_signal
    monkeypatch.setattr(session._kernel, "send_signal", lost.append)
    session.send("while True: pass\n")
    session.interrupt()
    assert len(lost) == 1
    monkeypatch.setattr(session._kernel, "send_signal", send)
    assert last(session.wait(300)).kind == "done"  # only the session interrupts it again


def test_a_line_is_paused_at_its_budget_of_events(tmp_path: Path) -> None:
    session = Session(tmp_path / "t.uht", line_events=2000)
    try:
        ask(session, "import engine")
        session.send("while True: t = engine.zeros(1)\n")
        replies: list[Reply] = []
        deadline = time.monotonic() + 60
        while not session.paused:
            assert time.monotonic() < deadline
            replies += session.poll()
        assert last(replies).kind == "paused"
        assert "events of 2,000" in last(replies).text
        counts = [session.recorded]
        while len(set(counts[-20:])) > 1 or len(counts) < 20:  # it stands still
            assert time.monotonic() < deadline
            time.sleep(0.005)
            assert session.poll() == []
            counts.append(session.recorded)
        session.go_on()
        assert session.line_events == 4000
        while not session.paused:
            assert time.monotonic() < deadline
            session.poll()
        session.interrupt()
        assert [r.kind for r in session.wait(300)] == ["error", "done"]
        assert ask(session, "1 + 1") == [("result", "2")]
    finally:
        session.close()


@pytest.mark.parametrize(
    ("code", "exit_code"),
    [
        ("import os; os._exit(3)", 3),
        ("import os; os.kill(os.getpid(), 11)", 139),
        ("exit()", 0),
        ("import sys; sys.exit('words')", 1),
        ("import os; os.closerange(3, 200); os.abort()", 134),
    ],
)
def test_whatever_ends_it_ends_only_itself(session: Session, code: str, exit_code: int) -> None:
    ask(session, "import engine; t = engine.zeros(3)")
    session.send(code)
    assert last(session.wait(300)).kind == "died"
    assert session.exit_code == exit_code
    assert session.send("1") == 0
    trace = TraceReader.open(session.path)
    assert trace.finished
    assert trace.warning == ""
    assert len(trace) > 10


def test_restart_gives_a_fresh_namespace_and_trace(
    session: Session, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    ask(session, "x = 1")
    before = session.path
    session.send("while True: pass\n")
    assert last(session.restart()).kind == "died"
    assert session.path != before
    assert "NameError" in ask(session, "x")[0][1]


def test_endless_output_does_not_stop_the_other_side(session: Session) -> None:
    session.send("while True: print('x' * 1000)\n")
    until_printed(session, "x" * 1000)
    for _ in range(100):  # each comes back, however much there is to read
        session.poll()
        time.sleep(0.001)
    assert session.busy
    session.interrupt()
    assert last(session.wait(300)).kind == "done"


def test_a_large_request_does_not_block(session: Session, tmp_path: Path) -> None:
    """The kernel reads nothing before the file is there, which is made after the request was sent."""
    gate = tmp_path / "gate"
    session.send(
        "import os, time; until = time.monotonic() + 60\n"
        f"while not os.path.exists({str(gate)!r}) and time.monotonic() < until: time.sleep(0.01)\n"
        f"os.path.exists({str(gate)!r})\n"
    )
    session.send(f"len({'x' * 500_000!r})")
    gate.touch()
    assert [r.text for r in session.wait(300) if r.kind == "result"] == ["True", "500000"]


def test_the_trace_grows_with_every_line(session: Session) -> None:
    ask(session, "import engine")
    ask(session, "x = engine.arange(6).reshape(2, 3)")
    deadline = time.monotonic() + 60
    history = History(TraceReader.open(session.path))
    while time.monotonic() < deadline:
        history = history.grown() or history
        if history.end and any(n.name == "x" for n in history.names_at(history.end - 1)):
            break
        time.sleep(0.02)
    ask(session, "y = x.t()")
    names = set()
    while "y" not in names and time.monotonic() < deadline:
        history = history.grown() or history
        names = {fact.name for fact in history.names_at(history.end - 1)}
        time.sleep(0.02)
    assert {"x", "y"} <= names
    paths = [path for path, _ in history.trace._sources.values()]
    assert "<input 2>" in paths


def test_after_a_fork_only_the_original_answers(session: Session) -> None:
    replies = ask(session, "import os; pid = os.fork(); pid == 0")
    assert replies == [("result", "False")]
    assert ask(session, "os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])") == [("result", "0")]
    fails = "pid = os.fork()\nif pid == 0: raise ValueError('in the fork')\n"
    replies = ask(session, fails)
    replies += ask(session, "os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])")
    assert [text for kind, text in replies if kind != "stderr"] == ["1"]
    assert "in the fork" in "".join(text for kind, text in replies if kind == "stderr")
    for number in range(20):
        assert ask(session, str(number)) == [("result", str(number))]


def test_a_fork_that_is_interrupted_or_goes_on_says_nothing_to_the_other_side(
    session: Session,
) -> None:
    ask(session, "import os, signal, sys, time")
    stays = """
ready, go = os.pipe()
pid = os.fork()
if pid == 0:
    try:
        os.write(go, b"x")
        time.sleep(60)
    finally:
        sys.exit(7)
os.read(ready, 1) and None
"""
    assert ask(session, stays) == []
    assert ask(session, "os.kill(pid, signal.SIGINT)") == []
    assert ask(session, "os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])") == [("result", "7")]


def test_closing_all_descriptors_leaves_the_playground_answering(session: Session) -> None:
    ask(session, "import os; os.closerange(3, 200)")
    assert ask(session, "1 + 1") == [("result", "2")]
    # The writer is another process: what was recorded reaches the file a little later.
    history, deadline = History(TraceReader.open(session.path)), time.monotonic() + 60
    while not history.end and time.monotonic() < deadline:
        time.sleep(0.02)
        history = history.grown() or history
    assert history.end > 0


def test_the_playground_says_once_that_its_recording_has_stopped(session: Session) -> None:
    ask(session, "1")
    session._writer.kill()
    session._writer.wait()
    replies = [text for kind, text in ask(session, "x = 1") + ask(session, "x") if kind == "stderr"]
    assert replies == [
        "underhood: the recorder process ended; recording stopped, program continued\n"
    ]
