"""Predefined parametrizations: weight_norm and spectral_norm."""

from __future__ import annotations

from typing import Any

import engine
from engine.nn import functional
from engine.nn.module import Module
from engine.nn.utils.parametrize import register_parametrization
from engine.tensor import Tensor

__all__ = ["spectral_norm", "weight_norm"]


class _WeightNorm(Module):
    """g * v / |v|, with the norm over all dimensions but `dim`, or over all if `dim` is -1."""

    def __init__(self, dim: int | None = 0) -> None:
        super().__init__()
        self.dim = -1 if dim is None else dim

    def _norm(self, v: Tensor) -> Tensor:
        if self.dim == -1:
            norm: Tensor = engine.linalg.vector_norm(v)
        else:
            others = [d for d in range(v.dim()) if d != self.dim % v.dim()]
            norm = engine.linalg.vector_norm(v, dim=others, keepdim=True) if others else v.abs()
        return norm

    def forward(self, weight_g: Tensor, weight_v: Tensor) -> Tensor:
        return weight_v * (weight_g / self._norm(weight_v))

    def right_inverse(self, weight: Tensor) -> tuple[Tensor, Tensor]:
        """Return the weight's norm, and the weight itself as the direction."""
        return self._norm(weight), weight


def weight_norm(module: Module, name: str = "weight", dim: int | None = 0) -> Module:
    """Split a weight into its length and its direction: w = g * v / |v|.

    `module.parametrizations.weight.original0` is g, `.original1` v; `dim=None` uses a single length for
    the tensor. State dicts with `weight_g` and `weight_v` can be loaded.

    >>> layer = weight_norm(engine.nn.Linear(20, 40))
    >>> layer.parametrizations.weight.original0.shape
    engine.Size([40, 1])
    """
    register_parametrization(module, name, _WeightNorm(dim), unsafe=True)

    def rename(state: dict[str, Any], prefix: str, *_: Any) -> None:
        old = [f"{prefix}{name}_{part}" for part in ("g", "v")]
        if all(key in state for key in old):
            for i, key in enumerate(old):
                state[f"{prefix}parametrizations.{name}.original{i}"] = state.pop(key)

    module._register_load_state_dict_pre_hook(rename)
    return module


class _SpectralNorm(Module):
    """A weight divided by its largest singular value, which power iterations in training estimate."""

    _u: Tensor
    _v: Tensor

    def __init__(
        self, weight: Tensor, n_power_iterations: int = 1, dim: int = 0, eps: float = 1e-12
    ) -> None:
        super().__init__()
        ndim = weight.dim()
        if not -ndim <= dim < ndim:
            raise IndexError(
                "Dimension out of range (expected to be in range of "
                f"[-{ndim}, {ndim - 1}] but got {dim})"
            )
        if n_power_iterations <= 0:
            raise ValueError(
                "Expected n_power_iterations to be positive, "
                f"but got n_power_iterations={n_power_iterations}"
            )
        self.dim = dim % ndim
        self.eps = eps
        if ndim > 1:
            self.n_power_iterations = n_power_iterations
            with engine.no_grad():
                matrix = self._matrix(weight)
                for side, size in zip(("_u", "_v"), matrix.shape, strict=True):
                    drawn = engine.empty(size, dtype=weight.dtype).normal_(0, 1)
                    self.register_buffer(side, functional.normalize(drawn, dim=0, eps=eps))
            self._iterate(matrix, 15)

    def _matrix(self, weight: Tensor) -> Tensor:
        if self.dim != 0:
            others = (d for d in range(weight.dim()) if d != self.dim)
            weight = weight.permute(self.dim, *others)
        return weight.flatten(1)

    def _iterate(self, matrix: Tensor, times: int) -> None:
        with engine.no_grad():
            for _ in range(times):
                for vector, product in (
                    (self._u, lambda: engine.mv(matrix, self._v)),
                    (self._v, lambda: engine.mv(matrix.t(), self._u)),
                ):
                    vector.copy_(functional.normalize(product(), dim=0, eps=self.eps))

    def forward(self, weight: Tensor) -> Tensor:
        if weight.dim() == 1:
            normalized: Tensor = functional.normalize(weight, dim=0, eps=self.eps)
            return normalized
        matrix = self._matrix(weight)
        if self.training:
            self._iterate(matrix, self.n_power_iterations)
        # Clone them: the next iteration overwrites them while backward still needs these values.
        u, v = self._u.clone(), self._v.clone()
        return weight / engine.dot(u, engine.mv(matrix, v))

    def right_inverse(self, value: Tensor) -> Tensor:
        """Return the value itself: an assigned value is normalized when it is read."""
        return value


def spectral_norm(
    module: Module,
    name: str = "weight",
    n_power_iterations: int = 1,
    eps: float = 1e-12,
    dim: int | None = None,
) -> Module:
    """Divide a weight by its largest singular value.

    `dim` is the dimension of the outputs: 1 for transposed convolutions, else 0.
    Raises: ValueError if the module has no such tensor.
    """
    weight = getattr(module, name, None)
    if not isinstance(weight, Tensor):
        raise ValueError(f"Module '{module}' has no parameter or buffer with name '{name}'")
    if dim is None:
        kinds = ("ConvTranspose1d", "ConvTranspose2d", "ConvTranspose3d")
        dim = int(isinstance(module, tuple(getattr(engine.nn, kind) for kind in kinds)))
    parametrization = _SpectralNorm(weight, n_power_iterations, dim, eps)
    return register_parametrization(module, name, parametrization)
