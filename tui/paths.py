"""Directories of traces, settings and state. One environment variable moves them all.

`UNDERHOOD_HOME=/some/folder` puts everything below that folder (tests use it); otherwise the
platform's data, config and state folders are used.
"""

from __future__ import annotations

import os
from pathlib import Path


def _folder(kind: str) -> Path:
    """Return the folder for `kind` ("data", "config" or "state"); it may not exist yet."""
    home = os.environ.get("UNDERHOOD_HOME")
    if home:
        return Path(home) / kind
    import platformdirs  # takes 10 ms, so only if necessary

    ask = {
        "data": platformdirs.user_data_path,
        "config": platformdirs.user_config_path,
        "state": platformdirs.user_state_path,
    }
    return ask[kind]("underhood", appauthor=False)


def trace_folder() -> Path:
    """Return the default folder of recordings. (A copy of the recorder's `traces_directory()`: the first
    frame has no time to import the engine.)"""
    return _folder("data") / "traces"


def make_private(folder: Path) -> Path:
    """Create the folder of recordings, readable by its owner only: they have a program's values."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    folder.chmod(0o700)
    return folder


def settings_file() -> Path:
    """Return the user's TOML file: theme, keys, ascii."""
    return _folder("config") / "config.toml"


def state_folder() -> Path:
    """Return the folder for the explorer's state: recent traces, prompt history, progress."""
    return _folder("state")


def traces_newest_first(limit: int = 50) -> list[Path]:
    """Return recordings in the trace folder, the newest first."""
    try:
        traces = [p for p in trace_folder().iterdir() if p.suffix == ".uht" and p.is_file()]
    except OSError:
        return []
    return sorted(traces, key=_age, reverse=True)[:limit]


def _age(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:  # deleted during the listing
        return 0.0


def gallery_scripts() -> list[Path]:
    """Return the example scripts that come with Underhood (`lessons/gallery/*.py`)."""
    import importlib.util

    spec = importlib.util.find_spec("lessons")
    if spec is None or not spec.submodule_search_locations:
        return []
    roots = [Path(folder) / "gallery" for folder in spec.submodule_search_locations]
    return sorted(p for root in roots for p in root.glob("*.py") if not p.name.startswith("_"))
