"""A recorded program behaves as `python program` does, and its trace holds what it did."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from engine._generated.event_kinds import PROGRAM_BEGIN, PROGRAM_END
from engine.inspect.history import History
from engine.inspect.recorder import new_trace_path, newest_trace, record
from engine.inspect.trace import TraceReader

_RECORD = """
import sys
from engine.inspect.recorder import record_program
sys.exit(record_program(sys.argv[2:], sys.argv[1]))
"""


def recorded_command(trace: Path, *program: str) -> list[str]:
    return [sys.executable, "-c", _RECORD, str(trace), *program]


def recorded_history(folder: Path, text: str) -> tuple[History, str]:
    """Record a program of this text: its history, and what it printed."""
    program, trace = folder / "program.py", folder / "program.uht"
    program.write_text(text)
    command = recorded_command(trace, str(program))
    result = subprocess.run(
        command, cwd=folder, check=True, timeout=600, capture_output=True, text=True
    )
    return History(TraceReader.open(trace)), result.stdout


def run(command: list[str], folder: Path, stdin: str = "") -> tuple[int, str, str]:
    done = subprocess.run(
        command, cwd=folder, input=stdin, capture_output=True, text=True, timeout=3000
    )
    code = 128 - done.returncode if done.returncode < 0 else done.returncode
    return code, done.stdout, re.sub("0x[0-9a-f]+", "0x", done.stderr)


def same_as_python(folder: Path, *program: str, stdin: str = "") -> tuple[int, TraceReader | None]:
    """Runs the program with and without recording; everything that can be seen must be equal."""
    plain = run([sys.executable, *program], folder, stdin)
    path = folder / "trace.uht"
    recorded = run(recorded_command(path, *program), folder, stdin)
    assert recorded == plain
    return plain[0], TraceReader.open(path) if path.exists() else None


PROGRAMS = {
    "looks around": """
        import sys, os
        print(sys.argv, sys.path, os.getcwd(), __name__, __file__, __spec__, __package__)
        print(sorted(globals()), type(__loader__).__name__, __builtins__.__name__, __doc__)
        print(sys.gettrace(), sys.modules["__main__"].__dict__ is globals(), sys.stdin.isatty())
        """,
    "reads stdin": "import sys\nprint(sys.stdin.read().upper(), end='')",
    "exit 3": "import sys; sys.exit(3)",
    "exit None": "import sys; sys.exit(None)",
    "exit text": "import sys; sys.exit('no more')",
    "exit True": "raise SystemExit(True)",
    "exit 256": "import sys; sys.exit(256)",
    "raises": """
        def inner():
            return 1 / 0
        try:
            inner()
        except ZeroDivisionError as error:
            raise ValueError("größer") from error
        """,
    "syntax error": "x = 1\ny = = 2\n",
    "keyboard interrupt": "raise KeyboardInterrupt",
    "os._exit": "import os; os._exit(7)",
    "killed": "import os, signal; os.kill(os.getpid(), signal.SIGKILL)",
    "terminated": "import os, signal; os.kill(os.getpid(), signal.SIGTERM)",
    "atexit": """
        import atexit, sys
        atexit.register(lambda: print("last"))
        atexit.register(lambda: print("first"))
        sys.exit(4)
        """,
    "own excepthook": """
        import sys, traceback
        def hook(kind, error, trace):
            print("hook", kind.__name__, [f.name for f in traceback.extract_tb(trace)])
        sys.excepthook = hook
        {}["missing"]
        """,
    "threads": """
        import threading
        def work(n):
            total = sum(i for i in range(n))
            print(total)
        for n in range(3):
            thread = threading.Thread(target=work, args=(n,))
            thread.start()
            thread.join()
        threading.Thread(target=lambda: print("not joined")).start()
        """,
    "fork": """
        import os, sys
        pid = os.fork()
        if pid == 0:
            x = [i for i in range(100)]
            sys.exit(5)
        print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
        """,
    "spawn": """
        import multiprocessing
        def double(n):
            return 2 * n
        if __name__ == "__main__":
            with multiprocessing.get_context("spawn").Pool(1) as pool:
                print(pool.map(double, [1, 2, 3]))
        """,
    "async and generators": """
        import asyncio
        async def main():
            async def one(n):
                await asyncio.sleep(0)
                return n
            return await asyncio.gather(*(one(n) for n in range(5)))
        print(asyncio.run(main()))
        def count():
            try:
                yield from range(3)
            finally:
                print("closed")
        for n in count():
            if n:
                break
        """,
    "deep": """
        def deep(n):
            return n and deep(n - 1)
        print(deep(900))
        def forever():
            forever()
        try:
            forever()
        except RecursionError as error:
            print(error)
        """,
    "unraisable": """
        class Bad:
            def __del__(self):
                raise ValueError("in __del__")
        Bad()
        print("on")
        """,
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_recorded_program_sees_and_shows_no_difference(name: str, tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_bytes(textwrap.dedent(PROGRAMS[name]).encode())
    code, trace = same_as_python(tmp_path, "script.py", "-x", "a b", stdin="some\ntext")
    assert trace is not None
    assert trace.meta["exit_code"] == str(code)
    assert int(trace.events["kind"][0]) == PROGRAM_BEGIN or trace.string(1)
    assert int(trace.events["kind"][-1]) == PROGRAM_END
    assert int(trace.events["a"][-1]) == code
    assert trace.warning == ""


def test_modules_folders_and_what_cannot_be_run(tmp_path: Path) -> None:
    show = "import sys\nprint(sys.argv, sys.path[0], __name__, __spec__.name, __package__)\n"
    (tmp_path / "pkg").mkdir()
    (tmp_path / "pkg" / "__init__.py").write_text("")
    (tmp_path / "pkg" / "mod.py").write_text(show + "1 / 0\n")
    assert same_as_python(tmp_path, "-m", "pkg.mod", "x")[0] == 1
    (tmp_path / "trace.uht").unlink()
    assert same_as_python(tmp_path, "-m", "pkg.nothing")[0] == 1
    (tmp_path / "trace.uht").unlink()
    (tmp_path / "folder").mkdir()
    assert same_as_python(tmp_path, "folder") == (1, None)
    (tmp_path / "folder" / "__main__.py").write_text(show)
    assert same_as_python(tmp_path, "folder", "y")[0] == 0
    (tmp_path / "trace.uht").unlink()
    assert same_as_python(tmp_path, "missing.py") == (2, None)


def test_a_folder_called_engine_beside_the_script_is_not_taken_for_ours(tmp_path: Path) -> None:
    (tmp_path / "engine").mkdir()
    (tmp_path / "engine" / "__init__.py").write_text("1 / 0")
    (tmp_path / "script.py").write_text("print('fine')")
    done = run(recorded_command(tmp_path / "t.uht", "script.py"), tmp_path.parent)
    assert done[0] == 2  # not there
    path = str(tmp_path / "script.py")
    assert run(recorded_command(tmp_path / "t.uht", path), tmp_path.parent) == (0, "fine\n", "")


def test_ctrl_c_reaches_the_program_and_the_trace_is_complete(tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text("print('go', flush=True)\nwhile True: pass\n")
    process = subprocess.Popen(
        recorded_command(tmp_path / "t.uht", "script.py"),
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    assert process.stdout
    assert process.stdout.readline() == b"go\n"
    os.killpg(process.pid, signal.SIGINT)
    _, errors = process.communicate(timeout=300)
    assert process.returncode == 130
    assert errors.endswith(b"KeyboardInterrupt\n")
    assert b"recorder.py" not in errors
    assert TraceReader.open(tmp_path / "t.uht").meta["exit_code"] == "130"


def test_record_as_a_context_manager(tmp_path: Path) -> None:
    import engine

    with record(tmp_path / "t.uht") as recording:
        x = engine.ones(2, 3)
        y = x + x
    assert recording.path == tmp_path / "t.uht"
    assert y.tolist() == [[2.0] * 3] * 2
    trace = TraceReader.open(recording.path)
    history = History(trace)
    names = {fact.name for fact in history.names_at(history.end - 1)}
    assert {"x", "y"} <= names
    assert json.loads(trace.meta["argv"]) == sys.argv


def test_recording_twice_and_in_vain(tmp_path: Path) -> None:
    with (
        record(tmp_path / "a.uht", lines=False),
        pytest.raises(RuntimeError, match="already being recorded"),
    ):
        record(tmp_path / "b.uht").__enter__()
    with pytest.raises(FileExistsError, match=r"a\.uht exists already"):
        record(tmp_path / "a.uht")
    with pytest.raises(FileNotFoundError, match=r"the folder .* does not exist"):
        record(tmp_path / "no" / "a.uht")
    with record(tmp_path / "c.uht"):
        pass
    assert TraceReader.open(tmp_path / "c.uht").finished


def test_an_exception_in_the_block_passes_and_is_recorded(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError), record(tmp_path / "t.uht"):
        1 / 0  # noqa: B018
    trace = TraceReader.open(tmp_path / "t.uht")
    assert trace.finished
    assert int(trace.events["a"][-1]) == 1


def test_default_paths_are_new_and_the_newest_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("UNDERHOOD_HOME", raising=False)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    first = new_trace_path("dir/train.py")
    assert first.parent == tmp_path / "underhood" / "traces"
    assert first.name.startswith("train-")
    first.touch()
    second = new_trace_path("dir/train.py")
    assert second != first
    second.touch()
    os.utime(first, (1, 1))
    assert newest_trace() == second


_FORKS = """
import os, signal, sys, threading
from engine._native import lib
from engine.inspect import sink
from engine.inspect.recorder import record
from engine.inspect.ring import Ring
names = [f"name {n}".encode() for n in range(1000)]
def intern():
    while going:
        for name in names:
            lib.uh_intern(name, len(name))
with record("t.uht", lines=False):
    going = True
    threads = [threading.Thread(target=intern) for _ in range(2)]
    for thread in threads:
        thread.start()
    codes = set()
    for _ in range(60):
        if (pid := os.fork()) == 0:
            signal.alarm(20)
            sink.start(Ring.create(records=64, blob=4096), [])
            os._exit(lib.uh_recording() != 7)
        codes.add(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
    going = False
    for thread in threads:
        thread.join()
print(codes)
"""


def test_a_fork_beside_a_thread_that_records_can_record_itself(tmp_path: Path) -> None:
    """The thread held the lock on the strings, and in the fork nothing was left to give it back."""
    assert run([sys.executable, "-c", _FORKS], tmp_path) == (0, "{0}\n", "")
    assert TraceReader.open(tmp_path / "t.uht").warning == ""


def test_the_memory_of_a_ring_is_given_back(tmp_path: Path) -> None:
    """10,000 events are 640 kB of it, in each recording."""

    def shared() -> int:
        status = Path("/proc/self/status").read_text()
        return int(re.findall(r"RssShmem:\s+(\d+) kB", status)[0])

    from engine._native import lib

    before = shared()
    for number in range(3):
        with record(tmp_path / f"{number}.uht", lines=False, values=False):
            for _ in range(10_000):
                lib.uh_emit(6, 0, 0, 0, 0, 0, 0)
        assert shared() < before + 500, number


def test_a_very_long_recording_is_reported_at_its_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    from engine.inspect import recorder

    script = tmp_path / "script.py"
    script.write_text("x = 1\ny = 2\n")
    assert recorder.record_program([str(script)], tmp_path / "short.uht") == 0
    assert "events" not in capfd.readouterr().err
    monkeypatch.setattr(recorder, "MANY_EVENTS", 3)
    assert recorder.record_program([str(script)], tmp_path / "long.uht") == 0
    assert "events: it opens slowly; to record some iterations only" in capfd.readouterr().err
