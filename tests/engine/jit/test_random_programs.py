"""A pass never changes results: random programs in Python, as graph, after each pass, and optimised.

`UNDERHOOD_PROGRAMS=2000 pytest tests/engine/jit/test_random_programs.py` runs the number that is claimed;
UNDERHOOD_PROGRAMS_FIRST is the first seed.
"""

from __future__ import annotations

import importlib.util
import math
import os
from pathlib import Path
from random import Random
from typing import Any

import pytest

import engine
from tests.engine.jit.script_programs import Program

COUNT = int(os.environ.get("UNDERHOOD_PROGRAMS", "120"))
FIRST = int(os.environ.get("UNDERHOOD_PROGRAMS_FIRST", "0"))
SHARE = 20  # programs per test
# Products of several matrices at once are summed in another order; fused sums too.
REASSOCIATES = ("batch_mm", "fuse")


def program(seed: int, folder: Path) -> Any:
    """Return the function of a seed, from a separate file: `jit.script` reads its source."""
    path = folder / f"program_{seed}.py"
    path.write_text(Program(Random(seed)).source)
    spec = importlib.util.spec_from_file_location(f"program_{seed}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.f


def inputs(seed: int) -> list[Any]:
    random = Random(seed + 1)
    numbers = [[random.uniform(-2, 2) for _ in range(4)] for _ in range(3)]
    other = [[random.uniform(-2, 2) for _ in range(4)] for _ in range(3)]
    return [
        engine.tensor(numbers),
        engine.tensor(other),
        random.randint(0, 6),
        random.random() < 0.5,
    ]


def plain(value: Any) -> list[Any]:
    """Numbers, tensors flattened, in order."""
    if isinstance(value, engine.Tensor):
        return [*map(float, value.reshape(-1).tolist())]
    if isinstance(value, (tuple, list)):
        return [number for item in value for number in plain(item)]
    return [value]


def same(ours: Any, theirs: Any, tolerance: float = 0.0) -> bool:
    """Bit for bit, NaN like NaN; or to a tolerance."""
    a, b = plain(ours), plain(theirs)
    return len(a) == len(b) and all(
        x == y
        or (isinstance(x, float) and math.isnan(x) and math.isnan(y))
        or (tolerance > 0 and math.isclose(x, y, rel_tol=tolerance, abs_tol=tolerance))
        for x, y in zip(a, b, strict=True)
    )


def report(seed: int, stage: str, expected: Any, actual: Any) -> str:
    return f"seed {seed}, {stage}:\n{Program(Random(seed)).source}\n{expected}\n{actual}"


@pytest.mark.parametrize("first", range(FIRST, FIRST + COUNT, SHARE))
def test_python_graph_passes_and_pipeline_agree(first: int, tmp_path: Path) -> None:
    for seed in range(first, min(first + SHARE, FIRST + COUNT)):
        f = program(seed, tmp_path)
        expected = f(*inputs(seed))
        scripted = engine.jit.script(f)
        graph = scripted.inlined_graph
        actual = graph.run(*inputs(seed))
        assert same(actual, expected), report(seed, "unoptimised", expected, actual)
        for name in engine.jit.passes():
            changed = graph.copy()
            if engine.jit.run_pass(changed, name):
                changed.lint()
                actual = changed.run(*inputs(seed))
                tolerance = 1e-5 if name in REASSOCIATES else 0.0
                assert same(actual, expected, tolerance), report(seed, name, expected, actual)
            missing = changed.without_origin()
            assert not missing, report(seed, f"{name}: values without origin", missing, "")
        for run in range(4):  # the last ones specialised
            actual = scripted(*inputs(seed))
            assert same(actual, expected, 1e-5), report(seed, f"call {run + 1}", expected, actual)
