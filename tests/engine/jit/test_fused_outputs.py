"""Each result of a fused group owns its memory, as results of operators do."""

from __future__ import annotations

import engine
from engine import Tensor, jit


def equal_parts(x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    a = x.to(engine.float64).to(engine.float32)
    b = x.to(engine.float64).to(engine.float32)
    c = x.to(engine.float64)
    a.relu_()
    b.add_(1.0)
    return a, b, c


def test_results_of_one_value_are_several_tensors() -> None:
    x = engine.arange(6).to(engine.float32) - 3.0
    scripted = jit.script(equal_parts)
    for _ in range(5):
        actual, expected = scripted(x), equal_parts(x)
        assert [t.tolist() for t in actual] == [t.tolist() for t in expected]
        assert len({t.data_ptr() for t in (*actual, x)}) == 4
