"""The processes of this machine that are alive."""

from __future__ import annotations

from pathlib import Path


def alive_with(word: str) -> list[str]:
    """Return the processes with that word in their command line."""
    matches = []
    for path in Path("/proc").iterdir():
        if path.name.isdigit():
            try:
                state = (path / "stat").read_text().rpartition(") ")[2][0]
                line = (path / "cmdline").read_bytes()
            except OSError:
                continue
            if state != "Z" and word.encode() in line:
                matches.append(path.name)
    return matches
