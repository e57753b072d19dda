"""The text of a tensor: `repr(x)` is PyTorch's, character for character.

Printing has three steps: read the elements to show (all, or the edges of a large tensor), choose one
number format for all of them, and lay the numbers out in nested brackets. Elements are read directly from
memory, so printing a tensor creates no tensors and no events.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeAlias

from engine._native import ffi, lib
from engine._native.errors import raise_last
from engine.dtypes import bfloat16, bool_, get_default_dtype, int64

if TYPE_CHECKING:
    from engine.tensor import Tensor

Number: TypeAlias = bool | int | float | complex
# Elements in nested lists; Ellipsis replaces the omitted ones.
Nested: TypeAlias = Any

_STRUCT_CODES = {
    "bool": "?",
    "uint8": "B",
    "int8": "b",
    "int16": "<h",
    "int32": "<i",
    "int64": "<q",
    "float16": "<e",
    "float32": "<f",
    "float64": "<d",
    "complex64": "<ff",
    "complex128": "<dd",
}


class PrintOptions:
    """The print options; see `set_printoptions`."""

    precision: int
    threshold: float
    edgeitems: int
    linewidth: int
    sci_mode: bool | None

    def __init__(self) -> None:
        self.precision, self.threshold, self.edgeitems, self.linewidth = 4, 1000, 3, 80
        self.sci_mode = None


_PROFILES: dict[str, dict[str, Any]] = {
    "default": {"precision": 4, "threshold": 1000, "edgeitems": 3, "linewidth": 80},
    "short": {"precision": 2, "threshold": 1000, "edgeitems": 2, "linewidth": 80},
    "full": {"precision": 4, "threshold": math.inf, "edgeitems": 3, "linewidth": 80},
}
print_options = PrintOptions()
_FAILED = 2**64 - 1  # uh_grad_fn's result for a view whose history is unknown


def set_printoptions(
    precision: int | None = None,
    threshold: float | None = None,
    edgeitems: int | None = None,
    linewidth: int | None = None,
    profile: str | None = None,
    sci_mode: bool | None = None,
) -> None:
    """Set the options with which tensors are printed from now on.

    precision: digits after the point (4); threshold: elements above which only the edges are shown
    (1000); edgeitems: the number of elements at each edge (3); linewidth: characters per line (80); profile:
    "default", "short" or "full", changed by the other arguments; sci_mode: True or False forces
    scientific notation on or off, None lets the values decide.
    """
    if profile is not None and profile not in _PROFILES:
        names = ", ".join(_PROFILES)
        raise ValueError(f"set_printoptions: profile must be one of {names}, got {profile!r}")
    overrides = {
        "precision": precision,
        "threshold": threshold,
        "edgeitems": edgeitems,
        "linewidth": linewidth,
    }
    settings = dict(_PROFILES.get(profile or "", {}))
    settings.update({name: value for name, value in overrides.items() if value is not None})
    for name, value in settings.items():
        setattr(print_options, name, value)
    print_options.sci_mode = sci_mode


def get_printoptions() -> dict[str, Any]:
    """Return the current options, as keyword arguments for `set_printoptions`."""
    return dict(vars(print_options))


@contextmanager
def printoptions(**options: Any) -> Iterator[None]:
    """Use other print options inside a `with` block."""
    before = get_printoptions()
    set_printoptions(**options)
    try:
        yield
    finally:
        set_printoptions(**before)


def tensor_text(tensor: Tensor) -> str:
    """Return the text of `repr(tensor)`.

    >>> import engine
    >>> engine.tensor([[1.0, 2.5], [3.0, 4.0]])
    tensor([[1.0000, 2.5000],
            [3.0000, 4.0000]])
    """
    name = type(tensor).__name__
    prefix = "tensor(" if name in ("Tensor", "Parameter", "Buffer") else f"{name}("
    recording = lib.uh_grad_enabled()
    lib.uh_set_grad_enabled(False)  # printing must not extend the graph
    try:
        if lib.uh_layout_kind(tensor._h):
            text, suffixes = prefix + _parts(tensor, len(prefix)), _sparse_suffixes(tensor)
        else:
            text, suffixes = prefix + elements_text(tensor, len(prefix)), _suffixes(tensor)
    finally:
        lib.uh_set_grad_enabled(recording)
    return with_suffixes(text, suffixes, len(prefix), on_a_new_line=tensor.is_sparse)


def _parts(tensor: Tensor, indent: int) -> str:
    """Return the text of the parts of a sparse tensor, each as a tensor."""
    tensor = tensor.detach()
    parts = (
        {"indices": tensor._indices(), "values": tensor._values()}
        if tensor.is_sparse
        else {name: getattr(tensor, name)() for name in ("crow_indices", "col_indices", "values")}
    )
    pieces = []
    for name, part in parts.items():
        prefix = f"{name}=tensor("
        text = prefix + elements_text(part, indent + len(prefix))
        if part.numel() == 0:
            text += f", size={tuple(part.shape)}"
        pieces.append(text + ")")
    return (",\n" + " " * indent).join(pieces)


def _sparse_suffixes(tensor: Tensor) -> list[str]:
    """Return the attributes that follow the parts."""
    suffixes = [f"size={tuple(tensor.shape)}", f"nnz={tensor._nnz()}"]
    usual = get_default_dtype()
    if tensor.dtype not in (usual, usual.to_complex(), int64, bool_):
        suffixes.append(f"dtype={tensor.dtype}")
    return [*suffixes, f"layout={tensor.layout}", *_gradient_suffixes(tensor)]


def elements_text(tensor: Tensor, indent: int) -> str:
    """Return the text of the elements in brackets, whose later lines are indented."""
    if tensor.is_meta:
        return "..."
    count = tensor.numel()
    if count == 0:
        return "[]"
    elements = _edges(tensor) if count > print_options.threshold else tensor.tolist()
    kind, values = tensor.dtype, list(_numbers(elements))
    numbers = (
        ComplexFormat(values) if kind.is_complex else NumberFormat(values, kind.is_floating_point)
    )
    return _lay_out(elements, tensor.dim(), indent, numbers)


def _suffixes(tensor: Tensor) -> list[str]:
    """Return the attributes that the elements do not show: device, size, dtype, grad_fn."""
    dtype, suffixes = tensor.dtype, []
    device = tensor.device
    if device.type != "cpu":
        suffixes.append(f"device='{device}'")
    bare = tensor.is_meta or tensor.numel() == 0
    if tensor.is_meta or (tensor.dim() != 1 if bare else not print_options.edgeitems):
        suffixes.append(f"size={tuple(tensor.shape)}")
    # Elements distinguish int64 and bool from the default dtype; an empty tensor has none that do.
    usual = get_default_dtype()
    evident = (usual,) if bare else (usual, usual.to_complex(), int64, bool_)
    if dtype not in evident:
        suffixes.append(f"dtype={dtype}")
    return suffixes + _gradient_suffixes(tensor)


def _gradient_suffixes(tensor: Tensor) -> list[str]:
    suffixes = []
    node = lib.uh_grad_fn(tensor._h)
    if node == _FAILED:
        suffixes.append("grad_fn=<Invalid>")
    elif node:
        suffixes.append(f"grad_fn=<{ffi.string(lib.uh_node_name(node)).decode()}>")
        lib.uh_node_release(node)
    elif lib.uh_requires_grad(tensor._h):
        suffixes.append("requires_grad=True")
    return suffixes


def with_suffixes(text: str, suffixes: list[str], indent: int, on_a_new_line: bool = False) -> str:
    """Append the suffixes, each on the last line if it fits there."""
    width = len(text) - text.rfind("\n") + 1  # as PyTorch counts: two more than the characters
    for suffix in suffixes:
        # Lines break where PyTorch's do, although `engine.` is a letter longer than `torch.`.
        length = len(suffix) - suffix.count("engine.")
        if on_a_new_line or width + length + 2 > print_options.linewidth:
            on_a_new_line = False
            text += ",\n" + " " * indent + suffix
            width = indent + length
        else:
            text += ", " + suffix
            width += length + 2
    return text + ")"


def _edges(tensor: Tensor) -> Nested:
    """Return the first and last elements along each dimension, read from memory through the strides."""
    handle, itemsize = tensor._h, tensor.dtype.itemsize
    if lib.uh_check_within_storage(handle) != 0:
        raise_last()
    memory = ffi.buffer(
        ffi.cast("char *", lib.uh_storage_data_ptr(handle)), lib.uh_storage_nbytes(handle)
    )
    sizes, strides, edge = tensor.shape, tensor.stride(), print_options.edgeitems

    if tensor.dtype is bfloat16:

        def read(offset: int) -> Number:
            values: float = struct.unpack("<f", b"\0\0" + memory[offset : offset + 2])[0]
            return values
    else:
        unpack = struct.Struct(_STRUCT_CODES[tensor.dtype.name]).unpack_from

        def read(offset: int) -> Number:
            values: tuple[Any, ...] = unpack(memory, offset)
            return values[0] if len(values) == 1 else complex(*values)

    def walk(dim: int, offset: int) -> Nested:
        if dim == len(sizes):
            return read(offset * itemsize)
        size, stride = sizes[dim], strides[dim]
        if size <= 2 * edge:
            return [walk(dim + 1, offset + i * stride) for i in range(size)]
        head = [walk(dim + 1, offset + i * stride) for i in range(edge)]
        tail = [walk(dim + 1, offset + i * stride) for i in range(size - edge, size)]
        return [*head, ..., *tail]

    return walk(0, tensor.storage_offset())


def _numbers(nested: Nested) -> Iterator[Number]:
    if isinstance(nested, list):
        for item in nested:
            yield from _numbers(item)
    elif nested is not ...:
        yield nested


class NumberFormat:
    """One format for all elements of a tensor, so that columns line up.

    Ints and bools are as wide as the widest one. Floats are printed as integers with a point ("3."), with
    `precision` digits, or in scientific notation if the largest is more than 1000 times the smallest, or any
    is above 1e8 or below 1e-4. Zeros, infinities and NaNs do not affect the choice.
    """

    def __init__(self, values: list[Any], floating: bool) -> None:
        self.floating = floating
        self.scientific = False
        self.integral = True
        self.width = 1
        if not floating:
            self.width = max((len(str(value)) for value in values), default=1)
            return
        deciding = [value for value in values if value != 0 and math.isfinite(value)]
        if not deciding:
            return
        low, high = min(map(abs, deciding)), max(map(abs, deciding))
        self.integral = all(value == math.ceil(value) for value in deciding)
        self.scientific = (
            high / low > 1000.0 or high > 1.0e8 or low < 1.0e-4
            if print_options.sci_mode is None
            else print_options.sci_mode
        )
        self.width = max(1, *(len(self._plain(value)) for value in deciding))

    def _plain(self, value: Any) -> str:
        if not self.floating:
            return str(value)
        if self.scientific:
            return f"{value:.{print_options.precision}e}"
        if not self.integral:
            return f"{value:.{print_options.precision}f}"
        return f"{value:.0f}." if math.isfinite(value) else f"{value:.0f}"

    def __call__(self, value: Any) -> str:
        return self._plain(value).rjust(self.width)


class ComplexFormat:
    """Complex elements: real and imaginary parts have a format each."""

    def __init__(self, values: list[Any]) -> None:
        self.real = NumberFormat([value.real for value in values], True)
        self.imag = NumberFormat([value.imag for value in values], True)
        self.width = self.real.width + self.imag.width + 1  # and the j; the sign is in the width

    def __call__(self, value: Any) -> str:
        imag = self.imag(value.imag).lstrip()
        sign = "" if imag[0] in "+-" else "+"
        return f"{self.real(value.real)}{sign}{imag}j"


def _lay_out(elements: Nested, dim: int, indent: int, numbers: NumberFormat | ComplexFormat) -> str:
    if dim == 0:
        return numbers(elements)
    if dim == 1:
        # The dots have a leading blank, as numbers do.
        dots = " ..." if print_options.edgeitems else "..."
        strings = [dots if item is ... else numbers(item) for item in elements]
        per_line = max(1, (print_options.linewidth - indent) // (numbers.width + 2))
        lines = [", ".join(strings[i : i + per_line]) for i in range(0, len(strings), per_line)]
        return "[" + (",\n" + " " * (indent + 1)).join(lines) + "]"
    rows = [
        "..." if item is ... else _lay_out(item, dim - 1, indent + 1, numbers) for item in elements
    ]
    return "[" + ("," + "\n" * (dim - 1) + " " * (indent + 1)).join(rows) + "]"
