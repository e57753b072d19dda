"""The rules of the front end: how a call is compiled, by the object that is called.

`RULES` is the one table. A rule is one of
  * a function `(context, call, hint) -> SugaredValue`;
  * a `ConditionRule`, for a call that narrows types (`isinstance`) or is static (`hasattr`).
An object without a rule is called as an operator of the engine, or compiled from its source.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from engine.jit.frontend.environment import Context
    from engine.jit.frontend.refinement import CondValue
    from engine.jit.frontend.sugared_values import SugaredValue
    from engine.jit.types.jit_type import Type

CallRule = Callable[["Context", ast.Call, "Type | None"], "SugaredValue"]
Rule = TypeVar("Rule", bound=Callable[..., Any])


@dataclass(frozen=True)
class ConditionRule:
    """A call that is a condition: `condition` compiles it and returns the refinements that it implies."""

    condition: Callable[[Context, ast.Call], CondValue]

    def __call__(self, c: Context, tree: ast.Call, hint: Type | None) -> SugaredValue:
        """Compiles the call where its value is needed."""
        return self.condition(c, tree).as_value(c)


RULES: dict[Any, CallRule | ConditionRule] = {}


def rule(*objects: Any) -> Callable[[Rule], Rule]:
    """Registers how a call of these Python objects is compiled."""

    def register(function: Rule) -> Rule:
        for key in objects:
            RULES[key] = function
        return function

    return register


def condition_rule(*objects: Any) -> Callable[[Rule], Rule]:
    """Registers how a call of these Python objects is compiled as a condition."""

    def register(function: Rule) -> Rule:
        for key in objects:
            RULES[key] = ConditionRule(function)
        return function

    return register


def rule_of(callee: Any) -> CallRule | ConditionRule | None:
    """Returns the rule of a called object; None without a rule, and for unhashable objects."""
    try:
        return RULES.get(callee)
    except TypeError:  # not hashable
        return None
