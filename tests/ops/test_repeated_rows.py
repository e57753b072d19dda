"""Operators on expanded tensors, whose results repeat: they are computed once, and copied."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import engine

# Expanded: the first, the last, an inner dimension, two of them, all, and one that is narrowed again.
EXPANDED: dict[str, Callable[[], engine.Tensor]] = {
    "first": lambda: engine.randn(5, 9).expand(7, 5, 9),
    "last": lambda: engine.randn(4, 5, 1).expand(4, 5, 6),
    "inner": lambda: engine.randn(4, 1, 9).expand(4, 8, 9),
    "outer two": lambda: engine.randn(1, 1, 9).expand(3, 5, 9),
    "around": lambda: engine.randn(1, 5, 1).expand(3, 5, 4),
    "all": lambda: engine.randn(1, 1, 1).expand(2, 3, 4),
    "narrowed": lambda: engine.randn(5, 9).expand(7, 5, 9)[2:3],
    "empty": lambda: engine.randn(1, 5, 0).expand(3, 5, 0),
}
REDUCTIONS: dict[str, Callable[[engine.Tensor, int, bool], object]] = {
    "sum": lambda x, dim, keep: x.sum(dim, keepdim=keep),
    "mean of two": lambda x, dim, keep: x.mean((dim, (dim + 1) % 3), keepdim=keep),
    "any": lambda x, dim, keep: (x > 0).any(dim, keepdim=keep),
    "var_mean": lambda x, dim, keep: engine.var_mean(x, dim, keepdim=keep),
    "norm": lambda x, dim, keep: engine.linalg.vector_norm(x, 3, dim, keepdim=keep),
    "logsumexp": lambda x, dim, keep: x.logsumexp(dim, keepdim=keep),
}
SORTS: dict[str, Callable[[engine.Tensor, int, bool], object]] = {
    "sort": lambda x, dim, last: x.sort(dim, descending=last),
    "argsort": lambda x, dim, last: x.argsort(dim=dim, descending=last, stable=True),
    "topk": lambda x, dim, last: x.topk(min(2, x.size(dim)), dim, largest=last),
}


def equal(actual: object, expected: object) -> bool:
    if isinstance(actual, tuple) and isinstance(expected, tuple):
        return all(map(equal, actual, expected))
    assert isinstance(actual, engine.Tensor)
    assert isinstance(expected, engine.Tensor)
    return actual.stride() == expected.stride() and bool(
        engine.allclose(actual.double(), expected.double(), equal_nan=True)
    )


@pytest.mark.parametrize("name", [*REDUCTIONS, *SORTS])
@pytest.mark.parametrize("layout", EXPANDED)
def test_an_expanded_tensor_and_its_copy(layout: str, name: str) -> None:
    x = EXPANDED[layout]()
    call = REDUCTIONS.get(name) or SORTS[name]
    for dim in range(3):
        for flag in (False, True):
            assert equal(call(x, dim, flag), call(x.contiguous(), dim, flag))


def test_results_in_memory_of_another_order() -> None:
    x = engine.randn(5, 9).expand(7, 5, 9)
    out = engine.zeros(5, 7).t()
    engine.sum(x, 2, out=out)
    assert out.equal(x.contiguous().sum(2))
    assert out.stride() == (1, 7)
    values, indices = engine.zeros(9, 5, 7).permute(2, 1, 0), engine.zeros(0, dtype=engine.int64)
    engine.sort(x, 2, out=(values, indices))
    expected = x.contiguous().sort(2)
    assert values.equal(expected.values)
    assert indices.equal(expected.indices)
