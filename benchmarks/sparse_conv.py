"""Sparse convolution: `python benchmarks/sparse_conv.py [--sites N] [--threads N] [--tables]`.

First a submanifold convolution of N sites (100,000), 3x3x3 kernels, 32 channels, float32, in cubes of several
densities, compared with the bare matrix products of the same rulebook: rows gathered before, nothing scattered.
Then densities from 0.1 % to 100 % of one cube, compared with the dense convolution of all its cells.
`--tables` compares building a rulebook by the grid and by the hash table instead, which `site_table.h` chooses between.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any

import engine
from engine import sparse_conv
from engine.nn import functional as F

CHANNELS = 32
KERNEL = (3, 3, 3)
SIDE = 48  # of the cube that is compared with the dense convolution


def best_in_turn(*calls: Callable[[], Any], times: int = 9) -> list[float]:
    """Milliseconds of the fastest run of each call: in turn, so that a busy machine slows all of them."""
    for call in calls:
        call()
    durations = [float("inf")] * len(calls)
    # The processor's time does not count what other programs do; with threads it counts all of them.
    clock = time.process_time if engine.get_num_threads() == 1 else time.perf_counter
    for _ in range(times):
        for number, call in enumerate(calls):
            start = clock()
            call()
            durations[number] = min(durations[number], clock() - start)
    return [seconds * 1e3 for seconds in durations]


def best(call: Callable[[], Any], times: int = 7) -> float:
    """Milliseconds of the fastest run."""
    return best_in_turn(call, times=times)[0]


def random_sites(count: int, side: int) -> engine.Tensor:
    """Return `count` different cells of a cube, in order of their coordinates."""
    cells = engine.randperm(side**3)[:count].sort().values
    coordinates = [cells // (side * side), cells // side % side, cells % side]
    return engine.stack([engine.zeros_like(cells), *coordinates], 1)


def build(indices: engine.Tensor, side: int, table: str = "auto") -> sparse_conv.Rulebook:
    return sparse_conv.build_rulebook(
        indices, 1, (side,) * 3, KERNEL, submanifold=True, table=table
    )


def compare_with_products(sites: int) -> None:
    print(f"{sites:,} sites, 3x3x3, {CHANNELS} channels; times in ms, ratio to the bare products")
    print("  side  pairs/site  rulebook  products  forward         backward (input + weight)")
    for side in (47, 60, 100, 200, 464):
        if side**3 < sites:
            continue
        indices = random_sites(sites, side)
        rulebook = build(indices, side)
        features = engine.randn(sites, CHANNELS)
        weight = engine.randn(27, CHANNELS, CHANNELS)
        grad = engine.randn(sites, CHANNELS)
        lengths = rulebook.starts.diff().tolist()
        gathered = [engine.randn(n, CHANNELS) for n in lengths]
        products = [engine.empty(n, CHANNELS) for n in lengths]

        def multiply(
            gathered: Any = gathered, weight: Any = weight, products: Any = products
        ) -> None:
            for rows, matrix, out in zip(gathered, weight.unbind(0), products, strict=True):
                engine.mm(rows, matrix, out=out)

        rows = (rulebook.in_rows, rulebook.out_rows, rulebook.starts)
        swapped = (rulebook.out_rows, rulebook.in_rows, rulebook.starts)
        library = engine.ops.sparse_conv
        bare, forward, *backward = best_in_turn(
            multiply,
            lambda: library.gather_gemm_scatter(features, weight, *rows, sites),  # noqa: B023
            lambda: library.gather_gemm_scatter(grad, weight.mT, *swapped, sites),  # noqa: B023
            lambda: library.weight_gradient(features, grad, *rows),  # noqa: B023
        )
        building = best(lambda: build(indices, side), 3)  # noqa: B023
        print(
            f"  {side:4}  {sum(lengths) / sites:10.1f}  {building:8.1f}  {bare:8.1f}  "
            f"{forward:7.1f} ({forward / bare:4.2f})  "
            f"{sum(backward):7.1f} ({sum(backward) / bare:4.2f})"
        )


def compare_with_dense() -> None:
    cells = SIDE**3
    dense = engine.randn(1, CHANNELS, SIDE, SIDE, SIDE)
    weight = engine.randn(CHANNELS, CHANNELS, *KERNEL)
    dense_time = best(lambda: F.conv3d(dense, weight, padding=1), 3)
    print(f"\na cube of {SIDE}^3 cells; the dense convolution takes {dense_time:.1f} ms")
    print("  density    sites  rulebook  forward  dense / (rulebook + forward)")
    for percent in (0.1, 0.3, 1, 3, 10, 30, 100):
        sites = round(cells * percent / 100)
        indices = random_sites(sites, SIDE)
        rulebook = build(indices, SIDE)
        features = engine.randn(sites, CHANNELS)
        matrices = engine.randn(27, CHANNELS, CHANNELS)
        forward = best(lambda: sparse_conv.gather_gemm_scatter(features, matrices, rulebook))  # noqa: B023
        building = best(lambda: build(indices, SIDE), 3)  # noqa: B023
        ratio = dense_time / (building + forward)
        bar = "#" * max(1, min(40, round(ratio * 2)))
        print(f"  {percent:5} %  {sites:7}  {building:8.2f}  {forward:7.2f}  {ratio:8.2f}  {bar}")


def compare_tables(sites: int) -> None:
    print(f"rulebook of {sites:,} sites, 3x3x3; times in ms")
    print("  cells/lookup      grid      hash    auto")
    for side in (60, 100, 150, 200, 300, 464):
        indices = random_sites(sites, side)
        grid, hashed, automatic = (
            best(lambda: build(indices, side, table), 3)  # noqa: B023
            for table in ("grid", "hash", "auto")
        )
        print(f"  {side**3 / (14 * sites):12.1f}  {grid:8.1f}  {hashed:8.1f}  {automatic:6.1f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--sites", type=int, default=100_000)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--tables", action="store_true")
    arguments = parser.parse_args()
    engine.set_num_threads(arguments.threads)
    engine.manual_seed(0)
    if arguments.tables:
        compare_tables(arguments.sites)
        return
    with engine.no_grad():
        compare_with_products(arguments.sites)
        compare_with_dense()


if __name__ == "__main__":
    main()
