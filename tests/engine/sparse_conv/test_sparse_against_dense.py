"""Sparse convolutions equal dense ones at their active sites: results and gradients, in float64."""

from __future__ import annotations

import random

import pytest

import engine
from engine import sparse_conv
from tests.engine.sparse_conv.dense_cases import check, random_case

SEED = random.SystemRandom().randrange(1 << 30)


def test_random_cases_equal_dense_operators():
    for seed in range(SEED, SEED + 100):
        try:
            check(random_case(seed))
        except Exception as error:
            error.add_note(f"case {seed}: python -m tests.engine.sparse_conv.dense_cases 1 {seed}")
            raise


def test_cases_reach_every_kind_and_are_not_empty():
    """The generator draws all four layers in 2-d and 3-d, with sites in most of them."""
    cases = [random_case(seed) for seed in range(200)]
    assert {(case.kind, case.dims) for case in cases} == {
        (kind, dims) for kind in ("submanifold", "regular", "inverse", "pool") for dims in (2, 3)
    }
    assert sum(case.density > 0 for case in cases) > 120


@pytest.mark.parametrize("table", ["grid", "hash"])
@pytest.mark.parametrize("submanifold", [True, False])
def test_grid_and_hash_build_the_same_rulebook(table, submanifold):
    engine.manual_seed(1)
    indices = (engine.rand(2, 9, 8, 7) < 0.2).nonzero()
    arguments = (indices, 2, (9, 8, 7), (3, 3, 3))
    options = {} if submanifold else {"stride": (2, 1, 3), "padding": (1, 0, 1)}
    expected = sparse_conv.build_rulebook(*arguments, submanifold=submanifold, **options)
    actual = sparse_conv.build_rulebook(*arguments, submanifold=submanifold, table=table, **options)
    for name in ("out_indices", "in_rows", "out_rows", "starts"):
        assert getattr(actual, name).equal(getattr(expected, name)), name


@pytest.mark.parametrize("sites", [1, 7])
def test_functions_have_second_derivatives(sites):
    indices = engine.tensor([[0, i % 3, i // 3] for i in range(sites)])
    rulebook = sparse_conv.build_rulebook(indices, 1, (3, 3), (3, 3), submanifold=True)
    features = engine.randn(sites, 2, dtype=engine.float64, requires_grad=True)
    weight = engine.randn(9, 2, 3, dtype=engine.float64, requires_grad=True)

    def convolve(features, weight):
        return sparse_conv.gather_gemm_scatter(features, weight, rulebook)

    assert engine.autograd.gradcheck(convolve, (features, weight))
    assert engine.autograd.gradgradcheck(convolve, (features, weight))


@pytest.mark.parametrize("channels", [(32, 32), (16, 64), (5, 7), (1, 1), (130, 3)])
@pytest.mark.parametrize("dtype", [engine.float32, engine.float64])
def test_many_tiles_equal_products_by_hand(channels, dtype):
    """Enough sites for several tiles of pairs, in random order; rows of every kind of size."""
    engine.manual_seed(3)
    indices = (engine.rand(1, 40, 40, 8) < 0.6).nonzero()
    indices = indices[engine.randperm(indices.size(0))]
    rulebook = sparse_conv.build_rulebook(indices, 1, (40, 40, 8), (3, 1, 3), submanifold=True)
    features = engine.randn(indices.size(0), channels[0], dtype=dtype)
    weight = engine.randn(9, *channels, dtype=dtype)
    expected = engine.zeros(indices.size(0), channels[1], dtype=dtype)
    for k in range(9):
        in_rows, out_rows = rulebook.pairs(k)
        expected.index_add_(0, out_rows, features[in_rows] @ weight[k])
    actual = sparse_conv.gather_gemm_scatter(features, weight, rulebook)
    tolerance = 1e-4 if dtype == engine.float32 else 1e-10
    assert engine.allclose(actual, expected, rtol=tolerance, atol=tolerance)
    grad = engine.randn(*actual.shape, dtype=dtype)
    by_hand = [features[i].t() @ grad[o] for i, o in map(rulebook.pairs, range(9))]
    actual = engine.ops.sparse_conv.weight_gradient(
        features, grad, rulebook.in_rows, rulebook.out_rows, rulebook.starts
    )
    assert engine.allclose(actual, engine.stack(by_hand), rtol=1e-3, atol=100 * tolerance)


def test_every_number_of_threads_computes_the_same_bits():
    engine.manual_seed(4)
    indices = (engine.rand(1, 60, 60) < 0.7).nonzero()
    indices = indices[engine.randperm(indices.size(0))]
    features = engine.randn(indices.size(0), 24)
    before = engine.get_num_threads()
    results = []
    try:
        for threads in (1, 2, 3, 5):
            engine.set_num_threads(threads)
            x = sparse_conv.SparseConvTensor(
                features.clone().requires_grad_(), indices, [60, 60], 1
            )
            engine.manual_seed(5)
            layer = sparse_conv.SparseConv2d(24, 32, 3, stride=2, padding=1)
            out = layer(x)
            out.features.square().sum().backward()
            results.append((out.indices, out.features, x.features.grad, layer.weight.grad))
    finally:
        engine.set_num_threads(before)
    for later in results[1:]:
        for first, other in zip(results[0], later, strict=True):
            assert first.equal(other)


def test_an_error_on_another_thread_reaches_the_caller():
    """A row out of range in the last tile of pairs, which is not the caller's."""
    features, weight = engine.ones(50_000, 16), engine.ones(1, 16, 16)
    rows = engine.arange(50_000).flip(0)
    wrong = rows.clone()
    wrong[-1] = 50_000
    sparse_conv.build_rulebook(engine.zeros(0, 2, dtype=engine.int64), 1, [1], [1])
    before = engine.get_num_threads()
    engine.set_num_threads(3)
    try:
        with pytest.raises(IndexError, match="in_rows has the row 50000 of 50000 rows"):
            engine.ops.sparse_conv.gather_gemm_scatter(
                features, weight, wrong, rows, engine.tensor([0, 50_000]), 50_000
            )
    finally:
        engine.set_num_threads(before)
