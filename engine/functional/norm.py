"""`norm`, which selects a linalg operator in Python."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from engine._generated import ops
from engine.overloads import Number, both
from engine.tensor import Tensor


@both
def norm(
    input: Tensor,
    p: Number | str | None = "fro",
    dim: int | Sequence[int] | None = None,
    keepdim: bool = False,
    out: Tensor | None = None,
    dtype: Any = None,
) -> Tensor:
    """Compute the p-norm of all elements or along `dim`: `linalg.vector_norm`, for "nuc" `linalg.matrix_norm`.

    Formula: (sum_i |x_i|^p)^(1/p); "fro" is 2
    Shape: the dimensions in `dim` are removed, or become 1 with `keepdim`.
    Dtype: floating or complex.
    Memory: a new tensor.
    Raises: RuntimeError for integers.

    >>> import engine
    >>> engine.norm(engine.tensor([3., 4.]))
    tensor(5.)
    """
    dims = [dim] if isinstance(dim, int) else dim
    if isinstance(p, str) and not (p == "fro" and (dims is None or len(dims) <= 2)):
        dims = list(range(input.dim())) if dims is None else dims
        if out is None:
            return ops.linalg_matrix_norm_str_ord(input, p, dims, keepdim, dtype=dtype)
        return ops.linalg_matrix_norm_str_ord_out(input, p, dims, keepdim, dtype=dtype, out=out)
    order = 2 if p is None or isinstance(p, str) else p
    if out is None:
        return ops.linalg_vector_norm(input, order, dims, keepdim, dtype=dtype)
    return ops.linalg_vector_norm_out(input, order, dims, keepdim, dtype=dtype, out=out)
