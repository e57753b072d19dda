"""`torch.cuda.graphs`: nothing captures calls here, neither without a device nor with `engine.opencl.alias_cuda()`."""

from __future__ import annotations

from typing import Any, NoReturn

from engine import dtypes


def _refuse(name: str, native: str = "") -> NoReturn:
    if "cuda" in dtypes.device_aliases:
        raise RuntimeError(
            f"cuda.{name}: an OpenCL queue captures no graphs; call the operators themselves, or "
            "fuse them with engine.jit.script"
        )
    raise RuntimeError(f"Tried to instantiate dummy base class {native or name}")


class CUDAGraph:
    """A captured sequence of calls. Raises: RuntimeError."""

    def __init__(self, keep_graph: bool = False) -> None:
        _refuse("CUDAGraph")


class graph:
    """A context that captures calls. Raises: RuntimeError."""

    def __init__(self, cuda_graph: Any, *args: Any, **options: Any) -> None:
        _refuse("graph")


def make_graphed_callables(callables: Any, sample_args: Any, **options: Any) -> NoReturn:
    """Capture modules or functions. Raises: RuntimeError."""
    _refuse("make_graphed_callables")


def graph_pool_handle() -> NoReturn:
    """Return a name of the memory that graphs share. Raises: RuntimeError."""
    _refuse("graph_pool_handle", "_graph_pool_handle")


def is_current_stream_capturing() -> bool:
    """Return False with `alias_cuda()`. Raises: RuntimeError without it, as in PyTorch."""
    if "cuda" not in dtypes.device_aliases:
        _refuse("is_current_stream_capturing", "_cuda_isCurrentStreamCapturing")
    return False
