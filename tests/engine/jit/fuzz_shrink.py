"""Makes a program smaller for as long as it still fails: statements go, blocks become what is in them,
expressions become one of their parts."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator


def shrunk(text: str, fails: Callable[[str], bool], max_tries: int = 2000) -> str:
    """Return the smallest text found with at most `max_tries` tries; `text` itself where it does not fail."""
    text = ast.unparse(ast.parse(text))
    if not fails(text):
        return text
    tries, result = 0, True
    while result:
        result = False
        for smaller in _smaller(text):
            tries += 1
            if tries > max_tries:
                return text
            if fails(smaller):
                text, result = smaller, True
                break
    return text


def _smaller(text: str) -> Iterator[str]:
    """Yield the text without one of its parts, for each part, the largest first."""
    size = sum(1 for _ in ast.walk(ast.parse(text)))
    edits = [*_edits(ast.parse(text))]
    for number in sorted(range(len(edits)), key=lambda i: -edits[i][0]):
        tree = ast.parse(text)
        [*_edits(tree)][number][1]()
        result = ast.unparse(ast.fix_missing_locations(tree))
        try:
            smaller = ast.parse(result)
        except SyntaxError:  # a part that cannot be assigned to
            continue
        if sum(1 for _ in ast.walk(smaller)) < size:
            yield result


def _edits(tree: ast.AST) -> Iterator[tuple[int, Callable[[], None]]]:
    """Yield every change of a tree, with the number of nodes that are its concern."""
    for node in ast.walk(tree):
        for field, value in ast.iter_fields(node):
            if isinstance(value, list):
                for i, item in enumerate(value):
                    yield from _edits_of_item(value, i, item)
            elif isinstance(value, ast.expr) and field not in ("annotation", "returns", "func"):
                for part in _parts(value):
                    yield _weight(value), _setter(node, field, part)


def _edits_of_item(
    items: list[ast.AST], i: int, item: ast.AST
) -> Iterator[tuple[int, Callable[[], None]]]:
    if isinstance(item, (ast.stmt, ast.ExceptHandler)) and not isinstance(item, ast.Return):
        if len(items) > 1:
            yield _weight(item), lambda: items.__delitem__(i)
        else:
            yield _weight(item), lambda: items.__setitem__(i, ast.Pass())
        for name in ("body", "orelse"):
            inner = getattr(item, name, None)
            if inner and not isinstance(item, ast.FunctionDef):
                yield 1, _splice(items, i, inner)
    elif isinstance(item, ast.expr):
        for part in _parts(item):
            yield _weight(item), lambda part=part: items.__setitem__(i, part)  # type: ignore[misc]


def _splice(items: list[ast.AST], i: int, inner: list[ast.AST]) -> Callable[[], None]:
    return lambda: items.__setitem__(slice(i, i + 1), inner)


def _setter(node: ast.AST, field: str, part: ast.expr) -> Callable[[], None]:
    return lambda: setattr(node, field, part)


def _parts(value: ast.expr) -> Iterator[ast.expr]:
    """Yield the parts of an expression, which may replace it."""
    for part in ast.iter_child_nodes(value):
        if isinstance(part, ast.expr):
            if isinstance(part, ast.Attribute) and isinstance(value, ast.Call):
                yield part.value
            else:
                yield part


def _weight(node: ast.AST) -> int:
    return sum(1 for _ in ast.walk(node))
