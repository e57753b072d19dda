"""Scenarios: functions of a module (engine, or torch) that return plain data.

A scenario returns a log of values, names of nodes, the order of calls, freed objects, the class of an
error and the facts in its message. The same function runs with both modules and has to return the
same. PyTorch's logs are stored in recorded.json (see record_scenarios.py).
"""

from __future__ import annotations

import contextlib
import functools
import gc
import importlib
import json
import math
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

RECORDED = Path(__file__).with_name("recorded.json")
FILES = (
    "graph", "calls", "derivatives", "inplace", "views", "hooks", "node_hooks", "function",
    "function_marks", "function_nesting", "grad_slot", "modes", "saved", "checkpoint", "threads",
    "gradients",
)  # fmt: skip
SCENARIOS: dict[str, Callable[[Any], Any]] = {}


def scenario(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Add a function of the module to the table, under its own name."""
    name = function.__name__.removesuffix("_")
    assert name not in SCENARIOS, f"two scenarios have the name {name}"
    SCENARIOS[name] = function
    return function


def scenario_of(**cases: Any) -> Callable[[Callable[[Any, Any], Any]], Callable[[Any, Any], Any]]:
    """Add a function of the module and a case: one scenario per case, with the name name[case]."""

    def add(function: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
        for name, case in cases.items():
            SCENARIOS[f"{function.__name__}[{name.rstrip('_')}]"] = functools.partial(
                function, case=case
            )
        return function

    return add


def all_scenarios() -> dict[str, Callable[[Any], Any]]:
    """Return the whole table, by name."""
    for name in FILES:
        importlib.import_module(f"scenarios_{name}")
    return SCENARIOS


def log_of(module: Any, name: str) -> Any:
    """Return the log of one scenario, converted to JSON and back."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        log = SCENARIOS[name](module)
    return json.loads(json.dumps(plain(log)))


def plain(value: Any) -> Any:
    """Return tensors as nested lists, and everything else as JSON values; inf and NaN as strings."""
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, complex):
        return {"re": plain(value.real), "im": plain(value.imag)}
    if hasattr(value, "tolist"):
        return plain((value.detach() if hasattr(value, "detach") else value).tolist())
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    return str(value).replace("torch.", "engine.")


def difference(ours: Any, theirs: Any, path: str = "") -> str | None:
    """Return the first difference between two logs, or None. Floats may differ by rounding."""
    if isinstance(ours, float | int) and isinstance(theirs, float | int):
        if isinstance(ours, bool) == isinstance(theirs, bool) and math.isclose(
            ours, theirs, rel_tol=1e-6, abs_tol=1e-9
        ):
            return None
    elif isinstance(ours, dict) and isinstance(theirs, dict) and set(ours) == set(theirs):
        if set(ours) == {"raises", "says"} and ours["raises"] == theirs["raises"]:
            missing = [fact for fact in theirs["says"] if fact not in ours["says"]]
            return f"{path}: the message of {ours['raises']} lacks {missing}" if missing else None
        result = (difference(ours[key], theirs[key], f"{path}.{key}") for key in theirs)
        return next(filter(None, result), None)
    elif isinstance(ours, list) and isinstance(theirs, list) and len(ours) == len(theirs):
        result = (
            difference(own, other, f"{path}[{i}]")
            for i, (own, other) in enumerate(zip(ours, theirs, strict=True))
        )
        return next(filter(None, result), None)
    elif ours == theirs and type(ours) is type(theirs):
        return None
    return f"{path or 'the log'}: {ours!r}, PyTorch returns {theirs!r}"


# ---- helpers of the scenarios


def leaf(m: Any, *values: Any, grad: bool = True, dtype: str = "float64") -> Any:
    """Return a tensor of the values (or of one nested list) that requires grad."""
    data = values[0] if len(values) == 1 and isinstance(values[0], list) else list(values)
    return m.tensor(data, dtype=getattr(m, dtype), requires_grad=grad)


def error(call: Callable[[], Any], *facts: str) -> Any:
    """Return the class of the error that `call` raises, and the facts that its message contains."""
    try:
        value = call()
    except Exception as raised:
        text = str(raised)
        return {"raises": type(raised).__name__, "says": [fact for fact in facts if fact in text]}
    return {"raises": None, "value": plain(value)}


def name(node: Any) -> str | None:
    """Return a node's name without its namespace and without the number at its end, which only PyTorch's
    table of gradients explains. PyTorch's UnsafeViewBackward counts as ViewBackward."""
    if node is None:
        return None
    plain_name = node.name().split("::")[-1].rstrip("0123456789")
    return "ViewBackward" if plain_name == "UnsafeViewBackward" else plain_name


def graph(node: Any) -> Any:
    """Return a node and the graph below it: [name, [[next node, its output number], ...]]."""
    if node is None:
        return None
    return [name(node), [[graph(next_node), number] for next_node, number in node.next_functions]]


def about(x: Any) -> list[Any]:
    """Return requires_grad, is_leaf and the name of the node."""
    return [x.requires_grad, x.is_leaf, name(x.grad_fn)]


def alive(*references: Any) -> list[bool]:
    """Return whether the object of each weak reference still exists; no cycles are collected."""
    return [reference() is not None for reference in references]


def double(m: Any, **methods: Any) -> Any:
    """Return a Function that doubles its input; `methods` replace its own."""

    def forward(ctx, x):
        return x * 2

    def backward(ctx, g):
        return g * 2

    members = {"forward": forward, "backward": backward, **methods}
    namespace = {key: staticmethod(value) for key, value in members.items()}
    return type("Double", (m.autograd.Function,), namespace)


class Mark:
    """An object that its owner stores: when a weak reference to it dies, the owner has been freed."""


def marking(m: Any) -> Any:
    """Return a Function whose node stores a Mark: apply(x, mark) is x * 2."""

    def forward(ctx: Any, x: Any, mark: Mark) -> Any:
        ctx.mark = mark
        return x * 2

    return double(m, forward=forward, backward=lambda ctx, g: (g * 2, None))


@contextlib.contextmanager
def no_collection() -> Any:
    """Suspend the collection of cycles: an object that is freed inside was released by its last holder."""
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
