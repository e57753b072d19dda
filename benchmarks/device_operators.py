"""Operators on a device and on the CPU: `python benchmarks/device_operators.py [--device opencl] [--elements 4000000]`.

Both run in turns, so that what else the machine does falls on both. Printed are the least times by the clock, and the
ratios by the clock and of the processor time of all cores, which other processes disturb less. On a GPU other figures
count: the share of the memory's bandwidth, which a copy of bytes by the driver measures, and the product's rate as a
share of CLBlast's, each measured in a separate process.
"""

from __future__ import annotations

import argparse
import ctypes.util
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable
from typing import NamedTuple

import engine
from engine import opencl
from engine.nn import functional as F


class Case(NamedTuple):
    """A call, how many tensors of the elements it reads and writes, and the ratio that it should keep."""

    call: Callable[..., engine.Tensor]
    operands: int
    passes: int
    limit: float


POINTWISE = {
    "add": Case(lambda x, y: x + y, 2, 3, 1.5),
    "mul": Case(lambda x, y: x * y, 2, 3, 1.5),
    "exp": Case(lambda x: x.exp(), 1, 2, 1.5),
    "tanh": Case(lambda x: x.tanh(), 1, 2, 1.5),
    "relu": Case(lambda x: x.relu(), 1, 2, 1.5),
    "sigmoid": Case(lambda x: x.sigmoid(), 1, 2, 1.5),
    "gelu": Case(F.gelu, 1, 2, 1.5),
    "copy": Case(lambda x: x.clone(), 1, 2, 1.5),
    "sum": Case(lambda x: x.sum(), 1, 1, 1.5),
}


class Time(NamedTuple):
    """Seconds of a call: by the clock, and of all cores."""

    wall: float
    cores: float


def once(call: Callable[[], object], device: str) -> Time:
    """Return the time of one call until the device has run it."""
    wall, cores = time.perf_counter(), time.process_time()
    call()
    if device != "cpu":
        opencl.synchronize(device)
    return Time(time.perf_counter() - wall, time.process_time() - cores)


def in_turns(calls: dict[str, Callable[[], object]], rounds: int) -> dict[str, Time]:
    """Return the least times by device."""
    times: dict[str, list[Time]] = {device: [] for device in calls}
    for turn in range(rounds + 3):
        for device, call in calls.items():
            spent = once(call, device)
            if turn >= 3:  # kernels are compiled, memory is there
                times[device].append(spent)
    return {
        device: Time(min(t.wall for t in all_times), min(t.cores for t in all_times))
        for device, all_times in times.items()
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--device", default="opencl")
    parser.add_argument("--elements", type=int, default=4_000_000)
    parser.add_argument("--size", type=int, default=1024, help="of square matrices")
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument("--only", default="", help="names of operators, with commas")
    arguments = parser.parse_args()
    device, only = arguments.device, set(filter(None, arguments.only.split(",")))
    engine.manual_seed(0)
    operands = [engine.randn(arguments.elements) for _ in range(2)]
    moved = [x.to(device) for x in operands]
    if only != {"matmul"}:
        full = bandwidth(moved[0], arguments.rounds)
    print(
        f"{opencl.get_device_name(device)}\n{'':10}{'cpu':>10}{device:>12}{'clock':>8}{'cores':>8}"
    )
    for name, case in POINTWISE.items():
        if only and name not in only:
            continue
        inputs, copies = operands[: case.operands], moved[: case.operands]
        times = in_turns(
            {
                "cpu": lambda case=case, inputs=inputs: case.call(*inputs),
                device: lambda case=case, copies=copies: case.call(*copies),
            },
            arguments.rounds,
        )
        rate = case.passes * 4 * arguments.elements / times[device].wall / 1e9
        share = f"{rate:.1f} GB/s, {rate / full:.0%} of a copy of bytes"
        report(name, times, device, f"at most {case.limit}", share)
    if only and "matmul" not in only:
        return
    a, b = (
        engine.randn(arguments.size, arguments.size),
        engine.randn(arguments.size, arguments.size),
    )
    c, d = a.to(device), b.to(device)
    times = in_turns({"cpu": lambda: a @ b, device: lambda: c @ d}, max(5, arguments.rounds // 4))
    report(
        "matmul",
        times,
        device,
        "at most 3",
        f"{2 * arguments.size**3 / times[device].wall / 1e9:.1f} GFLOP/s",
    )
    if only == {"matmul"}:
        return
    if not ctypes.util.find_library("clblast"):
        print("CLBlast is not installed: nothing to compare the product with")
        return
    own, of_clblast = (product_rate(arguments, clblast) for clblast in ("0", "1"))
    print(
        f"the product without CLBlast: {own} GFLOP/s, {own / of_clblast:.0%} of CLBlast's {of_clblast}"
    )


def bandwidth(x: engine.Tensor, rounds: int) -> float:
    """Return the GB/s of the driver's own copy of a tensor's bytes: each is read and written."""
    y = engine.empty_like(x)
    spent = min(once(lambda: y.copy_(x), str(x.device)).wall for _ in range(rounds + 3))
    return 2 * x.nbytes / spent / 1e9


def product_rate(arguments: argparse.Namespace, clblast: str) -> float:
    """Return the GFLOP/s of the product in a process with UNDERHOOD_CLBLAST: 0 is never, 1 on CPUs, too."""
    command = [sys.executable, __file__, "--only", "matmul", "--device", arguments.device]
    command += ["--size", str(arguments.size), "--rounds", str(arguments.rounds)]
    environment = {**os.environ, "UNDERHOOD_CLBLAST": clblast}
    text = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    match = re.search(r"([\d.]+) GFLOP/s", text.stdout)
    assert match, text.stdout
    return float(match[1])


def report(name: str, times: dict[str, Time], device: str, limit: str, rate: str) -> None:
    """Print the line of one operator."""
    cpu, other = times["cpu"], times[device]
    print(
        f"{name:10}{cpu.wall * 1e3:7.2f} ms{other.wall * 1e3:9.2f} ms{other.wall / cpu.wall:8.2f}"
        f"{other.cores / cpu.cores:8.2f}  ({limit}; {rate})"
    )


if __name__ == "__main__":
    main()
