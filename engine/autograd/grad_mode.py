"""Grad modes, which enable and disable recording for autograd: no_grad, enable_grad, set_grad_enabled, inference_mode.

All are context managers and decorators (of functions and of generator functions), and affect the current thread.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Generator
from types import TracebackType
from typing import Any, TypeVar

from engine._native import lib

_GENERATOR = 0x20  # inspect.CO_GENERATOR, without importing inspect
F = TypeVar("F", bound=Callable[..., Any])


def is_grad_enabled() -> bool:
    """Return True if this thread records operations on tensors that require gradients."""
    return bool(lib.uh_grad_enabled())


def is_inference_mode_enabled() -> bool:
    """Return True if this thread is inside `inference_mode`."""
    return bool(lib.uh_inference_enabled())


class _Mode:
    """A context manager that is also a decorator: every call of the function enters its own scope."""

    def _copy(self) -> _Mode:
        return type(self)()

    def __enter__(self) -> None:
        raise NotImplementedError

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        raise NotImplementedError

    def __call__(self, function: F) -> F:
        code = getattr(function, "__code__", None)
        if code is not None and code.co_flags & _GENERATOR:
            return self._decorate_generator(function)

        @functools.wraps(function)
        def inside(*args: Any, **options: Any) -> Any:
            with self._copy():
                return function(*args, **options)

        return inside  # type: ignore[return-value]

    def _decorate_generator(self, function: F) -> F:
        """Decorate a generator function: the mode is active while the generator runs, not while it is suspended."""

        @functools.wraps(function)
        def inside(*args: Any, **options: Any) -> Generator[Any, Any, Any]:
            generator = function(*args, **options)
            advance: Callable[[], Any] = functools.partial(next, generator)
            while True:
                try:
                    with self._copy():
                        value = advance()
                except StopIteration as end:
                    return end.value
                try:
                    sent = yield value
                except GeneratorExit:
                    with self._copy():
                        generator.close()
                    raise
                except BaseException as error:
                    advance = functools.partial(generator.throw, error)
                else:
                    advance = functools.partial(generator.send, sent)

        return inside  # type: ignore[return-value]


class _GradMode(_Mode):
    """Switches recording on or off for a scope. `@no_grad` and `@no_grad()` both decorate a function."""

    enabled = True

    def __new__(cls, orig_func: Any = None) -> Any:
        instance = super().__new__(cls)
        if orig_func is None:
            return instance
        instance.__init__()  # type: ignore[misc]
        return instance(orig_func)

    def __init__(self, orig_func: Callable[..., Any] | None = None) -> None:
        self._previous = False

    def __enter__(self) -> None:
        self._previous = is_grad_enabled()
        lib.uh_set_grad_enabled(self.enabled)

    def __exit__(self, *unused: Any) -> None:
        lib.uh_set_grad_enabled(self._previous)


class no_grad(_GradMode):
    """Disables recording: results do not require gradients, whatever they are computed from.

    `with no_grad(): ...`, `@no_grad()` or `@no_grad`. In-place operations still count versions.
    """

    enabled = False


class enable_grad(_GradMode):
    """Enables recording, also within `no_grad`. Context manager and decorator."""


class set_grad_enabled(_Mode):
    """Switches recording on or off at once; as a context manager it restores the previous mode.

    Args:
        mode: True to record operations from here on.
    """

    def __init__(self, mode: bool) -> None:
        self._previous = is_grad_enabled()
        self.mode = mode
        lib.uh_set_grad_enabled(bool(mode))

    def _copy(self) -> _Mode:
        return set_grad_enabled(self.mode)

    def __call__(self, function: F) -> F:
        lib.uh_set_grad_enabled(self._previous)  # a decorator switches when the function runs
        return super().__call__(function)

    def __enter__(self) -> None:
        lib.uh_set_grad_enabled(bool(self.mode))

    def __exit__(self, *unused: Any) -> None:
        lib.uh_set_grad_enabled(self._previous)


class inference_mode(_Mode):
    """Like `no_grad`; also, tensors created inside never become part of a graph, and have no version counter.

    Args:
        mode: False restores the normal mode, also within another `inference_mode`.
    """

    def __new__(cls, mode: Any = True) -> Any:
        instance = super().__new__(cls)
        if isinstance(mode, bool):
            return instance
        instance.__init__()  # type: ignore[misc]
        return instance(mode)

    def __init__(self, mode: bool = True) -> None:
        self.mode = mode
        self._previous = (False, False)

    def _copy(self) -> _Mode:
        return inference_mode(self.mode)

    def __enter__(self) -> None:
        self._previous = (is_grad_enabled(), is_inference_mode_enabled())
        lib.uh_set_inference_enabled(self.mode)
        lib.uh_set_grad_enabled(not self.mode)

    def __exit__(self, *unused: Any) -> None:
        grad, inference = self._previous
        lib.uh_set_inference_enabled(inference)
        lib.uh_set_grad_enabled(grad)


class set_multithreading_enabled(_Mode):
    """Accepted as in PyTorch, without effect: a backward pass always runs in the thread that calls it."""

    def __init__(self, mode: bool) -> None:
        self.mode = mode

    def _copy(self) -> set_multithreading_enabled:
        return type(self)(self.mode)

    def __enter__(self) -> None: ...

    def __exit__(self, *unused: Any) -> None: ...
