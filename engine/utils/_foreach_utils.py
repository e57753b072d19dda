"""Preparation of lists for `_foreach_*`, as in PyTorch's optimizers: groups of tensors of one device and dtype."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

from engine.dtypes import device as Device
from engine.dtypes import dtype as Dtype
from engine.tensor import Tensor

TensorListList: TypeAlias = list[list[Tensor | None]]
Indices: TypeAlias = list[int]


def _get_foreach_kernels_supported_devices() -> list[str]:
    """Return the types of devices where optimizers choose `_foreach_*` by themselves: none."""
    return []


def _get_fused_kernels_supported_devices() -> list[str]:
    """Return the types of devices where optimizers have fused steps."""
    return ["cpu"]


def _group_tensors_by_device_and_dtype(
    tensorlistlist: Sequence[Sequence[Any]], with_indices: bool = False
) -> dict[tuple[Device, Dtype], tuple[list[list[Any]], Indices]]:
    """Return, by device and dtype of the first list's tensors, the same entries of all lists and their indices."""
    groups: dict[tuple[Device, Dtype], tuple[list[list[Any]], Indices]] = {}
    for index, tensor in enumerate(tensorlistlist[0]):
        lists, indices = groups.setdefault(
            (tensor.device, tensor.dtype), ([[] for _ in tensorlistlist], [])
        )
        for group, entries in zip(lists, tensorlistlist, strict=True):
            if entries:  # a list may be empty
                group.append(entries[index])
        if with_indices:
            indices.append(index)
    return groups


def _device_has_foreach_support(device: Device) -> bool:
    """Return whether the `_foreach_*` functions accept tensors of a device."""
    return device.type == "cpu"


def _has_foreach_support(tensors: Sequence[Tensor | None], device: Device) -> bool:
    """Return whether the `_foreach_*` functions accept these tensors."""
    return _device_has_foreach_support(device) and all(
        tensor is None or type(tensor) is Tensor for tensor in tensors
    )
