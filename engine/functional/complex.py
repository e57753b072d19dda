"""Complex tensors in Python: their parts as attributes, and the conjugate transposes.

Adds to the tables of overloads.py. The operators are those of csrc/ops/complex.yaml.
"""

from __future__ import annotations

from typing import Any

from engine._generated import ops
from engine._native.errors import raise_last
from engine.arguments import check_tensor
from engine.casts import warn_of_lost_parts
from engine.marshal import c_function
from engine.overloads import METHODS, function, method
from engine.tensor import Tensor

_copy = c_function("copy_")


def _real(self: Tensor) -> Tensor:
    return ops.real_view(self) if self.is_complex() else self


def _set_real(self: Tensor, value: Any) -> None:
    _real(self)[...] = value


def _imag(self: Tensor) -> Tensor:
    return ops.imag_view(self)


def _set_imag(self: Tensor, value: Any) -> None:
    _imag(self)[...] = value


METHODS["real"] = property(
    _real,
    _set_real,
    doc="The real parts. Memory: none, a view; of a real tensor, the tensor itself. Can be assigned to.",
)
METHODS["imag"] = property(
    _imag,
    _set_imag,
    doc="The imaginary parts. Memory: none, a view. Can be assigned to. Raises: RuntimeError for a "
    "real tensor.",
)


@function
def real(input: Tensor) -> Tensor:
    """Return the real parts as a view; a real tensor is returned itself.

    >>> import engine
    >>> engine.real(engine.tensor([1 + 2j]))
    tensor([1.])
    """
    check_tensor("real", "input", input)
    return _real(input)


@function
def imag(input: Tensor) -> Tensor:
    """Return the imaginary parts as a view. Raises: RuntimeError for a real tensor.

    >>> import engine
    >>> engine.imag(engine.tensor([1 + 2j]))
    tensor([2.])
    """
    check_tensor("imag", "input", input)
    return _imag(input)


@function
def is_complex(input: Tensor) -> bool:
    """Return True if the dtype is complex."""
    check_tensor("is_complex", "input", input)
    return input.is_complex()


@function
def is_conj(input: Tensor) -> bool:
    """Return False: `conj` conjugates eagerly, so no tensor has a conjugate bit."""
    check_tensor("is_conj", "input", input)
    return input.is_conj()


@method
def copy_(input: Tensor, src: Tensor, non_blocking: bool = False) -> Tensor:
    """Copy the elements of `src`, which must broadcast, into this tensor and convert the dtype.

    Warns (UserWarning) when complex numbers become real ones and lose their imaginary parts.
    """
    try:
        if src.is_complex():
            warn_of_lost_parts(input.dtype, src.dtype)
        done = _copy(input, src, non_blocking)
    except (TypeError, AttributeError):
        if isinstance(src, (bool, int, float, complex)):
            from engine.creation import tensor

            return copy_(input, tensor(src), non_blocking)
        return ops.copy_(input, src, non_blocking)  # raises an error that names the argument
    if done is None:
        raise_last()
    return input


def _matrix_adjoint(self: Tensor) -> Tensor:
    if self.dim() == 0:
        return ops.conj(self) if self.is_complex() else self
    if self.dim() < 2:
        raise RuntimeError(
            "tensor.mH is only supported on matrices or batches of matrices. "
            f"Got {self.dim()}-D tensor."
        )
    return ops.adjoint(self)


def _hermitian(self: Tensor) -> Tensor:
    if self.dim() not in (0, 2):
        hint = " For batches of matrices, consider using tensor.mH" if self.dim() > 2 else ""
        raise RuntimeError(
            f"tensor.H is only supported on matrices (2-D tensors). Got {self.dim()}-D tensor.{hint}"
        )
    return ops.adjoint(self) if self.dim() else ops.conj(self)


METHODS["mH"] = property(
    _matrix_adjoint, doc="The last two dimensions swapped, with complex elements conjugated."
)
METHODS["H"] = property(_hermitian, doc="The conjugate transpose of a matrix.")
