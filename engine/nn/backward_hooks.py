"""Hooks around a module's part of backward.

Note [Gates of backward hooks]: a module's inputs and outputs may belong to any nodes of the graph, so
hooks could not tell where the module begins and ends. Both therefore pass through a node that does
nothing: when backward reaches the node after forward, its gradients are `grad_output`; what comes out
of the node before forward is `grad_input`. Inputs that need no gradient are left as they are, and are
None in `grad_input`.
"""

from __future__ import annotations

import functools
import warnings
from collections.abc import Iterable
from typing import Any

from engine.autograd.grad_mode import is_grad_enabled
from engine.tensor import Tensor


def watch(module: Any) -> Watch | Operator | None:
    """What has to be done around forward for the module's backward hooks; None without any."""
    from engine.nn.hooks import shared

    before = [*shared.backward_pre.values(), *module._backward_pre_hooks.values()]
    full: list[Any] = []
    former: list[Any] = []
    if shared.full_backward is not None:
        (full if shared.full_backward else former).extend(shared.backward.values())
    if module._is_full_backward_hook is not None:
        own = module._backward_hooks.values()
        (full if module._is_full_backward_hook else former).extend(own)
    if not (before or full):
        return Operator(module, former) if former else None
    return Watch(module, full, before, Operator(module, former) if former else None)


@functools.cache
def _gate() -> Any:
    """The node that does nothing. See Note [Gates of backward hooks]."""
    from engine.autograd import Function

    class BackwardHookFunction(Function):
        @staticmethod
        def forward(ctx: Any, *inputs: Tensor) -> tuple[Tensor, ...]:
            outputs = tuple(x.detach() for x in inputs)
            pairs = zip(inputs, outputs, strict=True)
            ctx.mark_non_differentiable(*[y for x, y in pairs if not x.requires_grad])
            return outputs

        @staticmethod
        def backward(ctx: Any, *gradients: Any) -> tuple[Any, ...]:
            return gradients

    return BackwardHookFunction


def _through_gate(values: tuple[Any, ...]) -> tuple[tuple[Any, ...], list[int], Any]:
    """The values with tensors behind a gate, where they are, and the gate's node (None: no gradient)."""
    places = [i for i, value in enumerate(values) if isinstance(value, Tensor)]
    tensors = [values[i] for i in places]
    if not is_grad_enabled() or not any(x.requires_grad for x in tensors):
        return values, [], None
    made = _gate().apply(*tensors)
    gated = list(values)
    for place, x in zip(places, made, strict=True):
        gated[place] = x
    node = next(x.grad_fn for x in made if x.grad_fn is not None)
    kind: Any = type(values)
    return (tuple(gated) if kind is tuple else kind(*gated)), places, node


def _spread(gradients: Iterable[Any], places: list[int], length: int) -> tuple[Any, ...]:
    """Gradients of the tensors, at the tensors' places among all values."""
    made: list[Any] = [None] * length
    for place, gradient in zip(places, gradients, strict=True):
        made[place] = gradient
    return tuple(made)


class Watch:
    """One call of a module with full backward hooks: its two gates, and what passed the second."""

    def __init__(self, module: Any, hooks: list[Any], pre_hooks: list[Any], last: Any) -> None:
        self.module, self.hooks, self.pre_hooks, self.last = module, hooks, pre_hooks, last
        self.grad_outputs: Any = None
        self.inputs: list[int] | None = None  # places of tensors; None: no input needs a gradient
        self.outputs: list[int] = []
        self.input_count = self.output_count = 0

    def enter(self, args: tuple[Any, ...]) -> tuple[Any, ...]:
        """The arguments behind the first gate."""
        self.input_count = len(args)
        gated, places, node = _through_gate(args)
        if node is not None:
            self.inputs = places
            node.register_hook(self._inputs_known)
        return gated

    def leave(self, args: tuple[Any, ...], result: Any) -> Any:
        """The result behind the second gate."""
        if not isinstance(result, (Tensor, tuple)):
            warnings.warn(
                "For backward hooks to be called, module output should be a Tensor or a tuple of "
                f"Tensors but received {type(result)}",
                stacklevel=4,
            )
        else:
            single = isinstance(result, Tensor)
            values: Any = (result,) if single else result
            gated, self.outputs, node = _through_gate(values)
            self.output_count = len(gated)
            if node is not None:
                node.register_hook(self._outputs_known)
                result = gated[0] if single else gated
        return result if self.last is None else self.last.leave(args, result)

    def _outputs_known(self, _: Any, gradients: tuple[Any, ...]) -> tuple[Any, ...]:
        found = _spread(gradients, self.outputs, self.output_count)
        for hook in self.pre_hooks:
            made = hook(self.module, found)
            found = _checked(made, found, "Backward pre hook", "grad_output")
        self.grad_outputs = found
        if self.inputs is None:
            self._end_here()
        return tuple(found[place] for place in self.outputs)

    def _inputs_known(self, gradients: tuple[Any, ...], _: Any) -> tuple[Any, ...] | None:
        if self.grad_outputs is None:  # a gradient that did not pass the outputs: double backward
            return None
        places = self.inputs or []
        found = _spread(gradients, places, self.input_count)
        for hook in self.hooks:
            made = hook(self.module, found, self.grad_outputs)
            found = _checked(made, found, "Backward hook", "grad_input")
        self.grad_outputs = None
        return tuple(found[place] for place in places)

    def _end_here(self) -> None:
        """Backward does not reach the first gate, as no input needs a gradient: the hooks run now."""
        warnings.warn(
            "Full backward hook is firing when gradients are computed with respect to module "
            "outputs since no inputs require gradients.",
            stacklevel=5,
        )
        nothing = (None,) * self.input_count
        for hook in self.hooks:
            made = hook(self.module, nothing, self.grad_outputs)
            if made is not None and not (
                isinstance(made, tuple) and all(gradient is None for gradient in made)
            ):
                raise RuntimeError(
                    "Backward hook for Modules where no input requires gradient should always "
                    "return None or None for all gradients."
                )
        self.grad_outputs = None


def _checked(made: Any, expected: Any, hook: str, gradients: str) -> Any:
    """What a hook made of gradients; these themselves when it returned None."""
    if made is None:
        return expected
    if len(made) != len(expected):
        raise RuntimeError(
            f"{hook} returned an invalid number of {gradients}, "
            f"got {len(made)}, but expected {len(expected)}"
        )
    return made


class Operator:
    """Hooks of the former kind, which hang on the node of the output."""

    def __init__(self, module: Any, hooks: list[Any]) -> None:
        self.module, self.hooks = module, hooks

    def enter(self, args: tuple[Any, ...]) -> tuple[Any, ...]:
        return args

    def leave(self, args: tuple[Any, ...], result: Any) -> Any:
        from engine.nn.hooks import BoundHook

        found = result
        while not isinstance(found, Tensor):
            if isinstance(found, dict):
                found = next(value for value in found.values() if isinstance(value, Tensor))
            else:
                found = found[0]
        if found.grad_fn is not None:
            for hook in self.hooks:
                found.grad_fn.register_hook(BoundHook(hook, self.module))
            self._warn_of_what_is_missed(args, result, found.grad_fn)
        return result

    def _warn_of_what_is_missed(self, args: Any, result: Any, node: Any) -> None:
        advice = "Please use register_full_backward_hook to get the documented behavior."
        outputs = (result,) if isinstance(result, Tensor) else result
        inputs = (args,) if isinstance(args, Tensor) else args
        nodes = {id(x.grad_fn) for x in outputs if isinstance(x, Tensor) and x.grad_fn is not None}
        needed = {id(x.grad_fn) for x in inputs if isinstance(x, Tensor) and x.grad_fn is not None}
        if not isinstance(outputs, tuple) or not all(isinstance(x, Tensor) for x in outputs):
            told = (
                "Using non-full backward hooks on a Module that does not return a single Tensor or a "
                "tuple of Tensors is deprecated and will be removed in future versions. This hook "
                f"will be missing some of the grad_output. {advice}"
            )
        elif not isinstance(inputs, tuple) or not all(isinstance(x, Tensor) for x in inputs):
            told = (
                "Using non-full backward hooks on a Module that does not take as input a single "
                "Tensor or a tuple of Tensors is deprecated and will be removed in future versions. "
                f"This hook will be missing some of the grad_input. {advice}"
            )
        elif len(nodes) > 1:
            told = (
                "Using a non-full backward hook when outputs are generated by different autograd "
                "Nodes is deprecated and will be removed in future versions. This hook will be "
                f"missing some grad_output. {advice}"
            )
        elif {id(edge[0]) for edge in node.next_functions if edge[0] is not None} != needed:
            told = (
                "Using a non-full backward hook when the forward contains multiple autograd Nodes is "
                "deprecated and will be removed in future versions. This hook will be missing some "
                f"grad_input. {advice}"
            )
        else:
            return
        warnings.warn(told, FutureWarning, stacklevel=5)
