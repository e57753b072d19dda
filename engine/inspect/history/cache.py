"""The cache of a history: results that were computed from it and may be needed again.

A history is immutable, so no result becomes stale. `History.grown` returns a new object with an empty cache; the
old cache is freed with the old history.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, update_wrapper
from threading import Lock
from typing import TYPE_CHECKING, Concatenate, Generic, ParamSpec, TypeVar, cast

if TYPE_CHECKING:
    from engine.inspect.history import History

P = ParamSpec("P")
R = TypeVar("R")
F = TypeVar("F", bound=Callable[..., object])


class HistoryCache:
    """The results of every function that is declared `per_history`, and of the methods that are memoised."""

    def __init__(self) -> None:
        self._results: dict[object, dict[tuple[object, ...], object]] = {}
        self._lock = Lock()  # a thread may query the history while another one draws

    def memoise(self, method: F, max_entries: int) -> F:
        """Wrap a method of this history to cache its newest results."""
        return cast(F, lru_cache(maxsize=max_entries)(method))

    def find(self, function: object, key: tuple[object, ...]) -> tuple[object, ...]:
        """Return the result in a tuple, or () if it was not computed or has been evicted."""
        with self._lock:
            results = self._results.get(function, {})
            if key not in results:
                return ()
            results[key] = results.pop(key)  # the newest entry is the last
            return (results[key],)

    def store(
        self, function: object, key: tuple[object, ...], result: object, max_entries: int
    ) -> None:
        """Store a result, and evict the least recently used one."""
        with self._lock:
            results = self._results.setdefault(function, {})
            results[key] = result
            while len(results) > max_entries:
                del results[next(iter(results))]

    def entries(self) -> int:
        """Return the number of results of functions that are declared `per_history`."""
        with self._lock:
            return sum(len(results) for results in self._results.values())


class PerHistory(Generic[P, R]):
    """A function of a history whose newest results are in the history's cache."""

    def __init__(self, function: Callable[Concatenate[History, P], R], max_entries: int) -> None:
        self._function = function
        self._max_entries = max_entries
        update_wrapper(self, function)

    def __call__(self, history: History, *args: P.args, **kwargs: P.kwargs) -> R:
        key = (*args, *kwargs.items())
        known = history.cache.find(self, key)
        if known:
            return cast(R, known[0])
        result = self._function(history, *args, **kwargs)
        history.cache.store(self, key, result, self._max_entries)
        return result

    def is_cached(self, history: History, *args: P.args, **kwargs: P.kwargs) -> bool:
        """Return whether the result is known already."""
        return bool(history.cache.find(self, (*args, *kwargs.items())))


def per_history(
    max_entries: int,
) -> Callable[[Callable[Concatenate[History, P], R]], PerHistory[P, R]]:
    """Declare that a function's results are cached in the history that it takes."""

    def declare(function: Callable[Concatenate[History, P], R]) -> PerHistory[P, R]:
        return PerHistory(function, max_entries)

    return declare
