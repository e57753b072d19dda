"""`jit.fork` and `jit.wait` in compiled code: prim::fork with the called function as its graph, aten::wait."""

from __future__ import annotations

import ast

from engine._native import lib
from engine.jit.c_results import c_integer
from engine.jit.frontend.calls import call
from engine.jit.frontend.dispatch import compiles, expression, value
from engine.jit.frontend.environment import Context
from engine.jit.frontend.errors import not_supported
from engine.jit.frontend.rules import rule
from engine.jit.frontend.sugared_values import SugaredValue
from engine.jit.runtime import futures
from engine.jit.types.annotations import GENERICS
from engine.jit.types.jit_type import Type, future_of

GENERICS[futures.Future] = future_of


class _Evaluated(ast.expr):
    """An expression that was compiled earlier, in another block."""

    def __init__(self, sugared: SugaredValue) -> None:
        super().__init__()
        self.sugared = sugared


@compiles(_Evaluated)
def _evaluated(c: Context, tree: _Evaluated, hint: Type | None) -> SugaredValue:
    return tree.sugared


def _compile_argument(c: Context, tree: ast.expr) -> ast.expr:
    """Compile an argument before the call, except a list or dictionary: the call may determine its type."""
    if isinstance(tree, (ast.List, ast.Dict, ast.Starred)):
        return tree
    return ast.copy_location(_Evaluated(expression(c, tree)), tree)


@rule(futures.fork)
def _fork(c: Context, tree: ast.Call, hint: Type | None) -> SugaredValue:
    if not tree.args or isinstance(tree.args[0], ast.Starred):
        not_supported(
            c.source, tree, "fork of nothing isn't supported", "jit.fork(function, arguments...)"
        )
    callee = expression(c, tree.args[0])
    args = [_compile_argument(c, arg) for arg in tree.args[1:]]
    options = [
        ast.keyword(keyword.arg, _compile_argument(c, keyword.value)) for keyword in tree.keywords
    ]
    inner = ast.copy_location(ast.Call(tree.args[0], args, options), tree)
    node = c.builder.node(tree, "prim::fork", (), ())
    block = node.add_block()
    with c.builder.inside(block):
        result = c.as_value(tree, call(c, inner, callee))
        c.builder.returns(block, [result])
    future = node.add_output(future_of(result.type))
    c_integer(lib.uh_node_outline(c.builder.handle, node.id, b"Subgraph"))
    return future


@rule(futures.wait)
def _wait(c: Context, tree: ast.Call, hint: Type | None) -> SugaredValue:
    if len(tree.args) != 1 or tree.keywords:
        not_supported(c.source, tree, "wait of several futures isn't supported", "wait for each")
    return c.builder.call(tree, "aten::wait", [value(c, tree.args[0])])
