"""Overload resolution: a public function calls the first overload whose schema accepts the arguments.

PyTorch has several operators under one name (`max` of a tensor, of a dimension, of two tensors).
A generated function calls one of them; `overloaded` returns a function that tries them in the order of the
yaml file. Its choice is cached by the types of the arguments, if the types alone decide.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from engine.arguments import INTEGER, SCALAR, TENSOR, accepts, type_word
from engine.function_schema import SchemaType
from engine.tensor import Tensor

NUMPY_NAMES = {"axis": "dim", "keepdims": "keepdim"}  # NumPy's names, which PyTorch accepts too


@dataclass(frozen=True)
class Parameter:
    """One argument of a schema, as Python sees it."""

    type: SchemaType
    name: str
    required: bool
    keyword_only: bool = False
    number_too: bool = False  # a pointwise operand: a number is accepted for the tensor

    def takes(self, value: object) -> bool:
        if accepts(self.type, value):
            return True
        if self.number_too:
            return accepts(SCALAR, value)
        return self.type.one_for_all and accepts(INTEGER, value)  # int[2]: one number for both


@dataclass(frozen=True)
class Overload:
    """One operator of a public function."""

    call: Callable[..., Any]
    schema: str
    parameters: tuple[Parameter, ...]
    varargs: str = ""

    def _typed(self, args: Sequence[Any], options: dict[str, Any]) -> list[tuple[SchemaType, Any]]:
        """Return the (type, value) pairs of the arguments; `out` is a tensor."""
        types = {p.name: p.type for p in self.parameters}
        named = [(types.get(NUMPY_NAMES.get(k, k), TENSOR), v) for k, v in options.items()]
        return [*zip((p.type for p in self.parameters), args, strict=False), *named]

    def reads_tensor(self, args: Sequence[Any], options: dict[str, Any]) -> bool:
        """Return True if a 0-d tensor is passed for a number."""
        return any(
            isinstance(value, Tensor) and type_.base != "Tensor"
            for type_, value in self._typed(args, options)
        )

    def decided_by_types(self, args: Sequence[Any], options: dict[str, Any]) -> bool:
        """Return True if any arguments of these types match too. A list, or a tensor passed for a number, must be
        checked by value."""
        listed = any(isinstance(value, (list, tuple)) for _, value in self._typed(args, options))
        return not listed and not self.reads_tensor(args, options)

    def fits(self, args: Sequence[Any], options: dict[str, Any]) -> bool:
        """Return True if the operator accepts these arguments."""
        names = {p.name: p for p in self.parameters}
        bound = set()
        for position, value in enumerate(args):
            if position >= len(self.parameters):
                return False
            parameter = self.parameters[position]
            if parameter.name == self.varargs:
                bound.add(parameter.name)
                remaining = args[position:]
                sequence = (
                    remaining[0]
                    if len(remaining) == 1 and not isinstance(remaining[0], int)
                    else list(remaining)
                )
                if not parameter.takes(sequence):
                    return False
                break
            if parameter.keyword_only or not parameter.takes(value):
                return False
            bound.add(parameter.name)
        for name, value in options.items():
            if name == "out":
                continue
            parameter_or_none = names.get(NUMPY_NAMES.get(name, name))
            if parameter_or_none is None or not parameter_or_none.takes(value):
                return False
            bound.add(parameter_or_none.name)
        return all(not p.required or p.name in bound for p in self.parameters)


def overloaded(name: str, doc: str, overloads: Sequence[Overload]) -> Callable[..., Any]:
    """Return a function that calls the first of `overloads` that its arguments fit.

    The function raises a TypeError that lists the schemas when no overload fits.
    """
    remembered: dict[Any, Callable[..., Any]] = {}

    def choose(*args: Any, **options: Any) -> Any:
        key = (*map(type, args), *options, *map(type, options.values()))
        call = remembered.get(key)
        if call is not None:
            return call(*args, **options)
        second_best = None  # converts a tensor to a number; called only if no other overload accepts the tensor
        for overload in overloads:
            if not overload.fits(args, options):
                continue
            if overload.reads_tensor(args, options):
                second_best = second_best or overload
                continue
            if overload.decided_by_types(args, options):
                remembered[key] = overload.call
            return overload.call(*args, **options)
        if second_best:
            return second_best.call(*args, **options)
        arguments = [*map(type_word, args), *(f"{k}={type_word(v)}" for k, v in options.items())]
        schemas = "".join(f"\n  {overload.schema}" for overload in overloads)
        raise TypeError(
            f"{name}: cannot be called with ({', '.join(arguments)}); there are{schemas}"
        )

    choose.__name__ = choose.__qualname__ = name
    choose.__doc__ = doc
    return choose
