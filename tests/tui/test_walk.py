"""A walk by keys through every view, dialog and lesson, in a real terminal that is resized on the way.

The suite walks a sample, another one each day; `pytest tests/tui/test_walk.py --whole-walk` every view and dialog
in all sizes and colours, and every lesson in all sizes, each time in other colours.
"""

from __future__ import annotations

import datetime
import random
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import engine
from lessons._runner import load, load_all
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
PAGES = {b"?": "Help", b"e": "Event ", b"W": "Why?", b"'": "Bookmarks", b"d": ""}
SCRIPT = Path(__file__).parents[2] / "lessons" / "gallery" / "in_place_bug.py"  # it has a graph
PROMPTS = {
    b"g": "event number",
    b"/": "text in events",
    b"\\": "the same, backwards",
    b"U": "y.version changes",
    b"X": "an expression",
    b"*": "what happens here",
    b":": "a view, go 120",
    b"\x10": "Search for commands",  # ctrl+p
}
EVERY_WALK = [(size, look) for look in LOOKS for size in SIZES]
EVERY_LESSON = [
    (lesson.name, size, EVERY_WALK[(number + i) % len(EVERY_WALK)][1])
    for number, lesson in enumerate(load_all())
    for i, size in enumerate(SIZES)
]
TODAY = random.Random(
    datetime.datetime.now(datetime.UTC).date().toordinal()
)  # the same in every test worker
WALK, LESSON = (
    TODAY.choice(EVERY_WALK),
    TODAY.choice(EVERY_LESSON[:15]),
)  # the first lessons are short


def whole_walk_unless(sample: bool) -> list[pytest.MarkDecorator]:
    return [] if sample else [pytest.mark.whole_walk]


WALKS = [pytest.param(*each, marks=whole_walk_unless(each == WALK)) for each in EVERY_WALK]
LESSONS = [pytest.param(*each, marks=whole_walk_unless(each == LESSON)) for each in EVERY_LESSON]


@contextmanager
def opened(
    arguments: list[str], size: tuple[int, int], look: str, home: Path
) -> Iterator[Terminal]:
    """Yield a terminal, which has ended when the block is left."""
    more, environment, config = LOOKS[look]
    (home / "config").mkdir(parents=True, exist_ok=True)
    (home / "config" / "config.toml").write_text(config, "utf-8")
    terminal = Terminal([*arguments, *more], size, environment, home)
    try:
        yield terminal
    finally:
        terminal.end()


def pages(terminal: Terminal, tab: str, frame: str) -> None:
    """Open and close every page."""
    for key, title in PAGES.items():
        terminal.press(
            key, lambda text, title=title: title in text and "closes" in text, f"{tab}: {key!r}"
        )
        assert frame in terminal.text
        terminal.press(ESCAPE, lambda text: "closes" not in text, f"{tab}: Esc after {key!r}")


def prompts(terminal: Terminal, tab: str) -> None:
    """Open and close every prompt."""
    for key, hint in PROMPTS.items():
        terminal.press(key, lambda text, hint=hint: hint in text, f"{tab}: {key!r}")
        terminal.press(
            ESCAPE, lambda text, hint=hint: hint not in text, f"{tab}: Esc after {key!r}"
        )


@pytest.mark.parametrize(("size", "look"), WALKS)
def test_every_view_and_dialog(
    request: pytest.FixtureRequest, tmp_path: Path, size: tuple[int, int], look: str
) -> None:
    trace = saved(tmp_path)
    every = (
        1 if request.config.getoption("--whole-walk") else 4
    )  # views from one with dialogs to the next
    frame = ("+" if look == "ascii" else "╭") if size[0] >= 100 else ""
    with opened(["open", str(trace)], size, look, tmp_path / "home") as terminal:
        terminal.until(lambda text: "line 11" in text, "it did not open")
        for number, view in enumerate(views().values()):
            tab = f"{view.key} {view.title}"
            terminal.press(
                view.key.encode(),
                lambda text, tab=tab: tab in text.split("\n")[1],
                f"{tab} is dead",
            )
            if number % every == 0:
                pages(terminal, tab, frame)
            if number % 4 == 0:
                prompts(terminal, tab)
                shrink(terminal, size, tab)
            terminal.press(b"<", lambda text: "event 0 of" in text, f"{tab}: < is dead")
            terminal.press(b"]", lambda text: "event 0 of" not in text, f"{tab}: ] is dead")
            terminal.press(b">", lambda text: "event 82 of" in text, f"{tab}: > is dead")
        terminal.press(b"g", lambda text: "go to" in text.split("\n")[-1], "g is dead")
        terminal.press(b"line:9\r", lambda text: "line 9 demo.py" in text, "the prompt")
        assert terminal.close() == 0


def shrink(terminal: Terminal, size: tuple[int, int], sign: str) -> None:
    """Make the window too small, and as large as before."""
    terminal.resize(50, 15)
    terminal.until(lambda text: "underhood needs 60 columns" in text, "too small")
    terminal.resize(*size)
    terminal.until(lambda text: sign in text, f"{sign!r} did not come back")


@pytest.mark.parametrize(("size", "look"), WALKS)
def test_home_and_what_it_opens(tmp_path: Path, size: tuple[int, int], look: str) -> None:
    def at_home(text: str) -> bool:
        return "Learn" in text and "Playground" in text

    def idle(text: str) -> bool:  # Esc would interrupt the line
        return "running" not in text.split("\n")[0]

    home = tmp_path / "home"
    traces = home / "data" / "traces"
    traces.mkdir(parents=True)
    record = [sys.executable, "-m", "tui", "record", "-o", str(traces / "bug.uht")]
    subprocess.run([*record, str(SCRIPT)], check=False, stdout=subprocess.DEVNULL)
    with opened([], size, look, home) as terminal:
        terminal.until(at_home, "home did not open")
        shrink(terminal, size, "Learn")
        terminal.press(b"?", lambda text: "Help" in text and "closes" in text, "? is dead")
        terminal.press(ESCAPE, lambda text: "closes" not in text, "Esc after ?")
        # a recording, with the pages of a node
        terminal.press(b"jj", lambda text: "Recordings" in text, "j is dead")
        terminal.press(b"j\r", lambda text: "event 1," in text.split("\n")[0], "it did not open")
        terminal.press(b"0", lambda text: "0 Autograd" in text.split("\n")[1], "0 is dead")
        terminal.press(b"d", lambda text: "closes" in text, "d is dead")
        terminal.press(ESCAPE, lambda text: "closes" not in text, "Esc after d")
        shrink(terminal, size, "0 Autograd")
        terminal.press(ESCAPE, lambda text: "Esc again" in text, "Esc")
        terminal.press(ESCAPE, at_home, "Esc twice")
        # the playground
        terminal.press(b"2", lambda text: ">>>" in text, "2 is dead")
        terminal.press(b"6 * 7\r", lambda text: "\n 42" in text, "the prompt is dead")
        terminal.press(b"x = torch.ones(2)\r", lambda text: "1 tensor " in text, "x is not drawn")
        terminal.until(idle, "it still runs")
        terminal.press(ESCAPE, lambda text: "]" in text.split("\n")[-1], "Esc to the picture")
        terminal.press(b"7", lambda text: "7 Values" in text.split("\n")[1], "7 is dead")
        shrink(terminal, size, ">>>")
        terminal.press(b"i", lambda text: "^c" in text.split("\n")[-1], "i is dead")
        terminal.press(b"x.sum()\r", lambda text: "tensor(2.)" in text, "the prompt is dead")
        terminal.until(idle, "it still runs")
        terminal.press(ESCAPE, lambda text: "]" in text.split("\n")[-1], "Esc to the picture")
        terminal.press(ESCAPE, lambda text: "Esc again" in text, "Esc")
        terminal.press(ESCAPE, at_home, "Esc twice")
        # the lessons
        terminal.press(b"1", lambda text: "30 lessons" in text, "1 is dead")
        terminal.press(b"j\r", lambda text: "step 1 of" in text, "Enter is dead")
        terminal.press(ESCAPE, lambda text: "30 lessons" in text, "Esc from a lesson")
        terminal.press(ESCAPE, at_home, "Esc from the lessons")
        terminal.press(b"c", lambda text: "step 1 of" in text, "c is dead")
        terminal.press(ESCAPE, at_home, "Esc from a lesson")
        terminal.press(ESCAPE, lambda text: "Esc again" in text, "Esc")
        assert terminal.close() == 0


@pytest.mark.parametrize(("size", "look"), WALKS)
def test_a_saved_file(tmp_path: Path, size: tuple[int, int], look: str) -> None:
    path = tmp_path / "model.pt"
    weight = engine.ones(3, 4)
    engine.save({"weight": weight, "row": weight[1], "epoch": 3}, path)
    with opened(["open", str(path)], size, look, tmp_path / "home") as terminal:
        terminal.until(lambda text: "2 tensors in 1 storage" in text, "it did not open")
        terminal.press(b"j", lambda text: "shares its storage with weight" in text, "j is dead")
        terminal.press(b"k", lambda text: "shares its storage with row" in text, "k is dead")
        terminal.press(b"?", lambda text: "Help" in text and "closes" in text, "? is dead")
        terminal.press(ESCAPE, lambda text: "closes" not in text, "Esc after ?")
        shrink(terminal, size, "2 tensors in 1 storage")
        terminal.press(b"j", lambda text: "shares its storage with weight" in text, "j is dead")
        assert terminal.close() == 0


@pytest.mark.parametrize(("lesson", "size", "look"), LESSONS)
def test_every_step_of_a_lesson(
    tmp_path: Path, lesson: str, size: tuple[int, int], look: str
) -> None:
    steps = next(each for each in load_all() if each.name == lesson).steps
    looked = False
    with opened(["learn", lesson], size, look, tmp_path / "home") as terminal:
        for number, step in enumerate(steps, 1):
            position = f"step {number} of {len(steps)}"
            terminal.until(
                lambda text, position=position: position in text.split("\n")[0],
                f"{position} is stuck",
            )
            if step.kind in ("run", "look"):
                terminal.press(b"r", lambda text: "working" not in text, f"{position}: r is dead")
                terminal.until(lambda text: "working" not in text, f"{position}: still working")
            if step.kind == "run" and not looked and "It ran" in terminal.text:
                looked = True
                terminal.press(b"o", lambda text: " event " in text, f"{position}: o is dead")
                terminal.press(ESCAPE, lambda text: "Esc again" in text, f"{position}: Esc")
                terminal.press(
                    ESCAPE, lambda text, position=position: position in text, f"{position}: Esc"
                )
            if step.kind == "predict":
                terminal.press(b"!", lambda text: "engine says" in text, f"{position}: ! is dead")
                terminal.press(ESCAPE, lambda text: "n next" in text, f"{position}: Esc is dead")
            if step.kind == "exercise":
                terminal.press(b"h", lambda text: "Hint" in text, f"{position}: h is dead")
                terminal.press(b"v", lambda text: "close and check" in text, f"{position}: v")
                terminal.press(ESCAPE, lambda text: "n next" in text, f"{position}: Esc after v")
                terminal.until(lambda text: "working" not in text, f"{position}: still checking")
                terminal.press(b"S", lambda text: "once your own is" in text, f"{position}: S")
                answer = load(lesson).folder / "solution.py"
                shutil.copyfile(answer, next((tmp_path / "home").rglob("exercise.py")))
                terminal.press(b"r", lambda text: "Right." in text, f"{position}: not accepted")
                terminal.press(b"S", lambda text: "One solution" in text, f"{position}: S is dead")
                terminal.press(ESCAPE, lambda text: "n next" in text, f"{position}: Esc after S")
            if number == 2:
                shrink(terminal, size, position)
            if number < len(steps):
                after = f"step {number + 1} of {len(steps)}"
                terminal.press(
                    b"n", lambda text, after=after: after in text, f"{position}: n is dead"
                )
        terminal.press(b"L", lambda text: "   lessons" in text.split("\n")[0], "L is dead")
        assert terminal.close() == 0
