"""The observable state of a program's tensors, noted at checkpoints and written at the end.

`instrumented(source)` puts a call of `look` after every statement of a program. It notes every count
there is of every tensor that the names lead to. Run alone and run recorded, a program must give the
same report, to the letter. Nothing here calls an operator or keeps anything from look to look.
"""

from __future__ import annotations

import ast
import atexit
import ctypes
import gc
import os
import sys
import zlib
from collections.abc import Iterator
from types import CellType, FunctionType, GeneratorType
from typing import Any

MAX_CHECKPOINTS = 1500

# When the cycle collector runs depends on how many containers the interpreter has made since it
# started, other people's modules included: a cycle's end is not a program's own doing.
gc.disable()

# ---- putting the looks in


def instrumented(source: str) -> str:
    """Return the program with a look at its names after every statement that may be followed by one."""
    parsed = ast.parse(source)
    tree = _Instrument(_compiled(parsed)).visit(parsed)
    position = 1 if ast.get_docstring(tree) else 0
    tree.body.insert(
        position, ast.parse("from tests.end_to_end.probe import look as _look").body[0]
    )
    return ast.unparse(ast.fix_missing_locations(tree))


def _compiled(tree: ast.Module) -> set[str]:
    """Return the functions that jit.script compiles: Python does not run them line by line."""
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and any(map(_is_script, node.decorator_list)):
            names.add(node.name)
        if isinstance(node, ast.Call) and _is_script(node.func):
            names |= {arg.id for arg in node.args if isinstance(arg, ast.Name)} | {"forward"}
    return names


def _is_script(node: ast.expr) -> bool:
    return isinstance(node, ast.Attribute) and node.attr == "script"


class _Instrument(ast.NodeTransformer):
    def __init__(self, compiled: set[str]) -> None:
        self._compiled = compiled

    def visit_Module(self, node: ast.Module) -> ast.Module:
        node.body = self._block(node.body, set())
        return node

    def _block(self, body: list[ast.stmt], bound: set[str]) -> list[ast.stmt]:
        """`bound`: the names that certainly hold something when the block is entered."""
        out: list[ast.stmt] = []
        for statement in body:
            self._inside(statement, bound)
            out.append(statement)
            for name in _targets(statement):
                (bound.discard if isinstance(name.ctx, ast.Del) else bound.add)(name.id)
            if not isinstance(statement, (ast.Return, ast.Raise, ast.Break, ast.Continue)):
                inputs = ", ".join(f"{name}={name}" for name in sorted(bound))
                out += ast.parse(f"_look({inputs})").body
        return out

    def _inside(self, statement: ast.stmt, bound: set[str]) -> None:
        if isinstance(statement, ast.ClassDef):
            for inner in statement.body:
                self._inside(inner, set())
            return
        if isinstance(statement, ast.FunctionDef) and statement.name in self._compiled:
            return
        known = set(bound)
        if isinstance(statement, ast.FunctionDef):
            known = {argument.arg for argument in statement.args.args}
        if isinstance(statement, ast.For):
            known |= {n.id for n in ast.walk(statement.target) if isinstance(n, ast.Name)}
        for field in ("body", "orelse", "finalbody"):
            inner = getattr(statement, field, None)
            if isinstance(inner, list) and inner and isinstance(inner[0], ast.stmt):
                setattr(statement, field, self._block(inner, set(known)))
        for handler in getattr(statement, "handlers", ()):
            handler.body = self._block(handler.body, set(known))


def _targets(statement: ast.stmt) -> Iterator[ast.Name]:
    """Yield the names that a simple statement binds or deletes."""
    item = [statement.target] if isinstance(statement, (ast.AugAssign, ast.AnnAssign)) else []
    for target in getattr(statement, "targets", item):
        for node in ast.walk(target):
            if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
                yield node


# ---- looking

_notes: list[str] = []


def look(**names: Any) -> None:
    """Notes all tensors that the names lead to, and what the allocators have counted."""
    if len(_notes) >= MAX_CHECKPOINTS:
        return
    from engine.inspect import live

    caller = sys._getframe(1)
    lines = [f"{caller.f_code.co_name}:{caller.f_lineno}"]
    lines += [f"  {live.allocator_stats(which)}" for which in ("cpu", "pool")]
    seen: set[int] = set()
    for name in names:
        _visit(name, names[name], seen, lines)
    _notes.append("\n".join(lines))


def _visit(path: str, value: Any, seen: set[int], lines: list[str]) -> None:
    import engine

    if id(value) in seen or len(path) > 60:
        return
    seen.add(id(value))
    if isinstance(value, engine.Tensor):
        lines.append(f"  {path}: {_counts(value)}")
        return
    for index, item in enumerate(_inside(value)):
        _visit(f"{path}.{index}", item, seen, lines)


def _inside(value: Any) -> Iterator[Any]:
    """Yield the referents of a container, closure, generator or instance of one of the program's classes.

    By way of the garbage collector, which makes no `__dict__` for it.
    """
    if isinstance(value, FunctionType):
        return iter(value.__closure__ or ())
    own = type(value).__module__ == "__main__"
    if own or type(value) in (list, tuple, dict, set, CellType, GeneratorType):
        return (item for item in gc.get_referents(value) if not isinstance(item, type))
    return iter(())


def _counts(x: Any) -> str:
    from engine._native import lib
    from engine.inspect import live

    start, size = lib.uh_storage_data_ptr(x._h), lib.uh_storage_nbytes(x._h)
    data = ctypes.string_at(start, size) if start and not x.is_meta else b""
    return (
        f"tensor {live.tensor_id(x)} storage {live.storage_id(x)} counter {live.counter_id(x)} "
        f"refs {sys.getrefcount(x)} uses {live.use_count(x)} held {live.storage_use_count(x)} "
        f"version {x._version} {tuple(x.shape)} {x.stride()} bytes {size} {zlib.crc32(data):08x}"
    )


def _write_notes(path: str) -> None:
    with open(path, "w") as stream:
        stream.write("\n".join(_notes))


if "PROBE_REPORT" in os.environ:
    atexit.register(_write_notes, os.environ.pop("PROBE_REPORT"))
