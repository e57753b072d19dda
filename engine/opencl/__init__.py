"""Tensors on any device with an OpenCL 1.2 driver: a GPU, or the CPU with PoCL.

PyTorch's `torch.cuda` under another name. The driver is loaded when one of these functions is called, or when
the first tensor is created on `"opencl"`. The device runs asynchronously: `synchronize` waits for it, and so does
everything that reads a number. `alias_cuda()` makes programs run that were written for CUDA.
"""

from __future__ import annotations

from typing import Any

from engine._native.errors import OutOfMemoryError as OutOfMemoryError
from engine._native.namespace import no_attribute
from engine.opencl.alias import alias_cuda as alias_cuda
from engine.opencl.devices import current_device as current_device
from engine.opencl.devices import device as device
from engine.opencl.devices import device_count as device_count
from engine.opencl.devices import get_device_name as get_device_name
from engine.opencl.devices import get_device_properties as get_device_properties
from engine.opencl.devices import index_of as _index_of
from engine.opencl.devices import init as init
from engine.opencl.devices import is_available as is_available
from engine.opencl.devices import set_device as set_device
from engine.opencl.devices import synchronize as synchronize
from engine.opencl.fallback import fallback_counts as fallback_counts
from engine.opencl.fallback import reset_fallback_counts as reset_fallback_counts
from engine.opencl.memory import empty_cache as empty_cache
from engine.opencl.memory import get_per_process_memory_fraction as get_per_process_memory_fraction
from engine.opencl.memory import max_memory_allocated as max_memory_allocated
from engine.opencl.memory import mem_get_info as mem_get_info
from engine.opencl.memory import memory_allocated as memory_allocated
from engine.opencl.memory import memory_reserved as memory_reserved
from engine.opencl.memory import memory_stats as memory_stats
from engine.opencl.memory import memory_stats_as_nested_dict as memory_stats_as_nested_dict
from engine.opencl.memory import memory_summary as memory_summary
from engine.opencl.memory import reset_peak_memory_stats as reset_peak_memory_stats
from engine.opencl.memory import (
    set_per_process_memory_fraction as set_per_process_memory_fraction,
)
from engine.opencl.random import get_rng_state as get_rng_state
from engine.opencl.random import get_rng_state_all as get_rng_state_all
from engine.opencl.random import initial_seed as initial_seed
from engine.opencl.random import manual_seed as manual_seed
from engine.opencl.random import manual_seed_all as manual_seed_all
from engine.opencl.random import seed as seed
from engine.opencl.random import seed_all as seed_all
from engine.opencl.random import set_rng_state as set_rng_state
from engine.opencl.random import set_rng_state_all as set_rng_state_all
from engine.opencl.streams import Event as Event
from engine.opencl.streams import Stream as Stream
from engine.opencl.streams import StreamContext as StreamContext
from engine.opencl.streams import current_stream as current_stream
from engine.opencl.streams import default_stream as default_stream
from engine.opencl.streams import set_stream as set_stream
from engine.opencl.streams import stream as stream


def is_bf16_supported(including_emulation: bool = True) -> bool:
    """Return whether bfloat16 tensors are supported: float32 computes them, which PyTorch calls emulation."""
    return including_emulation and is_available()


def get_device_capability(device: Any = None) -> tuple[int, int]:
    """Return (0, 0), lower than any CUDA device's: programs that check it then use no special features."""
    _index_of(device)
    return 0, 0


def can_device_access_peer(device: Any, peer_device: Any) -> bool:
    """Return False: the host copies the bytes of one device to another."""
    _index_of(device), _index_of(peer_device)
    return False


def ipc_collect() -> None:
    """Do nothing: no memory of a device is shared with other processes."""


def __getattr__(name: str) -> Any:
    if name == "default_generators":
        from engine.random import default_generator

        return (default_generator,) * device_count()
    from engine import typed_tensors

    if name in typed_tensors.KINDS:
        return typed_tensors.tensor_type(name, "opencl")
    raise no_attribute("opencl", name)
