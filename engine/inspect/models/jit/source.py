"""The rows of the sources of a graph: source lines, tokens and the syntax tree."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from engine.inspect.history.jit.ir import SourceRange
from engine.inspect.history.jit.source_ranges import Extent, inside
from engine.inspect.models._wording import method_name
from engine.inspect.selection import JitSelection, SyntaxSelection, ValueSelection

if TYPE_CHECKING:
    from engine.inspect.history import History


@dataclass(frozen=True, slots=True)
class SourceRow:
    """A line of a function. line 0: a heading with the function's name."""

    function: int
    line: int
    text: str
    item: SyntaxSelection | None  # what is selected by it
    highlighted: bool
    selected: bool
    spans: tuple[tuple[int, int], ...]  # columns of the highlighted source ranges


@dataclass(frozen=True, slots=True)
class TreeRow:
    """A node of the syntax tree; kind "": a heading with the function's name."""

    function: int
    depth: int
    field: str
    kind: str
    text: str
    line: int
    item: SyntaxSelection | None
    highlighted: bool
    selected: bool


@dataclass(frozen=True, slots=True)
class TokenRow:
    """A token."""

    function: int
    kind: str
    text: str
    line: int
    column: int
    item: SyntaxSelection
    highlighted: bool
    selected: bool


class LazyRows(Sequence[Any]):
    """Rows that are built on the first access."""

    def __init__(self, make: Callable[[], tuple[Any, ...]]) -> None:
        self._make = make
        self._built: tuple[Any, ...] | None = None

    def _rows(self) -> tuple[Any, ...]:
        if self._built is None:
            self._built = self._make()
        return self._built

    def __len__(self) -> int:
        return len(self._rows())

    def __getitem__(self, at: Any) -> Any:
        return self._rows()[at]


class Sources:
    """The functions that a graph comes from, with the rows of the selection highlighted."""

    def __init__(
        self,
        jit: Any,
        functions: Iterable[Any],
        family: frozenset[int],
        selected: JitSelection | None,
    ):
        self.jit, self.functions = jit, tuple(functions)
        self.selected = selected
        self.ranges = jit.links.own_ranges(family) if family else frozenset()
        self.selected_ranges = (
            jit.links.own_ranges((selected.value,))
            if isinstance(selected, ValueSelection)
            else frozenset()
        )

    def _in_file(self, function: Any, ranges: frozenset[SourceRange]) -> set[Extent]:
        return {
            (p.line, p.column, p.end_line, p.end_column) for p in ranges if p.file == function.file
        }

    def lines(self) -> tuple[SourceRow, ...]:
        rows: list[SourceRow] = []
        for function in self.functions:
            strings = function.source.splitlines()
            if len(self.functions) > 1 and strings:
                rows.append(
                    SourceRow(function.id, 0, method_name(function.name), None, False, False, ())
                )
            highlighted, selected = (
                self._in_file(function, self.ranges),
                self._in_file(function, self.selected_ranges),
            )
            for line, text in enumerate(strings, function.first_line):
                item = SyntaxSelection(function.id, "line", line)
                spans = tuple(
                    sorted({_columns(span, text) for span in highlighted if span[0] == line})
                )
                own = item == self.selected or any(span[0] == line for span in selected)
                rows.append(SourceRow(function.id, line, text, item, bool(spans), own, spans))
        return tuple(rows)

    def tree(self) -> tuple[TreeRow, ...]:
        rows: list[TreeRow] = []
        for function in self.functions:
            nodes = self.jit.tree(function.id)
            if len(self.functions) > 1 and nodes:
                name = method_name(function.name)
                rows.append(TreeRow(function.id, 0, "", "", name, 0, None, False, False))
            spans = [node.span for node in nodes]
            highlighted = _exact(self._in_file(function, self.ranges), spans)
            selected = _exact(self._in_file(function, self.selected_ranges), spans)
            for index, node in enumerate(nodes):
                item = SyntaxSelection(function.id, "tree", index)
                rows.append(
                    TreeRow(
                        function.id, node.depth, node.field, node.kind, node.text,
                        node.span[0] if node.span else 0, item,
                        index in highlighted, item == self.selected or index in selected,
                    )
                )  # fmt: skip
        return tuple(rows)

    def tokens(self) -> Sequence[TokenRow]:
        """Return the tokens, built on the first access: usually another pane is visible."""
        return LazyRows(self._tokens)

    def _tokens(self) -> tuple[TokenRow, ...]:
        rows: list[TokenRow] = []
        for function in self.functions:
            current, selected = (
                self._in_file(function, self.ranges),
                self._in_file(function, self.selected_ranges),
            )
            for index, (kind, text, *span) in enumerate(
                self.jit.syntax(function.id).get("tokens", [])
            ):
                item = SyntaxSelection(function.id, "token", index)
                extent = (span[0], span[1], span[2], span[3])
                # A token belongs to the smallest range that contains it: `*` to the product.
                highlighted = bool(text.strip()) and _within(extent, current)
                own = item == self.selected or (highlighted and _within(extent, selected))
                rows.append(
                    TokenRow(
                        function.id, kind, text, span[0], span[1], item, highlighted,
                        own,
                    )
                )  # fmt: skip
        return tuple(rows)


def _within(extent: Extent, spans: set[Extent]) -> bool:
    """Return whether a token is inside one of these ranges; a range of several lines highlights no token."""
    return any(inside(extent, item) for item in spans if item[0] == item[2])


def _columns(span: Extent, text: str) -> tuple[int, int]:
    """Return the columns of a range on its first line."""
    return (span[1], span[3]) if span[0] == span[2] else (span[1], len(text))


def _exact(extents: set[Extent], spans: list[Extent | None]) -> set[int]:
    """Return the tree nodes of these ranges: those with the same range, else the smallest that contains it."""
    matches = set()
    for extent in extents:
        same = [at for at, span in enumerate(spans) if span == extent]
        if not same:
            round_it = [at for at, span in enumerate(spans) if span and inside(extent, span)]
            same = round_it[-1:]  # the tree goes inwards
        matches.update(same)
    return matches


def functions_of(
    jit: Any, own: Any, extents: Iterable[SourceRange], moment: int
) -> tuple[Any, ...]:
    """Return the graph's own function, then those that were inlined into it."""
    files: dict[str, set[int]] = {}
    for extent in extents:
        files.setdefault(extent.file, set()).add(extent.line)
    matches = [own] if own is not None else []
    ran = files.get(own.file, set()) if own is not None and not own.source else set()
    if ran:
        matches = [_stretch(jit.history, own, min(ran), max(ran))]
    for function in jit.functions(moment):
        last = function.first_line + len(function.source.splitlines())
        lines = files.get(function.file, set())
        known = any((f.file, f.first_line) == (function.file, function.first_line) for f in matches)
        if not known and any(function.first_line <= line < last for line in lines):
            matches.append(function)
    return tuple(matches)


def _stretch(history: History, function: Any, first: int, last: int) -> Any:
    """Return the source of a traced function: the lines that ran while it was traced."""
    number = next((n for n, text in history.trace.strings.items() if text == function.file), 0)
    text = history.source(number)[1] if number else ""
    lines = text.splitlines()[max(0, first - 2) : last + 1]
    return replace(function, first_line=max(1, first - 1), source="\n".join(lines))
