"""Fourier transforms under PyTorch's names: `engine.fft.fft`, `irfft2`, `fftfreq`...

The functions are generated from csrc/ops/fft.yaml: the operators named `fft_...`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine._generated.ops import space as _space
from engine.factories import factory_of as _factory_of

if TYPE_CHECKING:
    from engine._generated.functions_fft import *  # noqa: F403
else:
    __getattr__, __dir__ = _space("fft", globals())
    fftfreq = _factory_of(
        "fft_fftfreq",
        "The n frequencies of `fft`: k / (n d), the second half negative; d is the spacing (1.0).",
    )
    rfftfreq = _factory_of(
        "fft_rfftfreq",
        "The n / 2 + 1 frequencies of `rfft`: k / (n d); d is the spacing of the samples (1.0).",
    )
