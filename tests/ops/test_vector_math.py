"""The vectorised functions of floats (helpers.yaml, vector_math.h) against double precision, on every
instruction set."""

import math
import os
import subprocess
import sys
from statistics import NormalDist
from typing import Any

import numpy as np
import pytest
from isa_level import level_in_use

# Errors in units in the last place of the float result. v2 has no fused multiply-add: one more.
BOUNDS = {
    "exp": 3.0,
    "tanh": 7.0,
    "log": 3.0,
    "log1p": 4.0,
    "sigmoid": 4.0,
    "erf": 7.0,
    "erfinv": 4.0,
    "lgamma": 2.0,
}
STEP = 1021  # every STEP-th bit pattern: all exponents, both signs, subnormals


def sampled() -> np.ndarray:
    bits = np.arange(0, 2**32, STEP, dtype=np.uint64).astype(np.uint32)
    values = bits.view(np.float32)
    return values[np.isfinite(values)]


def arguments(name: str) -> np.ndarray:
    x = sampled()
    if name == "erf":
        return x[::8]
    if name == "erfinv":
        return x[np.abs(x) < 1][::8]
    if name == "lgamma":  # without its poles
        return x[(x > 0) | ((x > -1e5) & (x != np.floor(x)))][::8]
    return x


def inverse_of_erf(y: float) -> float:
    if abs(y) < 1e-3:  # where NormalDist loses digits of y
        return y * math.sqrt(math.pi) / 2 * (1 + math.pi / 12 * y * y)
    return NormalDist().inv_cdf((1 + y) / 2) / math.sqrt(2)


def exact(name: str, x: np.ndarray) -> np.ndarray:
    wide = x.astype(np.float64)
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        if name == "erf":
            return np.vectorize(math.erf)(wide)
        if name == "erfinv":
            return np.vectorize(inverse_of_erf)(wide)
        if name == "lgamma":
            return np.vectorize(math.lgamma)(wide)
        if name == "sigmoid":
            return 1 / (1 + np.exp(-wide))
        return getattr(np, name)(wide)


def worst(name: str) -> tuple[float, float]:
    """Return the largest error in ulp, and where it is. Results too small for a normal float are left out:
    sigmoid takes 1 / (1 + exp(-x)) as PyTorch does, and that is 0 there."""
    import engine

    x = arguments(name)
    got = getattr(engine, name)(engine.from_numpy(x.copy())).numpy().astype(np.float64)
    want = exact(name, x)
    saved = (
        np.isfinite(want)
        & (np.abs(want) > 1.2e-38)
        & (np.abs(want) < 3.4e38)
        & (np.abs(x) > 1.2e-38)
    )
    ulp = np.spacing(np.abs(want[saved]).astype(np.float32)).astype(np.float64)
    error = np.abs(got[saved] - want[saved]) / ulp
    at = int(error.argmax())
    return float(error[at]), float(x[saved][at])


@pytest.mark.parametrize("isa", ["v2", "v3", "v4"])
def test_every_instruction_set_is_within_its_bounds(isa: str) -> None:
    if level_in_use(isa) != isa:
        pytest.skip(f"this build has no loops for {isa} (UNDERHOOD_ISA_LEVELS)")
    code = "from test_vector_math import *\nfor n in BOUNDS: print(n, *worst(n))"
    folders = os.pathsep.join(sys.path)  # those of the tests' helpers among them
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "UNDERHOOD_ISA": isa, "PYTHONPATH": folders},
        capture_output=True,
        text=True,
        check=True,
    )
    for line in done.stdout.splitlines():
        name, error, at = line.split()
        assert float(error) <= BOUNDS[name], f"{name} on {isa}: {error} ulp at {at}"


@pytest.mark.parametrize(
    ("name", "at", "value"),
    [
        ("exp", math.inf, math.inf),
        ("exp", -math.inf, 0.0),
        ("exp", 89.0, math.inf),
        ("exp", -100.0, 3.783506e-44),
        ("exp", -0.0, 1.0),
        ("tanh", math.inf, 1.0),
        ("tanh", -math.inf, -1.0),
        ("erf", math.inf, 1.0),
        ("erf", -5.0, -1.0),
        ("sigmoid", -math.inf, 0.0),
        ("sigmoid", math.inf, 1.0),
        ("erfinv", 1.0, math.inf),
        ("erfinv", -1.0, -math.inf),
        ("lgamma", -math.inf, math.inf),
        ("lgamma", math.inf, math.inf),
        ("lgamma", -3.0, math.inf),
        ("lgamma", 0.0, math.inf),
    ],
)
def test_the_ends_are_exact(name: str, at: float, value: float) -> None:
    import engine

    got: Any = getattr(engine, name)(engine.full((20,), at)).tolist()
    assert got == pytest.approx([value] * 20, rel=1e-6, abs=0)


@pytest.mark.parametrize("name", BOUNDS)
def test_nan_stays_nan_and_zero_keeps_its_sign(name: str) -> None:
    import engine

    nan = getattr(engine, name)(engine.full((20,), math.nan)).tolist()
    assert all(math.isnan(v) for v in nan)
    if name in ("tanh", "erf", "erfinv"):
        zero = getattr(engine, name)(engine.full((20,), -0.0)).tolist()
        assert all(v == 0 and math.copysign(1, v) < 0 for v in zero)


@pytest.mark.parametrize("sign", [1, -1])
def test_erfinv_of_doubles(sign: int) -> None:
    import engine

    values = {  # by mpmath; its polynomials change at w = 6.25 and 16 with w = -log(1 - y**2)
        2**-60: 7.68679326312823539e-19,
        0.25: 0.225312055012178105,
        0.75: 0.813419847597618542,
        1 - 2**-9: 2.19009996835376764,
        1 - 2**-11: 2.46575495872275487,
        1 - 2**-23: 3.74392116277679962,
        1 - 2**-26: 4.00413188511447529,
        1 - 2**-53: 5.86358474875516793,
        1: math.inf,
    }
    points = engine.tensor([sign * y for y in values], dtype=engine.float64)
    got = points.repeat(2).erfinv().tolist()
    assert got == pytest.approx([sign * x for x in values.values()] * 2, rel=1e-15, abs=0)
