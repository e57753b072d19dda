"""Settings of PyTorch's JIT, and queries about compiled code.

The engine has one executor and one fuser. Settings that choose among PyTorch's are checked and stored,
so that programs that use them run; settings that request a missing feature raise or warn.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NoReturn

from engine.function_schema import parse_schema
from engine.jit.ir.graph import Graph
from engine.jit.runtime.function import ScriptFunction
from engine.jit.runtime.module import ScriptModule
from engine.jit.serialization import freeze
from engine.nn import Module

# As in PyTorch, PYTORCH_JIT=0 disables compilation.
ENABLED = os.environ.get("PYTORCH_JIT", "1") != "0"

_FUSERS = ("fuser0", "fuser1", "fuser2", "fuser3")
_strategy: list[tuple[str, int]] = [("STATIC", 2), ("DYNAMIC", 10)]


@contextmanager
def optimized_execution(should_optimize: bool) -> Iterator[None]:
    """Does nothing for True: calls always run optimised.

    Raises: RuntimeError for False: optimisation does not change results, and `fn.graph.run(*inputs)`
    runs a graph as it was compiled.
    """
    if not should_optimize:
        raise RuntimeError(
            "jit.optimized_execution(False): calls of compiled code are always optimised, and give "
            "the same results; fn.graph.run(*inputs) runs a graph as it was compiled"
        )
    yield


@contextmanager
def fuser(name: str) -> Iterator[None]:
    """Accepts the names of PyTorch's fusers ("fuser0" to "fuser3"), all of which select the engine's
    one. Raises: ValueError for any other name."""
    if name not in _FUSERS:
        raise ValueError(
            f"unrecognized fuser option (name: {name}); there are {', '.join(_FUSERS)}"
        )
    yield


def set_fusion_strategy(strategy: Sequence[tuple[str, int]]) -> list[tuple[str, int]]:
    """Sets how often PyTorch specialises for sizes, and returns the previous setting.

    It has no effect: the engine's fused code is valid for all sizes.
    Raises: ValueError unless each kind is "STATIC" or "DYNAMIC", with an int.
    """
    global _strategy
    for kind, depth in strategy:
        if kind not in ("STATIC", "DYNAMIC"):
            raise ValueError(f"FusionBehavior only supported 'STATIC' or 'DYNAMIC', got: {kind}")
        if not isinstance(depth, int):
            raise ValueError(f"set_fusion_strategy: the depth of {kind} is an int, not {depth!r}")
    before, _strategy = _strategy, [(str(kind), int(depth)) for kind, depth in strategy]
    return before


def enable_onednn_fusion(enabled: bool) -> None:
    """Warns when it is turned on: oneDNN is not part of the engine, whose own fuser is always on."""
    if enabled:
        warnings.warn(
            "jit.enable_onednn_fusion: there is no oneDNN here; the engine's own fuser is on",
            stacklevel=2,
        )


def onednn_fusion_enabled() -> bool:
    """Returns False: oneDNN is not part of the engine."""
    return False


def last_executed_optimized_graph() -> NoReturn:
    """Raises NotImplementedError: the graph is not stored, because threads would overwrite each
    other's."""
    raise NotImplementedError(
        "jit.last_executed_optimized_graph: it is not kept; ask the function, with inputs like those: "
        "fn.graph_for(*inputs)"
    )


def optimize_for_inference(
    mod: ScriptModule, other_methods: list[str] | None = None
) -> ScriptModule:
    """Returns a module frozen with `optimize_numerics`: see `jit.freeze`.

    other_methods: methods besides forward to keep callable.
    Raises: ValueError for anything but a ScriptModule, RuntimeError for one in training mode.
    """
    if not isinstance(mod, ScriptModule):
        raise ValueError(
            "optimize_for_inference expects a ScriptModule as input. Please use torch.jit.script or "
            f"torch.jit.trace to script your {type(mod).__name__}."
        )
    return freeze(mod, other_methods or [], True)


def run_frozen_optimizations(
    mod: ScriptModule, optimize_numerics: bool = True, preserved_methods: list[str] | None = None
) -> None:
    """Does nothing: a module's first call runs the exact optimisations, and `freeze` those that change
    rounding (`optimize_numerics`); a module frozen without these must be frozen again.

    Raises: ValueError for anything but a ScriptModule.
    """
    if not isinstance(mod, ScriptModule):
        raise ValueError(
            f"run_frozen_optimizations: expected a ScriptModule, got {type(mod).__name__}"
        )


def export_opnames(m: ScriptModule | ScriptFunction) -> list[str]:
    """Returns the operators that a module or function calls, with their overloads, sorted:
    "aten::add.Tensor".

    Raises: TypeError for an object that is not compiled.
    """
    if isinstance(m, ScriptFunction):
        return sorted(_names_in(m.inlined_graph))
    if not isinstance(m, ScriptModule):
        description = (
            "a module; script or trace it first" if isinstance(m, Module) else type(m).__name__
        )
        raise TypeError(
            f"jit.export_opnames: expected a ScriptModule or ScriptFunction, got {description}"
        )
    names: set[str] = set()
    for module in m.modules():
        if isinstance(module, ScriptModule):
            for method in module.__dict__["_methods"].values():
                names |= _names_in(method.inlined_graph)
    return sorted(names)


def _names_in(graph: Graph) -> set[str]:
    return {_full_name(node) for node in _nodes(graph.snapshot()["block"]) if node.get("schema")}


def _nodes(block: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Returns all nodes, also those of forks."""
    blocks = [block]
    while blocks:
        for node in blocks.pop()["nodes"]:
            yield node
            blocks += [
                *node["blocks"],
                *(graph["block"] for graph in node.get("graphs", {}).values()),
            ]


def _full_name(node: dict[str, Any]) -> str:
    overload = parse_schema(node["schema"]).overload_name
    return f"{node['kind']}.{overload}" if overload else str(node["kind"])
