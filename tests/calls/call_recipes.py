"""The recipes of tests/native/recipes.inc: arguments that belong together, and the expressions in them.

tests/native/recipes.h explains the notation.
"""

from __future__ import annotations

import random
import re
from functools import cache
from pathlib import Path

Recipe = dict[str, str]
_FILE = Path(__file__).parents[1] / "native" / "recipes.inc"
_TERM = re.compile(r"([+*]?)(\d+|[A-Z])")


@cache
def _all() -> dict[str, list[Recipe]]:
    recipes: dict[str, list[Recipe]] = {}
    for line in _FILE.read_text(encoding="utf-8").splitlines():
        names, colon, arguments = line.partition(": ")
        if not colon:
            continue
        recipe = dict(part.split("=", 1) for part in arguments.split(" "))
        for name in names.split(", "):
            recipes.setdefault(name, []).append(recipe)
    return recipes


@cache
def recipes_for(full_name: str) -> list[Recipe]:
    """Return the recipes of an operator, by its full name, its overload's functional form or its base name."""
    base, _, overload = full_name.partition(".")
    functional = base.removesuffix("_")
    dot = f".{overload}" if overload else ""
    for name in (full_name, functional + dot, base + dot.removesuffix("_out"), base, functional):
        if name in _all():
            return _all()[name]
    return []


def evaluate(expression: str, letters: dict[str, int], dice: random.Random) -> int:
    """Return the value of `N*2+1`, from left to right, or of `low..high`."""
    if ".." in expression:
        low, high = expression.split("..")
        return dice.randint(int(low), int(high))
    if expression.lstrip("-").isdigit():
        return int(expression)
    value = 0
    for operation, term in _TERM.findall(expression):
        number = letters[term] if term.isalpha() else int(term)
        value = value * number if operation == "*" else value + number
    return value


def evaluate_list(text: str, letters: dict[str, int], dice: random.Random) -> list[int]:
    """Return the values of `[N,2]`, or of `[N;3]`: three times N."""
    inside = text.strip("[]")
    if not inside:
        return []
    if ";" in inside:
        value, count = inside.split(";")
        return [evaluate(value, letters, dice)] * evaluate(count, letters, dice)
    return [evaluate(part.strip(), letters, dice) for part in inside.split(",")]
