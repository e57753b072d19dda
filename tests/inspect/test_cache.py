"""A history has one cache; a result is computed once, until it is evicted or the history grows."""

from __future__ import annotations

from engine.inspect.history import History
from engine.inspect.history.cache import per_history
from engine.inspect.models.jit.graph_timeline import timeline_of
from tests.inspect.trace_builder import TraceBuilder

computed: list[int] = []


@per_history(max_entries=2)
def double(history: History, number: int) -> int:
    computed.append(number)
    return 2 * number


def test_a_result_is_computed_once_for_each_history() -> None:
    computed.clear()
    b = TraceBuilder()
    b.tensor((2,), name="x")
    first, second = b.history(), b.history()
    assert (double(first, 4), double(first, 4), double(second, 4)) == (8, 8, 8)
    assert computed == [4, 4]
    assert double.is_cached(first, 4)
    assert not double.is_cached(first, 5)
    assert (first.cache.entries(), second.cache.entries()) == (1, 1)


def test_the_result_that_was_not_used_for_the_longest_time_is_evicted() -> None:
    computed.clear()
    b = TraceBuilder()
    b.tensor((2,), name="x")
    history = b.history()
    for number in (1, 2, 1, 3):
        double(history, number)
    assert [number for number in (1, 2, 3) if double.is_cached(history, number)] == [1, 3]


def test_results_of_two_functions_are_kept_apart() -> None:
    b = TraceBuilder()
    b.tensor((2,), name="x")
    history = b.history()
    double(history, 1)
    assert not timeline_of.is_cached(history, 1)
    assert timeline_of(history, 1) is timeline_of(history, 1)
