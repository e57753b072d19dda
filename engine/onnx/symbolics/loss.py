"""Losses and distances."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from engine.onnx.builder import Builder
from engine.onnx.errors import SymbolicValueError
from engine.onnx.registry import symbolic
from engine.onnx.symbolics.reduce import p_norm
from engine.onnx.values import Value


def _reduced(g: Builder, loss: Value, reduction: int) -> Value:
    if reduction == 0:
        return loss
    return g.reduce("ReduceMean" if reduction == 1 else "ReduceSum", loss, None, False)


@symbolic("mse_loss")
def mse_loss(g: Builder, self: Value, target: Value, reduction: int = 1) -> Any:
    """Returns squared differences."""
    difference = self - target
    return _reduced(g, difference * difference, reduction)


@symbolic("l1_loss")
def l1_loss(g: Builder, self: Value, target: Value, reduction: int = 1) -> Any:
    """Returns absolute differences."""
    return _reduced(g, g.op("Abs", self - target), reduction)


@symbolic("smooth_l1_loss")
def smooth_l1_loss(
    g: Builder, self: Value, target: Value, reduction: int = 1, beta: float = 1.0
) -> Any:
    """Squares below beta, absolute differences above."""
    size = g.op("Abs", self - target)
    if beta == 0:
        return _reduced(g, size, reduction)
    loss = g.op("Where", size < beta, size * size * (0.5 / beta), size - 0.5 * beta)
    return _reduced(g, loss, reduction)


@symbolic("huber_loss")
def huber_loss(
    g: Builder, self: Value, target: Value, reduction: int = 1, delta: float = 1.0
) -> Any:
    """Squares below delta, absolute differences above."""
    size = g.op("Abs", self - target)
    loss = g.op("Where", size < delta, size * size * 0.5, (size - 0.5 * delta) * delta)
    return _reduced(g, loss, reduction)


@symbolic("binary_cross_entropy")
def binary_cross_entropy(
    g: Builder, self: Value, target: Value, weight: Value | None = None, reduction: int = 1
) -> Any:
    """Returns the loss of probabilities; logarithms are at least -100."""
    floor = g.cast(-100.0, self.dtype)
    logs = [g.op("Max", g.op("Log", x), floor) for x in (self, 1.0 - self)]
    loss = -(target * logs[0] + (1.0 - target) * logs[1])
    return _reduced(g, loss if weight is None else loss * weight, reduction)


@symbolic("binary_cross_entropy_with_logits")
def binary_cross_entropy_with_logits(
    g: Builder,
    self: Value,
    target: Value,
    weight: Value | None = None,
    pos_weight: Value | None = None,
    reduction: int = 1,
) -> Any:
    """Returns the loss of logits."""
    softplus = g.op("Softplus", -g.op("Abs", self)) + g.op("Relu", -self)
    if pos_weight is not None:
        softplus = softplus * ((pos_weight - 1.0) * target + 1.0)
    loss = (1.0 - target) * self + softplus
    return _reduced(g, loss if weight is None else loss * weight, reduction)


_REDUCTIONS = ("none", "mean", "sum")


@symbolic("nll_loss", "nll_loss2d", "nll_loss_nd")
def nll_loss(
    g: Builder,
    self: Value,
    target: Value,
    weight: Value | None = None,
    reduction: int = 1,
    ignore_index: int = -100,
) -> Any:
    """Returns the negative logarithms of the labels' probabilities."""
    options: dict[str, Any] = {
        "reduction_s": _REDUCTIONS[reduction],
        "ignore_index_i": ignore_index,
    }
    if self.rank == 1:
        rows = g.unsqueeze(self, 0), g.unsqueeze(target, 0)
        loss = g.op("NegativeLogLikelihoodLoss", *rows, weight, **options)
        return loss if reduction else g.squeeze(loss, 0)
    return g.op("NegativeLogLikelihoodLoss", self, target, weight, **options)


@symbolic("cross_entropy_loss")
def cross_entropy_loss(
    g: Builder,
    self: Value,
    target: Value,
    weight: Value | None = None,
    reduction: int = 1,
    ignore_index: int = -100,
    label_smoothing: float = 0.0,
) -> Any:
    """Returns log_softmax and nll_loss."""
    if label_smoothing:
        raise SymbolicValueError("label_smoothing has no form here")
    axis = 0 if self.rank == 1 else 1
    logs = g.op("LogSoftmax", self, axis_i=axis)
    if target.dtype is not None and target.dtype.is_floating_point:
        weighted = logs * target if weight is None else logs * target * weight
        loss = -g.reduce("ReduceSum", weighted, [axis], False)
        if reduction == 1 and self.rank != 1:
            return g.reduce("ReduceSum", loss, None, False) / g.cast(g.size_of(self, 0), loss.dtype)
        return _reduced(g, loss, reduction)
    return nll_loss(g, logs, target, weight, reduction, ignore_index)


@symbolic("kl_div")
def kl_div(
    g: Builder, self: Value, target: Value, reduction: int = 1, log_target: bool = False
) -> Any:
    """Returns the divergence of distributions."""
    if log_target:
        return _reduced(g, g.op("Exp", target) * (target - self), reduction)
    safe = g.op("Where", target > 0.0, target, g.cast(1.0, target.dtype))
    loss = target * (g.op("Log", safe) - self)
    return _reduced(g, loss, reduction)


@symbolic("poisson_nll_loss")
def poisson_nll_loss(
    g: Builder, input: Value, target: Value, log_input: bool, full: bool, eps: float, reduction: int
) -> Any:
    """Returns the loss of a Poisson distribution."""
    loss = (
        g.op("Exp", input) - target * input
        if log_input
        else input - target * g.op("Log", input + eps)
    )
    if full:
        stirling = target * g.op("Log", target) - target + g.op("Log", target * (2 * math.pi)) * 0.5
        loss = loss + g.op("Where", target > 1.0, stirling, g.cast(0.0, target.dtype))
    return _reduced(g, loss, reduction)


@symbolic("hinge_embedding_loss")
def hinge_embedding_loss(
    g: Builder, self: Value, target: Value, margin: float = 1.0, reduction: int = 1
) -> Any:
    """Returns x of label 1, margin - x above zero of label -1."""
    zero = g.cast(0.0, self.dtype)
    both = g.op("Where", target.equals(1.0), zero, g.op("Relu", margin - self))
    other = g.op("Where", target.equals(-1.0), zero, self)
    return _reduced(g, both + other, reduction)


@symbolic("margin_ranking_loss")
def margin_ranking_loss(
    g: Builder, input1: Value, input2: Value, target: Value, margin: float = 0.0, reduction: int = 1
) -> Any:
    """Returns the distance of two from their order."""
    return _reduced(g, g.op("Relu", -target * (input1 - input2) + margin), reduction)


@symbolic("soft_margin_loss")
def soft_margin_loss(g: Builder, self: Value, target: Value, reduction: int = 1) -> Any:
    """Returns log(1 + exp(-y x))."""
    return _reduced(g, g.op("Log", g.op("Exp", -target * self) + 1.0), reduction)


@symbolic("multi_margin_loss")
def multi_margin_loss(
    g: Builder,
    self: Value,
    target: Value,
    p: Any = 1,
    margin: Any = 1,
    weight: Value | None = None,
    reduction: int = 1,
) -> Any:
    """Returns the margins of the label to the other classes."""
    if self.rank != 2 or weight is not None:
        raise SymbolicValueError("multi_margin_loss of ONNX takes batches, without weights")
    classes = g.known_size(self, 1, "multi_margin_loss")
    column = g.unsqueeze(target, 1)
    label = g.op("GatherElements", self, column, axis_i=1)
    margins = g.op("Relu", self - label + float(margin))
    margins = margins if p == 1 else margins * margins
    is_label = g.constant(np.arange(classes)[None]).equals(column)
    margins = g.op("Where", is_label, g.cast(0.0, self.dtype), margins)
    return _reduced(g, g.reduce("ReduceSum", margins, [1], False) / float(classes), reduction)


def _cosine(g: Builder, a: Value, b: Value, axis: int, eps: float) -> Value:
    product = g.reduce("ReduceSum", a * b, [axis], False)
    floor = g.cast(eps, a.dtype)
    sizes = [g.op("Max", g.reduce("ReduceL2", x, [axis], False), floor) for x in (a, b)]
    return product / (sizes[0] * sizes[1])


@symbolic("cosine_similarity")
def cosine_similarity(g: Builder, x1: Value, x2: Value, dim: int = 1, eps: float = 1e-8) -> Any:
    """Returns the cosine of the angle between two."""
    return _cosine(g, x1, x2, dim, eps)


@symbolic("cosine_embedding_loss")
def cosine_embedding_loss(
    g: Builder, input1: Value, input2: Value, target: Value, margin: float = 0.0, reduction: int = 1
) -> Any:
    """Returns 1 - cos of label 1, cos - margin above zero of label -1."""
    epsilon = 1e-12
    rows = [g.reduce("ReduceSum", x * x, [-1], False) + epsilon for x in (input1, input2)]
    cosine = g.reduce("ReduceSum", input1 * input2, [-1], False) / g.op("Sqrt", rows[0] * rows[1])
    zero = g.cast(0.0, input1.dtype)
    positive = g.op("Where", target.equals(1.0), 1.0 - cosine, zero)
    negative = g.op("Where", target.equals(-1.0), g.op("Relu", cosine - margin), zero)
    return _reduced(g, positive + negative, reduction)


@symbolic("pairwise_distance")
def pairwise_distance(
    g: Builder, x1: Value, x2: Value, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False
) -> Any:
    """Returns the norm of the difference."""
    return p_norm(g, x1 - x2 + eps, p, [-1], keepdim)


@symbolic("triplet_margin_loss")
def triplet_margin_loss(
    g: Builder,
    anchor: Value,
    positive: Value,
    negative: Value,
    margin: float = 1.0,
    p: float = 2.0,
    eps: float = 1e-6,
    swap: bool = False,
    reduction: int = 1,
) -> Any:
    """Returns the distance to the positive, less that to the negative."""
    near = pairwise_distance(g, anchor, positive, p, eps)
    far = pairwise_distance(g, anchor, negative, p, eps)
    if swap:
        far = g.op("Min", far, pairwise_distance(g, positive, negative, p, eps))
    return _reduced(g, g.op("Relu", near - far + margin), reduction)


@symbolic("gaussian_nll_loss")
def gaussian_nll_loss(
    g: Builder,
    input: Value,
    target: Value,
    var: Value,
    full: bool = False,
    eps: float = 1e-6,
    reduction: int = 1,
) -> Any:
    """Returns the loss of a normal distribution."""
    variance = g.op("Max", var, g.cast(eps, var.dtype))
    difference = input - target
    loss = (g.op("Log", variance) + difference * difference / variance) * 0.5
    return _reduced(g, loss + 0.5 * math.log(2 * math.pi) if full else loss, reduction)
