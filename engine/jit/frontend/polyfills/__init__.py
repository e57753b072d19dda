"""Functions and methods of the engine, written once more in the language that is compiled.

The originals do things that compiled code cannot: look an operator up in a table, return one from a
method, give a name values of different types, catch a KeyError. `substitute` says what is compiled in
their place; `tests/engine/jit/test_layers.py` holds both against each other.
"""

from __future__ import annotations

from typing import Any

from engine.jit.frontend.polyfills import attention, layers, recurrent, tensors, vision

_SUBSTITUTES = {
    **attention.SUBSTITUTES,
    **layers.SUBSTITUTES,
    **recurrent.SUBSTITUTES,
    **tensors.SUBSTITUTES,
    **vision.SUBSTITUTES,
}


def substitute(fn: Any, module: Any = None) -> Any:
    """What is compiled for a function, or a method of `module`: most often the function itself."""
    for family in (recurrent, layers):
        found = family.of_module(fn, module)
        if found is not None:
            return found
    return _SUBSTITUTES.get(fn, fn)
