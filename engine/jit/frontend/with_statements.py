"""`with`: what is switched before its body and switched back behind it, on every way out.

The body stands where it is: what it assigns is known behind it. A `return`, `break` or `continue`
switches back before it leaves; an error is the executor's to clean up after.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

from engine.autograd import grad_mode
from engine.jit.frontend.classes import known_class
from engine.jit.frontend.dispatch import compiles, expression, value
from engine.jit.frontend.environment import FALLS, Context, Exit
from engine.jit.frontend.errors import refuse
from engine.jit.frontend.exit_transforms import Step, run
from engine.jit.frontend.statements import assign_target
from engine.jit.frontend.sugared_values import PythonValue, SimpleValue, SugaredValue, operated
from engine.jit.types.jit_type import BOOL

Leave = Callable[[ast.AST], None]

_GRADIENTS = ("aten::is_grad_enabled", "aten::set_grad_enabled")
_INFERENCE = ("aten::is_inference_mode_enabled", "aten::set_inference_mode")


@compiles(ast.With)
def _with(c: Context, tree: ast.With) -> Exit:
    return run(c, steps_of(c, tree))


def steps_of(c: Context, tree: ast.With) -> list[Step]:
    """A `with` as steps one after the other."""
    enter: list[Step] = [_entering(c, item) for item in tree.items]
    return [*enter, *tree.body, *[_leaving(c, tree) for _ in tree.items]]


def _entering(c: Context, item: ast.withitem) -> Step:
    def step() -> Exit:
        leave, given = _entered(c, item.context_expr)
        c.opened = (*c.opened, leave)
        if item.optional_vars is not None:
            assign_target(c, item.optional_vars, given)
        return FALLS

    return step


def _leaving(c: Context, tree: ast.AST) -> Step:
    def step() -> Exit:
        leave = c.opened[-1]
        c.opened = c.opened[:-1]
        leave(tree)
        return FALLS

    return step


def within(c: Context, tree: ast.FunctionDef, modes: list[Any], body: list[Step]) -> list[Step]:
    """The body of a function that is decorated with `@no_grad()` and the like."""

    def entering(mode: Any) -> Step:
        def step() -> Exit:
            c.opened = (*c.opened, _switched(c, tree, type(mode), getattr(mode, "mode", None)))
            return FALLS

        return step

    return [*map(entering, modes), *body, *[_leaving(c, tree) for _ in modes]]


def modes_of(fn: Any) -> list[Any]:
    """The modes that a function is decorated with, from the outermost on."""
    found = []
    while hasattr(fn, "__wrapped__"):
        code = getattr(fn, "__code__", None)
        if code is not None and code.co_filename == grad_mode._Mode.__call__.__code__.co_filename:
            cells = dict(zip(code.co_freevars, fn.__closure__ or (), strict=True))
            found.append(cells["self"].cell_contents)
        fn = fn.__wrapped__
    return found


def _entered(c: Context, tree: ast.expr) -> tuple[Leave, SugaredValue]:
    """Enters a context; how it is left, and what `as` names."""
    callee = expression(c, tree.func) if isinstance(tree, ast.Call) else None
    kind = callee.object if isinstance(callee, PythonValue) else None
    if callee is None or (isinstance(kind, type) and known_class(kind) is not None):
        return _entered_object(c, tree)
    if not isinstance(tree, ast.Call) or kind not in _MODES:
        refuse(
            c.source,
            tree,
            "with statements of other things than engine.no_grad(), enable_grad(), "
            "set_grad_enabled(mode), inference_mode() and objects of scripted classes aren't supported",
            "put `with` around the call of this function",
        )
    args = [*tree.args, *[one.value for one in tree.keywords]]
    most = 0 if kind in (grad_mode.no_grad, grad_mode.enable_grad) else 1
    if len(args) > most or (kind is grad_mode.set_grad_enabled and not args):
        raise c.fail(tree, f"{kind.__name__}() takes {most or 'no'} argument(s), got {len(args)}")
    mode = value(c, args[0]) if args else None
    if mode is not None and mode.type != BOOL:
        raise c.fail(tree, f"{kind.__name__}() takes a bool, not a value of type {mode.type}")
    return _switched(c, tree, kind, mode), PythonValue(None, True)


def _entered_object(c: Context, tree: ast.expr) -> tuple[Leave, SugaredValue]:
    """`with x as y`, of a class that has `__enter__` and `__exit__`; an error that leaves the body
    ends the program, and `__exit__` is not called."""
    owner = value(c, tree)
    given = operated(c, tree, owner, "__enter__")
    if given is None:
        raise c.fail(tree, f"a value of type {owner.type} is no context for `with`")

    def leave(at: ast.AST) -> None:
        nothing = c.builder.constant(at, None)
        operated(c, at, owner, "__exit__", [nothing] * 3)

    return leave, given


def _switched(c: Context, tree: ast.AST, kind: type, mode: SimpleValue | bool | None) -> Leave:
    """Switches a mode; how it is switched back."""
    builder = c.builder
    given = builder.constant(tree, mode) if isinstance(mode, bool) else mode
    switched: list[tuple[str, SimpleValue]] = []

    def switch(names: tuple[str, str], to: SimpleValue) -> None:
        asked, sets = names
        switched.append((sets, builder.call(tree, asked)))
        builder.call(tree, sets, [to])

    if kind is grad_mode.inference_mode:
        inference = given if given is not None else builder.constant(tree, True)
        switch(_INFERENCE, inference)
        switch(_GRADIENTS, builder.call(tree, "aten::__not__", [inference]))
    else:
        recorded = builder.constant(tree, kind is grad_mode.enable_grad) if given is None else given
        switch(_GRADIENTS, recorded)

    def leave(at: ast.AST) -> None:
        for sets, before in reversed(switched):
            builder.call(at, sets, [before])

    return leave


_MODES = (
    grad_mode.no_grad,
    grad_mode.enable_grad,
    grad_mode.set_grad_enabled,
    grad_mode.inference_mode,
)
