"""Factories of windows, powers and tensors with a given order in memory.

They call the operators of csrc/ops/spacing.yaml and reshaping.yaml, and add the keyword arguments that all of
PyTorch's factories have.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from engine._generated import ops
from engine.creation import Device, finish, limits, result_dtype, tensor
from engine.dtypes import dtype
from engine.overloads import Number, function, method
from engine.tensor import Tensor


def factory_of(name: str, doc: str) -> Any:
    """Create a function that calls the operator of that name and accepts layout, pin_memory and requires_grad."""

    def factory(
        *args: Any,
        dtype: dtype | None = None,
        layout: Any = None,
        device: Device = None,
        requires_grad: bool = False,
        pin_memory: bool = False,
        **named: Any,
    ) -> Tensor:
        result = getattr(ops, name)(*args, **named, dtype=dtype, device=device)
        return finish(result, None, requires_grad)

    factory.__name__ = factory.__qualname__ = name
    factory.__doc__ = doc
    return factory


def _factory(name: str, doc: str) -> Any:
    """Create `engine.<name>`."""
    return function(factory_of(name, doc))


_WINDOW = "of window_length elements; one period without its end unless `periodic` is False."
hann_window = _factory("hann_window", f"1/2 - 1/2 cos(2 pi i / N): a Hann window {_WINDOW}")
hamming_window = _factory(
    "hamming_window", f"alpha - beta cos(2 pi i / N): a Hamming window {_WINDOW}"
)
bartlett_window = _factory("bartlett_window", f"1 - |2 i / N - 1|: a triangle {_WINDOW}")
blackman_window = _factory(
    "blackman_window",
    f"0.42 - 0.5 cos(2 pi i / N) + 0.08 cos(4 pi i / N): a Blackman window {_WINDOW}",
)
kaiser_window = _factory(
    "kaiser_window",
    f"I0(beta sqrt(1 - (2 i / N - 1)^2)) / I0(beta): a Kaiser window {_WINDOW}",
)
empty_permuted = _factory(
    "empty_permuted",
    "An uninitialised tensor of a size, whose dimensions are stored in the order of "
    "`physical_layout`, outermost first.",
)


@function
def logspace(
    start: Number | Tensor,
    end: Number | Tensor,
    steps: int,
    base: float = 10.0,
    *,
    out: Tensor | None = None,
    dtype: dtype | None = None,
    layout: Any = None,
    device: Device = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:
    """Return `steps` powers of `base`, whose exponents are evenly spaced from `start` to `end`.

    Raises: RuntimeError for a negative number of steps, or a limit that is a tensor of several dimensions.

    >>> import engine
    >>> engine.logspace(0, 2, 3)
    tensor([  1.,  10., 100.])
    """
    start, end = limits("logspace", start, end)
    kind = result_dtype(out, dtype, "logspace")
    result = ops.logspace(start, end, steps, base, dtype=kind, device=device)
    return finish(result, out, requires_grad, keep_shape=True)


@function
def unravel_index(indices: Tensor, shape: int | Sequence[int] | Tensor) -> tuple[Tensor, ...]:
    """Convert flat indices into a tensor of a shape to coordinates, one tensor per dimension.

    Formula: indices = sum of out[d] * (product of shape[d + 1:])
    Shape: those of `indices`. Dtype: int64. Memory: views of one new tensor.
    Raises: TypeError for indices that are not integers, ValueError for a negative size.

    >>> import engine
    >>> engine.unravel_index(engine.tensor([1, 5]), (2, 3))
    (tensor([0, 1]), tensor([1, 2]))
    """
    if not isinstance(indices, Tensor) or indices.is_floating_point() or indices.is_complex():
        raise TypeError(f"unravel_index: expected indices to be an int tensor, got {indices!r}")
    if str(indices.dtype).endswith("bool"):
        raise TypeError("unravel_index: expected indices to be an int tensor, got bool")
    if isinstance(shape, Tensor):
        shape = shape.tolist()
    if isinstance(shape, int):
        shape = (shape,)
    if not isinstance(shape, (list, tuple)):
        raise TypeError(f"unravel_index: expected shape to be ints, got {type(shape).__name__}")
    for position, size in enumerate(shape):
        if isinstance(size, bool) or not hasattr(size, "__index__"):
            raise TypeError(
                f"unravel_index: expected shape to be ints, got {type(size).__name__} at {position}"
            )
    sizes = [int(size) for size in shape]
    if any(size < 0 for size in sizes):
        raise ValueError(f"unravel_index: 'shape' cannot have negative values, but got {sizes}")
    steps = [1]
    for size in reversed(sizes[1:]):
        steps.insert(0, steps[0] * size)
    if not sizes:
        return ()
    by = tensor(steps, device=indices.device)
    over = tensor(sizes, device=indices.device)
    rows = ops.floor_divide(ops.unsqueeze(indices, -1), by)
    return tuple(ops.unbind(ops.remainder(rows, over), -1))


@method
def new_tensor(
    input: Tensor, data: Any, *, dtype: dtype | None = None, device: Any = None, **options: Any
) -> Tensor:
    """Copy `data` into a tensor; its default dtype and device are those of this tensor."""
    device = input.device if device is None else device
    return tensor(data, dtype=dtype or input.dtype, device=device, **options)


def _new_factory(name: str) -> Any:
    """Create `Tensor.<name>`, which calls its operator and accepts layout, pin_memory and requires_grad."""

    def create(
        input: Tensor,
        *args: Any,
        layout: Any = None,
        requires_grad: bool = False,
        pin_memory: bool = False,
        **options: Any,
    ) -> Tensor:
        result: Tensor = getattr(ops, name)(input, *args, **options)
        return result.requires_grad_() if requires_grad else result

    create.__name__ = create.__qualname__ = name
    create.__doc__ = f"`{name.removeprefix('new_')}` with the dtype and device of this tensor."
    return method(create)


new_empty = _new_factory("new_empty")
new_full = _new_factory("new_full")
new_ones = _new_factory("new_ones")
new_zeros = _new_factory("new_zeros")
