"""The modules that `import engine` and the explorer's drawing load in a fresh process."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.architecture.sources import ROOT


def loaded(code: str) -> set[str]:
    """Return the modules in sys.modules after `code`."""
    done = subprocess.run(
        [sys.executable, "-c", f"{code}\nimport sys; print(*sys.modules, sep='\\n')"],
        capture_output=True,
        text=True,
        cwd=ROOT,
        check=True,
    )
    return set(done.stdout.split())


@pytest.fixture(scope="module")
def engine_loads() -> set[str]:
    return loaded("import engine; engine.zeros(2) + 1; repr(engine.ones(2).t())")


@pytest.mark.parametrize(
    "module", ["numpy", "textual", "rich", "engine.inspect", "sqlite3", "torch"]
)
def test_import_engine_does_not_load(module: str, engine_loads: set[str]) -> None:
    assert module not in engine_loads, f"import engine loads {module}"


def test_a_program_starts_before_the_recorder_loads_numpy() -> None:
    assert "numpy" not in loaded("import engine.inspect.recorder, engine.inspect.new_trace")


def test_drawing_does_not_load_textual() -> None:
    modules = loaded("import tui.render, tui.views, tui.views.memory, tui.show")
    assert not {"textual", "rich"} & modules
