"""A recording made by a stranger: nothing in it reaches the terminal or a file raw."""

from __future__ import annotations

import csv
import os
import re
import sys
import time
import unicodedata
from collections.abc import Callable, Iterator
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path
from types import SimpleNamespace

import pytest

from engine.inspect.events import NUMBER
from engine.inspect.models import VIEWS
from tests.inspect.hostile import record, rewrite_texts
from tests.recordings import once
from tests.tui.waiting import exploring, screen_text, until_shown
from tui import paths
from tui.app import Underhood
from tui.cli import main
from tui.export import write_events, write_graph, write_view
from tui.navigator import Navigator, open_navigator
from tui.output import json_text
from tui.render import UNICODE, Span, cells, clean, clean_lines
from tui.views import view

BAD = ("Cc", "Cf", "Zl", "Zp", "Cs")
CONTROLS = [c for c in map(chr, range(sys.maxunicode + 1)) if unicodedata.category(c) in BAD]
RAW = re.compile("[" + "".join(re.escape(c) for c in CONTROLS if c != "\n") + "]")
IN_FILES = [c for c in CONTROLS if unicodedata.category(c) != "Cs"]  # UTF-8 has no surrogates
SEQUENCES = (
    "\x1b]52;c;aGk=\x07",
    "\x1b]0;title\x07",
    "\x1b[2J",
    "\x9b31m",
    "\u202e",
    "\r\n",
    "\u2066",
)


def assert_clean(text: str, label: object = "") -> None:
    raw = RAW.search(text)
    assert raw is None, f"{label}: {raw and raw[0]!r} in {text[max(0, raw.start() - 60) :][:120]!r}"


def test_there_are_controls_of_every_category() -> None:
    assert {unicodedata.category(c) for c in CONTROLS} == set(BAD)
    assert {"\x1b", "\x9b", "\x7f", "\u200f", "\u202e", "\u2068", "\u2028", "\ud800"} < set(
        CONTROLS
    )


@pytest.mark.parametrize("make", [lambda text: Span(text).text, clean, clean_lines])
def test_no_control_character_of_unicode_becomes_a_cell(make: Callable[[str], str]) -> None:
    text = "".join(f"a{c}" for c in CONTROLS)
    output = make(text)
    assert_clean(output)
    assert "\n" not in output or make is clean_lines
    assert output.count("a") == len(CONTROLS)
    for character in ("\x1b", "\u202e", "\ud800"):
        assert cells(character) == cells(make(character)) == 1


def test_what_is_no_control_stays_as_it_is() -> None:
    text = "plain, ┼▸│ ×\N{NO-BREAK SPACE}é 漢字 \N{GRINNING FACE} e\N{COMBINING ACUTE ACCENT}"
    assert Span(text).text == clean(text) == clean_lines(text) == text
    assert clean("a\tb") == "a   b"
    assert clean_lines("a\nb\r\n") == "a\nb·\n"


def test_json_has_no_control_character() -> None:
    assert re.fullmatch(r"[ -~\n]*", json_text({"".join(CONTROLS): CONTROLS}))


@pytest.fixture(scope="module")
def original() -> bytes:
    return (once("hostile", record) / "program.uht").read_bytes()


@pytest.fixture(scope="module", params=["texts", "names", "sequences"])
def hostile(
    request: pytest.FixtureRequest, original: bytes, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """A trace with control characters in every string: only in free text, or in names too."""
    trace = tmp_path_factory.mktemp(request.param) / "hostile.uht"
    trace.write_bytes(original)
    payloads = list(payloads_of(request.param))
    count = 0

    def change(column: str, text: str) -> str:
        nonlocal count
        count += 1
        payload = payloads[count % len(payloads)]
        return f"{payload}{text}{payload}"

    rewrite_texts(trace, change, names=request.param != "texts")
    assert count > len(payloads)
    return trace


def payloads_of(kind: str) -> Iterator[str]:
    if kind == "sequences":
        yield from SEQUENCES
    else:
        for at in range(0, len(IN_FILES), 6):
            yield "".join(IN_FILES[at : at + 6])


def navs(trace: Path) -> Iterator[Navigator]:
    """Yield the trace at twenty moments in every view."""
    nav = open_navigator(trace, "end", "memory")
    for number in range(20):
        nav.move(nav.last * number // 19)
        for name in VIEWS:
            nav.view = name
            yield nav


def test_no_view_shows_a_control_character(hostile: Path) -> None:
    drawn = 0
    for nav in navs(hostile):
        picture = nav.picture(nav.view, 220, 60, UNICODE)
        for y in range(min(picture.height, 300)):
            line = "".join(span.text for span in picture.line(y))
            drawn += "·" in line
            assert_clean(line, (nav.view, nav.moment, y))
            assert "\n" not in line
    assert drawn > 200


def test_show_and_export_write_no_control_character(hostile: Path, tmp_path: Path) -> None:
    for name in VIEWS:
        for options in ([], ["--json"]):
            out, err = StringIO(), StringIO()
            with redirect_stdout(out), redirect_stderr(err):
                assert main(["show", str(hostile), "--view", name, *options]) == 0
            assert_clean(out.getvalue(), ("show", name, options))
            assert_clean(err.getvalue(), ("show", name, options))
        nav = open_navigator(hostile, "end", name)
        for suffix in ("svg", "html", "txt", "json"):
            write_view(nav, tmp_path / f"v.{suffix}", 160, 40)
            assert_clean((tmp_path / f"v.{suffix}").read_text(), (name, suffix))
    nav = open_navigator(hostile, "end", "memory")
    for suffix in ("json", "csv"):
        write_events(nav, tmp_path / f"e.{suffix}")
        text = (tmp_path / f"e.{suffix}").read_bytes().decode()
        assert_clean(text.replace("\r\n", "\n"), suffix)  # CSV ends its lines so
    lines = len((tmp_path / "e.csv").read_text().splitlines())
    assert lines == nav.last + 2
    started = nav.history.tables.events["kind"].tolist().index(NUMBER["BACKWARD_BEGIN"])
    for name in ("autograd", "jit"):
        nav = open_navigator(hostile, str(started), name)
        write_graph(nav, tmp_path / "g.dot")
        assert_clean((tmp_path / "g.dot").read_text(), name)


def test_what_an_error_quotes_is_clean(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    evil = "".join(c for c in CONTROLS if c != "\0")
    assert main(["open", f"none{evil[:60]}.uht"]) == 1
    assert main(["show", str(tmp_path / f"none{evil[60:200]}.uht")]) == 1
    bad = tmp_path / "bad\x1b]0;x\x07.uht"
    bad.write_bytes(b"\x1b[2J no trace" * 20)
    assert main(["show", str(bad)]) == 1
    assert main(["export", str(bad), "-o", f"{tmp_path}/a\x9b.dot"]) == 1
    with pytest.raises(SystemExit):
        main([f"--{SEQUENCES[0]}"])
    text = "".join(capsys.readouterr())
    assert "bad·]0;x·.uht is not a trace" in text
    assert_clean(text)


class Dotted:
    """A folded graph whose parts are named to break out of DOT's strings."""

    EVIL = 'x" URL="javascript:alert(1)" image="/etc/passwd\\"\n}\nn9 [label="y'


def test_a_name_in_dot_cannot_end_its_string() -> None:
    from tui.views.autograd.dot import dot_text

    item = SimpleNamespace(members=(0, 1), label=Dotted.EVIL, times=2)
    box = SimpleNamespace(id=1)
    part = SimpleNamespace(nodes=[SimpleNamespace(id=1), SimpleNamespace(id=2)])
    folded = SimpleNamespace(items=[item], part=part, heads=[], tails=[], edges=[])
    model = SimpleNamespace(nodes=SimpleNamespace(of=lambda number: box))
    node = dot_text(model, folded).splitlines()[4]
    attributes = re.sub(r'"(?:[^"\\]|\\.)*"', '""', node)
    assert attributes == '  n0 [label="" peripheries=2 fillcolor=""];'


def test_a_cell_of_the_table_is_no_formula(original: bytes, tmp_path: Path) -> None:
    trace = tmp_path / "formula.uht"
    trace.write_bytes(original)
    rewrite_texts(trace, lambda column, text: f"=cmd|' /C calc'!A0 {text}")
    write_events(open_navigator(trace, "end", "memory"), tmp_path / "e.csv")
    with (tmp_path / "e.csv").open(newline="") as file:
        rows = list(csv.reader(file))
    assert any("=cmd" in cell for row in rows for cell in row)
    for row in rows[1:]:
        for cell in (row[3], row[-1]):
            assert not cell.startswith(("=", "+", "-", "@", "\t", "\r"))


def test_sentences_that_begin_like_formulas_are_quoted() -> None:
    from tui.exports.events import _cell

    assert [_cell(f"{sign}1") for sign in ("=", "+", "-", "@", " =", "\t=")] == [
        "'=1", "'+1", "'-1", "'@1", "' =1", "'    =1",
    ]  # fmt: skip
    assert _cell("x = 1") == "x = 1"


async def test_the_screens_show_no_control_character(
    hostile: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("UNDERHOOD_HOME", str(tmp_path))
    async with exploring(hostile) as pilot:
        app = pilot.app
        for keys in (
            ["]"],
            ["w"],
            ["o"],
            ["}"],
            ["W"],
            ["escape"],
            ["e"],
            ["escape"],
            ["y"],
            ["?"],
        ):
            await pilot.press(*keys)
            assert_clean(screen_text(app), keys)
        app.notify(f"warning {SEQUENCES[0]}{SEQUENCES[4]}", markup=False)
        await pilot.pause()
        assert_clean(screen_text(app), "notify")
        assert_clean(app.clipboard, "clipboard")


async def test_home_shows_no_control_character(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("UNDERHOOD_HOME", str(tmp_path))
    paths.trace_folder().mkdir(parents=True)
    for number, sequence in enumerate(SEQUENCES):
        file = paths.trace_folder() / f"evil{number}{sequence}.uht"
        file.write_bytes(b"")
        os.utime(file, (time.time() - number,) * 2)  # the home screen lists the newest few
    app = Underhood("home")
    async with app.run_test(size=(160, 50)) as pilot:
        await until_shown(pilot, "evil0·]52")
        assert_clean(screen_text(app))


def test_every_view_is_tried() -> None:
    assert all(view(name).title for name in VIEWS)
