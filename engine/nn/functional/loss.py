"""Losses: `reduction` is "none", "mean" or "sum" and is converted to the operators' code.

They call the operators of csrc/ops/loss.yaml, cross_entropy.yaml and margin_loss.yaml.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any

from engine._generated import ops
from engine.dtypes import get_default_dtype
from engine.nn.functional.sizes import followed_size
from engine.overloads import Function, broadcast_sizes
from engine.tensor import Tensor

_CODES = {"none": 0, "mean": 1, "sum": 2}


def _code(reduction: str) -> int:
    """Return the operators' code of a `reduction`. Raises: ValueError for an unknown one."""
    if reduction == "elementwise_mean":
        warnings.warn(
            "reduction='elementwise_mean' is deprecated. Please use reduction='mean' instead.",
            stacklevel=3,
        )
        return 1
    if reduction not in _CODES:
        raise ValueError(f"{reduction} is not a valid value for reduction: none, mean or sum")
    return _CODES[reduction]


def _word(reduction: str, size_average: bool | None, reduce: bool | None) -> str:
    """Return `reduction`, or the equivalent of PyTorch's two deprecated arguments, with a warning."""
    if size_average is None and reduce is None:
        return reduction
    averages = size_average is None or size_average
    meant = ("mean" if averages else "sum") if reduce is None or reduce else "none"
    warnings.warn(
        f"size_average and reduce args will be deprecated, please use reduction='{meant}' instead.",
        stacklevel=3,
    )
    return meant


def _reduced(losses: Tensor, reduction: str) -> Tensor:
    code = _code(reduction)
    return ops.mean(losses) if code == 1 else ops.sum(losses) if code == 2 else losses


def _documented(operator: Callable[..., Any]) -> Callable[[Function], Function]:
    """Copy the operator's documentation to a function, and add a sentence on `reduction`."""

    def document(function: Function) -> Function:
        sentence, _, details = (operator.__doc__ or "").partition("\n\n")
        reduction_text = (
            '    `reduction`: "mean" (over elements, or by weight), "sum", or "none" to keep every loss.\n'
            "    `size_average` and `reduce` are deprecated and cause a warning.\n\n"
        )
        function.__doc__ = f"{sentence}\n\n{reduction_text}{details}"
        return function

    return document


def _broadcast(input: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
    """Broadcast both to one shape; warn if they differ, which is rarely intended."""
    if input.shape == target.shape:
        return input, target
    warnings.warn(
        f"Using a target size ({target.shape}) that is different to the input size ({input.shape}). "
        "This will likely lead to incorrect results due to broadcasting. "
        "Please ensure they have the same size.",
        stacklevel=3,
    )
    shape = broadcast_sizes([input.shape, target.shape])
    return ops.expand(input, shape), ops.expand(target, shape)


def _check_weight(weight: Tensor, input: Tensor, loss: str) -> None:
    if weight.shape != input.shape:
        raise ValueError(
            f"{loss}: weights and input must have the same size, got {tuple(weight.shape)} and "
            f"{tuple(input.shape)}"
        )


def _weighed(losses: Tensor, weight: Tensor, reduction: str) -> Tensor:
    """Reduce losses times weights; the mean is the weighted mean."""
    code = _code(reduction)
    weighed = ops.mul(losses, weight)
    if code == 0:
        return weighed
    total = ops.sum(weighed)
    return ops.div(total, ops.sum(weight)) if code == 1 else total


# ---- regression


@_documented(ops.mse_loss)
def mse_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    weight: Tensor | None = None,
) -> Tensor:
    input, target = _broadcast(input, target)
    reduction = _word(reduction, size_average, reduce)
    if weight is None:
        return ops.mse_loss(input, target, _code(reduction))
    _check_weight(weight, input, "mse_loss")
    return _weighed(ops.mse_loss(input, target, 0), weight, reduction)


@_documented(ops.l1_loss)
def l1_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    weight: Tensor | None = None,
) -> Tensor:
    input, target = _broadcast(input, target)
    reduction = _word(reduction, size_average, reduce)
    if weight is None:
        return ops.l1_loss(input, target, _code(reduction))
    _check_weight(weight, input, "l1_loss")
    return _weighed(ops.l1_loss(input, target, 0), weight, reduction)


@_documented(ops.smooth_l1_loss)
def smooth_l1_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    beta: float = 1.0,
) -> Tensor:
    input, target = _broadcast(input, target)
    code = _code(_word(reduction, size_average, reduce))
    return ops.smooth_l1_loss(input, target, code, beta)


@_documented(ops.huber_loss)
def huber_loss(
    input: Tensor,
    target: Tensor,
    reduction: str = "mean",
    delta: float = 1.0,
    weight: Tensor | None = None,
) -> Tensor:
    input, target = _broadcast(input, target)
    if weight is None:
        return ops.huber_loss(input, target, _code(reduction), delta)
    _check_weight(weight, input, "huber_loss")
    return _reduced(ops.mul(ops.huber_loss(input, target, 0, delta), weight), reduction)


# ---- probabilities


@_documented(ops.binary_cross_entropy)
def binary_cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    code = _code(_word(reduction, size_average, reduce))
    if target.shape != input.shape:
        raise ValueError(
            f"binary_cross_entropy: using a target size ({target.shape}) that is different to the "
            f"input size ({input.shape}) is deprecated. Please ensure they have the same size."
        )
    if weight is not None:
        weight = ops.expand(weight, broadcast_sizes([target.shape, weight.shape]))
    return ops.binary_cross_entropy(input, target, weight, code)


@_documented(ops.binary_cross_entropy_with_logits)
def binary_cross_entropy_with_logits(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    pos_weight: Tensor | None = None,
) -> Tensor:
    code = _code(_word(reduction, size_average, reduce))
    if target.shape != input.shape:
        raise ValueError(
            f"binary_cross_entropy_with_logits: Target size ({target.shape}) must be the same as "
            f"input size ({input.shape})"
        )
    return ops.binary_cross_entropy_with_logits(input, target, weight, pos_weight, code)


@_documented(ops.kl_div)
def kl_div(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    log_target: bool = False,
) -> Tensor:
    if size_average is None and reduce is None and reduction == "mean":
        warnings.warn(
            "reduction: 'mean' divides the total loss by both the batch size and the support size."
            "'batchmean' divides only by the batch size, and aligns with the KL div math definition."
            "'mean' will be changed to behave the same as 'batchmean' in the next major release.",
            stacklevel=2,
        )
    word = _word(reduction, size_average, reduce)
    batches = reduction == "batchmean"
    code = _code("sum" if word == "batchmean" else word)
    loss = ops.kl_div(input, target, code, log_target=log_target)
    return ops.div(loss, followed_size(input, 0)) if batches and input.dim() != 0 else loss


@_documented(ops.poisson_nll_loss)
def poisson_nll_loss(
    input: Tensor,
    target: Tensor,
    log_input: bool = True,
    full: bool = False,
    size_average: bool | None = None,
    eps: float = 1e-8,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    code = _code(_word(reduction, size_average, reduce))
    return ops.poisson_nll_loss(input, target, log_input, full, eps, code)


def gaussian_nll_loss(
    input: Tensor,
    target: Tensor,
    var: Tensor | float,
    full: bool = False,
    eps: float = 1e-6,
    reduction: str = "mean",
) -> Tensor:
    """Compute the negative log density of `target` under a normal distribution.

    Formula: loss = (log(v) + (input - target) ** 2 / v) / 2, v = max(var, eps); `full` adds log(2 pi) / 2
    Shape: `var` has that of `input`, or lacks the last dimension, or has size 1 in one; () when reduced.
    Memory: a new tensor, and temporary ones of its size.
    Raises: ValueError for a negative variance or one of the wrong shape.

    >>> gaussian_nll_loss(engine.tensor([1.]), engine.tensor([3.]), engine.tensor([1.]))
    tensor(2.)
    """
    if isinstance(var, Tensor):
        variance = var
        if bool(ops.any(ops.lt(var, 0))):
            raise ValueError("gaussian_nll_loss: var has negative entry/entries")
    else:
        if var < 0:
            raise ValueError(f"gaussian_nll_loss: var has negative entry/entries: {var}")
        kind = input.dtype if input.dtype.is_floating_point else get_default_dtype()
        variance = ops.full(input.shape, var, dtype=kind, device=input.device)
    if variance.shape != input.shape:
        if input.shape[:-1] == variance.shape:
            variance = ops.unsqueeze(variance, -1)
        elif not _one_is_one(input, variance):
            raise ValueError(
                f"gaussian_nll_loss: var is of incorrect size {tuple(variance.shape)} for an input "
                f"of size {tuple(input.shape)}"
            )
    if reduction not in _CODES:
        raise ValueError(f"gaussian_nll_loss: {reduction} is not valid")
    variance = ops.clamp_min(variance, eps)
    squares = ops.square(ops.sub(input, target))
    losses = ops.mul(ops.add(ops.log(variance), ops.div(squares, variance)), 0.5)
    if full:
        losses = ops.add(losses, 0.5 * math.log(2 * math.pi))
    return _reduced(losses, reduction)


def _one_is_one(input: Tensor, var: Tensor) -> bool:
    """Return True if the shapes differ in one dimension only, in which `var` has size 1."""
    if input.dim() != var.dim():
        return False
    total = 0
    for size, var_size in zip(input.shape, var.shape, strict=True):
        if size != var_size:
            total += var_size
    return total == 1


# ---- classes


@_documented(ops.nll_loss_nd)
def nll_loss(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    ignore_index: int = -100,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    code = _code(_word(reduction, size_average, reduce))
    return ops.nll_loss_nd(input, target, weight, code, ignore_index)


@_documented(ops.cross_entropy_loss)
def cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    ignore_index: int = -100,
    reduce: bool | None = None,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> Tensor:
    code = _code(_word(reduction, size_average, reduce))
    return ops.cross_entropy_loss(input, target, weight, code, ignore_index, label_smoothing)


@_documented(ops.ctc_loss_IntList)
def ctc_loss(
    log_probs: Tensor,
    targets: Tensor,
    input_lengths: Any,
    target_lengths: Any,
    blank: int = 0,
    reduction: str = "mean",
    zero_infinity: bool = False,
) -> Tensor:
    run = ops.ctc_loss if isinstance(input_lengths, Tensor) else ops.ctc_loss_IntList
    code = _code(reduction)
    return run(log_probs, targets, input_lengths, target_lengths, blank, code, zero_infinity)
