"""The inputs of an exported model: tensors in the example's arguments, their names and dynamic axes."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from engine.tensor import Tensor


@dataclass
class Input:
    """One tensor that is an input of the model."""

    name: str
    tensor: Tensor
    axes: dict[int, str] = field(default_factory=dict)  # names of the dynamic ones


@dataclass
class Inputs:
    """The arguments of one call, and which tensors in them are inputs."""

    names: list[str]  # of the parameters
    values: list[Any]
    leaves: list[Input]
    output_names: list[str]
    output_axes: dict[str, dict[int, str]]

    @property
    def is_dynamic(self) -> bool:
        """True if any axis is dynamic."""
        return any(leaf.axes for leaf in self.leaves)


def tensors_of(value: Any, path: str) -> Iterator[tuple[str, Tensor]]:
    """Yields the tensors in nested lists, tuples and dictionaries, each with its path."""
    if isinstance(value, Tensor):
        yield path, value
    elif isinstance(value, (list, tuple)):
        for i, item in enumerate(value):
            yield from tensors_of(item, f"{path}_{i}")
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from tensors_of(item, f"{path}_{key}")


def bind(
    function: Callable[..., Any],
    args: Any,
    kwargs: dict[str, Any] | None,
    input_names: Sequence[str] | None,
    dynamic_axes: Mapping[str, Any] | None,
    dynamic_shapes: Any,
    output_names: Sequence[str] | None,
) -> Inputs:
    """Converts the example's arguments to inputs. Raises: TypeError, ValueError for arguments that do not match the
    model."""
    if isinstance(args, Tensor):
        args = (args,)
    if not isinstance(args, (tuple, list)):
        raise TypeError(f"onnx.export: args is a tuple of inputs, not {type(args).__name__}")
    args, options = tuple(args), dict(kwargs or {})
    if args and isinstance(args[-1], dict) and not kwargs and _keywords(function, args):
        options, args = args[-1], args[:-1]
    names, values = _bound(function, args, options)
    leaves = [
        Input(path, tensor)
        for name, value in zip(names, values, strict=True)
        for path, tensor in tensors_of(value, name)
    ]
    if not leaves:
        raise ValueError("onnx.export: the example has no tensor, so the model would have no input")
    _rename(leaves, input_names)
    outputs = _checked_names("output_names", output_names)
    if dynamic_axes is not None and dynamic_shapes is not None:
        raise ValueError("onnx.export: pass dynamic_axes or dynamic_shapes, not both")
    output_axes: dict[str, dict[int, str]] = {}
    if dynamic_axes is not None:
        output_axes = _set_axes(leaves, dynamic_axes, outputs)
    if dynamic_shapes is not None:
        _set_shapes(names, values, leaves, dynamic_shapes)
    _check_sizes(leaves)
    return Inputs(names, values, leaves, outputs, output_axes)


def _keywords(function: Callable[..., Any], args: tuple[Any, ...]) -> bool:
    """Returns True if the last dictionary has keyword arguments, as in PyTorch: it matches no parameter."""
    try:
        parameters = inspect.signature(function).parameters
    except (TypeError, ValueError):
        return False
    return all(isinstance(key, str) and key in parameters for key in args[-1]) and bool(args[-1])


def _bound(
    function: Callable[..., Any], args: tuple[Any, ...], options: dict[str, Any]
) -> tuple[list[str], list[Any]]:
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return [f"input_{i}" for i in range(len(args))], list(args)
    try:
        bound = signature.bind(*args, **options)
    except TypeError as error:
        raise TypeError(f"onnx.export: the example does not fit the model: {error}") from None
    names, values = [], []
    for name, value in bound.arguments.items():
        kind = signature.parameters[name].kind
        if kind is inspect.Parameter.VAR_POSITIONAL:
            names += [f"{name}_{i}" for i in range(len(value))]
            values += value
        elif kind in (inspect.Parameter.KEYWORD_ONLY, inspect.Parameter.VAR_KEYWORD):
            raise TypeError(
                f"onnx.export: '{name}' can only be passed by name, and inputs of a model have an order; wrap the model"
            )
        else:
            names.append(name)
            values.append(value)
    return names, values


def _checked_names(what_for: str, names: Sequence[str] | None) -> list[str]:
    if names is None:
        return []
    listed = [names] if isinstance(names, str) else list(names)
    if isinstance(names, str) or not all(isinstance(name, str) and name for name in listed):
        raise TypeError(f"onnx.export: {what_for} is a list of strings, not {names!r}")
    if len(set(listed)) < len(listed):
        raise ValueError(f"onnx.export: {what_for} has a name twice: {', '.join(listed)}")
    return listed


def _rename(leaves: list[Input], input_names: Sequence[str] | None) -> None:
    names = _checked_names("input_names", input_names)
    if len(names) > len(leaves):
        raise ValueError(
            f"onnx.export: number of input names provided ({len(names)}) exceeded number of inputs ({len(leaves)})"
        )
    for leaf, name in zip(leaves, names, strict=False):
        leaf.name = name
    if len({leaf.name for leaf in leaves}) < len(leaves):
        raise ValueError(
            f"onnx.export: two inputs have one name: {', '.join(leaf.name for leaf in leaves)}"
        )


def _set_axes(
    leaves: list[Input], dynamic_axes: Mapping[str, Any], outputs: list[str]
) -> dict[str, dict[int, str]]:
    if not isinstance(dynamic_axes, Mapping):
        raise TypeError(
            f"onnx.export: dynamic_axes is a dictionary by names, not {type(dynamic_axes).__name__}"
        )
    by_name = {leaf.name: leaf for leaf in leaves}
    of_outputs: dict[str, dict[int, str]] = {}
    for name, axes in dynamic_axes.items():
        listed = _axes(name, axes)
        if name in by_name:
            by_name[name].axes = _within(name, listed, by_name[name].tensor.dim())
        elif name in outputs:
            of_outputs[name] = listed
        else:
            known = ", ".join([*by_name, *outputs])
            raise ValueError(
                f"onnx.export: dynamic_axes: '{name}' names no input or output; there are {known}"
            )
    return of_outputs


def _axes(name: str, axes: Any) -> dict[int, str]:
    if isinstance(axes, Mapping):
        pairs = list(axes.items())
    elif isinstance(axes, (list, tuple)):
        pairs = [(axis, f"{name}_dynamic_axes_{i + 1}") for i, axis in enumerate(axes)]
    else:
        raise TypeError(
            f"onnx.export: dynamic_axes['{name}'] is a dictionary or a list of axes, not {type(axes).__name__}"
        )
    for axis, label in pairs:
        if not isinstance(axis, int) or isinstance(axis, bool) or not isinstance(label, str):
            raise TypeError(
                f"onnx.export: dynamic_axes['{name}']: {axis!r}: {label!r} is not an axis and its name"
            )
    return dict(pairs)


def _within(name: str, axes: dict[int, str], rank: int) -> dict[int, str]:
    checked = {}
    for axis, label in axes.items():
        if not -rank <= axis < rank:
            raise ValueError(
                f"onnx.export: '{name}' has {rank} dimensions, and axis {axis} is dynamic in none of them"
            )
        checked[axis % rank] = label
    return checked


def _set_shapes(names: list[str], values: list[Any], leaves: list[Input], shapes: Any) -> None:
    """Sets dynamic shapes in torch.export's form: by parameter, nested like the arguments."""
    if isinstance(shapes, Mapping):
        unknown = [name for name in shapes if name not in names]
        if unknown:
            raise ValueError(
                f"onnx.export: dynamic_shapes: '{unknown[0]}' is not a parameter; there are {', '.join(names)}"
            )
        listed = [shapes.get(name) for name in names]
    elif isinstance(shapes, (list, tuple)):
        if len(shapes) != len(values):
            raise ValueError(
                f"onnx.export: dynamic_shapes has {len(shapes)} entries for {len(values)} arguments"
            )
        listed = list(shapes)
    else:
        raise TypeError(
            f"onnx.export: dynamic_shapes is a dictionary or a tuple, not {type(shapes).__name__}"
        )
    following = iter(leaves)
    for value, shape in zip(values, listed, strict=True):
        _set_shape(value, shape, following)


def _set_shape(value: Any, shape: Any, leaves: Iterator[Input]) -> None:
    if isinstance(value, Tensor):
        leaf = next(leaves)
        pairs = shape.items() if isinstance(shape, Mapping) else enumerate(shape or ())
        named = {
            axis: _dim_name(leaf.name, axis, size)
            for axis, size in pairs
            if size is not None and not isinstance(size, int)
        }
        leaf.axes = _within(leaf.name, named, value.dim())
    elif isinstance(value, (list, tuple)):
        inner = list(shape) if shape is not None else [None] * len(value)
        for item, item_shape in zip(value, inner, strict=True):
            _set_shape(item, item_shape, leaves)
    elif isinstance(value, dict):
        for key, item in value.items():
            _set_shape(item, (shape or {}).get(key), leaves)


def _dim_name(name: str, axis: int, size: Any) -> str:
    """Returns the name of a string or a Dim; a new name for any other mark, such as Dim.DYNAMIC."""
    if isinstance(size, str):
        return size
    return str(getattr(size, "__name__", f"{name}_axis_{axis}"))


def _check_sizes(leaves: list[Input]) -> None:
    """Checks that axes of one name have the same size in the example."""
    sizes: dict[str, tuple[str, int]] = {}
    for leaf in leaves:
        for axis, label in leaf.axes.items():
            size = leaf.tensor.shape[axis]
            other, before = sizes.setdefault(label, (leaf.name, size))
            if size != before:
                raise ValueError(
                    f"onnx.export: the axes called '{label}' of '{other}' and '{leaf.name}' have sizes {before} and "
                    f"{size} in the example; give them different names"
                )
