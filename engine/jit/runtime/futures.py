"""fork and wait: futures of calls.

A forked call runs at once, on the calling thread, which PyTorch allows: results, errors and graphs are
the same, and recordings, callbacks, gradients and modes are the caller's.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, Generic, TypeVar

from engine._native import lib
from engine.jit.c_results import c_string
from engine.jit.ir.graph import Graph
from engine.jit.runtime.function import ScriptFunction
from engine.jit.runtime.module import ScriptMethod, ScriptModule
from engine.jit.types.ivalues import ObjectBox
from engine.jit.types.type_introspection import Type

T = TypeVar("T")


class Future(Generic[T]):
    """The result of `jit.fork`: the value of a call, or its error.

    >>> from engine import jit
    >>> future = jit.fork(lambda n: n + 1, 2)
    >>> future.done(), future.wait()
    (True, 3)
    """

    def __init__(self) -> None:
        self._done = False
        self._value: Any = None
        self._error: BaseException | None = None
        self._callbacks: list[Callable[[Future[T]], Any]] = []
        self._completion = threading.Condition()

    def done(self) -> bool:
        """Returns True if there is a result or an error."""
        return self._done

    def wait(self) -> T:
        """Returns the result; blocks until another thread sets it.

        Raises: the call's error; RuntimeError if no other thread is there to set a result.
        """
        if not self._done and threading.active_count() == 1:
            raise RuntimeError("Future: no result was set; wait() would block forever")
        with self._completion:
            self._completion.wait_for(lambda: self._done)
        if self._error is not None:
            raise self._error
        value: T = self._value
        return value

    def value(self) -> T:
        """Returns the result, as `wait` does."""
        return self.wait()

    def set_result(self, result: T) -> None:
        """Marks it completed. Raises: RuntimeError if it is completed already."""
        self._end(result, None)

    def set_exception(self, error: BaseException) -> None:
        """Marks it completed with an error, which `wait` raises."""
        self._end(None, error)

    def _end(self, result: Any, error: BaseException | None) -> None:
        with self._completion:
            if self._done:
                raise RuntimeError("Future: can only be marked completed once")
            self._value, self._error, self._done = result, error, True
            self._completion.notify_all()
        for callback in self._callbacks:
            callback(self)

    def add_done_callback(self, callback: Callable[[Future[T]], Any]) -> None:
        """Calls a function with the future on completion; at once if it is completed."""
        with self._completion:
            if not self._done:
                self._callbacks.append(callback)
                return
        callback(self)

    def then(self, callback: Callable[[Future[T]], Any]) -> Future[Any]:
        """Returns a future for the result of `callback(future)`, called on completion."""
        following: Future[Any] = Future()
        self.add_done_callback(lambda done: _run(following, callback, (done,), {}))
        return following


class _FromProgram(Future[T]):
    """A future that a compiled function returned: the core holds its result."""

    def __init__(self, box: ObjectBox) -> None:
        super().__init__()
        self._script_object = box
        self._done = True

    def wait(self) -> T:
        """Returns the result. Raises: the call's error."""
        type = Type(c_string(lib.uh_box_type(self._script_object.handle)))
        value: T = _waiting(type).run(self)
        return value


_waits: dict[str, Graph] = {}


def _waiting(type: Type) -> Graph:
    """Returns a compiled function that waits for a future of this type."""
    if type not in _waits:
        result = type.getElementType()
        _waits[type] = Graph.parse(
            f"graph(%f : {type}):\n  %r : {result} = aten::wait(%f)\n  return (%r)"
        )
    return _waits[type]


def from_program(handle: int) -> Future[Any]:
    """Converts a compiled function's result to a Future; takes ownership of the box."""
    return _FromProgram(ObjectBox(handle))


def _run(future: Future[Any], fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    try:
        result = fn(*args, **kwargs)
    except Exception as error:
        future.set_exception(error)
    else:
        future.set_result(result)


def fork(func: Callable[..., T], *args: Any, **kwargs: Any) -> Future[T]:
    """Starts a call and returns the Future of its result. In compiled code a `prim::fork`.

    It runs at once, on this thread. Errors of compiled code are raised at `wait`, those of a Python
    function at once, as in PyTorch; a trace records the call's operators in its place.
    Raises: TypeError for anything that cannot be called.
    """
    if not callable(func):
        raise TypeError(f"fork: expected a function, got {type(func).__name__}")
    future: Future[T] = Future()
    if isinstance(func, (ScriptFunction, ScriptMethod, ScriptModule)):
        _run(future, func, args, kwargs)
    else:
        future.set_result(func(*args, **kwargs))
    return future


def wait(future: Future[T]) -> T:
    """Returns the result of a Future. Raises: the call's error, TypeError for anything but a
    Future."""
    if future is None:
        raise RuntimeError("Future can't be None")
    if not isinstance(future, Future):
        raise TypeError(f"jit.wait: expected a Future, got {type(future).__name__}")
    return future.wait()
