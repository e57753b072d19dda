"""The page of PyTorch's public names is what names_table.py writes, and every name that is out has a reason."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest
from names_table import missing_parameters

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("torch") is None, reason="PyTorch is not installed"
)


def test_the_page_of_names_is_current() -> None:
    script = Path(__file__).with_name("names_table.py")
    checked = subprocess.run(
        [sys.executable, str(script), "--check"], capture_output=True, text=True
    )
    assert checked.returncode == 0, checked.stderr


def test_a_parameter_that_is_missing_is_named() -> None:
    def theirs(a: int, b: int = 0, *, c: int = 0) -> None: ...

    def ours(a: int, c: int = 0) -> None: ...

    assert missing_parameters(theirs, ours) == ["b"]
    assert missing_parameters(theirs, theirs) == []
    assert missing_parameters(theirs, lambda a, **options: None) == []
