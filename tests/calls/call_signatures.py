"""Every public function and method, and the arguments that each accepts by its signature.

Signatures come from the operators' schemas, and from Python's own where a function is written by hand.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import engine
from engine.function_schema import REQUIRED as NO_DEFAULT
from engine.function_schema import Argument, FunctionSchema

REQUIRED: Any = object()
NAMESPACES = ("", "nn.functional", "linalg", "special", "fft")
OUTSIDE = re.compile(
    # What a process has one of, files, and what is called back.
    r"set_.*|imported_as|use_deterministic_algorithms|manual_seed|seed|initial_seed|fork_rng|get_rng_state"
    r"|save|load|get_num_threads"
    r"|from_dlpack|from_bytes|from_file|get_printoptions|printoptions|register_.*hook|register_hook"
    r"|triplet_margin_with_distance_loss|data_ptr|seterr"
)
DUNDERS = """__abs__ __add__ __and__ __bool__ __complex__ __contains__ __div__ __eq__ __float__ __floordiv__ __ge__
__getitem__ __gt__ __iadd__ __iand__ __idiv__ __ifloordiv__ __ilshift__ __imod__ __imul__ __index__ __int__
__invert__ __ior__ __ipow__ __irshift__ __isub__ __itruediv__ __ixor__ __le__ __len__ __lshift__ __lt__
__matmul__ __mod__ __mul__ __ne__ __neg__ __or__ __pos__ __pow__ __radd__ __rand__ __rdiv__ __reversed__
__rfloordiv__ __rlshift__ __rmatmul__ __rmod__ __rmul__ __ror__ __rpow__ __rrshift__ __rshift__ __rsub__
__rtruediv__ __rxor__ __setitem__ __sub__ __truediv__ __xor__"""
ATTRIBUTES = "T mT H mH real imag data is_leaf nbytes itemsize ndim"


@dataclass(frozen=True)
class Parameter:
    """One argument: its name, its type in a schema's words, its default or REQUIRED."""

    name: str
    type: str
    default: Any = REQUIRED
    keyword_only: bool = False


@dataclass(frozen=True)
class Signature:
    """The parameters of one overload, and the operator's full name."""

    full_name: str
    parameters: tuple[Parameter, ...]


@dataclass(frozen=True)
class Target:
    """One public name, as the path from the module: "linalg.det", "Tensor.add_"."""

    path: str
    signatures: tuple[Signature, ...]
    attribute: bool = False

    @property
    def is_method(self) -> bool:
        return self.path.startswith("Tensor.")

    @property
    def name(self) -> str:
        return self.path.rpartition(".")[2]


def targets() -> list[Target]:
    """Return every public name of the engine that random arguments may be handed to, in order."""
    by_name: dict[str, list[FunctionSchema]] = {}
    for schema in engine.ops.schemas().values():
        by_name.setdefault(schema.name, []).append(schema)
    return [
        *_functions(by_name),
        *_methods(by_name),
        *(Target(f"Tensor.{name}", (), True) for name in ATTRIBUTES.split()),
    ]


def _functions(by_name: dict[str, list[FunctionSchema]]) -> Iterator[Target]:
    for namespace in NAMESPACES:
        home = engine
        for part in filter(None, namespace.split(".")):
            home = getattr(home, part)
        prefix = f"{namespace}_" if namespace not in ("", "nn.functional") else ""
        for name in sorted(dir(home)):
            result = getattr(home, name, None)
            module = getattr(result, "__module__", None) or "engine"
            if (
                name.startswith("_")
                or not callable(result)
                or isinstance(result, (type, engine.dtype))
                or not module.startswith("engine")
                or OUTSIDE.fullmatch(name)
            ):
                continue
            dot = f"{namespace}." if namespace else ""
            yield Target(dot + name, signatures(result, prefix + name, by_name))


def _methods(by_name: dict[str, list[FunctionSchema]]) -> Iterator[Target]:
    for name in sorted({*dir(engine.Tensor), *DUNDERS.split()}):
        if name not in DUNDERS and (name.startswith("_") or OUTSIDE.fullmatch(name)):
            continue
        result = getattr(engine.Tensor, name, None)
        if callable(result):
            bare = name.strip("_") if name.startswith("__") else name
            yield Target(
                f"Tensor.{name}", tuple(map(_receiver_first, signatures(result, bare, by_name)))
            )


def signatures(
    call: Callable[..., Any], name: str, by_name: dict[str, list[FunctionSchema]]
) -> tuple[Signature, ...]:
    """Return the signatures of `call`: from the schemas of its name (or its own, of an alias), and from Python."""
    names = (name, getattr(call, "__name__", name), name.removesuffix("_"))
    schemas = next((by_name[each] for each in names if each in by_name), ())
    matches = {schema.full_name: _of_schema(schema) for schema in schemas}
    for own in _of_python(call, name):
        if len(own.parameters) > 1 or not matches:
            matches[""] = own
    return tuple(value for value in matches.values() if value.parameters)


def _sized_text(argument: Argument) -> str:
    """Return the type with its size: `int[2]?`."""
    size = argument.type.without_optional.fixed_size
    return argument.type_text.replace("[]", f"[{size or ''}]")


def _of_schema(schema: FunctionSchema) -> Signature:
    return Signature(
        schema.full_name,
        tuple(
            Parameter(
                "input" if argument.name == "self" else argument.name,
                _sized_text(argument),
                REQUIRED if argument.default is NO_DEFAULT else argument.default,
                argument.keyword_only,
            )
            for argument in schema.arguments
        ),
    )


def _of_python(call: Callable[..., Any], name: str) -> Iterator[Signature]:
    try:
        parameters = inspect.signature(call).parameters.values()
    except (TypeError, ValueError):
        return
    matches = []
    for parameter in parameters:
        if parameter.kind in (parameter.VAR_KEYWORD,):
            continue
        kind = _type_of(parameter.name, str(parameter.annotation), parameter.default)
        default = REQUIRED if parameter.default is parameter.empty else parameter.default
        if parameter.kind is parameter.VAR_POSITIONAL:
            default = REQUIRED
        matches.append(
            Parameter(parameter.name, kind, default, parameter.kind is parameter.KEYWORD_ONLY)
        )
    if matches:
        yield Signature(name, tuple(matches))


_BY_ANNOTATION = (
    (r"^Sequence\[Tensor|^list\[Tensor|^tuple\[Tensor", "Tensor[]"),
    (r"^Tensor \| None", "Tensor?"),
    (r"^Tensor", "Tensor"),
    (r"Sequence\[int\]|tuple\[int|Shape|Size", "int[]"),
    (r"^int \| None", "int?"),
    (r"^int", "int"),
    (r"^bool", "bool"),
    (r"^float", "float"),
    (r"^Number", "Scalar"),
    (r"^str", "str"),
    (r"dtype", "ScalarType?"),
    (r"device", "Device?"),
    (r"memory_format", "MemoryFormat?"),
)


def _type_of(name: str, annotation: str, default: Any) -> str:
    for pattern, kind in _BY_ANNOTATION:
        if re.search(pattern, annotation):
            return kind
    if isinstance(default, bool):
        return "bool"
    if isinstance(default, (int, float, str)):
        return type(default).__name__
    if name in ("tensors", "arrays", "seq"):
        return "Tensor[]"
    if name in ("dim", "axis"):
        return "int?"
    if name in (
        "size",
        "shape",
        "kernel_size",
        "stride",
        "padding",
        "dilation",
        "output_size",
        "dims",
    ):
        return "int[]"
    if name == "dtype":
        return "ScalarType?"
    if name in ("reduction", "mode", "padding_mode"):
        return "str"
    if name in ("other", "value", "values", "exponent"):
        return "Operand"
    return "Tensor" if name in TENSORS.split() else "Any"


TENSORS = """self input target tensor weight bias anchor positive negative mask index source mat1 mat2 vec query key
value condition var x y indices grid theta"""


def _receiver_first(signature: Signature) -> Signature:
    """`polygamma(n, self)` as a method: the tensor goes first."""
    first = next((p for p in signature.parameters if p.name in ("input", "self")), None)
    if first is None or signature.parameters[0] is first:
        return signature
    others = tuple(p for p in signature.parameters if p is not first)
    return Signature(signature.full_name, (first, *others))
