"""A program as a function, compiled and not: the same results, writes, memory, gradients and errors.

Statements that assign `x...` are its inputs; the others are its body, which returns everything that it names.
"""

from __future__ import annotations

import ast
import itertools
import linecache
import types
import warnings
from collections.abc import Callable
from typing import Any

import engine
from tests.programs.grammar import Session
from tests.programs.outcome import Difference, Facts, different_fact, facts_of_all, tolerance_of

Check = Callable[[str], Difference | None]
CALLS = 4  # the last ones are specialised
NUMBERS = itertools.count()
NEAR = 1e-4


def source_of(text: str) -> tuple[list[str], list[str], str]:
    """The names of the inputs, those of the results, and the function."""
    body, names, results = [], [], []
    for node in ast.parse(text).body:
        target = node.targets[0] if isinstance(node, ast.Assign) else None
        name = target.id if isinstance(target, ast.Name) else ""
        if name.startswith("x") and name not in names and not body:
            names.append(name)
            continue
        body.append(ast.unparse(node))
        if name and name not in results and name not in names:
            results.append(name)
    lines = [line for statement in body for line in statement.split("\n")]
    result = ", ".join([*names, *results])
    head = f"def f({', '.join(names)}):"
    return (
        names,
        results,
        "\n".join([head, *("    " + line for line in lines), f"    return ({result},)"]) + "\n",
    )


def function_of(lib: Any, source: str) -> Any:
    """The function, in a new module whose source is visible to compilers."""
    file = f"<program {next(NUMBERS)}>"
    linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
    module = types.ModuleType("program")
    module.__dict__["lib"] = lib
    exec(compile(source, file, "exec"), module.__dict__)
    return module.__dict__["f"]


def inputs_of(lib: Any, text: str, names: list[str]) -> list[Any]:
    session = Session(lib)
    for node in ast.parse(text).body:
        if (
            isinstance(node, ast.Assign)
            and isinstance(node.targets[0], ast.Name)
            and node.targets[0].id in names
        ):
            error = session.run(ast.unparse(node))
            if error is not None:
                raise error
    return [session.names[name] for name in names]


def outcome(
    lib: Any, fn: Callable[..., Any], inputs: list[Any]
) -> tuple[str | None, str, dict[str, Facts]]:
    """The class of the error and its text, and facts of inputs and results, with gradients."""
    mode = lib.is_grad_enabled()
    leaves = [x for x in inputs if x.requires_grad and x.is_leaf]
    try:
        results = [*inputs, *fn(*inputs)]
    except Exception as error:
        return type(error).__name__, str(error), {}
    finally:
        lib.set_grad_enabled(mode)
    try:
        results += gradients(lib, results, leaves)
    except Exception as error:
        return "gradients: " + type(error).__name__, str(error), {}
    facts = facts_of_all(lib, {f"{i:03}": x for i, x in enumerate(results)})
    for number, (fact, x) in enumerate(zip(facts.values(), results, strict=True)):
        fact.update(grad_fn=None, _base=None, nbytes=0, grad=None, retains_grad=False)
        if number >= len(inputs):
            fact.update(_version=0, is_leaf=False)
        # The strides of dimensions of size 1 lead nowhere; a fused group's are those of row-major memory.
        strides = zip(x.stride(), x.shape, strict=True)
        fact["stride"] = [stride for stride, size in strides if size != 1]
        if not x.numel():
            fact.update(storage=0)
    return None, "", facts


def gradients(lib: Any, results: list[Any], leaves: list[Any]) -> list[Any]:
    """The gradients of the sum of all results in the leaves that have one."""
    parts = [x.abs().sum() for x in results if x.requires_grad]
    if not leaves or not parts:
        return []
    total = parts[0]
    for part in parts[1:]:
        total = total + part.to(total.dtype)
    return [x for x in lib.autograd.grad(total, leaves, allow_unused=True) if x is not None]


def compare(label: str, ours: Any, expected: Any, source: str) -> Difference | None:
    if ours[0] != expected[0] and not is_raised_within(ours, expected):
        fact = (
            "raises"
            if expected[0] is None
            else "does not raise"
            if ours[0] is None
            else "error class"
        )
        detail = f"{label}: {ours[0]} ({ours[1]}), not {expected[0]} ({expected[1]})"
        return Difference(fact, source, detail)
    tolerance = max(NEAR, tolerance_of(expected[2]))
    for name, facts in ours[2].items():
        fact = different_fact(facts, expected[2][name], tolerance)
        if fact:
            return Difference(
                fact, source, f"{label}, part {name}: {facts[fact]}, not {expected[2][name][fact]}"
            )
    return None


def is_raised_within(ours: Any, expected: Any) -> bool:
    """Return True if the error is a jit.Error for the expected one, which a compiled Python function raised."""
    return ours[0] == "Error" and f"builtins.{expected[0]}: {expected[1]}" in ours[1]


def scripted(text: str) -> Difference | None:
    return _compiled(text, script, CALLS)


def traced(text: str) -> Difference | None:
    return _compiled(text, trace, CALLS)


Compiler = Callable[[Any, Any, list[Any]], Any]


def script(lib: Any, f: Any, inputs: list[Any]) -> Any:
    return lib.jit.script(f)


def trace(lib: Any, f: Any, inputs: list[Any]) -> Any:
    return lib.jit.trace(f, tuple(inputs), check_trace=False)


def compiles_as(torch: Any, text: str, compiler: Compiler) -> bool:
    """Return true if both compile the program to the same, or neither compiles it.

    Compiled code may differ from Python: `x[...]` is `x` there, `.data` is not traced.
    """
    names, _, source = source_of(text)
    programs: list[Any] = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for lib in (engine, torch):
            f = function_of(lib, source)
            try:
                programs.append((lib, compiler(lib, f, inputs_of(lib, text, names))))
            except Exception:
                programs.append((lib, None))
        if None in (program for _, program in programs):
            return all(program is None for _, program in programs)
        for call in range(CALLS):
            ours, other = (
                outcome(lib, program, inputs_of(lib, text, names)) for lib, program in programs
            )
            if ours[0] and other[0]:  # every error of PyTorch's interpreter is a RuntimeError
                continue
            if compare(f"call {call + 1}", ours, other, source):
                return False
    return True


def without_dead_writes(text: str) -> str:
    """The program without the statements that write a new tensor only, which nothing reads.

    Compiled code does not run them, as PyTorch's does not, so that their errors do not come.
    """
    return "\n".join(
        ast.unparse(node)
        for node in ast.parse(text).body
        if not (isinstance(node, ast.Expr) and _writes_new_tensor(node.value))
    )


def _writes_new_tensor(call: ast.expr) -> bool:
    outs = [k.value for k in getattr(call, "keywords", ()) if k.arg == "out"]
    names = {n.id for out in outs for n in ast.walk(out) if isinstance(n, ast.Name)}
    return bool(outs) and names == {"lib"}


def compilable_part(lib: Any, text: str, compiler: Compiler) -> str:
    """The inputs, and each statement that `lib` can compile after those before it."""
    part: list[str] = []
    for node in ast.parse(text).body:
        with_node = [*part, ast.unparse(node)]
        names, _, source = source_of("\n".join(with_node))
        try:
            compiler(lib, function_of(lib, source), inputs_of(lib, "\n".join(with_node), names))
        except Exception:
            continue
        part = with_node
    return "\n".join(part)


def _compiled(text: str, compiler: Compiler, calls: int) -> Difference | None:
    result = _difference(text, compiler, calls)
    if result is not None and result.fact == "does not raise":
        live = without_dead_writes(text)
        if live != text:
            return _difference(live, compiler, calls)
    return result


def _difference(text: str, compiler: Compiler, calls: int) -> Difference | None:
    names, _, source = source_of(text)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        f = function_of(engine, source)
        expected = outcome(engine, f, inputs_of(engine, text, names))
        try:
            program = compiler(engine, f, inputs_of(engine, text, names))
        except Exception as error:
            if expected[0] is not None:
                return None
            return Difference("does not compile", source, f"{type(error).__name__} {error}")
        for call in range(calls):
            ours = outcome(engine, program, inputs_of(engine, text, names))
            result = compare(f"call {call + 1}", ours, expected, source)
            if result is not None:
                return result
    return None
