"""The cases of *.ir files: read as README.md in this folder says."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).parent


@dataclass(frozen=True)
class Case:
    """One graph before and after a pass; `after` is None where the pass is to change nothing."""

    path: Path
    line: int
    title: str
    before: str
    rules: tuple[str, ...]
    after: str | None

    @property
    def pass_name(self) -> str:
        return self.path.relative_to(HERE).parts[0].removesuffix(".ir")

    def __str__(self) -> str:
        return f"{self.path.relative_to(HERE)}:{self.line} {self.title}"


def read_cases(path: Path) -> list[Case]:
    """Return all cases of one file, in order. Raises ValueError where a case has no `=>` or no graph."""
    cases = []
    lines = path.read_text().splitlines()
    starts = [i for i, line in enumerate(lines) if line.startswith("# ")]
    for start, end in zip(starts, [*starts[1:], len(lines)], strict=True):
        body = [line for line in lines[start + 1 : end] if not line.startswith("##")]
        arrows = [i for i, line in enumerate(body) if line.startswith("=>")]
        if len(arrows) != 1:
            raise ValueError(
                f"{path.name}:{start + 1}: a case has one line '=>', not {len(arrows)}"
            )
        before, after = _graph(body[: arrows[0]]), _graph(body[arrows[0] + 1 :])
        output = body[arrows[0]][2:].strip()
        if not before or (output == "nothing") != (not after):
            raise ValueError(
                f"{path.name}:{start + 1}: a case is a graph, '=>' with rules and another graph, "
                "or '=> nothing' without one"
            )
        rules = tuple(output.split("; ")) if output and output != "nothing" else ()
        cases.append(Case(path, start + 1, lines[start][2:], before, rules, after or None))
    return cases


def all_cases() -> list[Case]:
    return [case for path in sorted(HERE.rglob("*.ir")) for case in read_cases(path)]


def numbered_from_the_top(text: str) -> str:
    """Return the text with the numbers of Values in the order in which they are declared, inputs in one line."""
    numbers: dict[str, str] = {}

    def number(match: re.Match[str]) -> str:
        return "%" + numbers.setdefault(match[1], str(len(numbers)))

    return re.sub(r"%(\d+)\b(?!\.\w)", number, re.sub(r",\n +%", ", %", text))


def _graph(lines: list[str]) -> str:
    text = "\n".join(lines).strip("\n")
    return text + "\n" if text.strip() else ""
