"""Switches of the CUDA backend, which is absent: a switch stores its value and changes nothing."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


def is_built() -> bool:
    """Return False: there are no CUDA kernels."""
    return False


class _MatmulSettings:
    """Settings of matrix products on a CUDA device."""

    def __init__(self) -> None:
        self.allow_tf32 = False
        self.allow_fp16_reduced_precision_reduction = True
        self.allow_bf16_reduced_precision_reduction = True
        self.allow_fp16_accumulation = False


matmul = _MatmulSettings()
_sdp = {"flash": True, "mem_efficient": True, "math": True, "cudnn": True}


def flash_sdp_enabled() -> bool:
    """Return the switch of flash attention on a CUDA device."""
    return _sdp["flash"]


def mem_efficient_sdp_enabled() -> bool:
    """Return the switch of memory-efficient attention on a CUDA device."""
    return _sdp["mem_efficient"]


def math_sdp_enabled() -> bool:
    """Return the switch of unfused attention on a CUDA device."""
    return _sdp["math"]


def cudnn_sdp_enabled() -> bool:
    """Return the switch of cuDNN's attention on a CUDA device."""
    return _sdp["cudnn"]


def enable_flash_sdp(enabled: bool) -> None:
    """Set the switch of flash attention."""
    _sdp["flash"] = bool(enabled)


def enable_mem_efficient_sdp(enabled: bool) -> None:
    """Set the switch of memory-efficient attention."""
    _sdp["mem_efficient"] = bool(enabled)


def enable_math_sdp(enabled: bool) -> None:
    """Set the switch of unfused attention."""
    _sdp["math"] = bool(enabled)


def enable_cudnn_sdp(enabled: bool) -> None:
    """Set the switch of cuDNN's attention."""
    _sdp["cudnn"] = bool(enabled)


@contextmanager
def sdp_kernel(
    enable_flash: bool = True,
    enable_math: bool = True,
    enable_mem_efficient: bool = True,
    enable_cudnn: bool = True,
) -> Iterator[dict[str, Any]]:
    """Set the switches of attention inside the block."""
    before = dict(_sdp)
    _sdp.update(
        flash=enable_flash,
        math=enable_math,
        mem_efficient=enable_mem_efficient,
        cudnn=enable_cudnn,
    )
    try:
        yield {}
    finally:
        _sdp.update(before)
