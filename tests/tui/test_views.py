"""Every view fits, explains its symbols, can be drawn in ASCII, and draws the same twice."""

from __future__ import annotations

import subprocess
import sys
from functools import lru_cache

import pytest

from engine.inspect.models import VIEWS
from engine.inspect.selection import Selection
from tests.inspect.models.story import Story, record
from tests.inspect.selections import select
from tests.inspect.trace_builder import TraceBuilder
from tui.render import ASCII, UNICODE, Glyphs, Picture
from tui.render.theme import STYLES
from tui.views import DrawContext, help_of, key_groups, view, views
from tui.views._memory_group import Group

NAMES = sorted(views())
SIZES = ((80, 24), (120, 40), (200, 60))


@lru_cache(maxsize=1)
def story() -> Story:
    return record()


def drawn(name: str, moment: int, width: int, height: int, glyphs: Glyphs, **selected) -> Picture:
    selection = select(**selected)
    model = view(name).project(story().history, moment, selection)
    return view(name).draw(model, DrawContext(width, height, glyphs, selection))


@lru_cache(maxsize=64)
def pictures(name: str, glyphs: Glyphs) -> tuple[Picture, ...]:
    """Return the view at many moments, sizes and selections."""
    output = story()
    moments = (0, *output.lines.values(), output.inside, output.end)
    selected = (
        {},
        {"tensor": output.y, "storage": 1},
        {"storage": 1, "byte": 4},
        {"tensor": output.z},
    )
    return tuple(
        drawn(name, moment, width, height, glyphs, **selection)
        for moment in moments
        for width, height in SIZES[:2]
        for selection in selected
    )


def test_every_model_has_a_view_and_every_view_a_key():
    assert set(VIEWS) <= set(views())
    keys = [known.key for known in views().values()]
    assert len(set(keys)) == len(keys), f"two views share a key: {keys}"
    assert [row.keys for row in key_groups()[0].rows] == keys


@pytest.mark.parametrize("name", NAMES)
def test_it_fits_the_width_it_was_given(name):
    for width, height in SIZES:
        picture = drawn(name, story().end, width, height, UNICODE, tensor=story().y)
        wide = {y: sum(span.width for span in picture.line(y)) for y in range(picture.height)}
        too_wide = {y: cells for y, cells in wide.items() if cells > picture.width}
        assert not too_wide, f"lines wider than the picture: {too_wide}"
        assert picture.width <= width


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("glyphs", [UNICODE, ASCII], ids=["unicode", "ascii"])
def test_every_sign_has_a_sentence(name, glyphs):
    signs = "".join(glyph for glyph in _signs(UNICODE)) if glyphs is UNICODE else ""
    explained = "".join(help_of(name, glyphs))
    output = set("".join(picture.text() for picture in pictures(name, glyphs)))
    unexplained = {sign for sign in output & set(signs) if sign not in explained}
    assert not unexplained, f"{name} draws {unexplained} and HELP does not say what they mean"
    if glyphs is UNICODE:
        strange = {sign for sign in output if not sign.isascii() and sign not in explained}
        assert not strange, f"{name} draws {strange}, which are in no set of signs and not in HELP"


def _signs(glyphs: Glyphs) -> list[str]:
    values = (getattr(glyphs, field) for field in glyphs.__slots__ if field != "name")
    return [sign for signs in values for sign in signs if not sign.isascii()]


@pytest.mark.parametrize("name", NAMES)
def test_ascii_is_ascii(name):
    output = set("".join(picture.text() for picture in pictures(name, ASCII)))
    assert all(sign.isascii() for sign in output), {s for s in output if not s.isascii()}


@pytest.mark.parametrize("name", NAMES)
def test_every_style_is_in_the_table(name):
    for picture in pictures(name, UNICODE):
        for y in range(picture.height):
            for span in picture.line(y):
                unknown = [style for style in span.style.split() if style not in STYLES]
                assert not unknown, f"{name} draws {span.text!r} in {unknown}"


@pytest.mark.parametrize("name", NAMES)
def test_the_same_moment_is_the_same_picture(name):
    for width, height in SIZES:
        first, second = (
            drawn(name, story().inside, width, height, UNICODE, tensor=story().x) for _ in range(2)
        )
        assert first.text(styles=True) == second.text(styles=True)


OWN = (
    "autograd",
    "fused",
    "interpreter",
    "jit",
    "queue",
    "rulebook",
)  # the story has nothing for them: other tests draw them


@pytest.mark.parametrize("name", [name for name in NAMES if name not in OWN])
def test_a_selection_shows_without_colour(name):
    """A highlight differs in its symbols or its attributes, not in colour alone."""
    output = story()
    plain, highlighted = (
        drawn(name, output.lines[12], 120, 40, UNICODE, tensor=tensor)
        for tensor in (output.x, output.z)
    )
    assert plain.text() != highlighted.text(), (
        f"{name}: selecting another tensor changes colours at most"
    )


@pytest.mark.parametrize("name", NAMES)
def test_an_empty_trace_can_be_drawn(name):
    history = TraceBuilder().history()
    model = view(name).project(history, -1, Selection())
    assert view(name).draw(model, DrawContext(80, 24)).text() is not None


def test_drawing_needs_no_textual():
    code = (
        "import sys, tui.views; tui.views.views();"
        "print([m for m in ('textual', 'rich', 'pygments') if m in sys.modules])"
    )
    completed = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert completed.stdout.strip() == "[]", (
        f"importing every view imports {completed.stdout.strip()}"
    )


def test_an_unknown_view_lists_those_there_are():
    with pytest.raises(KeyError, match=r"unknown view 'nothing'; choose from .*memory"):
        view("nothing")


@pytest.mark.parametrize("name", NAMES)
def test_hostile_names_and_texts_keep_every_line_its_width(name):
    """Wide characters, control characters, very long words: no line is wider than the picture."""
    b = TraceBuilder()
    b.file(
        "/tmp/日本語のとても長い名前のファイル.py",
        "x = '\x1b[31m日本'\n\tif True: pass\n" + "y" * 500,
    )
    b.line(1)
    x = b.tensor((2, 3), values=range(6))
    for text in ("名前" * 20, "a\x1b[31m\nb", "n" * 300, "e\u0301" * 9, "\u202eright"):
        b.bind(text, x)
        b.bind(f"{text}!", text=text)
    b.object(x, 11)
    b.exception("Erreur\n", "日本\x07" * 30, 1)
    history = b.history()
    for width in (80, 120):
        for glyphs in (UNICODE, ASCII):
            selection = select(tensor=x, storage=1)
            model = view(name).project(history, b.now, selection)
            picture = view(name).draw(model, DrawContext(width, 24, glyphs, selection))
            for y in range(picture.height):
                line = picture.line(y)
                assert sum(span.width for span in line) <= max(width, picture.width), f"line {y}"
                text = "".join(span.text for span in line)
                assert text.isprintable(), f"line {y} of {name} holds a control character: {text!r}"


def test_a_large_map_is_drawn_only_where_it_is_looked_at():
    b = TraceBuilder()
    for number in range(300):
        b.tensor((4,), name=f"n{number}")
    model = view("memory").project(b.history(), b.now, Selection())
    picture = view("memory").draw(model, DrawContext(80, 24))
    assert picture.height > 300 * 3
    assert "n299" in "".join(span.text for span in picture.line(picture.height - 4))


def test_a_tensor_of_many_names_says_how_many_are_not_drawn():
    b = TraceBuilder()
    x = b.tensor((4,))
    for number in range(50):
        b.bind(f"xs[{number}]", x, "SLOT")
    model = view("memory").project(b.history(), b.now, Selection())
    assert len(model.storages[0].tensors[0].names) == 50
    for width in (80, 120):
        assert "44 more" in view("memory").draw(model, DrawContext(width, 24)).text()


def at_line(line: int, source: str) -> TraceBuilder:
    """Return the trace of a program that is about to run this line."""
    b = TraceBuilder()
    b.file("/demo.py", source)
    b.frame("<module>")
    b.line(line)
    return b


def test_the_source_lists_one_of_many_paths_to_a_tensor():
    from tui.navigator import Navigator

    b = at_line(1, "x\ny\n")
    x = b.tensor((2,))
    b.object(x)
    b.bind("x", x)
    for path in ("loader.sampler.data.cache[0]", "images.cache[0]", "loader.data.cache[0]"):
        b.bind(path, x, "SLOT")
    b.line(2)
    nav = Navigator(b.history())
    names = {name.name: name.others for name in nav.model("source").names}
    assert names == {"x": 0, "images.cache[0]": 2}
    assert "tensor 1 · +2" in nav.picture("source", 120, 30, UNICODE).text()


def test_the_source_lists_a_parameter_by_its_module():
    from tui.navigator import Navigator

    b = at_line(1, "x\ny\n")
    x = b.tensor((2,))
    b.object(x)
    b.bind("critic._modules['0']._parameters['weight']", x, "SLOT")
    b.bind("sgd.state.keys()[0]", x, "SLOT")
    b.line(2)
    nav = Navigator(b.history())
    assert {name.name: name.others for name in nav.model("source").names} == {"critic.0.weight": 1}


def test_the_source_pane_cuts_no_line_that_has_room():
    from tui.navigator import Navigator

    code = "total = " + " + ".join(f"value_{number}" for number in range(9))
    nav = Navigator(at_line(1, f"x\n{code}\n").history())
    for width, is_whole in ((160, True), (80, False)):
        assert (code in nav.picture("source", width, 30, UNICODE).text()) == is_whole, width


def test_a_failed_line_has_one_cell_of_the_colour_of_errors():
    from tui.navigator import Navigator

    b = at_line(2, "x = 1\nraise ValueError(x)\n")
    b.exception("ValueError", "1", 2)
    b.pop_frame(raised=True)
    picture = Navigator(b.history()).picture("source", 100, 30, UNICODE)
    rows = [picture.line(y) for y in range(picture.height)]
    (failed,) = (row for row in rows if "raise ValueError" in "".join(s.text for s in row))
    assert [span.text for span in failed if "error" in span.style] == [UNICODE.fail]


def test_the_map_finds_the_selected_tensor_without_drawing_the_others(monkeypatch) -> None:
    b = TraceBuilder()
    b.line(1)
    tensors = [b.tensor((2,), values=[1, 2], name=f"x{number}") for number in range(30)]
    context = DrawContext(100, 20)
    selection = select(tensor=tensors[25])
    picture = view("memory").draw(view("memory").project(b.history(), b.now, selection), context)
    with monkeypatch.context() as patch:
        patch.setattr(Group, "_drawn", lambda group, height: pytest.fail("drawn"))
        row = picture.focus_row
    assert any("highlighted" in span.style for span in picture.line(row))
    assert "x25" in "".join(span.text for span in picture.line(row))


def test_holders_with_long_names_keep_both_their_ends() -> None:
    b = TraceBuilder()
    b.line(1)
    x = b.tensor((2,), values=[1, 2], name="a")
    for end in ("params", "state"):
        b.bind(f"optimizer.param_groups_of_the_model['{end}']", x, "SLOT")
    b.object(x, refcount=3)
    model = view("object").project(b.history(), b.now, select(tensor=x))
    text = view("object").draw(model, DrawContext(80, 24)).text()
    assert "params']" in text
    assert "state']" in text
