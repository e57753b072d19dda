"""`underhood export`: graphs, pictures and events as files for other programs."""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path

import pytest

from tests.inspect.jit_traces import LOOP, recorded
from tests.tui.program import saved
from tui.cli import main
from tui.export import ExportError, write_events, write_graph, write_view
from tui.navigator import Navigator


def compiled(view: str = "jit") -> Navigator:
    return Navigator(recorded(LOOP), view=view)


def test_the_graph_of_the_jit_as_dot_has_the_boxes_and_wires_of_the_drawing(tmp_path: Path) -> None:
    nav = compiled()
    write_graph(nav, tmp_path / "g.dot")
    text = (tmp_path / "g.dot").read_text()
    model = nav.model("jit")
    alive = {row.node for row in model.rows if row.change not in ("gone", "left", "removed")}
    drawn = {box.node for box in model.boxes} & alive
    assert {int(node) for node in re.findall(r"^  n(\d+) \[", text, re.MULTILINE)} == drawn
    wires = {(int(a), int(b)) for a, b in re.findall(r"n(\d+) -> n(\d+);", text)}
    assert wires == {pair for pair in model.wires if set(pair) <= drawn}
    assert wires
    assert "prim::Constant" not in re.sub(r'tooltip="[^"]*"', "", text)


@pytest.mark.parametrize("view", ["jit", "interpreter", "fused", "memory"])
def test_the_picture_of_a_view_as_svg_html_and_text(view: str, tmp_path: Path) -> None:
    nav = compiled(view)
    for suffix in ("svg", "html", "txt"):
        assert (
            write_view(nav, tmp_path / f"v.{suffix}", 100, 30) == f"written: {tmp_path}/v.{suffix}"
        )
    words = (tmp_path / "v.txt").read_text().split()
    svg = (tmp_path / "v.svg").read_text().replace("&#160;", " ")
    page = (tmp_path / "v.html").read_text()
    for word in words[:5]:
        if word.isalnum():
            assert word in svg
            assert word in page
    assert "@font-face" not in svg
    assert "<script" not in page


def test_the_facts_of_a_view_as_json(tmp_path: Path) -> None:
    write_view(compiled(), tmp_path / "v.json", 100, 30)
    assert json.loads((tmp_path / "v.json").read_text())["model"]["function"] == "looped"


def test_the_events_for_perfetto_are_nested_spans_of_each_thread(tmp_path: Path) -> None:
    nav = compiled()
    write_events(nav, tmp_path / "e.json")
    events = json.loads((tmp_path / "e.json").read_text())["traceEvents"]
    sorts = {event["cat"] for event in events}
    assert {"frame", "operator", "pass", "interpreter", "line", "rewrite"} <= sorts
    assert any(event["name"] == "pass peephole" for event in events)
    assert [event["ts"] for event in events] == sorted(event["ts"] for event in events)
    open_until: dict[int, list[float]] = {}
    for event in events:
        if event["ph"] == "X":
            assert event["dur"] >= 0
            stack = open_until.setdefault(event["tid"], [])
            while stack and stack[-1] <= event["ts"]:
                stack.pop()
            end = event["ts"] + event["dur"]
            assert not stack or end <= stack[-1] + 0.01, event
            stack.append(end)


def test_the_events_as_a_table_have_a_row_each(tmp_path: Path) -> None:
    nav = compiled()
    write_events(nav, tmp_path / "e.csv")
    with open(tmp_path / "e.csv", newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert [int(row["event"]) for row in rows] == list(range(nav.last + 1))
    event = nav.history.event(100)
    assert (rows[100]["kind"], rows[100]["sentence"]) == (event.kind, event.sentence)


def test_what_cannot_be_written_is_said(tmp_path: Path) -> None:
    with pytest.raises(ExportError, match=r"unsupported format \.doc"):
        write_view(compiled(), tmp_path / "v.doc", 80, 24)
    with pytest.raises(ExportError, match="memory is not a graph view; choose from autograd, jit"):
        write_view(compiled("memory"), tmp_path / "v.dot", 80, 24)
    with pytest.raises(
        ExportError, match=r"unsupported format no suffix; choose from \.json, \.csv"
    ):
        write_events(compiled(), tmp_path / "events")
    early = Navigator(recorded(LOOP), at="0", view="jit")
    with pytest.raises(ExportError, match="The compiler has not begun"):
        write_graph(early, tmp_path / "g.dot")


def test_the_command_writes_by_view_and_suffix(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    trace = str(saved(tmp_path))
    for arguments in (["--view", "memory", "-o", f"{tmp_path}/m.svg"], ["-o", f"{tmp_path}/e.csv"]):
        assert main(["export", trace, *arguments]) == 0
        assert f"written: {arguments[-1]}" in capsys.readouterr().out
    assert main(["export", trace, "--view", "memory", "-o", f"{tmp_path}/m.gv"]) == 1
    assert "is not a graph view" in capsys.readouterr().err


def test_a_graph_without_graphviz_names_what_needs_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tui.export import rendered

    def missing(name: str) -> None:
        raise ImportError(name)

    monkeypatch.setattr("tui.export.import_module", missing)
    with pytest.raises(
        ExportError, match=r"\.dot needs nothing, nor does \.svg with --view autograd"
    ):
        rendered("digraph {}", "svg", "autograd")
    with pytest.raises(
        ExportError, match=r"this \.png needs the package graphviz; \.dot needs nothing$"
    ):
        rendered("digraph {}", "png", "autograd")
