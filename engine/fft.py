"""Fourier transforms under PyTorch's names: `engine.fft.fft`, `irfft2`, `fftfreq`...

The functions are generated from csrc/ops/fft.yaml: the operators named `fft_...`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine._generated.ops import space as _space

if TYPE_CHECKING:
    from engine._generated.functions_fft import *  # noqa: F403
else:
    __getattr__, __dir__ = _space("fft", globals())
