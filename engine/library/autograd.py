"""Gradient formulas from Python: an operator's Autograd kernel, which runs its own `autograd.Function`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from engine import ops
from engine._native import ffi, lib
from engine._native.errors import raise_last
from engine.autograd.function import Function
from engine.autograd.grad_mode import is_grad_enabled
from engine.boxed import box, unbox
from engine.tensor import Tensor


@dataclass
class Formula:
    """The functions of `register_autograd`; without `backward` differentiating is an error."""

    backward: Callable[..., Any] | None
    setup_context: Callable[..., Any] | None


@dataclass
class _Nested:
    """Positions of values in the flat list of `Function.apply`: None for a single value, n for a list of n."""

    lengths: tuple[int | None, ...]

    @classmethod
    def flatten(cls, values: Sequence[Any]) -> tuple[_Nested, list[Any]]:
        lengths: list[int | None] = []
        flat: list[Any] = []
        for value in values:
            is_list = isinstance(value, (list, tuple)) and any(
                isinstance(item, Tensor) for item in value
            )
            lengths.append(len(value) if is_list else None)
            flat.extend(value if is_list else [value])
        return cls(tuple(lengths)), flat

    def unflatten(self, flat: Sequence[Any]) -> list[Any]:
        values: list[Any] = []
        at = 0
        for length in self.lengths:
            if length is None:
                values.append(flat[at])
            else:
                values.append(list(flat[at : at + length]))
            at += 1 if length is None else length
        return values


def autograd_kernel(op: ops.Overload, formula: Formula) -> Callable[..., Any]:
    """Return the operator's kernel for Autograd: the kernels below, and a Node that runs the formula."""
    schema = op.schema
    positional = sum(not argument.keyword_only for argument in schema.arguments)
    names = [argument.name for argument in schema.arguments[positional:]]
    handle = lib.uh_operator_find(op.qualified_name.encode())
    if handle == ffi.NULL:
        raise_last()

    def redispatch(values: list[Any]) -> Any:
        slots, alive = box(values, schema)
        results = ffi.new("uh_value[8]")
        count = lib.uh_operator_redispatch(handle, slots, len(values), results)
        del alive
        if count < 0:
            raise_last()
        returned = tuple(unbox(results[i]) for i in range(count))
        return returned[0] if len(schema.returns) == 1 else returned

    def forward(ctx: Any, layout: _Nested, outputs: list[_Nested], *flat: Any) -> Any:
        values = layout.unflatten(flat)
        result = redispatch(values)
        needs = layout.unflatten(ctx.needs_input_grad[2:])
        ctx.needs_input_grad = tuple(needs[:positional])
        if formula.setup_context is not None:
            options = {"keyword_only_inputs": dict(zip(names, values[positional:], strict=True))}
            formula.setup_context(
                ctx=ctx,
                inputs=tuple(values[:positional]),
                output=result,
                **(options if names else {}),
            )
        several = len(schema.returns) > 1
        nested, all_outputs = _Nested.flatten(result if several else [result])
        outputs.append(nested)
        ctx._result_layout, ctx._argument_layout = nested, layout
        return tuple(all_outputs)

    def backward(ctx: Any, *grads: Any) -> Any:
        if formula.backward is None:
            raise RuntimeError(
                f"Trying to backward through {op.qualified_name} but no autograd formula was registered. Please use "
                "register_autograd to add one."
            )
        result = formula.backward(ctx, *ctx._result_layout.unflatten(grads))
        gradients = list(result) if isinstance(result, tuple) else [result]
        if len(gradients) != positional:
            raise RuntimeError(
                f"{op.qualified_name}: the backward formula returned an incorrect number of gradients (expected "
                f"{positional}, got {len(gradients)})"
            )
        gradients += [None] * len(names)
        flat: list[Any] = []
        for gradient, length in zip(gradients, ctx._argument_layout.lengths, strict=True):
            if length is None:
                flat.append(gradient)
            elif gradient is None:
                flat += [None] * length
            elif isinstance(gradient, (list, tuple)) and len(gradient) == length:
                flat += gradient
            else:
                raise RuntimeError(
                    f"{op.qualified_name}: the backward formula must return a list of {length} gradients for a list "
                    f"of {length} Tensors, got {type(gradient).__name__}"
                )
        return None, None, *flat

    name = f"GeneratedBackwardFor_{op.namespace}_{schema.name}_{schema.overload_name or 'default'}"
    functions = {"forward": staticmethod(forward), "backward": staticmethod(backward)}
    metaclass: Any = type(Function)
    generated = metaclass(name, (Function,), functions)

    def kernel(*args: Any, **options: Any) -> Any:
        values = [*args, *(options[keyword] for keyword in names)]
        layout, flat = _Nested.flatten(values)
        needs_node = is_grad_enabled() and any(
            isinstance(value, Tensor) and value.requires_grad for value in flat
        )
        if not needs_node:
            return redispatch(values)
        outputs: list[_Nested] = []
        connected = generated.apply(layout, outputs, *flat)
        results = outputs[0].unflatten(connected)
        return results[0] if len(schema.returns) == 1 else tuple(results)

    kernel.__name__ = f"{schema.full_name} (Autograd)"
    return kernel
