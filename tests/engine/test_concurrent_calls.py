"""Two threads make any two calls on one object: values may be either's, calls may be refused, memory holds.

The native side of this search runs under ThreadSanitizer (tests/native/pairs_test.cpp). Here Python's own
reads of several steps are in it: tolist, printing, numpy, indexing.
"""

from __future__ import annotations

import itertools
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import engine

CALLS: dict[str, Callable[[Any, Any], Any]] = {
    "tolist": lambda x, y: x.tolist(),
    "item": lambda x, y: x.sum().item(),
    "print": lambda x, y: repr(x),
    "numpy": lambda x, y: x.detach().numpy().copy(),
    "shape": lambda x, y: (x.shape, x.stride(), x.storage_offset()),
    "index": lambda x, y: x[0].tolist(),
    "iterate": lambda x, y: [row.shape for row in x],
    "bytes": lambda x, y: bytes(x.untyped_storage())[:8],
    "dlpack": lambda x, y: engine.from_dlpack(x.detach()).shape,
    "add": lambda x, y: x + x,
    "write": lambda x, y: x.mul_(1.0),
    "resize": lambda x, y: (x.resize_(64, 16), x.resize_(2, 2)),
    "set data": lambda x, y: setattr(x, "data", engine.ones(5, 7)),
    "set data of three dimensions": lambda x, y: setattr(x, "data", engine.ones(2, 3, 1)),
    "transpose": lambda x, y: x.t_(),
    "hook": lambda x, y: y.register_hook(lambda grad: None).remove(),
    "hook of a node": lambda x, y: y.grad_fn.register_hook(lambda inputs, outputs: None).remove(),
    "backward": lambda x, y: y.sum().backward(retain_graph=True),
    "metadata": lambda x, y: y.grad_fn.metadata.setdefault("seen", 1),
}


@pytest.fixture(autouse=True)
def _often_switched() -> Iterator[None]:
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def _run_at_once(own_call: Callable[..., Any], other_call: Callable[..., Any], times: int) -> None:
    x = engine.ones(4, 4)
    y = engine.ones(4, 4, requires_grad=True) * 2
    unexpected: list[BaseException] = []

    def run(call: Callable[..., Any]) -> None:
        for _ in range(times):
            try:
                call(x, y)
            except (RuntimeError, IndexError, ValueError, TypeError):
                pass  # the other thread's shape does not fit
            except BaseException as error:
                unexpected.append(error)

    other = threading.Thread(target=run, args=(other_call,))
    other.start()
    run(own_call)
    other.join()
    assert unexpected == []


@pytest.mark.parametrize("own_call", CALLS)
def test_any_two_calls_on_one_tensor_at_once(own_call: str) -> None:
    for other_call in itertools.islice(CALLS, list(CALLS).index(own_call), None):
        _run_at_once(CALLS[own_call], CALLS[other_call], 12)


def test_hooks_come_and_go_in_many_threads() -> None:
    x = engine.ones(2, requires_grad=True)
    y = x * 2
    calls: list[int] = []
    lasting = [t.register_hook(lambda grad: calls.append(1)) for t in (x, y)]

    def work() -> None:
        for _ in range(100):
            for item in (x, y):
                item.register_hook(lambda grad: None).remove()
            y.grad_fn.register_prehook(lambda gradients: None).remove()

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    y.sum().backward()
    assert len(calls) == 2
    for handle in lasting:
        handle.remove()


def test_a_list_of_a_tensor_that_is_resized_is_of_one_of_its_sizes() -> None:
    x = engine.zeros(2)
    stop = threading.Event()

    def resize() -> None:
        while not stop.is_set():
            x.resize_(3000).zero_()
            x.resize_(2)

    other = threading.Thread(target=resize)
    other.start()
    try:
        sizes = {len(x.tolist()) for _ in range(300)}
    finally:
        stop.set()
        other.join()
    assert sizes <= {2, 3000}


def test_a_hook_may_wait_for_another_thread_that_resizes() -> None:
    """The pass is outside of its call while the hook runs: no thread waits for it."""
    x = engine.ones(3, requires_grad=True)
    buffer = engine.zeros(2)
    y = (x * 2).sum()

    def hook(grad: Any) -> None:
        def resize() -> None:
            buffer.resize_(4000)
            x.data = engine.ones(3)

        other = threading.Thread(target=resize)
        other.start()
        other.join(20)
        assert not other.is_alive()

    x.register_hook(hook)
    y.backward()
    assert buffer.shape == (4000,)
    assert x.grad is not None
