"""PyTorch's older weight_norm: a hook computes the weight before each call of the module."""

from __future__ import annotations

import warnings
from typing import Any

from engine.nn.module import Module
from engine.nn.parameter import Parameter
from engine.nn.utils.parametrizations import _WeightNorm
from engine.tensor import Tensor

__all__ = ["remove_weight_norm", "weight_norm"]


class WeightNorm:
    """The hook: sets the weight to g * v / |v|, from the parameters NAME_g and NAME_v of the module."""

    def __init__(self, name: str, dim: int | None) -> None:
        self.name = name
        self.dim = -1 if dim is None else dim
        self._norm = _WeightNorm(dim)

    def compute_weight(self, module: Any) -> Tensor:
        """Return the weight."""
        g, v = (getattr(module, f"{self.name}_{part}") for part in "gv")
        return self._norm.forward(g, v)

    def __call__(self, module: Any, inputs: Any) -> None:
        setattr(module, self.name, self.compute_weight(module))


def _hook_of(module: Module, name: str) -> int | None:
    """Return the key of the hook for this weight."""
    for key, hook in module._forward_pre_hooks.items():
        if isinstance(hook, WeightNorm) and hook.name == name:
            return key
    return None


def weight_norm(module: Any, name: str = "weight", dim: int | None = 0) -> Any:
    """Split a weight into its length and its direction, the parameters NAME_g and NAME_v.

    `parametrizations.weight_norm` is the newer form.
    Raises: RuntimeError if it is split already; AttributeError without such a weight.
    """
    warnings.warn(
        "`torch.nn.utils.weight_norm` is deprecated in favor of "
        "`torch.nn.utils.parametrizations.weight_norm`.",
        FutureWarning,
        stacklevel=2,
    )
    if _hook_of(module, name) is not None:
        raise RuntimeError(f"Cannot register two weight_norm hooks on the same parameter {name}")
    hook = WeightNorm(name, dim)
    g, v = hook._norm.right_inverse(getattr(module, name).detach())
    del module._parameters[name]
    module.register_parameter(f"{name}_g", Parameter(g))
    module.register_parameter(f"{name}_v", Parameter(v))
    hook(module, ())
    module.register_forward_pre_hook(hook)
    return module


def remove_weight_norm(module: Any, name: str = "weight") -> Any:
    """Make the weight a parameter again. Raises: ValueError if it was not split."""
    key = _hook_of(module, name)
    if key is None:
        raise ValueError(f"weight_norm of '{name}' not found in {module}")
    weight = module._forward_pre_hooks.pop(key).compute_weight(module)
    delattr(module, name)
    for part in "gv":
        del module._parameters[f"{name}_{part}"]
    setattr(module, name, Parameter(weight.detach()))
    return module
