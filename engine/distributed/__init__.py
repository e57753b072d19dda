"""PyTorch's `torch.distributed` for one process. `is_available()` is False: there is no communication.

A group of one process can be initialised, so that a training script for many processes runs as one of one.
Collectives then copy or do nothing, as they do in PyTorch in a group of one.
"""

from __future__ import annotations

import os
from datetime import timedelta
from typing import Any

from engine.tensor import Tensor
from engine.unsupported import module_getattr

_group: str | None = None  # the backend's name


class ReduceOp:
    """The operations with which a collective combines tensors; a group of one process has nothing to combine."""

    SUM, PRODUCT, MIN, MAX, AVG = "SUM", "PRODUCT", "MIN", "MAX", "AVG"
    BAND, BOR, BXOR = "BAND", "BOR", "BXOR"


def is_available() -> bool:
    """Return False: the engine does not communicate between processes.

    >>> is_available()
    False
    """
    return False


def is_initialized() -> bool:
    """Return True after `init_process_group` with one process."""
    return _group is not None


def is_torchelastic_launched() -> bool:
    """Return True if `torchrun` started this process."""
    return "TORCHELASTIC_RUN_ID" in os.environ


def is_nccl_available() -> bool:
    """Return False: NCCL is absent."""
    return False


def is_gloo_available() -> bool:
    """Return False: Gloo is absent."""
    return False


def is_mpi_available() -> bool:
    """Return False: MPI is absent."""
    return False


def init_process_group(
    backend: str | None = None,
    init_method: str | None = None,
    timeout: timedelta | None = None,
    world_size: int = -1,
    rank: int = -1,
    **options: Any,
) -> None:
    """Initialise a group of one process. The size comes from the argument, or from WORLD_SIZE.

    Raises: RuntimeError for more than one process, ValueError if there is a group already.
    """
    global _group
    if _group is not None:
        raise ValueError("trying to initialize the default process group twice!")
    size = world_size if world_size != -1 else int(os.environ.get("WORLD_SIZE", "1"))
    if size != 1:
        raise RuntimeError(
            f"init_process_group: {size} processes cannot communicate here. "
            "Hint: start the script as one process, with WORLD_SIZE=1."
        )
    _group = backend or "gloo"


def destroy_process_group(group: Any = None) -> None:
    """Remove the group."""
    global _group
    _initialized()
    _group = None


def _initialized() -> str:
    if _group is None:
        raise ValueError(
            "Default process group has not been initialized, please make sure to call "
            "init_process_group."
        )
    return _group


def get_rank(group: Any = None) -> int:
    """Return 0. Raises: ValueError without a group."""
    _initialized()
    return 0


def get_world_size(group: Any = None) -> int:
    """Return 1. Raises: ValueError without a group."""
    _initialized()
    return 1


def get_backend(group: Any = None) -> str:
    """Return the backend's name that the group was initialised with. Raises: ValueError without a group."""
    return _initialized()


def barrier(group: Any = None, async_op: bool = False, device_ids: Any = None) -> None:
    """Wait for all processes of the group: there is no other."""
    _initialized()


def all_reduce(tensor: Tensor, op: Any = ReduceOp.SUM, group: Any = None) -> None:
    """Combine the tensors of all processes: that of one process stays as it is."""
    _initialized()


def reduce(
    tensor: Tensor, dst: int | None = None, op: Any = ReduceOp.SUM, group: Any = None
) -> None:
    """Combine the tensors of all processes in one: that of one process stays as it is."""
    _initialized()


def broadcast(tensor: Tensor, src: int | None = None, group: Any = None) -> None:
    """Copy a process's tensor to all others: there is no other."""
    _initialized()


def all_gather(tensor_list: list[Tensor], tensor: Tensor, group: Any = None) -> None:
    """Copy the tensors of all processes into a list of them."""
    _initialized()
    if len(tensor_list) != 1:
        raise ValueError(f"all_gather: a group of 1 process fills 1 tensor, got {len(tensor_list)}")
    tensor_list[0].copy_(tensor)


def all_gather_object(object_list: list[Any], obj: Any, group: Any = None) -> None:
    """Store the objects of all processes in a list."""
    _initialized()
    object_list[0] = obj


def broadcast_object_list(
    object_list: list[Any], src: int | None = None, group: Any = None
) -> None:
    """Copy a process's objects to all others: there is no other."""
    _initialized()


__getattr__ = module_getattr(
    "distributed",
    "Backend DistBackendError FileStore HashStore P2POp PrefixStore ProcessGroup Store TCPStore Work "
    "all_gather_into_tensor all_to_all all_to_all_single batch_isend_irecv gather gather_object get_global_rank "
    "get_group_rank get_process_group_ranks irecv isend monitored_barrier new_group new_subgroups recv reduce_scatter "
    "reduce_scatter_tensor scatter scatter_object_list send",
    "processes do not communicate here; start the script as one process, with WORLD_SIZE=1",
    globals(),
)
