"""softmax and related functions, which choose a default dimension."""

from __future__ import annotations

import warnings
from typing import Any

from engine._generated import ops
from engine.tensor import Tensor


def _dimension(name: str, input: Tensor, dim: int | None, stacklevel: int) -> int:
    if dim is not None:
        return dim
    warnings.warn(
        f"Implicit dimension choice for {name} has been deprecated. "
        "Change the call to include dim=X as an argument.",
        stacklevel=stacklevel,
    )
    return 0 if input.dim() in (0, 1, 3) else 1


def softmax(
    input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None
) -> Tensor:
    """Divide the exponentials by their sum along `dim`: `engine.softmax`.

    `dim` defaults to 0 for 0, 1 and 3 dimensions and to 1 otherwise, with a warning.

    >>> import engine
    >>> softmax(engine.zeros(2), 0)
    tensor([0.5000, 0.5000])
    """
    return ops.softmax(input, _dimension("softmax", input, dim, _stacklevel), dtype)


def log_softmax(
    input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None
) -> Tensor:
    """Compute the logarithm of `softmax` in one step: `engine.log_softmax`.

    >>> import engine
    >>> log_softmax(engine.zeros(2), 0)
    tensor([-0.6931, -0.6931])
    """
    return ops.log_softmax(input, _dimension("log_softmax", input, dim, _stacklevel), dtype)


def softmin(
    input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None
) -> Tensor:
    """Apply `softmax` to the negated elements: the smallest becomes the largest.

    >>> import engine
    >>> softmin(engine.zeros(2), 0)
    tensor([0.5000, 0.5000])
    """
    return ops.softmax(-input, _dimension("softmin", input, dim, _stacklevel), dtype)


def gumbel_softmax(
    logits: Tensor, tau: float = 1, hard: bool = False, eps: float = 1e-10, dim: int = -1
) -> Tensor:
    """Sample from the Gumbel-softmax distribution: probabilities along `dim`, or one-hot vectors with `hard`.

    Formula: softmax((logits - log(e)) / tau), e drawn from the exponential distribution; `hard` gives the
    one-hot vector of the largest, with the gradient of the probabilities.

    >>> import engine
    >>> gumbel_softmax(engine.zeros(2, 3), hard=True).sum(-1)
    tensor([1., 1.])
    """
    if eps != 1e-10:
        warnings.warn("`eps` parameter is deprecated and has no effect.", stacklevel=2)
    noise = -ops.empty_like(logits).exponential_().log()
    shares = ops.softmax((logits + noise) / tau, dim)
    if not hard:
        return shares
    index = shares.max(dim, keepdim=True).indices
    one_hot = ops.zeros_like(logits).scatter_(dim, index, 1.0)
    return one_hot - shares.detach() + shares
