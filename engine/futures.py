"""PyTorch's futures: `Future` is that of `jit.fork`; here are functions of several."""

from __future__ import annotations

from typing import Any

from engine.jit.runtime.futures import Future

__all__ = ["Future", "collect_all", "wait_all"]


def collect_all(futures: list[Future[Any]]) -> Future[list[Future[Any]]]:
    """Return a future of the list, which is done when all of them are.

    It ends with the error of the first that ended with one.

    >>> first, second = Future(), Future()
    >>> both = collect_all([first, second])
    >>> first.set_result(1)
    >>> both.done()
    False
    >>> second.set_result(2)
    >>> [future.wait() for future in both.wait()]
    [1, 2]
    """
    collected: Future[list[Future[Any]]] = Future()
    remaining = len(futures)

    def count_down(future: Future[Any]) -> None:
        nonlocal remaining
        remaining -= 1
        if collected.done():
            return
        try:
            future.wait()
        except Exception as error:
            collected.set_exception(error)
        else:
            if remaining == 0:
                collected.set_result(futures)

    for future in futures:
        future.add_done_callback(count_down)
    if not futures:
        collected.set_result(futures)
    return collected


def wait_all(futures: list[Future[Any]]) -> list[Any]:
    """Return the results of all. Raises: the error of the first that ended with one."""
    return [future.wait() for future in collect_all(futures).wait()]
