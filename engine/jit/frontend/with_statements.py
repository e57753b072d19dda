"""`with`: enters its contexts before the body and leaves them after it, on every exit.

The body is compiled in the enclosing block, so its names stay known. A `return`, `break` or `continue`
leaves the contexts first; after an error the executor restores the modes.
"""

from __future__ import annotations

import ast

from engine._native.namespace import namespace
from engine.autograd import grad_mode
from engine.jit.frontend.classes import known_class
from engine.jit.frontend.dispatch import expression, value
from engine.jit.frontend.environment import FALLS, Context, Exit
from engine.jit.frontend.errors import not_supported
from engine.jit.frontend.exit_transforms import Step, flattens
from engine.jit.frontend.grad_modes import MODES, Leave, leaving, switched
from engine.jit.frontend.statements import assign_target
from engine.jit.frontend.sugared_values import PythonValue, SugaredValue, operated
from engine.jit.types.jit_type import BOOL


@flattens(ast.With)
def _with(c: Context, tree: ast.With) -> list[Step]:
    """Splits a `with` into steps."""
    enter: list[Step] = [_entering(c, item) for item in tree.items]
    return [*enter, *tree.body, *[leaving(c, tree) for _ in tree.items]]


def _entering(c: Context, item: ast.withitem) -> Step:
    def step() -> Exit:
        leave, target_value = _entered(c, item.context_expr)
        c.opened = (*c.opened, leave)
        if item.optional_vars is not None:
            assign_target(c, item.optional_vars, target_value)
        return FALLS

    return step


def _entered(c: Context, tree: ast.expr) -> tuple[Leave, SugaredValue]:
    """Enters a context; returns the function that leaves it, and the value of `as`."""
    callee = expression(c, tree.func) if isinstance(tree, ast.Call) else None
    kind = callee.object if isinstance(callee, PythonValue) else None
    if callee is None or (isinstance(kind, type) and known_class(kind) is not None):
        return _entered_object(c, tree)
    if not isinstance(tree, ast.Call) or kind not in MODES:
        not_supported(
            c.source,
            tree,
            f"with statements aren't supported except for {namespace()}.no_grad(), enable_grad(), "
            "set_grad_enabled(mode), inference_mode() and objects of scripted classes",
            "put `with` around the call of this function",
        )
    args = [*tree.args, *[keyword.value for keyword in tree.keywords]]
    max_args = 0 if kind in (grad_mode.no_grad, grad_mode.enable_grad) else 1
    if len(args) > max_args or (kind is grad_mode.set_grad_enabled and not args):
        raise c.fail(
            tree, f"{kind.__name__}() takes {max_args or 'no'} argument(s), got {len(args)}"
        )
    mode = value(c, args[0]) if args else None
    if mode is not None and mode.type != BOOL:
        raise c.fail(tree, f"{kind.__name__}() takes a bool, not a value of type {mode.type}")
    return switched(c, tree, kind, mode), PythonValue(None, True)


def _entered_object(c: Context, tree: ast.expr) -> tuple[Leave, SugaredValue]:
    """Compiles `with x as y` for a class that has `__enter__` and `__exit__`; an error in the body ends
    the program without a call of `__exit__`."""
    owner = value(c, tree)
    entered = operated(c, tree, owner, "__enter__")
    if entered is None:
        raise c.fail(tree, f"a value of type {owner.type} does not define __enter__ and __exit__")

    def leave(at: ast.AST) -> None:
        nothing = c.builder.constant(at, None)
        operated(c, at, owner, "__exit__", [nothing] * 3)

    return leave, entered
