"""Products of a size that register tiles make (csrc/backend/cpu/product_loops.h, bfloat16_product_loops.h): every
partial tile, every layout, updates of the result, and threads. Without AVX-512 they test OpenBLAS in the same way.
"""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
from collections.abc import Iterator

import numpy as np
import pytest

import engine
from tests.isa_level import level_in_use

# Around the edges of a tile (6 rows, vectors of 8 or 16), of a panel (64 columns, 128 deep) and of the choice.
ROWS, COLUMNS, DEPTHS = (3, 4, 23, 25, 64), (12, 23, 33, 64, 130), (16, 128, 129, 300)
LAYOUTS = ("NN", "NT", "TN", "TT")
DTYPES = ("float32", "float64", "bfloat16")


def matrix(
    rows: int, columns: int, turned: bool, dtype: str, seed: int
) -> tuple[engine.Tensor, np.ndarray]:
    """Return a matrix, stored by columns where `turned`, and the same as an array of float64."""
    array = np.random.default_rng(seed).standard_normal((rows, columns))
    if turned:
        array = np.ascontiguousarray(array.T)
    tensor = engine.tensor(array, dtype=getattr(engine, dtype))
    array = tensor.double().numpy()
    return (tensor.t(), array.T) if turned else (tensor, array)


def near(got: engine.Tensor, want: np.ndarray, size: np.ndarray, depth: int) -> None:
    """Within what rounding each of `depth` additions may lose of the sum of absolute values.

    16-bit results are sums of float32, rounded once.
    """
    step = engine.finfo(engine.float32 if got.itemsize == 2 else got.dtype).eps
    far = step * depth**0.5 * (size + 1)
    if got.itemsize == 2:
        far += engine.finfo(got.dtype).eps / 2 * (np.abs(want) + far)
    assert got.shape == want.shape
    assert (np.abs(got.double().numpy() - want) <= far).all()


def cases() -> Iterator[tuple[int, int, int]]:
    yield from itertools.product(ROWS, COLUMNS, DEPTHS)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_every_rest_of_a_tile(layout: str, dtype: str) -> None:
    for m, n, k in cases():
        a, x = matrix(m, k, layout[0] == "T", dtype, 1)
        b, y = matrix(k, n, layout[1] == "T", dtype, 2)
        near(a @ b, x @ y, np.abs(x) @ np.abs(y), k)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("alpha", "beta"), [(1, 1), (0.5, 0), (-2, 3)])
def test_what_is_kept_of_the_result(alpha: float, beta: float, dtype: str) -> None:
    for m, n, k in ((25, 33, 16), (12, 64, 300), (64, 130, 129)):
        a, x = matrix(m, k, False, dtype, 1)
        b, y = matrix(k, n, True, dtype, 2)
        c, z = matrix(m, n, False, dtype, 3)
        if beta == 0:
            c.fill_(float("nan"))  # is not read
            z[:] = 0
        want = alpha * (x @ y) + beta * z
        near(
            engine.addmm(c, a, b, beta=beta, alpha=alpha),
            want,
            3 * (np.abs(x) @ np.abs(y) + np.abs(z)),
            k,
        )


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("rows", [5, 30])
def test_only_the_result_is_written(rows: int, dtype: str) -> None:
    around = engine.full((40, 50), 7.0, dtype=getattr(engine, dtype))
    out = around.as_strided((rows, 37), (37, 1), 20)
    for turned in (False, True):
        a, x = matrix(rows, 400, False, dtype, 1)
        b, y = matrix(400, 37, turned, dtype, 2)
        engine.mm(a, b, out=out)
        near(out, x @ y, np.abs(x) @ np.abs(y), 400)
    remainder = around.flatten()
    assert (remainder[:20] == 7).all()
    assert (remainder[20 + rows * 37 :] == 7).all()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_few_rows_or_columns(layout: str, dtype: str) -> None:
    for m, n, k in itertools.product((1, 2, 5, 12), (1, 3, 70), (1, 2, 33, 513)):
        a, x = matrix(m, k, layout[0] == "T", dtype, 1)
        b, y = matrix(k, n, layout[1] == "T", dtype, 2)
        near(a @ b, x @ y, np.abs(x) @ np.abs(y), k)
        near(b.t() @ a.t(), (x @ y).T, (np.abs(x) @ np.abs(y)).T, k)
        c, z = matrix(m, n, False, dtype, 3)
        want, size = 2 * x @ y - z, 2 * np.abs(x) @ np.abs(y) + np.abs(z)
        near(engine.addmm(c, a, b, beta=-1, alpha=2), want, size, k)


@pytest.mark.parametrize("dtype", DTYPES)
def test_vectors_of_any_stride(dtype: str) -> None:
    for turned in (False, True):
        a, x = matrix(90, 301, turned, dtype, 1)
        v, _ = matrix(301, 5, False, dtype, 2)
        for by in (v[:, 2], v[:, 3].contiguous(), v[:1, 0].expand(301)):
            z = by.double().numpy()
            near(a @ by, x @ z, np.abs(x) @ np.abs(z), 301)
            near(by @ a.t(), x @ z, np.abs(x) @ np.abs(z), 301)


@pytest.mark.parametrize("dtype", DTYPES)
def test_rows_and_columns_with_gaps(dtype: str) -> None:
    a, x = matrix(50, 256, False, dtype, 1)
    b, y = matrix(128, 160, False, dtype, 2)
    near(
        a[::2, :128] @ b[:, 32:129],
        x[::2, :128] @ y[:, 32:129],
        np.abs(x[::2, :128]) @ np.abs(y[:, 32:129]),
        128,
    )
    near(
        a[:, ::2] @ b[:, ::3],
        x[:, ::2] @ y[:, ::3],
        np.abs(x[:, ::2]) @ np.abs(y[:, ::3]),
        128,
    )


@pytest.mark.parametrize("dtype", DTYPES)
def test_batches(dtype: str) -> None:
    heads = np.random.default_rng(0).standard_normal((2, 40, 3, 48))
    q = engine.tensor(heads, dtype=getattr(engine, dtype)).transpose(1, 2)
    x = q.double().numpy()
    for t, y in ((q.mT, x.swapaxes(-1, -2)), (q[:1, :1].mT, x[:1, :1].swapaxes(-1, -2))):
        near(q @ t, x @ y, np.abs(x) @ np.abs(y), 48)


def ordered(tensor: engine.Tensor, order: tuple[int, ...]) -> engine.Tensor:
    """Return the same batch of matrices with its dimensions stored in another order."""
    return tensor.permute(order).contiguous().permute([order.index(i) for i in range(3)])


# One row or one column has any stride: it must not be taken for a matrix stored by columns.
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("batch", [1, 3])
def test_small_batches_in_every_order_of_dimensions(batch: int, dtype: str) -> None:
    orders = list(itertools.permutations(range(3)))
    for rows, depth, columns in itertools.product((1, 2, 17), (1, 2, 5, 33), (1, 3, 19)):
        random = np.random.default_rng(rows)
        kind = getattr(engine, dtype)
        a = engine.tensor(random.standard_normal((batch, rows, depth)), dtype=kind)
        b = engine.tensor(random.standard_normal((batch, depth, columns)), dtype=kind)
        x, y = a.double().numpy(), b.double().numpy()
        want, size = x @ y, np.abs(x) @ np.abs(y)
        for first, second in itertools.product(orders, orders):
            near(ordered(a, first) @ ordered(b, second), want, size, depth)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("depth", [63, 64])
def test_a_nan_stays_in_its_row(depth: int, dtype: str) -> None:
    a, _ = matrix(30, depth, False, dtype, 1)
    b, _ = matrix(depth, 33, False, dtype, 2)
    a[7, depth - 1] = float("nan")
    lost = (a @ b).isnan()
    assert lost[7].all()
    assert int(lost.sum()) == 33


def test_bfloat16_without_its_instruction() -> None:
    """UNDERHOOD_ISA names a level, and no level has the instruction for pairs of bfloat16."""
    if "UNDERHOOD_ISA" in os.environ:
        pytest.skip("UNDERHOOD_ISA is set: these tests run without the instruction already")
    env = {**os.environ, "UNDERHOOD_ISA": level_in_use("v4")}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-k", "bfloat16"]
    done = subprocess.run([*command, __file__], env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout


@pytest.mark.skipif(
    level_in_use("v4") != "v4", reason="these products are OpenBLAS's without AVX-512"
)
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
@pytest.mark.parametrize(("m", "n"), [(700, 64), (64, 700), (300, 301)])
def test_threads_change_no_result(m: int, n: int, dtype: str) -> None:
    a, _ = matrix(m, 260, False, dtype, 1)
    b, _ = matrix(260, n, True, dtype, 2)
    before = engine.get_num_threads()
    try:
        actual = []
        for threads in (1, 2, 3):
            engine.set_num_threads(threads)
            actual.append(a @ b)
    finally:
        engine.set_num_threads(before)
    assert all(engine.equal(actual[0], other) for other in actual[1:])


def test_kron_of_operands_with_gaps_and_in_other_orders() -> None:
    x = engine.arange(35.0).view(5, 7)
    for a in (x[:3, :4], x[:, ::3], x[:3, :2].t(), x[:1].expand(2, 7), x[1, 2:5]):
        for b in (x[:2, 1:4], x[:2, ::2], x[:4, :2].t(), x[2, :3]):
            assert engine.kron(a, b).equal(engine.kron(a.contiguous(), b.contiguous()))


@pytest.mark.parametrize("beta", [0, 1, 2])
def test_addr_of_strided_vectors_has_the_order_of_its_matrix(beta: int) -> None:
    v, w = engine.arange(6.0)[::2], engine.arange(8.0)[::2]
    matrix = engine.ones(3, 4)
    for m in (matrix, matrix.t().contiguous().t()):
        result = engine.addr(m, v, w, beta=beta, alpha=3)
        assert result.stride() == m.stride()
        assert result.equal(beta * m + 3 * engine.outer(v, w))
