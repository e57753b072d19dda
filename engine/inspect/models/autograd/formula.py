"""The `gradient:` of an operator's yaml entry: what its node computes, argument by argument."""

from __future__ import annotations

import re
from functools import lru_cache

from engine.inspect.models._declaration import entry_of
from engine.inspect.models.autograd.boxes import FormulaRow

_KEY = re.compile(r"^( *)([\w, ]+?): *(.*)$")
_FOLDED = re.compile(r"^[|>][-+]?$")


@lru_cache(maxsize=1024)
def formula(op: str) -> tuple[FormulaRow, ...]:
    """The gradient formulas of the operator of this full name; none where it declares none."""
    lines = (entry_of(op) or "").splitlines()
    start = next((n for n, line in enumerate(lines) if line.strip(" -") == "gradient:"), -1)
    if start < 0:
        return ()
    indent = len(lines[start]) - len(lines[start].lstrip(" -"))
    rows: list[tuple[str, list[str]]] = []
    inner = -1
    for line in lines[start + 1 :]:
        depth = len(line) - len(line.lstrip())
        if line.strip() and depth <= indent:
            break
        matches = _KEY.match(line)
        if matches and inner in (-1, depth):
            inner = depth
            text = matches[3].strip()
            rows.append((matches[2].strip(), [] if _FOLDED.match(text) else [text]))
        elif line.strip() and rows:
            rows[-1][1].append(line.strip())
    return tuple(FormulaRow(name, _unquoted(" ".join(parts))) for name, parts in rows)


def _unquoted(text: str) -> str:
    """A yaml scalar as what it says."""
    if len(text) > 1 and text[0] == text[-1] == '"':
        return text[1:-1].replace('\\"', '"').replace("\\\\", "\\")
    if len(text) > 1 and text[0] == text[-1] == "'":
        return text[1:-1].replace("''", "'")
    return text
