"""Hundreds of generated workloads compared with PyTorch: `python benchmarks/broad.py [REGEX] [--json FILE]`.

The other benchmarks were chosen by hand, so other cases can stay slow. These (workloads.py) are products of
tables: operators x dtypes x layouts x sizes, with odd sizes among them. A figure is a ratio as in run.py: our time /
PyTorch's on one thread, in turn, in one process. `--json` stores the ratios, `--compare FILE` prints
the changes since they were stored. `--threads` compares two threads with one, by the clock and so on an idle machine.
"""

from __future__ import annotations

import argparse
import importlib
import json
import re
import sys
import time
from pathlib import Path
from typing import Any

from run import compare, geometric_mean, show_time, timed
from scaling import speedup
from workloads import Workload, workloads

ROUNDS = 5
BLOCK = 0.008  # seconds that one timed block lasts about
OVERHEAD = ("overhead", "more overhead")  # groups
WORTH_TWO_THREADS = 1e-4  # seconds of a call
SCALES = 1.7  # times as fast on two threads
CHANGED = 1.15  # a ratio that grew or shrank by this factor is worth a line

# ---- measuring


def group_of(name: str) -> str:
    return name.partition("/")[0]


def print_groups(ratios: dict[str, float]) -> None:
    groups: dict[str, list[float]] = {}
    for name, ratio in ratios.items():
        groups.setdefault(group_of(name), []).append(ratio)
    throughput = [r for n, r in ratios.items() if group_of(n) not in (*OVERHEAD, "training")]
    if throughput:
        groups["all throughput"] = throughput
    overhead = [r for n, r in ratios.items() if group_of(n) in OVERHEAD]
    if overhead:
        groups["all overhead"] = overhead
    print(f"\n{'':<16} {'count':>6} {'mean':>6} {'worst':>6} {'above 1.3':>10}")
    for name, group in groups.items():
        above = sum(ratio > 1.3 for ratio in group)
        print(
            f"{name:<16} {len(group):>6} {geometric_mean(group):>6.2f} {max(group):>6.2f} {above:>10}"
        )


def print_changes(ratios: dict[str, float], stored: dict[str, float]) -> None:
    changes = [
        (ratio / stored[name], name, stored[name], ratio)
        for name, ratio in ratios.items()
        if name in stored
    ]
    if not changes:
        print("\nno workload in common with the stored run")
        return
    mean = geometric_mean([factor for factor, *_ in changes])
    print(f"\n{len(changes)} workloads of the stored run: {mean:.2f} times its ratios")
    for factor, name, before, after in sorted(changes, reverse=True):
        if factor >= CHANGED or factor <= 1 / CHANGED:
            print(f"{name:<52} {before:6.2f} -> {after:6.2f}")


# ---- two threads


def compare_threads(selected: list[Workload], peers: list[Any]) -> int:
    """Print the workloads that take long enough and scale less than PyTorch's do; return how many there are."""
    measured, slow = 0, []
    for workload in selected:
        works = [workload.make(module) for module in peers]
        if min(timed(works[0], 2) for _ in range(5)) < WORTH_TWO_THREADS:
            continue
        ours, theirs = map(speedup, works, peers)
        measured += 1
        line = f"{workload!s:<60} {ours}   theirs {theirs}"
        print(line, flush=True)
        if theirs.factor >= SCALES > ours.factor:
            slow.append(line)
    print(f"\n{measured} workloads above {show_time(WORTH_TWO_THREADS).strip()}; ", end="")
    print(f"{len(slow)} of them scale less than {SCALES} where PyTorch's scale:", *slow, sep="\n")
    return len(slow)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "pattern", nargs="?", default="", help="only workloads whose group/name matches"
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="store the ratios")
    parser.add_argument("--compare", type=Path, metavar="FILE", help="compare with stored ratios")
    parser.add_argument("--worst", type=int, default=10, metavar="N", help="print the N worst")
    parser.add_argument("--threads", action="store_true", help="compare two threads with one")
    parser.add_argument("--list", action="store_true", help="print the names, measure nothing")
    options = parser.parse_args()
    stored = json.loads(options.compare.read_text()) if options.compare else None
    selected = [workload for workload in workloads() if re.search(options.pattern, str(workload))]
    if not selected:
        parser.error(f"no workload matches {options.pattern!r}; --list prints them")
    if options.list:
        print(*selected, sep="\n")
        return 0
    peers = [importlib.import_module("engine"), importlib.import_module("torch")]
    for module in peers:
        module.set_num_threads(1)
    if options.threads:
        compare_threads(selected, peers)
        return 0
    begin, figures = time.perf_counter(), []
    for workload in selected:
        figures.append(compare(str(workload), workload.make, peers, rounds=ROUNDS, block=BLOCK))
        print(figures[-1], flush=True)
    ratios = {figure.name: figure.ratio for figure in figures if figure.ratio is not None}
    print_groups(ratios)
    print(
        f"\nthe {options.worst} worst of {len(ratios)}, after {time.perf_counter() - begin:.0f} s"
    )
    for figure in sorted(figures, key=lambda f: -ratios[f.name])[: options.worst]:
        print(figure)
    if options.json:
        measured = {name: round(ratio, 3) for name, ratio in ratios.items()}
        options.json.write_text(json.dumps(measured, indent=1) + "\n")
    if stored is not None:
        print_changes(ratios, stored)
    return 0


if __name__ == "__main__":
    sys.exit(main())
