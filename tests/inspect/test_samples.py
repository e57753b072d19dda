"""The statistics of values that are too large to be recorded whole, against NumPy."""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np
import pytest

import engine
from engine.inspect.events import NUMBER
from engine.inspect.recorder import record
from engine.inspect.trace import TraceReader
from tests import sampling


def statistics(values: np.ndarray, path: Path) -> tuple[float, ...]:
    """Return what is recorded of these elements: number, NaNs, infinities, least, greatest, mean."""
    with record(path, lines=False, values=True):
        engine.from_numpy(values).clone()
    trace = TraceReader.open(path)
    rows = [r for r in trace.events if int(r["kind"]) == NUMBER["VALUES"] and r["d"]]
    heads = {struct.unpack_from("<4q3d", trace.blob(int(r["n"])))[1:] for r in rows}
    (head,) = heads  # of the tensor and of its clone
    return head


@pytest.mark.parametrize("kind", [np.float32, np.float64, np.float16, np.int64])
@pytest.mark.parametrize("seed", sampling.seeds(4, "samples"))
def test_statistics_of_a_sample(seed: int, kind: type, tmp_path: Path) -> None:
    random = np.random.default_rng(seed)
    size = int(random.choice([4096, 4097, 8192, 16384, int(random.integers(2100, 40_000))]))
    values = (random.standard_normal(size) * 100).astype(kind)
    if np.issubdtype(kind, np.floating):
        for value in (np.nan, np.inf, -np.inf)[: int(random.integers(0, 4))]:
            values[random.integers(0, size, int(random.integers(1, 4)))] = value
    finite = values[np.isfinite(values)].astype(np.float64)
    head = statistics(values, tmp_path / "t.uht")
    assert head[:3] == (size, np.isnan(values).sum(), np.isinf(values).sum())
    assert head[3:5] == (finite.min(), finite.max())
    assert head[5] == pytest.approx(finite.mean(), rel=1e-12, abs=1e-12)


def test_a_sum_that_overflows_is_no_infinite_element(tmp_path: Path) -> None:
    head = statistics(np.full(5000, 1e308), tmp_path / "t.uht")
    assert head[:5] == (5000, 0, 0, 1e308, 1e308)
