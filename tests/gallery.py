"""The scripts of the gallery, and what makes some of them unfit for a test of all."""

from __future__ import annotations

from pathlib import Path

FOLDER = Path(__file__).resolve().parent.parent / "lessons" / "gallery"
SCRIPTS = sorted(FOLDER.glob("*.py"))
# These print times, so that no two runs are alike, and repeat every step for them. lltm.py compiles the source next to
# it: a copy finds none, and under PyTorch that takes minutes. Its operators call others from C++, where no profiler of
# Python counts them. tests/engine/extending records such operators.
MEASURED = {"lltm.py"}
