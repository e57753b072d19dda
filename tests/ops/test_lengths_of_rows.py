"""Loops that treat short, odd, repeated and strided rows in other ways, compared with NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import engine

LENGTHS = (1, 2, 7, 15, 16, 17, 31, 32, 33, 63, 64, 65, 127, 129, 400)


def numbers(*shape: int, dtype: str = "float64") -> Any:
    return np.random.default_rng(len(shape) * 100 + shape[-1]).standard_normal(shape).astype(dtype)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("n", LENGTHS)
def test_log_softmax(n: int, dtype: str) -> None:
    tolerance = (
        {"rtol": 1e-6, "atol": 1e-6} if dtype == "float32" else {"rtol": 1e-13, "atol": 1e-13}
    )
    for rows in (1, 15, 16, 37):
        x = 3 * numbers(rows, n, dtype=dtype)
        x[0, 0] = -np.inf if n > 1 else 0
        wide = x.astype("longdouble")
        shifted = wide - wide.max(1, keepdims=True)
        expected = shifted - np.log(np.exp(shifted).sum(1, keepdims=True))
        y = engine.from_numpy(x)
        np.testing.assert_allclose(engine.log_softmax(y, 1).numpy(), expected, **tolerance)
        np.testing.assert_allclose(engine.softmax(y, 1).numpy(), np.exp(expected), **tolerance)
    x[0, -1] = np.nan
    assert np.isnan(engine.log_softmax(engine.from_numpy(x), 1).numpy()[0]).all()


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
@pytest.mark.parametrize("n", LENGTHS)
def test_sums_of_complex_numbers(n: int, dtype: str) -> None:
    x = (numbers(5, n) + 1j * numbers(n, 5).T).astype(dtype)
    y = engine.from_numpy(x)
    tolerance = (
        {"rtol": 1e-5, "atol": 1e-5} if dtype == "complex64" else {"rtol": 1e-12, "atol": 1e-12}
    )
    for dim in (0, 1):
        np.testing.assert_allclose(y.sum(dim).numpy(), x.sum(dim), **tolerance)
        np.testing.assert_allclose(y.t().sum(dim).numpy(), x.T.sum(dim), **tolerance)
        np.testing.assert_allclose(y.mean(dim).numpy(), x.mean(dim), **tolerance)
    np.testing.assert_allclose(y.sum().item(), x.sum(), **tolerance)
    x[1, -1] = complex(np.inf, 1)
    x[2, 0] = complex(2, np.nan)
    sums = y.sum(1).numpy()
    assert sums[1].real == np.inf
    assert np.isfinite(sums[1].imag)
    assert np.isnan(sums[2].imag)
    assert np.isfinite(sums[2].real)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "int64", "complex64", "bool"])
def test_sums_of_repeated_rows(dtype: str) -> None:
    for n in (1, 3, 4, 50, 1100):
        row = engine.arange(n).remainder(5).to(getattr(engine, dtype))
        repeated = row.expand(7, n)
        dense = repeated.contiguous()
        for x, y in ((repeated, dense), (repeated.t(), dense.t())):
            for dim in (0, 1):
                assert engine.equal(x.sum(dim), y.sum(dim))
            assert engine.equal(x.sum(), y.sum())
        if dtype not in ("complex64", "bool"):
            assert engine.equal(repeated.amax(0), row)


def test_first_of_equal_neighbours() -> None:
    for values in ([], [1.0], [1, 1, 1], [1, 2, 2, 3, 3, 3, 1], [0.0, -0.0, 2]):
        x = np.array(values)
        distinct = [v for i, v in enumerate(values) if i == 0 or v != values[i - 1]]
        y = engine.unique_consecutive(engine.from_numpy(x))
        assert y.shape == (len(distinct),)
        np.testing.assert_array_equal(y.numpy() == np.array(distinct), True)
        assert y.is_contiguous()
    not_numbers = engine.tensor([float("nan"), float("nan"), 1.0])
    assert engine.unique_consecutive(not_numbers).shape == (3,)
    assert engine.unique_consecutive(engine.tensor([[1, 1], [2, 2]]).t()).tolist() == [1, 2, 1, 2]


@pytest.mark.parametrize("dtype", ["uint8", "int16", "int64", "float32", "float64"])
def test_element_of_a_rank(dtype: str) -> None:
    for n in (1, 2, 3, 10, 200):
        x = (10 * numbers(4, n)).astype("int64").astype(dtype)
        if n > 3 and dtype.startswith("float"):
            x[1, ::3] = np.nan
        ordered = np.sort(x, 1)  # NaN last
        y = engine.from_numpy(x)
        for k in {1, (n + 1) // 2, n}:
            values, indices = y.kthvalue(k, 1)
            np.testing.assert_array_equal(values.numpy(), ordered[:, k - 1])
            at_indices = np.take_along_axis(x, indices.numpy()[:, None], 1)[:, 0]
            np.testing.assert_array_equal(at_indices, values.numpy())
            assert engine.equal(y.t().kthvalue(k, 0)[1], indices)


def test_multi_margin_loss_of_any_number_of_classes() -> None:
    for classes in (1, 2, 7, 8, 9, 17, 40):
        x, targets = numbers(6, classes), np.arange(6) % classes
        for p in (1, 2):
            lacking = np.maximum(0, 0.5 - x[np.arange(6), targets][:, None] + x) ** p
            lacking[np.arange(6), targets] = 0
            y = engine.nn.functional.multi_margin_loss(
                engine.from_numpy(x), engine.from_numpy(targets), p=p, margin=0.5, reduction="none"
            )
            np.testing.assert_allclose(y.numpy(), lacking.sum(1) / classes, rtol=1e-12)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_complex_numbers_of_any_parts(dtype: str) -> None:
    z = engine.from_numpy(numbers(9, 11, dtype=dtype) + 1j * numbers(9, 11, dtype=dtype))
    for a, b in (
        (z.real, z.imag),
        (z.real.t(), z.imag.t()),
        (z.real[:, ::2], z.imag[:, 1::2][:, :1]),
    ):
        expected = a.numpy() + 1j * b.numpy()
        np.testing.assert_array_equal(engine.complex(a, b).numpy(), expected)
    zeros = engine.tensor([-0.0], dtype=getattr(engine, dtype))
    assert str(engine.complex(zeros, zeros).item()) == "(-0-0j)"


@pytest.mark.parametrize("dtype", ["float32", "complex128"])
def test_factors_of_many_matrices(dtype: str) -> None:
    for shape in ((50, 3, 3), (7, 5, 2), (7, 2, 5), (2, 40, 70), (3, 0, 2), (3, 2, 0)):
        x = numbers(*shape).astype(dtype)
        for mode in ("reduced", "complete"):
            q, r = engine.linalg.qr(engine.from_numpy(x), mode)
            np.testing.assert_allclose((q @ r).numpy(), x, atol=1e-5)
            assert engine.equal(r, r.triu())


def test_digamma_at_its_special_points() -> None:
    inf, nan = float("inf"), float("nan")
    points = [
        (0.0, -inf),
        (-0.0, inf),
        (-1.0, nan),
        (-20.0, nan),
        (inf, inf),
        (-inf, nan),
        (nan, nan),
    ]
    points += [(1.0, -0.5772156649), (0.5, -1.9635100260), (-0.5, 0.0364899740)]
    points += [(100.0, 4.6001618527), (-100.5, 4.6151246010), (1e-30, -1e30)]
    inputs, expected = zip(*points, strict=True)
    kinds = ((engine.float32, 2e-7), (engine.float64, 1e-8), (engine.bfloat16, 1e-2))
    for dtype, tolerance in kinds:
        y = engine.tensor(inputs, dtype=dtype).digamma()
        np.testing.assert_allclose(y.float().numpy(), np.array(expected, "float32"), tolerance)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("n", LENGTHS)
def test_gradients_of_distances(n: int, dtype: str) -> None:
    x, y = numbers(3, n, dtype=dtype), numbers(5, n + 1, dtype=dtype)[:, 1:]
    y[2] = x[1]
    a, b = (engine.from_numpy(v).requires_grad_() for v in (x, y))
    weights = numbers(3, 5, dtype=dtype)
    (engine.cdist(a, b) * engine.from_numpy(weights)).sum().backward()
    gaps = (x[:, None] - y[None]).astype("float64")
    distances = np.sqrt((gaps**2).sum(-1))
    pulls = (weights / np.where(distances == 0, np.inf, distances))[..., None] * gaps
    tolerance = 1e-5 if dtype == "float32" else 1e-13
    np.testing.assert_allclose(a.grad.numpy(), pulls.sum(1), rtol=tolerance, atol=tolerance)
    np.testing.assert_allclose(b.grad.numpy(), -pulls.sum(0), rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("length", [0, 1, 3, 4, 7, 8, 12, 40])  # 2 length + 1 states, in eights
@pytest.mark.parametrize("classes", [5, 8, 17])
def test_ctc_loss(length: int, classes: int, dtype: str) -> None:
    steps, rng = 2 * length + 3, np.random.default_rng(length)
    logs = numbers(steps, 1, classes)
    logs = (logs - np.log(np.exp(logs).sum(2, keepdims=True))).astype(dtype)
    target = rng.integers(1, classes, (1, length))
    x = engine.from_numpy(logs).requires_grad_()
    loss = engine.nn.functional.ctc_loss(
        x, engine.from_numpy(target), [steps], [length], reduction="sum"
    )
    loss.backward()
    labels = np.zeros(2 * length + 1, int)
    labels[1::2] = target[0]
    skips = np.append([0, 0], labels[2:] != labels[:-2])[: len(labels)]
    scores = np.exp(logs[:, 0].astype("longdouble"))[:, labels]

    def paths(scores: np.ndarray, skips: np.ndarray) -> np.ndarray:
        """The probability of the paths up to each step and state."""
        reached = [np.where(np.arange(len(labels)) < 2, scores[0], 0)]
        for score in scores[1:]:
            near, far = (np.append(np.zeros(k), reached[-1])[: len(labels)] for k in (1, 2))
            reached.append((reached[-1] + near + far * skips) * score)
        return np.array(reached)

    alpha = paths(scores, skips)
    beta = paths(scores[::-1, ::-1], np.append([0, 0], skips[:1:-1])[: len(labels)])[::-1, ::-1]
    total = alpha[-1, -2:].sum()
    shares = np.zeros((steps, classes))
    for state, label in enumerate(labels):
        shares[:, label] += alpha[:, state] * beta[:, state] / scores[:, state] / total
    tolerance = 1e-4 if dtype == "float32" else 1e-11
    np.testing.assert_allclose(loss.item(), -np.log(total), rtol=tolerance)
    expected = np.exp(logs[:, 0]) - shares
    np.testing.assert_allclose(x.grad.numpy()[:, 0], expected, rtol=tolerance, atol=tolerance)
