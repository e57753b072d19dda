"""Signal processing under PyTorch's names: `engine.signal.windows`."""

from __future__ import annotations

from engine.signal import windows as windows

__all__ = ["windows"]
