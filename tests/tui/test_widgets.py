"""The cursor, the strip of time and the lesson text, as pure functions."""

from __future__ import annotations

from engine.inspect.selection import TensorSelection
from tui.render import ASCII, UNICODE, Picture, Span, Target
from tui.widgets.cursor import (
    CursorPosition,
    beyond,
    first_position,
    keep_position,
    merged_targets,
    nearest,
    next_on_row,
)
from tui.widgets.markdown import prose
from tui.widgets.scrubber import column_of, draw_strip, moment_at

A, B, C = (Target(TensorSelection(n)) for n in (1, 2, 3))
PICTURE = Picture.of(
    [
        [Span("head")],
        [Span("ab", target=A), Span("c", target=A), Span("  "), Span("b", target=B)],
        [],
        [Span("    "), Span("c", target=C)],
    ]
)


def test_spans_of_one_thing_are_one_place() -> None:
    assert merged_targets(PICTURE, 1) == [(0, 3, A), (5, 6, B)]


def test_the_cursor_goes_from_thing_to_thing() -> None:
    first = first_position(PICTURE, 0)
    assert first == CursorPosition(1, 0, 3, A)
    right = next_on_row(PICTURE, first, 1)
    assert right == CursorPosition(1, 5, 6, B)
    assert next_on_row(PICTURE, right, 1) is None
    assert next_on_row(PICTURE, right, -1) == first
    below = beyond(PICTURE, right, 1)
    assert below == CursorPosition(3, 4, 5, C)
    assert beyond(PICTURE, below, 1) is None
    assert beyond(PICTURE, below, -1) == right  # nearest in column
    assert nearest(PICTURE, 2, 0) in (first, below)


def test_the_cursor_stays_on_its_thing_in_a_new_picture() -> None:
    moved = Picture.of([[], [], [Span(" "), Span("b", target=B)], [Span("x", target=C)]])
    assert keep_position(moved, CursorPosition(1, 5, 6, B)) == CursorPosition(2, 1, 2, B)
    assert keep_position(moved, CursorPosition(1, 0, 3, A)) == CursorPosition(
        2, 1, 2, B
    )  # gone: the nearest
    assert keep_position(Picture.of([]), CursorPosition(1, 0, 3, A)) is None
    assert keep_position(moved, None) is None


def test_the_strip_of_time_goes_from_the_first_to_the_last_moment() -> None:
    assert [moment_at(x, 80, 1000) for x in (0, 79)] == [0, 999]
    assert [column_of(m, 80, 1000) for m in (0, 999)] == [0, 79]
    for glyphs in (UNICODE, ASCII):
        spans = draw_strip([0.0, 0.5, 1.0, 0.0], 3, 4, 4, glyphs)
        assert "".join(span.text for span in spans)[3] == glyphs.current
        assert sum(span.width for span in spans) == 4
    assert draw_strip([], 0, 0, 80, UNICODE)[0].text == " no events"


TEXT = """\
# Strides

A tensor of **six `cells`** is
one row, `x[0]`, *really*.

- first
  and more
- second

```python
x = 1  # one
```
> quoted
"""


def test_prose_lays_out_what_lessons_use() -> None:
    lines = prose(TEXT, 34).text().split("\n")
    assert lines[0] == "Strides"
    assert "A tensor of six cells is one row," in lines
    assert "x[0], really." in lines
    assert "· first and more" in lines
    assert "· second" in lines
    assert "  x = 1  # one" in lines
    assert any(line.endswith("quoted") for line in lines)


def test_prose_never_exceeds_its_width_and_marks_more_than_colour() -> None:
    for width in (20, 33, 80):
        picture = prose(TEXT + "w" * 200, width)
        assert all(len(line) <= width for line in picture.text().split("\n"))
    marked = prose(TEXT, 80).text(styles=True)
    assert "⟨title:six⟩" in marked
    assert "⟨title op:cells⟩" in marked


def test_a_line_of_code_is_folded_and_never_cut() -> None:
    from tui.widgets.markdown import FOLDED, prose

    code = 'for name in ("temperature", "day", "week", "stations"):'
    lines = prose(f"```\n{code}\n```", 30).text().splitlines()
    assert max(map(len, lines)) <= 30
    full = lines[0] + "".join(line[2 + FOLDED :] for line in lines[1:])
    assert full.replace(" ", "") == code.replace(" ", "")


def test_a_line_of_code_is_folded_between_names() -> None:
    from tui.widgets.markdown import fold

    code = "reasons = [history.text(int(m)) for m in history.bail_outs.since]"
    spans = [Span(code[:40]), Span(code[40:], "op")]
    strings = ["".join(span.text for span in line) for line in fold(spans, 50)]
    assert strings == [
        "reasons = [history.text(int(m)) for m in ",
        "      history.bail_outs.since]",
    ]
    assert ["".join(span.text for span in line) for line in fold([Span("x" * 9)], 8)] == [
        "xxxxxxxx",
        "      x",
    ]
    assert fold([], 8) == [[]]


TABLE = """
| kind | operand | what it does |
|---|---|---|
| `LOAD` | a register | copies the value of a register to the stack, and keeps the register as it is |
| **static**: Theano | *once* | - |
"""


def test_a_table_has_columns_where_there_is_room() -> None:
    lines = [line.rstrip() for line in prose(TABLE.strip(), 60).text().splitlines()]
    assert lines[0].split() == ["kind", "operand", "what", "it", "does"]
    assert set(lines[1]) == {"─", " "}
    begins = [lines[0].index(word) for word in ("kind", "operand", "what")]
    assert [lines[2].index(word) for word in ("LOAD", "a register", "copies")] == begins
    assert lines[3].strip()  # the long cell continues below itself
    assert len(lines[3]) - len(lines[3].lstrip()) == begins[2]
    assert all(len(line) <= 60 for line in lines)


def test_a_table_without_room_is_a_list() -> None:
    lines = [line.rstrip() for line in prose(TABLE.strip(), 24).text().splitlines()]
    assert all(len(line) <= 24 for line in lines)
    assert lines[0].split() == [UNICODE.dot, "LOAD"]
    assert lines[1].strip() == "operand: a register"
    assert "".join(lines).count("LOAD") == 1


def test_a_table_without_a_head_has_rows_only() -> None:
    lines = prose("| | |\n|---|---|\n| `a` | one |\n| `bb` | two |", 40).text().splitlines()
    assert [line.split() for line in lines] == [["a", "one"], ["bb", "two"]]
    assert lines[0].index("one") == lines[1].index("two")
