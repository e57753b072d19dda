"""Operators on usual sizes, compared with PyTorch: `python benchmarks/operators.py [NAME...] [--threads]`.

A figure is a ratio as in run.py: our time / PyTorch's on one thread, in turn, in one process. The last line
is their geometric mean. `--threads` compares two threads with one, ours and PyTorch's: 2.0 is perfect.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import math
import sys
from collections.abc import Callable
from typing import Any

from run import Work, compare, geometric_mean
from scaling import speedup

WORKLOADS: dict[str, Callable[[Any], Work]] = {}


def workload(make: Callable[[Any], Work]) -> Callable[[Any], Work]:
    WORKLOADS[make.__name__] = make
    return make


def numbers(m: Any, *shape: int, seed: int = 1) -> Any:
    """Return the same numbers in every module: the generators differ, arithmetic does not."""
    return (
        m.arange(math.prod(shape))
        .mul(2654435761 + seed)
        .remainder(1013)
        .div(506.5)
        .sub(1)
        .view(*shape)
    )


def integers(m: Any, limit: int, *shape: int) -> Any:
    return m.arange(math.prod(shape)).mul(2654435761).remainder(limit).view(*shape)


@workload
def add_row(m: Any) -> Work:
    x, y = numbers(m, 2000, 2000), numbers(m, 2000)
    return lambda: x + y


@workload
def add_transposed(m: Any) -> Work:
    x, y = numbers(m, 2000, 2000), numbers(m, 2000, 2000, seed=2).t()
    return lambda: x + y


@workload
def contiguous_of_transposed(m: Any) -> Work:
    x = numbers(m, 2000, 2000).t()
    return lambda: x.contiguous()


@workload
def where(m: Any) -> Work:
    x, y = numbers(m, 2_000_000), numbers(m, 2_000_000, seed=2)
    condition = x > 0
    return lambda: m.where(condition, x, y)


@workload
def gelu(m: Any) -> Work:
    x = numbers(m, 1_000_000)
    return lambda: m.nn.functional.gelu(x)


@workload
def sum_columns(m: Any) -> Work:
    x = numbers(m, 2000, 2000)
    return lambda: x.sum(0)


@workload
def sum_rows(m: Any) -> Work:
    x = numbers(m, 2000, 2000)
    return lambda: x.sum(1)


@workload
def max_rows(m: Any) -> Work:
    x = numbers(m, 2000, 2000)
    return lambda: x.max(1)


@workload
def argmax(m: Any) -> Work:
    x = numbers(m, 2000, 2000)
    return lambda: x.argmax()


@workload
def cumsum(m: Any) -> Work:
    x = numbers(m, 2000, 2000)
    return lambda: x.cumsum(1)


@workload
def softmax(m: Any) -> Work:
    x = numbers(m, 2048, 1024)
    return lambda: m.softmax(x, -1)


@workload
def layer_norm(m: Any) -> Work:
    x, w, b = numbers(m, 2048, 1024), numbers(m, 1024), numbers(m, 1024, seed=2)
    return lambda: m.nn.functional.layer_norm(x, (1024,), w, b)


@workload
def matmul_256(m: Any) -> Work:
    x, y = numbers(m, 256, 256), numbers(m, 256, 256, seed=2)
    return lambda: x @ y


@workload
def matmul_1024(m: Any) -> Work:
    x, y = numbers(m, 1024, 1024), numbers(m, 1024, 1024, seed=2)
    return lambda: x @ y


@workload
def batched_matmul(m: Any) -> Work:
    x, y = numbers(m, 64, 64, 64), numbers(m, 64, 64, 64, seed=2)
    return lambda: m.bmm(x, y)


@workload
def conv2d_3x3(m: Any) -> Work:
    x, w = numbers(m, 8, 32, 56, 56), numbers(m, 64, 32, 3, 3, seed=2)
    return lambda: m.nn.functional.conv2d(x, w, padding=1)


@workload
def max_pool2d(m: Any) -> Work:
    x = numbers(m, 8, 32, 56, 56)
    return lambda: m.nn.functional.max_pool2d(x, 2)


@workload
def attention(m: Any) -> Work:
    q, k, v = (numbers(m, 8, 8, 256, 64, seed=i) for i in range(3))
    return lambda: m.nn.functional.scaled_dot_product_attention(q, k, v)


@workload
def cross_entropy(m: Any) -> Work:
    x, y = numbers(m, 4096, 1000), integers(m, 1000, 4096)
    return lambda: m.nn.functional.cross_entropy(x, y)


@workload
def embedding(m: Any) -> Work:
    w, i = numbers(m, 30000, 128), integers(m, 30000, 64, 128)
    return lambda: m.nn.functional.embedding(i, w)


@workload
def index_by_mask(m: Any) -> Work:
    x = numbers(m, 1_000_000)
    mask = x > 0
    return lambda: x[mask]


@workload
def gather(m: Any) -> Work:
    x, i = numbers(m, 2000, 2000), integers(m, 2000, 2000, 2000)
    return lambda: m.gather(x, 1, i)


@workload
def sort(m: Any) -> Work:
    x = numbers(m, 1_000_000)
    return lambda: m.sort(x)


@workload
def topk(m: Any) -> Work:
    x = numbers(m, 1000, 1000)
    return lambda: m.topk(x, 10)


@workload
def cat(m: Any) -> Work:
    parts = [numbers(m, 500, 1000, seed=i) for i in range(4)]
    return lambda: m.cat(parts)


@workload
def randn(m: Any) -> Work:
    return lambda: m.randn(1_000_000)


@workload
def to_float64(m: Any) -> Work:
    x = numbers(m, 2_000_000)
    return lambda: x.to(m.float64)


@workload
def fft(m: Any) -> Work:
    x = numbers(m, 64, 4096)
    return lambda: m.fft.rfft(x)


@workload
def solve(m: Any) -> Work:
    a = numbers(m, 256, 256) + 40 * m.eye(256)
    b = numbers(m, 256, 8, seed=2)
    return lambda: m.linalg.solve(a, b)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="only these workloads")
    parser.add_argument("--threads", action="store_true", help="two threads against one")
    options = parser.parse_args()
    unknown = set(options.names) - set(WORKLOADS)
    if unknown:
        parser.error(
            f"unknown workloads {', '.join(sorted(unknown))}; choose from {', '.join(WORKLOADS)}"
        )
    selected = {name: WORKLOADS[name] for name in options.names or WORKLOADS}
    peers = [importlib.import_module("engine")]
    if importlib.util.find_spec("torch"):
        peers.append(importlib.import_module("torch"))
    ratios = []
    for module in peers:
        module.set_num_threads(1)
    if options.threads:
        for name, make in selected.items():
            figures = [str(speedup(make(module), module)) for module in peers]
            print(f"{name:<28} {'   theirs '.join(figures)}", flush=True)
        return 0
    for name, make in selected.items():
        figure = compare(name, make, peers, 1.2)
        print(figure, flush=True)
        if figure.ratio is not None:
            ratios.append(figure.ratio)
    if ratios:
        print(f"geometric mean {geometric_mean(ratios):.2f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
