"""Functions of tensors whose originals take any number of them, or choose by what a table says.

Where the original takes `*tensors`, what stands here takes them as one list: `compile_called` gathers
them, however the program passes them, as PyTorch does.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

from engine import overloads
from engine._generated import ops
from engine.functional import matmul, variadic
from engine.jit.frontend.polyfills.layers import broadcast_shapes
from engine.tensor import Tensor


def _broadcast_tensors(tensors: list[Tensor]) -> list[Tensor]:
    shape = tensors[0].size()
    for one in tensors[1:]:
        shape = broadcast_shapes(shape, one.size())
    return [one if one.size() == shape else ops.expand(one, shape) for one in tensors]


def _meshgrid(tensors: list[Tensor], indexing: str | None = None) -> list[Tensor]:
    if indexing is None:
        warnings.warn(
            "meshgrid: in an upcoming release, it will be required to pass the indexing argument",
            stacklevel=2,
        )
        return ops.meshgrid_indexing(tensors, indexing="ij")
    return ops.meshgrid_indexing(tensors, indexing=indexing)


def _chain_matmul(matrices: list[Tensor]) -> Tensor:
    if len(matrices) == 1:
        return matrices[0]
    return ops.linalg_multi_dot(matrices)


def _atleast_1d(tensors: list[Tensor]) -> list[Tensor]:
    return [ops.atleast_1d(one) for one in tensors]


def _atleast_2d(tensors: list[Tensor]) -> list[Tensor]:
    return [ops.atleast_2d(one) for one in tensors]


def _atleast_3d(tensors: list[Tensor]) -> list[Tensor]:
    return [ops.atleast_3d(one) for one in tensors]


def _random_(input: Tensor, from_: int = 0, to: int | None = None) -> Tensor:
    if to is None:
        if from_ == 0:
            return ops.random_(input, 0, overloads.beyond(input))
        return ops.random_(input, 0, from_)
    return ops.random_(input, from_, to)


def _to(
    self: Tensor,
    device: Any = None,
    *,
    dtype: Any = None,
    non_blocking: bool = False,
    copy: bool = False,
    memory_format: Any = None,
) -> Tensor:
    place = self.device if device is None else device
    kind = self.dtype if dtype is None else dtype
    return self.to(place, kind, non_blocking, copy, memory_format=memory_format)


def _is_contiguous(self: Tensor, memory_format: int) -> bool:
    if memory_format == 2:  # engine.channels_last
        return _is_channels_last(self, 4)
    if memory_format == 3:
        return _is_channels_last(self, 5)
    return self.is_contiguous()


def _is_channels_last(x: Tensor, rank: int) -> bool:
    if x.dim() != rank:
        return False
    expected = 1
    for i in range(rank):
        dim = 1 if i == 0 else 0 if i == rank - 1 else rank - i
        if x.size(dim) != 1 and x.stride(dim) != expected:
            return False
        expected *= x.size(dim)
    return True


def _is_cpu(self: Tensor) -> bool:
    return self.device.type == "cpu"


def _transposed_matrix(self: Tensor) -> Tensor:
    if self.dim() == 0:
        return self
    if self.dim() < 2:
        raise RuntimeError(f"mT: needs at least 2 dimensions, got {self.dim()}")
    return ops.transpose(self, -2, -1)


def _getter(name: str) -> Any:
    return vars(Tensor)[name].fget


SUBSTITUTES: dict[Any, Callable[..., Any]] = {
    variadic.broadcast_tensors: _broadcast_tensors,
    variadic.meshgrid: _meshgrid,
    variadic.atleast_1d: _atleast_1d,
    variadic.atleast_2d: _atleast_2d,
    variadic.atleast_3d: _atleast_3d,
    matmul.chain_matmul: _chain_matmul,
    vars(Tensor)["random_"]: _random_,
    Tensor.to: _to,
    Tensor.is_contiguous: _is_contiguous,
    _getter("is_cpu"): _is_cpu,
    _getter("mT"): _transposed_matrix,
}
