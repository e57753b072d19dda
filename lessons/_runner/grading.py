"""Compare a learner's answer with the engine's.

Typed text is parsed, never run: numbers (also `4 * 6` and `9 / 3`), tuples and lists in any bracket or none,
yes and no in several spellings, words without regard to case or quotes.
"""

from __future__ import annotations

import ast
import math
import re
from typing import Any

YES = {"true", "yes", "y", "t", "same"}
NO = {"false", "no", "n", "f", "different"}


def matches(typed: str, answer: dict[str, Any], tolerance: float = 0.0) -> bool:
    """Return True if the typed text means `answer` (as `child.encode` made it)."""
    kind, value = answer["kind"], answer["value"]
    if kind == "bool":
        return read_bool(typed) is value
    if kind == "text":
        return plain_word(typed) == plain_word(value)
    read = read_value(typed)
    if kind == "sequence" and not isinstance(read, list):
        read = [] if read is None else [read]
    return same(read, value, tolerance)


def understood(typed: str, answer: dict[str, Any]) -> str:
    """Describe the expected kind of answer if the text cannot be one; otherwise ""."""
    kind = answer["kind"]
    if not typed.strip():
        return "Type an answer first."
    if kind == "bool" and read_bool(typed) is None:
        return "This one is a yes or a no (True or False)."
    if kind == "number" and not isinstance(read_value(typed), int | float):
        return "This one is a single number, such as 12 or 0.5."
    if kind == "sequence" and read_value(typed) is None:
        return "This one is a row of values, such as (3, 1) or 3, 1."
    return ""


def read_bool(typed: str) -> bool | None:
    """Return True for `Yes`, `y`, `True`, ...; False for their opposites; None for anything else."""
    word = typed.strip().strip(".!").lower()
    return True if word in YES else False if word in NO else None


def plain_word(text: str) -> str:
    """Return one word for `"Float32"`, `torch.float32` and ` float32 `; a row of words may have commas."""
    bare = re.sub(r"\s*,\s*|\s+", " ", text.strip().strip("'\"`").lower())
    return bare.removeprefix("torch.").removeprefix("engine.")


def read_value(typed: str) -> Any:
    """Return a number, a text, or (nested) lists of them; None if it is neither."""
    text = re.sub(r"^(torch\.)?(size|tensor)\s*(\(.*\))$", r"\3", typed.strip(), flags=re.I)
    if "," not in text and re.fullmatch(r"[\[(]?[-+.\w]+(\s+[-+.\w]+)+[\])]?", text):
        text = re.sub(r"\s+", ", ", text)
    try:
        tree = ast.parse(text, mode="eval").body
        return _value(tree)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def same(left: Any, right: Any, tolerance: float) -> bool:
    """Return whether both are equal in every number, within a tolerance that counts only for real numbers."""
    if isinstance(left, list) or isinstance(right, list):
        if not (isinstance(left, list) and isinstance(right, list) and len(left) == len(right)):
            return False
        return all(same(a, b, tolerance) for a, b in zip(left, right, strict=True))
    if isinstance(left, bool) or isinstance(right, bool) or isinstance(left, str):
        return type(left) is type(right) and left == right
    if not (isinstance(left, int | float) and isinstance(right, int | float)):
        return False
    return left == right or math.isclose(left, right, rel_tol=1e-9, abs_tol=tolerance)


def _value(node: ast.expr) -> Any:
    match node:
        case ast.Constant(value=bool() | int() | float() | str() as value):
            return value
        case ast.Tuple(elts=items) | ast.List(elts=items) | ast.Set(elts=items):
            return [_value(item) for item in items]
        case ast.Name(id=word) if (truth := read_bool(word)) is not None:
            return truth
        case ast.UnaryOp(op=ast.USub() | ast.UAdd() as sign, operand=operand):
            number = _number(operand)
            return -number if isinstance(sign, ast.USub) else number
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            return _number(left) + _number(right)
        case ast.BinOp(left=left, op=ast.Sub(), right=right):
            return _number(left) - _number(right)
        case ast.BinOp(left=left, op=ast.Mult(), right=right):
            return _number(left) * _number(right)
        case ast.BinOp(left=left, op=ast.Div(), right=right) if below := _number(right):
            return _number(left) / below
    raise ValueError("not a plain value")


def _number(node: ast.expr) -> int | float:
    value = _value(node)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError("not a number")
    return value
