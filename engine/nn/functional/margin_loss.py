"""Margin losses, which are 0 beyond a margin; see csrc/ops/margin_loss.yaml."""

from __future__ import annotations

from collections.abc import Callable

from engine._generated import ops
from engine.nn.functional.loss import _code, _documented, _reduced, _word
from engine.tensor import Tensor


@_documented(ops.hinge_embedding_loss)
def hinge_embedding_loss(
    input: Tensor,
    target: Tensor,
    margin: float = 1.0,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    code = _code(_word(reduction, size_average, reduce))
    return ops.hinge_embedding_loss(input, target, margin, code)


@_documented(ops.margin_ranking_loss)
def margin_ranking_loss(
    input1: Tensor,
    input2: Tensor,
    target: Tensor,
    margin: float = 0,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    code = _code(_word(reduction, size_average, reduce))
    if not input1.dim() == input2.dim() == target.dim():
        raise RuntimeError(
            "margin_ranking_loss: all input tensors should have same dimension but got sizes: "
            f"input1: {input1.shape}, input2: {input2.shape}, target: {target.shape}"
        )
    return ops.margin_ranking_loss(input1, input2, target, margin, code)


@_documented(ops.soft_margin_loss)
def soft_margin_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    return ops.soft_margin_loss(input, target, _code(_word(reduction, size_average, reduce)))


@_documented(ops.multi_margin_loss)
def multi_margin_loss(
    input: Tensor,
    target: Tensor,
    p: int = 1,
    margin: float = 1.0,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    code = _code(_word(reduction, size_average, reduce))
    if p not in (1, 2):
        raise ValueError(f"multi_margin_loss: only p == 1 and p == 2 supported, got {p}")
    if weight is not None and weight.dim() != 1:
        raise ValueError(f"multi_margin_loss: weight must be one-dimensional, got {weight.dim()}-d")
    return ops.multi_margin_loss(input, target, p, margin, weight, code)


@_documented(ops.multilabel_margin_loss)
def multilabel_margin_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    return ops.multilabel_margin_loss(input, target, _code(_word(reduction, size_average, reduce)))


def multilabel_soft_margin_loss(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """Compute `binary_cross_entropy_with_logits`, averaged over the classes of the last dimension.

    Formula: loss = -1/C sum_c weight[c] (target[c] log_sigmoid(x[c]) + (1 - target[c]) log_sigmoid(-x[c]))
    Shape: (..., C) gives (...), or () when reduced. Memory: a new tensor, and temporary ones.
    Raises: ValueError for an unknown `reduction`.

    >>> multilabel_soft_margin_loss(engine.tensor([[0., 0.]]), engine.tensor([[1., 0.]]))
    tensor(0.6931)
    """
    reduction = _word(reduction, size_average, reduce)
    yes = ops.mul(target, ops.log_sigmoid(input))
    no = ops.mul(ops.rsub(target, 1), ops.log_sigmoid(ops.neg(input)))
    losses = ops.neg(ops.add(yes, no))
    if weight is not None:
        losses = ops.mul(losses, weight)
    last = input.dim() - 1
    return _reduced(ops.div(ops.sum(losses, [last]), input.size(last)), reduction)


@_documented(ops.cosine_embedding_loss)
def cosine_embedding_loss(
    input1: Tensor,
    input2: Tensor,
    target: Tensor,
    margin: float = 0,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    code = _code(_word(reduction, size_average, reduce))
    return ops.cosine_embedding_loss(input1, input2, target, margin, code)


@_documented(ops.triplet_margin_loss)
def triplet_margin_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    margin: float = 1.0,
    p: float = 2,
    eps: float = 1e-6,
    swap: bool = False,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    code = _code(_word(reduction, size_average, reduce))
    if margin <= 0:
        raise ValueError(f"triplet_margin_loss: margin must be greater than 0, got {margin}")
    return ops.triplet_margin_loss(anchor, positive, negative, margin, p, eps, swap, code)


def triplet_margin_with_distance_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    *,
    distance_function: Callable[[Tensor, Tensor], Tensor] | None = None,
    margin: float = 1.0,
    swap: bool = False,
    reduction: str = "mean",
) -> Tensor:
    """Compute `triplet_margin_loss` with a custom distance; the default is `pairwise_distance`.

    Formula: loss = max(0, d(anchor, positive) - d(anchor, negative) + margin)
    Shape: that of the result of `distance_function`, or () when reduced. Memory: a new tensor.
    Raises: ValueError for an unknown `reduction` or a margin that is not positive, RuntimeError
    when the numbers of dimensions differ.

    >>> a, b = engine.tensor([[0., 0.]]), engine.tensor([[3., 4.]])
    >>> triplet_margin_with_distance_loss(a, b, b)
    tensor(1.)
    """
    if reduction not in ("mean", "sum", "none"):
        raise ValueError(f"{reduction} is not a valid value for reduction")
    if margin <= 0:
        raise ValueError(
            f"triplet_margin_with_distance_loss: margin must be greater than 0, got {margin}"
        )
    _check_same_rank(anchor, positive, negative)
    distance = distance_function or ops.pairwise_distance
    near, far = distance(anchor, positive), distance(anchor, negative)
    if swap:
        far = ops.minimum(far, distance(positive, negative))
    return _hinge(near, far, margin, reduction)


def _check_same_rank(anchor: Tensor, positive: Tensor, negative: Tensor) -> None:
    if not anchor.dim() == positive.dim() == negative.dim():
        raise RuntimeError(
            "triplet_margin_with_distance_loss: the anchor, positive and negative tensors are "
            "expected to have the same number of dimensions, but got: anchor "
            f"{anchor.dim()}D, positive {positive.dim()}D, negative {negative.dim()}D"
        )


def _hinge(near: Tensor, far: Tensor, margin: float, reduction: str) -> Tensor:
    return _reduced(ops.clamp_min(ops.sub(ops.add(near, margin), far), 0), reduction)
