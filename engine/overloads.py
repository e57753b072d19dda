"""Public functions that choose between operators by their arguments.

PyTorch has several operators under one name (`max` of a tensor, of a dimension, of two tensors); a generated
function calls one of them. This module has the functions that inspect their arguments first, the aliases, and
functions that are one line of other operators. engine/__init__.py installs `FUNCTIONS` and `METHODS` over the
generated tables.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from types import FunctionType
from typing import Any, TypeAlias, TypeVar

from engine import dtypes
from engine._generated import ops
from engine._native import lib
from engine._native.errors import raise_last
from engine.arguments import INTEGER, accepts
from engine.dtypes import Size, as_dtype, dtype, int64
from engine.marshal import c_function
from engine.storage import UntypedStorage
from engine.tensor import Tensor

Number: TypeAlias = complex  # as type checkers read it: bool, int, float or complex
FUNCTIONS: dict[str, Any] = {}
METHODS: dict[str, Any] = {}
Function = TypeVar("Function", bound=Callable[..., Any])
_view = c_function("view")


def function(fn: Function) -> Function:
    """Register `engine.<name>`."""
    FUNCTIONS[fn.__name__] = fn
    return fn


def method(fn: Function) -> Function:
    """Register `Tensor.<name>`."""
    METHODS[fn.__name__] = fn
    return fn


def both(fn: Function) -> Function:
    """Register `engine.<name>` and `Tensor.<name>`."""
    return function(method(fn))


# ---- writing


@both
def fill_(input: Tensor, value: Number | Tensor) -> Tensor:
    """Set every element to `value`, a number or a 0-d tensor."""
    if isinstance(value, Tensor):
        return ops.fill_(input, value)
    return ops.fill__Scalar(input, value)


@method
def set_(
    input: Tensor,
    source: Tensor | UntypedStorage | None = None,
    storage_offset: int | None = None,
    size: Sequence[int] | None = None,
    stride: Sequence[int] = (),
) -> Tensor:
    """Point the tensor to other memory: `source`'s, from `storage_offset` on, with `size` and `stride`.

    A tensor without `size` passes its own sizes and strides, a storage becomes one row; without a source the
    tensor becomes empty. Memory: nothing is copied; the storage grows if necessary.
    Raises: RuntimeError for a tensor of another dtype.

    >>> import engine
    >>> x = engine.arange(6.0)
    >>> engine.empty(0).set_(x.untyped_storage(), 1, (2,), (2,))
    tensor([1., 3.])
    """
    if source is None and storage_offset is None:
        return _moved(ops.set_(input))
    if (storage_offset is None) != (size is None):
        raise TypeError(
            "set_() received an invalid combination of arguments: offset and size go together"
        )
    if isinstance(source, Tensor):
        if storage_offset is None:
            return _moved(ops.set__source_Tensor(input, source))
        if source.dtype != input.dtype:  # the storage alone counts
            source = source.untyped_storage()._tensor.detach()
    elif isinstance(source, UntypedStorage):
        if storage_offset is None:
            storage_offset, size = 0, (source.nbytes() // input.element_size(),)
        source = source._tensor.detach()  # a storage has no autograd history
    else:
        raise TypeError(
            "set_() received an invalid combination of arguments: source must be a Tensor or an "
            f"UntypedStorage, got {type(source).__name__}"
        )
    if not isinstance(size, Sequence):
        raise TypeError(f"set_(): size must be a tuple of ints, got {type(size).__name__}")
    return _moved(
        ops.set__source_Storage_storage_offset(input, source, storage_offset, size, stride)
    )


def _moved(tensor: Tensor) -> Tensor:
    """Cuts the tensor, which describes other memory now, from the graphs that lead to it as a leaf."""
    lib.uh_forget_accumulator(tensor._h)
    return tensor


def beyond(input: Tensor) -> int:
    """Return the exclusive upper limit of `random_` without arguments, which depends on the dtype."""
    kind, bits = input.dtype, 8 * input.element_size()
    if kind == dtypes.bool_:
        return 2
    if kind == dtypes.float16:
        return (1 << 11) + 1
    if kind == dtypes.bfloat16:
        return (1 << 8) + 1
    if kind == dtypes.float32:
        return (1 << 24) + 1
    if kind == dtypes.float64:
        return (1 << 53) + 1
    if bits == 64:
        return 9223372036854775807
    signed = kind == dtypes.int8 or kind == dtypes.int16 or kind == dtypes.int32
    return 1 << (bits - 1) if signed else 1 << bits


@method
def random_(
    input: Tensor, from_: int | None = None, to: int | None = None, *, generator: Any = None
) -> Tensor:
    """Set every element to an integer drawn uniformly: `random_(to)` or `random_(from, to)`."""
    for limit in (from_, to):
        if isinstance(limit, Tensor) and not accepts(INTEGER, limit):
            raise TypeError(
                f"random_: expected integers as limits, got a Tensor of dtype {limit.dtype} and "
                f"{limit.dim()} dimensions"
            )
    if from_ is None and to is None and input.is_complex():
        raise NotImplementedError(
            f'"random_kernel_cpu" not implemented for {input.dtype}: a range of integers has no complex numbers'
        )
    if from_ is None:
        low, high = 0, beyond(input) if to is None else to
    elif to is None:
        low, high = 0, from_
    else:
        low, high = from_, to
    if generator is None:
        return ops.random_(input, low, high)
    from engine.random import drawing

    with drawing(generator, "random_", input.device):
        return ops.random_(input, low, high)


# ---- choice


@function
def where(
    condition: Tensor, input: Any = None, other: Any = None, *, out: Tensor | None = None
) -> Any:
    """Select elements of `input` where `condition` is True, else of `other`.

    With the condition alone, return the indices where it is True, as one tensor per dimension.
    """
    if input is None and other is None:
        return nonzero(condition, as_tuple=True)
    if out is not None:
        for name, position, value in (("input", 2, input), ("other", 3, other)):
            if not isinstance(value, Tensor):
                kind = type(value).__name__
                raise TypeError(
                    f"where(): argument '{name}' (position {position}) must be Tensor, not {kind}"
                )
        return ops.where_out(condition, input, other, out=out)
    return ops.where(condition, input, other)


@method
def _where_method(input: Tensor, condition: Tensor, other: Any) -> Tensor:
    return ops.where(condition, input, other)


METHODS["where"] = METHODS.pop("_where_method")


@method
def polygamma(input: Tensor, n: int) -> Tensor:
    """Return the n-th derivative of `digamma`, see `engine.polygamma`."""
    return ops.polygamma(n, input)


@both
def nonzero(input: Tensor, *, as_tuple: bool = False, out: Tensor | None = None) -> Any:
    """Return the indices of the elements that are not zero: one row each, or one tensor per dimension."""
    if out is not None:
        return ops.nonzero_out(input, out=out)
    indices = ops.nonzero(input)
    if not as_tuple:
        return indices
    if input.dim() == 0:  # as in PyTorch, a number counts as one element in one dimension
        indices = ops.nonzero(input.reshape(1))
    return tuple(indices.unbind(1))


# The generated tables leave out functions that write.
FUNCTIONS["celu_"] = "celu_"
FUNCTIONS["embedding_renorm_"] = "embedding_renorm_"
FUNCTIONS["selu_"] = "selu_"
FUNCTIONS["threshold_"] = "threshold_"


# ---- shapes


@method
def view(
    input: Tensor, *shape: Any, size: Sequence[int] | None = None, dtype: dtype | None = None
) -> Tensor:
    """Return a view of the elements in another shape, or of the bytes as another dtype: `x.view(int8)`.

    Memory: none. Raises: RuntimeError when the strides do not allow it; `reshape` then copies.
    """
    if shape and shape[0].__class__ is int and dtype is None:  # the usual call: see creation.zeros
        try:
            result = _view(input, shape)
        except (TypeError, OverflowError, AttributeError):
            return ops.view(input, *shape)  # raises an error that names the argument
        if result is None:
            raise_last()
        return result
    if size is not None and not shape and dtype is None:
        return ops.view(input, *size)
    if dtype is not None or (len(shape) == 1 and type(shape[0]) is dtypes.dtype):
        return ops.view_dtype(input, as_dtype(shape[0] if shape else dtype, "view"))
    return ops.view(input, *shape)


@both
def split(
    tensor: Tensor,
    split_size_or_sections: int | Tensor | Sequence[int] | None = None,
    dim: int = 0,
    *,
    split_size: int | Sequence[int] | None = None,
) -> tuple[Tensor, ...]:
    """Split a tensor along a dimension into pieces of one size (the last may be smaller), or of a list of sizes.

    A tensor with a single element counts as one size. `split_size` is the name of PyTorch's method.
    Memory: none, views.
    """
    size: Any = split_size if split_size_or_sections is None else split_size_or_sections
    if size is None:
        raise TypeError("split: missing 1 required argument: 'split_size_or_sections'")
    if isinstance(size, Tensor):
        # A trace must see the Value of the size, so a tensor is passed as it is where the operator accepts it.
        plain = size.dim() == 0 and size.dtype == int64
        return tuple(ops.split(tensor, size if plain else int(size), dim))
    if isinstance(size, int):
        return tuple(ops.split(tensor, size, dim))
    return tuple(ops.split_with_sizes(tensor, size, dim))


@function
def broadcast_shapes(*shapes: int | Sequence[int]) -> Size:
    """Return the shape that tensors of these shapes broadcast to.

    >>> broadcast_shapes((2, 1), (3,))
    engine.Size([2, 3])
    """
    for shape in shapes:
        if not isinstance(shape, (int, list, tuple)):
            raise TypeError(f"broadcast_shapes: expected ints or lists of ints, got {shape!r}")
        for size in (shape,) if isinstance(shape, int) else shape:
            if isinstance(size, int) and size < 0:
                raise ValueError(f"broadcast_shapes: negative size {size} in {shape}")
    return Size(
        broadcast_sizes([(shape,) if isinstance(shape, int) else tuple(shape) for shape in shapes])
    )


def broadcast_sizes(shapes: list[Any]) -> list[int]:
    """Return the sizes that a list of shapes broadcasts to."""
    rank = 0
    for shape in shapes:
        rank = max(rank, len(shape))
    sizes = [1] * rank
    for shape in shapes:
        for back in range(1, len(shape) + 1):
            size = shape[-back]
            if size != 1 and sizes[-back] != 1 and sizes[-back] != size:
                raise RuntimeError(
                    f"broadcast_shapes: the shapes {', '.join([str(shape) for shape in shapes])} do not "
                    f"broadcast: {sizes[-back]} != {size} at dimension {rank - back}"
                )
            if size != 1:
                sizes[-back] = size
    return sizes


@both
def broadcast_to(input: Tensor, size: Sequence[int]) -> Tensor:
    """Expand `input` to `size`. Memory: none, a view."""
    return ops.expand(input, size)


def _transposed(name: str, doc: str) -> property:
    def matrix_transpose(self: Tensor) -> Tensor:
        if self.dim() == 0:
            return self
        if self.dim() == 1:
            raise RuntimeError(
                f"tensor.{name} is only supported on matrices or batches of matrices. "
                "Got 1-D tensor."
            )
        return ops.transpose(self, -2, -1)

    return property(matrix_transpose, doc=doc)


def _reversed_dimensions(self: Tensor) -> Tensor:
    return ops.numpy_T(self)


def _conjugate_transpose(self: Tensor) -> Tensor:
    return ops.t(self)


METHODS["T"] = property(_reversed_dimensions, doc="Every dimension reversed. Memory: none, a view.")
METHODS["mT"] = _transposed("mT", "The last two dimensions swapped. Memory: none, a view.")
METHODS["mH"] = _transposed("mH", "`mT`, with complex elements conjugated.")
METHODS["H"] = property(_conjugate_transpose, doc="The conjugate transpose of a matrix: `t()`.")


# PyTorch's second names.
_ALIASES = {
    "concat": "cat",
    "concatenate": "cat",
}


class Later:
    """A descriptor that imports a method on first access and replaces itself in the class.

    The target is an operator, or "module:function".
    """

    __slots__ = ("name", "target")

    def __init__(self, name: str, target: str) -> None:
        self.name, self.target = name, target

    def __get__(self, instance: Any, owner: type) -> Any:
        module, _, target = self.target.rpartition(":")
        # An operator is not looked up with getattr: a module has its own `__eq__`.
        method = getattr(import_module(module), target) if module else ops.find(target)
        setattr(Tensor, self.name, method)
        return method if instance is None else method.__get__(instance, owner)


class Absent:
    """A method of PyTorch that is not here: looking it up raises AttributeError with the reason."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def __get__(self, instance: Any, owner: type) -> Any:
        from engine.absent_names import reason

        raise AttributeError(
            f"{owner.__name__!r} object has no attribute {self.name!r}: {reason(f'Tensor.{self.name}')}"
        )


def name_by(name: str, method: Any) -> None:
    """Rename a method to its public name, which Python prints in messages about wrong arguments."""
    if (
        isinstance(method, FunctionType)
        and method.__name__.startswith("_")
        and not name.startswith("_")
    ):
        method.__name__, method.__qualname__ = name, f"Tensor.{name}"


# Methods that are functions, too. PyTorch has a function abs_, but no absolute_.
_ALSO_FUNCTIONS = ("reshape", "permute", "abs_")


def install(functions: dict[str, Any], methods: dict[str, Any]) -> None:
    """Install the names of this module, and the aliases, over those of the generated tables.

    The tables are keyed by the function's name in engine._generated.ops.
    """
    functions.update(FUNCTIONS)
    methods.update(METHODS)
    for name, method in methods.items():
        name_by(name, method)
    for name in _ALSO_FUNCTIONS:
        functions.setdefault(name, methods[name])
    for table in (functions, methods):
        for alias, name in _ALIASES.items():
            for suffix in ("", "_"):
                if name + suffix in table:
                    table.setdefault(alias + suffix, table[name + suffix])
