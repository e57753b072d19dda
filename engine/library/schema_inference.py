"""Schemas of Python functions, from their annotations."""

from __future__ import annotations

import collections.abc
import inspect
import types
import typing
from collections.abc import Callable, Iterable
from typing import Any, NoReturn

from engine.dtypes import device, dtype
from engine.tensor import Tensor

Number = int | float | bool
_LISTS = (list, collections.abc.Sequence)
# Annotation -> (schema type, whether lists of it are taken). An optional list of the numbers is, too.
_PARAMETERS: dict[Any, tuple[str, bool]] = {
    Tensor: ("Tensor", True),
    int: ("int", True),
    float: ("float", True),
    bool: ("bool", False),
    str: ("str", False),
    Number: ("Scalar", False),
    dtype: ("ScalarType", False),
    device: ("Device", False),
}
_RESULTS: dict[Any, str] = {
    Tensor: "Tensor",
    list[Tensor]: "Tensor[]",
    typing.List[Tensor]: "Tensor[]",  # noqa: UP006
    int: "int",
    float: "float",
    bool: "bool",
    Number: "Scalar",
}


def infer_schema(
    prototype_function: Callable[..., Any],
    /,
    *,
    mutates_args: str | Iterable[str],
    op_name: str | None = None,
) -> str:
    """Return the schema of an annotated function; `mutates_args` names the tensors it writes, or is "unknown".

    Raises: ValueError for an annotation that no schema has, or a parameter without one.

    >>> import engine
    >>> def scale(x: engine.Tensor, by: float = 2.0) -> engine.Tensor: ...
    >>> infer_schema(scale, op_name="scale", mutates_args=())
    'scale(Tensor x, float by=2.0) -> Tensor'
    """
    signature = inspect.signature(prototype_function)

    def fail(problem: str) -> NoReturn:
        raise ValueError(f"infer_schema(func): {problem} Got func with signature {signature})")

    if isinstance(mutates_args, str) and mutates_args != "unknown":
        raise ValueError(
            "mutates_args must either be a sequence of the names of the arguments that are mutated or the string "
            "'unknown'. "
        )
    scope = getattr(prototype_function, "__globals__", {})
    written = mutates_args if isinstance(mutates_args, str) else set(mutates_args)
    parameters: list[str] = []
    for index, (name, parameter) in enumerate(signature.parameters.items()):
        if parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
            fail("We do not support positional-only args, varargs, or varkwargs.")
        if parameter.kind is parameter.KEYWORD_ONLY and "*" not in parameters:
            parameters.append("*")
        if parameter.annotation is parameter.empty:
            fail(f"Parameter {name} must have a type annotation.")
        schema_type = _parameter_type(name, _resolve(parameter.annotation, scope, fail), fail)
        is_tensor = schema_type.startswith("Tensor")
        if name in written and written != "unknown" and not is_tensor:
            fail(
                f"Parameter {name} is in mutable_args but only Tensors or collections of Tensors can be mutated"
            )
        if is_tensor and (written == "unknown" or name in written):
            schema_type = f"Tensor(a{index}!){schema_type.removeprefix('Tensor')}"
        parameters.append(f"{schema_type} {name}{_default(name, parameter, fail)}")
    if not isinstance(written, str) and (unseen := written - set(signature.parameters)):
        fail(
            f"{unseen} in mutates_args were not found in the custom op's signature. mutates_args should contain the "
            "names of all args that the custom op mutates, or just the string 'unknown' if you don't know."
        )
    result = _result_type(_resolve(signature.return_annotation, scope, fail), fail)
    return f"{op_name or ''}({', '.join(parameters)}) -> {result}"


def _resolve(annotation: Any, scope: dict[str, Any], fail: Callable[[str], NoReturn]) -> Any:
    """Evaluate an annotation that is a string, or holds one."""
    if isinstance(annotation, str):
        try:
            return _resolve(eval(annotation, scope), scope, fail)
        except NameError as error:
            fail(
                f"Unsupported type annotation {annotation}. It is not a type. ({error}). If you are using 'from "
                "__future__ import annotations', note that annotations are evaluated lazily as strings; make sure all "
                "types referenced in annotations are importable at module scope, not only inside a local function."
            )
        except Exception as error:
            fail(
                f"Unsupported type annotation {annotation}. It is not a type. ({type(error).__name__}: {error})"
            )
    origin, args = typing.get_origin(annotation), typing.get_args(annotation)
    if origin in _LISTS and any(isinstance(arg, str) for arg in args):
        return types.GenericAlias(origin, tuple(_resolve(arg, scope, fail) for arg in args))
    return annotation


def _without_none(annotation: Any) -> tuple[Any, bool]:
    """Split `X | None` into X and True."""
    if annotation in _PARAMETERS or typing.get_origin(annotation) not in (
        typing.Union,
        types.UnionType,
    ):
        return annotation, False
    others = [arg for arg in typing.get_args(annotation) if arg is not type(None)]
    if len(others) == len(typing.get_args(annotation)):
        return annotation, False
    return typing.Union[tuple(others)], True  # noqa: UP007


def _parameter_type(name: str, annotation: Any, fail: Callable[[str], NoReturn]) -> str:
    plain, optional = _without_none(annotation)
    suffix = "?" if optional else ""
    if plain in _PARAMETERS:
        return _PARAMETERS[plain][0] + suffix
    origin, args = typing.get_origin(plain), typing.get_args(plain)
    valid = f"The valid types are: {list(_PARAMETERS)}, optionals and lists of them."
    if origin is tuple:
        example = f"For example, list[{args[0].__name__}].\n\n" if args[0] in _PARAMETERS else ""
        fail(
            f"Parameter {name} has unsupported type {annotation}. We do not support Tuple inputs in schema. As a "
            f"workaround, please try to use List instead. \n\n{example}{valid}"
        )
    if origin in _LISTS and len(args) == 1:
        element, optional_element = _without_none(args[0])
        base, listed = _PARAMETERS.get(element, ("", False))
        if base == "Tensor" and not optional:
            return "Tensor?[]" if optional_element else "Tensor[]"
        if listed and base != "Tensor" and not optional_element:
            return f"{base}[]{suffix}"
    fail(f"Parameter {name} has unsupported type {annotation}. {valid}")


def _default(name: str, parameter: inspect.Parameter, fail: Callable[[str], NoReturn]) -> str:
    value = parameter.default
    if value is parameter.empty:
        return ""
    if value is None or isinstance(value, (int, float, bool)):
        return f"={value}"
    if isinstance(value, (str, device)):
        return f'="{value}"'
    if isinstance(value, dtype):
        return f"={str(value).rpartition('.')[2]}"
    fail(
        f"Parameter {name} has an unsupported default value type {type(value)}; use None, a number, a string, a "
        "device or a dtype."
    )


def _result_type(annotation: Any, fail: Callable[[str], NoReturn]) -> str:
    if annotation is None:
        return "()"
    if annotation is inspect.Parameter.empty:
        fail("No return type annotation was provided. Please add one.")
    parts = typing.get_args(annotation) if typing.get_origin(annotation) is tuple else (annotation,)
    if any(part not in _RESULTS for part in parts):
        fail(f"Return has unsupported type {annotation}. The valid types are: {_RESULTS}.")
    if typing.get_origin(annotation) is not tuple:
        return _RESULTS[annotation]
    return f"({', '.join(_RESULTS[part] for part in parts)})"
