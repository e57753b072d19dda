"""PyTorch's symbolic tracer, which stays out: `jit.trace` and `jit.script` are the graphs here.

`wrap` marks a function as a leaf of symbolic traces, which changes nothing without them.
"""

from __future__ import annotations

import sys
from typing import Any

from engine.unsupported import module_getattr

_NAMES = (
    "CodeGen Graph GraphModule Interpreter Node Proxy ProxyableClassMeta Tracer Transformer "
    "has_side_effect map_arg replace_pattern symbolic_trace"
)
__all__ = [*_NAMES.split(), "wrap"]

__getattr__ = module_getattr(
    "fx",
    _NAMES,
    "trace the module with jit.trace or compile it with jit.script, whose graphs can be read and changed",
    globals(),
)


def wrap(fn_or_name: Any) -> Any:
    """Return the function or the name: nothing is traced symbolically, so there are no leaves to mark."""
    if not callable(fn_or_name) and not isinstance(fn_or_name, str):
        raise RuntimeError(
            "Unsupported type for global function! Must be either a callable or string name"
        )
    return fn_or_name


# PyTorch has them in these files of the package, from where libraries import them.
for _file in ("graph", "graph_module", "interpreter", "node", "proxy"):
    globals()[_file] = sys.modules[f"{__name__}.{_file}"] = sys.modules[__name__]
