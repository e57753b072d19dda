"""Programs written for CUDA on an OpenCL device."""

from __future__ import annotations

from engine import dtypes
from engine.opencl import devices


def alias_cuda() -> None:
    """Make "cuda" another name of "opencl" from here on: `device("cuda")`, `x.cuda()`, `engine.cuda`.

    Call it before the program looks for a device. The tensors' device is still called "opencl": that is where they
    are. A stream is the device's one queue, ranges of `cuda.nvtx` are recorded, and graphs are refused.
    Raises: RuntimeError without a device.
    """
    devices.init()
    from engine import cuda, opencl

    dtypes.device_aliases["cuda"] = "opencl"
    for name, member in vars(opencl).items():
        if hasattr(cuda, name) and not name.startswith("__") and name != "annotations":
            setattr(cuda, name, member)
    cuda.is_initialized = devices.is_available
    for name in ("max_memory_reserved", "memory_cached", "max_memory_cached"):
        setattr(cuda, name, opencl.memory_reserved)
    for name in ("reset_max_memory_allocated", "reset_max_memory_cached"):
        setattr(cuda, name, opencl.reset_peak_memory_stats)
