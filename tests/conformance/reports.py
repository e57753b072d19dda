"""Files of reports: one report a line (JSON), written as they come, so that an interrupted run can continue."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent.parent
ENGINE = ("csrc", "engine", ":!csrc/ops/COVERAGE.md", ":!*.md")


@cache
def engine_commit() -> str:
    """Return the commit that last changed the engine, with "+" where files differ from it."""

    def git(*arguments: str) -> str:
        ran = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True)
        return ran.stdout.strip() if ran.returncode == 0 else ""

    commit = git("log", "-1", "--format=%h", "--abbrev=10", "--", *ENGINE)
    return commit + ("+" if git("status", "--porcelain", "--", *ENGINE) else "")


def read(path: Path) -> list[dict[str, Any]]:
    """Return the reports of one file; a last line that was cut off is left out."""
    lines = path.read_text().splitlines(keepends=True)
    return [json.loads(line) for line in lines if line.endswith("\n")]


def key(report: dict[str, Any]) -> tuple[str, str]:
    """Return the task that a report is on."""
    return report["operator"], report["dtype"]


def remaining(tasks: list[tuple[str, str]], path: Path | None) -> list[tuple[str, str]]:
    """Return the tasks that the file has no report on."""
    finished = set(map(key, read(path))) if path and path.exists() else set()
    return [task for task in tasks if task not in finished]


def recorded(reports: Iterable[dict[str, Any]], path: Path | None) -> Iterator[dict[str, Any]]:
    """Yield the same reports, each with the engine's commit and appended to the file."""
    if path is not None and path.exists():  # without the line that was cut off
        path.write_text("".join(json.dumps(report) + "\n" for report in read(path)))
    for report in reports:
        report = {**report, "commit": engine_commit()}
        if path is not None:
            with path.open("a") as file:
                file.write(json.dumps(report) + "\n")
        yield report
