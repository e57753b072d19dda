"""One public name for several overloads: the first whose schema takes the arguments is called.

PyTorch has several operators under one name (`max` of a tensor, of a dimension, of two tensors).
The generated functions know one each; `Overloads` chooses, in the order of the yaml file. What it
found is remembered by the types of the arguments, wherever the types alone decide.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from engine.arguments import accepts, type_word
from engine.tensor import Tensor

NUMPY_NAMES = {"axis": "dim", "keepdims": "keepdim"}  # NumPy's words, which PyTorch takes too


@dataclass(frozen=True)
class Parameter:
    """One argument of a schema, as Python sees it."""

    kind: str  # the schema's type, such as "int[]?"
    name: str
    required: bool
    keyword_only: bool = False
    number_too: bool = False  # a pointwise operand: a number will do for the tensor

    def takes(self, value: object) -> bool:
        if accepts(self.kind, value):
            return True
        if self.number_too:
            return accepts("Scalar", value)
        if self.kind.startswith("int[") and self.kind != "int[]":  # int[2]: one number for both
            return accepts("int", value)
        return self.kind == "int[]" and accepts("int", value)


@dataclass(frozen=True)
class Overload:
    """One operator behind a public name."""

    call: Callable[..., Any]
    schema: str
    parameters: tuple[Parameter, ...]
    varargs: str = ""

    def _given(self, args: Sequence[Any], options: dict[str, Any]) -> list[tuple[str, Any]]:
        """(kind, value) of the arguments."""
        kinds = {p.name: p.kind for p in self.parameters}
        named = [(kinds.get(NUMPY_NAMES.get(k, k), "out"), v) for k, v in options.items()]
        return [*zip((p.kind for p in self.parameters), args, strict=False), *named]

    def reads_tensor(self, args: Sequence[Any], options: dict[str, Any]) -> bool:
        """Whether a 0-d tensor would stand for a number."""
        return any(
            isinstance(value, Tensor) and not kind.startswith(("Tensor", "out"))
            for kind, value in self._given(args, options)
        )

    def decided_by_types(self, args: Sequence[Any], options: dict[str, Any]) -> bool:
        """Whether other arguments of the same types fit too: not where a tensor stands for a number,
        or where a list's items matter."""
        listed = any(isinstance(value, (list, tuple)) for _, value in self._given(args, options))
        return not listed and not self.reads_tensor(args, options)

    def fits(self, args: Sequence[Any], options: dict[str, Any]) -> bool:
        """Whether these arguments can be given to the operator."""
        names = {p.name: p for p in self.parameters}
        given = set()
        for position, value in enumerate(args):
            if position >= len(self.parameters):
                return False
            parameter = self.parameters[position]
            if parameter.name == self.varargs:
                given.add(parameter.name)
                rest = args[position:]
                whole = rest[0] if len(rest) == 1 and not isinstance(rest[0], int) else list(rest)
                if not parameter.takes(whole):
                    return False
                break
            if parameter.keyword_only or not parameter.takes(value):
                return False
            given.add(parameter.name)
        for name, value in options.items():
            if name == "out":
                continue
            parameter_or_none = names.get(NUMPY_NAMES.get(name, name))
            if parameter_or_none is None or not parameter_or_none.takes(value):
                return False
            given.add(parameter_or_none.name)
        return all(not p.required or p.name in given for p in self.parameters)


def overloaded(name: str, doc: str, overloads: Sequence[Overload]) -> Callable[..., Any]:
    """A function that calls the first of `overloads` that its arguments fit.

    Raises: TypeError that lists the schemas when none does.
    """
    remembered: dict[Any, Callable[..., Any]] = {}

    def choose(*args: Any, **options: Any) -> Any:
        key = (*map(type, args), *options, *map(type, options.values()))
        call = remembered.get(key)
        if call is not None:
            return call(*args, **options)
        second_best = None  # takes a tensor for a number, which no other may want as a tensor
        for one in overloads:
            if not one.fits(args, options):
                continue
            if one.reads_tensor(args, options):
                second_best = second_best or one
                continue
            if one.decided_by_types(args, options):
                remembered[key] = one.call
            return one.call(*args, **options)
        if second_best:
            return second_best.call(*args, **options)
        given = [*map(type_word, args), *(f"{k}={type_word(v)}" for k, v in options.items())]
        schemas = "".join(f"\n  {one.schema}" for one in overloads)
        raise TypeError(f"{name}: cannot be called with ({', '.join(given)}); there are{schemas}")

    choose.__name__ = choose.__qualname__ = name
    choose.__doc__ = doc
    return choose
