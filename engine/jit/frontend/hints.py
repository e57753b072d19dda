"""What to write instead: found from what is wrong, for the end of a message."""

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
        self.empty: set[int] = set()  # lists and dictionaries of which nobody said what they hold

    def of_call(self, args: Sequence[SimpleValue]) -> str:
        """For arguments that no operator takes."""
        for one in args:
            if one.id in self.empty:
                return _of_empty(args)
            if one.type.kind == "Optional":
                return "Hint: check for None first: if x is not None: ..."
            if one.type.kind == "Enum":
                return "Hint: use .value"
            if one.type.kind == "class" and len(args) > 1:
                return "Hint: write the object first; operators are methods of the left operand"
            if one.type == ANY or one.type.kind == "Union":
                return "Hint: check the type first: if isinstance(x, int): ..."
        types = {one.type for one in args}
        if STR in types and types & _NUMBERS:
            return 'Hint: convert to str: str(x), or f"{x}"'
        for one in args:
            if one.id in self.unannotated and one.type == TENSOR:
                name = self.unannotated[one.id]
                return (
                    f"Hint: annotate the parameter when it is no Tensor: {name}: int, "
                    f"{name}: str, {name}: List[int]"
                )
        return ""


def _of_empty(args: Sequence[SimpleValue]) -> str:
    held = args[-1].type
    if args[0].type.kind == "Dict":
        key = args[1].type if len(args) > 2 else STR
        return f"Hint: annotate it: d: Dict[{key}, {held}] = {{}}"
    return f"Hint: annotate it: xs: List[{held}] = []"


def of_assignment(name: str, had: Type, given: Type) -> str:
    """For a name that gets a value of another type than it has."""
    if had == NONE:
        return f"Hint: annotate the first assignment: {name}: Optional[{given}] = None"
    if had == INT and given == FLOAT:
        return f"Hint: begin with a float, such as {name} = 0.0, or write int(...) here"
    return f"Hint: use another name, or annotate the first assignment ({name}: Optional[...])"


def of_optional(tree: ast.AST) -> str:
    """For what may be None, `tree` being how the program reads it."""
    if isinstance(tree, ast.Attribute):  # others may write to it between the question and the use
        name = f"{tree.attr} = {ast.unparse(tree)}"
        return f"Hint: assign it to a name and check that: {name}; if {tree.attr} is not None: ..."
    return "Hint: check for None first"


def of_result(declared: Type, given: Type) -> str:
    """For a result of another type than is declared."""
    if declared == INT and given == FLOAT:
        return "Hint: write int(...), or // to divide, or declare float"
    if given.kind == "Optional":
        return "Hint: return it after a check for None, or declare Optional"
    return f"Hint: declare -> {given}, or convert the value"


def close(name: str, known: Iterable[str]) -> str:
    """For a name that is not there: those that are spelled alike."""
    public = [one for one in known if not one.startswith("_")]
    found = difflib.get_close_matches(name, public, 3, 0.6)
    if not found and len(name) < 4:
        found = [one for one in public if one and (one in name or name in one)][:3]
    return f"Hint: did you mean {' or '.join(found)}?" if found else ""
