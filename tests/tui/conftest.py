"""Golden pictures: text files in golden/, which must match completely.

A difference leaves NAME.new.txt next to the golden file; `pytest tests/tui --update` accepts what is drawn.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot

from tui.app import Underhood

GOLDEN = Path(__file__).parent / "golden"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update", action="store_true", help="accept the pictures that are drawn now")
    parser.addoption(
        "--whole-walk", action="store_true", help="walk all sizes, colours and lessons"
    )


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "whole_walk: walked with --whole-walk only")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.getoption("--whole-walk", default=False):
        return
    rare = [item for item in items if item.get_closest_marker("whole_walk")]
    config.hook.pytest_deselected(items=rare)
    items[:] = [item for item in items if item not in rare]


@pytest.fixture(autouse=True)
def the_pilot_waits_until_keys_are_done(monkeypatch: pytest.MonkeyPatch) -> None:
    """Textual's pilot waits until every widget has processed its queue once. A key that bubbles from the
    canvas to the screen may then still be pending, which caused failures on a loaded machine."""
    requested = Pilot._wait_for_screen

    async def wait_for_screen(pilot: Pilot[Any], timeout: float = 60.0) -> bool:
        answered = await requested(pilot, timeout)
        if isinstance(pilot.app, Underhood):
            await pilot.app.key_queue.done()
            answered = await requested(pilot, timeout)
        return answered

    monkeypatch.setattr(Pilot, "_wait_for_screen", wait_for_screen)


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder for traces, settings and state of this test only; nothing moves on the screen."""
    monkeypatch.setenv("UNDERHOOD_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("TEXTUAL_ANIMATIONS", "none")
    return tmp_path / "home"


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Callable[[str, str], None]:
    """`golden(name, text)` compares `text` with golden/name.txt."""

    def check(name: str, text: str) -> None:
        expected, new = GOLDEN / f"{name}.txt", GOLDEN / f"{name}.new.txt"
        text = text.rstrip("\n") + "\n"
        if request.config.getoption("--update", default=False):
            expected.write_text(text, encoding="utf-8")
            new.unlink(missing_ok=True)
            return
        if not expected.exists():
            pytest.fail(
                f"{expected.name} does not exist; run pytest tests/tui --update and look at it"
            )
        if text != expected.read_text(encoding="utf-8"):
            new.write_text(text, encoding="utf-8")
        assert text == expected.read_text(encoding="utf-8"), f"drawn differently: see {new.name}"

    return check
