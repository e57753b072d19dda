"""Habits that a machine can check: line lengths, named notes, documented operators."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest

from tests.architecture.sources import ROOT, files, line_of, name_of, report, text_of, under

CODE = files(".py", ".cpp", ".h", ".c", ".yaml", ".inc", ".md", ".txt")
MAX_COLUMNS = 120  # what a page shows; the aim, and what the formatters make, is 100
TABLE_COLUMNS = 140  # tests/ops/rows_*.py: a table, an operator a line
_NOTE = re.compile(r"Note \[([^\]\n]+)\](:?)")


@pytest.mark.parametrize("suffix", [".py", ".cpp", ".h", ".c"])
def test_lines_fit_the_page(suffix: str) -> None:
    broken = []
    for path in files(suffix):
        maximum = TABLE_COLUMNS if path.name.startswith("rows_") else MAX_COLUMNS
        for number, line in enumerate(text_of(path).splitlines(), 1):
            if len(line) > maximum:
                broken.append(f"{name_of(path)}:{number}: {len(line)} columns (at most {maximum})")
    assert not broken, report(broken)


def test_every_note_that_is_named_exists_once() -> None:
    """`Note [Name]: ...` explains an idea once; everywhere else it is named without the colon."""
    written: Counter[str] = Counter()
    named: dict[str, str] = {}
    for path in CODE:
        if path.is_relative_to(ROOT / "tests"):
            continue
        text = text_of(path)
        for match in _NOTE.finditer(text):
            if match[2]:
                written[match[1]] += 1
            else:
                named.setdefault(match[1], f"{name_of(path)}:{line_of(text, match.start())}")
    broken = [
        f"{item}: Note [{n}] is written nowhere" for n, item in named.items() if not written[n]
    ]
    broken += [f"Note [{n}] is written {many} times" for n, many in written.items() if many > 1]
    assert not broken, report(broken)


def declarations() -> list[tuple[Path, dict[str, object]]]:
    yaml = pytest.importorskip("yaml", reason="PyYAML reads the declarations")
    return [
        (path, entry)
        for path in under("csrc/ops", ".yaml")
        for entry in yaml.safe_load(text_of(path))
    ]


def test_every_operator_is_documented() -> None:
    broken = [
        f"{name_of(path)}: {entry['schema']}: no doc"
        for path, entry in declarations()
        if not str(entry.get("doc", "")).strip() and entry.get("python") != []
    ]
    assert not broken, report(broken)


def test_operators_are_declared_once() -> None:
    heads = Counter(str(entry["schema"]).split("(")[0] for _, entry in declarations())
    twice = [name for name, many in heads.items() if many > 1]
    assert not twice, f"declared more than once: {', '.join(twice)}"


def test_test_files_have_names_of_their_own() -> None:
    """pytest imports a test file by its bare name: two of one name end the run before it begins."""
    many = Counter(path.name for path in under("tests", ".py") if path.name != "conftest.py")
    twice = [name for name, times in many.items() if times > 1]
    assert not twice, f"more than one file below tests is called {', '.join(twice)}"


def test_no_test_is_left_out_for_good() -> None:
    """A test either holds or is not there; what a machine lacks is a skipif with its reason."""
    mark = re.compile(r"pytest\.mark\.(xfail|skip)\b")
    broken = [
        f"{name_of(path)}:{line_of(text, match.start())}: {match[0]}"
        for path in under("tests", ".py")
        if path != Path(__file__)
        for text in [text_of(path)]
        for match in mark.finditer(text)
    ]
    assert not broken, report(broken)
