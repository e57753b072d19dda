"""Gradients of and through sparse tensors (sparse_sampled_addmm too), and what trains with them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import engine
from engine import nn

PLACES = [[0, 1, 1], [2, 0, 2]]


def values() -> Any:
    return engine.tensor([3.0, 4.0, 5.0], dtype=engine.float64, requires_grad=True)


def coo(v: Any) -> Any:
    return engine.sparse_coo_tensor(PLACES, v, (2, 3))


def csr(v: Any) -> Any:
    return engine.sparse_csr_tensor([0, 1, 3], [2, 0, 2], v, (2, 3))


M = engine.arange(12.0, dtype=engine.float64).reshape(3, 4)
FUNCTIONS = {
    "to_dense": lambda s: s.to_dense(),
    "sparse.mm": lambda s: engine.sparse.mm(s, M),
    "mm": lambda s: s @ M,
    "mv": lambda s: s @ M[:, 1],
    "sparse.addmm": lambda s: engine.sparse.addmm(engine.ones(4).double(), s, M, alpha=2),
    "times 2": lambda s: (2 * s).to_dense(),
    "to_sparse_csr": lambda s: s.to_sparse_csr().to_dense(),
    "values": lambda s: (s.coalesce() if s.is_sparse else s).values() * 3,
    "square": lambda s: (s * s).to_dense(),
}
OF_COO = {
    "transposed": lambda s: s.t().to_dense(),
    "sum": lambda s: engine.sparse.sum(s, 0).to_dense(),
    "total": lambda s: engine.sparse.sum(s),
    "softmax": lambda s: engine.sparse.softmax(s, 1).to_dense() * engine.arange(3.0).double(),
    "log_softmax": lambda s: (
        engine.sparse.log_softmax(s, 1).to_dense() * engine.arange(3.0).double()
    ),
    "sparse @ sparse": lambda s: engine.sparse.mm(s, s.t()).to_dense(),
    "dense @ sparse": lambda s: M.t()[:, :2] @ s,
}


@pytest.mark.parametrize("name", [*FUNCTIONS, *OF_COO])
def test_gradients_are_those_of_finite_differences(name: str) -> None:
    function = {**FUNCTIONS, **OF_COO}[name]
    for create in (coo, csr) if name in FUNCTIONS else (coo,):
        assert engine.autograd.gradcheck(lambda v: function(create(v)), (values(),))  # noqa: B023


def test_the_dense_operand_has_a_gradient_too() -> None:
    for create in (coo, csr):
        s = create(values().detach())
        m = M.clone().requires_grad_()
        assert engine.autograd.gradcheck(lambda m: engine.sparse.mm(s, m), (m,))  # noqa: B023
        assert engine.autograd.gradgradcheck(lambda m: engine.sparse.mm(s, m).sin(), (m,))  # noqa: B023


REDUCTIONS = {
    "sum": np.sum, "mean": np.mean, "amax": np.max, "amin": np.min, "max": np.max, "min": np.min,
}  # fmt: skip


@pytest.mark.parametrize("reduce", REDUCTIONS)
@pytest.mark.parametrize("dtype", [engine.float32, engine.float64, engine.bfloat16])
def test_products_of_a_row_are_combined(reduce: str, dtype: Any) -> None:
    draw = np.random.default_rng(3)
    matrix = draw.integers(-2, 3, (7, 5)).astype("f4")
    matrix[2] = 0
    dense = draw.integers(-4, 5, (5, 70)).astype("f4")
    expected = np.zeros((7, 70), "f4")
    for row, out in zip(matrix, expected, strict=True):
        if row.any():
            out[:] = REDUCTIONS[reduce](row[row != 0, None] * dense[row != 0], axis=0)
    sparse = engine.from_numpy(matrix).to(dtype).to_sparse_csr()
    result = engine.sparse.mm(sparse, engine.from_numpy(dense).to(dtype), reduce)
    engine.testing.assert_close(result, engine.from_numpy(expected).to(dtype))


@pytest.mark.parametrize("reduce", REDUCTIONS)
def test_the_gradients_of_combined_products(reduce: str) -> None:
    m = M.clone().sub_(5.5).requires_grad_()

    def function(v: Any, m: Any) -> Any:
        return engine.sparse.mm(csr(v), m, reduce)

    assert engine.autograd.gradcheck(function, (values(), m))
    assert engine.autograd.gradgradcheck(function, (values(), m))


def test_of_equal_products_the_first_has_the_gradient() -> None:
    v = engine.tensor([1.0, 1.0, 1.0], requires_grad=True)
    m = engine.zeros(3, 1, requires_grad=True)
    engine.sparse.mm(csr(v), m, "amax").sum().backward()
    assert m.grad.flatten().tolist() == [1, 0, 1]
    empty = engine.sparse_csr_tensor([0, 0, 0], [], engine.ones(0), (2, 3)).requires_grad_()
    result = engine.sparse.mm(empty, m, "amax")
    assert result.tolist() == [[0], [0]]
    result.sum().backward()
    assert empty.grad._nnz() == 0


def test_a_nan_is_chosen() -> None:
    m = engine.tensor([[1.0], [2.0], [float("nan")]])
    assert engine.sparse.mm(csr(engine.ones(3)), m, "amin").isnan().all()


@pytest.mark.parametrize(
    ("matrix", "dense", "reduce", "message"),
    [
        (csr, (3, 2), "prod", "reduce type of prod has not been enabled"),
        (csr, (3, 2), "median", "must be either sum, prod, mean, amax or amin, got median"),
        (
            csr,
            (2, 2),
            "amax",
            r"tensor.size\[0\] == 3 but got: dimension 2 and tensor.size\[0\] = 2",
        ),
        (csr, (3,), "amax", "Expected a tensor of dimension 2"),
        (coo, (3, 2), "amax", "takes a CSR matrix"),
    ],
)
def test_combinations_that_are_refused(matrix: Any, dense: Any, reduce: str, message: str) -> None:
    with pytest.raises(RuntimeError, match=message):
        engine.sparse.mm(matrix(engine.ones(3)), engine.ones(dense), reduce)


def test_the_gradient_of_a_sparse_leaf_has_its_places() -> None:
    s = coo(values().detach()).requires_grad_()
    engine.sparse.mm(s, M).sum().backward()
    assert s.grad.is_sparse
    assert s.grad.coalesce().indices().tolist() == PLACES
    engine.sparse.mm(s, M).sum().backward()
    assert s.grad.coalesce().values().tolist() == (2 * M.sum(1))[engine.tensor([2, 0, 2])].tolist()
    rows = csr(values().detach()).requires_grad_()
    engine.sparse.mm(rows, M).sum().backward()
    assert rows.grad.is_sparse_csr
    x = engine.rand(2, 4).double().requires_grad_()
    sampled = engine.sparse.sampled_addmm(rows.detach(), x, M.t()[:, :3])
    assert engine.autograd.gradcheck(
        lambda x: engine.sparse.sampled_addmm(rows.detach(), x, M.t()[:, :3]).values(), (x,)
    )
    assert sampled.is_sparse_csr


def test_an_embedding_gives_the_rows_it_read() -> None:
    weight = engine.arange(12.0).reshape(4, 3).requires_grad_()
    index = engine.tensor([[0, 2], [2, 1]])
    nn.functional.embedding(index, weight, sparse=True, padding_idx=1).sum().backward()
    assert weight.grad.is_sparse
    assert weight.grad.coalesce().indices().tolist() == [[0, 2]]
    nn.functional.embedding(index, weight, sparse=True).sum().backward()
    assert weight.grad.to_dense()[:, 0].tolist() == [2, 1, 4, 0]
    nn.functional.embedding(index, weight).sum().backward()
    assert weight.grad.layout is engine.strided
    assert weight.grad[:, 0].tolist() == [3, 2, 6, 0]
    bag = nn.EmbeddingBag(4, 3, sparse=True, mode="sum")
    bag(index).sum().backward()
    assert bag.weight.grad.coalesce().indices().tolist() == [[0, 1, 2]]
    with pytest.raises(RuntimeError, match="scale_grad_by_freq not supported with sparse"):
        nn.functional.embedding(
            index, weight, sparse=True, scale_grad_by_freq=True
        ).sum().backward()


def trained(library: Any, name: str) -> list[float]:
    """Return the losses of a few steps from equal weights."""
    draw = np.random.default_rng(3)
    tensor = lambda *shape: library.tensor(draw.standard_normal(shape).astype("float32"))  # noqa: E731
    functional = library.nn.functional
    edges = draw.integers(0, 12, (2, 40))
    adjacency = library.sparse_coo_tensor(
        library.tensor(edges), library.ones(40) / 4, (12, 12)
    ).coalesce()
    x, target = tensor(12, 5), library.tensor(draw.integers(0, 3, 12))
    first, second = tensor(5, 8).requires_grad_(), tensor(8, 3).requires_grad_()
    table = tensor(12, 5).requires_grad_()
    parameters = [first, second]
    if name == "graph convolution, CSR":
        adjacency = adjacency.to_sparse_csr()
    if name.startswith("recommender"):
        parameters = [table]
    optimizer = {
        "recommender, SparseAdam": lambda: library.optim.SparseAdam(parameters, lr=0.05),
        "recommender, Adagrad": lambda: library.optim.Adagrad(parameters, lr=0.05),
        "recommender, SGD": lambda: library.optim.SGD(parameters, lr=0.05, momentum=0.9),
    }.get(name, lambda: library.optim.Adam(parameters, lr=0.01))()
    losses = []
    for _ in range(20):
        optimizer.zero_grad()
        if name.startswith("recommender"):
            users = functional.embedding(library.tensor(edges[0]), table, sparse=True)
            loss = functional.mse_loss(
                (users * x[library.tensor(edges[1])]).sum(1), library.ones(40)
            )
        elif name == "attention over edges":
            h = x @ first
            score = (h[library.tensor(edges[0])] * h[library.tensor(edges[1])]).sum(1)
            weights = library.sparse_coo_tensor(library.tensor(edges), score, (12, 12))
            attention = library.sparse.softmax(weights, dim=1)
            loss = functional.cross_entropy(library.sparse.mm(attention, h @ second), target)
        else:
            hidden = library.sparse.mm(adjacency, x @ first).relu()
            loss = functional.cross_entropy(adjacency @ (hidden @ second), target)
        loss.backward()
        optimizer.step()
        losses.append(float(loss.detach()))
    return losses


@pytest.mark.parametrize(
    "name",
    [
        "graph convolution",
        "graph convolution, CSR",
        "attention over edges",
        "recommender, SparseAdam",
        "recommender, Adagrad",
        "recommender, SGD",
    ],
)
@pytest.mark.filterwarnings("ignore:Sparse")
def test_graphs_and_recommenders_train_with_pytorchs_losses(name: str) -> None:
    torch = pytest.importorskip("torch")
    own = trained(engine, name)
    assert own[-1] < own[0]
    np.testing.assert_allclose(own, trained(torch, name), rtol=1e-4, atol=1e-4)


def test_optimizers_that_need_dense_gradients_say_so() -> None:
    weight = engine.ones(4, 3, requires_grad=True)
    nn.functional.embedding(engine.tensor([1]), weight, sparse=True).sum().backward()
    with pytest.raises(RuntimeError, match="Adam does not support sparse gradients"):
        engine.optim.Adam([weight]).step()
    weight.grad = engine.ones(4, 3)
    with pytest.raises(RuntimeError, match="SparseAdam does not support dense gradients"):
        engine.optim.SparseAdam([weight]).step()
