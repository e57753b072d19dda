"""GradScaler: scales losses up, so that small gradients in 16 bits are not rounded to 0."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from typing import Any

import engine
from engine.tensor import Tensor

__all__ = ["GradScaler"]


class GradScaler:
    """Scales losses, and skips steps whose gradients overflow; the scale adapts.

    The scale is multiplied by `growth_factor` after `growth_interval` steps without an overflow, and by
    `backoff_factor` after each overflow. An absent device disables the scaler with a warning, as in PyTorch.
    """

    def __init__(
        self,
        device: str = "cuda",
        init_scale: float = 2.0**16,
        growth_factor: float = 2.0,
        backoff_factor: float = 0.5,
        growth_interval: int = 2000,
        enabled: bool = True,
    ) -> None:
        self._device = device
        if enabled and not engine.device(device).exists():
            warnings.warn(
                f"torch.{device}.amp.GradScaler is enabled, but {device.upper()} is not available.  Disabling.",
                stacklevel=2,
            )
            enabled = False
        self._enabled = enabled
        if enabled and growth_factor <= 1:
            raise AssertionError("The growth factor must be > 1.0.")
        if enabled and backoff_factor >= 1:
            raise AssertionError("The backoff factor must be < 1.0.")
        self._scale = init_scale
        self._growth_factor, self._backoff_factor = growth_factor, backoff_factor
        self._growth_interval, self._growth_tracker = growth_interval, 0
        self._is_used = False  # PyTorch requires a call of scale() first
        self._overflows: dict[int, bool] = {}  # by the id of each optimizer that was unscaled
        self._stepped: set[int] = set()

    def scale(self, outputs: Any) -> Any:
        """Return a tensor, or an iterable of tensors, times the scale."""
        if not self._enabled:
            return outputs
        self._is_used, self._scale = True, float(self._scale)
        if isinstance(outputs, Tensor):
            return outputs * engine.tensor(self._scale, dtype=engine.float32)
        if isinstance(outputs, Iterable):
            scaled = map(self.scale, outputs)
            return type(outputs)(scaled) if isinstance(outputs, (list, tuple)) else scaled
        raise ValueError("outputs must be a Tensor or an iterable of Tensors")

    def _check_used(self, name: str) -> None:
        if not self._is_used:
            raise AssertionError(
                f"Attempted {name} but _scale is None.  This may indicate your script did not use "
                "scaler.scale(loss or outputs) earlier in the iteration."
            )

    def unscale_(self, optimizer: Any) -> None:
        """Divide the gradients of the optimizer's parameters by the scale, once before each `update`."""
        if not self._enabled:
            return
        self._check_used("unscale_")
        if id(optimizer) in self._stepped:
            raise RuntimeError("unscale_() is being called after step().")
        if id(optimizer) in self._overflows:
            raise RuntimeError(
                "unscale_() has already been called on this optimizer since the last update()."
            )
        parameters = [p for group in optimizer.param_groups for p in group["params"]]
        gradients = [p.grad for p in parameters if p.grad is not None]
        if any(g.dtype == engine.float16 for g in gradients):
            raise ValueError("Attempting to unscale FP16 gradients.")
        is_finite = True
        with engine.no_grad():
            for gradient in gradients:
                is_finite &= bool(gradient.isfinite().all())
                gradient.mul_(1 / self._scale)
        self._overflows[id(optimizer)] = not is_finite

    def step(self, optimizer: Any, *args: Any, **kwargs: Any) -> Any:
        """Unscale the gradients, unless they already are, and call `optimizer.step` if they are finite."""
        if not self._enabled:
            return optimizer.step(*args, **kwargs)
        if "closure" in kwargs:
            raise RuntimeError("Closure use is not currently supported if GradScaler is enabled.")
        self._check_used("step")
        if id(optimizer) in self._stepped:
            raise RuntimeError("step() has already been called since the last update().")
        if id(optimizer) not in self._overflows:
            self.unscale_(optimizer)
        self._stepped.add(id(optimizer))
        return None if self._overflows[id(optimizer)] else optimizer.step(*args, **kwargs)

    def update(self, new_scale: Any = None) -> None:
        """Adapt the scale to the overflows since the last call, or set it to `new_scale`."""
        if not self._enabled:
            return
        self._check_used("update")
        if new_scale is not None:
            self._scale = float(new_scale)
        elif not self._overflows:
            raise AssertionError("No inf checks were recorded prior to update.")
        elif any(self._overflows.values()):
            self._scale *= self._backoff_factor
            self._growth_tracker = 0
        else:
            self._growth_tracker += 1
            if self._growth_tracker == self._growth_interval:
                self._scale *= self._growth_factor
                self._growth_tracker = 0
        self._overflows.clear()
        self._stepped.clear()

    def get_scale(self) -> float:
        """Return the scale, 1.0 if disabled."""
        return self._scale if self._enabled else 1.0

    def get_growth_factor(self) -> float:
        """Return the factor after `growth_interval` steps without an overflow."""
        return self._growth_factor

    def set_growth_factor(self, new_factor: float) -> None:
        """Set the factor after `growth_interval` steps without an overflow."""
        self._growth_factor = new_factor

    def get_backoff_factor(self) -> float:
        """Return the factor after an overflow."""
        return self._backoff_factor

    def set_backoff_factor(self, new_factor: float) -> None:
        """Set the factor after an overflow."""
        self._backoff_factor = new_factor

    def get_growth_interval(self) -> int:
        """Return the number of steps without an overflow after which the scale grows."""
        return self._growth_interval

    def set_growth_interval(self, new_interval: int) -> None:
        """Set the number of steps without an overflow after which the scale grows."""
        self._growth_interval = new_interval

    def is_enabled(self) -> bool:
        """Return whether anything is scaled."""
        return self._enabled

    def state_dict(self) -> dict[str, Any]:
        """Return the scale, factors and counts; empty if disabled."""
        if not self._enabled:
            return {}
        return {
            "scale": self.get_scale(),
            "growth_factor": self._growth_factor,
            "backoff_factor": self._backoff_factor,
            "growth_interval": self._growth_interval,
            "_growth_tracker": self._growth_tracker,
        }

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Restore what `state_dict` returned."""
        if not self._enabled:
            return
        if not state_dict:
            raise RuntimeError(
                "The source state dict is empty, possibly because it was saved from a disabled instance "
                "of GradScaler."
            )
        for name in self.state_dict():
            setattr(self, f"_{name.lstrip('_')}", state_dict[name])
