"""`linear_cross_entropy`: a linear layer and the cross entropy of its results, optionally in chunks of rows.

With `options` there is no tensor of all logits: the logits, the loss and the gradients are computed for one chunk of
rows at a time, in the same memory. Use it for many classes (the vocabulary of a language model).
"""

from __future__ import annotations

import dataclasses
import math
import warnings
from typing import Any

from engine._generated import ops
from engine._native import lib
from engine.autograd import Function
from engine.autograd.function import once_differentiable
from engine.dtypes import bfloat16, dtype, float16, float32, float64, int64
from engine.nn.functional.loss import cross_entropy
from engine.tensor import Tensor

_POLICIES = ("auto", "accurate", "balanced", "compact")
_HALVES = (float16, bfloat16)
_REDUCTIONS = ("mean", "sum", "none")


@dataclasses.dataclass(slots=True, frozen=True)
class LinearCrossEntropyOptions:
    """The chunk size and the accumulation dtype of `linear_cross_entropy`.

    Raises: ValueError for an unknown policy, method or dtype, or a chunk of fewer than one row.

    >>> import engine
    >>> options = engine.nn.LinearCrossEntropyOptions(batch_chunk_size=2)
    >>> input, weight = engine.ones(4, 3), engine.zeros(5, 3)
    >>> target = engine.tensor([0, 1, 2, 3])
    >>> engine.nn.functional.linear_cross_entropy(input, weight, target, options=options)
    tensor(1.6094)
    """

    allow_retain_graph: bool = False
    """True if backward may run again. It costs a copy of the gradients, except with reduction="none"."""

    batch_chunk_size: int | None = None
    """Rows per chunk; None: all of them, or the result of `chunking_method`."""

    chunking_method: str | None = "auto"
    """"aspect_ratio": a chunk's logits take about the memory of the input; "aspect_ratio:N": an N-th of that;
    "auto" chooses between these by the dtype."""

    acc_policy: str = "auto"
    """"accurate", "balanced", "compact" or "auto": the engine always accumulates in `acc_dtype`, as "accurate" does."""

    acc_dtype: dtype | None = None
    """The dtype of sums; None: float32 for 16-bit inputs if the policy is "auto", else that of the input."""

    def __post_init__(self) -> None:
        if self.acc_policy not in _POLICIES:
            raise ValueError(f"invalid acc_policy: {self.acc_policy!r}")
        method = self.chunking_method
        if method is not None and method != "auto":
            name, colon, factor = method.partition(":")
            fits = not colon or (factor.isdigit() and int(factor) > 0)
            if name != "aspect_ratio" or not fits:
                raise ValueError(f"invalid chunking_method: {method!r}")
        size = self.batch_chunk_size
        if size is not None and not (isinstance(size, int) and size > 0):
            raise ValueError(f"batch_chunk_size must be positive int or None, got {size!r}")
        if self.acc_dtype not in (None, float16, bfloat16, float32, float64):
            raise ValueError(
                f"acc_dtype must be one of {{None, {float16}, {bfloat16}, {float32}, "
                f"{float64}}}, got {self.acc_dtype!r}. Pass acc_dtype=None to let the op pick "
                "automatically."
            )

    def chunk_size(self, rows: int, features: int, classes: int, dtype: dtype) -> int:
        """Return the number of rows per chunk. Raises: ValueError when a size and a method disagree."""
        size = self.batch_chunk_size
        method = self.chunking_method
        if method == "auto":
            method = None if size else "aspect_ratio" if dtype in _HALVES else "aspect_ratio:2"
        if method is None:
            return max(1, rows if size is None else min(size, rows))
        factor = int(method.partition(":")[2] or 1)
        target = math.ceil(rows / math.ceil(classes / features)) if features and classes else rows
        by_method = min((1 << (target - 1).bit_length()) // factor, rows)
        if size is not None and min(size, rows) != by_method:
            raise ValueError(
                f"batch_chunk_size (={size}) and chunking_method ('{method}') give different "
                f"chunk sizes ({size} vs {by_method}); pass only one."
            )
        return max(1, by_method)

    def sum_dtype(self, dtype: dtype) -> dtype:
        """Return the dtype of sums. Raises: RuntimeError for one that is not supported for the inputs' dtype."""
        acc_dtype = self.acc_dtype
        if acc_dtype is None:
            return float32 if self.acc_policy == "auto" and dtype in _HALVES else dtype
        if acc_dtype != dtype and not (dtype in _HALVES and acc_dtype == float32):
            raise RuntimeError(
                "linear_cross_entropy supports float32 acc_dtype with float16/bfloat16 inputs, but "
                f"got {acc_dtype} acc_dtype and {dtype} inputs."
            )
        return acc_dtype


def _row_weights(
    target: Tensor, weight: Tensor | None, ignore_index: int, reduction: str, dtype: dtype
) -> tuple[Tensor, Tensor]:
    """Return each row's weight in the loss (0 for an ignored target), and targets that are all valid classes."""
    ignored = ops.eq(target, ignore_index)
    valid = ops.where(ignored, 0, target)
    if weight is None:
        weights = ops.logical_not(ignored).to(dtype)
    else:
        weights = ops.where(ignored, 0, ops.index_select(weight, 0, valid).to(dtype))
    # The mean of zero rows is NaN, as 0 / 0.
    return (weights / ops.sum(weights) if reduction == "mean" else weights), valid


class _Parts:
    """The tensors of one call, in the dtype of sums."""

    def __init__(
        self, input: Tensor, linear_weight: Tensor, linear_bias: Tensor | None, dtype: dtype
    ) -> None:
        self.input, self.dtype = input, dtype
        self.weight = linear_weight.to(dtype)
        self.bias = None if linear_bias is None else linear_bias.to(dtype)

    def log_softmax(self, low: int, high: int) -> tuple[Tensor, Tensor]:
        """Return rows of the input and the log probabilities of their classes."""
        rows = self.input[low:high].to(self.dtype)
        logits = ops.matmul(rows, self.weight.t())
        if self.bias is not None:
            logits = ops.add_(logits, self.bias)
        return rows, ops.log_softmax(logits, 1)


class _Gradients:
    """The gradients of input, linear_weight and linear_bias, summed chunk by chunk; None if not needed."""

    def __init__(self, parts: _Parts, likes: list[Tensor | None]) -> None:
        self.parts, self.likes = parts, likes
        self.sums = [
            None if like is None else ops.zeros(like.shape, dtype=parts.dtype, device=like.device)
            for like in likes
        ]

    def add(
        self, low: int, high: int, rows: Tensor, logs: Tensor, targets: Tensor, scale: Tensor
    ) -> None:
        """Add the contribution of rows `low` to `high`; each row's loss is multiplied by `scale`."""
        slopes = ops.exp(logs)
        one = ops.ones((), dtype=slopes.dtype, device=slopes.device)
        ops.scatter_add_(slopes, 1, targets, ops.expand(ops.neg(one), *targets.shape))
        # An ignored row has no gradient, even if its logits are infinite.
        slopes = ops.where(ops.eq(scale, 0), 0, slopes * scale)
        input, weight, bias = self.sums
        if input is not None:
            input[low:high].copy_(ops.matmul(slopes, self.parts.weight))
        if weight is not None:
            ops.addmm_(weight, slopes.t(), rows)
        if bias is not None:
            ops.add_(bias, ops.sum(slopes, 0))

    def results(self) -> list[Tensor | None]:
        """Return the gradients in the dtypes of their tensors."""
        return [
            None if total is None or like is None else total.to(like.dtype)
            for total, like in zip(self.sums, self.likes, strict=True)
        ]


class _Chunked(Function):
    """The loss, computed in chunks of rows. For a scalar loss, forward also computes the gradients."""

    @staticmethod
    def forward(
        ctx: Any,
        input: Tensor,
        linear_weight: Tensor,
        linear_bias: Tensor | None,
        target: Tensor,
        weight: Tensor | None,
        reduction: str,
        ignore_index: int,
        chunk: int,
        dtype: dtype,
        retain: bool,
    ) -> Tensor:
        parts = _Parts(input, linear_weight, linear_bias, dtype)
        weights, valid = _row_weights(target, weight, ignore_index, reduction, dtype)
        scalar = reduction != "none"
        gradients = None
        if scalar and any(ctx.needs_input_grad[:3]):
            gradients = _Gradients(parts, _Chunked.needed(ctx, input, linear_weight, linear_bias))
        losses = []
        for low in range(0, input.shape[0], chunk):
            high = min(low + chunk, input.shape[0])
            rows, logs = parts.log_softmax(low, high)
            targets, scale = valid[low:high].unsqueeze(1), weights[low:high].unsqueeze(1)
            loss = ops.gather(logs, 1, targets)
            losses.append(ops.where(ops.eq(scale, 0), 0, ops.neg(loss) * scale).squeeze(1))
            if gradients is not None:
                gradients.add(low, high, rows, logs, targets, scale)
        ctx.gradients = None if gradients is None else gradients.results()
        ctx.settings = (scalar, ignore_index, chunk, dtype, retain)
        if not scalar:
            ctx.save_for_backward(input, linear_weight, linear_bias, target, weight)
        result = ops.cat(losses, 0) if losses else ops.zeros((0,), dtype=dtype)
        result = ops.sum(result) if scalar else result
        return result.to(input.dtype)

    @staticmethod
    def needed(ctx: Any, *tensors: Tensor | None) -> list[Tensor | None]:
        """Return the tensors that need a gradient, None for the others."""
        needs = ctx.needs_input_grad
        return [tensor if need else None for tensor, need in zip(tensors, needs, strict=False)]

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        scalar, retain = ctx.settings[0], ctx.settings[-1]
        none = (None,) * 7
        if not scalar:
            return *_Chunked.recomputed(ctx, grad), *none
        if ctx.gradients is None:
            raise RuntimeError(
                "linear_cross_entropy chunked backward called twice; retain_graph=True / double "
                "backward are not supported. Hint: LinearCrossEntropyOptions(allow_retain_graph=True)"
            )
        gradients = ctx.gradients
        if retain:
            return *(None if g is None else (g * grad).to(g.dtype) for g in gradients), *none
        ctx.gradients = None
        return *(None if g is None else ops.mul_(g, grad) for g in gradients), *none

    @staticmethod
    @once_differentiable
    def recomputed(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        """Compute the gradients for a loss per row."""
        _, ignore_index, chunk, dtype, _ = ctx.settings
        input, linear_weight, linear_bias, target, weight = ctx.saved_tensors
        parts = _Parts(input, linear_weight, linear_bias, dtype)
        gradients = _Gradients(parts, _Chunked.needed(ctx, input, linear_weight, linear_bias))
        weights, valid = _row_weights(target, weight, ignore_index, "none", dtype)
        weights = weights * grad.to(dtype)
        for low in range(0, input.shape[0], chunk):
            high = min(low + chunk, input.shape[0])
            rows, logs = parts.log_softmax(low, high)
            targets, scale = valid[low:high].unsqueeze(1), weights[low:high].unsqueeze(1)
            gradients.add(low, high, rows, logs, targets, scale)
        return tuple(gradients.results())


def _check_shapes(
    input: Tensor, linear_weight: Tensor, linear_bias: Tensor | None, outputs: tuple[int, ...]
) -> None:
    """Raise RuntimeError for shapes that do not match."""
    if input.dim() not in (1, 2):
        raise RuntimeError(f"expected input with dimensionality 1 or 2, got {input.dim()}")
    if linear_weight.dim() < 2:
        raise RuntimeError(
            f"expected linear_weight with dimensionality at least 2, got {linear_weight.dim()}"
        )
    if input.shape[-1] != linear_weight.shape[-1]:
        raise RuntimeError(
            "expected equal input and linear_weight last dimensions (in_features), "
            f"got {input.shape[-1]} and {linear_weight.shape[-1]}, respectively"
        )
    if linear_bias is not None and tuple(linear_bias.shape) != outputs:
        raise RuntimeError(f"expected linear_bias shape {outputs}, got {tuple(linear_bias.shape)}")
    if linear_weight.dim() > 2 and input.dim() == 1:
        raise RuntimeError(
            f"K-dimensional loss defined by linear_weight shape {tuple(linear_weight.shape)} requires "
            f"batched input, (N, {input.shape[-1]}), got unbatched input with shape {tuple(input.shape)}"
        )


def linear_cross_entropy(
    input: Tensor,
    linear_weight: Tensor,
    target: Tensor,
    *,
    linear_bias: Tensor | None = None,
    weight: Tensor | None = None,
    reduction: str = "mean",
    ignore_index: int | None = None,
    label_smoothing: float = 0.0,
    options: LinearCrossEntropyOptions | None = None,
) -> Tensor:
    """Compute the cross entropy of `linear(input, linear_weight, linear_bias)` and a target.

    Formula: cross_entropy(linear(input, linear_weight, linear_bias), target, ...). With `options` (an
    `nn.LinearCrossEntropyOptions`) rows are computed in chunks, without a tensor of all logits: there are then no
    second derivatives, and calls that chunks do not support (probabilities as targets, label smoothing, more
    dimensions, a trace) are computed at once, with a warning.
    Shape: input (features) or (N, features), linear_weight (classes, *, features), linear_bias (classes, *); target as
    in `cross_entropy` of (N, classes, *). Dtype: floating; the target int64, or floating probabilities.
    Memory: a new tensor. Raises: RuntimeError when the shapes do not fit.

    >>> import engine
    >>> input, weight = engine.ones(2, 3), engine.zeros(4, 3)
    >>> engine.nn.functional.linear_cross_entropy(input, weight, engine.tensor([0, 3]))
    tensor(1.3863)
    """
    outputs = tuple(linear_weight.shape[:-1])
    _check_shapes(input, linear_weight, linear_bias, outputs)
    shape = (*input.shape[:-1], *outputs)
    if tuple(target.shape) == shape and ignore_index is not None:
        raise RuntimeError("ignore_index cannot be specified when target contains probabilities")
    ignored = -100 if ignore_index is None else ignore_index
    if options is not None:
        chunkable = (
            len(outputs) == 1
            and reduction in _REDUCTIONS
            and label_smoothing == 0.0
            and target.dtype == int64
            and not lib.uh_jit_tracing()
        )
        if chunkable:
            rows, targets = (
                (input, target) if input.dim() == 2 else (input.unsqueeze(0), target.unsqueeze(0))
            )
            count, features = rows.shape
            chunk = options.chunk_size(count, features, outputs[0], input.dtype)
            result: Tensor = _Chunked.apply(
                rows, linear_weight, linear_bias, targets, weight, reduction, ignored, chunk,
                options.sum_dtype(input.dtype), options.allow_retain_graph,
            )  # fmt: skip
            return result.squeeze(0) if input.dim() == 1 else result
        warnings.warn(
            "linear_cross_entropy: ``options`` ignored; chunked path needs reduction in "
            "{'mean','sum','none'}, label_smoothing == 0, target.dtype == int64, out_features == (). "
            f"Got reduction={reduction!r}, label_smoothing={label_smoothing}, "
            f"target.dtype={target.dtype}, out_features={outputs[1:]}.",
            stacklevel=2,
        )
    if len(outputs) > 1:
        linear_weight = ops.reshape(linear_weight, (-1, input.shape[-1]))
        linear_bias = None if linear_bias is None else ops.reshape(linear_bias, (-1,))
    logits = ops.reshape(ops.linear(input, linear_weight, linear_bias), shape)
    return cross_entropy(
        logits,
        target,
        weight=weight,
        reduction=reduction,
        ignore_index=ignored,
        label_smoothing=label_smoothing,
    )
