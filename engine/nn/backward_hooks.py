"""Backward hooks of modules.

Note [Gates of backward hooks]: a module's inputs and outputs may belong to any nodes of the graph, so the graph
does not show where the module begins and ends. Both therefore pass through a node that does nothing: the
gradients that reach the node after forward are `grad_output`, and those that leave the node before forward are
`grad_input`. Inputs that need no gradient bypass the node and are None in `grad_input`.
"""

from __future__ import annotations

import functools
import warnings
from collections.abc import Iterable
from typing import Any

from engine.autograd.grad_mode import is_grad_enabled
from engine.nn.hook_registers import BoundHook, shared
from engine.tensor import Tensor


def watch(module: Any) -> Watch | Operator | None:
    """Return the object that installs the module's backward hooks around forward; None without hooks."""
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
    """Return the Function that does nothing. See Note [Gates of backward hooks]."""
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
    """Pass tensors through a gate; return all values, the tensors' positions and the gate's node (None: no
    gradient)."""
    positions = [i for i, value in enumerate(values) if isinstance(value, Tensor)]
    tensors = [values[i] for i in positions]
    if not is_grad_enabled() or not any(x.requires_grad for x in tensors):
        return values, [], None
    outputs = _gate().apply(*tensors)
    gated = list(values)
    for position, x in zip(positions, outputs, strict=True):
        gated[position] = x
    node = next(x.grad_fn for x in outputs if x.grad_fn is not None)
    kind: Any = type(values)
    return (tuple(gated) if kind is tuple else kind(*gated)), positions, node


def _spread(gradients: Iterable[Any], positions: list[int], length: int) -> tuple[Any, ...]:
    """Put the tensors' gradients at the tensors' positions among all values, with None elsewhere."""
    spread: list[Any] = [None] * length
    for position, gradient in zip(positions, gradients, strict=True):
        spread[position] = gradient
    return tuple(spread)


class Watch:
    """One call of a module with full backward hooks: its two gates, and the gradients of the second."""

    def __init__(self, module: Any, hooks: list[Any], pre_hooks: list[Any], last: Any) -> None:
        self.module, self.hooks, self.pre_hooks, self.last = module, hooks, pre_hooks, last
        self.grad_outputs: Any = None
        self.inputs: list[int] | None = (
            None  # positions of tensors; None: no input needs a gradient
        )
        self.outputs: list[int] = []
        self.input_count = self.output_count = 0

    def enter(self, args: tuple[Any, ...]) -> tuple[Any, ...]:
        """Pass the arguments through the first gate."""
        self.input_count = len(args)
        gated, positions, node = _through_gate(args)
        if node is not None:
            self.inputs = positions
            node.register_hook(self._inputs_known)
        return gated

    def leave(self, args: tuple[Any, ...], result: Any) -> Any:
        """Pass the result through the second gate."""
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
        grad_outputs = _spread(gradients, self.outputs, self.output_count)
        for hook in self.pre_hooks:
            replacement = hook(self.module, grad_outputs)
            grad_outputs = _checked(replacement, grad_outputs, "Backward pre hook", "grad_output")
        self.grad_outputs = grad_outputs
        if self.inputs is None:
            self._end_here()
        return tuple(grad_outputs[position] for position in self.outputs)

    def _inputs_known(self, gradients: tuple[Any, ...], _: Any) -> tuple[Any, ...] | None:
        if self.grad_outputs is None:  # a gradient that bypassed the outputs: double backward
            return None
        positions = self.inputs or []
        grad_inputs = _spread(gradients, positions, self.input_count)
        for hook in self.hooks:
            replacement = hook(self.module, grad_inputs, self.grad_outputs)
            grad_inputs = _checked(replacement, grad_inputs, "Backward hook", "grad_input")
        self.grad_outputs = None
        return tuple(grad_inputs[position] for position in positions)

    def _end_here(self) -> None:
        """Run the hooks now: no input needs a gradient, so backward never reaches the first gate."""
        warnings.warn(
            "Full backward hook is firing when gradients are computed with respect to module "
            "outputs since no inputs require gradients.",
            stacklevel=5,
        )
        nothing = (None,) * self.input_count
        for hook in self.hooks:
            replacement = hook(self.module, nothing, self.grad_outputs)
            if replacement is not None and not (
                isinstance(replacement, tuple) and all(gradient is None for gradient in replacement)
            ):
                raise RuntimeError(
                    "Backward hook for Modules where no input requires gradient should always "
                    "return None or None for all gradients."
                )
        self.grad_outputs = None


def _checked(replacement: Any, expected: Any, hook: str, gradients: str) -> Any:
    """Return a hook's result after a check of its length; `expected` if it is None."""
    if replacement is None:
        return expected
    if len(replacement) != len(expected):
        raise RuntimeError(
            f"{hook} returned an invalid number of {gradients}, "
            f"got {len(replacement)}, but expected {len(expected)}"
        )
    return replacement


class Operator:
    """Hooks of the older kind, which are registered with the output's node."""

    def __init__(self, module: Any, hooks: list[Any]) -> None:
        self.module, self.hooks = module, hooks

    def enter(self, args: tuple[Any, ...]) -> tuple[Any, ...]:
        return args

    def leave(self, args: tuple[Any, ...], result: Any) -> Any:
        output = result
        while not isinstance(output, Tensor):
            if isinstance(output, dict):
                output = next(value for value in output.values() if isinstance(value, Tensor))
            else:
                output = output[0]
        if output.grad_fn is not None:
            for hook in self.hooks:
                output.grad_fn.register_hook(BoundHook(hook, self.module))
            self._warn_of_what_is_missed(args, result, output.grad_fn)
        return result

    def _warn_of_what_is_missed(self, args: Any, result: Any, node: Any) -> None:
        advice = "Please use register_full_backward_hook to get the documented behavior."
        outputs = (result,) if isinstance(result, Tensor) else result
        inputs = (args,) if isinstance(args, Tensor) else args
        nodes = {id(x.grad_fn) for x in outputs if isinstance(x, Tensor) and x.grad_fn is not None}
        needed = {id(x.grad_fn) for x in inputs if isinstance(x, Tensor) and x.grad_fn is not None}
        if not isinstance(outputs, tuple) or not all(isinstance(x, Tensor) for x in outputs):
            message = (
                "Using non-full backward hooks on a Module that does not return a single Tensor or a "
                "tuple of Tensors is deprecated and will be removed in future versions. This hook "
                f"will be missing some of the grad_output. {advice}"
            )
        elif not isinstance(inputs, tuple) or not all(isinstance(x, Tensor) for x in inputs):
            message = (
                "Using non-full backward hooks on a Module that does not take as input a single "
                "Tensor or a tuple of Tensors is deprecated and will be removed in future versions. "
                f"This hook will be missing some of the grad_input. {advice}"
            )
        elif len(nodes) > 1:
            message = (
                "Using a non-full backward hook when outputs are generated by different autograd "
                "Nodes is deprecated and will be removed in future versions. This hook will be "
                f"missing some grad_output. {advice}"
            )
        elif {id(edge[0]) for edge in node.next_functions if edge[0] is not None} != needed:
            message = (
                "Using a non-full backward hook when the forward contains multiple autograd Nodes is "
                "deprecated and will be removed in future versions. This hook will be missing some "
                f"grad_input. {advice}"
            )
        else:
            return
        warnings.warn(message, FutureWarning, stacklevel=5)
