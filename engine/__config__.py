"""The build and its threads as text, under PyTorch's names."""

from __future__ import annotations

from engine._native.namespace import namespace
from engine.threads import get_num_threads

__all__ = ["parallel_info", "show"]


def show() -> str:
    """Return the libraries and the instruction set in use.

    >>> "BLAS" in show()
    True
    """
    from engine import backends, version

    lines = [
        "Underhood built with:",
        f"  - version {version.__version__}, names of PyTorch {version.pytorch}",
        f"  - CPU capability usage: {backends.cpu.get_cpu_capability()}",
        f"  - BLAS and LAPACK: OpenBLAS, kernels {backends.blas.core_name()}",
        "  - no CUDA, MKL, oneDNN, NCCL",
    ]
    return "\n".join(lines) + "\n"


def parallel_info() -> str:
    """Return the number of threads that an operator uses."""
    return f"{namespace()}.get_num_threads() : {get_num_threads()}\n"
