"""PyTorch's module paths for layers that are in other files here: `from torch.nn.modules.sparse import
Embedding`."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

from engine._native.namespace import no_attribute
from engine.layer_paths import PATHS

__all__ = ["add_paths"]


def add_paths(layers: ModuleType) -> None:
    """Make every name of PATHS available in PyTorch's module for it, below the package `layers`."""

    def attribute_of(module: str, name: str) -> Any:
        if PATHS.get(name) != module:
            raise no_attribute(f"nn.modules.{module}", name)
        return getattr(layers, name)

    for module in set(PATHS.values()) - {"module", "rnn"}:  # these modules exist
        path = f"{layers.__name__}.{module}"
        if path not in sys.modules:
            alias = ModuleType(path, f"PyTorch's `{path.replace('engine', 'torch', 1)}`.")
            alias.__dict__["__all__"] = [name for name, home in PATHS.items() if home == module]
            sys.modules[path] = alias
            setattr(layers, module, alias)
        sys.modules[path].__dict__["__getattr__"] = lambda name, module=module: attribute_of(
            module, name
        )
