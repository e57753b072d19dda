"""x86-64-v2, v3 and v4 kernels give the same results; random numbers and integers bit for bit."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from isa_level import level_in_use
from table import TOLERANCE


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, np.ndarray]]:
    levels = [level for level in ("v2", "v3", "v4") if level_in_use(level) == level]
    if len(levels) == 1:
        pytest.skip(f"this build has loops for {levels[0]} only (UNDERHOOD_ISA_LEVELS)")
    actual = {}
    for name in levels:
        path = tmp_path_factory.mktemp("isa") / f"{name}.npz"
        probe = Path(__file__).with_name("isa_probe.py")
        subprocess.run(
            [sys.executable, str(probe), str(path)],
            env={**os.environ, "UNDERHOOD_ISA": name},
            check=True,
        )
        with np.load(path) as data:
            actual[name] = {str(key): data[str(i)] for i, key in enumerate(data["names"])}
    return actual


def test_every_instruction_set_agrees(results: dict[str, dict[str, np.ndarray]]) -> None:
    lowest, base = next(iter(results.items()))
    for name, others in results.items():
        for key, want in base.items():
            got = others[key]
            if want.dtype.kind in "biu":
                assert np.array_equal(got, want), f"{key}: {name} differs from {lowest}"
                continue
            dtype = key.split("|")[2] if key.count("|") > 1 else "float64"
            far = TOLERANCE.get(dtype, TOLERANCE["float32"])
            assert np.allclose(got, want, rtol=far, atol=far, equal_nan=True), (
                f"{key}: {name} differs from {lowest}"
            )


def test_random_numbers_are_the_same_bits(results: dict[str, dict[str, np.ndarray]]) -> None:
    lowest, base = next(iter(results.items()))
    for name, others in results.items():
        for key, want in base.items():
            if key.startswith("rand"):
                assert np.array_equal(others[key], want), (
                    f"{key}: {name} draws other numbers than {lowest}"
                )


def test_reductions_are_the_same_bits(results: dict[str, dict[str, np.ndarray]]) -> None:
    lowest, base = next(iter(results.items()))
    for name, others in results.items():
        for key, want in base.items():
            if key.split("|")[1:2] in (["sum"], ["mean"], ["prod"]):
                assert np.array_equal(others[key], want, equal_nan=True), (
                    f"{key}: {name} adds in another order than {lowest}"
                )
