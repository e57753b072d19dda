"""Write the Python side of the event list: `events.py <event_list.inc> <out.py>`.

C++ includes event_list.inc directly. Python gets a module of plain constants and one table,
`KINDS`, so that no other place in the tree repeats a kind's number, fields or sentence.
"""

from __future__ import annotations

import ast
import re
import sys
from pathlib import Path
from typing import NamedTuple

TEXT = r'"(?:[^"\\]|\\.)*"'
ENTRY = re.compile(
    r"UH_EVENT\(\s*(?P<name>[A-Z_]+)\s*,\s*(?P<number>\d+)\s*,\s*(?P<fields>(?:\w+\s*,\s*){5})"
    rf"(?P<blob>{TEXT})\s*,\s*(?P<sentence>{TEXT})\s*\)$"
)

HEADER = '''"""Every kind of event. Made from csrc/events/event_list.inc; edit that file instead."""

from __future__ import annotations

from typing import NamedTuple


class Kind(NamedTuple):
    """One kind of event: what its five fields mean ("_" is unused) and what it says happened."""

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


def parse(text: str, where: str) -> list[Entry]:
    """The entries of the list in order; a malformed or repeated one is an error with its line."""
    entries: list[Entry] = []
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.startswith("UH_EVENT"):
            continue
        match = ENTRY.match(line.rstrip())
        if match is None:
            raise SystemExit(
                f"{where}:{number}: not UH_EVENT(NAME, number, a, b, c, d, e, blob, sentence)"
            )
        entry = Entry(
            match["name"],
            int(match["number"]),
            tuple(field.strip() for field in match["fields"].split(",")[:5]),
            ast.literal_eval(match["blob"]),
            ast.literal_eval(match["sentence"]),
        )
        if any(entry.name == other.name or entry.number == other.number for other in entries):
            raise SystemExit(f"{where}:{number}: {entry.name} or number {entry.number} is taken")
        entries.append(entry)
    return entries


def render(entries: list[Entry]) -> str:
    """The module's text."""
    constants = "".join(f"{entry.name} = {entry.number}\n" for entry in entries)
    rows = "".join(
        f"    {e.name}: Kind({e.name!r}, {e.number}, {e.fields!r}, {e.blob!r}, {e.sentence!r}),\n"
        for e in entries
    )
    return f"{HEADER}\n{constants}\nKINDS: dict[int, Kind] = {{\n{rows}}}\n"


def main(arguments: list[str]) -> None:
    if len(arguments) != 2:
        raise SystemExit("usage: events.py <event_list.inc> <out.py>")
    source, out = Path(arguments[0]), Path(arguments[1])
    text = render(parse(source.read_text(encoding="utf-8"), str(source)))
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
