"""Hints at the end of error messages: what to write instead."""

from __future__ import annotations

import ast
import difflib
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from engine.jit.types.jit_type import ANY, FLOAT, INT, NONE, SCALAR, STR, TENSOR, Type

if TYPE_CHECKING:
    from engine.jit.frontend.sugared_values import SimpleValue

_NUMBERS = frozenset((INT, FLOAT, SCALAR))


class ArgumentHints:
    """Facts about values that hints for wrong arguments need: missing annotations, empty containers."""

    def __init__(self) -> None:
        self.unannotated: dict[int, str] = {}  # parameters by their Values' numbers
        self.empty: set[int] = set()  # lists and dictionaries without a declared element type

    def of_call(self, args: Sequence[SimpleValue]) -> str:
        """Returns a hint for arguments that no overload accepts."""
        for arg in args:
            if arg.id in self.empty:
                return _of_empty(args)
            if arg.type.kind == "Optional":
                return "Hint: check for None first: if x is not None: ..."
            if arg.type.kind == "Enum":
                return "Hint: use .value"
            if arg.type.kind == "class" and len(args) > 1:
                return "Hint: write the object first; operators are methods of the left operand"
            if arg.type == ANY or arg.type.kind == "Union":
                return "Hint: check the type first: if isinstance(x, int): ..."
        types = {arg.type for arg in args}
        if STR in types and types & _NUMBERS:
            return 'Hint: convert to str: str(x), or f"{x}"'
        for arg in args:
            if arg.id in self.unannotated and arg.type == TENSOR:
                name = self.unannotated[arg.id]
                return (
                    f"Hint: annotate the parameter when it is not a Tensor: {name}: int, "
                    f"{name}: str, {name}: List[int]"
                )
        return ""


def _of_empty(args: Sequence[SimpleValue]) -> str:
    element_type = args[-1].type
    if args[0].type.kind == "Dict":
        key = args[1].type if len(args) > 2 else STR
        return f"Hint: annotate it: d: Dict[{key}, {element_type}] = {{}}"
    return f"Hint: annotate it: xs: List[{element_type}] = []"


def of_assignment(name: str, had: Type, assigned: Type) -> str:
    """Returns a hint for the assignment of a value of another type."""
    if had == NONE:
        return f"Hint: annotate the first assignment: {name}: Optional[{assigned}] = None"
    if had == INT and assigned == FLOAT:
        return f"Hint: begin with a float, such as {name} = 0.0, or write int(...) here"
    return f"Hint: use another name, or annotate the first assignment ({name}: Optional[...])"


def of_optional(tree: ast.AST) -> str:
    """Returns a hint for an optional value that `tree` reads."""
    if isinstance(tree, ast.Attribute):  # it may be written between the check and the use
        name = f"{tree.attr} = {ast.unparse(tree)}"
        return f"Hint: assign it to a name and check that: {name}; if {tree.attr} is not None: ..."
    return "Hint: check for None first"


def of_result(declared: Type, returned: Type) -> str:
    """Returns a hint for a result that is not of the declared type."""
    if declared == INT and returned == FLOAT:
        return "Hint: write int(...), or // to divide, or declare float"
    if returned.kind == "Optional":
        return "Hint: return it after a check for None, or declare Optional"
    return f"Hint: declare -> {returned}, or convert the value"


def close(name: str, known: Iterable[str]) -> str:
    """Suggests names that are spelled like an unknown one."""
    public = [candidate for candidate in known if not candidate.startswith("_")]
    matches = difflib.get_close_matches(name, public, 3, 0.6)
    if not matches and len(name) < 4:
        matches = [
            candidate
            for candidate in public
            if candidate and (candidate in name or name in candidate)
        ][:3]
    return f"Hint: did you mean {' or '.join(matches)}?" if matches else ""
