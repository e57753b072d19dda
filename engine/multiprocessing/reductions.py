"""Tensors sent to another process: as the descriptor of their memory and a layout."""

from __future__ import annotations

import math
from multiprocessing.reduction import DupFd, ForkingPickler
from typing import Any

from engine._native import lib
from engine.nn.parameter import Parameter
from engine.shared_memory import Mapping, is_shared, mapping_of, moved, over, share_memory_
from engine.tensor import Tensor

__all__: list[str] = []


def _rebuild(
    received: Any,
    size: int,
    dtype: Any,
    layout: tuple[Any, Any, int],
    requires_grad: bool,
    is_parameter: bool,
) -> Tensor:
    bytes_ = over(Mapping.open(received.detach(), size))
    x = bytes_.view(dtype).as_strided(*layout)
    return Parameter(x, requires_grad) if is_parameter else x.requires_grad_(requires_grad)


def _reduce(x: Tensor) -> Any:
    if x.requires_grad and not x.is_leaf:
        raise RuntimeError(
            "Cowardly refusing to serialize non-leaf tensor which requires_grad, since autograd does not support "
            "crossing process boundaries.  If you just want to transfer the data, call detach() on the tensor "
            "before serializing (e.g., putting it on the queue)."
        )
    if math.prod(x.shape) == 0 or not x.is_cpu:
        return x.__reduce_ex__(2)
    if not is_shared(x) and lib.uh_storage_use_count(x._h) == 1:
        share_memory_(x)
    shared = x if is_shared(x) else moved(x.detach())
    mapping = mapping_of(shared)
    assert mapping is not None  # it was moved
    layout = tuple(shared.shape), shared.stride(), shared.storage_offset()
    is_parameter = isinstance(x, Parameter)
    arguments = (
        DupFd(mapping.descriptor),
        len(mapping),
        x.dtype,
        layout,
        x.requires_grad,
        is_parameter,
    )
    return _rebuild, arguments


ForkingPickler.register(Tensor, _reduce)
ForkingPickler.register(Parameter, _reduce)
