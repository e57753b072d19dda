"""Every case of every *.ir file through its pass: README.md says what is looked at."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from engine._native import ffi, lib
from engine._native.errors import raise_last
from engine.inspect.history.jit.ir import IrGraph
from tests.ir.cases import HERE, Case, all_cases, numbered_from_the_top

CASES = all_cases()


class Graph:
    """A handle of the C ABI, and what the tests ask of it."""

    def __init__(self, text: str) -> None:
        self.handle = _checked(lib.uh_graph_parse(text.encode()))

    def text(self) -> str:
        return _text(lib.uh_graph_text(self.handle, 0))

    def snapshot(self) -> str:
        return _text(lib.uh_graph_snapshot(self.handle))

    def verify(self) -> None:
        if lib.uh_graph_verify(self.handle) < 0:
            raise_last()

    def without_origin(self) -> set[int]:
        """By their numbers: a pass may give them other names."""
        lines = _text(lib.uh_graph_lint(self.handle)).splitlines()
        names = {line.split(" of ")[0][1:] for line in lines}  # the rest is its type and node
        return set(_numbers(json.loads(self.snapshot()), names))

    def run(self, name: str) -> list[dict[str, Any]]:
        return list(json.loads(_text(lib.uh_pass_run_recorded(self.handle, name.encode()))))


def _numbers(part: Any, names: set[str]) -> Iterator[int]:
    """Yield the numbers of the values of a snapshot that have these names."""
    if isinstance(part, list):
        for each in part:
            yield from _numbers(each, names)
    elif isinstance(part, dict):
        if "origins" in part and part["name"] in names:
            yield part["id"]
        for key, each in part.items():
            if key != "graphs":  # of groups, whose names are their own
                yield from _numbers(each, names)


def _text(pointer: Any) -> str:
    return str(ffi.string(_checked(pointer)).decode())


def _checked(value: Any) -> Any:
    if not value:
        raise_last()
    return value


@contextmanager
def parsed(text: str) -> Iterator[Graph]:
    graph = Graph(text)
    try:
        yield graph
    finally:
        lib.uh_graph_release(graph.handle)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_case(case: Case) -> None:
    with parsed(case.before) as graph:
        before, lint = graph.snapshot(), graph.without_origin()
        full = graph.text()
        rewrites = graph.run(case.pass_name)
        graph.verify()
        expected = numbered_from_the_top(case.after or full)
        assert numbered_from_the_top(graph.text()) == expected, f"{case}\n{graph.text()}"
        rules = [rewrite["rule"] for rewrite in rewrites]
        assert case.after or not rewrites, f"{case}: nothing was to change, but {rules}"
        assert set(case.rules) <= set(rules), f"{case}: the rules were {rules}"

        replay = IrGraph(before)
        for rewrite in rewrites:
            replay.apply(rewrite["edits"])
        after = json.loads(graph.snapshot())
        assert replay.graph == after, f"{case}: edits give another graph"
        assert graph.without_origin() <= lint, f"{case}: a Value without an origin"

        again = [rewrite["rule"] for rewrite in graph.run(case.pass_name)]
        assert not again, f"{case}: the second run changed the graph again: {again}\n{graph.text()}"


def test_every_pass_has_cases() -> None:
    passes = {_text(lib.uh_pass_name(i)) for i in range(lib.uh_pass_count())}
    without = passes - {case.pass_name for case in CASES}
    assert not without, f"{HERE.name}/<pass>.ir is missing for {sorted(without)}"


def test_every_file_is_named_as_a_pass() -> None:
    passes = {_text(lib.uh_pass_name(i)) for i in range(lib.uh_pass_count())}
    unknown = {case.pass_name for case in CASES} - passes
    assert not unknown, f"no pass has these names: {sorted(unknown)}"
