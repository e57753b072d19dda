"""The methods of Tensor that concern its layout."""

from __future__ import annotations

from typing import Any, NoReturn

import engine
from engine._generated import ops
from engine._native import lib
from engine.arguments import INTEGER, accepts, check_tensor, type_word
from engine.dtypes import dtype, sparse_coo, sparse_csr, strided
from engine.sparse.construct import refused
from engine.tensor import Tensor


def _title(self: Tensor) -> str:
    return ("Strided", "Sparse", "SparseCsr")[lib.uh_layout_kind(self._h)]


def _expect_coo(self: object, function: str) -> None:
    if not isinstance(self, Tensor):
        raise TypeError(f"{function}(): argument must be Tensor, not {type(self).__name__}")
    if not self.is_sparse:
        raise RuntimeError(
            f"{function} expected sparse coordinate tensor layout but got {_title(self)}"
        )


def _nnz(self: Tensor) -> int:
    """Return how many values a sparse tensor stores."""
    if self.layout is strided:
        raise NotImplementedError(
            "Could not run 'aten::_nnz' with arguments from the 'CPU' backend: the tensor is not sparse; "
            "count with x.count_nonzero()"
        )
    return int(lib.uh_nnz(self._h))


def sparse_dim(self: Tensor) -> int:
    """Return the number of sparse dimensions: 0 for a strided tensor."""
    return int(lib.uh_sparse_dim(self._h))


def dense_dim(self: Tensor) -> int:
    """Return the number of dense dimensions: all of a strided tensor."""
    return self.dim() - sparse_dim(self)


def is_coalesced(self: Tensor) -> bool:
    """Return True if the places of a COO tensor are in order and none occurs twice."""
    _expect_coo(self, "is_coalesced")
    return bool(lib.uh_is_coalesced(self._h))


def coalesce(self: Tensor) -> Tensor:
    """Return a COO tensor with its places in order, and values at the same place added up; itself if it is one.

    >>> import engine
    >>> engine.sparse_coo_tensor([[1, 1, 0]], [1.0, 2.0, 3.0]).coalesce().values()
    tensor([3., 3.])
    """
    _expect_coo(self, "coalesce")
    return self if lib.uh_is_coalesced(self._h) else ops._coalesce(self)


def values(self: Tensor) -> Tensor:
    """Return the values of a CSR tensor, or of a coalesced COO tensor. Memory: shared with the tensor."""
    return ops.sparse_values(self)


def to_dense(
    self: Tensor, dtype: dtype | None = None, *, masked_grad: bool | None = None
) -> Tensor:
    """Return a strided tensor with all elements; a strided tensor is returned itself.

    The gradient has the places of the sparse tensor alone, unless `masked_grad` is False.

    >>> import engine
    >>> engine.eye(2).to_sparse().to_dense()
    tensor([[1., 0.],
            [0., 1.]])
    """
    if self.layout is strided:
        return self if dtype is None else self.to(dtype)
    if dtype is not None:
        raise RuntimeError("dtype argument is not supported by sparse_to_dense")
    return ops._to_dense(self, masked_grad is not False)


def to_sparse(
    self: Tensor,
    sparse_dim: int | None = None,
    *,
    layout: Any = None,
    blocksize: Any = None,
    dense_dim: int | None = None,
) -> Tensor:
    """Return a sparse tensor with the elements that are not zero.

    `x.to_sparse(1)`: only the first dimension is sparse. layout: sparse_coo, sparse_csr or strided.

    >>> import engine
    >>> engine.tensor([0.0, 5.0]).to_sparse().indices()
    tensor([[1]])
    """
    for name, number in (("sparse_dim", sparse_dim), ("dense_dim", dense_dim)):
        if number is not None and not isinstance(number, int):
            raise TypeError(
                f"to_sparse(): argument '{name}' must be int, not {type(number).__name__}"
            )
    if blocksize is not None or layout not in (None, strided, sparse_coo, sparse_csr):
        raise refused(f"to_sparse with layout {layout}")
    if dense_dim is not None and sparse_dim is None:
        sparse_dim = self.dim() - dense_dim
    if layout is strided:
        return to_dense(self)
    if layout is sparse_csr:
        return to_sparse_csr(self)
    if self.is_sparse and sparse_dim in (None, lib.uh_sparse_dim(self._h)):
        return self
    usual = 2 if self.is_sparse_csr else self.dim()
    return ops._to_sparse(self, usual if sparse_dim is None else sparse_dim)


def to_sparse_coo(self: Tensor) -> Tensor:
    """Return a COO tensor with the elements that are not zero."""
    return to_sparse(self)


def to_sparse_csr(self: Tensor, dense_dim: int | None = None) -> Tensor:
    """Return a CSR matrix with the elements that are not zero.

    Raises: NotImplementedError for a tensor that is not a matrix.
    """
    if dense_dim is not None and not accepts(INTEGER, dense_dim):
        raise TypeError(
            f"to_sparse_csr: argument 'dense_dim' must be int, got {type_word(dense_dim)}"
        )
    if dense_dim is not None and not 0 <= dense_dim <= self.dim() - 2:
        raise RuntimeError(
            f"to_sparse_csr: dense_dim must be in [0, {self.dim() - 2}], but {dense_dim} is given"
        )
    if dense_dim:
        raise NotImplementedError(
            "to_sparse_csr: dense dimensions are not supported, use to_sparse"
        )
    return self if self.is_sparse_csr else ops._to_sparse_csr(self)


def to_sparse_csc(self: Tensor, *args: Any, **options: Any) -> NoReturn:
    """Raise NotImplementedError: the sparse layouts are COO and CSR."""
    raise refused("to_sparse_csc")


def to_sparse_bsr(self: Tensor, *args: Any, **options: Any) -> NoReturn:
    """Raise NotImplementedError: the sparse layouts are COO and CSR."""
    raise refused("to_sparse_bsr")


def to_sparse_bsc(self: Tensor, *args: Any, **options: Any) -> NoReturn:
    """Raise NotImplementedError: the sparse layouts are COO and CSR."""
    raise refused("to_sparse_bsc")


def resize_as_sparse_(self: Tensor, the_template: Tensor) -> Tensor:
    """Change the sizes and dimensions of a COO tensor to those of another."""
    if isinstance(the_template, Tensor) and the_template.layout is strided:
        raise NotImplementedError(
            "Could not run 'aten::resize_as_sparse_' with arguments from the 'CPU' backend: the template is not sparse"
        )
    _expect_coo(the_template, "resize_as_sparse_")
    return self.sparse_resize_(
        the_template.shape, sparse_dim(the_template), dense_dim(the_template)
    )


def smm(self: Tensor, mat2: Tensor) -> Tensor:
    """Multiply a sparse matrix and a dense one; the result is sparse. See `sparse.mm` for a dense one."""
    check_tensor("smm", "input", self)
    if not self.is_sparse:
        raise RuntimeError("smm: can only be called on sparse tensors, got a strided one")
    return engine.sparse.mm(self, mat2).to_sparse()


def spmm(input: Tensor, mat2: Tensor) -> Tensor:
    """Multiply a sparse matrix and a dense one, as `mm` does."""
    return ops.mm(input, mat2)
