"""Recordings that tests share: each is made once in a run of the tests, by the worker that first needs it."""

from __future__ import annotations

import fcntl
import os
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path

VARIABLE = "UNDERHOOD_TEST_RECORDINGS"
"""The folder of this run, which `tests/conftest.py` makes and deletes: workers inherit the variable."""


@cache
def _own_folder() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory(prefix="underhood-recordings-")


def once(name: str, record: Callable[[Path], object]) -> Path:
    """Return the folder `name` with what `record` writes into it; another worker waits until it has."""
    folder = Path(os.environ.get(VARIABLE) or _own_folder().name) / name
    folder.mkdir(exist_ok=True)
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / "complete").exists():
            record(folder)
            (folder / "complete").touch()
    return folder
