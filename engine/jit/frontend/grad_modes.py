"""Gradient modes (`no_grad`, `enable_grad`, `inference_mode`), in `with` and as decorators."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

from engine.autograd import grad_mode
from engine.jit.frontend.environment import FALLS, Context, Exit
from engine.jit.frontend.exit_transforms import Step
from engine.jit.frontend.sugared_values import SimpleValue

Leave = Callable[[ast.AST], None]

_GRADIENTS = ("aten::is_grad_enabled", "aten::set_grad_enabled")
_INFERENCE = ("aten::is_inference_mode_enabled", "aten::set_inference_mode")
MODES = (
    grad_mode.no_grad,
    grad_mode.enable_grad,
    grad_mode.set_grad_enabled,
    grad_mode.inference_mode,
)


def within(c: Context, tree: ast.FunctionDef, modes: list[Any], body: list[Step]) -> list[Step]:
    """Returns the body of a function that is decorated with `@no_grad()` or another mode."""

    def entering(mode: Any) -> Step:
        def step() -> Exit:
            c.opened = (*c.opened, switched(c, tree, type(mode), getattr(mode, "mode", None)))
            return FALLS

        return step

    return [*map(entering, modes), *body, *[leaving(c, tree) for _ in modes]]


def modes_of(fn: Any) -> list[Any]:
    """Returns the modes that a function is decorated with, outermost first."""
    modes = []
    while hasattr(fn, "__wrapped__"):
        code = getattr(fn, "__code__", None)
        if code is not None and code.co_filename == grad_mode._Mode.__call__.__code__.co_filename:
            cells = dict(zip(code.co_freevars, fn.__closure__ or (), strict=True))
            modes.append(cells["self"].cell_contents)
        fn = fn.__wrapped__
    return modes


def leaving(c: Context, tree: ast.AST) -> Step:
    def step() -> Exit:
        leave = c.opened[-1]
        c.opened = c.opened[:-1]
        leave(tree)
        return FALLS

    return step


def switched(c: Context, tree: ast.AST, kind: type, mode: SimpleValue | bool | None) -> Leave:
    """Emits a switch of the mode, and returns the function that restores it."""
    builder = c.builder
    enabled = builder.constant(tree, mode) if isinstance(mode, bool) else mode
    switches: list[tuple[str, SimpleValue]] = []

    def switch(names: tuple[str, str], to: SimpleValue) -> None:
        current, sets = names
        switches.append((sets, builder.call(tree, current)))
        builder.call(tree, sets, [to])

    if kind is grad_mode.inference_mode:
        inference = enabled if enabled is not None else builder.constant(tree, True)
        switch(_INFERENCE, inference)
        switch(_GRADIENTS, builder.call(tree, "aten::__not__", [inference]))
    else:
        recorded = (
            builder.constant(tree, kind is grad_mode.enable_grad) if enabled is None else enabled
        )
        switch(_GRADIENTS, recorded)

    def leave(at: ast.AST) -> None:
        for sets, before in reversed(switches):
            builder.call(at, sets, [before])

    return leave
