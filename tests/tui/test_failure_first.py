"""A recording that ended in an exception opens on it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.inspect.trace_builder import T, TraceBuilder
from tests.tui.waiting import exploring, screen_text, until
from tui.actions.queries import why
from tui.navigator import Navigator
from tui.render import ASCII, UNICODE
from tui.screens.text_modal import TextModal
from tui.widgets.markdown import prose

MESSAGE = "mat1 and mat2 shapes cannot be multiplied (8x144 and 100x10)"


pytestmark = pytest.mark.usefixtures("home")


@pytest.fixture
def failed() -> TraceBuilder:
    b = TraceBuilder()
    b.file("train.py", "x = ones(8, 144)\nw = ones(10, 100)\nlinear(x, w)\nnever()\n")
    outer = b.frame()
    b.line(1)
    x = b.tensor((8, 144), name="x")
    b.line(2)
    w = b.tensor((10, 100), name="w")
    b.line(3)
    with b.op("linear(Tensor input, Tensor weight) -> Tensor", [T(x), T(w)]) as call:
        call.fail(MESSAGE)
    b.exception("RuntimeError", MESSAGE, line=3)
    b.unbind("x", x)
    b.pop_frame(raised=True)
    assert outer
    return b


@pytest.mark.parametrize("glyphs", [UNICODE, ASCII])
@pytest.mark.parametrize("size", [(80, 24), (120, 40), (60, 20)])
def test_it_shows_message_shapes_and_line(
    failed: TraceBuilder, size: tuple[int, int], glyphs: object
) -> None:
    nav = Navigator(failed.history())
    assert nav.view == "source"
    assert nav.sentence().startswith("an exception was raised at line train.py:3")
    picture = nav.picture("source", *size, glyphs)
    text = picture.text()
    assert MESSAGE in " ".join(text.split()).replace(" multiplied ( ", " multiplied (")
    rows = text.splitlines()
    first, second = (
        next(row for row in rows if f"{name} " in row[4:13]) for name in ("input", "weight")
    )
    assert first.rstrip().endswith("144")
    assert len(first.rstrip()) == len(second.rstrip())  # aligned
    wrong = [
        span.text
        for y in range(picture.height)
        for span in picture.line(y)
        if "error" in span.style and span.text.isdigit()
    ]
    assert wrong == ["144", "100"]
    marked = next(row for row in rows if "linear(x, w)" in row)
    assert glyphs.fail in marked  # type: ignore[attr-defined]


def test_the_line_stays_marked_and_the_place_has_a_name(failed: TraceBuilder) -> None:
    nav = Navigator(failed.history(), at="start")
    assert UNICODE.fail in nav.picture("source", 80, 24, UNICODE).text()
    assert nav.go("error") == ""
    assert nav.line().line == 3
    nav = Navigator(TraceBuilder().history())
    assert "did not end with an exception" in nav.go("error")


async def test_it_opens_there_and_w_explains(failed: TraceBuilder, tmp_path: Path) -> None:
    async with exploring(failed.save(tmp_path / "failed.uht"), (80, 24)) as pilot:
        assert "it ended with RuntimeError on line 3; W explains it" in screen_text(pilot.app)
        await pilot.press("W")
        await until(pilot, lambda: isinstance(pilot.app.screen, TextModal))
        assert "The shapes do not fit" in pilot.app.screen.draw(90).text()


def test_why_of_a_selected_tensor_also_answers_for_it(failed: TraceBuilder) -> None:
    nav = Navigator(failed.history())
    nav.select_text("w")
    page = why(nav)
    assert "The shapes do not fit" in page
    assert "What keeps w alive?" in page


def test_a_long_message_shows_how_it_begins_and_ends_and_is_not_taken_for_markdown() -> None:
    lines = [
        "Caught KeyError in worker 0.",
        *(f'  File "{n}.py" *x* `y`' for n in range(30)),
        "the end",
    ]
    b = TraceBuilder()
    b.file("train.py", "for batch in loader: pass\n")
    b.frame()
    b.line(1)
    b.exception("KeyError", "\n".join(lines), line=1)
    b.pop_frame(raised=True)
    nav = Navigator(b.history())
    text = nav.picture("source", 80, 24, UNICODE).text()
    assert "Caught KeyError" in text
    assert "the end" in text
    assert "\n".join(lines) in why(nav)


def test_brackets_in_a_message_are_no_markdown_and_stay_a_heading() -> None:
    message = "modified by an inplace operation: [torch.FloatTensor [3]]"
    b = TraceBuilder()
    b.file("train.py", "loss.backward()\n")
    b.frame()
    b.line(1)
    b.exception("RuntimeError", message, line=1)
    b.pop_frame(raised=True)
    page = why(Navigator(b.history()))
    assert page.startswith(f"# RuntimeError: {message}")
    assert message in prose(page, 76).text()
