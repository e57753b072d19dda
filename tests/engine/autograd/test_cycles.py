"""Python's collector frees what only a cycle through the core keeps alive, and nothing else.

A scenario builds a cycle that holds a sentinel and returns what the user keeps of it. What must go when
nothing is kept must stay for as long as anything is: another output of the graph, a view, a saved tensor.
"""

from __future__ import annotations

import gc
import sys
import threading
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import engine
from engine.autograd import Function
from engine.autograd.graph import saved_tensors_hooks


class Sentinel:
    """Something that can be weakly referred to."""


@pytest.fixture(autouse=True)
def _collected() -> Iterator[None]:
    gc.collect()
    yield
    gc.collect()


def holding(*things: Any) -> Callable[..., None]:
    """Return a hook that holds `things`, and fails where they were taken from it."""

    def hook(*arguments: Any) -> None:
        assert things

    return hook


def leaf() -> Any:
    return engine.ones(3, requires_grad=True)


def hook_of_a_leaf(s: Sentinel) -> Any:
    x = leaf()
    x.register_hook(holding(x, s))
    return x


def hook_of_a_result(s: Sentinel) -> Any:
    y = leaf() * 2
    y.register_hook(holding(y, s))
    return y


def hook_after_accumulation(s: Sentinel) -> Any:
    x = leaf()
    x.register_post_accumulate_grad_hook(holding(x, s))
    return x


def hook_of_a_node(s: Sentinel) -> Any:
    y = leaf() * 2
    y.grad_fn.register_hook(holding(y, s))
    return y


def prehook_of_a_node(s: Sentinel) -> Any:
    y = leaf() * 2
    y.grad_fn.register_prehook(holding(y, s))
    return y


def hook_with_its_handle(s: Sentinel) -> Any:
    x = leaf()
    saved: list[Any] = [s]
    saved.append(x.register_hook(holding(saved)))
    return x


def node_that_holds_itself(s: Sentinel) -> Any:
    node = (leaf() * 2).grad_fn
    node.register_hook(holding(node, s))
    return node


def metadata_of_a_node(s: Sentinel) -> Any:
    y = leaf() * 2
    y.grad_fn.metadata["held"] = (y, s)
    return y


class Keeps(Function):
    @staticmethod
    def forward(ctx: Any, x: Any, s: Sentinel) -> Any:
        ctx.x, ctx.s = x, s
        y = x * 2
        ctx.y = y
        return y

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        return grad * 2, None


def context_that_holds_its_output(s: Sentinel) -> Any:
    return Keeps.apply(leaf(), s)


def context_that_holds_what_comes_back(s: Sentinel) -> Any:
    y = Keeps.apply(leaf(), s)
    y.grad_fn.back = y
    return y


def packed(s: Sentinel) -> Any:
    retained: list[Any] = [s]
    x = leaf()
    with saved_tensors_hooks(lambda t: (t.detach(), retained), lambda pair: pair[0]):
        y = x * x
    retained.append(y)
    return y


def hook_of_a_view(s: Sentinel) -> Any:
    y = (leaf() * 2)[0:2]
    y.register_hook(holding(y, s))
    return y


def hook_of_a_parameter(s: Sentinel) -> Any:
    module = engine.nn.Linear(2, 2)
    module.sentinel = s  # type: ignore[assignment]
    module.weight.register_hook(holding(module))
    return module


def hook_of_a_module(s: Sentinel) -> Any:
    module = engine.nn.Linear(2, 2)
    module.register_full_backward_hook(holding(module, s))  # type: ignore
    module.out = module(engine.ones(1, 2))  # type: ignore[assignment]
    return module


SCENARIOS: list[Callable[[Sentinel], Any]] = [
    hook_of_a_leaf,
    hook_of_a_result,
    hook_after_accumulation,
    hook_of_a_node,
    prehook_of_a_node,
    hook_with_its_handle,
    node_that_holds_itself,
    metadata_of_a_node,
    context_that_holds_its_output,
    context_that_holds_what_comes_back,
    packed,
    hook_of_a_view,
    hook_of_a_parameter,
    hook_of_a_module,
]


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda f: f.__name__)
def test_a_cycle_through_the_core_is_collected_when_nothing_leads_to_it(
    scenario: Callable[[Sentinel], Any],
) -> None:
    s = Sentinel()
    alive = weakref.ref(s)
    saved = scenario(s)
    del s
    gc.collect()
    gc.collect()
    assert alive() is not None
    del saved
    gc.collect()
    assert alive() is None


def test_the_collector_takes_nothing_that_another_output_of_the_graph_leads_to() -> None:
    x = leaf()
    seen: list[Any] = []
    retained = [x]
    x.register_hook(lambda grad, tensors=retained: seen.append((tensors[0], grad)))
    y = x * 3
    del x, retained
    gc.collect()
    gc.collect()
    y.sum().backward()
    assert seen[0][1].tolist() == [3.0] * 3
    assert seen[0][0].grad.tolist() == [3.0] * 3


def test_a_hook_stays_while_its_result_lives_on_in_a_graph() -> None:
    x = leaf()
    y = x * 2
    seen: list[Any] = []
    retained: list[Any] = []
    y.register_hook(lambda grad: seen.append(len(retained)))
    retained.append(y)
    z = y * y
    del y
    gc.collect()
    z.sum().backward()
    assert seen == [1]


def test_a_context_stays_while_its_result_lives_on_in_a_graph() -> None:
    s = Sentinel()
    alive = weakref.ref(s)
    y = Keeps.apply(leaf(), s)
    del s
    z = y * y
    del y
    gc.collect()
    assert alive() is not None
    z.sum().backward()
    del z
    gc.collect()
    assert alive() is None


def test_a_tensor_that_comes_back_from_the_graph_has_its_hooks() -> None:
    x = leaf()
    seen: list[int] = []
    retained: list[Any] = []
    x.register_hook(lambda grad: seen.append(len(retained)))
    retained.append(x)
    y = x * x
    del x
    retained.clear()  # the wrapper goes, the tensor is saved
    gc.collect()
    again = y.grad_fn._saved_self
    retained.append(again)
    gc.collect()
    (again * 2).sum().backward()
    assert seen == [1]


def test_collections_beside_passes_take_no_hook_that_runs() -> None:
    """Hooks of a leaf and of a result that hold their tensors, run by threads while others collect."""
    problems: list[BaseException] = []
    stop = threading.Event()
    before = sys.getswitchinterval()

    def collect() -> None:
        while not stop.is_set():
            gc.collect(1)  # the threads' new objects; all objects would hold the lock for a second

    def work() -> None:
        try:
            for _ in range(60):
                s = Sentinel()
                x = leaf()
                x.register_hook(holding(s, x))
                y = Keeps.apply(x, s)
                y.register_hook(holding(s, y))
                y.sum().backward()
                assert x.grad.tolist() == [2.0] * 3
        except BaseException as error:
            problems.append(error)

    sys.setswitchinterval(1e-5)
    try:
        collector = threading.Thread(target=collect)
        workers = [threading.Thread(target=work) for _ in range(3)]
        for thread in [collector, *workers]:
            thread.start()
        for thread in workers:
            thread.join()
        stop.set()
        collector.join()
    finally:
        sys.setswitchinterval(before)
    assert problems == []


def test_cycles_of_many_threads_are_all_collected() -> None:
    alive: list[Any] = []

    def work() -> None:
        for scenario in SCENARIOS[:6]:
            s = Sentinel()
            alive.append(weakref.ref(s))
            scenario(s)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    gc.collect()
    assert len(alive) == 24
    assert [ref() for ref in alive] == [None] * 24


def test_get_referents_shows_what_a_tensor_alone_keeps_alive() -> None:
    x = leaf()
    s = Sentinel()
    x.register_hook(holding(s))
    output = len(gc.get_referents(x))
    y = x * 2  # the graph leads to x as well: its hooks are not y's alone
    assert len(gc.get_referents(x)) == output - 1
    del y
    assert len(gc.get_referents(x)) == output
