"""Normalisation of each sample: LayerNorm, GroupNorm, RMSNorm, LocalResponseNorm."""

from __future__ import annotations

from typing import Any

from engine.nn import functional as F
from engine.nn import init
from engine.nn.module import Module
from engine.nn.modules.utils import new_parameter, weight_and_bias
from engine.tensor import Tensor

__all__ = ["CrossMapLRN2d", "GroupNorm", "LayerNorm", "LocalResponseNorm", "RMSNorm"]


def _shape(normalized_shape: Any) -> tuple[int, ...]:
    if isinstance(normalized_shape, int):
        return (normalized_shape,)
    return tuple(normalized_shape)


class LayerNorm(Module):
    """Normalises the last dimensions of every sample, then applies an elementwise weight and bias.

    Formula: out = (x - mean) / sqrt(var + eps) * weight + bias, over the last dimensions, whose
    sizes are `normalized_shape`.

    >>> import engine
    >>> LayerNorm(2, elementwise_affine=False)(engine.tensor([[1., 3.]]))
    tensor([[-1.0000,  1.0000]])
    """

    __constants__ = ("normalized_shape", "eps", "elementwise_affine")

    weight: Any
    bias: Any

    def __init__(
        self,
        normalized_shape: Any,
        eps: float = 1e-5,
        elementwise_affine: bool = True,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.normalized_shape = _shape(normalized_shape)
        self.eps, self.elementwise_affine = eps, elementwise_affine
        for name, has_parameter in (("weight", True), ("bias", bias)):
            parameter = None
            if elementwise_affine and has_parameter:
                parameter = new_parameter(self.normalized_shape, device, dtype)
            self.register_parameter(name, parameter)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Set weight 1 and bias 0."""
        if self.elementwise_affine:
            init.ones_(self.weight)
            if self.bias is not None:
                init.zeros_(self.bias)

    def forward(self, input: Tensor) -> Tensor:
        weight, bias = weight_and_bias(self)
        return F.layer_norm(input, self.normalized_shape, weight, bias, self.eps)

    def extra_repr(self) -> str:
        return (
            f"{self.normalized_shape}, eps={self.eps}, "
            f"elementwise_affine={self.elementwise_affine}, bias={self.bias is not None}"
        )


class RMSNorm(Module):
    """Divides the last dimensions of every sample by their root mean square, then multiplies by a weight.

    >>> import engine
    >>> RMSNorm(2, eps=0., elementwise_affine=False)(engine.tensor([[1., 7.]]))
    tensor([[0.2000, 1.4000]])
    """

    __constants__ = ("normalized_shape", "eps", "elementwise_affine")

    weight: Any

    def __init__(
        self,
        normalized_shape: Any,
        eps: float | None = None,
        elementwise_affine: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.normalized_shape = _shape(normalized_shape)
        self.eps, self.elementwise_affine = eps, elementwise_affine
        weight = new_parameter(self.normalized_shape, device, dtype) if elementwise_affine else None
        self.register_parameter("weight", weight)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Set weight 1."""
        if self.elementwise_affine:
            init.ones_(self.weight)

    def forward(self, input: Tensor) -> Tensor:
        return F.rms_norm(input, self.normalized_shape, self.weight, self.eps)

    def extra_repr(self) -> str:
        return (
            f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}"
        )


class GroupNorm(Module):
    """Normalises groups of channels of every sample, then applies a weight and bias for each channel.

    Shape: (N, num_channels, ...), as for the result.

    >>> import engine
    >>> GroupNorm(2, 4, eps=0., affine=False)(engine.tensor([[1., 3., 5., 9.]]))
    tensor([[-1.,  1., -1.,  1.]])
    """

    __constants__ = ("num_groups", "num_channels", "eps", "affine")

    weight: Any
    bias: Any

    def __init__(
        self,
        num_groups: int,
        num_channels: int,
        eps: float = 1e-5,
        affine: bool = True,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__()
        if num_channels % num_groups != 0:
            raise ValueError(
                f"num_channels ({num_channels}) must be divisible by num_groups ({num_groups})"
            )
        self.num_groups, self.num_channels, self.eps = num_groups, num_channels, eps
        self.affine = affine
        for name, has_parameter in (("weight", affine), ("bias", affine and bias)):
            parameter = new_parameter(num_channels, device, dtype) if has_parameter else None
            self.register_parameter(name, parameter)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Set weight 1 and bias 0."""
        if self.affine:
            init.ones_(self.weight)
            if self.bias is not None:
                init.zeros_(self.bias)

    def forward(self, input: Tensor) -> Tensor:
        weight, bias = weight_and_bias(self)
        return F.group_norm(input, self.num_groups, weight, bias, self.eps)

    def extra_repr(self) -> str:
        return (
            f"{self.num_groups}, {self.num_channels}, eps={self.eps}, affine={self.affine}, "
            f"bias={self.bias is not None}"
        )


class LocalResponseNorm(Module):
    """Divides every element by a power of the mean square of its neighbouring channels.

    Formula: out = x / (k + alpha * mean of x * x over `size` channels around) ** beta
    """

    __constants__ = ("size", "alpha", "beta", "k")

    def __init__(self, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0) -> None:
        super().__init__()
        self.size, self.alpha, self.beta, self.k = size, alpha, beta, k

    def forward(self, input: Tensor) -> Tensor:
        return F.local_response_norm(input, self.size, self.alpha, self.beta, self.k)

    def extra_repr(self) -> str:
        return f"{self.size}, alpha={self.alpha}, beta={self.beta}, k={self.k}"


class CrossMapLRN2d(Module):
    """LocalResponseNorm of Torch7, for images (N, C, H, W): the sum has the first channel too."""

    def __init__(self, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1) -> None:
        super().__init__()
        self.size, self.alpha, self.beta, self.k = size, alpha, beta, k

    def forward(self, input: Tensor) -> Tensor:
        if input.dim() != 4:
            raise ValueError(f"CrossMapLRN2d: Expected input to be 4D, got {input.dim()}D instead.")
        # As in Torch7: an even size counts as the odd one below, and the first channel is in every sum.
        before = (self.size - 1) // 2
        squares = F.pad((input * input).unsqueeze(1), (0, 0, 0, 0, before, before))
        sums = F.avg_pool3d(squares, (2 * before + 1, 1, 1), stride=1, divisor_override=1).squeeze(
            1
        )
        first = (input[:, :1] * input[:, :1]).expand_as(input[:, before + 1 :])
        sums = sums + F.pad(first, (0, 0, 0, 0, before + 1, 0))[:, : input.shape[1]]
        return input / (self.k + self.alpha / self.size * sums) ** self.beta

    def extra_repr(self) -> str:
        return f"{self.size}, alpha={self.alpha}, beta={self.beta}, k={self.k}"
