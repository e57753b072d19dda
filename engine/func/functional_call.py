"""functional_call: a module called with other parameters and buffers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import engine
from engine.tensor import Tensor

__all__ = ["functional_call", "stack_module_state"]


def functional_call(
    module: Any,
    parameter_and_buffer_dicts: dict[str, Tensor] | Sequence[dict[str, Tensor]],
    args: Any = None,
    kwargs: dict[str, Any] | None = None,
    *,
    tie_weights: bool = True,
    strict: bool = False,
) -> Any:
    """Call a module as if the named tensors were its parameters and buffers; afterwards it has its own again.

    With `tie_weights`, all names of one tensor are replaced together. Raises: KeyError for an unknown name,
    RuntimeError if `strict` and a name is missing.

    >>> layer = engine.nn.Linear(1, 1, bias=False)
    >>> functional_call(layer, {"weight": engine.full((1, 1), 3.0)}, (engine.ones(1),))
    tensor([3.])
    """
    dicts = parameter_and_buffer_dicts
    merged: dict[str, Tensor] = {}
    for tensors in [dicts] if isinstance(dicts, dict) else dicts:
        merged.update(tensors)
    arguments = () if args is None else args if isinstance(args, tuple) else (args,)
    with _replaced(module, merged, tie_weights, strict):
        return module(*arguments, **(kwargs or {}))


@contextmanager
def _replaced(
    module: Any, tensors: dict[str, Tensor], tie_weights: bool, strict: bool
) -> Iterator[None]:
    slots: dict[str, tuple[dict[str, Any], str]] = {}
    for prefix, submodule in module.named_modules(remove_duplicate=False):
        for table in (submodule._parameters, submodule._buffers):
            for name in table:
                slots[f"{prefix}.{name}" if prefix else name] = table, name
    unknown = [name for name in tensors if name not in slots]
    if unknown:
        raise KeyError(f"functional_call: the module has no {unknown[0]!r}")
    if strict and (missing := [name for name in slots if name not in tensors]):
        raise RuntimeError(f"functional_call: missing {missing}")
    before = [(table, name, table[name]) for table, name in slots.values()]
    by_tensor = {id(slots[name][0][slots[name][1]]): tensor for name, tensor in tensors.items()}
    try:
        for table, name, value in before:
            if tie_weights and value is not None and id(value) in by_tensor:
                table[name] = by_tensor[id(value)]
        for name, tensor in tensors.items():
            table, key = slots[name]
            table[key] = tensor
        yield
    finally:
        for table, name, value in before:
            table[name] = value


def replace_all_batch_norm_modules_(root: Any) -> Any:
    """Make all batch norms of a module use the batch's statistics only, and return the module.

    `vmap` cannot write running statistics.
    """
    for module in root.modules():
        if (
            isinstance(module, engine.nn.modules.batchnorm._BatchNorm)
            and module.track_running_stats
        ):
            module.running_mean = module.running_var = module.num_batches_tracked = None
            module.track_running_stats = False
    return root


def stack_module_state(models: Sequence[Any]) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
    """Return the parameters and the buffers of modules of one class, stacked along a new first dimension.

    Raises: RuntimeError without modules, or if their classes or modes differ.
    """
    if not models:
        raise RuntimeError("stack_module_state: Expected at least one model, got 0.")
    if len({model.training for model in models}) > 1:
        raise RuntimeError(
            "stack_module_state: Expected all models to have the same training/eval mode."
        )
    if len({type(model) for model in models}) > 1:
        raise RuntimeError("stack_module_state: Expected all models to be of the same class.")
    results: list[dict[str, Tensor]] = []
    for kind in ("named_parameters", "named_buffers"):
        tables = [dict(getattr(model, kind)()) for model in models]
        results.append(
            {
                name: engine.stack([table[name].detach() for table in tables]).requires_grad_(
                    tables[0][name].requires_grad
                )
                for name in tables[0]
            }
        )
    return results[0], results[1]
