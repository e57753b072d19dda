"""A function that the front end has compiled, before the core has it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from engine._native import ffi, lib
from engine._native.errors import raise_last
from engine.jit.frontend.signatures import Parameter
from engine.jit.frontend.source import Source
from engine.jit.types.jit_type import Type


@dataclass
class CompiledFunction:
    """A function as a graph; see the package's documentation."""

    name: str
    display_name: str  # `name` without its unique suffix
    graph: int
    parameters: tuple[Parameter, ...]
    type: Type  # of the result
    source: Source
    fn: Callable[..., Any]
    calls: dict[str, CompiledFunction] = field(default_factory=dict)
    ignored: dict[str, Callable[..., Any]] = field(default_factory=dict)
    native: Any = None  # the function of the core, once it is created
    classes: tuple[Any, ...] = ()  # and the Enums of its values

    @property
    def returns(self) -> str:
        """The type of the result, as graphs write it."""
        return self.type.text

    @property
    def defaults(self) -> tuple[Any, ...]:
        """Default values of the last parameters."""
        defaults: list[Any] = []
        for parameter in reversed(self.parameters):
            if not parameter.has_default:
                break
            defaults.append(parameter.default)
        return tuple(reversed(defaults))

    def text(self, with_source: bool = False) -> str:
        """Returns the graph as text."""
        text = lib.uh_graph_text(self.graph, with_source)
        if text == ffi.NULL:
            raise_last()
        return str(ffi.string(text).decode())

    def __del__(self) -> None:
        if lib is not None:  # while Python ends, modules are cleared first
            lib.uh_graph_release(self.graph)
