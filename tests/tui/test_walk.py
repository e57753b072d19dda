"""A walk by keys through every view, dialog and lesson, in a real terminal that is resized on the way.

The suite walks a sample; `pytest tests/tui/test_walk.py --whole-walk` all sizes, colours and lessons.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from lessons._runner import load_all
from tests.tui.program import saved
from tests.tui.terminal import ESCAPE, Terminal
from tui.views import views

SIZES = ((80, 24), (120, 40), (200, 60))
LOOKS: dict[str, tuple[list[str], dict[str, str], str]] = {
    "dark": ([], {}, ""),
    "light": ([], {}, 'theme = "underhood-light"\n'),
    "16 colours": ([], {"TERM": "xterm", "COLORTERM": ""}, ""),
    "mono": ([], {"NO_COLOR": "1"}, ""),
    "ascii": (["--ascii"], {}, ""),
}
DIALOGS = {b"?": "Help", b"e": "Event ", b"W": "Why?"}
SAMPLE = {((80, 24), "dark")}
WALKS = [
    pytest.param(size, look, marks=[] if (size, look) in SAMPLE else pytest.mark.whole_walk)
    for size in SIZES
    for look in LOOKS
]
LESSONS = [
    pytest.param(
        lesson.name, size, marks=[] if number == 3 and size == SIZES[0] else pytest.mark.whole_walk
    )
    for number, lesson in enumerate(load_all())
    for size in SIZES
]


@contextmanager
def opened(
    arguments: list[str], size: tuple[int, int], look: str, home: Path
) -> Iterator[Terminal]:
    """A terminal, which has ended when the block is left."""
    more, environment, config = LOOKS[look]
    (home / "config").mkdir(parents=True)
    (home / "config" / "config.toml").write_text(config, "utf-8")
    terminal = Terminal([*arguments, *more], size, environment, home)
    try:
        yield terminal
    finally:
        terminal.end()


@pytest.mark.parametrize(("size", "look"), WALKS)
def test_every_view_and_dialog(
    request: pytest.FixtureRequest, tmp_path: Path, size: tuple[int, int], look: str
) -> None:
    trace = saved(tmp_path)
    every = (
        1 if request.config.getoption("--whole-walk") else 4
    )  # views from one with dialogs to the next
    with opened(["open", str(trace)], size, look, tmp_path / "home") as terminal:
        terminal.until(lambda text: "line 11" in text, "it did not open")
        for number, view in enumerate(views().values()):
            tab = f"{view.key} {view.title}"
            terminal.press(
                view.key.encode(),
                lambda text, tab=tab: tab in text.split("\n")[1],
                f"{tab} is dead",
            )
            for key, title in DIALOGS.items() if number % every == 0 else ():
                frame = "+" if look == "ascii" else "╭"
                if size[0] < 100:
                    frame = ""
                terminal.press(
                    key,
                    lambda text, title=title: title in text and "closes" in text,
                    f"{tab}: {key!r}",
                )
                assert frame in terminal.text
                terminal.press(
                    ESCAPE, lambda text: "closes" not in text, f"{tab}: Esc after {key!r}"
                )
            if number % 4 == 0:
                terminal.resize(50, 15)
                terminal.until(lambda text: "underhood needs 60 columns" in text, "too small")
                terminal.resize(*size)
                terminal.until(lambda text, tab=tab: tab in text, f"{tab}: did not come back")
            terminal.press(b"<", lambda text: "event 0 of" in text, f"{tab}: < is dead")
            terminal.press(b"]", lambda text: "event 0 of" not in text, f"{tab}: ] is dead")
            terminal.press(b">", lambda text: "event 82 of" in text, f"{tab}: > is dead")
        terminal.press(b"g", lambda text: "go to" in text.split("\n")[-1], "g is dead")
        terminal.press(b"line:9\r", lambda text: "line 9 demo.py" in text, "the prompt")
        assert terminal.close() == 0


@pytest.mark.parametrize(("lesson", "size"), LESSONS)
def test_every_step_of_a_lesson(tmp_path: Path, lesson: str, size: tuple[int, int]) -> None:
    steps = next(each for each in load_all() if each.name == lesson).steps
    with opened(["learn", lesson], size, "dark", tmp_path / "home") as terminal:
        for number, step in enumerate(steps, 1):
            position = f"step {number} of {len(steps)}"
            terminal.until(
                lambda text, position=position: position in text.split("\n")[0],
                f"{position} is stuck",
            )
            if step.kind in ("run", "look"):
                terminal.press(b"r", lambda text: "working" not in text, f"{position}: r is dead")
                terminal.until(lambda text: "working" not in text, f"{position}: still working")
            if step.kind == "predict":
                terminal.press(b"!", lambda text: "engine says" in text, f"{position}: ! is dead")
                terminal.press(ESCAPE, lambda text: "n next" in text, f"{position}: Esc is dead")
            if number == 2:
                terminal.resize(50, 15)
                terminal.until(lambda text: "underhood needs 60 columns" in text, "too small")
                terminal.resize(*size)
            if number < len(steps):
                after = f"step {number + 1} of {len(steps)}"
                terminal.press(
                    b"n", lambda text, after=after: after in text, f"{position}: n is dead"
                )
        assert terminal.close() == 0
