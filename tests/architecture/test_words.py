"""Every folder keeps to the glossary, or to no more hits of its word list than before."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from tests.architecture.sources import ROOT
from tests.architecture.words import (
    all_hits,
    check_names,
    check_prose,
    cpp_names,
    folder_of,
    limits,
    markdown_prose,
    read_python,
    split_cpp,
)

LIMITS = limits()


@pytest.mark.parametrize("folder", list(LIMITS))
def test_a_folder_has_no_more_hits_than_its_limit(folder: str) -> None:
    hits = [hit for hit in all_hits() if folder_of(hit.file, LIMITS) == folder]
    if len(hits) <= LIMITS[folder]:
        return
    rules = ", ".join(f"{rule} {n}" for rule, n in Counter(hit.rule for hit in hits).most_common(8))
    advice = "python -m tests.architecture.words --changed shows those on lines that you changed"
    start = "\n  ".join(map(str, hits[:20])) if not LIMITS[folder] else rules
    pytest.fail(f"{folder}: {len(hits)} hits, the limit is {LIMITS[folder]}; {advice}\n  {start}")


def test_limits_name_folders_that_exist() -> None:
    missing = [folder for folder in LIMITS if not (ROOT / folder).is_dir()]
    assert not missing, f"word_limits.toml: no folder {', '.join(missing)}"


def rules_in_python(code: str) -> list[str]:
    source = read_python(code)
    prose = (*source.strings, *source.comments)
    return [hit.rule for hit in (*check_names("", source.names), *check_prose("", prose))]


def rules_in_cpp(text: str) -> list[str]:
    code, prose = split_cpp(text)
    return [hit.rule for hit in (*check_names("", cpp_names(code)), *check_prose("", prose))]


@pytest.mark.parametrize(
    ("code", "rules"),
    [
        ("made = 1", ["name made"]),
        ("def f(given, *, kept=0): ...", ["name given", "name kept"]),
        ("class A:\n    told: int", ["name told"]),
        ("self._found = 1", ["name found"]),
        ("print(made, x.found)", []),
        ("first, *rest = x", []),
        ("rest = x", ["name rest"]),
        ("MOST = 3", ["name _?(MOST|LEAST|LONGEST|DEEPEST|WIDEST)(_\\w+)?"]),
        ("_LEAST_ROWS = 3", ["name _?(MOST|LEAST|LONGEST|DEEPEST|WIDEST)(_\\w+)?"]),
        ("most_common = x", ["name _?(most|least)_\\w+"]),
        ("'''Whether it is.'''", ["head Whether"]),
        ("def f():\n    '''Return x. What it is.'''", []),
        ("x = 1  # this lies in memory", ["lie"]),
        ("x = 1  # `lies in` is code", []),
        ("raise E(f'{a} is no {b}')", []),
        ("raise E(f'{a} is no number')", ["is no"]),
        ("# one line\n# lies\n# in memory", ["lie"]),
        ("x = '#'  # lies in", ["lie"]),
        ('x = """\n# lies in"""', ["lie"]),
    ],
)
def test_python_is_searched(code: str, rules: list[str]) -> None:
    assert rules_in_python(code) == rules


@pytest.mark.parametrize(
    ("code", "rules"),
    [
        ("int made = 1;", ["name made"]),
        ("const Tensor& given,", ["name given"]),
        ("std::vector<int> kept_;", ["name kept"]),
        ("auto& [found, second] = x;", ["name found"]),
        ("return made;", []),
        ("a = b * made;", []),
        ("x = a > made;", []),
        (
            "constexpr int kMostRows = 3;",
            ["name k(Most|Least|Longest|Deepest|Widest|Largest)([A-Z]\\w*)?"],
        ),
        (
            "constexpr int kLine = 64, kLeast = 1;",
            ["name k(Most|Least|Longest|Deepest|Widest|Largest)([A-Z]\\w*)?"],
        ),
        ("int least_steps(int most_rows);", ["name _?(most|least)_\\w+"] * 2),
        ('fail("it is no tensor");', ["is no"]),
        ("// int made = 1;", []),
        ("#pragma once\n// What it is.\nint f();", ["head What"]),
        ("int f() {  // nobody reads\n", ["nobody"]),
    ],
)
def test_cpp_is_searched(code: str, rules: list[str]) -> None:
    assert rules_in_cpp(code) == rules


def test_markdown_is_searched_outside_of_code() -> None:
    text = "It stands\nin a row.\n\n```\nit lies in code\n```\n\nWho owns it? `texts`\n"
    assert [(hit.rule, hit.line) for hit in check_prose("", markdown_prose(text))] == [("stand", 1)]


def test_word_list_is_kept_in_one_place() -> None:
    """The limits are a table of folders; they exempt no file."""
    text = Path(__file__).with_name("word_limits.toml").read_text()
    assert ".py" not in text
    assert ".cpp" not in text
