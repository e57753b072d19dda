"""Sparse tensors: products, sums and softmax of COO and CSR tensors.

`engine.sparse_coo_tensor` and `engine.sparse_csr_tensor` create them, `x.to_sparse()` and `x.to_sparse_csr()` convert,
`x.to_dense()` converts back. Their parts are tensors: `x.indices()` or `x.crow_indices()` and `x.col_indices()`, and
`x.values()`. An operator without a sparse kernel raises NotImplementedError.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import engine
from engine._generated import ops
from engine.arguments import check_tensor
from engine.dtypes import dtype, sparse_coo, sparse_csr
from engine.sparse.invariants import check_sparse_tensor_invariants
from engine.tensor import Tensor
from engine.typed_tensors import KINDS, tensor_type
from engine.unsupported import module_getattr

__all__ = [
    "addmm",
    "as_sparse_gradcheck",
    "check_sparse_tensor_invariants",
    "log_softmax",
    "mm",
    "sampled_addmm",
    "softmax",
    "spdiags",
    "sum",
]


def mm(mat1: Tensor, mat2: Tensor, reduce: str = "sum") -> Tensor:
    """Multiply a sparse matrix with a dense or a sparse one.

    Memory: with a dense one a new dense tensor, with a sparse one a new sparse tensor of the same layout. The
    gradient of a sparse operand is sparse, with its places.
    reduce: "sum"; of a CSR matrix also "mean", "amax" and "amin" of the products in each row, 0 for an empty row.
    Raises: RuntimeError for sizes or dtypes that differ.

    >>> import engine
    >>> engine.sparse.mm(engine.eye(2).to_sparse(), engine.tensor([[1.0, 2.0], [3.0, 4.0]]))
    tensor([[1., 2.],
            [3., 4.]])
    """
    check_tensor("mm", "mat1", mat1)
    check_tensor("mm", "mat2", mat2)
    if reduce == "sum":
        return _sum_product(mat1, mat2)
    if mat1.layout is not sparse_csr:
        raise NotImplementedError(
            f"sparse.mm: reduce={reduce!r} takes a CSR matrix, such as mat1.to_sparse_csr(), got layout {mat1.layout}"
        )
    return ops._sparse_mm_reduce_impl(mat1, mat2, reduce)[0]


def _sum_product(mat1: Tensor, mat2: Tensor) -> Tensor:
    is_sparse = [m.layout is not engine.strided for m in (mat1, mat2)]
    if all(is_sparse):
        return ops._sparse_sparse_matmul(mat1, mat2)
    if not any(is_sparse):
        return mat1 @ mat2
    if mat2.dim() != 2:
        raise IndexError(
            f"Dimension out of range (expected to be in range of [-{mat2.dim()}, {mat2.dim() - 1}], but got 1)"
        )
    if is_sparse[1]:
        return ops.mm(mat1, mat2)
    addend = engine.zeros((), dtype=mat2.dtype)
    return ops._sparse_addmm(addend, mat1, mat2, beta=0)


def addmm(
    mat: Tensor, mat1: Tensor, mat2: Tensor, *, beta: complex = 1.0, alpha: complex = 1.0
) -> Tensor:
    """Add a dense matrix to the product of a sparse and a dense one: beta mat + alpha (mat1 @ mat2).

    The gradient of `mat1` is sparse.
    """
    if all(m.layout is engine.strided for m in (mat1, mat2)):
        return engine.addmm(mat, mat1, mat2, beta=beta, alpha=alpha)
    return ops._sparse_addmm(mat, mat1, mat2, beta=beta, alpha=alpha)


def sampled_addmm(
    input: Tensor,
    mat1: Tensor,
    mat2: Tensor,
    *,
    beta: complex = 1.0,
    alpha: complex = 1.0,
    out: Tensor | None = None,
) -> Tensor:
    """Compute a product of dense matrices where a CSR matrix has values, and add it to them.

    Formula: out = beta input + alpha (mat1 @ mat2) at the places of `input`
    """
    result = ops.sparse_sampled_addmm(input, mat1, mat2, beta=beta, alpha=alpha)
    return result if out is None else out.copy_(result)


def sum(
    input: Tensor, dim: int | tuple[int, ...] | None = None, dtype: dtype | None = None
) -> Tensor:
    """Add up the values of a COO tensor: all, or along dimensions. The gradient is sparse.

    The result is dense where no sparse dimension is left.

    >>> import engine
    >>> engine.sparse.sum(engine.eye(2).to_sparse())
    tensor(2.)
    """
    values = input.coalesce().values() if dim is None or input.is_sparse else input
    if dim is None:
        return values.sum(dtype=dtype)
    if not input.is_sparse:
        raise NotImplementedError(
            f"Could not run 'aten::_indices' with a tensor of layout {input.layout}: sparse.sum takes COO "
            "tensors, such as x.to_sparse()"
        )
    coo, rank = input.coalesce(), input.dim()
    sparse_dims = input.sparse_dim()
    reduced: list[int] = []
    for each in (dim,) if isinstance(dim, int) else tuple(dim):
        if not -rank <= each < rank:
            raise IndexError(
                f"Dimension out of range (expected to be in range of [{-rank}, {rank - 1}], but got {each})"
            )
        if each % rank in reduced:
            raise RuntimeError(f"dim {each % rank} appears multiple times in the list of dims")
        reduced.append(each % rank)
    dense = [d - sparse_dims + 1 for d in reduced if d >= sparse_dims]
    kind = dtype or (
        values.dtype if values.dtype.is_floating_point or values.dtype.is_complex else engine.int64
    )
    values = values.sum(dense, dtype=kind) if dense else values.to(kind)
    left = [d for d in range(sparse_dims) if d not in reduced]
    if not left:
        return values.sum(0)
    sizes = [size for d, size in enumerate(input.shape) if d not in reduced]
    result = engine.sparse_coo_tensor(
        coo.indices()[left], values, sizes, is_coalesced=len(left) == sparse_dims
    )
    return result.coalesce()


def softmax(input: Tensor, dim: int, *, dtype: dtype | None = None) -> Tensor:
    """Compute the softmax of the values of a COO tensor along a dimension; what has no value counts as -inf.

    >>> import engine
    >>> x = engine.sparse_coo_tensor([[0, 0, 1], [0, 1, 1]], [1.0, 1.0, 5.0])
    >>> engine.sparse.softmax(x, dim=1).values()
    tensor([0.5000, 0.5000, 1.0000])
    """
    return ops._sparse_softmax(_expect_coo(input, "softmax", dtype), dim)


def log_softmax(input: Tensor, dim: int, *, dtype: dtype | None = None) -> Tensor:
    """Compute the logarithm of `softmax`."""
    return ops._sparse_log_softmax(_expect_coo(input, "log_softmax", dtype), dim)


def _expect_coo(input: Tensor, function: str, kind: dtype | None) -> Tensor:
    check_tensor(function, "input", input)
    if not input.is_sparse:
        raise NotImplementedError(
            f"Could not run 'aten::_sparse_{function}' with a tensor of layout {input.layout}: "
            "sparse." + function + " takes COO tensors, such as x.to_sparse()"
        )
    return input if kind is None else input.to(kind)


def spdiags(
    diagonals: Tensor, offsets: Tensor, shape: tuple[int, int], layout: Any = None
) -> Tensor:
    """Create a sparse matrix with these diagonals: row i of `diagonals` is diagonal offsets[i], aligned by columns.

    layout: sparse_coo (by default) or sparse_csr.
    """
    rows = diagonals.reshape(1, -1) if diagonals.dim() == 1 else diagonals
    offsets = offsets.reshape(-1)
    if rows.dim() != 2:
        raise RuntimeError("Diagonals must be vector or matrix")
    if len(shape) != 2:
        raise RuntimeError(f"Output shape must be 2d, got {tuple(shape)}")
    if offsets.dtype is not engine.int64:
        raise RuntimeError(f"Offset Tensor must have dtype Long but got {offsets.dtype}")
    if rows.size(0) != offsets.numel():
        raise RuntimeError(
            f"Number of diagonals ({rows.size(0)}) does not match the number of offsets ({offsets.numel()})"
        )
    if offsets.unique().numel() != offsets.numel():
        raise RuntimeError("Offset tensor contains duplicate values")
    if layout not in (None, sparse_coo, sparse_csr):
        raise RuntimeError(
            f"Only output layouts (Sparse, SparseCsc, SparseCsr) are supported, got {layout}"
        )
    indices, values = [], []
    for diagonal, offset in zip(rows, offsets.tolist(), strict=True):
        first = max(offset, 0)
        last = min(shape[1], shape[0] + offset, rows.size(1))
        columns = engine.arange(first, max(last, first))
        indices.append(engine.stack([columns - offset, columns]))
        values.append(diagonal[first : max(last, first)])
    matrix = engine.sparse_coo_tensor(engine.cat(indices, 1), engine.cat(values), tuple(shape))
    return matrix.to_sparse_csr() if layout is sparse_csr else matrix


def as_sparse_gradcheck(gradcheck: Callable[..., bool]) -> Callable[..., bool]:
    """Return a gradcheck that takes sparse inputs: each is rebuilt of its values, which are what is varied."""

    def with_sparse_inputs(func: Callable[..., Any], inputs: Any, **options: Any) -> bool:
        options.pop("masked", None)
        args = tuple(inputs) if isinstance(inputs, (list, tuple)) else (inputs,)

        def of_values(*values: Any) -> Any:
            rebuilt = [
                _with_values(like, value) if _is_sparse(like) else value
                for like, value in zip(args, values, strict=True)
            ]
            result = func(*rebuilt)
            return result.to_dense() if _is_sparse(result) else result

        varied = tuple(
            (x.detach().coalesce() if x.is_sparse else x.detach())
            .values()
            .clone()
            .requires_grad_(x.requires_grad)
            if _is_sparse(x)
            else x
            for x in args
        )
        return gradcheck(of_values, varied, **options)

    return with_sparse_inputs


def _is_sparse(value: Any) -> bool:
    return isinstance(value, Tensor) and value.layout is not engine.strided


def _with_values(like: Tensor, values: Tensor) -> Tensor:
    if like.is_sparse_csr:
        return engine.sparse_csr_tensor(like.crow_indices(), like.col_indices(), values, like.shape)
    indices = like.detach().coalesce().indices()
    return engine.sparse_coo_tensor(indices, values, like.shape, is_coalesced=True)


_ABSENT = (
    "SparseSemiStructuredTensor SparseSemiStructuredTensorCUSPARSELT SparseSemiStructuredTensorCUTLASS "
    "spsolve to_sparse_semi_structured"
)
_refuse = module_getattr(
    "sparse", _ABSENT, "the sparse layouts here are COO and CSR, without solvers", globals()
)


def __getattr__(name: str) -> Any:
    if name in KINDS:  # torch.sparse.FloatTensor(indices, values, size)
        return tensor_type(name, layout="sparse_coo")
    return _refuse(name)
