"""New sparse tensors: of indices and values, or of rows."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import engine
from engine._generated import ops
from engine.arguments import type_word
from engine.creation import Device, as_tensor
from engine.dtypes import as_device, dtype, sparse_csr
from engine.sparse.invariants import check_sparse_tensor_invariants
from engine.tensor import Tensor

_FORMS = (
    "(object indices, object values, *, dtype, device, requires_grad, check_invariants, is_coalesced); "
    "(object indices, object values, tuple of ints size, *, ...); (tuple of ints size, *, ...)"
)


def _as_sizes(size: Any, function: str) -> tuple[int, ...]:
    """Convert the argument `size`. Raises: TypeError unless it is a sequence of ints."""
    if not isinstance(size, Sequence) or isinstance(size, str):
        raise _wrong(function, (size,))
    if not all(hasattr(n, "__index__") for n in size):
        raise _wrong(function, (size,))
    sizes = tuple(n.__index__() for n in size)
    if any(n < 0 for n in sizes) or math.prod(sizes) >= 2**63:
        raise RuntimeError("numel: integer multiplication overflow")
    return sizes


def _wrong(function: str, args: tuple[Any, ...]) -> TypeError:
    got = ", ".join(map(type_word, args))
    return TypeError(
        f"{function}() received an invalid combination of arguments - got ({got}), but expected one of: {_FORMS}"
    )


def _check_device(device: Device, function: str) -> None:
    if device is not None and as_device(device, function).type != "cpu":
        raise NotImplementedError(
            f"{function}: sparse tensors are on the CPU only, got device {str(device)!r}: "
            "create it there, or use a dense tensor"
        )


def _values(values: Any, kind: dtype | None, minimum: int) -> Tensor:
    """Convert the values; one number is one value."""
    if not isinstance(values, Tensor):
        values = engine.tensor(values, dtype=kind)
    elif kind is not None:
        values = values.to(kind)
    return (
        values.reshape(1) if values.layout is engine.strided and values.dim() < minimum else values
    )


def _finish(result: Tensor, requires_grad: bool, check_invariants: bool | None) -> Tensor:
    if check_invariants or (
        check_invariants is None and check_sparse_tensor_invariants.is_enabled()
    ):
        ops._validate_sparse(result.detach())
    if requires_grad and not (result.is_floating_point() or result.is_complex()):
        raise RuntimeError("Only Tensors of floating point and complex dtype can require gradients")
    return result.requires_grad_() if requires_grad and not result.requires_grad else result


def sparse_coo_tensor(
    *args: Any,
    size: Any = None,
    dtype: dtype | None = None,
    device: Device = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
    check_invariants: bool | None = None,
    is_coalesced: bool | None = None,
    **named: Any,
) -> Tensor:
    """Return a COO tensor: values, and the place of each.

    `sparse_coo_tensor(indices, values)`, `sparse_coo_tensor(indices, values, size)`, `sparse_coo_tensor(size)`
    Shape: indices are (sparse dimensions, nnz), values (nnz, and dense dimensions); without `size` the largest
    indices determine it. Values at the same place count as their sum.
    Memory: shares indices and values that are tensors of the right dtype.
    check_invariants: True looks at every index here; else the first operator that needs them does.
    Raises: RuntimeError for shapes that do not fit each other, TypeError for other arguments.

    >>> import engine
    >>> engine.sparse_coo_tensor([[0, 1], [2, 0]], [3.0, 4.0], (2, 3)).to_dense()
    tensor([[0., 0., 3.],
            [4., 0., 0.]])
    """
    function = "sparse_coo_tensor"
    if "indices" in named or "values" in named:
        args = (named.pop("indices", None) if not args else args[0], *args[1:])
        args = (*args, named.pop("values")) if "values" in named else args
    if named or len(args) > 3:
        raise _wrong(function, (*args, *named.values()))
    _check_device(device, function)
    if len(args) == 3 and size is None:
        size = args[2]
    elif len(args) == 1 and size is None:
        (size,), args = args, ()
    if len(args) < 2:
        if args or size is None:
            raise _wrong(function, args)
        sizes = _as_sizes(size, function)
        indices = engine.zeros((len(sizes), 0), dtype=engine.int64)
        values = engine.zeros((0,), dtype=dtype)
        return _finish(_coo(indices, values, sizes, True), requires_grad, check_invariants)
    indices = _indices(args[0], "indices")
    values = _values(args[1], dtype, 1)
    if indices.layout is engine.strided:
        indices = indices.to(engine.int64)
    sizes = _inferred(indices, values) if size is None else _as_sizes(size, function)
    result = _coo(indices, values, sizes, bool(is_coalesced))
    return _finish(result, requires_grad, check_invariants)


def _indices(data: Any, name: str) -> Tensor:
    if isinstance(data, Tensor):
        if data.layout is not engine.strided:
            raise RuntimeError(
                f"expected {name} to be a dense tensor, but got {name} of layout {_title(data)}"
            )
        return data.detach()
    return as_tensor(data, dtype=engine.int64)


def _title(tensor: Tensor) -> str:
    return {"sparse_coo": "Sparse", "sparse_csr": "SparseCsr"}.get(tensor.layout.name, "Strided")


def _coo(indices: Tensor, values: Tensor, sizes: tuple[int, ...], is_coalesced: bool) -> Tensor:
    sparse_dim = indices.size(0) if indices.dim() else 0
    if values.layout is not engine.strided:
        raise RuntimeError(
            f"expected values to be a dense tensor, but got values of layout {_title(values)}"
        )
    return ops._sparse_coo_tensor_with_dims_and_tensors(
        sparse_dim, max(values.dim() - 1, 0), sizes, indices, values, is_coalesced
    )


def _inferred(indices: Tensor, values: Tensor) -> tuple[int, ...]:
    """Return the smallest sizes that contain all indices."""
    if indices.dim() != 2:
        raise RuntimeError(f"indices must be sparse_dim x nnz, but got: {list(indices.shape)}")
    sizes = [0] * indices.size(0)
    if indices.size(1):
        lowest = indices.amin(1).tolist()
        for dim, index in enumerate(lowest):
            if index < 0:
                raise RuntimeError(f"found negative index {index} for dim {dim}")
        sizes = [index + 1 for index in indices.amax(1).tolist()]
    if math.prod(sizes) >= 2**63:
        raise RuntimeError("numel: integer multiplication overflow")
    return (*sizes, *values.shape[1:])


def sparse_csr_tensor(
    crow_indices: Any,
    col_indices: Any,
    values: Any,
    size: Any = None,
    *,
    dtype: dtype | None = None,
    layout: Any = None,
    device: Device = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
    check_invariants: bool | None = None,
) -> Tensor:
    """Return a CSR matrix: the values row by row, their columns, and where each row begins.

    Shape: crow_indices are (rows + 1,), col_indices and values (nnz,); without `size` the largest column
    determines it. Dtype: the indices are both int64 or both int32.
    Memory: shares arguments that are tensors of the right dtype.
    Raises: RuntimeError for shapes and dtypes that do not fit each other, NotImplementedError for batches and
    dense dimensions.

    >>> import engine
    >>> engine.sparse_csr_tensor([0, 1, 2], [2, 0], [3.0, 4.0], (2, 3)).to_dense()
    tensor([[0., 0., 3.],
            [4., 0., 0.]])
    """
    function = "sparse_csr_tensor"
    if layout not in (None, sparse_csr):
        raise RuntimeError(f"sparse_csr_tensor: expected layout torch.sparse_csr but got {layout}")
    _check_device(device, function)
    crow = _indices(crow_indices, "crow_indices")
    col = _indices(col_indices, "col_indices")
    data = _values(values, dtype, 0)
    if size is None:
        if crow.dim() != 1 or col.dim() != 1:
            raise NotImplementedError(
                "sparse_csr_tensor: only matrices are supported: crow_indices and col_indices must be "
                f"1-d, got shapes {tuple(crow.shape)} and {tuple(col.shape)}"
            )
        columns = int(col.max()) + 1 if col.numel() else 0
        sizes: tuple[int, ...] = (crow.size(0) - 1, max(columns, 0))
    else:
        sizes = _as_sizes(size, function)
    if math.prod(sizes) >= 2**63 or any(n < 0 for n in sizes):
        raise RuntimeError("numel: integer multiplication overflow")
    result = ops._sparse_csr_tensor(crow, col, data, sizes)
    return _finish(result, requires_grad, check_invariants)


def sparse_compressed_tensor(
    compressed_indices: Any,
    plain_indices: Any,
    values: Any,
    size: Any = None,
    *,
    layout: Any = None,
    **options: Any,
) -> Tensor:
    """Return a CSR matrix, as `sparse_csr_tensor` creates it; the other compressed layouts are not here."""
    if layout is None:
        raise RuntimeError(
            "sparse_compressed_tensor: expected sparse compressed tensor layout but got Strided"
        )
    if layout is not sparse_csr:
        raise refused(f"sparse_compressed_tensor with layout {layout}")
    return sparse_csr_tensor(compressed_indices, plain_indices, values, size, **options)


def refused(function: str) -> NotImplementedError:
    """Return the error of a layout that the engine does not have."""
    return NotImplementedError(
        f"{function}: the sparse layouts here are COO and CSR; use one of these"
    )


def sparse_csc_tensor(*args: Any, **options: Any) -> Tensor:
    """Raise NotImplementedError: the sparse layouts are COO and CSR."""
    raise refused("sparse_csc_tensor")


def sparse_bsr_tensor(*args: Any, **options: Any) -> Tensor:
    """Raise NotImplementedError: the sparse layouts are COO and CSR."""
    raise refused("sparse_bsr_tensor")


def sparse_bsc_tensor(*args: Any, **options: Any) -> Tensor:
    """Raise NotImplementedError: the sparse layouts are COO and CSR."""
    raise refused("sparse_bsc_tensor")


def rebuild_sparse(layout: Any, parts: Any, requires_grad: bool = False) -> Tensor:
    """Rebuild the tensor of a `Tensor.__reduce_ex__` or a `.pt` file, and look at its indices.

    Raises: RuntimeError for indices outside the sizes.
    """
    if layout is sparse_csr:
        crow, col, values, size = parts
        result = sparse_csr_tensor(crow, col, values, tuple(size), check_invariants=True)
    else:
        indices, values, size, *coalesced = parts
        result = sparse_coo_tensor(
            indices,
            values,
            tuple(size),
            check_invariants=True,
            is_coalesced=bool(coalesced and coalesced[0]),
        )
    return result.requires_grad_() if requires_grad else result


def parts_of(tensor: Tensor) -> tuple[Any, ...]:
    """Return what `rebuild_sparse` needs of a tensor, as PyTorch's files have it."""
    tensor = tensor.detach()
    if tensor.is_sparse_csr:
        return tensor.crow_indices(), tensor.col_indices(), tensor.values(), tensor.shape
    return tensor._indices(), tensor._values(), tensor.shape, tensor.is_coalesced()
