"""Products with sparse matrices, next to PyTorch's: CPU time at several densities and widths.

    python benchmarks/sparse.py [--threads N]

With PyTorch on the path each row has the ratio of its CPU time to the engine's: above 1 the engine is faster.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import engine

ROWS = 4096
DENSITIES = (0.0005, 0.005, 0.05)
WIDTHS = (1, 16, 128)
MIN_SECONDS = 0.1


def cpu_seconds(call: Callable[[], Any]) -> float:
    """CPU time of one call: the best of three rounds."""
    call()
    best = float("inf")
    for _ in range(3):
        calls, started, clock = 0, time.process_time(), time.perf_counter()
        while time.perf_counter() - clock < MIN_SECONDS:
            call()
            calls += 1
        best = min(best, (time.process_time() - started) / calls)
    return best


def operands(library: Any, density: float, width: int, dtype: str, layout: str) -> tuple[Any, Any]:
    """Return a sparse and a dense matrix, the same in every library."""
    draw = np.random.default_rng(0)
    nnz = int(ROWS * ROWS * density)
    positions = np.unique(draw.integers(0, ROWS * ROWS, nnz))
    indices = library.tensor(np.stack([positions // ROWS, positions % ROWS]))
    kind = getattr(library, dtype)
    values = library.tensor(draw.standard_normal(len(positions))).to(kind)
    matrix = library.sparse_coo_tensor(indices, values, (ROWS, ROWS)).coalesce()
    dense = library.tensor(draw.standard_normal((ROWS, width))).to(kind)
    return (matrix.to_sparse_csr() if layout == "CSR" else matrix), dense


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--threads", type=int, default=1)
    threads = parser.parse_args().threads
    libraries = {"engine": engine}
    try:
        import torch

        libraries["torch"] = torch
    except ImportError:
        pass
    for library in libraries.values():
        library.set_num_threads(threads)
    print(f"{ROWS} x {ROWS}, {threads} threads, ms of CPU time")
    for layout in ("COO", "CSR"):
        for dtype in ("float32", "float64"):
            for density in DENSITIES:
                for width in WIDTHS:
                    seconds = {}
                    for name, library in libraries.items():
                        matrix, dense = operands(library, density, width, dtype, layout)
                        product = library.sparse.mm
                        seconds[name] = cpu_seconds(lambda a=matrix, b=dense, f=product: f(a, b))
                    line = f"{layout} {dtype} density {density:7.2%} width {width:4}: "
                    line += "  ".join(f"{name} {1e3 * s:8.3f}" for name, s in seconds.items())
                    if "torch" in seconds:
                        line += f"  ratio {seconds['torch'] / seconds['engine']:5.2f}"
                    print(line)


if __name__ == "__main__":
    main()
