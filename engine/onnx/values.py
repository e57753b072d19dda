"""Values of an ONNX graph while it is built: name, dtype and shape, as far as they are known.

Arithmetic with Values writes nodes, so that symbolic functions read as formulas.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from engine import dtypes

if TYPE_CHECKING:
    from engine.onnx.builder import Builder

# A size: known, or the name of an unknown one. Equal names are equal sizes.
Dim = int | str
Shape = tuple[Dim, ...]


class ValueType(NamedTuple):
    """A Value's type with the queries of PyTorch's types that symbolic functions use."""

    kind: dtypes.dtype | None
    shape: Shape | None

    def sizes(self) -> list[int | None] | None:
        """Returns the sizes, None for an unknown one; None when not even their number is known."""
        if self.shape is None:
            return None
        return [size if isinstance(size, int) else None for size in self.shape]

    def dim(self) -> int | None:
        """Returns the number of dimensions."""
        return None if self.shape is None else len(self.shape)

    def dtype(self) -> dtypes.dtype | None:
        """Returns the dtype."""
        return self.kind

    def with_sizes(self, sizes: list[int | None]) -> ValueType:
        """Returns this type with other sizes."""
        return ValueType(
            self.kind, tuple(s if s is not None else f"size_{i}" for i, s in enumerate(sizes))
        )

    def with_dtype(self, kind: dtypes.dtype) -> ValueType:
        """Returns this type with another dtype."""
        return ValueType(kind, self.shape)


class Value:
    """A tensor of the graph: a node's output, an input, or a constant with its array."""

    def __init__(
        self,
        builder: Builder,
        name: str,
        kind: dtypes.dtype | None,
        shape: Shape | None,
        array: np.ndarray[Any, Any] | None = None,
    ) -> None:
        self.builder, self.name, self.dtype, self.shape = builder, name, kind, shape
        self.array = array
        self.parameter = ""  # the weight's name, if it is an initialiser with one
        self.is_number = False  # a number of Python: it does not decide a result's dtype
        self.size: Dim | None = None  # of a number: the size that it is
        self.is_sequence = False

    @property
    def rank(self) -> int | None:
        """The number of dimensions, if it is known."""
        return None if self.shape is None else len(self.shape)

    def type(self) -> ValueType:
        """Returns the type, with PyTorch's queries."""
        return ValueType(self.dtype, self.shape)

    def setType(self, of: ValueType | None) -> Value:
        """Sets dtype and sizes, as symbolic functions of operators outside of ONNX do; returns itself."""
        if of is not None:
            self.dtype, self.shape = of.kind or self.dtype, of.shape
        return self

    def debugName(self) -> str:
        """Returns the name in the model."""
        return self.name

    def __repr__(self) -> str:
        sizes = "?" if self.shape is None else ", ".join(map(str, self.shape))
        return f"{self.name}: {self.dtype}({sizes})"

    def _binary(self, operator: str, other: Any, swapped: bool = False) -> Value:
        left, right = (other, self) if swapped else (self, other)
        return self.builder.arithmetic(operator, left, right)

    def __add__(self, other: Any) -> Value:
        return self._binary("Add", other)

    def __radd__(self, other: Any) -> Value:
        return self._binary("Add", other, True)

    def __sub__(self, other: Any) -> Value:
        return self._binary("Sub", other)

    def __rsub__(self, other: Any) -> Value:
        return self._binary("Sub", other, True)

    def __mul__(self, other: Any) -> Value:
        return self._binary("Mul", other)

    def __rmul__(self, other: Any) -> Value:
        return self._binary("Mul", other, True)

    def __truediv__(self, other: Any) -> Value:
        return self._binary("Div", other)

    def __rtruediv__(self, other: Any) -> Value:
        return self._binary("Div", other, True)

    def __pow__(self, other: Any) -> Value:
        return self._binary("Pow", other)

    def __lt__(self, other: Any) -> Value:
        return self._binary("Less", other)

    def __le__(self, other: Any) -> Value:
        return self._binary("LessOrEqual", other)

    def __gt__(self, other: Any) -> Value:
        return self._binary("Greater", other)

    def __ge__(self, other: Any) -> Value:
        return self._binary("GreaterOrEqual", other)

    def equals(self, other: Any) -> Value:
        """Compares elementwise: `==` compares the objects."""
        return self._binary("Equal", other)

    def __neg__(self) -> Value:
        return self.builder.op("Neg", self)
