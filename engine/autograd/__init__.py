"""Differentiation: `backward`, `grad`, grad modes, the graph, and custom Functions.

Every operation on tensors that require gradients creates a Node with its gradient formula (`tensor.grad_fn`).
`backward` runs the Nodes from a result to the leaves and sums the gradients in the leaves' `.grad`.
"""

from __future__ import annotations

import importlib
import warnings
from typing import TYPE_CHECKING, Any

from engine._native import ffi, lib
from engine._native.errors import last_error
from engine._native.namespace import namespace
from engine.autograd.anomaly_mode import detect_anomaly, is_anomaly_enabled, set_detect_anomaly
from engine.autograd.edge import GradientEdge
from engine.autograd.grad_mode import (
    enable_grad,
    inference_mode,
    is_grad_enabled,
    is_inference_mode_enabled,
    no_grad,
    set_grad_enabled,
    set_multithreading_enabled,
)
from engine.creation import zeros_like
from engine.tensor import Tensor, wrap


def _tuple(value: Any) -> tuple[Any, ...]:
    if value is None:
        return ()
    return (value,) if isinstance(value, (Tensor, GradientEdge)) else tuple(value)


def _run(
    roots: tuple[Any, ...],
    gradients: tuple[Tensor | None, ...],
    inputs: tuple[Any, ...],
    flags: int,
) -> list[Tensor | None]:
    """Run one backward pass; return the gradients of `inputs`, unless they are accumulated."""
    n, m = len(roots), len(inputs)
    results = ffi.new("uh_handle[]", m or 1)
    gradient_handles = [0 if g is None else g._h for g in gradients]
    if any(isinstance(x, GradientEdge) for x in (*roots, *inputs)):
        status = _run_edges(roots, gradient_handles, inputs, flags, results)
    else:
        status = lib.uh_backward(
            [r._h for r in roots], gradient_handles, n, [i._h for i in inputs], m, flags, results
        )
    if status != 0:
        error = last_error()
        if is_anomaly_enabled():
            from engine.autograd.anomaly_mode import warn_of_forward_call

            warn_of_forward_call()
        raise error
    if flags & lib.UH_BACKWARD_ACCUMULATE:
        return []
    return [wrap(results[i]) if results[i] else None for i in range(m)]


def _run_edges(
    roots: Any, gradient_handles: list[int], inputs: Any, flags: int, results: Any
) -> int:
    from engine.autograd.graph import get_gradient_edge

    starts = [r if isinstance(r, GradientEdge) else get_gradient_edge(r) for r in roots]
    ends = [i if isinstance(i, GradientEdge) else get_gradient_edge(i) for i in inputs]
    for i, root in enumerate(roots):
        if not gradient_handles[i]:
            if isinstance(root, GradientEdge):
                raise RuntimeError("grad can be implicitly created only for scalar outputs")
            gradient_handles[i] = _ones(root)._h
    return int(
        lib.uh_backward_edges(
            [e.node._node for e in starts], [e.output_nr for e in starts], gradient_handles, len(starts),
            [e.node._node for e in ends], [e.output_nr for e in ends], len(ends), flags, results,
        )
    )  # fmt: skip


def _ones(root: Tensor) -> Tensor:
    if root.numel() != 1:
        raise RuntimeError("grad can be implicitly created only for scalar outputs")
    return root.detach().new_ones(root.shape)


def _gradients(roots: tuple[Any, ...], value: Any) -> tuple[Tensor | None, ...]:
    if value is None:
        return (None,) * len(roots)
    if not isinstance(value, (Tensor, list, tuple)):
        value = (value,)
    gradients = (value,) if isinstance(value, Tensor) else tuple(value)
    for gradient in gradients:
        if gradient is not None and not isinstance(gradient, Tensor):
            raise TypeError(
                f"gradients can be either Tensors or None, but got {type(gradient).__name__}"
            )
    if len(gradients) != len(roots):
        raise RuntimeError(f"got {len(roots)} tensors and {len(gradients)} gradients")
    return gradients


def backward(
    tensors: Any,
    grad_tensors: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    grad_variables: Any = None,
    inputs: Any = None,
) -> None:
    """Sum the gradients of `tensors` with respect to leaves into their `.grad`.

    Args:
        tensors: a tensor or several, each with a graph.
        grad_tensors: the gradient of each, of its shape; None means 1 for a tensor of one element.
        retain_graph: keep the saved tensors, to run the graph again; default: as `create_graph`.
        create_graph: record the computation of the gradients, to differentiate them again.
        inputs: accumulate the gradients of these tensors only.
    Raises: RuntimeError without a graph, for a freed graph, or if a saved tensor was modified in place.
    """
    roots = _tuple(tensors)
    if inputs is not None and not isinstance(inputs, (Tensor, GradientEdge)) and len(inputs) == 0:
        raise RuntimeError("`inputs` argument to `backward()` cannot be empty.")
    gradients = _gradients(roots, grad_tensors if grad_tensors is not None else grad_variables)
    flags = (
        lib.UH_BACKWARD_ACCUMULATE
        | lib.UH_BACKWARD_ALLOW_UNUSED
        | (lib.UH_BACKWARD_CREATE_GRAPH if create_graph else 0)
    )
    if create_graph if retain_graph is None else retain_graph:
        flags |= lib.UH_BACKWARD_KEEP_GRAPH
    targets = _tuple(inputs)
    for target in targets:
        if not isinstance(target, (Tensor, GradientEdge)):
            raise TypeError(f"backward: inputs must be tensors, got {type(target).__name__}")
    if _can_run(roots, gradients):  # else an invalid root is reported first
        for target in targets:
            if isinstance(target, Tensor) and not target.is_leaf:
                target.retain_grad()
    _run(roots, gradients, targets, flags)


def _can_run(roots: tuple[Any, ...], gradients: tuple[Tensor | None, ...]) -> bool:
    """Return True if every root has a graph, and a gradient or a single number."""
    return all(
        not isinstance(root, Tensor)
        or (
            root.requires_grad
            and (gradient is not None or (root.numel() == 1 and root.is_floating_point()))
        )
        for root, gradient in zip(roots, gradients, strict=True)
    )


def grad(
    outputs: Any,
    inputs: Any,
    grad_outputs: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    only_inputs: bool = True,
    allow_unused: bool | None = None,
    is_grads_batched: bool = False,
    materialize_grads: bool = False,
) -> tuple[Any, ...]:
    """Return the gradients of the sum of `outputs` with respect to `inputs`; no `.grad` changes.

    Args:
        outputs, inputs: a tensor or several; inputs may be leaves or intermediate results.
        grad_outputs: the gradient of each output, of its shape; None means 1 for an output of one element.
        allow_unused: return None for an input that no output depends on, instead of raising.
        materialize_grads: return zeros for it.
        is_grads_batched: run one pass per entry of the first dimension of `grad_outputs`.
        only_inputs: deprecated in PyTorch and without effect.
    Returns: a gradient of the input's shape and dtype per input.
    """
    if not only_inputs:
        warnings.warn(
            "only_inputs argument is deprecated and is ignored now (defaults to True). To accumulate gradient for "
            f"other parts of the graph, please use {namespace()}.autograd.backward.",
            FutureWarning,
            stacklevel=2,
        )
    roots, targets = _tuple(outputs), _tuple(inputs)
    if materialize_grads and allow_unused is False:
        raise ValueError(
            "Expected allow_unused to be True or not passed when materialize_grads=True, but got: "
            "allow_unused=False."
        )
    if allow_unused is None:
        allow_unused = materialize_grads
    if not targets:
        raise RuntimeError("grad requires non-empty inputs.")
    for target in targets:
        if isinstance(target, Tensor) and not target.requires_grad:
            raise RuntimeError("One of the differentiated Tensors does not require grad")
    if is_grads_batched:
        return _batched(roots, targets, grad_outputs, create_graph, allow_unused, materialize_grads)
    flags = (lib.UH_BACKWARD_CREATE_GRAPH if create_graph else 0) | (
        lib.UH_BACKWARD_ALLOW_UNUSED if allow_unused else 0
    )
    if create_graph if retain_graph is None else retain_graph:
        flags |= lib.UH_BACKWARD_KEEP_GRAPH
    gradients = _run(roots, _gradients(roots, grad_outputs), targets, flags)
    if materialize_grads:
        return tuple(
            _zeros(t).requires_grad_(create_graph) if g is None else g
            for g, t in zip(gradients, targets, strict=True)
        )
    return tuple(gradients)


def _zeros(target: Any) -> Tensor:
    if isinstance(target, GradientEdge):
        raise RuntimeError(
            "materialize_grads cannot be used when the given input is a GradientEdge"
        )
    return zeros_like(target)


def _batched(
    roots: tuple[Any, ...],
    targets: tuple[Any, ...],
    grad_outputs: Any,
    create_graph: bool,
    allow_unused: bool,
    materialize: bool,
) -> tuple[Any, ...]:
    """Run one pass per entry of the first dimension of the gradients, and stack the results."""
    from engine import stack

    gradients = _gradients(roots, grad_outputs)
    sizes = {g.shape[0] for g in gradients if g is not None and g.dim()}
    if len(sizes) != 1:
        raise RuntimeError(
            "If `is_grads_batched=True`, the gradients must have one first dimension in common, "
            f"got sizes {sorted(sizes)}"
        )
    rows = []
    for i in range(sizes.pop()):
        row = [None if g is None else g[i] for g in gradients]
        rows.append(
            grad(
                roots,
                targets,
                row,
                retain_graph=True,
                create_graph=create_graph,
                allow_unused=allow_unused,
                materialize_grads=materialize,
            )
        )
    return tuple(None if column[0] is None else stack(column) for column in zip(*rows, strict=True))


def _is_checkpoint_valid() -> bool:
    """Return True if a re-entrant checkpoint may run backward: only in a pass to all leaves."""
    return bool(lib.uh_run_is_plain())


_LAZY = {
    "Function": "engine.autograd.function",
    "gradcheck": "engine.autograd.gradcheck",
    "gradgradcheck": "engine.autograd.gradcheck",
    "GradcheckError": "engine.autograd.gradcheck",
    "Variable": "engine.autograd.variable",
}
_MODULES = (
    "anomaly_mode",
    "function",
    "functional",
    "grad_mode",
    "graph",
    "profiler",
    "variable",
)

if TYPE_CHECKING:
    from engine.autograd import function, functional, graph  # noqa: F401
    from engine.autograd.function import Function as Function
    from engine.autograd.gradcheck import gradcheck as gradcheck
    from engine.autograd.gradcheck import gradgradcheck as gradgradcheck
    from engine.autograd.variable import Variable as Variable
else:

    def __getattr__(name: str) -> Any:
        if name in _MODULES:
            return importlib.import_module(f"engine.autograd.{name}")
        if name not in _LAZY:
            from engine.absent_names import absent

            raise absent("autograd", name)
        value = globals()[name] = getattr(importlib.import_module(_LAZY[name]), name)
        return value


__all__ = [
    "Function",
    "Variable",
    "backward",
    "detect_anomaly",
    "enable_grad",
    "grad",
    "gradcheck",
    "gradgradcheck",
    "inference_mode",
    "is_grad_enabled",
    "is_inference_mode_enabled",
    "no_grad",
    "set_detect_anomaly",
    "set_grad_enabled",
    "set_multithreading_enabled",
]
