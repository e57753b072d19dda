"""The source of a rewrite's rule: a few lines of the engine's source, or of the user's pass."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

ROUND = 14  # lines before and after the rule
ROOT = Path(__file__).resolve().parents[4]
SOURCE_FOLDERS = ("csrc", "engine")
LARGEST = 1 << 20  # maximum bytes of a file that is searched


@dataclass(frozen=True, slots=True)
class RuleText:
    """Lines of the file around the rule. why: the reason if the file or the rule was not found."""

    path: str = ""
    line: int = 0
    first: int = 0
    lines: tuple[str, ...] = ()
    why: str = ""


def rule_of(jit: Any, fact: Any) -> RuleText:
    """Return the lines around the rule of a recorded rewrite (a RewriteFact of `jit`)."""
    return rule_text(fact.file, fact.line, fact.rule, jit.history.trace.source_text(fact.file))


@lru_cache(maxsize=256)
def rule_text(file: str, line: int, rule: str, recorded: str = "") -> RuleText:
    """Return the lines around a rule that the trace says is at `line` of `file`.

    A trace may come from a stranger, so `file` is never opened as it is: the result is the text
    that the trace `recorded` for it, or a file of this engine's source. The line may belong to an
    older
    version of the file: then the rule's name is searched for.
    """
    if not file:
        return RuleText(why="the trace does not record the source of this rule")
    short = short_path(file)
    if recorded:
        lines = recorded.splitlines()
    else:
        path = _own_source(short)
        if path is None:
            return RuleText(
                short,
                line,
                why=f"{short}:{line} is neither in the trace nor in this engine's source",
            )
        try:
            lines = path.read_text(errors="replace").splitlines()
        except OSError as error:
            return RuleText(short, line, why=f"{short} cannot be read: {error.strerror}")
    at = _place_of(lines, line, rule)
    if not 1 <= at <= len(lines):
        return RuleText(
            short, line, why=f"{short} has only {len(lines)} lines: it has changed since"
        )
    first = max(1, at - ROUND)
    return RuleText(short, at, first, tuple(lines[first - 1 : at + ROUND]))


def _place_of(strings: list[str], line: int, rule: str) -> int:
    quoted = f'"{rule}"'
    near = [n for n, text in enumerate(strings, 1) if quoted in text]
    if 1 <= line <= len(strings) and (not near or line in near):
        return line
    return min(near, key=lambda n: abs(n - line), default=line)


def short_path(file: str) -> str:
    """Return `csrc/jit/passes/dce.cpp` for the engine's files; other paths unchanged."""
    parts = Path(file).parts
    for root in SOURCE_FOLDERS:
        if root in parts:
            return "/".join(parts[len(parts) - 1 - parts[::-1].index(root) :])
    return file


def _own_source(short: str) -> Path | None:
    """Return the file `short` of this engine's source (below csrc/ or engine/), None for any other:
    links and `..` are followed first."""
    try:
        path = (ROOT / short).resolve()
        own = any(path.is_relative_to(ROOT / folder) for folder in SOURCE_FOLDERS)
        if own and path.is_file() and path.stat().st_size <= LARGEST:
            return path
    except (OSError, ValueError):  # ValueError: a NUL in the path
        pass
    return None
