"""Attributes of nodes: conversion from a graph's text to Python values."""

from __future__ import annotations

import ast
import re
from typing import Any

from engine.tensor import Tensor

# PyTorch reads an attribute by a method named for its kind, and sets it by the same name with a _.
LETTERS: dict[str, Any] = {
    "i": int,
    "f": float,
    "s": str,
    "t": Tensor,
    "is": (list, tuple),
    "fs": (list, tuple),
    "ss": (list, tuple),
    "ts": (list, tuple),
    "ival": object,
}


def letter_of(value: Any) -> str:
    """Returns "i", "f", "s" or "t"; "ival" for anything else."""
    return next((letter for letter in "ifst" if isinstance(value, LETTERS[letter])), "ival")


def value_of(text: str) -> Any:
    """Parses an attribute's value as graphs print it: numbers, strings and lists; returns any other text
    unchanged.

    >>> value_of('"forward"'), value_of("[1, 2]"), value_of("2.")
    ('forward', [1, 2], 2.0)
    """
    try:
        return ast.literal_eval(re.sub(r"(?<=\d\.)(?=[\],\s]|$)", "0", text))
    except (ValueError, SyntaxError):
        return text
