"""Operators on a device and on the CPU: `python benchmarks/device_operators.py [--device opencl] [--elements 4000000]`.

Both run in turns, so that what else the machine does falls on both. Printed are the least times by the clock, and the
ratios by the clock and of the processor time of all cores, which other processes disturb less. On a GPU only the rates
count: those of the operators against that of `copy`, that of `matmul` with UNDERHOOD_CLBLAST=0 against that without.
"""

from __future__ import annotations

import argparse
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
        report(name, times, device, f"at most {case.limit}", f"{rate:.1f} GB/s")
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


def report(name: str, times: dict[str, Time], device: str, limit: str, rate: str) -> None:
    """Print the line of one operator."""
    cpu, other = times["cpu"], times[device]
    print(
        f"{name:10}{cpu.wall * 1e3:7.2f} ms{other.wall * 1e3:9.2f} ms{other.wall / cpu.wall:8.2f}"
        f"{other.cores / cpu.cores:8.2f}  ({limit}; {rate})"
    )


if __name__ == "__main__":
    main()
