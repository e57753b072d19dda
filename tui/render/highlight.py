"""Python source in colours, by one regular expression: enough to read by, and nothing to import.

What a line means depends on the lines before it only through triple-quoted strings, so one pass over
the text remembers for each line whether it begins inside one.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from keyword import kwlist

from tui.render.picture import Span, clean

_TOKEN = re.compile(
    r"(?P<comment>\#.*)"
    r"|(?P<open>[rbfuRBFU]{0,2}(?P<quotes>\"\"\"|'''))"
    r"|(?P<string>[rbfuRBFU]{0,2}(?:\"(?:\\.|[^\"\\])*\"?|'(?:\\.|[^'\\])*'?))"
    r"|(?P<number>\b\d[\w.]*)"
    rf"|(?P<keyword>\b(?:{'|'.join(kwlist)})\b)"
    r"|(?P<text>\w+|.)"
)


def coloured(text: str, inside: str = "") -> tuple[list[Span], str]:
    """Return (spans of one line, the quotes it ends inside of); `inside`: the quotes it begins inside of."""
    spans: list[Span] = []

    def add(part: str, style: str) -> None:
        if spans and spans[-1].style == style:
            part = spans.pop().text + part
        spans.append(Span(part, style))

    at = 0
    while at < len(text):
        if inside:
            end = text.find(inside, at)
            stop = len(text) if end < 0 else end + len(inside)
            add(text[at:stop], "string")
            at, inside = stop, "" if end >= 0 else inside
            continue
        token = _TOKEN.match(text, at)
        if token is None:
            break
        at = token.end()
        if token["quotes"]:
            inside = token["quotes"]
            add(token[0], "string")
            continue
        add(token[0], token.lastgroup or "text")
    return spans, inside


class Coloured:
    """The lines of one file, each coloured on its first use."""

    def __init__(self, lines: Sequence[str]) -> None:
        self._lines = lines
        self._inside = [""]  # as long as the requested lines

    def line(self, y: int) -> list[Span]:
        while len(self._inside) <= y:
            before = self._lines[len(self._inside) - 1]
            quoted = self._inside[-1] or '"""' in before or "'''" in before
            self._inside.append(coloured(before, self._inside[-1])[1] if quoted else "")
        return coloured(clean(self._lines[y]), self._inside[y])[0]


@lru_cache(maxsize=8)
def python(lines: tuple[str, ...]) -> Coloured:
    """Return the coloured lines of a file, which are cached while the file is on the screen."""
    return Coloured(lines)
