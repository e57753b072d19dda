"""The docstring examples of a few distributions print the same in PyTorch and the engine.

`docstring_examples.py` compares those of all functions.
"""

from __future__ import annotations

import importlib.util

import pytest
from docstring_differences import REASONS
from docstring_examples import differences, docstrings, same

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("torch") is None, reason="PyTorch is not installed"
)


def test_examples_print_the_same_text() -> None:
    examples = docstrings(r"^torch\.distributions\.(Normal|Categorical|Beta)$")
    differing, compared = differences(examples)
    assert compared > 4
    assert not set(differing) - set(REASONS), "\n".join(
        line for lines in differing.values() for line in lines
    )


def test_comparison() -> None:
    assert same("tensor([1.0000, 2.5000])", "tensor([1.0001, 2.5000])", False)
    assert not same("tensor([1.0000])", "tensor([1.1000])", False)
    assert not same("tensor([1])", "tensor([2])", False)
    assert same("tensor([1])", "tensor([-23])", True)
    assert not same("tensor([1.5])", "tensor([1.5, 2.5])", True)
    assert not same("tensor([1.5])", "tensor([1.5], dtype=torch.float64)", True)
    assert same("<Node at 0x7f0011223344>", "<Node at 0x7f0099887766>", False)
