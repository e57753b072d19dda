"""The playground's process: runs typed lines in one namespace and is recorded while it does.

    python -P -m engine.inspect.playground_process --ring FD --requests FD --replies FD

Requests and replies are JSON, one per line. A request is {"id": n, "code": text}. Its replies:

    {"id": n, "kind": "incomplete"}                 the text needs more lines; nothing was run
    {"id": n, "kind": "result", "text": repr}       the value of a last expression that is not None
    {"id": n, "kind": "error", "text": traceback}   an exception (also KeyboardInterrupt)
    {"id": n, "kind": "interrupted"}                SIGINT was received; the code may catch it
    {"id": n, "kind": "completions", "text": list}  what {"id": n, "complete": text} can become, as JSON
    {"id": n, "kind": "done"}                       always the last one

The code's output goes to stdout and stderr, which are pipes to the explorer. A crash, an endless loop or os._exit
affects only this process.
"""

from __future__ import annotations

import argparse
import ast
import codeop
import inspect
import json
import linecache
import os
import rlcompleter
import signal
import sys
import traceback
from collections.abc import Callable
from types import FrameType, ModuleType
from typing import Any

from engine.inspect import line_tracer, sink
from engine.inspect.ring import Ring, raised


def is_incomplete(text: str) -> bool:
    """Return whether more lines are needed before `text` can run, by the rules of Python's own prompt."""
    try:
        return codeop.compile_command(text, "<input>", "single") is None
    except (SyntaxError, ValueError, OverflowError):
        return False  # several statements, or an error: running it shows which


class Kernel:
    """One namespace, one request at a time."""

    def __init__(self, heard: Callable[[], None]) -> None:
        """`heard` is called when the user's code is interrupted."""
        self._heard = heard
        main = ModuleType("__main__")
        main.__dict__["__builtins__"] = sys.modules["builtins"]
        sys.modules["__main__"] = main
        self.namespace: dict[str, Any] = main.__dict__
        self.inputs = 0
        self.running = False

    def interrupt(self, number: int, frame: FrameType | None) -> None:
        """Stop the user's code by SIGINT; between requests there is nothing to stop."""
        if self.running:
            self._heard()
            raise KeyboardInterrupt

    def answer(self, code: str) -> list[dict[str, str]]:
        """Runs one piece of code; returns the replies without the final "done"."""
        if is_incomplete(code):
            return [{"kind": "incomplete"}]
        self.inputs += 1
        name = f"<input {self.inputs}>"
        lines = code.splitlines(keepends=True)
        linecache.cache[name] = (len(code), None, lines, name)
        line_tracer.add_source(name, code)
        try:
            self.running = True
            return self._run(code, name)
        except SystemExit:
            raise
        except BaseException as error:
            self.running = False
            return [{"kind": "error", "text": _users_traceback(error)}]
        finally:
            self.running = False

    def completions(self, text: str) -> list[str]:
        """Return the completions of `text`, the end of a line. Attributes are listed but never read: reading a
        tensor's would be recorded."""
        path, dot, last = text.rpartition(".")
        if not dot:
            names = rlcompleter.Completer(self.namespace).global_matches(text)
            return sorted({name.strip().removesuffix("(") for name in names})
        first, *parts = path.split(".")
        if first not in self.namespace:
            return []
        value = self.namespace[first]
        for part in parts:
            get = getattr if isinstance(value, ModuleType) else inspect.getattr_static
            try:
                value = get(value, part)
            except AttributeError:
                return []
        listed = dir(value) if isinstance(value, type | ModuleType) else object.__dir__(value)
        hidden = not last.startswith("_")
        return sorted(
            f"{path}.{name}"
            for name in set(listed)
            if name.startswith(last) and not (hidden and name.startswith("_"))
        )

    def _run(self, code: str, name: str) -> list[dict[str, str]]:
        tree = ast.parse(code, name)
        last = tree.body[-1] if tree.body else None
        if not isinstance(last, ast.Expr):
            exec(compile(tree, name, "exec"), self.namespace)
            return []
        tree.body[-1:] = _shown_as_underscore(last)
        exec(compile(tree, name, "exec"), self.namespace)
        if self.namespace.pop("__shown__"):
            return [{"kind": "result", "text": repr(self.namespace["_"])}]
        return []


def _shown_as_underscore(expression: ast.Expr) -> list[ast.stmt]:
    """Assign the value of a last expression to `_` unless it is None, as Python's prompt does, but inside the
    user's frame, so that the explorer shows the holder."""
    statements = ast.parse(
        "__value__ = None\n"
        "__shown__ = __value__ is not None\n"
        "if __shown__: _ = __value__\n"
        "del __value__\n"
    ).body
    for statement in statements:
        for node in ast.walk(statement):
            ast.copy_location(node, expression)
    assert isinstance(statements[0], ast.Assign)
    statements[0].value = expression.value
    return statements


def _users_traceback(error: BaseException) -> str:
    """Return the traceback from the user's first frame on."""
    trace = error.__traceback__
    while trace is not None and trace.tb_frame.f_code.co_filename == __file__:
        trace = trace.tb_next
    if isinstance(error, SyntaxError):
        trace = None
    return "".join(traceback.format_exception(type(error), error, trace))


def main(arguments: list[str] | None = None) -> None:
    """Serves requests until their pipe is closed."""
    parser = argparse.ArgumentParser(prog="engine.inspect.playground_process")
    for option in ("--ring", "--requests", "--replies"):
        parser.add_argument(option, type=int, required=True)
    options = parser.parse_args(arguments)
    os.set_inheritable(options.ring, False)
    pipes = [raised(fd) for fd in (options.requests, options.replies)]  # not inherited either
    sys.argv[:] = [""]
    sys.path.insert(0, "")
    running = sink.start(Ring(options.ring), ["<playground>"])
    # The user's code may close these descriptors and reuse their numbers: never close them here.
    requests = open(pipes[0], encoding="utf-8", closefd=False)  # noqa: SIM115
    replies = open(pipes[1], "w", closefd=False)  # noqa: SIM115
    code = 0
    process_id = os.getpid()

    def reply(number: int, message: dict[str, str]) -> None:
        if os.getpid() == process_id:  # a fork of this process answers nothing
            replies.write(json.dumps({"id": number, **message}) + "\n")
            replies.flush()

    request: dict[str, Any] = {"id": 0}
    kernel = Kernel(lambda: reply(request["id"], {"kind": "interrupted"}))
    signal.signal(signal.SIGINT, kernel.interrupt)
    reply(0, {"kind": "ready"})
    for line in requests:
        request = json.loads(line)
        try:
            if "complete" in request:
                text = json.dumps(kernel.completions(request["complete"]))
                messages = [{"kind": "completions", "text": text}]
            else:
                messages = kernel.answer(request["code"])
        except SystemExit as ending:
            code = ending.code if isinstance(ending.code, int) else int(ending.code is not None)
            break
        except KeyboardInterrupt:  # it arrived just after the code had ended
            messages = []
        if os.getpid() != process_id:
            code = _end_of_fork(messages)
            break
        sys.stdout.flush()
        sys.stderr.flush()
        for message in [*messages, {"kind": "done"}]:
            reply(request["id"], message)
    running.stop(code)
    sys.exit(code)


def _end_of_fork(messages: list[dict[str, str]]) -> int:
    """End a forked process at the end of the line that forked it, as a program ends at its last line."""
    errors = [message["text"] for message in messages if message["kind"] == "error"]
    sys.stderr.write("".join(errors))
    return 1 if errors else 0


if __name__ == "__main__":
    main()
