"""The process in which a learner's program runs. Started by path, so it imports nothing of ours.

    python child.py JOB.json

The job names the program, where to write the result, whether to record, and what to ask afterwards:
expressions to compute (predictions) or goals to check (exercises). The result is one JSON file; if
it is missing, the program never came back, and the parent says how it ended.
"""

from __future__ import annotations

import ast
import builtins
import contextlib
import ctypes
import faulthandler
import gc
import json
import linecache
import os
import signal
import string
import sys
import traceback
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

SHORT_CHECK = 60  # longer ones would show the lesson's code, not the mistake
MAX_VALUE = 160  # characters of a value in a message
MAX_ERROR = 300  # characters of an exception's text
MAX_WATCHED = 1000  # values of a watched expression that are kept


class Names(dict[str, Any]):
    """The names that checks can use: the checker's own names, then the program's.

    The program's names stay in its module: a copy would count as an owner of everything in it.
    """

    def __init__(self, program: dict[str, Any], own: dict[str, Any]) -> None:
        super().__init__(own)
        self["__builtins__"] = builtins
        self["names_of"] = lambda thing: [n for n, value in program.items() if value is thing]
        self.program = program

    def __missing__(self, name: str) -> Any:
        return self.program[name]


def main(job_path: str) -> None:
    """Runs the program, asks the questions, writes the answers."""
    job = json.loads(Path(job_path).read_text(encoding="utf-8"))
    program = Path(job["program"])
    sys.path[0] = str(program.parent)
    sys.argv = [str(program)]
    limit_memory(job["address_limit"], job["memory_limit"])
    stacks = open(job["stacks"], "w")  # noqa: SIM115  (open until the process ends)
    faulthandler.enable(stacks)
    faulthandler.register(signal.SIGUSR1, file=stacks)  # the parent asks where the program hangs
    this = os.getpid()
    own: dict[str, Any] = {}
    module: dict[str, Any] = {}
    watched: list[Any] = []
    error = ""
    try:
        own = checkers_names(program) if job["ask"] else {}
    except Exception as failure:
        error = f"the engine cannot be used: {describe_short(failure)}"
    if not error:
        with watching(program, job["watch"], watched):
            module, error = run(program, job["trace"])
    if os.getpid() != this:
        os._exit(0)  # a fork of the program came to the end: the answer is the first process's
    result: dict[str, Any] = {"error": error}
    if not error and job["ask"]:
        try:
            result |= ask(job["ask"], Names(module, own | {"watched": watched}))
        except BaseException as failure:  # the program's functions may end in any way
            result["error"] = f"the question cannot be computed: {describe_short(failure)}"
    write_result(Path(job["result"]), result)
    with contextlib.suppress(Exception):
        sys.stdout.flush()
    os._exit(0)  # a thread that the program left running must not keep its answer from us


def write_result(path: Path, result: dict[str, Any]) -> None:
    """Write the whole result or none: a process killed during this has no result."""
    draft = path.with_suffix(".draft")
    draft.write_text(json.dumps(result), encoding="utf-8")
    os.replace(draft, path)


def limit_memory(address: int, memory: int) -> None:
    """Limit memory: a program that keeps everything it makes gets a MemoryError, not the whole machine."""
    with contextlib.suppress(ImportError):
        import resource

        for kind, limit in ((resource.RLIMIT_AS, address), (resource.RLIMIT_DATA, memory)):
            with contextlib.suppress(ValueError, OSError):
                resource.setrlimit(kind, (limit, resource.getrlimit(kind)[1]))


@contextlib.contextmanager
def watching(program: Path, expression: str, values: list[Any]) -> Iterator[None]:
    """Note each new value of the expression, after every step of the program's own lines."""
    if not expression:
        yield
        return
    code = compile(expression.strip(), "<watch>", "eval")
    file = str(program)

    def step(frame: types.FrameType, event: str, _: Any) -> Any:
        if frame.f_code.co_filename != file:
            return None
        frame.f_trace_opcodes = True
        with contextlib.suppress(Exception):  # its names may not be there yet
            value = eval(code, sys.modules["__main__"].__dict__)
            if (not values or values[-1] != value) and len(values) < MAX_WATCHED:
                values.append(value)
        return step

    sys.settrace(step)
    try:
        yield
    finally:
        sys.settrace(None)


def checkers_names(program: Path) -> dict[str, Any]:
    """Return the names that checks may use besides the program's. `start` is taken before it runs."""
    import engine
    from engine.inspect import live

    return {
        "engine": engine,
        "live": live,
        "refcount": refcount,
        "count_in": count_in,
        "nodes_behind": nodes_behind,
        "start": live.allocator_stats(),
        "source": program.read_text(encoding="utf-8", errors="replace"),
    }


def refcount(thing: Any) -> int:
    """Return the count in the object's header, without the reference of this call's argument."""
    return ctypes.c_uint32.from_address(id(thing)).value - 1


def count_in(holder: Any, thing: Any) -> int:
    """Count the places at which `thing` is inside of `holder`, at any depth (not in modules and classes)."""
    skipped = (types.ModuleType, type, types.FunctionType, types.FrameType)
    count, seen, todo = 0, {id(holder)}, [holder]
    while todo:
        for referent in gc.get_referents(todo.pop()):
            if referent is thing:
                count += 1
            elif id(referent) not in seen and not isinstance(referent, skipped):
                seen.add(id(referent))
                todo.append(referent)
    return count


def nodes_behind(tensor: Any) -> list[Any]:
    """Return every Node of the graph that computed the tensor, each once, nearest first."""
    nodes = [tensor.grad_fn] if tensor.grad_fn is not None else []
    for node in nodes:  # grows while it is walked
        for next_node, _ in node.next_functions:
            if next_node is not None and next_node not in nodes:
                nodes.append(next_node)
    return nodes


def run(program: Path, trace: str | None) -> tuple[dict[str, Any], str]:
    """Run the file as `__main__`; return its names at the end, or the error."""
    module = types.ModuleType("__main__")
    module.__dict__["__file__"] = str(program)
    sys.modules["__main__"] = module
    try:
        code = compile(program.read_bytes(), str(program), "exec")
        with recording(trace):
            exec(code, module.__dict__)
    except SyntaxError as error:
        text = (error.text or "").strip()
        location = f"line {error.lineno}: " if error.filename == str(program) else ""
        return {}, f"{location}SyntaxError: {error.msg}" + (f": `{text}`" if text else "")
    except SystemExit as error:
        if error.code not in (None, 0):
            return {}, f"Your program ended with sys.exit({describe_code(error.code)})."
    except BaseException as error:
        return {}, describe(error, program)
    return module.__dict__, ""


def describe_code(code: object) -> str:
    """Describe the argument of sys.exit: a number, a string, or any object."""
    return shortened(repr(code), MAX_ERROR) if isinstance(code, int | str) else type(code).__name__


def recording(trace: str | None) -> contextlib.AbstractContextManager[Any]:
    """Records everything inside into the file `trace`, if one is wanted."""
    if trace is None:
        return contextlib.nullcontext()
    from engine.inspect.recorder import record

    recorder: contextlib.AbstractContextManager[Any] = record(trace)
    return recorder


def describe(error: BaseException, program: Path) -> str:
    """Return `line 3: `x = y`: NameError: name 'y' is not defined`, in terms of the learner's own file."""
    text = describe_short(error)
    frames = traceback.extract_tb(error.__traceback__)
    lines = [frame.lineno for frame in frames if frame.filename == str(program)]
    if not lines or lines[-1] is None:
        return text
    code = shortened(linecache.getline(str(program), lines[-1]).strip(), MAX_VALUE)
    return f"line {lines[-1]}: `{code}`: {text}"


def ask(questions: dict[str, Any], names: Names) -> dict[str, Any]:
    """Compute expressions and strings, and find the first goal that the state does not meet."""
    return {
        "values": [encode(evaluate(text, names)) for text in questions["values"]],
        "strings": [fill(text, names) for text in questions["strings"]],
        "failed": first_failed(questions["goals"], names),
    }


def first_failed(goals: list[list[str]], names: Names) -> str:
    """Return the message of the first goal that is not met, with its values filled in; "" if all are."""
    for check, message in goals:
        for name in bound_in(check):  # what an earlier check has put there says nothing about this
            names.pop(name, None)
        try:
            met = bool(evaluate(check, names))
        except Exception as error:
            if isinstance(error, NameError) and not in_program(error, names):
                return f"Your program has no name `{error.name}` at its end; the goal asks for one."
            return f"{fill(message, names, unknown='?')} ({failure(check, error, names)})"
        if not met:
            return fill(message, names, unknown="?")
    return ""


def bound_in(check: str) -> list[str]:
    """Return the names that a check gives to values by `:=`."""
    tree = ast.parse(check.strip(), mode="eval")
    return [node.target.id for node in ast.walk(tree) if isinstance(node, ast.NamedExpr)]


def in_program(error: BaseException, names: Names) -> bool:
    """Return True if a line of the learner's program was running when it was raised."""
    frames = traceback.extract_tb(error.__traceback__)
    return any(frame.filename == names["__file__"] for frame in frames)


def failure(check: str, error: Exception, names: Names) -> str:
    """Name the place at which a check failed: a line of the program, or a short check itself."""
    if in_program(error, names):
        return describe(error, Path(names["__file__"]))
    question = " ".join(check.split())
    reply = describe_short(error)
    return f"`{question}` says: {reply}" if len(question) <= SHORT_CHECK else reply


def describe_short(error: BaseException) -> str:
    """Return `AttributeError: 'list' object has no attribute 'stride'`."""
    name = type(error).__name__
    try:
        text = str(error)
    except BaseException as failure:  # its __str__ is the learner's, and may do anything
        return f"{name}, whose __str__ raises {type(failure).__name__}"
    return f"{name}: {shortened(text, MAX_ERROR)}" if text else name


def shortened(text: str, limit: int) -> str:
    """Return the text, without its middle where it is longer than `limit`."""
    if len(text) <= limit:
        return text
    return f"{text[: limit * 2 // 3]} ... {text[-limit // 4 :]}"


def evaluate(expression: str, names: dict[str, Any]) -> Any:
    """Return the expression's value. `names` are globals, so that comprehensions see them too."""
    return eval(compile(expression.strip(), "<check>", "eval"), names)


def fill(text: str, names: dict[str, Any], unknown: str | None = None) -> str:
    """Replaces each `{expression}` by its value: `stride {x.stride()}` -> `stride (3, 1)`.

    `{x!r}` takes its repr. A long value loses its middle. One that cannot be computed becomes `unknown`,
    or is an error.
    """
    parts = []
    for literal, field, spec, conversion in string.Formatter().parse(text):
        parts.append(literal)
        if field is None:
            continue
        try:
            value = evaluate(field, names)
            value = repr(value) if conversion == "r" else value
            parts.append(shortened(format(value, spec or ""), MAX_VALUE))
        except Exception:
            if unknown is None:
                raise
            parts.append(unknown)
    return "".join(parts)


def encode(value: Any) -> dict[str, Any]:
    """Return an answer as JSON: its kind (for comparing), its value and its text (for showing)."""
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
