"""Text and frames can be read in every theme and in 16 colours: the contrast is computed."""

from __future__ import annotations

from pathlib import Path

import pytest
from rich.style import Style

from engine.inspect.history import History
from engine.inspect.recorder import record
from engine.inspect.selection import Selection
from engine.inspect.trace import TraceReader
from tests.inspect.selections import select
from tests.tui.program import program, saved
from tests.tui.test_view_queue import history as queue_history
from tests.tui.waiting import exploring
from tui.app import Underhood
from tui.render.contrast import FRAME, TEXT, channels_of, ratio, readable
from tui.render.theme import FRAMES, STYLES, definition
from tui.screens.text_modal import TextModal
from tui.views import DrawContext, views
from tui.widgets.canvas import Canvas
from tui.widgets.rich_styles import ink_of, style

GROUNDS = ("background", "surface", "panel")
# the 16 colours of xterm and of VGA, as far as styles use them
PALETTES = {
    "xterm": {
        "default": "#e5e5e5",
        "bright_red": "#ff0000",
        "bright_green": "#00ff00",
        "bright_yellow": "#ffff00",
        "bright_magenta": "#ff00ff",
        "bright_cyan": "#00ffff",
    },
    "VGA": {
        "default": "#aaaaaa",
        "bright_red": "#ff5555",
        "bright_green": "#55ff55",
        "bright_yellow": "#ffff55",
        "bright_magenta": "#ff55ff",
        "bright_cyan": "#55ffff",
    },
}
ON_LIGHT = {
    "xterm": {"default": "#000000", "blue": "#0000ee", "magenta": "#cd00cd", "red": "#cd0000"},
    "VGA": {"default": "#000000", "blue": "#0000aa", "magenta": "#aa00aa", "red": "#aa0000"},
}


pytestmark = pytest.mark.usefixtures("home")


def minimum(name: str) -> float:
    return FRAME if name in FRAMES else TEXT


def test_the_ratio_is_that_of_wcag() -> None:
    assert ratio((0, 0, 0), (255, 255, 255)) == pytest.approx(21)
    assert ratio(channels_of("#777777"), (255, 255, 255)) == pytest.approx(4.48, abs=0.01)
    assert readable("#777777", "#000000") == "#777777"
    assert ratio(channels_of(readable("#333333", "#222222")), channels_of("#222222")) >= TEXT


def test_every_style_can_be_read_in_every_theme(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    app = Underhood("home")
    app.console._color_system = None  # type: ignore[assignment]
    failed = []
    for theme in app.available_themes:
        app.theme = theme
        if app.current_theme.ansi:
            continue
        variables = app.get_css_variables()
        ink = ink_of(app)
        for name in STYLES:
            drawn = style(name, ink)
            if drawn.color is None or drawn.color.triplet is None:
                continue
            own = drawn.bgcolor.triplet.hex if drawn.bgcolor and drawn.bgcolor.triplet else ""
            for ground in [own] if own else [variables[each] for each in GROUNDS]:
                contrast = ratio(channels_of(drawn.color.triplet.hex), channels_of(ground))
                if contrast < minimum(name):
                    failed.append((theme, name, ground, round(contrast, 2)))
        for name, need in (("line", FRAME), ("line-focus", FRAME), ("quiet", TEXT)):
            contrast = ratio(channels_of(variables[name]), channels_of(variables["surface"]))
            if contrast < need:
                failed.append((theme, name, round(contrast, 2)))
    assert not failed


@pytest.mark.parametrize("palette", PALETTES)
@pytest.mark.parametrize("theme", ["ansi", "ansi_light"])
def test_every_style_can_be_read_in_sixteen_colours(palette: str, theme: str) -> None:
    known, ground = (
        (PALETTES[palette], "#000000") if theme == "ansi" else (ON_LIGHT[palette], "#ffffff")
    )
    for name in STYLES:
        drawn = Style.parse(definition(name, theme))
        if drawn.color is None:
            continue
        assert not drawn.dim, name  # terminals draw it with less contrast
        contrast = ratio(channels_of(known[drawn.color.name]), channels_of(ground))
        assert contrast >= minimum(name), (name, drawn.color.name, contrast)


def test_sixteen_colours_use_those_of_the_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("COLORTERM", raising=False)
    app = Underhood("home")
    app.console._color_system = app.console._color_system.__class__(1)  # type: ignore[union-attr]
    assert app.console.color_system == "standard"
    assert app._known_theme() == "ansi-dark"


async def test_a_dialog_is_as_tall_as_its_text(tmp_path: Path) -> None:
    async with exploring(saved(tmp_path), (120, 40)) as pilot:
        await pilot.press("question_mark")
        await pilot.pause()
        assert isinstance(pilot.app.screen, TextModal)
        assert pilot.app.screen.query_one(Canvas).region.height == 38  # the help is longer
        await pilot.press("escape")
        pilot.app.screen.viewer._show_page("Short", "one line")  # type: ignore[attr-defined]
        await pilot.pause()
        await pilot.pause()
        assert pilot.app.screen.query_one(Canvas).region.height <= 6


SPARSE = """
import engine as torch
edges = torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]])
adjacency = torch.sparse_coo_tensor(edges, torch.ones(4), (3, 3))
rows = adjacency.coalesce().to_sparse_csr()
hidden = torch.sparse.mm(adjacency, torch.ones(3, 2))
end = 1
"""


@pytest.fixture(scope="module")
def drawn_styles(tmp_path_factory: pytest.TempPathFactory) -> set[str]:
    """The styles, several at once too, with which views draw a program, commands of a device and sparse tensors."""
    folder = tmp_path_factory.mktemp("sparse")
    (folder / "program.py").write_text(SPARSE)
    with record(folder / "sparse.uht"):
        exec(compile(SPARSE, str(folder / "program.py"), "exec"), {})
    sparse = History(TraceReader.open(folder / "sparse.uht"))
    names = set()
    for history in (program().history(), queue_history(), sparse):
        tensors = [fact.id for fact in history.tensors_at(history.end - 1)]
        for view in views().values():
            for tensor in (0, *tensors):
                selection = select(tensor=tensor) if tensor else Selection()
                model = view.project(history, history.end - 1, selection)
                picture = view.draw(model, DrawContext(120, 40, selection=selection))
                names |= {span.style for y in range(picture.height) for span in picture.line(y)}
    return names - {""}


def test_whatever_views_draw_can_be_read_in_every_theme(
    drawn_styles: set[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The later of two styles gives the colour, either of them the ground."""
    monkeypatch.delenv("NO_COLOR", raising=False)
    assert {"path", "unknown", "number highlighted"} <= drawn_styles
    app = Underhood("home")
    app.console._color_system = None  # type: ignore[assignment]
    failed = []
    for theme in app.available_themes:
        app.theme = theme
        if app.current_theme.ansi:
            continue
        variables = app.get_css_variables()  # which the ink is found from
        ink = ink_of(app)
        for names in drawn_styles:
            drawn = style(names, ink)
            if drawn.color is None or drawn.color.triplet is None:
                continue
            own = drawn.bgcolor.triplet.hex if drawn.bgcolor and drawn.bgcolor.triplet else ""
            need = FRAME if FRAMES.issuperset(names.split()) else TEXT
            for ground in [own] if own else [variables[each] for each in GROUNDS]:
                contrast = ratio(channels_of(drawn.color.triplet.hex), channels_of(ground))
                if contrast < need:
                    failed.append((theme, names, ground, round(contrast, 2)))
    assert not failed


@pytest.mark.parametrize("palette", PALETTES)
@pytest.mark.parametrize("theme", ["ansi", "ansi_light"])
def test_whatever_views_draw_can_be_read_in_sixteen_colours(
    drawn_styles: set[str], palette: str, theme: str
) -> None:
    known, ground = (
        (PALETTES[palette], "#000000") if theme == "ansi" else (ON_LIGHT[palette], "#ffffff")
    )
    for names in drawn_styles:
        drawn = Style.parse(definition(names, theme))
        if drawn.color is not None:
            contrast = ratio(channels_of(known[drawn.color.name]), channels_of(ground))
            need = FRAME if FRAMES.issuperset(names.split()) else TEXT
            assert contrast >= need, (names, drawn.color.name, contrast)
            assert not drawn.dim, names
