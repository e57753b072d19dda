"""Calls of operators by name: what _OperatorBase converts natively is what the generic call makes of it."""

from __future__ import annotations

import gc
import threading
import weakref

import pytest

import engine
from engine import library, ops

SCHEMA = (
    "echo(Tensor t, Tensor? u, int i, float f, bool b, Scalar n, str s, int[] l, Tensor[] m, "
    "int? j=None, *, float g=0.5, ScalarType? d=None) -> (str, int, float, bool, int[], Tensor[], Tensor)"
)


@pytest.fixture(scope="module")
def echo():
    owner = library.Library("operator_calls", "DEF")
    owner.define(SCHEMA)

    def kernel(t, u, i, f, b, n, s, l, m, j, *, g, d):  # noqa: E741
        text = repr((i, f, b, n, s, list(l), j, g, d, u is None, len(m)))
        return text, i, f, b, list(l), list(m), t + 0

    owner.impl("echo", kernel, "CompositeExplicitAutograd")
    yield ops.operator_calls.echo
    owner._destroy()


def outcome(call, *args, **options):
    try:
        results = call(*args, **options)
    except Exception as error:
        return type(error), str(error)
    return [
        r.tolist() if isinstance(r, engine.Tensor) else r if not isinstance(r, tuple) else str(r)
        for r in results
    ], [type(r) for r in results]


T = engine.ones(2)
GOOD = {"u": None, "i": 1, "f": 2.0, "b": True, "n": 3, "s": "text", "l": [1, 2], "m": [T, T]}


@pytest.mark.parametrize(
    "change",
    [
        {},
        {"u": T},
        {"f": 2},
        {"f": True},
        {"n": 1.5},
        {"n": True},
        {"n": engine.tensor(4)},
        {"l": (1, 2)},
        {"l": range(3)},
        {"l": list(range(100))},
        {"l": []},
        {"m": (T,)},
        {"m": []},
        {"j": 4},
        {"g": 1},
        {"d": engine.int64},
        {"s": "ünï"},
        # what is wrong
        {"i": 1.5},
        {"i": 1 << 70},
        {"i": None},
        {"f": 1j},
        {"b": 1},
        {"s": b"bytes"},
        {"s": "\ud800"},
        {"l": [1.5]},
        {"l": 3},
        {"m": [T, None]},
        {"m": T},
        {"u": 3},
        {"unknown": 1},
        {"g": None},
        {"g": "text"},
        {"t": T},
    ],
)
def test_native_and_generic_calls_agree(echo, change):
    arguments = {**GOOD, **change}
    expected = outcome(echo.default._call_generic, T, **arguments)
    assert outcome(echo.default, T, **arguments) == expected
    assert outcome(echo, T, **arguments) == expected


@pytest.mark.parametrize("count", range(12))
def test_positional_arguments(echo, count):
    arguments = (T, *GOOD.values(), 7, 8)[:count]
    assert outcome(echo.default, *arguments) == outcome(echo.default._call_generic, *arguments)


def test_operators_of_the_engine():
    x, y = engine.tensor([1.0, 2.0]), engine.tensor([3.0, 4.0])
    assert ops.aten.add.Tensor(x, y, alpha=2).tolist() == [7, 10]
    assert ops.aten.add(x, 1).tolist() == [2, 3]
    assert ops.aten.add_.Tensor(x, y) is x
    assert x.tolist() == [4, 6]
    assert ops.aten.detach.default(x).data_ptr() == x.data_ptr()
    values, indices = ops.aten.max.dim(y, 0)
    assert (values.item(), indices.item()) == (4, 1)
    assert isinstance(ops.aten.split.Tensor(y, 1), tuple)
    with pytest.raises(RuntimeError, match="shapes cannot be multiplied"):
        ops.aten.mm.default(engine.ones(2, 3), engine.ones(2, 3))


def test_arguments_are_released(echo):
    t = engine.ones(3)
    alive = weakref.ref(t)
    for options in (GOOD, {**GOOD, "i": 1.5}):
        outcome(echo, t, **options, j=1)
    outcome(echo, T, **{**GOOD, "m": [t]})
    del t
    gc.collect()
    assert alive() is None


def test_packets_follow_registrations():
    first = library.Library("operator_packets", "DEF")
    with pytest.raises(AttributeError, match="has no operator 'f'"):
        _ = ops.operator_packets.f
    first.define("f(Tensor x) -> Tensor")
    first.impl("f", lambda x: x + 1, "CPU")
    packet = ops.operator_packets.f
    assert ops.operator_packets.f is packet
    assert packet(T).tolist() == [2, 2]
    fragment = library.Library("operator_packets", "FRAGMENT")
    fragment.define("f.int(int x) -> int")
    fragment.impl("f.int", lambda x: x + 1, "CPU")
    assert ops.operator_packets.f.overloads() == ["default", "int"]
    assert ops.operator_packets.f(1) == 2
    fragment._destroy()
    assert ops.operator_packets.f.overloads() == ["default"]
    first._destroy()
    with pytest.raises(AttributeError, match="has no operator 'f'"):
        _ = ops.operator_packets.f
    with pytest.raises(RuntimeError, match="no operator is registered under the name"):
        packet(T)


def test_calls_from_threads(echo):
    failures = []

    def call():
        for i in range(200):
            if echo(T, **{**GOOD, "i": i})[1] != i:
                failures.append(i)

    threads = [threading.Thread(target=call) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


def test_an_operator_that_only_writes_runs_on_meta():
    owner = library.Library("operator_writes", "DEF")
    owner.define("copy_into(Tensor x, Tensor(a!) out) -> ()")
    owner.define("make(Tensor x) -> Tensor")
    owner.impl("copy_into", lambda x, out: out.copy_(x) and None, "CPU")
    meta = engine.empty(2, device="meta")
    version = meta._version
    assert ops.operator_writes.copy_into(engine.ones(2, device="meta"), meta) is None
    assert meta._version == version + 1
    with pytest.raises(NotImplementedError, match="register a fake kernel"):
        ops.operator_writes.make(meta)
    owner._destroy()
