"""Products whose arguments are converted first: `einsum`, `tensordot`, `chain_matmul`, `cdist`.

Adds to the tables of overloads.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from engine._generated import ops
from engine.arguments import check_tensor
from engine.overloads import function
from engine.tensor import Tensor

_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"


def _subscripts(sublist: Any) -> str:
    """Convert a list of numbers (and `...`) to the letters of an equation."""
    letters = []
    for label in sublist:
        if label is Ellipsis:
            letters.append("...")
        elif isinstance(label, int) and 0 <= label < len(_LETTERS):
            letters.append(_LETTERS[label])
        else:
            raise ValueError(
                f"einsum: subscripts in lists must be ints in [0, {len(_LETTERS)}) or ..., got {label!r}"
            )
    return "".join(letters)


@function
def einsum(*args: Any) -> Tensor:
    """Multiply tensors and sum over dimensions that are named by letters.

    `einsum("ij,jk->ik", a, b)`, or with lists of numbers `einsum(a, [0, 1], b, [1, 2], [0, 2])`.
    "..." is any number of dimensions, which broadcast; a letter that the output lacks is summed;
    a letter that occurs twice in an operand takes its diagonal; without "->" the output has the letters
    that occur once, in alphabetical order.

    Formula: "ij,jk->ik": out[i, k] = sum_j a[i, j] b[j, k]
    Memory: a new tensor, or a view where nothing has to be computed.
    Raises: ValueError for too few arguments, RuntimeError for an equation that does not fit.

    >>> import engine
    >>> engine.einsum("ij,j->i", engine.tensor([[1, 2], [3, 4]]), engine.tensor([1, 10]))
    tensor([21, 43])
    """
    if len(args) < 2:
        raise ValueError(
            "einsum: needs the equation and at least one operand, or one operand and its subscripts, "
            f"got {len(args)} argument{'s' * (len(args) != 1)}"
        )
    if isinstance(args[0], Tensor):
        equation = ",".join(_subscripts(sublist) for sublist in args[1::2])
        if len(args) % 2:
            equation += "->" + _subscripts(args[-1])
            operands = args[:-1:2]
            equation = equation if len(args) > 1 else ""
        else:
            operands = args[::2]
    else:
        equation, operands = args[0], args[1:]
    if len(operands) == 1 and isinstance(operands[0], (list, tuple)):
        operands = tuple(operands[0])
    return ops.einsum(equation, operands)


Dimensions = int | Tensor | Sequence[Sequence[int]] | Sequence[int]


@function
def tensordot(a: Tensor, b: Tensor, dims: Dimensions = 2, out: Tensor | None = None) -> Tensor:
    """Sum products over the last `dims` dimensions of `a` and the first ones of `b`, or over two lists.

    Shape: the remaining dimensions of `a`, then those of `b`.
    Memory: a new tensor; both are permuted and multiplied as matrices.
    Raises: RuntimeError when the sizes of the summed dimensions differ.

    >>> import engine
    >>> engine.tensordot(engine.ones(2, 3), engine.ones(3, 2), dims=1)
    tensor([[3., 3.],
            [3., 3.]])
    """
    check_tensor("tensordot", "a", a)
    check_tensor("tensordot", "b", b)
    if isinstance(dims, Tensor):
        dims = dims.tolist() if dims.numel() > 1 else int(dims.item())
    if isinstance(dims, (list, tuple)):
        if len(dims) != 2:
            raise ValueError(f"tensordot: dims must be an int or two lists of ints, got {dims!r}")
        left, right = ([entry] if isinstance(entry, int) else list(entry) for entry in dims)
    elif isinstance(dims, int):
        if dims < 0:
            raise RuntimeError(f"tensordot: expects dims >= 0, but got dims={dims}")
        if dims > min(a.dim(), b.dim()):
            raise RuntimeError(
                f"tensordot: expects dims < ndim_a or ndim_b, but got dims={dims} for {a.dim()} and {b.dim()}"
            )
        left, right = list(range(-dims, 0)), list(range(dims))
    else:
        raise RuntimeError(f"tensordot: expects dims to be int or two lists of ints, got {dims!r}")
    if out is None:
        return ops.tensordot(a, b, left, right)
    return ops.tensordot_out(a, b, left, right, out=out)


@function
def chain_matmul(*matrices: Tensor, out: Tensor | None = None) -> Tensor:
    """Multiply matrices in the cheapest order: `linalg.multi_dot` under its older name.

    >>> import engine
    >>> engine.chain_matmul(engine.ones(1, 2), engine.ones(2, 3), engine.ones(3, 1))
    tensor([[6.]])
    """
    for matrix in matrices:
        check_tensor("chain_matmul", "matrices", matrix)
    if out is not None:
        check_tensor("chain_matmul", "out", out)
    for matrix in matrices:
        if matrix.dim() != 2:
            raise RuntimeError(f"chain_matmul: expected matrices, got a {matrix.dim()}-D tensor")
    if len(matrices) == 1:
        return matrices[0].clone() if out is None else out.copy_(matrices[0])
    chain = list(matrices)
    return ops.linalg_multi_dot(chain) if out is None else ops.linalg_multi_dot_out(chain, out=out)


_MODES = {
    "use_mm_for_euclid_dist_if_necessary": 0,
    "use_mm_for_euclid_dist": 1,
    "donot_use_mm_for_euclid_dist": 2,
}


@function
def cdist(
    x1: Tensor,
    x2: Tensor,
    p: float = 2.0,
    compute_mode: str = "use_mm_for_euclid_dist_if_necessary",
) -> Tensor:
    """Compute the distance between every vector of one set and every vector of another.

    Formula: out[..., i, j] = (sum_k |x1[..., i, k] - x2[..., j, k]|^p)^(1/p)
    Shape: (*, n, k) and (*, m, k) give (*, n, m); batches broadcast.
    Memory: a new tensor. Differences are computed exactly in every `compute_mode`.
    Raises: ValueError for an unknown mode, RuntimeError for a negative p or sizes that do not fit.

    >>> import engine
    >>> engine.cdist(engine.zeros(1, 2), engine.tensor([[3.0, 4.0]]))
    tensor([[5.]])
    """
    if compute_mode not in _MODES:
        raise ValueError(f"cdist: {compute_mode!r} is not a mode; there are {', '.join(_MODES)}")
    return ops.cdist(x1, x2, p, _MODES[compute_mode])
