"""No module needs itself to be imported; imports inside functions are counted."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.architecture.sources import (
    Use,
    import_targets,
    imports,
    module_of,
    report,
    text_of,
    under,
)

# At most this many imports inside functions; a number only falls. Most defer a module that few programs need.
MAX_DEFERRED = {"engine": 104, "tui": 89, "lessons": 4}


def eager_imports(path: Path) -> Iterator[Use]:
    """Yield the imports that run when the module is imported; not those for types only."""
    yield from _eager(path, ast.parse(text_of(path)).body)


def _eager(path: Path, body: list[ast.stmt]) -> Iterator[Use]:
    for node in body:
        match node:
            case ast.Import() | ast.ImportFrom():
                yield from import_targets(path, node)
            case ast.If(test=ast.Name(id="TYPE_CHECKING")):
                yield from _eager(path, node.orelse)
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                pass
            case _:
                for field in ("body", "orelse", "finalbody", "handlers"):
                    for inner in getattr(node, field, []):
                        is_handler = isinstance(inner, ast.ExceptHandler)
                        yield from _eager(path, inner.body if is_handler else [inner])


def cycles(graph: dict[str, set[str]]) -> list[list[str]]:
    """Return the strongly connected components of more than one module (Tarjan)."""
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    components = []

    def visit(name: str) -> None:
        index[name] = low[name] = len(index)
        stack.append(name)
        for target in sorted(graph[name]):
            if target not in index:
                visit(target)
                low[name] = min(low[name], low[target])
            elif target in stack:
                low[name] = min(low[name], index[target])
        if low[name] == index[name]:
            start = stack.index(name)
            component = stack[start:]
            del stack[start:]
            if len(component) > 1:
                components.append(sorted(component))

    for name in sorted(graph):
        if name not in index:
            visit(name)
    return components


@pytest.mark.parametrize("package", list(MAX_DEFERRED))
def test_no_modules_import_each_other(package: str) -> None:
    paths = {module_of(path): path for path in under(package, ".py")}
    graph = {
        name: {use.target for use in eager_imports(path)} & set(paths) - {name}
        for name, path in paths.items()
    }
    assert not (present := cycles(graph)), report([", ".join(c) for c in present])


@pytest.mark.parametrize("package", list(MAX_DEFERRED))
def test_imports_inside_functions_do_not_increase(package: str) -> None:
    deferred = [
        use
        for path in under(package, ".py")
        for use in set(imports(path)) - set(eager_imports(path))
        if use.target.split(".")[0] in MAX_DEFERRED
    ]
    assert len(deferred) <= MAX_DEFERRED[package], f"{len(deferred)} imports inside functions"


def test_a_cycle_is_found() -> None:
    assert cycles({"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": {"a"}}) == [["a", "b", "c"]]
    assert cycles({"a": {"b"}, "b": set()}) == []
