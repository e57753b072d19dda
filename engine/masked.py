"""Reductions and normalisations that leave out masked elements, under PyTorch's names: `masked.sum`, `softmax`...

`mask` is a tensor that broadcasts to the input and is True where an element takes part; None is True everywhere.
An element that is left out is replaced by the operator's identity, so a slice without any True results in it:
0 for `sum`, -inf for `amax`, NaN for `mean`, `var` and `softmax`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

from engine._generated import ops
from engine.dtypes import dtype as Dtype
from engine.dtypes import float32, iinfo, int64
from engine.tensor import Tensor

__all__ = [
    "amax",
    "amin",
    "argmax",
    "argmin",
    "cumprod",
    "cumsum",
    "log_softmax",
    "logaddexp",
    "logsumexp",
    "mean",
    "median",
    "norm",
    "normalize",
    "prod",
    "softmax",
    "softmin",
    "std",
    "sum",
    "var",
]

Dims: TypeAlias = int | Sequence[int] | None


def _dims(dim: Dims, rank: int) -> tuple[int, ...]:
    """Return the dimensions in ascending order; all of them for None and (). Raises: IndexError, RuntimeError."""
    if dim is None or dim == ():
        return tuple(range(rank))
    rank = max(rank, 1)
    dims: list[int] = []
    for entry in (dim,) if isinstance(dim, int) else dim:
        if entry in dims:
            raise RuntimeError(f"dim={entry} appears multiple times in the list of dims")
        if not -rank <= entry < rank:
            raise IndexError(
                f"Dimension out of range (expected to be in range of [{-rank}, {rank - 1}], "
                f"but got {entry})"
            )
        dims.append(entry)
    return tuple(sorted(entry % rank for entry in dims))


def _input_mask(input: Tensor, *, mask: Tensor) -> Tensor:
    """Expand the mask to the input's shape, as bool. Raises: IndexError when it has more dimensions."""
    if mask.dim() > input.dim():
        raise IndexError(
            "_input_mask expected broadcastable mask (got mask dimensionality higher than of the input)"
        )
    return ops.ne(ops.expand(mask, input.shape), 0)


def _highest(input: Tensor, name: str) -> Any:
    """Return the dtype's maximum. Raises: NotImplementedError for bool and complex."""
    if input.is_floating_point():
        return float("inf")
    if input.is_complex() or input.dtype.name == "bool":
        raise NotImplementedError(f"identity of {name} on {input.dtype} input")
    return iinfo(input.dtype).max


def _lowest(input: Tensor, name: str) -> Any:
    """Return the dtype's minimum. Raises: NotImplementedError for bool and complex."""
    highest = _highest(input, name)
    return -highest if input.is_floating_point() else iinfo(input.dtype).min


def _replaced(input: Tensor, mask: Tensor | None, identity: Any) -> Tensor:
    """Replace the elements where the mask is False by `identity`."""
    if mask is None:
        return input
    fill = ops.full((), identity, dtype=input.dtype, device=input.device)
    return ops.where(_input_mask(input, mask=mask), input, fill)


def _summed_dtype(input: Tensor, dtype: Dtype | None) -> Dtype:
    """Return the dtype of a sum: the requested one, else int64 for integers, else the input's."""
    if dtype is not None:
        return dtype
    integral = not (input.is_floating_point() or input.is_complex())
    return int64 if integral else input.dtype


# ---- reductions


def sum(
    input: Tensor,
    dim: Dims = None,
    *,
    keepdim: bool | None = False,
    dtype: Dtype | None = None,
    mask: Tensor | None = None,
) -> Tensor:
    """Return the sum of the elements that are not masked out; 0 of none.

    >>> import engine
    >>> x, mask = engine.tensor([[1, 2], [3, 4]]), engine.tensor([[True, False], [True, True]])
    >>> engine.masked.sum(x, 1, mask=mask)
    tensor([1, 7])
    """
    dims = _dims(dim, input.dim())
    dtype = _summed_dtype(input, dtype)
    return ops.sum(_replaced(input, mask, 0), dims, bool(keepdim), dtype=dtype)


def prod(
    input: Tensor,
    dim: Dims = None,
    *,
    keepdim: bool | None = False,
    dtype: Dtype | None = None,
    mask: Tensor | None = None,
) -> Tensor:
    """Return the product of the elements that are not masked out; 1 of none.

    >>> import engine
    >>> engine.masked.prod(engine.tensor([2, 3, 5]), mask=engine.tensor([True, False, True]))
    tensor(10)
    """
    dims = _dims(dim, input.dim())
    result = _replaced(input, mask, 1).to(_summed_dtype(input, dtype))
    for axis in reversed(dims):
        result = ops.prod(result, axis, bool(keepdim))
    return result


def amax(
    input: Tensor,
    dim: Dims = None,
    *,
    keepdim: bool | None = False,
    dtype: Dtype | None = None,
    mask: Tensor | None = None,
) -> Tensor:
    """Return the greatest of the elements that are not masked out; -inf, or the least integer, of none.

    >>> import engine
    >>> engine.masked.amax(engine.tensor([2, 9]), mask=engine.tensor([True, False]))
    tensor(2)
    """
    replaced = input if mask is None else _replaced(input, mask, _lowest(input, "amax"))
    result = ops.amax(replaced, _dims(dim, input.dim()), bool(keepdim))
    return result.to(input.dtype if dtype is None else dtype)


def amin(
    input: Tensor,
    dim: Dims = None,
    *,
    keepdim: bool | None = False,
    dtype: Dtype | None = None,
    mask: Tensor | None = None,
) -> Tensor:
    """Return the least of the elements that are not masked out; inf, or the greatest integer, of none.

    >>> import engine
    >>> engine.masked.amin(engine.tensor([2, 1]), mask=engine.tensor([True, False]))
    tensor(2)
    """
    replaced = input if mask is None else _replaced(input, mask, _highest(input, "amin"))
    result = ops.amin(replaced, _dims(dim, input.dim()), bool(keepdim))
    return result.to(input.dtype if dtype is None else dtype)


def argmax(
    input: Tensor,
    dim: int | None = None,
    *,
    keepdim: bool | None = False,
    dtype: Dtype | None = None,
    mask: Tensor | None = None,
) -> Tensor:
    """Return the index of `amax`; as in PyTorch, its dtype is the input's unless `dtype` is passed.

    >>> import engine
    >>> x, mask = engine.tensor([2, 9]), engine.tensor([True, False])
    >>> engine.masked.argmax(x, mask=mask)
    tensor(0)
    """
    replaced = input if mask is None else _replaced(input, mask, _lowest(input, "argmax"))
    return ops.argmax(replaced, dim, bool(keepdim)).to(input.dtype if dtype is None else dtype)


def argmin(
    input: Tensor,
    dim: int | None = None,
    *,
    keepdim: bool | None = False,
    dtype: Dtype | None = None,
    mask: Tensor | None = None,
) -> Tensor:
    """Return the index of `amin`; as in PyTorch, its dtype is the input's unless `dtype` is passed.

    >>> import engine
    >>> x, mask = engine.tensor([2, 1]), engine.tensor([True, False])
    >>> engine.masked.argmin(x, mask=mask)
    tensor(0)
    """
    replaced = input if mask is None else _replaced(input, mask, _highest(input, "argmin"))
    return ops.argmin(replaced, dim, bool(keepdim)).to(input.dtype if dtype is None else dtype)


def _count(input: Tensor, dim: Dims, keepdim: bool, mask: Tensor | None) -> Tensor:
    """Count the elements that take part."""
    if mask is None:
        mask = ops.ones((), dtype=int64, device=input.device)
    return ops.sum(_input_mask(input, mask=mask), _dims(dim, input.dim()), keepdim)


def mean(
    input: Tensor,
    dim: Dims = None,
    *,
    keepdim: bool | None = False,
    dtype: Dtype | None = None,
    mask: Tensor | None = None,
) -> Tensor:
    """Return the mean of the elements that are not masked out; NaN of none.

    Raises: ValueError unless the dtype of the result is floating or complex.

    >>> import engine
    >>> engine.masked.mean(engine.tensor([1., 2., 9.]), mask=engine.tensor([True, True, False]))
    tensor(1.5000)
    """
    source = "Input" if dtype is None else "Optional"
    dtype = input.dtype if dtype is None else dtype
    if not (dtype.is_floating_point or dtype.is_complex):
        raise ValueError(
            f"mean(): Could not infer output dtype. {source} dtype must be either a floating point "
            f"or complex dtype. Got: {dtype}"
        )
    total = sum(input, dim, keepdim=keepdim, dtype=dtype, mask=mask)
    return total / _count(input, dim, bool(keepdim), mask)


def median(
    input: Tensor,
    dim: int = -1,
    *,
    keepdim: bool = False,
    dtype: Dtype | None = None,
    mask: Tensor | None = None,
) -> Tensor:
    """Return the median of the elements that are not masked out (the lower of two); NaN of none.

    Raises: ValueError for integers where every element of a slice is masked out.

    >>> import engine
    >>> engine.masked.median(engine.tensor([1., 2., 9.]), mask=engine.tensor([False, True, True]))
    tensor(2.)
    """
    axis = _dims(dim, input.dim())[0]
    floats = input if input.is_floating_point() else input.to(float32)
    result = ops.nanmedian_dim(_replaced(floats, mask, float("nan")), axis, keepdim)[0]
    if input.is_floating_point():
        return result
    if ops.any(ops.isnan(result)).item():
        raise ValueError(
            "masked median expects no fully masked out rows if dtype is not floating point"
        )
    return result.to(input.dtype if dtype is None else dtype)


def norm(
    input: Tensor,
    ord: float | None = 2.0,
    dim: Dims = None,
    *,
    keepdim: bool | None = False,
    dtype: Dtype | None = None,
    mask: Tensor | None = None,
) -> Tensor:
    """Return the vector norm of the elements that are not masked out; see `linalg.vector_norm`.

    >>> import engine
    >>> engine.masked.norm(engine.tensor([3., 4., 9.]), mask=engine.tensor([True, True, False]))
    tensor(5.)
    """
    dtype = input.dtype if dtype is None else dtype
    ord = 2.0 if ord is None else ord
    identity = _highest(input, "norm") if ord == float("-inf") and mask is not None else 0
    replaced = _replaced(input, mask, identity)
    return ops.linalg_vector_norm(
        replaced, ord, _dims(dim, input.dim()), bool(keepdim), dtype=dtype
    )


def logsumexp(
    input: Tensor,
    dim: Dims = None,
    *,
    keepdim: bool = False,
    dtype: Dtype | None = None,
    mask: Tensor | None = None,
) -> Tensor:
    """Return the logarithm of the sum of exponentials of the elements that are not masked out.

    >>> import engine
    >>> engine.masked.logsumexp(engine.tensor([0., 0., 9.]), mask=engine.tensor([True, True, False]))
    tensor(0.6931)
    """
    if mask is not None:
        lowest = float("-inf") if input.is_complex() else _lowest(input, "logsumexp")
        input = _replaced(input, mask, lowest)
    result = ops.logsumexp(input, _dims(dim, input.dim()), keepdim=keepdim)
    return result.to(input.dtype if dtype is None else dtype)


def _spread(
    input: Tensor,
    dim: Dims,
    unbiased: bool | None,
    correction: float | None,
    keepdim: bool | None,
    dtype: Dtype | None,
    mask: Tensor | None,
) -> Tensor:
    """Compute the variance."""
    if unbiased is not None and correction is not None:
        raise AssertionError("Only one of unbiased and correction may be given")
    if correction is None:
        correction = 1.0 if unbiased is None or unbiased else 0.0
    if dtype is None:
        floating = input.is_floating_point() or input.is_complex()
        dtype = input.dtype if floating else float32
    summing = dtype if dtype.is_floating_point or dtype.is_complex else float32
    count = _count(input, dim, True, mask)
    centre = ops.div(sum(input, dim, keepdim=True, dtype=dtype, mask=mask), count)
    away = ops.sub(input, centre)
    total = sum(away * ops.conj(away), dim, keepdim=keepdim, dtype=summing, mask=mask)
    if not keepdim:
        count = ops.reshape(count, tuple(total.shape))
    if correction != 0:
        count = ops.clamp_min(ops.sub(count.to(summing.to_real()), float(correction)), 0)
    return ops.div(total, count).to(dtype)


def var(
    input: Tensor,
    dim: Dims = None,
    unbiased: bool | None = None,
    *,
    correction: float | None = None,
    keepdim: bool | None = False,
    dtype: Dtype | None = None,
    mask: Tensor | None = None,
) -> Tensor:
    """Return the variance of the elements that are not masked out.

    Formula: sum(abs(x - mean) ** 2) / max(0, count - correction); the correction is 1, or 0 with `unbiased=False`.
    Raises: AssertionError for both `unbiased` and `correction`.

    >>> import engine
    >>> engine.masked.var(engine.tensor([1., 3., 9.]), mask=engine.tensor([True, True, False]))
    tensor(2.)
    """
    return _spread(input, dim, unbiased, correction, keepdim, dtype, mask)


def std(
    input: Tensor,
    dim: Dims = None,
    unbiased: bool | None = None,
    *,
    correction: float | None = None,
    keepdim: bool | None = False,
    dtype: Dtype | None = None,
    mask: Tensor | None = None,
) -> Tensor:
    """Return the square root of `var`.

    >>> import engine
    >>> engine.masked.std(engine.tensor([1., 3., 9.]), mask=engine.tensor([True, True, False]))
    tensor(1.4142)
    """
    return ops.sqrt(_spread(input, dim, unbiased, correction, keepdim, dtype, mask))


# ---- along a dimension


def cumsum(
    input: Tensor, dim: int, *, dtype: Dtype | None = None, mask: Tensor | None = None
) -> Tensor:
    """Return running sums along `dim`, to which masked elements add 0.

    >>> import engine
    >>> engine.masked.cumsum(engine.tensor([1, 2, 3]), 0, mask=engine.tensor([True, False, True]))
    tensor([1, 1, 4])
    """
    dtype = input.dtype if dtype is None else dtype
    return ops.cumsum(_replaced(input, mask, 0), _dims(dim, input.dim())[0], dtype=dtype)


def cumprod(
    input: Tensor, dim: int, *, dtype: Dtype | None = None, mask: Tensor | None = None
) -> Tensor:
    """Return running products along `dim`, which masked elements multiply by 1.

    >>> import engine
    >>> engine.masked.cumprod(engine.tensor([2, 3, 5]), 0, mask=engine.tensor([True, False, True]))
    tensor([ 2,  2, 10])
    """
    dtype = input.dtype if dtype is None else dtype
    return ops.cumprod(_replaced(input, mask, 1), _dims(dim, input.dim())[0], dtype=dtype)


def softmax(
    input: Tensor, dim: int, *, dtype: Dtype | None = None, mask: Tensor | None = None
) -> Tensor:
    """Return `softmax` along `dim` with 0 for masked elements; NaN where all are masked out.

    >>> import engine
    >>> engine.masked.softmax(engine.zeros(3), 0, mask=engine.tensor([True, True, False]))
    tensor([0.5000, 0.5000, 0.0000])
    """
    replaced = input if mask is None else _replaced(input, mask, _lowest(input, "amax"))
    return ops.softmax(
        replaced, _dims(dim, input.dim())[0], input.dtype if dtype is None else dtype
    )


def log_softmax(
    input: Tensor, dim: int, *, dtype: Dtype | None = None, mask: Tensor | None = None
) -> Tensor:
    """Return the logarithm of `softmax`: -inf for masked elements.

    >>> import engine
    >>> engine.masked.log_softmax(engine.zeros(3), 0, mask=engine.tensor([True, True, False]))
    tensor([-0.6931, -0.6931,    -inf])
    """
    replaced = input if mask is None else _replaced(input, mask, _lowest(input, "amax"))
    return ops.log_softmax(
        replaced, _dims(dim, input.dim())[0], input.dtype if dtype is None else dtype
    )


def softmin(
    input: Tensor, dim: int, *, dtype: Dtype | None = None, mask: Tensor | None = None
) -> Tensor:
    """Return `softmax` of the negated input.

    >>> import engine
    >>> engine.masked.softmin(engine.zeros(3), 0, mask=engine.tensor([True, True, False]))
    tensor([0.5000, 0.5000, 0.0000])
    """
    replaced = input if mask is None else _replaced(input, mask, _highest(input, "amin"))
    dtype = input.dtype if dtype is None else dtype
    return ops.softmax(ops.neg(replaced), _dims(dim, input.dim())[0], dtype)


def normalize(
    input: Tensor,
    ord: float,
    dim: int,
    *,
    eps: float = 1e-12,
    dtype: Dtype | None = None,
    mask: Tensor | None = None,
) -> Tensor:
    """Return the input divided by max(`norm` along `dim`, `eps`); 0 for masked elements.

    >>> import engine
    >>> engine.masked.normalize(engine.tensor([3., 4., 9.]), 2, 0, mask=engine.tensor([True, True, False]))
    tensor([0.6000, 0.8000, 0.0000])
    """
    size = norm(input, ord, dim, keepdim=True, dtype=dtype, mask=mask)
    floor = ops.full((), eps, dtype=size.dtype, device=size.device)
    return ops.div(_replaced(input, mask, 0), ops.maximum(size, floor))


# ---- of two tensors


def logaddexp(
    input: Tensor,
    other: Tensor,
    *,
    dtype: Dtype | None = None,
    input_mask: Tensor | None = None,
    other_mask: Tensor | None = None,
) -> Tensor:
    """Return `logaddexp` that treats each input's masked elements as -inf, so that they add nothing.

    >>> import engine
    >>> x = engine.zeros(2)
    >>> engine.masked.logaddexp(x, x, other_mask=engine.tensor([True, False]))
    tensor([0.6931, 0.0000])
    """
    if input_mask is not None:
        input = _replaced(input, input_mask, _lowest(input, "logaddexp"))
    if other_mask is not None:
        other = _replaced(other, other_mask, _lowest(other, "logaddexp"))
    return ops.logaddexp(input, other).to(input.dtype if dtype is None else dtype)
