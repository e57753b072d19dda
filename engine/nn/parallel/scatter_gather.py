"""Inputs distributed over devices; there is only one."""

from __future__ import annotations

from engine.unsupported import module_getattr

__getattr__ = module_getattr(
    "nn.parallel.scatter_gather",
    "gather scatter scatter_kwargs",
    "modules run on one device; pass the inputs to the module itself",
    globals(),
)
