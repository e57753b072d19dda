"""complex64 and complex128 through the engine: numbers in and out, parts as views, what is refused."""

from __future__ import annotations

import copy
import math
import pickle
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import engine

KINDS = [engine.complex64, engine.complex128]
SHOWN: list[tuple[Callable[[Any], Any], str]] = [
    (lambda m: m.tensor([1 + 2j]), "tensor([1.+2.j])"),
    (lambda m: m.tensor(1j), "tensor(0.+1.j)"),
    (lambda m: m.tensor([1.5 - 0.25j, 3]), "tensor([1.5000-0.2500j, 3.0000+0.0000j])"),
    (lambda m: m.tensor([1j], dtype=m.complex128), "tensor([0.+1.j], dtype=M.complex128)"),
    (lambda m: m.zeros(0, dtype=m.complex64), "tensor([], dtype=M.complex64)"),
    (lambda m: m.tensor([3e10 + 1j, 0]), "tensor([3.0000e+10+1.j, 0.0000e+00+0.j])"),
    (
        lambda m: m.tensor([complex("inf"), complex(0, math.nan)]),
        "tensor([inf+0.j, 0.+nanj])",
    ),
    (lambda m: m.zeros(1001, dtype=m.complex64)[:4], "tensor([0.+0.j, 0.+0.j, 0.+0.j, 0.+0.j])"),
]


@pytest.mark.parametrize(("call", "text"), SHOWN)
def test_text(call: Callable[[Any], Any], text: str) -> None:
    assert repr(call(engine)).replace("engine.", "M.") == text


@pytest.mark.parametrize(("call", "text"), SHOWN)
def test_text_is_torchs(call: Callable[[Any], Any], text: str) -> None:
    torch = pytest.importorskip("torch")
    assert repr(call(torch)).replace("torch.", "M.") == text


def test_text_of_a_large_tensor() -> None:
    torch = pytest.importorskip("torch")

    def columns(module: Any) -> Any:
        return (module.arange(3000.0) * (1 + 0.5j)).view(3, 1000)

    assert repr(columns(engine)) == repr(columns(torch)).replace("torch.", "engine.")


def test_dtype_says_what_it_is() -> None:
    for kind, part, size in (
        (engine.complex64, engine.float32, 8),
        (engine.complex128, engine.float64, 16),
    ):
        assert kind.is_complex
        assert not kind.is_floating_point
        assert kind.is_signed
        assert (kind.itemsize, kind.to_real(), part.to_complex()) == (size, part, kind)
        assert engine.finfo(kind).dtype == part.name
    assert (engine.cfloat, engine.cdouble) == (engine.complex64, engine.complex128)
    assert engine.zeros(1, dtype=complex).dtype is engine.complex128
    assert not engine.can_cast(engine.complex64, engine.float64)
    assert engine.can_cast(engine.float64, engine.complex64)
    with pytest.raises(TypeError, match="complex64"):
        engine.iinfo(engine.complex64)
    with pytest.raises(RuntimeError, match="int64"):
        engine.int64.to_complex()
    with pytest.raises(TypeError, match="floating"):
        engine.set_default_dtype(engine.complex64)


@pytest.mark.parametrize("kind", KINDS)
def test_numbers_in_and_out(kind: engine.dtype) -> None:
    values = [[1 + 2j, -0.5j], [3, 0]]
    x = engine.tensor(values, dtype=kind)
    assert x.tolist() == values
    assert x[0, 0].item() == 1 + 2j
    assert complex(x[0, 0]) == 1 + 2j
    assert float(x[1, 0]) == 3.0
    assert int(x[1, 0]) == 3
    assert bool(x[0, 1])
    assert not bool(x[1, 1])
    assert f"{x[0, 0]}" == "(1+2j)"
    assert (1 + 2j) in x
    assert 9j not in x
    for ask in (float, int):
        with pytest.raises(RuntimeError, match="imaginary part"):
            ask(x[0, 0])
    with pytest.raises(TypeError, match="integer"):
        range(x[1, 0])
    assert pickle.loads(pickle.dumps(x)).tolist() == values
    assert copy.deepcopy(x.t()).tolist() == x.t().tolist()


def test_default_dtype_decides_the_precision() -> None:
    assert engine.tensor(1j).dtype is engine.complex64
    try:
        engine.set_default_dtype(engine.float64)
        assert engine.tensor(1j).dtype is engine.complex128
        assert (engine.tensor([1]) * 1j).dtype is engine.complex128
    finally:
        engine.set_default_dtype(engine.float32)


def test_factories() -> None:
    assert engine.full((2,), 1j).tolist() == [1j, 1j]
    assert engine.full((1,), 1j, dtype=engine.bool).tolist() == [True]
    assert engine.ones(2, dtype=engine.complex128).tolist() == [1, 1]
    assert engine.eye(2, dtype=engine.complex64).tolist() == [[1, 0], [0, 1]]
    assert engine.linspace(0, 1j, 3).tolist() == [0, 0.5j, 1j]
    assert engine.full_like(engine.ones(1, dtype=engine.complex64), 2j).tolist() == [2j]
    assert engine.empty(2, dtype=engine.complex64, device="meta").sum().dtype is engine.complex64
    for call, error in (
        (lambda: engine.full((2,), 1j, dtype=engine.float32), RuntimeError),
        (lambda: engine.ones(2).fill_(1j), RuntimeError),
        (lambda: engine.arange(1j), RuntimeError),
        (lambda: engine.arange(3, dtype=engine.complex64), NotImplementedError),
        (lambda: engine.linspace(0, 1j, 3, dtype=engine.float32), RuntimeError),
        (lambda: engine.tensor([1j], dtype=engine.float32), TypeError),
        (lambda: engine.randint(0, 5, (3,), dtype=engine.complex64), RuntimeError),
        (lambda: engine.randperm(3, dtype=engine.complex64), NotImplementedError),
    ):
        with pytest.raises(error):
            call()


@pytest.mark.parametrize("kind", KINDS)
def test_random(kind: engine.dtype) -> None:
    engine.manual_seed(3)
    x = engine.randn(200, 300, dtype=kind)
    assert abs(x.mean().item()) < 0.02
    assert abs((x.abs() ** 2).mean().item() - 1) < 0.02  # the variance of both parts together
    u = engine.view_as_real(engine.rand(1000, dtype=kind))
    assert bool((u >= 0).all())
    assert bool((u < 1).all())
    assert abs(u.mean().item() - 0.5) < 0.05
    strided = engine.zeros(10, 20, dtype=kind)[:, ::2].normal_()
    assert int((strided.t() != 0).sum()) == 100


def test_casts_warn_of_what_they_lose() -> None:
    x = engine.tensor([1 + 2j, 3])
    for cast in (lambda: x.to(engine.int64), lambda: x.float(), lambda: engine.zeros(2).copy_(x)):
        with pytest.warns(UserWarning, match="discards the imaginary part"):
            assert cast().tolist() == [1, 3]
    y = engine.zeros(2)
    with pytest.warns(UserWarning, match="discards the imaginary part"):
        y[:] = x
    assert y.tolist() == [1, 3]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert engine.tensor([0j, 1j]).bool().tolist() == [False, True]
        assert x.to(engine.complex128).tolist() == [1 + 2j, 3]
        assert x.cdouble().dtype is engine.complex128
        assert engine.tensor([1, 2]).cfloat().tolist() == [1, 2]
        assert engine.zeros(2, dtype=engine.complex64).copy_(engine.ones(2)).tolist() == [1, 1]


def test_every_dtype_becomes_complex_and_comes_back() -> None:
    for dtype in engine.dtypes.DTYPES:
        x = engine.tensor([0, 1, 1, 0, 1] * 7).to(dtype)
        for kind in KINDS:
            z = x.to(kind)
            assert (z.dtype, z.tolist()) == (kind, [0, 1, 1, 0, 1] * 7)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                back = z[::2].to(dtype)
            assert bool((back == x[::2]).all()), (dtype, kind)


# ---- promotion


def promoted(module: Any, a: str, left: tuple[int, ...], b: str, right: tuple[int, ...]) -> str:
    x = module.ones(left, dtype=getattr(module, a))
    y = module.ones(right, dtype=getattr(module, b))
    return str((x + y).dtype).rpartition(".")[2]


def test_promotion_is_torchs() -> None:
    torch = pytest.importorskip("torch")
    # Not float16: PyTorch has a complex of two of them.
    for a in [d.name for d in engine.dtypes.DTYPES if d.name != "float16"]:
        for b in (kind.name for kind in KINDS):
            for left, right in (((2,), (2,)), ((2,), ()), ((), (2,)), ((), ())):
                actual = promoted(engine, a, left, b, right)
                assert actual == promoted(torch, a, left, b, right), (a, left, b, right)
        ours = engine.ones(2, dtype=getattr(engine, a)) * 1j
        other = torch.ones(2, dtype=getattr(torch, a)) * 1j
        assert ours.dtype.name == str(other.dtype).removeprefix("torch."), a
    assert engine.result_type(engine.ones(2).double(), 1j) is engine.complex128


def test_numbers_as_operands() -> None:
    x = engine.tensor([1.0, 2.0])
    assert (x + 1j).tolist() == [1 + 1j, 2 + 1j]
    assert (1j - x).tolist() == [-1 + 1j, -2 + 1j]
    assert (2j / x).tolist() == [2j, 1j]
    assert (x**1j)[0].item() == 1
    assert (x == 1 + 0j).tolist() == [True, False]
    assert engine.where(x > 1, 1j, x).tolist() == [1, 1j]
    assert engine.tensor([1j]).add(engine.tensor([1.0]), alpha=2j).tolist() == [3j]
    for call in (
        lambda: x.mul_(1j),
        lambda: x.add(1, alpha=1j),
        lambda: engine.abs(x * 1j, out=x.long()),
    ):
        with pytest.raises(RuntimeError):
            call()
    with pytest.raises(RuntimeError, match="In-place abs is not supported for complex tensors"):
        engine.tensor([1j]).abs_()


def test_boxed_calls_take_complex_numbers() -> None:
    aten = engine.ops.aten
    assert aten.add.Tensor(engine.tensor([1j]), engine.tensor([1.0]), alpha=2j).tolist() == [3j]
    assert aten.full([1], 1j).tolist() == [1j]
    with pytest.raises(TypeError, match="float"):
        aten.normal_(engine.ones(2), 1j, 1.0)


# ---- parts are views


@pytest.mark.parametrize("kind", KINDS)
def test_parts_share_memory(kind: engine.dtype) -> None:
    z = engine.zeros(3, 4, dtype=kind)
    column = z.t()[1:, ::2]
    column.real = 1.0
    column.imag[0] = 2.0
    z.real[0, 0] = 5
    expected = np.zeros((3, 4), complex)
    expected.T[1:, ::2] = 1
    expected.T[1, ::2] += 2j
    expected[0, 0] += 5
    assert z.tolist() == expected.tolist()
    assert z._version == 3
    assert z.imag._base.data_ptr() == z.data_ptr()
    assert (z.imag.data_ptr() - z.data_ptr(), z.imag.stride()) == (kind.itemsize // 2, (8, 2))
    assert z.real.dtype is kind.to_real()
    pairs = engine.view_as_real(z)
    assert (pairs.shape, pairs.stride()) == ((3, 4, 2), (8, 2, 1))
    again = engine.view_as_complex(pairs)
    assert (again.data_ptr(), again.stride(), again.dtype) == (z.data_ptr(), z.stride(), kind)


def test_parts_of_real_tensors() -> None:
    x = engine.ones(2)
    assert x.real is x
    assert x.conj() is x
    assert x.resolve_conj() is x
    with pytest.raises(RuntimeError, match="imag is not implemented for tensors with non-complex"):
        _ = x.imag
    for name, shape in (("mH", (2,)), ("H", (2,)), ("H", (1, 2, 2))):
        with pytest.raises(RuntimeError, match=f"tensor.{name} is only supported"):
            getattr(engine.ones(shape), name)


def test_conjugates() -> None:
    z = engine.tensor([[1 + 2j, 3j]])
    assert z.conj().tolist() == [[1 - 2j, -3j]]
    assert z.mH.tolist() == z.H.tolist() == z.adjoint().tolist() == [[1 - 2j], [-3j]]
    assert not (z.is_conj())
    assert not (z.is_neg())
    before = z._version
    assert z.t().conj_physical_().tolist() == [[1 - 2j], [-3j]]
    assert (z.tolist(), z._version) == ([[1 - 2j, -3j]], before + 1)
    assert engine.tensor([1j, 2]).vdot(engine.tensor([3j, 4j])).item() == 3 + 8j


def test_views_of_bytes() -> None:
    assert engine.arange(4.0).view(engine.complex64).tolist() == [1j, 2 + 3j]
    assert engine.tensor([1 + 2j]).view(engine.float32).tolist() == [1.0, 2.0]
    with pytest.raises(RuntimeError, match="divisible"):
        engine.ones(3).view(engine.complex64)


# ---- shared with others


@pytest.mark.parametrize("kind", KINDS)
def test_numpy_and_dlpack_share_memory(kind: engine.dtype) -> None:
    a = np.arange(6).reshape(2, 3).astype(kind.name) * 1j
    x = engine.from_numpy(a.T)
    assert (x.dtype, x.stride(), x.tolist()) == (kind, (1, 3), a.T.tolist())
    a[0, 0] = 7 - 1j
    assert x[0, 0].item() == 7 - 1j
    b = x.numpy()
    assert b.dtype == a.dtype
    x.mul_(2)
    assert b[0, 0] == 14 - 2j
    assert a[0, 0] == 14 - 2j
    c = np.from_dlpack(x)
    c[0, 0] = 1j
    assert x[0, 0].item() == 1j
    assert engine.from_dlpack(a).data_ptr() == x.data_ptr()
    assert engine.tensor(a).tolist() == a.tolist()
    assert engine.tensor([a[0, 0], 1]).dtype is kind


# ---- indexing, joining, reductions over layouts


@pytest.mark.parametrize("kind", KINDS)
def test_indexing(kind: engine.dtype) -> None:
    a = (np.arange(24).reshape(4, 6) * (1 - 2j)).astype(kind.name)
    x = engine.tensor(a)
    rows, mask = [3, 0, 0], a.real > 7
    assert x[rows].tolist() == a[rows].tolist()
    assert x[:, [5, 1]].tolist() == a[:, [5, 1]].tolist()
    assert x[engine.tensor(mask)].tolist() == a[mask].tolist()
    assert x.t().contiguous().tolist() == a.T.tolist()
    assert x.take(engine.tensor([0, 23])).tolist() == [a[0, 0], a[3, 5]]
    assert x.gather(1, engine.tensor([[5], [0]])).tolist() == [[a[0, 5]], [a[1, 0]]]
    x[1] = 5j
    a[1] = 5j
    x[engine.tensor(mask)] = 1 - 1j
    a[mask] = 1 - 1j
    x[[0, 2], 1] = engine.tensor([1j, 2j], dtype=kind)
    a[[0, 2], 1] = [1j, 2j]
    assert x.tolist() == a.tolist()
    y = engine.zeros(2, dtype=kind)
    y.index_put_((engine.tensor([0, 0]),), engine.tensor([1j, 2], dtype=kind), accumulate=True)
    assert y.tolist() == [2 + 1j, 0]
    assert engine.cat([x[:1], engine.ones(1, 6)]).dtype is kind
    assert engine.stack([x[0], x[1]]).tolist() == [x[0].tolist(), x[1].tolist()]
    assert x.nonzero().shape == (np.count_nonzero(a), 2)
    with pytest.raises(IndexError, match="complex"):
        x[x]


def test_large_layouts() -> None:
    a = np.random.default_rng(0).standard_normal((2, 70, 900, 2)).view(np.complex128)[..., 0]
    for kind in KINDS:
        x = engine.tensor(a).to(kind)
        y = x.permute(2, 0, 1)
        want = a.transpose(2, 0, 1).astype(kind.name)
        assert np.array_equal(y.contiguous().numpy(), want)
        assert np.allclose(y.sum((0, 2)).numpy(), want.sum((0, 2)), rtol=1e-4)
        assert np.allclose((y * y.conj()).numpy().real, abs(want) ** 2, rtol=1e-5)
        assert np.allclose(y.abs().numpy(), abs(want), rtol=1e-6)


def test_equality_of_tensors() -> None:
    x = engine.tensor([1j, 2])
    assert engine.equal(x, x.clone())
    assert not engine.equal(x, x.conj())
    assert engine.allclose(x, x * (1 + 1e-7))
    assert not engine.allclose(x, x * 1j)
    nan = engine.tensor([complex(0, math.nan)])
    assert not engine.equal(nan, nan)
    assert engine.allclose(nan, nan, equal_nan=True)


def test_infinities_and_zeros() -> None:
    torch = pytest.importorskip("torch")
    edge = [0.0, -0.0, 1.0, -1.0, math.inf, -math.inf, math.nan, 1e-30, 3e38]
    values = [complex(a, b) for a in edge for b in edge]
    for kind in ("complex64", "complex128"):
        ours = engine.tensor(values, dtype=getattr(engine, kind))
        other = torch.tensor(values, dtype=getattr(torch, kind))
        for name in ("abs", "angle", "isnan", "isinf", "isfinite", "isreal", "neg", "real", "imag"):
            got = getattr(engine, name)(ours).numpy()
            want = getattr(torch, name)(other).resolve_neg().numpy()
            same = np.isclose(got, want, rtol=1e-6, equal_nan=True)
            assert same.all(), (
                kind,
                name,
                np.array(values)[~same][:3],
                got[~same][:3],
                want[~same][:3],
            )


def test_order_is_refused() -> None:
    x = engine.tensor([1j, 2])
    for call in (
        lambda: x < 1,
        lambda: x >= x,
        lambda: x.amin(),
        lambda: x.max(),
        lambda: x.clamp(0, 1),
        lambda: x // 2,
        lambda: x % 2,
        lambda: x.floor(),
        lambda: x & 1,
        lambda: x.sign(),
    ):
        with pytest.raises(NotImplementedError, match=r"[cC]omplex"):
            call()
    for call in (lambda: x.max(0), lambda: x.argmin(), lambda: x.maximum(x)):
        with pytest.raises(RuntimeError, match="complex"):
            call()
