"""PyTorch's older spectral_norm: a hook divides the weight by its largest singular value before each call."""

from __future__ import annotations

from typing import Any

import engine
from engine.nn import functional
from engine.nn.module import Module
from engine.nn.parameter import Parameter
from engine.tensor import Tensor

__all__ = ["remove_spectral_norm", "spectral_norm"]


class SpectralNorm:
    """The hook: NAME is the parameter NAME_orig over |NAME_orig|, with singular vectors in NAME_u and NAME_v."""

    def __init__(self, name: str, n_power_iterations: int, dim: int, eps: float) -> None:
        if n_power_iterations <= 0:
            raise ValueError(
                "Expected n_power_iterations to be positive, "
                f"but got n_power_iterations={n_power_iterations}"
            )
        self.name, self.n_power_iterations, self.dim, self.eps = name, n_power_iterations, dim, eps

    def reshape_weight_to_matrix(self, weight: Tensor) -> Tensor:
        """Return the weight as a matrix whose rows are the outputs."""
        return weight.movedim(self.dim, 0).flatten(1)

    def compute_weight(self, module: Any, do_power_iteration: bool) -> Tensor:
        """Return the weight, after a better estimate of the singular vectors if requested."""
        original, u, v = (getattr(module, f"{self.name}_{part}") for part in ("orig", "u", "v"))
        matrix = self.reshape_weight_to_matrix(original)
        if do_power_iteration:
            with engine.no_grad():
                for _ in range(self.n_power_iterations):
                    v.copy_(functional.normalize(matrix.t() @ u, dim=0, eps=self.eps))
                    u.copy_(functional.normalize(matrix @ v, dim=0, eps=self.eps))
                # Backward needs these values, and the next call overwrites the buffers.
                u, v = u.clone(), v.clone()
        return original / engine.dot(u, matrix @ v)

    def __call__(self, module: Any, inputs: Any) -> None:
        setattr(module, self.name, self.compute_weight(module, module.training))


def _hook_of(module: Module, name: str) -> int | None:
    """Return the key of the hook for this weight."""
    for key, hook in module._forward_pre_hooks.items():
        if isinstance(hook, SpectralNorm) and hook.name == name:
            return key
    return None


def output_dim(module: Module) -> int:
    """Return the dimension of a module's weight that counts its outputs: 1 for transposed convolutions, else 0."""
    transposed = ("ConvTranspose1d", "ConvTranspose2d", "ConvTranspose3d")
    return int(isinstance(module, tuple(getattr(engine.nn, name) for name in transposed)))


def spectral_norm(
    module: Any,
    name: str = "weight",
    n_power_iterations: int = 1,
    eps: float = 1e-12,
    dim: int | None = None,
) -> Any:
    """Divide a weight by its largest singular value; `parametrizations.spectral_norm` is the newer form.

    `dim` is the dimension of the outputs: 1 for transposed convolutions, else 0.
    Raises: RuntimeError if that is done already; AttributeError without such a weight.
    """
    if _hook_of(module, name) is not None:
        raise RuntimeError(f"Cannot register two spectral_norm hooks on the same parameter {name}")
    if dim is None:
        dim = output_dim(module)
    hook = SpectralNorm(name, n_power_iterations, dim, eps)
    weight = module._parameters.pop(name, None)
    if weight is None:
        raise AttributeError(f"'{type(module).__name__}' object has no attribute '{name}'")
    module.register_parameter(f"{name}_orig", Parameter(weight.detach()))
    setattr(module, name, weight.detach())  # replaced by the first call
    matrix = hook.reshape_weight_to_matrix(weight.detach())
    for side, size in zip("uv", matrix.shape, strict=True):
        direction = engine.randn(size, dtype=weight.dtype)
        module.register_buffer(f"{name}_{side}", functional.normalize(direction, dim=0, eps=eps))
    module.register_forward_pre_hook(hook)
    return module


def remove_spectral_norm(module: Any, name: str = "weight") -> Any:
    """Make the divided weight a parameter again. Raises: ValueError if it was not divided."""
    key = _hook_of(module, name)
    if key is None:
        raise ValueError(f"spectral_norm of '{name}' not found in {module}")
    hook = module._forward_pre_hooks.pop(key)
    with engine.no_grad():
        weight = hook.compute_weight(module, do_power_iteration=False)
    delattr(module, name)
    del module._parameters[f"{name}_orig"]
    for side in "uv":
        del module._buffers[f"{name}_{side}"]
    setattr(module, name, Parameter(weight.detach()))
    return module
