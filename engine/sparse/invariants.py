"""The switch for looking at every index when a sparse tensor is created."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

_enabled = False


class check_sparse_tensor_invariants:
    """Turn the checks of new sparse tensors on or off: a context manager, a decorator, or by its functions.

    >>> import engine
    >>> with engine.sparse.check_sparse_tensor_invariants():
    ...     engine.sparse.check_sparse_tensor_invariants.is_enabled()
    True
    """

    def __init__(self, enable: bool = True) -> None:
        self.state = enable
        self.saved_state: bool | None = None

    @staticmethod
    def is_enabled() -> bool:
        """Return True if new sparse tensors are checked by default."""
        return _enabled

    @staticmethod
    def enable() -> None:
        """Check new sparse tensors unless `check_invariants=False` is passed."""
        global _enabled
        _enabled = True

    @staticmethod
    def disable() -> None:
        """Check new sparse tensors only where `check_invariants=True` is passed."""
        global _enabled
        _enabled = False

    def __enter__(self) -> None:
        global _enabled
        if self.saved_state is not None:
            raise RuntimeError(
                "This context manager instance is already activated. Use a different context manager "
                "instance for context nesting."
            )
        self.saved_state, _enabled = _enabled, self.state

    def __exit__(self, *exception: Any) -> None:
        global _enabled
        assert self.saved_state is not None
        _enabled, self.saved_state = self.saved_state, None

    def __call__(self, mth: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(mth)
        def checked(*args: Any, **options: Any) -> Any:
            with type(self)(self.state):
                return mth(*args, **options)

        return checked
