"""Activation functions."""

from __future__ import annotations

import math
from typing import Any

from engine.onnx.builder import Builder
from engine.onnx.errors import SymbolicValueError
from engine.onnx.registry import symbolic
from engine.onnx.values import Value


@symbolic("relu")
def relu(g: Builder, self: Value) -> Any:
    """Returns max(x, 0)."""
    return g.op("Relu", self)


@symbolic("relu6")
def relu6(g: Builder, self: Value) -> Any:
    """Clamps between 0 and 6."""
    return hardtanh(g, self, 0.0, 6.0)


@symbolic("hardtanh")
def hardtanh(g: Builder, self: Value, min_val: Any = -1, max_val: Any = 1) -> Any:
    """Clamps between two bounds."""
    return g.op("Clip", self, g.cast(min_val, self.dtype), g.cast(max_val, self.dtype))


@symbolic("elu")
def elu(g: Builder, self: Value, alpha: Any = 1, scale: Any = 1, input_scale: Any = 1) -> Any:
    """Returns alpha (exp(x) - 1) below zero."""
    if input_scale != 1:
        raise SymbolicValueError("Elu of ONNX has no input_scale")
    result = g.op("Elu", self, alpha_f=alpha)
    return result if scale == 1 else result * float(scale)


@symbolic("celu")
def celu(g: Builder, self: Value, alpha: Any = 1.0) -> Any:
    """Returns alpha (exp(x / alpha) - 1) below zero."""
    return g.op("Elu", self / float(alpha), alpha_f=1.0) * float(alpha)


@symbolic("selu")
def selu(g: Builder, self: Value) -> Any:
    """Returns a scaled elu."""
    return g.op("Selu", self)


@symbolic("leaky_relu")
def leaky_relu(g: Builder, self: Value, negative_slope: Any = 0.01) -> Any:
    """Returns a slope below zero."""
    return g.op("LeakyRelu", self, alpha_f=negative_slope)


@symbolic("rrelu")
def rrelu(
    g: Builder,
    self: Value,
    lower: Any = 0.125,
    upper: Any = 1 / 3,
    training: bool = False,
    generator: Any = None,
) -> Any:
    """Returns a random slope below zero: its mean when it is not training."""
    if training:
        raise SymbolicValueError("draws its slopes while it is training; export it with eval()")
    return g.op("LeakyRelu", self, alpha_f=(lower + upper) / 2)


@symbolic("prelu", "_prelu_kernel")
def prelu(g: Builder, self: Value, weight: Value) -> Any:
    """Returns a learned slope below zero, of each channel."""
    slope, rank = weight, g.rank_of(self)
    if weight.shape != (1,) and rank > 2:
        slope = g.unsqueeze(weight, *range(1, rank - 1))
    return g.op("PRelu", self, slope)


@symbolic("gelu")
def gelu(g: Builder, self: Value, approximate: str = "none") -> Any:
    """Returns x times the normal distribution function of x."""
    if g.opset >= 20:
        return g.op("Gelu", self, approximate_s=approximate)
    if approximate == "tanh":
        inner = (self + self * self * self * 0.044715) * math.sqrt(2.0 / math.pi)
        return self * (g.op("Tanh", inner) + 1.0) * 0.5
    return self * (g.op("Erf", self * (1.0 / math.sqrt(2.0))) + 1.0) * 0.5


@symbolic("silu")
def silu(g: Builder, self: Value) -> Any:
    """Returns x sigmoid(x)."""
    return self * g.op("Sigmoid", self)


@symbolic("mish")
def mish(g: Builder, self: Value) -> Any:
    """Returns x tanh(softplus(x))."""
    if g.opset >= 18:
        return g.op("Mish", self)
    return self * g.op("Tanh", g.op("Softplus", self))


@symbolic("hardswish")
def hardswish(g: Builder, self: Value) -> Any:
    """Returns x clip(x / 6 + 1/2, 0, 1)."""
    if g.opset >= 14:
        return g.op("HardSwish", self)
    return self * hardsigmoid(g, self)


@symbolic("hardsigmoid")
def hardsigmoid(g: Builder, self: Value) -> Any:
    """Returns clip(x / 6 + 1/2, 0, 1)."""
    return g.op("HardSigmoid", self, alpha_f=1 / 6, beta_f=0.5)


@symbolic("hardshrink")
def hardshrink(g: Builder, self: Value, lambd: Any = 0.5) -> Any:
    """Zero near zero."""
    return g.op("Shrink", self, lambd_f=lambd, bias_f=0.0)


@symbolic("softshrink")
def softshrink(g: Builder, self: Value, lambd: Any = 0.5) -> Any:
    """Zero near zero, the remainder moved there."""
    return g.op("Shrink", self, lambd_f=lambd, bias_f=lambd)


@symbolic("softplus")
def softplus(g: Builder, self: Value, beta: Any = 1, threshold: Any = 20) -> Any:
    """Returns log(1 + exp(beta x)) / beta; x itself above the threshold."""
    scaled = self if beta == 1 else self * float(beta)
    smooth = g.op("Softplus", scaled)
    if beta != 1:
        smooth = smooth / float(beta)
    return g.op("Where", scaled > float(threshold), self, smooth)


@symbolic("log_sigmoid")
def log_sigmoid(g: Builder, self: Value) -> Any:
    """Returns log(sigmoid(x))."""
    return -g.op("Softplus", -self)


@symbolic("threshold")
def threshold(g: Builder, self: Value, threshold: Any, value: Any) -> Any:
    """Returns a value at and below the threshold."""
    return g.op("Where", self > threshold, self, g.cast(value, self.dtype))


@symbolic("glu")
def glu(g: Builder, self: Value, dim: int = -1) -> Any:
    """Returns one half times the sigmoid of the other."""
    axis = g.axis(self, dim)
    half = g.known_size(self, axis, "glu") // 2
    a, b = g.split(self, axis, [half, half])
    return a * g.op("Sigmoid", b)


@symbolic("softmax")
def softmax(g: Builder, self: Value, dim: int, dtype: Any = None, half_to_float: Any = None) -> Any:
    """Returns exp, divided by its sum along an axis."""
    return g.op("Softmax", g.cast(self, dtype), axis_i=dim)


@symbolic("log_softmax")
def log_softmax(
    g: Builder, self: Value, dim: int, dtype: Any = None, half_to_float: Any = None
) -> Any:
    """Returns log of softmax."""
    return g.op("LogSoftmax", g.cast(self, dtype), axis_i=dim)


@symbolic("dropout", "feature_dropout", "alpha_dropout", "feature_alpha_dropout")
def dropout(g: Builder, input: Value, p: Any, train: bool) -> Any:
    """Returns the operand: an exported model is not training."""
    if train and p > 0:
        raise SymbolicValueError("draws random numbers while it is training; export it with eval()")
    return input
