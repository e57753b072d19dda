"""Runs the user's program, unmodified, in a process that is being recorded.

    python .../engine/inspect/child.py --fd N [-m] PROGRAM [ARGUMENTS...]

Started by its path, so that nothing of the user's folder can stand in the way of our imports. Then
everything is as `python PROGRAM ARGUMENTS` leaves it: `sys.argv`, `sys.path[0]`, a fresh
`__main__`, and errors end in Python's own last resort, with our frames taken out of the traceback.
"""

from __future__ import annotations

import os
import sys

if sys.path[:1] == [os.path.dirname(os.path.realpath(__file__))]:
    del sys.path[0]

import atexit
import io
import runpy
from importlib.machinery import SourceFileLoader, SourcelessFileLoader
from pkgutil import get_importer
from types import CodeType, ModuleType, TracebackType
from typing import Any

from engine.inspect import producer, tracer
from engine.inspect.ring import Ring


def main(arguments: list[str]) -> None:
    """Never returns normally what the program raised: it goes on to Python's own handling."""
    fd = int(arguments[1])
    as_module = arguments[2] == "-m"
    program = arguments[3:] if as_module else arguments[2:]
    os.set_inheritable(fd, False)
    ending = _Ending(producer.start(Ring(fd), program, program[0] if as_module else ""))
    atexit.register(ending.say)
    try:
        _run_module(program) if as_module else _run_script(program)
    except BaseException as error:
        ending.code = _exit_code(error)
        _hide_our_frames()
        raise


class _Ending:
    """Registered before anything of the user's, so it runs after the user's atexit functions."""

    def __init__(self, running: producer.Producer) -> None:
        self.running = running
        self.code = 0

    def say(self) -> None:
        if problem := self.running.stop(self.code):
            print(f"underhood: {problem}", file=sys.__stderr__)


def _fresh_main() -> ModuleType:
    """A `__main__` that holds nothing of ours."""
    fresh = ModuleType("__main__")
    sys.modules["__main__"] = fresh
    fresh.__dict__.update(__builtins__=sys.modules["builtins"], __annotations__={})
    return fresh


def _run_module(program: list[str]) -> None:
    _fresh_main()
    sys.argv[:] = ["-m", *program[1:]]  # runpy puts the module's file first once it has found it
    if not sys.flags.safe_path:
        sys.path.insert(0, os.getcwd())
    runpy._run_module_as_main(program[0])  # type: ignore[attr-defined]


def _run_script(program: list[str]) -> None:
    script = program[0]
    sys.argv[:] = program
    importer: Any = get_importer(script)
    if importer is not None:  # a folder or a zip file with a __main__.py
        _fresh_main()
        sys.path.insert(0, os.path.abspath(script))
        runpy._run_module_as_main("__main__", alter_argv=False)  # type: ignore[attr-defined]
        return
    if not sys.flags.safe_path:
        sys.path.insert(0, os.path.dirname(os.path.realpath(script)))
    path = os.path.abspath(script)
    tracer.claim(path)
    fresh = _fresh_main()
    kind = SourcelessFileLoader if script.endswith(".pyc") else SourceFileLoader
    loader = kind("__main__", path)
    fresh.__dict__.update(__file__=path, __cached__=None, __loader__=loader)
    exec(_compiled(script, path), fresh.__dict__)


def _compiled(script: str, path: str) -> CodeType:
    if script.endswith(".pyc"):
        code = SourcelessFileLoader("__main__", path).get_code("__main__")
        assert code is not None
        return code
    with io.open_code(path) as stream:
        return compile(stream.read(), path, "exec", dont_inherit=True)


def _exit_code(error: BaseException) -> int:
    """What Python will exit with because of this exception."""
    if isinstance(error, KeyboardInterrupt):
        return 130
    if not isinstance(error, SystemExit):
        return 1
    if error.code is None:
        return 0
    return error.code & 0xFF if isinstance(error.code, int) else 1


def _hide_our_frames() -> None:
    """Whatever prints the exception (the user may have set a hook) sees the user's frames only."""
    hook = sys.excepthook

    def print_exception(
        kind: type[BaseException], error: BaseException, trace: TracebackType | None
    ) -> None:
        while trace is not None and trace.tb_frame.f_code.co_filename == __file__:
            trace = trace.tb_next
        error.__traceback__ = sys.last_traceback = trace
        hook(kind, error, trace)

    sys.excepthook = print_exception


if __name__ == "__main__":
    main(sys.argv[1:])
