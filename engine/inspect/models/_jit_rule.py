"""The text of the rule that made a rewrite: a few lines of our own source, or of the user's pass."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

ROUND = 14  # lines before and after the rule
LARGEST = 1 << 20  # bytes of a file that is still looked into


@dataclass(frozen=True, slots=True)
class RuleText:
    """Lines of the file round the rule. why: where the file, or the rule in it, cannot be found."""

    path: str = ""
    line: int = 0
    first: int = 0
    lines: tuple[str, ...] = ()
    why: str = ""


@lru_cache(maxsize=256)
def rule_text(file: str, line: int, rule: str) -> RuleText:
    """The lines round a rule. A recorded line may be of an older text: then the rule's name is sought."""
    if not file:
        return RuleText(why="the trace does not tell where this rule is written")
    short = short_path(file)
    found = _find(file, short)
    if found is None:
        return RuleText(short, line, why=f"{short} is not on this machine")
    try:
        texts = found.read_text(errors="replace").splitlines()
    except OSError as error:
        return RuleText(short, line, why=f"{short} cannot be read: {error.strerror}")
    at = _place_of(texts, line, rule)
    if not 1 <= at <= len(texts):
        return RuleText(
            short, line, why=f"{short} has only {len(texts)} lines: it has changed since"
        )
    first = max(1, at - ROUND)
    return RuleText(short, at, first, tuple(texts[first - 1 : at + ROUND]))


def _place_of(texts: list[str], line: int, rule: str) -> int:
    quoted = f'"{rule}"'
    near = [n for n, text in enumerate(texts, 1) if quoted in text]
    if 1 <= line <= len(texts) and (not near or line in near):
        return line
    return min(near, key=lambda n: abs(n - line), default=line)


def short_path(file: str) -> str:
    """`csrc/jit/passes/dce.cpp` for what is ours; the file as it is for what is not."""
    parts = Path(file).parts
    for root in ("csrc", "engine"):
        if root in parts:
            return "/".join(parts[len(parts) - 1 - parts[::-1].index(root) :])
    return file


def _find(file: str, short: str) -> Path | None:
    """The file where it was, else in the checkout that this engine is of."""
    root = Path(__file__).resolve().parents[3]
    for path in (Path(file), root / short):
        try:
            if path.is_file() and path.stat().st_size <= LARGEST:
                return path
        except OSError:
            continue
    return None
