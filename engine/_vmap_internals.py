"""PyTorch's older module of `vmap`, from which libraries import it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from engine.func.vmap import vmap as vmap


def _vmap(
    func: Callable[..., Any],
    in_dims: Any = 0,
    out_dims: Any = 0,
    allow_none_pass_through: bool = False,
) -> Callable[..., Any]:
    """Return what `vmap` does; results that are None pass in either case."""
    return vmap(func, in_dims, out_dims)
