"""An interpreter of pickles that never imports, calls or subclasses anything by itself.

It reads the opcodes that PyTorch's files consist of, and asks a `Resolver` what a global stands for, what a
call of it returns and how a state is set. Memory is proportional to the length of the pickle: tuples
that contain one another are measured before they are hashed, since two references at each of 50 levels would
take Python years to hash.
"""

from __future__ import annotations

import pickletools
import warnings
from collections.abc import Callable
from io import BytesIO
from typing import Any, Protocol

__all__ = ["Opaque", "PickleError", "Resolver", "describe", "load_pickle"]

_MAX_DEPTH = 100  # of nested tuples: Python hashes them by recursion
_MAX_HASHED = 100_000  # items in all tuples within one key


class PickleError(Exception):
    """A pickle that is damaged, or that asks for something that is not allowed."""


class Opaque:
    """An object that was not created: the class or function in the file, its arguments, and what followed."""

    __slots__ = ("arguments", "function", "items", "state")

    def __init__(self, function: Any, arguments: tuple[Any, ...]) -> None:
        self.function, self.arguments = function, arguments
        self.items: list[Any] = []  # appended; of a dict: keys and values in turn
        self.state: Any = None


class Resolver(Protocol):
    """The objects to which a pickle may refer. Each method raises PickleError to refuse."""

    def find(self, module: str, name: str) -> Any:
        """Return the object for a global."""

    def call(self, function: Any, arguments: tuple[Any, ...]) -> Any:
        """Return the result of a call (REDUCE)."""

    def new(self, kind: Any, arguments: tuple[Any, ...]) -> Any:
        """Return a new instance of a class (NEWOBJ)."""

    def build(self, target: Any, state: Any) -> None:
        """Set the state of an object (BUILD)."""

    def persistent(self, pid: Any) -> Any:
        """Return the object for a persistent id: a storage."""


def describe(value: Any) -> str:
    """Return a short text for a value of a pickle; never as long as a value that contains itself."""
    if value is None or type(value) in (bool, float):
        return repr(value)
    if type(value) is int:
        return str(value) if -(2**200) < value < 2**200 else "an integer of more than 200 bits"
    if type(value) in (str, bytes):
        return repr(value[:60]) + ("..." if len(value) > 60 else "")
    if type(value) in (tuple, list) and len(value) <= 8 and all(type(x) is int for x in value):
        items = ", ".join(map(describe, value))
        return f"({items})" if type(value) is tuple else f"[{items}]"
    if isinstance(value, (tuple, list, dict, set)):
        return f"a {type(value).__name__} of {len(value)} items"
    return f"a {type(value).__name__}"


def load_pickle(content: Any, resolver: Resolver) -> Any:
    """Return the object that a pickle describes.

    content: bytes, or a binary file, which is left at the byte after the pickle.
    Raises: PickleError, and what the resolver's methods raise.
    """
    machine = _Machine(resolver)
    stream = BytesIO(content) if isinstance(content, bytes) else content
    with warnings.catch_warnings():  # of escape sequences in damaged text
        warnings.simplefilter("ignore", DeprecationWarning)
        try:
            for opcode, argument, position in pickletools.genops(stream):
                if opcode.name == "STOP":
                    return machine.result()
                action = _ACTIONS.get(opcode.name)
                if action is None:
                    position_text = "" if position is None else f" at byte {position}"
                    raise PickleError(f"the opcode {opcode.name}{position_text} is not allowed")
                action(machine, argument)
        except (ValueError, OverflowError, UnicodeError) as error:
            raise PickleError(f"the pickle is damaged: {error}") from None
        except (IndexError, KeyError):
            raise PickleError(
                "the pickle is damaged: it takes a value that was never put"
            ) from None
        except RecursionError:
            raise PickleError("the pickle is nested too deeply") from None
    raise PickleError("the pickle is damaged: it has no end")


class _Machine:
    """The stack, marks and memo of one pickle."""

    def __init__(self, resolver: Resolver) -> None:
        self._resolver = resolver
        self._stack: list[Any] = []
        self._marks: list[int] = []
        self._memo: dict[int, Any] = {}
        self._measures: dict[int, tuple[int, int]] = {}  # of tuples by id: depth, items in all

    def result(self) -> Any:
        if len(self._stack) != 1 or self._marks:
            raise PickleError(
                f"the pickle is damaged: {len(self._stack)} values are left at its end"
            )
        return self._stack[0]

    def push(self, value: Any) -> None:
        self._stack.append(value)

    def take(self, count: int) -> list[Any]:
        start = len(self._stack) - count
        if start < (self._marks[-1] if self._marks else 0):
            raise IndexError
        items = self._stack[start:]
        del self._stack[start:]
        return items

    def take_marked(self) -> list[Any]:
        start = self._marks.pop()
        items = self._stack[start:]
        del self._stack[start:]
        return items

    def mark(self, _: Any) -> None:
        self._marks.append(len(self._stack))

    def put(self, index: int | None) -> None:
        self._memo[len(self._memo) if index is None else index] = self._stack[-1]

    def get(self, index: int) -> None:
        self.push(self._memo[index])

    def find(self, name: str) -> None:
        module, _, attribute = name.partition(" ")
        self.push(self._resolver.find(module, attribute))

    def find_on_stack(self, _: Any) -> None:
        module, name = self.take(2)
        if type(module) is not str or type(name) is not str:
            raise PickleError(f"a global is named by {describe(module)} and {describe(name)}")
        self.push(self._resolver.find(module, name))

    def call(self, _: Any) -> None:
        function, arguments = self.take(2)
        self.push(self._resolver.call(function, self._arguments(arguments)))

    def new(self, _: Any) -> None:
        kind, arguments = self.take(2)
        self.push(self._resolver.new(kind, self._arguments(arguments)))

    def _arguments(self, arguments: Any) -> tuple[Any, ...]:
        """Return the arguments of a call, which may hash what they contain: as set([...]) does."""
        if type(arguments) is not tuple:
            raise PickleError(f"the arguments of a call are {describe(arguments)}, not a tuple")
        self.measure(arguments)
        for argument in arguments:
            if type(argument) is list:
                self.measure(argument)
                for pair in argument:
                    if type(pair) is list:
                        self.measure(pair)
        return arguments

    def build(self, _: Any) -> None:
        target, state = self.take(2)
        self._resolver.build(target, state)
        self.push(target)

    def persistent(self, _: Any) -> None:
        (pid,) = self.take(1)
        self.push(self._resolver.persistent(pid))

    def make_tuple(self, items: list[Any]) -> None:
        result = tuple(items)
        measures = [self._measures[id(item)] for item in items if type(item) is tuple]
        depth = 1 + max((depth for depth, _ in measures), default=0)
        if depth > _MAX_DEPTH:
            raise PickleError(f"more than {_MAX_DEPTH} tuples are nested")
        self._measures[id(result)] = depth, len(items) + sum(count for _, count in measures)
        self.push(result)

    def measure(self, items: Any) -> None:
        """Raise PickleError for a tuple among the items that takes too long to hash."""
        for item in items:
            if type(item) is tuple and self._measures[id(item)][1] > _MAX_HASHED:
                raise PickleError(f"a key has more than {_MAX_HASHED} items")

    def set_items(self, items: list[Any]) -> None:
        target = self._stack[-1]
        if isinstance(target, Opaque):
            target.items.extend(items)
            return
        if not isinstance(target, dict):
            raise PickleError(f"items of {describe(target)} are set")
        if len(items) % 2:
            raise PickleError("the pickle is damaged: the last key of a dict has no value")
        self.measure(items[::2])
        try:
            for i in range(0, len(items), 2):
                target[items[i]] = items[i + 1]
        except TypeError as error:  # unhashable, and what Counter and its like compare
            raise PickleError(f"the pickle is damaged: {error}") from None

    def append_items(self, items: list[Any]) -> None:
        target = self._stack[-1]
        if isinstance(target, Opaque):
            target.items.extend(items)
            return
        if not isinstance(target, list):
            raise PickleError(f"an item is appended to {describe(target)}")
        target.extend(items)

    def add_items(self, items: list[Any]) -> None:
        target = self._stack[-1]
        if isinstance(target, Opaque):
            target.items.extend(items)
            return
        if type(target) is not set:
            raise PickleError(f"an item is added to {describe(target)}")
        self.measure(items)
        try:
            target.update(items)
        except TypeError as error:
            raise PickleError(f"the pickle is damaged: {error}") from None

    def make_dict(self, items: list[Any]) -> None:
        self.push({})
        self.set_items(items)


def _nothing(machine: _Machine, argument: Any) -> None:
    return None


_Action = Callable[[_Machine, Any], Any]
_ACTIONS: dict[str, _Action] = {
    "PROTO": _nothing,
    "FRAME": _nothing,
    "MARK": _Machine.mark,
    "EMPTY_DICT": lambda m, _: m.push({}),
    "EMPTY_LIST": lambda m, _: m.push([]),
    "EMPTY_SET": lambda m, _: m.push(set()),
    "EMPTY_TUPLE": lambda m, _: m.make_tuple([]),
    "TUPLE": lambda m, _: m.make_tuple(m.take_marked()),
    "TUPLE1": lambda m, _: m.make_tuple(m.take(1)),
    "TUPLE2": lambda m, _: m.make_tuple(m.take(2)),
    "TUPLE3": lambda m, _: m.make_tuple(m.take(3)),
    "LIST": lambda m, _: m.push(m.take_marked()),
    "DICT": lambda m, _: m.make_dict(m.take_marked()),
    "NONE": lambda m, _: m.push(None),
    "NEWTRUE": lambda m, _: m.push(True),
    "NEWFALSE": lambda m, _: m.push(False),
    "SETITEM": lambda m, _: m.set_items(m.take(2)),
    "SETITEMS": lambda m, _: m.set_items(m.take_marked()),
    "APPEND": lambda m, _: m.append_items(m.take(1)),
    "APPENDS": lambda m, _: m.append_items(m.take_marked()),
    "ADDITEMS": lambda m, _: m.add_items(m.take_marked()),
    "GLOBAL": _Machine.find,
    "STACK_GLOBAL": _Machine.find_on_stack,
    "REDUCE": _Machine.call,
    "NEWOBJ": _Machine.new,
    "BUILD": _Machine.build,
    "BINPERSID": _Machine.persistent,
    "MEMOIZE": _Machine.put,
    **dict.fromkeys(("BINPUT", "LONG_BINPUT", "PUT"), _Machine.put),
    **dict.fromkeys(("BINGET", "LONG_BINGET", "GET"), _Machine.get),
    **dict.fromkeys(
        (
            *("BININT", "BININT1", "BININT2", "LONG1", "LONG4", "BINFLOAT"),
            *("BINUNICODE", "SHORT_BINUNICODE", "BINUNICODE8", "SHORT_BINSTRING", "BINSTRING"),
            *("BINBYTES", "SHORT_BINBYTES", "BINBYTES8"),
        ),
        _Machine.push,
    ),
}
