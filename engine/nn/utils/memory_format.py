"""Weights of convolutions in another memory format."""

from __future__ import annotations

from typing import Any

from engine.nn.modules import conv

__all__ = ["convert_conv2d_weight_memory_format", "convert_conv3d_weight_memory_format"]


def convert_conv2d_weight_memory_format(module: Any, memory_format: Any) -> Any:
    """Store the weights of all Conv2d and ConvTranspose2d in a memory format, and return the module."""
    return _convert(module, (conv.Conv2d, conv.ConvTranspose2d), memory_format)


def convert_conv3d_weight_memory_format(module: Any, memory_format: Any) -> Any:
    """Store the weights of all Conv3d and ConvTranspose3d in a memory format, and return the module."""
    return _convert(module, (conv.Conv3d, conv.ConvTranspose3d), memory_format)


def _convert(module: Any, kinds: tuple[Any, ...], memory_format: Any) -> Any:
    layers: Any = module.modules()
    for layer in layers:
        if isinstance(layer, kinds):
            layer.weight.data = layer.weight.detach().clone(memory_format=memory_format)
    return module
