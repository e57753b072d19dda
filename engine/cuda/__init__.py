"""PyTorch's `torch.cuda` on a machine without CUDA: nothing is available, counts are 0, seeds are ignored.

What needs a device raises PyTorch's AssertionError. Programs that look before they use a device run on the CPU.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import Any, NoReturn

from engine._native.errors import OutOfMemoryError as OutOfMemoryError
from engine._native.namespace import no_attribute
from engine.absent_device import (
    device_count as device_count,
)
from engine.absent_device import (
    empty_cache as empty_cache,
)
from engine.absent_device import (
    is_available as is_available,
)
from engine.absent_device import (
    is_bf16_supported as is_bf16_supported,
)
from engine.absent_device import (
    is_initialized as is_initialized,
)
from engine.absent_device import (
    manual_seed as manual_seed,
)
from engine.absent_device import (
    manual_seed_all as manual_seed_all,
)
from engine.absent_device import (
    memory_allocated,
    needs_device,
)
from engine.cuda import amp as amp
from engine.cuda import graphs as graphs
from engine.cuda import nvtx as nvtx
from engine.cuda.graphs import CUDAGraph as CUDAGraph
from engine.cuda.graphs import graph as graph
from engine.cuda.graphs import graph_pool_handle as graph_pool_handle
from engine.cuda.graphs import is_current_stream_capturing as is_current_stream_capturing
from engine.cuda.graphs import make_graphed_callables as make_graphed_callables

_MESSAGE = "Torch not compiled with CUDA enabled"

has_half, has_magma = True, False
_initialized = False  # programs read it, although is_initialized() is the public name
default_generators: tuple[Any, ...] = ()


class CudaError(RuntimeError):
    """An error of the CUDA driver; never raised without one."""


def is_tf32_supported() -> bool:
    """Return False: no device supports it."""
    return False


def seed() -> None:
    """Seed the generator of the current device: there is none, so this does nothing."""


def seed_all() -> None:
    """Seed the generators of all devices: there are none, so this does nothing."""


def get_rng_state_all() -> list[Any]:
    """Return the states of all devices' generators: an empty list."""
    return []


def set_rng_state_all(new_states: Any) -> None:
    """Restore the states of all devices' generators. Raises: AssertionError for any state, as there is no device."""
    for _ in new_states:
        _refuse()


def ipc_collect() -> NoReturn:
    """Raise AssertionError, as PyTorch does without CUDA."""
    _refuse()


def get_arch_list() -> list[str]:
    """Return the architectures that kernels were compiled for: an empty list."""
    return []


def get_gencode_flags() -> str:
    """Return the compiler's flags for those architectures: an empty string."""
    return ""


def memory_stats(device: Any = None) -> OrderedDict[str, Any]:
    """Return statistics of the allocator: there are none."""
    return OrderedDict()


def memory_stats_as_nested_dict(device: Any = None) -> dict[str, Any]:
    """Return statistics of the allocator: there are none."""
    return {}


max_memory_allocated = memory_reserved = max_memory_reserved = memory_allocated
memory_cached = max_memory_cached = memory_allocated


def _refuse() -> NoReturn:
    raise AssertionError(_MESSAGE)


def _needs_device(name: str) -> Callable[..., NoReturn]:
    return needs_device(name, AssertionError, _MESSAGE)


init = _needs_device("init")
current_device = _needs_device("current_device")
current_stream = _needs_device("current_stream")
default_stream = _needs_device("default_stream")
get_device_capability = _needs_device("get_device_capability")
get_device_name = _needs_device("get_device_name")
get_device_properties = _needs_device("get_device_properties")
get_rng_state = _needs_device("get_rng_state")
set_rng_state = _needs_device("set_rng_state")
initial_seed = _needs_device("initial_seed")
mem_get_info = _needs_device("mem_get_info")
memory_summary = _needs_device("memory_summary")
reset_peak_memory_stats = _needs_device("reset_peak_memory_stats")
reset_max_memory_allocated = _needs_device("reset_max_memory_allocated")
reset_max_memory_cached = _needs_device("reset_max_memory_cached")
get_per_process_memory_fraction = _needs_device("get_per_process_memory_fraction")
set_per_process_memory_fraction = _needs_device("set_per_process_memory_fraction")
can_device_access_peer = _needs_device("can_device_access_peer")
synchronize = _needs_device("synchronize")


def set_device(device: Any) -> None:
    """Select the current device. Raises: AssertionError, except for a negative index, which is ignored."""
    if not (isinstance(device, int) and device < 0):
        _refuse()


class device:
    """A context that selects a device; without devices only `device(None)` and negative indices work."""

    def __init__(self, device: Any) -> None:
        self._device = device

    def __enter__(self) -> None:
        if self._device is not None:
            set_device(self._device)

    def __exit__(self, *exception: object) -> None:
        return None


class Stream:
    """A queue of a CUDA device's work. Raises: RuntimeError, as there is no device."""

    def __init__(self, *args: Any, **options: Any) -> None:
        raise RuntimeError("torch.cuda.Stream requires CUDA support")


class Event:
    """A mark in a Stream. Raises: RuntimeError, as there is no device."""

    def __init__(self, *args: Any, **options: Any) -> None:
        raise RuntimeError("torch.cuda.Event requires CUDA support")


class StreamContext:
    """A context that selects a Stream; None does nothing."""

    def __init__(self, stream: Stream | None) -> None:
        self.stream = stream

    def __enter__(self) -> None:
        return None

    def __exit__(self, *exception: object) -> None:
        return None


def stream(stream: Stream | None) -> StreamContext:
    """Return a context that selects a Stream; `stream(None)` does nothing."""
    return StreamContext(stream)


def set_stream(stream: Stream | None) -> None:
    """Select a Stream; None does nothing."""


def __getattr__(name: str) -> Any:
    if name.endswith("Tensor"):
        from engine import typed_tensors

        if name in typed_tensors.__all__:
            return typed_tensors.absent_type(name)
    raise no_attribute("cuda", name)
