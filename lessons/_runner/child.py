"""The process in which a learner's program runs. Started by path, so it imports nothing of ours.

    python child.py JOB.json

The job names the program, where to write the result, whether to record, and what to ask afterwards:
expressions to compute (predictions) or goals to check (exercises). The result is one JSON file; if
it is missing, the program never came back, and the parent says how it ended.
"""

from __future__ import annotations

import contextlib
import ctypes
import faulthandler
import json
import linecache
import os
import signal
import string
import sys
import traceback
import types
from pathlib import Path
from typing import Any

SHORT_CHECK = 60  # longer ones would tell the learner of the lesson's inside, not of the mistake


def main(job_path: str) -> None:
    """Runs the program, asks the questions, writes the answers."""
    job = json.loads(Path(job_path).read_text(encoding="utf-8"))
    program = Path(job["program"])
    sys.path[0] = str(program.parent)
    sys.argv = [str(program)]
    limit_memory(job["memory_limit"])
    stacks = open(job["stacks"], "w")  # noqa: SIM115  (open until the process ends)
    faulthandler.enable(stacks)
    faulthandler.register(signal.SIGUSR1, file=stacks)  # the parent asks where the program hangs
    names: dict[str, Any] = {}
    checker: dict[str, Any] = {}
    error = ""
    try:
        checker = checkers_names(program) if job["ask"] else {}
    except Exception as failure:
        error = f"the engine cannot be used: {describe_short(failure)}"
    if not error:
        names, error = run(program, job["trace"])
    result: dict[str, Any] = {"error": error}
    if not error and job["ask"]:
        names.update(checker)  # not a copy, which would count as an owner of everything in it
        try:
            result |= ask(job["ask"], names)
        except Exception as failure:
            result["error"] = f"the question cannot be computed: {describe_short(failure)}"
    Path(job["result"]).write_text(json.dumps(result), encoding="utf-8")
    with contextlib.suppress(Exception):
        sys.stdout.flush()
    os._exit(0)  # a thread that the program left running must not keep its answer from us


def limit_memory(limit: int) -> None:
    """A program that keeps everything it makes gets a MemoryError, not the whole machine."""
    with contextlib.suppress(ImportError, ValueError, OSError):
        import resource

        _, hard = resource.getrlimit(resource.RLIMIT_AS)
        resource.setrlimit(resource.RLIMIT_AS, (limit, hard))


def checkers_names(program: Path) -> dict[str, Any]:
    """What checks may use beside the program's own names. `start` is taken before it runs."""
    import engine
    from engine.inspect import live

    return {
        "engine": engine,
        "live": live,
        "refcount": refcount,
        "nodes_behind": nodes_behind,
        "start": live.allocator_stats(),
        "source": program.read_text(encoding="utf-8", errors="replace"),
    }


def refcount(thing: Any) -> int:
    """What the object's header says, less the one owner that this call's argument is."""
    return ctypes.c_uint32.from_address(id(thing)).value - 1


def nodes_behind(tensor: Any) -> list[Any]:
    """Every Node of the graph that made the tensor, each once, nearest first."""
    found = [tensor.grad_fn] if tensor.grad_fn is not None else []
    for node in found:  # grows while it is walked
        for behind, _ in node.next_functions:
            if behind is not None and behind not in found:
                found.append(behind)
    return found


def run(program: Path, trace: str | None) -> tuple[dict[str, Any], str]:
    """Runs the file as `__main__`; gives the names it leaves behind, or what went wrong."""
    module = types.ModuleType("__main__")
    module.__dict__["__file__"] = str(program)
    sys.modules["__main__"] = module
    try:
        code = compile(program.read_bytes(), str(program), "exec")
        with recording(trace):
            exec(code, module.__dict__)
    except SyntaxError as error:
        text = (error.text or "").strip()
        where = f"line {error.lineno}: " if error.filename == str(program) else ""
        return {}, f"{where}SyntaxError: {error.msg}" + (f": `{text}`" if text else "")
    except SystemExit as error:
        if error.code not in (None, 0):
            return {}, f"Your program ended with sys.exit({error.code!r})."
    except BaseException as error:
        return {}, describe(error, program)
    return module.__dict__, ""


def recording(trace: str | None) -> contextlib.AbstractContextManager[Any]:
    """Records everything inside into the file `trace`, if one is wanted."""
    if trace is None:
        return contextlib.nullcontext()
    from engine.inspect.recorder import record

    recorder: contextlib.AbstractContextManager[Any] = record(trace)
    return recorder


def describe(error: BaseException, program: Path) -> str:
    """`line 3: `x = y`: NameError: name 'y' is not defined`, in terms of the learner's own file."""
    name = type(error).__name__
    text = f"{name}: {error}" if str(error) else name
    frames = traceback.extract_tb(error.__traceback__)
    lines = [frame.lineno for frame in frames if frame.filename == str(program)]
    if not lines or lines[-1] is None:
        return text
    return f"line {lines[-1]}: `{linecache.getline(str(program), lines[-1]).strip()}`: {text}"


def ask(questions: dict[str, Any], names: dict[str, Any]) -> dict[str, Any]:
    """Computes expressions and texts, and finds the first goal that the state does not meet."""
    return {
        "values": [encode(evaluate(text, names)) for text in questions["values"]],
        "texts": [fill(text, names) for text in questions["texts"]],
        "failed": first_failed(questions["goals"], names),
    }


def first_failed(goals: list[list[str]], names: dict[str, Any]) -> str:
    """The message of the first goal that is not met, with its values filled in; "" if all are."""
    for check, message in goals:
        try:
            met = bool(evaluate(check, names))
        except Exception as error:
            if isinstance(error, NameError) and not in_program(error, names):
                return f"Your program has no name `{error.name}` at its end; the goal asks for one."
            return f"{message_or(message, names)} ({failure(check, error, names)})"
        if not met:
            return fill(message, names)
    return ""


def message_or(message: str, names: dict[str, Any]) -> str:
    """The message, or what is left of it when its values cannot be computed either."""
    try:
        return fill(message, names)
    except Exception:
        return "What the goal asks for cannot be looked at."


def in_program(error: BaseException, names: dict[str, Any]) -> bool:
    """Whether a line of the learner's program was running when it was raised."""
    frames = traceback.extract_tb(error.__traceback__)
    return any(frame.filename == names["__file__"] for frame in frames)


def failure(check: str, error: Exception, names: dict[str, Any]) -> str:
    """Where a check failed: at a line of the program, or in what it asks, where that is short."""
    if in_program(error, names):
        return describe(error, Path(names["__file__"]))
    asked = " ".join(check.split())
    said = describe_short(error)
    return f"`{asked}` says: {said}" if len(asked) <= SHORT_CHECK else said


def describe_short(error: BaseException) -> str:
    """`AttributeError: 'list' object has no attribute 'stride'`."""
    return f"{type(error).__name__}: {error}"


def evaluate(expression: str, names: dict[str, Any]) -> Any:
    """The expression's value. `names` are globals, so that comprehensions see them too."""
    return eval(compile(expression.strip(), "<check>", "eval"), names)


def fill(text: str, names: dict[str, Any]) -> str:
    """Replaces each `{expression}` by its value: `stride {x.stride()}` -> `stride (3, 1)`."""
    parts = []
    for literal, field, spec, _ in string.Formatter().parse(text):
        parts.append(literal)
        if field is not None:
            parts.append(format(evaluate(field, names), spec or ""))
    return "".join(parts)


def encode(value: Any) -> dict[str, Any]:
    """An answer as JSON: its kind (for comparing), its value and its text (for showing)."""
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, bool):
        return {"kind": "bool", "value": value, "text": str(value)}
    if isinstance(value, int | float):
        return {"kind": "number", "value": value, "text": repr(value)}
    if isinstance(value, list | tuple):
        plain = [encode(item)["value"] for item in value]
        opening, closing = "[]" if type(value) is list else "()"
        inner = ", ".join(encode(item)["text"] for item in value)
        comma = "," if opening == "(" and len(value) == 1 else ""
        return {"kind": "sequence", "value": plain, "text": f"{opening}{inner}{comma}{closing}"}
    text = str(value).removeprefix("engine.").removeprefix("torch.")
    return {"kind": "text", "value": text, "text": text}


if __name__ == "__main__":
    main(sys.argv[1])
