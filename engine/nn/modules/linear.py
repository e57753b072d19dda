"""Identity, Linear, Bilinear, LazyLinear."""

from __future__ import annotations

import math
from typing import Any

from engine._generated import ops
from engine.nn import init
from engine.nn.module import Module
from engine.nn.modules.lazy import LazyModule
from engine.nn.modules.utils import new_parameter, weight_and_bias
from engine.nn.parameter import UninitializedParameter
from engine.tensor import Tensor

__all__ = ["Bilinear", "Identity", "LazyLinear", "Linear"]


class Identity(Module):
    """Returns its input; accepts any arguments, so that it can replace another layer.

    >>> import engine
    >>> Identity(54, unused=True)(engine.ones(1))
    tensor([1.])
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__()

    def forward(self, input: Tensor) -> Tensor:
        return input


class Linear(Module):
    """Multiplies by a matrix and adds a bias: out = input @ weight.T + bias.

    Shape: (..., in_features) gives (..., out_features); `weight` is (out_features, in_features).
    Both are initially drawn uniformly from [-1/sqrt(in_features), 1/sqrt(in_features)).

    >>> import engine
    >>> Linear(20, 30)(engine.ones(128, 20)).shape
    engine.Size([128, 30])
    """

    __constants__ = ("in_features", "out_features")

    in_features: int
    out_features: int
    weight: Any
    bias: Any

    def __init__(
        self,
        in_features: int,
        out_features: int,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.in_features, self.out_features = in_features, out_features
        self.weight = new_parameter((out_features, in_features), device, dtype)
        if bias:
            self.bias = new_parameter(out_features, device, dtype)
        else:
            self.register_parameter("bias", None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw new values for weight and bias."""
        init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        if self.bias is not None:
            bound = 1 / math.sqrt(self.in_features) if self.in_features > 0 else 0
            init.uniform_(self.bias, -bound, bound)

    def forward(self, input: Tensor) -> Tensor:
        return ops.linear(input, *weight_and_bias(self))

    def extra_repr(self) -> str:
        return (
            f"in_features={self.in_features}, out_features={self.out_features}, "
            f"bias={self.bias is not None}"
        )


class Bilinear(Module):
    """out = x1.T A x2 + b, with a matrix A for each output.

    Shape: (..., in1_features) and (..., in2_features) give (..., out_features).

    >>> import engine
    >>> Bilinear(20, 30, 40)(engine.ones(128, 20), engine.ones(128, 30)).shape
    engine.Size([128, 40])
    """

    __constants__ = ("in1_features", "in2_features", "out_features")

    weight: Any
    bias: Any

    def __init__(
        self,
        in1_features: int,
        in2_features: int,
        out_features: int,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        if in1_features <= 0:
            raise ValueError(f"in1_features must be > 0, but got {in1_features}")
        self.in1_features, self.in2_features = in1_features, in2_features
        self.out_features = out_features
        self.weight = new_parameter((out_features, in1_features, in2_features), device, dtype)
        if bias:
            self.bias = new_parameter(out_features, device, dtype)
        else:
            self.register_parameter("bias", None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw weight and bias uniformly from [-1/sqrt(in1_features), 1/sqrt(in1_features))."""
        bound = 1 / math.sqrt(self.weight.size(1))
        init.uniform_(self.weight, -bound, bound)
        if self.bias is not None:
            init.uniform_(self.bias, -bound, bound)

    def forward(self, input1: Tensor, input2: Tensor) -> Tensor:
        return ops.bilinear(input1, input2, *weight_and_bias(self))

    def extra_repr(self) -> str:
        return (
            f"in1_features={self.in1_features}, in2_features={self.in2_features}, "
            f"out_features={self.out_features}, bias={self.bias is not None}"
        )


class LazyLinear(LazyModule, Linear):
    """A Linear that infers `in_features` from its first input.

    >>> import engine
    >>> layer = LazyLinear(3); _ = layer(engine.ones(2, 5)); layer
    Linear(in_features=5, out_features=3, bias=True)
    """

    cls_to_become = Linear

    def __init__(
        self, out_features: int, bias: bool = True, device: Any = None, dtype: Any = None
    ) -> None:
        super().__init__(0, 0, False)
        self.weight = UninitializedParameter(device=device, dtype=dtype)
        self.out_features = out_features
        if bias:
            self.bias = UninitializedParameter(device=device, dtype=dtype)

    def reset_parameters(self) -> None:
        """Draw new values for weight and bias, once they have a size."""
        if not self.has_uninitialized_params() and self.in_features != 0:
            super().reset_parameters()

    def initialize_parameters(self, input: Tensor) -> None:
        """Allocate the parameters in the size of the first input."""
        if self.has_uninitialized_params():
            self.in_features = input.shape[-1]
            self.weight.materialize((self.out_features, self.in_features))
            if self.bias is not None:
                self.bias.materialize((self.out_features,))
            self.reset_parameters()
        if self.in_features == 0:
            self._take_sizes()

    def _take_sizes(self) -> None:
        self.in_features = self.weight.shape[-1]
