"""Sequences of statements, and `if`: an early exit becomes outputs of its block.

SSA blocks have one end. After an `if` one branch of which ends with `return`, `break` or `continue`,
the following statements move into the other branch; for a deeper exit, the `if` returns a flag, and
the following statements are guarded by another `if`. The values that the function (or the loop's
body) ends with become results of these.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias, TypeVar

from engine.jit.frontend.builder import Node
from engine.jit.frontend.dispatch import statement
from engine.jit.frontend.environment import (
    FALLS,
    THROWS,
    Context,
    EnvironmentFrame,
    Exit,
    ExitTarget,
    Variable,
)
from engine.jit.frontend.refinement import CondValue, condition
from engine.jit.frontend.sugared_values import SimpleValue
from engine.jit.types.jit_type import BOOL, NONE, Type, is_subtype, unify


@dataclass(frozen=True)
class ExitStep:
    """A step that always leaves the block: what follows the last statement."""

    compile: Callable[[], Exit]


Step: TypeAlias = ast.stmt | ExitStep | Callable[[], Exit]
_ENDS = frozenset(("exits", "throws"))
# Statements that are split into several steps of the block: see with_statements.py.
_FLATTENED: dict[type, Callable[[Context, Any], list[Step]]] = {}
Flattener = TypeVar("Flattener", bound=Callable[..., list[Step]])


def flattens(kind: type[ast.stmt]) -> Callable[[Flattener], Flattener]:
    """Registers the function that splits a kind of statement into steps."""

    def register(flattener: Flattener) -> Flattener:
        _FLATTENED[kind] = flattener
        return flattener

    return register


def leaves(steps: Sequence[Step]) -> str:
    """Predicts from the syntax how statements end: falls, might, exits or throws."""
    might = False
    for step in steps:
        way = _leaves_one(step)
        if way in _ENDS:
            return way
        might = might or way == "might"
    return "might" if might else "falls"


def _leaves_one(step: Step) -> str:
    if isinstance(step, (ast.Return, ast.Break, ast.Continue)):
        return "exits"
    if isinstance(step, ast.Raise):
        return "throws"
    if isinstance(step, ast.If):
        ways = {leaves(step.body), leaves(step.orelse)}
        if ways <= _ENDS:
            return "exits" if "exits" in ways else "throws"
        return "might" if ways & {"exits", "might"} else "falls"
    if isinstance(step, ast.With):
        return leaves(step.body)
    if _is_endless(step):
        return "exits"
    if isinstance(step, (ast.For, ast.While)):
        inside = any(isinstance(inner, ast.Return) for inner in ast.walk(step))
        return "might" if inside else "falls"
    return "exits" if isinstance(step, ExitStep) else "falls"


def _is_endless(step: Step) -> bool:
    """Returns True for `while True` that only a `return` leaves."""
    return (
        isinstance(step, ast.While)
        and isinstance(step.test, ast.Constant)
        and bool(step.test.value)
        and any(isinstance(inner, ast.Return) for inner in ast.walk(step))
        and not any(isinstance(inner, ast.Break) for inner in ast.walk(step))
    )


def run(c: Context, steps: Sequence[Step]) -> Exit:
    """Compiles statements into the current block."""
    for i, step in enumerate(steps):
        remainder = steps[i + 1 :]
        if type(step) in _FLATTENED:
            return run_and_close(c, [*_FLATTENED[type(step)](c, step), *remainder])
        if isinstance(step, ast.If):
            ended, done = _if(c, step, remainder)
            if done:
                return ended
        else:
            ended = _compile(c, step)
        if ended.way == "might" and _is_endless(step):
            ended = Exit("exits", ended.values)
        if ended.way in _ENDS:
            return ended
        if ended.way == "might" and remainder:
            return _guarded(c, step, ended, remainder)
        if ended.way == "might":
            return ended
    return FALLS


def _compile(c: Context, step: Step) -> Exit:
    if isinstance(step, ast.stmt):
        return statement(c, step)
    return step.compile() if isinstance(step, ExitStep) else step()


def run_and_close(c: Context, steps: Sequence[Step]) -> Exit:
    """Compiles statements that may leave an enclosing `with`."""
    before = c.opened
    ended = run(c, steps)
    c.opened = before
    return ended


def _guarded(c: Context, step: Step, ended: Exit, remainder: Sequence[Step]) -> Exit:
    """Compiles the statements after one that may exit, under an `if` on its flag."""
    tree = (
        step if isinstance(step, ast.AST) else next(s for s in remainder if isinstance(s, ast.AST))
    )
    assert ended.flag is not None
    flag = ended.flag
    return branches(c, tree, flag, lambda: Exit("exits", ended.values), lambda: run(c, remainder))


def _if(c: Context, tree: ast.If, remainder: Sequence[Step]) -> tuple[Exit, bool]:
    """Compiles an `if`; also returns whether the statements after it are compiled too."""
    test = condition(c, tree.test)
    if test.static is not None:
        c.refine(tree, test.true if test.static else test.false)
        branch = tree.body if test.static else tree.orelse
        return run(c, [*branch, *remainder]), True
    body: list[Step] = list(tree.body)
    orelse: list[Step] = list(tree.orelse)
    ways = leaves(body), leaves(orelse)
    done = "exits" in ways
    if done and ways[0] not in _ENDS:
        body += remainder
    if done and ways[1] not in _ENDS:
        orelse += remainder
    header = _Header(tree)
    return decided(c, header, test, lambda: run(c, body), lambda: run(c, orelse)), done


class _Header(ast.AST):
    """An `if` with its condition and branches; nodes for the whole statement get its source range."""

    def __init__(self, tree: ast.If) -> None:
        super().__init__()
        self.lineno, self.col_offset = tree.lineno, tree.col_offset
        self.end_lineno, self.end_col_offset = tree.end_lineno, tree.end_col_offset


def decided(
    c: Context,
    tree: ast.AST,
    test: CondValue,
    body: Callable[[], Exit],
    orelse: Callable[[], Exit],
) -> Exit:
    """Compiles `branches` with the refinements of the condition."""

    def with_types(refinements: dict[str, Type], arm: Callable[[], Exit]) -> Callable[[], Exit]:
        def compile_arm() -> Exit:
            c.refine(tree, refinements)
            return arm()

        return compile_arm

    arms = with_types(test.true, body), with_types(test.false, orelse)
    return branches(c, tree, test.as_value(c), *arms)


def branches(
    c: Context,
    tree: ast.AST,
    test: SimpleValue,
    body: Callable[[], Exit],
    orelse: Callable[[], Exit],
) -> Exit:
    """Adds a prim::If; its results are the names that the branches assign and their exit values."""
    node = c.builder.node(tree, "prim::If", [test], [])
    blocks = [node.add_block(), node.add_block()]
    frames, exits = [], []
    for block, arm in zip(blocks, (body, orelse), strict=True):
        opened = c.opened
        with c.frame_in(block) as frame:
            exits.append(arm())
            frames.append(frame)
        c.opened = opened
    return _Join(c, tree, node, frames, exits).join()


class _Join:
    """The join after an `if`: results of its node, and names in the enclosing frame."""

    def __init__(
        self,
        c: Context,
        tree: ast.AST,
        node: Node,
        frames: list[EnvironmentFrame],
        exits: list[Exit],
    ) -> None:
        self.c, self.tree, self.node = c, tree, node
        self.frames, self.exits = frames, exits
        self.ways = [exit.way for exit in exits]
        self.returned: list[list[SimpleValue]] = [[], []]

    def join(self) -> Exit:
        """Adds the results, and returns how the `if` ends."""
        ways = set(self.ways)
        if ways == {"throws"}:
            self._finish([])
            return THROWS
        leaving = bool(ways & {"exits", "might"})
        flagged = leaving and not ways <= _ENDS
        types: list[Type] = []
        if flagged:
            types.append(BOOL)
            for i in range(2):
                self.returned[i].append(self._flag(i))
        exit_types = self._add_exit_values() if leaving else []
        types += exit_types
        outputs = [self.node.add_output(type) for type in types]
        result = Exit("falls")
        if leaving:
            values = outputs[1:] if flagged else outputs
            if self._carries_result():
                self.c.carrying.append(values[-1])
            result = Exit("might" if flagged else "exits", values, outputs[0] if flagged else None)
        if not ways <= _ENDS:
            self._add_names()
        for frame, values in zip(self.frames, self.returned, strict=True):
            self.c.builder.returns(frame.block, values)
        return result

    def _finish(self, values: list[SimpleValue]) -> None:
        for frame in self.frames:
            self.c.builder.returns(frame.block, values)

    def _flag(self, i: int) -> SimpleValue:
        flag = self.exits[i].flag
        if self.ways[i] == "might" and flag is not None:
            return flag
        with self.c.builder.inside(self.frames[i].block):
            return self.c.builder.constant(self.tree, self.ways[i] in _ENDS)

    def _add_exit_values(self) -> list[Type]:
        """Adds the values for the exit target; a branch that does not exit gives placeholders."""
        leaving = [exit.values for exit in self.exits if exit.way in ("exits", "might")]
        columns = [*zip(*leaving, strict=True)]
        results = columns[-1:] if self._carries_result() else []
        types = []
        for column in columns[: len(columns) - len(results)]:
            both: Type | None = column[0].type
            for exit_value in column[1:]:
                both = both and unify(both, exit_value.type)
            assert both is not None, "targets check what they are given"
            types.append(both)
        for i in range(2):
            if self.exits[i].values:
                self.returned[i] += self.exits[i].values
                continue
            self.returned[i] += [self._nothing(i, type) for type in types]
            if results:
                with self.c.builder.inside(self.frames[i].block):
                    self.returned[i].append(self.c.no_result(self.tree))
        return types + [self.c.returns_so_far] * len(results)

    def _carries_result(self) -> bool:
        """Returns whether the last exit value is the function's result."""
        loop = self.c.target.loop
        return loop is None or bool(loop.has_return)

    def _nothing(self, i: int, type: Type) -> SimpleValue:
        with self.c.builder.inside(self.frames[i].block):
            if type == NONE:
                return self.c.builder.constant(self.tree, None)
            return self.c.builder.uninitialized(self.tree, type)

    # ---- names

    def _add_names(self) -> None:
        live = [i for i in range(2) if self.ways[i] not in _ENDS]
        names: dict[str, None] = {}
        for i in live:
            for name, variable in self.frames[i].names.items():
                if len(live) == 1 or not variable.refined:
                    names[name] = None
            for name, reason in self.frames[i].lost.items():
                self.c.frame.lost.setdefault(name, reason)
        for name in names:
            self._add_name(name, live)

    def _add_name(self, name: str, live: list[int]) -> None:
        c = self.c
        variables = [self.frames[i].find(name) for i in live]
        for i, variable in zip(live, variables, strict=True):
            if variable is None:
                branch = "false" if i else "true"
                c.frame.lost[name] = f"{name} is not defined in the {branch} branch"
                return
        defined = [variable for variable in variables if variable is not None]
        values = [variable.value for variable in defined]
        graph_values = [value for value in values if isinstance(value, SimpleValue)]
        if len(graph_values) < len(values):
            if all(value == values[0] for value in values):
                c.frame.names[name] = defined[0]
            else:
                c.frame.lost[name] = (
                    f"{name} stands for different Python objects in the two branches"
                )
            return
        type: Type | None = graph_values[0].type
        if len(graph_values) == 2:
            type = unify(graph_values[0].type, graph_values[1].type)
        outside = c.frame.find(name)
        if type is None and outside is not None and outside.type is not None:
            # Annotated names: x: Union[int, str] = 1
            fit = all(is_subtype(graph_value.type, outside.type) for graph_value in graph_values)
            type = outside.type if fit else None
        if type is None:
            c.frame.lost[name] = (
                f"Type mismatch: {name} is set to type {graph_values[0].type} in the true branch and "
                f"type {graph_values[1].type} in the false branch"
            )
            return
        for i in range(2):
            variable = self.frames[i].find(name)
            value = variable.value if variable is not None else None
            fits = isinstance(value, SimpleValue) and is_subtype(value.type, type)
            outgoing = value if fits and isinstance(value, SimpleValue) else self._nothing(i, type)
            self.returned[i].append(outgoing)
        outer = c.frame.find(name)
        output = self.node.add_output(type, name)
        refined = len(defined) == 1 and defined[0].refined
        declared_type = (
            outer.type if outer is not None and outer.type is not None and not refined else type
        )
        if not is_subtype(type, declared_type):
            declared_type = type
        if declared_type is type and not refined:
            declared = [variable.type for variable in defined if variable.type is not None]
            declared_type = declared[0] if len(set(declared)) == 1 else type
        c.frame.names[name] = Variable(output, declared_type, refined)
        c.frame.lost.pop(name, None)


def exit_return(
    c: Context, tree: ast.AST, target: ExitTarget, returned: SimpleValue
) -> list[SimpleValue]:
    """Returns the values that a `return` passes to its exit target."""
    if target.loop is None:
        return [returned]
    stop = c.builder.constant(tree, False)
    values: list[SimpleValue] = target.loop.values(tree, stop, returned)
    return values
