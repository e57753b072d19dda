"""Expressions over recorded values: `x[2] > 5`, `y.version`, `w.grad.sum()`, at any moment.

They are a subset of Python, parsed with `ast` and never executed: names of the program, constants,
indices, comparisons, arithmetic, and the attributes and functions below. An element that the recording does not
have makes the value unknown, never a guess.
"""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from engine.inspect.layout import Extent
from engine.inspect.models._contents import BUDGET, Contents
from engine.inspect.models._numbers import BY_NAME

if TYPE_CHECKING:
    from engine.inspect.history import History
    from engine.inspect.history.facts import TensorFact

_BINARY: dict[type[ast.AST], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
}
_FUNCTIONS = ("sum", "min", "max", "mean", "abs", "item", "isnan", "isinf", "any", "all", "numel")
_ATTRIBUTES = ("version", "shape", "dtype", "grad", "storage", "requires_grad")
_CONSTANTS = {"inf": float("inf"), "nan": float("nan"), "True": True, "False": False, "None": None}


_PATH = re.compile(r"\b[A-Za-z_]\w*(?:\.\w+|\[[^\[\]]*\])+")


@lru_cache(maxsize=4096)
def _as_python(path: str) -> str:
    """Return a path with children of modules as Python writes them: `net.0.weight` -> `net[0].weight`."""
    return re.sub(r"\.(\d+)(?!\w)", r"[\1]", path)


class Unknown(Exception):
    """The value is not in the recording; the message says why."""


class Expression:
    """One parsed expression. Raises: ValueError if it is not one that can be evaluated."""

    def __init__(self, text: str) -> None:
        self.text = text.strip()
        try:
            self._tree = ast.parse(
                _PATH.sub(lambda path: _as_python(path[0]), self.text), mode="eval"
            ).body
        except SyntaxError as error:
            raise ValueError(f"{text!r} is not an expression: {error.msg}") from None
        _check(self._tree)
        names = (node.id for node in ast.walk(self._tree) if isinstance(node, ast.Name))
        self.names = frozenset(names) - set(_CONSTANTS) - set(_FUNCTIONS)

    def value(self, history: History, m: int) -> Any:
        """Return the value at the moment. Raises: Unknown."""
        return _plain(_Evaluation(history, m).of(self._tree))

    def described(self, history: History, m: int) -> str:
        """Return the value as text; a sentence in brackets if it is unknown."""
        import numpy as np

        try:
            value = self.value(history, m)
        except Unknown as reason:
            return f"({reason})"
        if isinstance(value, np.ndarray):
            text = np.array2string(value, threshold=6, edgeitems=2, precision=4, separator=", ")
            return " ".join(text.split())
        return f"{value:.6g}" if isinstance(value, float) else str(value)


def _check(tree: ast.AST) -> None:
    """Raise ValueError at the first part that is not allowed."""
    for node in ast.walk(tree):
        name = ""
        if isinstance(node, ast.Call):
            called = node.func
            name = called.attr if isinstance(called, ast.Attribute) else getattr(called, "id", "")
            if name not in _FUNCTIONS or node.keywords:
                raise ValueError(f"{name or 'this'}() is not one of {', '.join(_FUNCTIONS)}")
        elif not isinstance(node, _ALLOWED):
            raise ValueError(f"{type(node).__name__} cannot be used in an expression")


_ALLOWED = (
    ast.Compare, ast.BinOp, ast.UnaryOp, ast.BoolOp, ast.And, ast.Or, ast.Not, ast.USub, ast.Name, ast.Load,
    ast.Attribute, ast.Subscript, ast.Slice, ast.Tuple, ast.Constant, *_BINARY,
)  # fmt: skip


class _Evaluation:
    """An expression at one moment."""

    def __init__(self, history: History, m: int) -> None:
        self.history, self.m = history, m

    def of(self, node: ast.AST) -> Any:
        """Return a number, string, tuple, array, or the TensorFact of a tensor."""
        match node:
            case ast.Constant(value=value):
                return value
            case ast.Name(id=name) if name in _CONSTANTS:
                return _CONSTANTS[name]
            case ast.Name():
                return self._named(node)
            case ast.Attribute():
                return self._attribute(node)
            case ast.Subscript():
                return self._item(node)
            case ast.Call():
                return self._call(node)
            case ast.UnaryOp(op=op, operand=operand):
                value = self._number(operand)
                return not value if isinstance(op, ast.Not) else -value
            case ast.BoolOp(op=op, values=values):
                join = all if isinstance(op, ast.And) else any
                return join(bool(self._number(each)) for each in values)
            case ast.BinOp(left=left, op=op, right=right):
                return _BINARY[type(op)](self._number(left), self._number(right))
            case ast.Compare(left=left, ops=ops, comparators=others):
                sides = [self._number(each) for each in (left, *others)]
                pairs = zip(sides, ops, sides[1:], strict=False)
                return all(bool(_all(_BINARY[type(op)](a, b))) for a, op, b in pairs)
            case ast.Tuple(elts=elements):
                return tuple(self.of(each) for each in elements)
        raise Unknown(f"{ast.unparse(node)} has no value")

    def _number(self, node: ast.AST) -> Any:
        return _plain(self.of(node)) if not isinstance(node, ast.Constant) else node.value

    def _find(self, text: str) -> Any | None:
        """Return the value of a name or path of the program: a tensor, a constant, or another value's text."""
        facts = [fact for fact in self.history.names_at(self.m) if _as_python(fact.name) == text]
        running = self.history.frame_at(self.m)
        facts.sort(key=lambda fact: (fact.frame == running, fact.since))
        if not facts:
            return None
        if facts[-1].tensor:
            tensor = self.history.tensor(facts[-1].tensor, self.m)
            return None if tensor is None else _Tensor(self, tensor)
        try:
            return ast.literal_eval(facts[-1].text)
        except (ValueError, SyntaxError):
            return facts[-1].text

    def _named(self, node: ast.AST) -> Any:
        value = self._find(ast.unparse(node))
        if value is None:
            raise Unknown(f"no {ast.unparse(node)} here")
        return value

    def _attribute(self, node: ast.Attribute) -> Any:
        value = self._find(ast.unparse(node))
        if value is not None:
            return value
        value, name = self.of(node.value), node.attr
        if not isinstance(value, _Tensor) or name not in _ATTRIBUTES:
            raise Unknown(f"{ast.unparse(node)} was not recorded")
        return value.attribute(name)

    def _item(self, node: ast.Subscript) -> Any:
        value = self._find(ast.unparse(node))
        if value is not None:
            return value
        value, index = self.of(node.value), self._index(node.slice)
        try:
            return value.item(index) if isinstance(value, _Tensor) else value[index]
        except (IndexError, TypeError, KeyError):
            raise Unknown(f"{ast.unparse(node)} does not exist") from None

    def _index(self, node: ast.AST) -> Any:
        if isinstance(node, ast.Slice):
            parts = (node.lower, node.upper, node.step)
            return slice(*(None if part is None else self.of(part) for part in parts))
        if isinstance(node, ast.Tuple):
            return tuple(self._index(each) for each in node.elts)
        return _plain(self.of(node))

    def _call(self, node: ast.Call) -> Any:
        import numpy as np

        if isinstance(node.func, ast.Attribute):
            name, value = node.func.attr, self._number(node.func.value)
        else:
            name, value = ast.unparse(node.func), self._number(node.args[0] if node.args else node)
        values = np.asarray(value)
        if name == "numel":
            return values.size
        return values if name == "item" else getattr(np, name)(values)


class _Tensor:
    """A tensor at a moment."""

    def __init__(self, evaluation: _Evaluation, fact: TensorFact) -> None:
        self.history, self.m, self.fact = evaluation.history, evaluation.m, fact
        self._evaluation = evaluation

    def attribute(self, name: str) -> Any:
        """Return one of `_ATTRIBUTES`."""
        fact, history = self.fact, self.history
        if name == "grad":
            grad = history.autograd.grad(fact.id, self.m)
            tensor = history.tensor(grad.grad, self.m) if grad else None
            return _Tensor(self._evaluation, tensor) if tensor else None
        if name == "requires_grad":
            return history.autograd.requires_grad(fact.id, self.m)
        values = {"shape": fact.sizes, "dtype": fact.dtype, "storage": fact.storage}
        return history.version(fact.counter, self.m) if name == "version" else values[name]

    def item(self, index: Any) -> Any:
        """Return one element by its index, read alone; or a part of the array."""
        index = index if isinstance(index, tuple) else (index,)
        fact = self.fact
        if len(index) != len(fact.sizes) or not all(isinstance(each, int) for each in index):
            return self.array()[index]
        at = [
            each + size if each < 0 else each for each, size in zip(index, fact.sizes, strict=True)
        ]
        if not all(0 <= each < size for each, size in zip(at, fact.sizes, strict=True)):
            raise IndexError(index)
        offset = fact.offset + sum(i * stride for i, stride in zip(at, fact.strides, strict=True))
        contents = self._contents()
        value = contents.value(BY_NAME[fact.dtype], offset * fact.itemsize)
        if value is None:
            raise Unknown("not recorded")
        return value

    def array(self) -> Any:
        """Return all elements. Raises: Unknown, if one of them is."""
        import numpy as np

        fact = self.fact
        if fact.numel > BUDGET:
            raise Unknown(f"more than {BUDGET:,} elements")
        extent = Extent.of(fact.offset, fact.sizes, fact.strides, fact.itemsize)
        values, known = self._contents().elements(BY_NAME[fact.dtype], extent)
        if not known.all():
            raise Unknown("not recorded")
        shape = [n if s else min(n, 1) for n, s in zip(fact.sizes, fact.strides, strict=True)]
        return np.broadcast_to(np.asarray(values).reshape(shape), fact.sizes)

    def _contents(self) -> Contents:
        storage = self.history.storage(self.fact.storage, self.m)
        if storage is None:
            raise Unknown("it has no storage")
        return Contents.of(self.history, storage.id, self.m, storage.nbytes, count=False)


def _plain(value: Any) -> Any:
    """Convert a tensor to its elements, or to a number if it has only one."""
    import numpy as np

    if isinstance(value, _Tensor):
        value = value.array()
    if isinstance(value, np.ndarray) and not value.shape:
        return value.item()
    return value.item() if isinstance(value, np.generic) else value


def _all(value: Any) -> Any:
    """Reduce a comparison of arrays: True if it is true for every element."""
    return value.all() if hasattr(value, "all") else value
