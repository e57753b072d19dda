"""Nothing a person typed or chose is lost, and no file of theirs stops the start."""

from __future__ import annotations

from pathlib import Path

import pytest

from tui import paths
from tui.settings import LineMemory, Memory, load_settings


@pytest.mark.parametrize(
    ("text", "warning"),
    [
        ("theme = ", "was not read"),
        ("colour = 1", "unknown setting 'colour'"),
        ("ascii = 3", "ascii must be bool"),
    ],
)
def test_a_bad_config_warns_and_the_defaults_hold(tmp_path: Path, text: str, warning: str) -> None:
    path = tmp_path / "config.toml"
    path.write_text(text)
    settings = load_settings(path)
    assert warning in settings.warnings[0]
    assert settings.ascii is False


def test_a_good_config_is_taken(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    path.write_text('ascii = true\ntheme = "nord"\n[keys]\ngrain = "x"\n')
    settings = load_settings(path)
    assert (settings.ascii, settings.theme, settings.keys, settings.warnings) == (
        True,
        "nord",
        {"grain": "x"},
        [],
    )


def test_memory_survives_damage_and_restarts(tmp_path: Path) -> None:
    path = tmp_path / "state.json"
    Memory(path).put("theme", "nord")
    assert Memory(path).get("theme", "") == "nord"
    path.write_text("{half")
    assert Memory(path).get("theme", "none") == "none"
    path.write_text('{"theme": 3}')
    assert Memory(path).get("theme", "none") == "none"


def test_typed_lines_are_kept_at_once_and_walked_through(tmp_path: Path) -> None:
    path = tmp_path / "lines"
    first = LineMemory(path)
    for line in ("x = 1", "x = 1", "def f():\n    return 1", "  "):
        first.add(line)
    second = LineMemory(path)
    assert second.lines == ["x = 1", "def f():\n    return 1"]
    assert second.move(-1, "half typed") == "def f():\n    return 1"
    assert second.move(-1, "") == "x = 1"
    assert second.move(-1, "") == "x = 1"
    assert second.move(5, "") == "half typed"


def test_one_variable_moves_everything(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from engine.inspect.recorder import traces_directory
    from lessons._runner.progress import home

    for moved in ("", str(tmp_path)):
        monkeypatch.setenv("UNDERHOOD_HOME", moved)
        assert paths.trace_folder() == traces_directory()
        assert home().parent == traces_directory().parent
    assert tmp_path in home().parents
