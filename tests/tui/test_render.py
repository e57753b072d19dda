"""Pictures, grids, signs, styles, coloured Python: the parts that all views draw with."""

from __future__ import annotations

import pytest
from rich.cells import cell_len
from rich.style import Style

from engine.inspect.selection import TensorSelection
from tui.render import (
    ASCII,
    UNICODE,
    Picture,
    Span,
    Target,
    cells,
    clean,
    cut,
    cut_apart,
    fit,
    stack,
)
from tui.render.boxes import Grid
from tui.render.highlight import coloured, python
from tui.render.theme import STYLES, THEMES, definition


def test_lines_are_made_when_they_are_looked_at_and_once():
    requested = []

    def make(y):
        requested.append(y)
        return [Span(f"line {y}")]

    picture = Picture(10, 1_000_000, make)
    assert picture.line(999_999)[0].text == picture.line(999_999)[0].text == "line 999999"
    assert requested == [999_999]
    assert picture.line(-1) == picture.line(1_000_000) == ()


def test_stacked_pictures_keep_their_lines_and_are_drawn_lazily():
    requested = []
    parts = [
        Picture.of([[Span("a")], [Span("b")]]),
        Picture.of([]),
        Picture(9, 3, lambda y: requested.append(y) or [Span(f"c{y}")]),
    ]
    picture = stack(parts)
    assert (picture.width, picture.height) == (9, 5)
    assert picture.line(3)[0].text == "c1"
    assert requested == [1]
    assert picture.text() == "a\nb\nc0\nc1\nc2"
    assert stack([]).text() == ""


def test_a_cell_knows_what_it_stands_for():
    target = Target(TensorSelection(7))
    picture = Picture.of([[Span("日本"), Span("x = ", "dim"), Span("#7", "name", target)]])
    assert picture.targets(0) == [(8, 10, target)]
    assert [picture.target_at(x, 0) for x in (7, 8, 9, 10)] == [None, target, target, None]


@pytest.mark.parametrize("text", ["abc", "日本語", "e\u0301a", "a日b", "😀!"])
def test_widths_are_those_of_the_terminal(text):
    assert cells(text) == cell_len(text)


def test_names_that_differ_look_different_where_there_is_little_room():
    names = [
        "encoder.weight",
        "decoder.weight",
        "net.0.weight",
        "net.2.weight",
        "opt.state",
        "loss",
    ]
    visible = cut_apart(names, 8)
    assert len(set(visible.values())) == len(names)
    assert all(cells(text) <= 8 for text in visible.values())
    assert (visible["loss"], visible["opt.state"]) == ("loss", "…t.state")
    assert cut_apart(["日本語日本語", "日本語日本人"], 7).keys() == {"日本語日本語", "日本語日本人"}


def test_cut_and_fit_give_exact_widths():
    assert cut("abcdef", 4) == "abc…"
    assert cut("abcd", 4) == "abcd"
    assert cut("abc", 0) == ""
    assert cut("日本語", 4) == "日…"
    for width in range(8):
        assert cells(fit("a日本b", width)) == width
    assert fit("7", 3, align=">") == "  7"


def test_control_characters_cannot_leave_their_line():
    assert clean("a\x1b[31mb\nc\u202ed") == "a·[31mb·c·d"
    assert clean("\tx") == "    x"


@pytest.mark.parametrize("glyphs", [UNICODE, ASCII], ids=["unicode", "ascii"])
def test_every_sign_is_one_cell(glyphs):
    for field in glyphs.__slots__:
        if field != "name":
            signs = getattr(glyphs, field)
            assert cell_len(signs) == len(signs), field
    assert len(glyphs.wires) == len(glyphs.heavy) == 16
    assert len(glyphs.levels) == len(UNICODE.levels)
    assert glyphs is UNICODE or all(getattr(glyphs, f).isascii() for f in glyphs.__slots__)


def test_wires_join_whatever_order_they_are_drawn_in():
    strokes = [
        lambda grid: grid.across(0, 4, 1),
        lambda grid: grid.down(2, 0, 2),
        lambda grid: grid.across(2, 4, 2),
    ]
    strings = set()
    for order in ((0, 1, 2), (2, 1, 0), (1, 2, 0)):
        grid = Grid(5, 3, UNICODE)
        for stroke in order:
            strokes[stroke](grid)
        strings.add(grid.picture().text())
    assert strings == {"  │\n──┼──\n  ╰──"}


def test_a_lit_wire_is_heavy_where_it_shares_cells():
    grid = Grid(5, 1, UNICODE)
    grid.across(0, 2, 0, highlighted=True)
    grid.across(1, 4, 0)
    assert grid.picture().text() == "━━━──"


def test_text_stays_inside_its_room():
    grid = Grid(10, 2, UNICODE)
    assert grid.put(2, 0, "abcdefgh", room=4) == 6
    grid.put(8, 1, "日本")
    assert grid.picture().text() == "  abc…\n        …"
    assert all(cells("".join(s.text for s in grid.line(y))) <= 10 for y in (0, 1))


@pytest.mark.parametrize("theme", THEMES)
def test_every_style_is_one_that_rich_reads(theme):
    for name in STYLES:
        style = Style.parse(definition(name, theme))
        if theme == "mono":
            assert style.color is None, f"{name} has a colour in mono"


def test_in_mono_the_states_still_differ_from_text():
    plain = definition("text", "mono")
    states = (
        "highlighted",
        "current",
        "warn",
        "error",
        "good",
        "cursor",
        "dim",
        "ghost",
        "head",
        "name",
    )
    for name in states:
        assert definition(name, "mono") != plain, f"{name} differs from text by colour alone"


def test_later_styles_win_the_colour_and_all_attributes_stay():
    assert definition("name highlighted", "dark").split()[0] == "bold"
    assert "#ffd866 on #2f3450" in definition("number highlighted", "dark")
    with pytest.raises(KeyError, match="nonsense"):
        definition("nonsense")


@pytest.mark.parametrize(
    ("text", "styles"),
    [
        ("x = 1  # one", {"comment": "# one", "number": "1"}),
        ("return 'a # b'", {"keyword": "return", "string": "'a # b'"}),
        ('f"{x}" + y', {"string": 'f"{x}"'}),
        ("iffy = classes", {}),
    ],
)
def test_python_is_coloured_by_its_tokens(text, styles):
    spans, inside = coloured(text)
    assert "".join(span.text for span in spans) == text
    assert {span.style: span.text for span in spans if span.style != "text"} == styles
    assert not inside


def test_a_string_over_several_lines_is_one_string():
    lines = ('x = """one', "for = 2", 'three""" + y')
    got = python(lines)
    assert [span.style for span in got.line(1)] == ["string"]
    assert [(span.text, span.style) for span in got.line(2)] == [
        ('three"""', "string"),
        (" + y", "text"),
    ]
