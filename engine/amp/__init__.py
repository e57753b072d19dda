"""Automatic mixed precision on the CPU: `autocast` in bfloat16, and `GradScaler`."""

from engine.amp.autocast_mode import autocast, custom_bwd, custom_fwd, is_autocast_available
from engine.amp.grad_scaler import GradScaler

__all__ = ["GradScaler", "autocast", "custom_bwd", "custom_fwd", "is_autocast_available"]
