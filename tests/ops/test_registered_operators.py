"""Operators that a C++ library registers, in the generic tests of the engine's own, then traced, scripted, saved."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import test_gradients
import test_ops
from table import Array, Bad, Row, Sample, array
from tools import assert_same, convert, parts, reference, run, tensor

import engine
from engine.inspect.history import History
from engine.inspect.recorder import record
from engine.inspect.trace import TraceReader
from tests.engine.extending.building import build_library

NAMESPACE = "test_registered"


def single_tensors(dtype: str) -> Any:
    for shape in ((), (3,), (2, 3), (0, 2), (2, 1, 4)):
        yield Sample((array(dtype, *shape),), name=str(shape))
        yield Sample((array(dtype, *shape, seed=1), 0.5), name=f"{shape} beta")


def pairs(dtype: str) -> Any:
    for a, b in (((3,), (3,)), ((2, 3), (3,)), ((2, 1), (1, 3)), ((), (2,)), ((0, 3), (3,))):
        yield Sample((array(dtype, *a), array(dtype, *b, seed=1), 2), name=f"{a} {b}")


def matrices(dtype: str) -> Any:
    for shape in ((3,), (2, 3), (2, 3, 4)):
        yield Sample((array(dtype, *shape),), name=str(shape))
        yield Sample((array(dtype, *shape), 0), name=f"{shape} 0")


def lists(dtype: str) -> Any:
    tensors = [array(dtype, 2, 3, seed=seed) for seed in range(3)]
    yield Sample((tensors[:1], [2.0]), name="a single tensor")
    yield Sample((tensors, [1.0, 0.5, -1.0]), name="three")
    yield Sample((tensors, [1.0, 0.5, -1.0], array(dtype, 3, seed=9)), name="with a bias")


def sum_of(tensors: Any, weights: Any, bias: Any = 0) -> Any:
    return sum(t * w for t, w in zip(tensors, weights, strict=True)) + bias


def call(name: str, *args: Any) -> Any:
    return getattr(getattr(engine.ops, NAMESPACE), name)(*args)


FLOATS = ("float32", "float64")
ROWS = {
    "swish": Row(
        f"ops.{NAMESPACE}.swish",
        lambda x, beta=1.0: x / (1 + np.exp(-beta * x)),
        single_tensors,
        FLOATS,
        bad=(
            Bad(lambda m: call("swish", m.ones(2, dtype=m.int64)), NotImplementedError, "Long"),
            Bad(lambda m: call("swish", 3), TypeError, "argument 'x' must be Tensor, got int"),
            Bad(lambda m: call("swish"), TypeError, "missing argument 'x'"),
            Bad(lambda m: call("swish", m.ones(2), 1, 2), TypeError, "takes 2 positional"),
        ),
    ),
    "muladd": Row(
        f"ops.{NAMESPACE}.muladd",
        lambda a, b, c: a * b + c,
        pairs,
        (*FLOATS, "float16", "int64", "complex64"),
        bad=(Bad(lambda m: call("muladd", m.ones(2), m.ones(3), 1), RuntimeError, "2.*3"),),
    ),
    "sum_and_max": Row(
        f"ops.{NAMESPACE}.sum_and_max",
        lambda x, dim=-1: (x.sum(dim), x.max(dim)),
        matrices,
        (*FLOATS, "int64"),
        bad=(Bad(lambda m: call("sum_and_max", m.ones(2), 3), IndexError, "out of range"),),
    ),
    "weighted": Row(
        f"ops.{NAMESPACE}.weighted",
        sum_of,
        lists,
        FLOATS,
        bad=(
            Bad(lambda m: call("weighted", [m.ones(2)], []), ValueError, "expected 1 weights"),
            Bad(lambda m: call("weighted", [], []), IndexError, "."),
        ),
    ),
}
CASES = [pytest.param(row, d, id=f"{name}-{d}") for name, row in ROWS.items() for d in row.dtypes]
BAD = [
    pytest.param(bad, id=f"{name}-{i}")
    for name, row in ROWS.items()
    for i, bad in enumerate(row.bad)
]
GENERIC = [
    test_ops.test_values_and_dtype,
    test_ops.test_strided_inputs,
    test_ops.test_meta_has_the_shape_of_cpu,
    test_gradients.test_gradients_are_those_of_differences,
]


@pytest.fixture(scope="module", autouse=True)
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = build_library(
        Path(__file__).with_name("registered.cpp"), tmp_path_factory.mktemp("registered")
    )
    engine.ops.load_library(path)
    return path


@pytest.mark.parametrize("generic", GENERIC, ids=lambda test: test.__name__)
@pytest.mark.parametrize(("row", "dtype"), CASES)
def test_like_an_operator_of_the_engine(generic: Any, row: Row, dtype: str) -> None:
    generic(row, dtype)


@pytest.mark.parametrize("bad", BAD)
def test_bad_calls(bad: Bad) -> None:
    test_ops.test_bad_calls(bad)


def swish(x, beta: float = 1.0):
    return engine.ops.test_registered.swish(x, beta)


def muladd(a, b, c: int):
    return engine.ops.test_registered.muladd(a, b, c)


def sum_and_max(x, dim: int = -1):
    return engine.ops.test_registered.sum_and_max(x, dim)


def weighted(tensors: list[engine.Tensor], weights: list[float], bias: engine.Tensor | None = None):
    return engine.ops.test_registered.weighted(tensors, weights, bias)


PROGRAMS = {f.__name__: f for f in (swish, muladd, sum_and_max, weighted)}


@pytest.mark.parametrize("name", PROGRAMS)
def test_scripted(name: str) -> None:
    program = engine.jit.script(PROGRAMS[name])
    assert f"{NAMESPACE}::{name}(" in str(program.graph)
    for sample in ROWS[name].samples("float64"):
        args = [convert(a, lambda item: tensor(engine, item)) for a in sample.args]
        expected = parts(reference(ROWS[name], sample))
        for item, other in zip(parts(program(*args)), expected, strict=True):
            assert_same(item, other, f"{name} {sample.name} scripted")


@pytest.mark.parametrize("name", PROGRAMS)
def test_traced(name: str) -> None:
    for sample in ROWS[name].samples("float64"):
        leaves: list[Array] = []

        def add_leaf(item: Array, leaves: list[Array] = leaves) -> Any:
            leaves.append(item)
            return item

        converted = [convert(a, add_leaf) for a in sample.args]

        def program(*tensors: Any, converted: Any = converted) -> Any:
            remaining = iter(tensors)
            return call(name, *[convert(a, lambda _: next(remaining)) for a in converted])

        tensors = tuple(tensor(engine, leaf) for leaf in leaves)
        traced = engine.jit.trace(program, tensors)
        assert f"{NAMESPACE}::{name}(" in str(traced.graph)
        expected = parts(reference(ROWS[name], sample))
        for item, other in zip(parts(traced(*tensors)), expected, strict=True):
            assert_same(item, other, f"{name} {sample.name} traced")


@pytest.mark.parametrize("name", PROGRAMS)
def test_recorded(name: str, tmp_path: Path) -> None:
    sample = next(iter(ROWS[name].samples("float64")))
    with record(tmp_path / "calls.uht"):
        run(ROWS[name], sample)
    history = History(TraceReader.open(tmp_path / "calls.uht"))
    calls = [history.call(number) for number in history.tables.calls.id.tolist()]
    (recorded,) = [c for c in calls if c.op == name]
    schema = engine.ops.schema(f"{NAMESPACE}::{name}")
    assert len(recorded.args) == len(schema.arguments)
    assert len(recorded.results) == len(schema.returns)
    assert recorded.until > recorded.since
    assert [hop.kernel for hop in history.hops(recorded.id)][-1].startswith(name)


class Model(engine.nn.Module):
    def forward(self, x):
        total, _ = sum_and_max(muladd(swish(x, 2.0), x, 1))
        return weighted([total, total], [1.0, 0.5])


LOADS = """
import sys, engine
try:
    engine.jit.load(sys.argv[1])
except RuntimeError as error:
    print(error)
engine.ops.load_library(sys.argv[2])
print(engine.jit.load(sys.argv[1])(engine.ones(2, 3)).tolist())
"""


def test_a_saved_model_names_its_library(library: Path, tmp_path: Path) -> None:
    file = tmp_path / "model.safetensors"
    engine.jit.save(engine.jit.script(Model()), file)
    expected = Model()(engine.ones(2, 3)).tolist()
    assert engine.jit.load(file)(engine.ones(2, 3)).tolist() == expected
    done = subprocess.run(
        [sys.executable, "-c", LOADS, str(file), str(library)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert f"namespace {NAMESPACE} is not loaded" in done.stdout
    assert done.stdout.splitlines()[-1] == str(expected)
