"""Sparse tensors: made, converted, printed, and computed with; the dense tensor is the judge."""

from __future__ import annotations

import copy
import io
import pickle
from typing import Any

import pytest

import engine

PLACES = [[0, 1, 1], [2, 0, 2]]


def coo(
    values: Any = (3.0, 4.0, 5.0), positions: Any = None, sizes: Any = (2, 3), **options: Any
) -> Any:
    return engine.sparse_coo_tensor(positions or PLACES, values, sizes, **options)


def doubled() -> Any:
    """One place twice, and not in order."""
    return coo((1.0, 2.0, 5.0), [[1, 0, 1], [1, 2, 1]])


def csr(**options: Any) -> Any:
    return engine.sparse_csr_tensor([0, 1, 3], [2, 0, 2], [3.0, 4.0, 5.0], (2, 3), **options)


def test_the_parts_are_tensors_and_print_as_pytorchs() -> None:
    assert repr(coo()) == (
        "tensor(indices=tensor([[0, 1, 1],\n                       [2, 0, 2]]),\n"
        "       values=tensor([3., 4., 5.]),\n"
        "       size=(2, 3), nnz=3, layout=engine.sparse_coo)"
    )
    assert repr(csr()) == (
        "tensor(crow_indices=tensor([0, 1, 3]),\n       col_indices=tensor([2, 0, 2]),\n"
        "       values=tensor([3., 4., 5.]), size=(2, 3), nnz=3,\n       layout=engine.sparse_csr)"
    )
    empty = engine.sparse_coo_tensor((2, 3), dtype=engine.float64)
    assert repr(empty) == (
        "tensor(indices=tensor([], size=(2, 0)),\n       values=tensor([], size=(0,)),\n"
        "       size=(2, 3), nnz=0, dtype=engine.float64, layout=engine.sparse_coo)"
    )
    assert "requires_grad=True" in repr(coo(requires_grad=True))
    assert (coo().is_sparse, coo().is_sparse_csr, csr().is_sparse_csr) == (True, False, True)
    assert coo().layout is engine.sparse_coo
    assert (coo()._nnz(), coo().sparse_dim(), coo().dense_dim()) == (3, 2, 0)


def test_sizes_follow_from_the_largest_indices() -> None:
    assert engine.sparse_coo_tensor([[0, 4]], [[1.0, 2.0], [3.0, 4.0]]).shape == (5, 2)
    assert engine.sparse_csr_tensor([0, 1, 2], [3, 0], [1.0, 2.0]).shape == (2, 4)
    assert engine.sparse.FloatTensor(engine.tensor(PLACES), engine.ones(3), (2, 3)).shape == (2, 3)


@pytest.mark.parametrize("dtype", ["float32", "float64", "int64", "bool", "complex64", "bfloat16"])
def test_conversions_give_the_dense_tensor_back(dtype: str) -> None:
    kind = getattr(engine, dtype)
    dense = engine.tensor([[0, 0, 3], [4, 0, 5]]).to(kind)
    for sparse in (dense.to_sparse(), dense.to_sparse(1), dense.to_sparse_csr()):
        assert sparse.dtype is kind
        assert sparse.to_dense().tolist() == dense.tolist()
        assert sparse.clone().to_sparse().to_dense().tolist() == dense.tolist()
    assert dense.to_sparse().to_sparse_csr().to_sparse_coo().is_coalesced()


def test_coalesce_sorts_and_adds_up() -> None:
    twice = doubled()
    assert not twice.is_coalesced()
    sorted_ = twice.coalesce()
    assert sorted_.indices().tolist() == [[0, 1], [2, 1]]
    assert sorted_.values().tolist() == [2.0, 6.0]
    assert sorted_.coalesce() is sorted_
    assert twice.to_dense().tolist() == [[0, 0, 2], [0, 6, 0]]
    rows = engine.sparse_coo_tensor([[3, 1, 3]], [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], (4, 2))
    assert rows.coalesce().values().tolist() == [[3, 4], [6, 8]]


def operators() -> dict[str, Any]:
    m, d = engine.arange(12.0).reshape(3, 4), engine.arange(6.0).reshape(2, 3)
    return {
        "mm": lambda s: s @ m,
        "mv": lambda s: s @ m[:, 0],
        "dense @ sparse": lambda s: (
            m.t() @ (s if s.is_sparse_csr else s.t()) if s.is_sparse else d @ m
        ),
        "addmm": lambda s: engine.addmm(engine.ones(4), s, m, beta=2, alpha=3),
        "scaled": lambda s: 2 * s,
        "dense + sparse": lambda s: d + s,
        "dense - sparse": lambda s: d - s,
        "in place": lambda s: d.clone().add_(s, alpha=3),
        "sum of two": lambda s: s + s,
        "times dense": lambda s: s * d,
        "square": lambda s: s * s,
        "sin": lambda s: s.sin(),
        "relu": lambda s: (-s).relu(),
        "float64": lambda s: s.double(),
        "total": lambda s: s.sum(),
    }


@pytest.mark.parametrize("name", operators())
@pytest.mark.parametrize("create", [coo, doubled, csr])
def test_operators_compute_what_they_do_on_the_dense_tensor(name: str, create: Any) -> None:
    call, sparse = operators()[name], create()
    if name == "dense @ sparse":
        call = lambda s: engine.arange(6.0).reshape(3, 2) @ s  # noqa: E731
    result, expected = call(sparse), call(sparse.to_dense())
    # The last place of a sine depends on whether the element is in a full vector.
    assert engine.allclose(result.to_dense(), expected, rtol=2e-7, atol=0)


def dense_of(x: Any) -> Any:
    return x.to_dense().tolist()


def test_rearranged() -> None:
    for s in (coo(), doubled()):
        dense = s.to_dense()
        assert dense_of(s.t()) == dense.t().tolist()
        assert dense_of(s.unsqueeze(1)) == dense.unsqueeze(1).tolist()
        assert dense_of(s[1]) == dense[1].tolist()
        assert dense_of(s[:, 2]) == dense[:, 2].tolist()
        index = engine.tensor([1, 1, 0])
        assert dense_of(s.index_select(0, index)) == dense.index_select(0, index).tolist()
        assert dense_of(s.index_select(1, index)) == dense.index_select(1, index).tolist()
        for dim in (0, 1):
            assert dense_of(engine.cat([s, s], dim)) == engine.cat([dense, dense], dim).tolist()
            assert dense_of(engine.stack([s, s], dim)) == engine.stack([dense, dense], dim).tolist()
            assert dense_of(engine.sparse.sum(s, dim)) == dense.sum(dim).tolist()
            assert dense_of(s.sum(dim)) == dense.sum(dim).tolist()
    rows = engine.sparse_coo_tensor([[2, 0]], [[1.0, 2.0], [3.0, 4.0]], (3, 2))
    assert dense_of(engine.cat([rows, rows], 1)) == engine.cat([rows.to_dense()] * 2, 1).tolist()
    assert engine.sparse.sum(rows, 0).tolist() == [4.0, 6.0]


def test_products_of_two_sparse_matrices() -> None:
    a = engine.tensor([[0.0, 2.0], [1.0, 0.0], [0.0, 3.0]])
    b = engine.tensor([[0.0, 0.0, 4.0], [5.0, 0.0, 0.0]])
    assert (a.to_sparse() @ b.to_sparse()).to_dense().tolist() == (a @ b).tolist()
    product = engine.sparse.mm(a.to_sparse_csr(), b.to_sparse_csr())
    assert product.is_sparse_csr
    assert product.to_dense().tolist() == (a @ b).tolist()


def test_softmax_over_the_values_of_a_row() -> None:
    softmax = engine.sparse.softmax(coo(), 1).to_dense()
    engine.testing.assert_close(softmax[1, [0, 2]], engine.tensor([4.0, 5.0]).softmax(0))
    assert softmax[0].tolist() == [0, 0, 1]
    logs = engine.sparse.log_softmax(coo(), 1)
    engine.testing.assert_close(logs.values().exp(), engine.sparse.softmax(coo(), 1).values())


def test_written_in_place() -> None:
    s = coo()
    version = s._version
    s.mul_(2).add_(coo())
    assert s._version == version + 2
    assert dense_of(s) == [[0, 0, 9], [12, 0, 15]]
    assert s.zero_()._nnz() == 0
    assert dense_of(s.copy_(doubled())) == [[0, 0, 2], [0, 6, 0]]
    shared = coo()
    shared.detach().mul_(2)
    assert dense_of(shared) == [[0, 0, 6], [8, 0, 10]]


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (
            lambda: engine.sparse_coo_tensor([0, 1], [1.0, 2.0]),
            RuntimeError,
            "indices must be sparse_dim x nnz, but got: [2]",
        ),
        (
            lambda: engine.sparse_coo_tensor([[0, 1]], [1.0, 2.0, 3.0]),
            RuntimeError,
            "must have same nnz, but got nnz from indices: 2, nnz from values: 3",
        ),
        (
            lambda: engine.sparse_coo_tensor([[0, -1]], [1.0, 2.0]),
            RuntimeError,
            "found negative index -1 for dim 0",
        ),
        (lambda: coo(sizes=(2**40, 2**40)), RuntimeError, "numel: integer multiplication overflow"),
        (
            lambda: coo(sizes=(2,)),
            RuntimeError,
            "is not satisfied: len(size) = 1, sparse_dim = 2, dense_dim = 0",
        ),
        (
            lambda: coo(sizes=(2, 2)).to_dense(),
            RuntimeError,
            "inconsistent with indices: for dim 1, size is 2 but found index 2",
        ),
        (
            lambda: coo(sizes=(2, 2), check_invariants=True),
            RuntimeError,
            "inconsistent with indices: for dim 1, size is 2 but found index 2",
        ),
        (
            lambda: coo(positions=[[0, -1, 1], [0, 0, 0]]) @ engine.ones(3, 1),
            RuntimeError,
            "found negative index -1 for dim 0",
        ),
        (
            lambda: engine.sparse_coo_tensor(),
            TypeError,
            "sparse_coo_tensor() received an invalid combination of arguments",
        ),
        (
            lambda: engine.sparse_csr_tensor(
                [0, 1, 4], [2, 0, 2], [1.0, 2.0, 3.0], (2, 3)
            ).to_dense(),
            RuntimeError,
            "`crow_indices[..., -1] == nnz` is not satisfied.",
        ),
        (
            lambda: engine.sparse_csr_tensor(
                [0, 5, 3], [2, 0, 2], [1.0, 2.0, 3.0], (2, 3)
            ).to_dense(),
            RuntimeError,
            "`0 <= crow_indices[..., 1:]",
        ),
        (
            lambda: (
                engine.sparse_csr_tensor([0, 1, 3], [2, 0, 3], [1.0, 2.0, 3.0], (2, 3))
                @ engine.ones(3, 1)
            ),
            RuntimeError,
            "`0 <= col_indices < ncols` is not satisfied.",
        ),
        (
            lambda: engine.sparse_csr_tensor([0, 1, 3], [2, 0], [1.0, 2.0, 3.0], (2, 3)),
            RuntimeError,
            "col_indices.shape[-1] must be equal to nnz (=3)",
        ),
        (
            lambda: doubled().values(),
            RuntimeError,
            "Cannot get values on an uncoalesced tensor, please call .coalesce() first",
        ),
        (
            lambda: csr().is_coalesced(),
            RuntimeError,
            "is_coalesced expected sparse coordinate tensor layout but got SparseCsr",
        ),
        (
            lambda: coo() + engine.ones(2, 3),
            RuntimeError,
            "add(sparse, dense) is not supported. Use add(dense, sparse) instead.",
        ),
        (
            lambda: coo() / coo(),
            RuntimeError,
            "Sparse division requires a scalar or zero-dim dense tensor divisor (got shape [2, 3]",
        ),
        (
            lambda: coo() @ engine.ones(4, 1),
            RuntimeError,
            "addmm: Argument #3 (dense): Expected dim 0 size 3, got 4",
        ),
        (
            lambda: coo() @ engine.ones(3, 1).double(),
            RuntimeError,
            "expected scalar type Float but found Double",
        ),
        (
            lambda: coo().exp(),
            NotImplementedError,
            "Could not run 'aten::exp' with arguments from the 'SparseCPU' backend",
        ),
        (
            lambda: coo().view(-1),
            NotImplementedError,
            "Could not run 'aten::view' with arguments from the 'SparseCPU' backend",
        ),
        (lambda: csr().t(), NotImplementedError, "transpose: not supported for layout SparseCsr"),
        (
            lambda: coo().data_ptr(),
            RuntimeError,
            "Cannot access data pointer of Tensor that doesn't have storage",
        ),
        (
            lambda: coo().untyped_storage(),
            NotImplementedError,
            "Cannot access storage of SparseTensorImpl",
        ),
        (
            lambda: coo().tolist(),
            RuntimeError,
            "Cannot access data pointer of Tensor that doesn't have storage",
        ),
        (
            lambda: coo().numpy(),
            TypeError,
            "can't convert Sparse layout tensor to numpy. Use Tensor.to_dense() first.",
        ),
        (
            lambda: csr().__dlpack__(),
            BufferError,
            "Can't export tensors with layout other than torch.strided",
        ),
        (
            lambda: engine.add(engine.ones(2, 3), 1, out=coo()),
            NotImplementedError,
            "Could not run 'aten::add.out'",
        ),
        (lambda: engine.jit.trace(lambda s: s * 2, (coo(),)), NotImplementedError, "sparse"),
    ],
)
def test_bad_input_is_refused_in_pytorchs_words(call: Any, error: type, message: str) -> None:
    with pytest.raises(error) as refused:
        call()
    assert message in str(refused.value)


def test_indices_are_looked_at_whenever_they_are_used() -> None:
    s = coo().coalesce()
    assert s.sum(0)._nnz() == 2
    s.indices()[0, 0] = 100
    with pytest.raises(RuntimeError, match="for dim 0, size is 2 but found index 100"):
        s.to_dense()


def test_masked_and_resized() -> None:
    mask = doubled()
    assert engine.arange(6.0).reshape(2, 3).sparse_mask(mask)._values().tolist() == [4, 2, 4]
    assert coo().sparse_mask(mask)._values().tolist() == [0, 3, 0]
    assert csr().crow_indices().tolist() == [0, 1, 3]
    assert csr().col_indices().tolist() == [2, 0, 2]
    assert engine.ops.aten.sparse_values(csr()).tolist() == [3, 4, 5]
    assert coo().sparse_resize_((3, 4), 2, 0).to_dense().shape == (3, 4)
    with pytest.raises(RuntimeError, match="shrinking the size of sparse dimensions"):
        coo().sparse_resize_((1, 3), 2, 0)
    assert coo().sparse_resize_and_clear_((4,), 1, 0).shape == (4,)
    assert coo().sparse_resize_((3, 3), 2, 0)._nnz() == 3


def test_copies_and_pickles() -> None:
    for s in (coo(), doubled(), csr(), coo(requires_grad=True)):
        for other in (copy.deepcopy(s), pickle.loads(pickle.dumps(s))):
            assert repr(other) == repr(s)


@pytest.mark.filterwarnings("ignore:Sparse")
def test_a_file_of_pytorchs_has_sparse_tensors() -> None:
    torch = pytest.importorskip("torch")
    for create in ("sparse_coo", "sparse_csr"):
        theirs = torch.tensor([[0.0, 3.0], [4.0, 0.0]]).to_sparse(layout=getattr(torch, create))
        file = io.BytesIO()
        torch.save({"adjacency": theirs}, file)
        file.seek(0)
        own = engine.load(file)["adjacency"]
        assert own.to_dense().tolist() == theirs.to_dense().tolist()
        back = io.BytesIO()
        back.name = "x.pt"
        from engine.saved_files.torch_writer import write_torch_file

        write_torch_file({"adjacency": own}, back, 2, True)
        back.seek(0)
        again = torch.load(back, weights_only=True)["adjacency"]
        assert again.layout == theirs.layout
        assert again.to_dense().tolist() == theirs.to_dense().tolist()
