"""Fixture: a small complete lesson for tests to modify."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

MARKDOWN = """\
## Words
Read me.

## Run
```python
x = [1, 2, 3]
```

## Look
Here.

## How long
```python
a = 2
```

## Then
```python
b = a + 1
```

## Which
```python
word = "first"
```

## Do
Make y.
"""

TOML = """\
title = "First"
covers = ["T1"]

[[step]]
kind = "text"
section = "Words"

[[step]]
kind = "run"
section = "Run"

[[step]]
kind = "look"
section = "Look"
view = "memory"
select = ""

[[step]]
kind = "predict"
section = "How long"
answer = "a"
also = ["'two'"]
why = "a is {a}."
[[step.wrong]]
answer = "a + 1"
message = "Not {a + 1}, less."

[[step]]
kind = "predict"
section = "Then"
continues = true
answer = "b"
why = "b is {b}."
[[step.wrong]]
answer = "a"
message = "That is a."

[[step]]
kind = "predict"
section = "Which"
answer = "word"
why = "It says so."
[[step.wrong]]
answer = "'last'"
message = "Look again."

[[step]]
kind = "exercise"
section = "Do"
hints = ["Look at y.", "y = 3"]

[[step.goal]]
check = "y == 3"
message = "y is {y}, not 3."

[[step.accepts]]
code = "y = 1 + 2"

[[step.accepts]]
code = "y = 3.0"

[[step.rejects]]
code = "y = 4"
message = "y is 4"

[[step.rejects]]
code = "z = 3"
message = "no name `y`"

[[step.rejects]]
code = "y = "
message = "SyntaxError"
"""

EXERCISE = "# TODO\ny = None\n"
SOLUTION = "y = 3\n"


@dataclass(frozen=True)
class Sample:
    """Writes the sample lesson, with pieces of its two files replaced."""

    root: Path

    def write(
        self,
        *toml: tuple[str, str],
        markdown: Sequence[tuple[str, str]] = (),
    ) -> Path:
        """Writes `01_first`; returns the folder to pass to `load`."""
        folder = self.root / "01_first"
        folder.mkdir()
        (folder / "lesson.toml").write_text(_replaced(TOML, toml))
        (folder / "lesson.md").write_text(_replaced(MARKDOWN, markdown))
        (folder / "exercise.py").write_text(EXERCISE)
        (folder / "solution.py").write_text(SOLUTION)
        return self.root


def _replaced(text: str, changes: Sequence[tuple[str, str]]) -> str:
    """Replaces the first `old` by `new` for each pair; an empty `old` inserts `new` at the
    beginning."""
    for old, new in changes:
        assert old in text, f"the sample has no {old!r}"
        text = text.replace(old, new, 1)
    return text


@pytest.fixture
def sample(tmp_path: Path) -> Sample:
    """A writer of the sample lesson in the test's folder."""
    root = tmp_path / "lessons"
    root.mkdir()
    return Sample(root)
