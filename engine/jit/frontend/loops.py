"""`for` and `while`, and comprehensions: prim::Loop that carries what the body assigns.

An iterable with a static length (tuples, the modules of a ModuleList) is unrolled by compiling the
body once for each.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from engine.jit.frontend.dispatch import Keyword, compiles, expression, value
from engine.jit.frontend.environment import (
    FALLS,
    Context,
    EnvironmentFrame,
    Exit,
    ExitTarget,
    Refinements,
    Variable,
)
from engine.jit.frontend.errors import not_supported
from engine.jit.frontend.exit_transforms import ExitStep, Step, exit_return, leaves, run
from engine.jit.frontend.expressions import check_key, make_list
from engine.jit.frontend.iterables import Iterable, walk
from engine.jit.frontend.refinement import condition
from engine.jit.frontend.statements import assign_target
from engine.jit.frontend.sugared_values import SimpleValue, SugaredValue
from engine.jit.types.jit_type import (
    BOOL,
    INT,
    NONE,
    TENSOR,
    Type,
    dict_of,
    list_of,
    members,
    union,
)


@dataclass
class Body:
    """The body of a loop, as the exit target of `continue`, `break` and `return`."""

    c: Context
    names: list[str]  # loop-carried
    has_return: bool
    go_on: Callable[[], SimpleValue]  # the condition of the next iteration

    def values(
        self, tree: ast.AST, go_on: SimpleValue, returned: SimpleValue | None
    ) -> list[SimpleValue]:
        """Returns the outputs of the body."""
        values = [go_on, *self.current(tree)]
        if self.has_return:
            builder = self.c.builder
            values.append(builder.constant(tree, returned is not None))
            values.append(returned or self.c.no_result(tree))
        return values

    def current(self, tree: ast.AST) -> list[SimpleValue]:
        """Returns the current values of the carried names."""
        values = []
        for name in self.names:
            variable = self.c.frame.find(name)
            assert variable is not None
            values.append(self.c.as_value(tree, variable.value))
        return values


def assigned(statements: Sequence[ast.AST]) -> list[str]:
    """Returns the names that statements assign, sorted."""
    names = set()
    for statement in statements:
        for node in ast.walk(statement):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                names.add(node.id)
        for node in ast.walk(statement):
            if isinstance(node, (ast.ListComp, ast.DictComp)):
                own = {
                    x.id
                    for g in node.generators
                    for x in ast.walk(g.target)
                    if isinstance(x, ast.Name)
                }
                outside = _stored_outside(statement, node)
                names -= own - outside
    return sorted(names)


def _stored_outside(tree: ast.AST, inside: ast.AST) -> set[str]:
    within = {id(node) for node in ast.walk(inside)}
    return {
        node.id
        for node in ast.walk(tree)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and id(node) not in within
    }


def _loop(
    c: Context,
    tree: ast.For | ast.While,
    trips: SimpleValue,
    first: Callable[[], SimpleValue],
    start: Callable[[SimpleValue], None],
    go_on: Callable[[], SimpleValue],
    names: list[str],
) -> Exit:
    """Adds a prim::Loop. `start` compiles the beginning of an iteration and takes its number; `go_on`
    compiles the condition of the next one."""
    builder = c.builder
    way = leaves(tree.body)
    has_return = any(isinstance(inner, ast.Return) for inner in ast.walk(tree))
    carried: list[tuple[str, SimpleValue, Type]] = []
    for name in names:
        variable = c.frame.find(name)
        if variable is not None and isinstance(variable.value, SimpleValue):
            carried.append((name, variable.value, variable.type or variable.value.type))
    names = [name for name, _, _ in carried]
    inputs = [trips, first(), *[variable for _, variable, _ in carried]]
    if has_return:
        inputs += [builder.constant(tree, False), c.no_result(tree)]
    node = builder.node(tree, "prim::Loop", inputs, [])
    block = node.add_block()
    body = Body(c, names, has_return, go_on)
    with c.frame_in(block) as frame:
        iteration = builder.param(block, "", INT, trips)
        for name, before_it, type in carried:
            frame.names[name] = Variable(builder.param(block, name, type, before_it), type)
        if has_return:
            builder.param(block, "", BOOL, inputs[-2])
            c.carrying.append(builder.param(block, "", c.returns_so_far, inputs[-1]))
        before, c.target = c.target, ExitTarget(c.target, body, len(c.opened))
        start(iteration)
        steps: list[Step] = list(tree.body)
        if way in ("might", "exits") or has_return:
            steps.append(_continue_step(tree, body))
        ended = run(c, steps)
        c.target = before
        values = ended.values
        if ended.way != "exits":
            values = body.values(
                tree, go_on() if ended.way == "falls" else first_true(c, tree), None
            )
        builder.returns(block, values)
    for name in assigned(tree.body):
        if c.frame.find(name) is None:
            reason = f"{name} is not defined here: it was first assigned in a loop, which may not have run"
            c.frame.lost[name] = reason
    for name, _, type in carried:
        c.frame.names[name] = Variable(node.add_output(type, name), type)
        c.frame.lost.pop(name, None)
    if not has_return:
        return FALLS
    flag, returned = node.add_output(BOOL), node.add_output(c.returns_so_far)
    c.carrying.append(returned)
    return Exit("might", exit_return(c, tree, c.target, returned), flag)


def first_true(c: Context, tree: ast.AST) -> SimpleValue:
    """Returns the constant True, by which a prim::Loop begins its first iteration."""
    return c.builder.constant(tree, True)


def _continue_step(tree: ast.AST, body: Body) -> Step:
    return ExitStep(lambda: Exit("exits", body.values(tree, body.go_on(), None)))


@compiles(ast.While)
def _while(c: Context, tree: ast.While) -> Exit:
    if tree.orelse:
        _reject_else(c, tree, "while")
    before = condition(c, tree.test)
    if before.static is False:
        return FALLS

    def go_on() -> SimpleValue:
        return condition(c, tree.test).as_value(c)

    def start(_: SimpleValue) -> None:
        c.refine(tree.test, {**_refined_in_body(c, tree.test), **before.true})

    trips = c.builder.constant(tree, sys.maxsize)
    return _loop(c, tree, trips, lambda: before.as_value(c), start, go_on, assigned(tree.body))


def _refined_in_body(c: Context, test: ast.expr) -> Refinements:
    """Returns what `while x is not None` implies in the body for variables that may become None there.

    Before the loop, a variable that cannot be None needs no refinement."""
    parts = test.values if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And) else [test]
    refinements: Refinements = {}
    for part in parts:
        if not isinstance(part, ast.Compare) or not isinstance(part.left, ast.Name):
            continue
        if len(part.ops) != 1 or not isinstance(part.ops[0], ast.IsNot):
            continue
        none = part.comparators[0]
        variable = c.frame.find(part.left.id)
        if variable is None or not isinstance(variable.value, SimpleValue):
            continue
        kinds = members(variable.value.type)
        if isinstance(none, ast.Constant) and none.value is None and NONE in kinds:
            refinements[part.left.id] = union(kind for kind in kinds if kind != NONE)
    return refinements


def _reject_else(c: Context, tree: ast.For | ast.While, word: str) -> None:
    not_supported(
        c.source,
        Keyword(tree),
        f"else branches of {word} loops aren't supported",
        "set a flag before `break` and test it after the loop",
    )


@compiles(ast.For)
def _for(c: Context, tree: ast.For) -> Exit:
    if tree.orelse:
        _reject_else(c, tree, "for")
    iterable = walk(c, tree.iter, expression(c, tree.iter))
    if iterable.count is not None:
        return _unrolled(c, tree, iterable, iterable.count)
    length = (
        iterable.length if iterable.length is not None else c.builder.constant(tree, sys.maxsize)
    )

    def true() -> SimpleValue:
        return first_true(c, tree)

    def start(i: SimpleValue) -> None:
        assign_target(c, tree.target, iterable.at(i))

    return _loop(c, tree, length, true, start, true, assigned([tree.target, *tree.body]))


def _unrolled(c: Context, tree: ast.For, iterable: Iterable, count: int) -> Exit:
    """Compiles the body once for each element."""
    for inner in _own_statements(tree.body):
        if isinstance(inner, (ast.Break, ast.Continue)):
            not_supported(
                c.source,
                inner,
                "Because we emit iteration over modulelists or tuples as unrolled loops, we do not "
                "support break or continue inside the body of these loops",
                "put the rest of the body into an `if`",
            )
    steps: list[Step] = []
    for i in range(count):

        def bind(i: int = i) -> Exit:
            assign_target(c, tree.target, iterable.at(i))
            return FALLS

        steps += [bind, *tree.body]
    return run(c, steps)


def _own_statements(body: Sequence[ast.stmt]) -> list[ast.stmt]:
    """Returns statements and their substatements, without those of nested loops."""
    own = []
    for inner in body:
        own.append(inner)
        if isinstance(inner, ast.If):
            own += _own_statements(inner.body) + _own_statements(inner.orelse)
        elif isinstance(inner, ast.With):
            own += _own_statements(inner.body)
    return own


@compiles(ast.Break)
def _break(c: Context, tree: ast.Break) -> Exit:
    if c.target.loop is None:
        raise c.fail(tree, "Syntax Error: loop break outside of a loop")
    c.close(tree, c.target.opened)
    stop = c.builder.constant(tree, False)
    return Exit("exits", c.target.loop.values(tree, stop, None))


@compiles(ast.Continue)
def _continue(c: Context, tree: ast.Continue) -> Exit:
    if c.target.loop is None:
        raise c.fail(tree, "Syntax Error: loop continue outside of a loop")
    c.close(tree, c.target.opened)
    return Exit("exits", c.target.loop.values(tree, c.target.loop.go_on(), None))


# ---- comprehensions


def _go_through(
    c: Context,
    generators: Sequence[ast.comprehension],
    tree: ast.AST,
    each: Callable[[], None],
) -> None:
    """Calls `each` with the names of the generators bound, in the innermost loop."""
    if not generators:
        each()
        return
    generator = generators[0]
    if generator.is_async:
        not_supported(
            c.source, generator.iter, "async comprehensions aren't supported", "a plain `for`"
        )
    iterable = walk(c, generator.iter, expression(c, generator.iter))
    builder = c.builder

    def inside(i: SimpleValue | int) -> None:
        assign_target(c, generator.target, iterable.at(i))
        _filtered(c, list(generator.ifs), lambda: _go_through(c, generators[1:], tree, each))

    if iterable.count is not None:
        for i in range(iterable.count):
            before, c.frame = c.frame, EnvironmentFrame(c.frame, builder.block)
            inside(i)
            c.frame = before
        return
    length = iterable.length if iterable.length is not None else builder.constant(tree, sys.maxsize)
    node = builder.node(tree, "prim::Loop", [length, first_true(c, tree)], [])
    block = node.add_block()
    with c.frame_in(block):
        inside(builder.param(block, "", INT, length))
        builder.returns(block, [first_true(c, tree)])


def _filtered(c: Context, tests: list[ast.expr], each: Callable[[], None]) -> None:
    if not tests:
        each()
        return
    test = condition(c, tests[0])
    if test.static is not None:
        if test.static:
            _filtered(c, tests[1:], each)
        return
    node = c.builder.node(tests[0], "prim::If", [test.as_value(c)], [])
    first = node.add_block()
    node.add_block()
    with c.frame_in(first):
        c.refine(tests[0], test.true)
        _filtered(c, tests[1:], each)


@compiles(ast.ListComp)
def _list_comprehension(
    c: Context, tree: ast.ListComp | ast.GeneratorExp, hint: Type | None
) -> SugaredValue:
    element = hint.element if hint is not None and hint.kind == "List" else None
    lists: list[SimpleValue] = []
    types: list[Type] = []
    listed = make_list(c, tree, [], element)

    def each() -> None:
        element_value = value(c, tree.elt, element)
        if not types:
            types.append(element or element_value.type)
            c.builder.retype(listed, list_of(types[0]))
        lists.append(c.builder.call(tree, "aten::append", [listed, element_value]))

    _go_through(c, tree.generators, tree, each)
    return listed


@compiles(ast.GeneratorExp)
def _generator(c: Context, tree: ast.GeneratorExp, hint: Type | None) -> SugaredValue:
    """Compiles a generator expression to a list, as PyTorch does: it is mostly passed to any() or sum()."""
    return _list_comprehension(c, tree, hint)


@compiles(ast.DictComp)
def _dict_comprehension(c: Context, tree: ast.DictComp, hint: Type | None) -> SugaredValue:
    pair = hint.inner if hint is not None and hint.kind == "Dict" else (None, None)
    dictionary = c.builder.prim(tree, "prim::DictConstruct", [], hint or dict_of(INT, TENSOR))
    typed = hint is not None and hint.kind == "Dict"

    def each() -> None:
        nonlocal typed
        key, item = value(c, tree.key, pair[0]), value(c, tree.value, pair[1])
        if not typed:
            typed = True
            check_key(c, tree.key, key.type)
            c.builder.retype(dictionary, dict_of(key.type, item.type))
        c.builder.call(tree, "aten::_set_item", [dictionary, key, item])

    _go_through(c, tree.generators, tree, each)
    return dictionary
