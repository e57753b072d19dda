"""Writes the Python side of the event list.

C++ includes event_list.inc directly. For Python it generates a module of plain constants and one table,
`KINDS`, so that a kind's number, fields and sentence are defined only once.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import lists

HEADER = '''"""Every kind of event. Generated from csrc/events/event_list.inc; edit that file instead."""

from __future__ import annotations

from typing import NamedTuple


class Kind(NamedTuple):
    """One kind of event: the names of its five fields ("_" is unused) and a sentence with them."""

    name: str
    number: int
    fields: tuple[str, str, str, str, str]
    blob: str
    sentence: str

'''


class Entry(NamedTuple):
    name: str
    number: int
    fields: tuple[str, ...]
    blob: str
    sentence: str


def parse(path: Path) -> list[Entry]:
    """Return the entries of the list in order. A duplicate name or number is an error."""
    entries: list[Entry] = []
    for name, number, _, *columns in lists.entries(path, "UH_EVENT", 10):
        fields = tuple(str(field) for field in columns[:5])
        entry = Entry(str(name), int(number), fields, str(columns[5]), str(columns[6]))
        if any(entry.name == other.name or entry.number == other.number for other in entries):
            raise SystemExit(f"{path}: {entry.name} or number {entry.number} is taken")
        entries.append(entry)
    return entries


def render(entries: list[Entry]) -> str:
    """Return the module's text."""
    constants = "".join(f"{entry.name} = {entry.number}\n" for entry in entries)
    rows = "".join(
        f"    {e.name}: Kind({e.name!r}, {e.number}, {e.fields!r}, {e.blob!r}, {e.sentence!r}),\n"
        for e in entries
    )
    return f"{HEADER}\n{constants}\nKINDS: dict[int, Kind] = {{\n{rows}}}\n"
