"""Whether operations are recorded for differentiation: no_grad, enable_grad, set_grad_enabled, inference_mode.

All are context managers and decorators (of functions and of generator functions), and belong to a thread.
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
    """Whether this thread records operations on tensors that require gradients."""
    return bool(lib.uh_grad_enabled())


def is_inference_mode_enabled() -> bool:
    """Whether this thread is inside `inference_mode`."""
    return bool(lib.uh_inference_enabled())


class _Mode:
    """A context manager that also decorates: every call of the function gets a scope of its own."""

    def _again(self) -> _Mode:
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
            with self._again():
                return function(*args, **options)

        return inside  # type: ignore[return-value]

    def _decorate_generator(self, function: F) -> F:
        """The mode holds while the generator runs, not while it waits."""

        @functools.wraps(function)
        def inside(*args: Any, **options: Any) -> Generator[Any, Any, Any]:
            generator = function(*args, **options)
            advance: Callable[[], Any] = functools.partial(next, generator)
            while True:
                try:
                    with self._again():
                        value = advance()
                except StopIteration as end:
                    return end.value
                try:
                    sent = yield value
                except GeneratorExit:
                    with self._again():
                        generator.close()
                    raise
                except BaseException as error:
                    advance = functools.partial(generator.throw, error)
                else:
                    advance = functools.partial(generator.send, sent)

        return inside  # type: ignore[return-value]


class _GradMode(_Mode):
    """Recording on or off for a scope. Given a function it decorates it: `@no_grad` as `@no_grad()`."""

    enabled = True

    def __new__(cls, function: Any = None) -> Any:
        made = super().__new__(cls)
        if function is None:
            return made
        made.__init__()  # type: ignore[misc]
        return made(function)

    def __init__(self, function: Callable[..., Any] | None = None) -> None:
        self._found = False

    def __enter__(self) -> None:
        self._found = is_grad_enabled()
        lib.uh_set_grad_enabled(self.enabled)

    def __exit__(self, *unused: Any) -> None:
        lib.uh_set_grad_enabled(self._found)


class no_grad(_GradMode):
    """Nothing is recorded inside: results do not require gradients, whatever they are made of.

    `with no_grad(): ...`, `@no_grad()` or `@no_grad`. In-place operations still count versions.
    """

    enabled = False


class enable_grad(_GradMode):
    """Inside, operations are recorded again, also within `no_grad`. Context manager and decorator."""


class set_grad_enabled(_Mode):
    """Switches recording on or off at once; as a context manager it restores what was.

    Args:
        mode: whether operations are recorded from here on.
    """

    def __init__(self, mode: bool) -> None:
        self._found = is_grad_enabled()
        self.mode = mode
        lib.uh_set_grad_enabled(bool(mode))

    def _again(self) -> _Mode:
        return set_grad_enabled(self.mode)

    def __call__(self, function: F) -> F:
        lib.uh_set_grad_enabled(self._found)  # a decorator switches when the function runs
        return super().__call__(function)

    def __enter__(self) -> None:
        lib.uh_set_grad_enabled(bool(self.mode))

    def __exit__(self, *unused: Any) -> None:
        lib.uh_set_grad_enabled(self._found)


class inference_mode(_Mode):
    """Like `no_grad`, and tensors made inside never take part in a graph and count no versions.

    Args:
        mode: False is the ordinary mode, also within another `inference_mode`.
    """

    def __new__(cls, mode: Any = True) -> Any:
        made = super().__new__(cls)
        if isinstance(mode, bool):
            return made
        made.__init__()  # type: ignore[misc]
        return made(mode)

    def __init__(self, mode: bool = True) -> None:
        self.mode = mode
        self._found = (False, False)

    def _again(self) -> _Mode:
        return inference_mode(self.mode)

    def __enter__(self) -> None:
        self._found = (is_grad_enabled(), is_inference_mode_enabled())
        lib.uh_set_inference_enabled(self.mode)
        lib.uh_set_grad_enabled(not self.mode)

    def __exit__(self, *unused: Any) -> None:
        grad, inference = self._found
        lib.uh_set_inference_enabled(inference)
        lib.uh_set_grad_enabled(grad)
