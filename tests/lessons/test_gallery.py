"""Every script of the gallery runs, here and unmodified under PyTorch where that is installed."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

from tests.gallery import FOLDER, MEASURED, SCRIPTS

# The two generators give different numbers for the same seed.
SEEDED = {
    "kmeans.py",
    "sliding_windows.py",
    "free_expand.py",
    "mlp_on_iris.py",
    "lenet.py",
    "char_transformer.py",
}

UNDER_TORCH = """
import pathlib, runpy, sys, torch
sys.modules["engine"] = torch
print("#####")
for script in sys.argv[1:]:
    runpy.run_path(script, run_name="__main__")
    print("#####")
"""


def output(*arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, *arguments], capture_output=True, text=True, timeout=600, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.name)
def test_script_runs_and_prints(script: Path) -> None:
    assert len(output(str(script)).splitlines()) > 5


def test_scripts_print_the_same_under_pytorch() -> None:
    if importlib.util.find_spec("torch") is None:
        pytest.skip("PyTorch is not installed")
    fixed = [script for script in SCRIPTS if script.name not in SEEDED | MEASURED]
    _, *other, _ = output("-c", UNDER_TORCH, *map(str, fixed)).split("#####\n")
    for script, expected in zip(fixed, other, strict=True):
        assert output(str(script)) == expected, script.name


def test_scripts_with_random_numbers_run_under_pytorch() -> None:
    if importlib.util.find_spec("torch") is None:
        pytest.skip("PyTorch is not installed")
    seeded = [str(script) for script in SCRIPTS if script.name in SEEDED]
    assert output("-c", UNDER_TORCH, *seeded).count("#####") == len(seeded) + 1


def test_every_script_is_in_the_readme() -> None:
    readme = (FOLDER / "README.md").read_text(encoding="utf-8")
    assert [script.name for script in SCRIPTS if f"`{script.name}`" not in readme] == []
