"""The cost of recording: `python benchmarks/recorder.py [--rounds N] [--json]`.

Each program times its own loop, unrecorded and at every level of recording, in turn (A B C D A B C D). The table
has the medians of the ratios to the unrecorded run just before. "cpu" is the CPU time of the program itself;
"clock" is elapsed time, which includes waiting for the writer, a second process that needs a second core. "ns"
is the additional CPU time per event, "waited" the part of the loop in which the program waited for room in the
ring. The row "whole program" includes starting, and counts the CPU time of both processes.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import textwrap
import time
from contextlib import closing
from dataclasses import asdict, dataclass
from pathlib import Path

LEVELS: dict[str, dict[str, bool]] = {
    "events": {"lines": False, "values": False},
    "lines and names": {"lines": True, "values": False},
    "values": {"lines": True, "values": True},
}
TIMED = """
    steps({warmup})
    clock, cpu = time.perf_counter(), time.process_time()
    steps({steps})
    print(time.perf_counter() - clock, time.process_time() - cpu)
"""
OPERATORS = """
    import time
    import engine

    engine.set_num_threads(1)

    def steps(n):
        x = engine.ones(4)
        for _ in range(n):
            y = x + 1.0
            z = y * x
            x = z.t()
            x = engine.ones(4)
"""
TRAINING = """
    import time
    import engine
    from engine import nn

    engine.set_num_threads(1)
    net = nn.Sequential(nn.Linear({inputs}, {hidden}), nn.ReLU(), nn.Linear({hidden}, 2))
    optimizer = engine.optim.SGD(net.parameters(), lr=0.01, momentum=0.9)
    inputs, targets = engine.randn({batch}, {inputs}), engine.randn({batch}, 2)

    def steps(n):
        for _ in range(n):
            optimizer.zero_grad()
            loss = ((net(inputs) - targets) ** 2).mean()
            loss.backward()
            optimizer.step()
"""
PRODUCTS = """
    import time
    import engine

    engine.set_num_threads(1)
    x = engine.randn(512, 512)

    def steps(n):
        for _ in range(n):
            y = x @ x
"""


@dataclass(frozen=True)
class Workload:
    """A program, how many steps it takes, and the bound on each level's ratio, in LEVELS' order."""

    name: str
    program: str
    steps: int
    bounds: tuple[float | None, ...]

    def write(self, folder: Path) -> Path:
        script = folder / "program.py"
        timed = TIMED.format(warmup=max(self.steps // 50, 2), steps=self.steps)
        script.write_text(textwrap.dedent(self.program) + textwrap.dedent(timed))
        return script


TINY = TRAINING.format(inputs=4, hidden=8, batch=16)
WORKLOADS = (
    Workload("operators on 4 floats", OPERATORS, 20_000, (2.0, 3.0, 5.0)),
    Workload("training step of a tiny net", TINY, 2_000, (2.0, 3.0, 5.0)),
    Workload(
        "training step, 64 x 256 -> 256", TRAINING.format(inputs=256, hidden=256, batch=64),
        1_000, (None, None, None),
    ),
    Workload("products of 512 x 512", PRODUCTS, 300, (1.03, 1.03, 1.03)),
)  # fmt: skip
WHOLE = Workload("whole program, 1,500,000 events", TINY, 2_500, (3.0, 3.0, 3.0))


@dataclass(frozen=True)
class Run:
    """The seconds of one run of a program: of its loop, and of all its processes."""

    clock: float
    cpu: float
    whole_clock: float
    whole_cpu: float
    events: int = 0
    waited: float = 0.0


@dataclass(frozen=True)
class Row:
    """A line of the table: medians, and the ratio that has a bound."""

    workload: str
    level: str
    microseconds: float  # of CPU time per step
    cpu: float
    clock: float
    bound: float | None
    bounded: float
    ns_per_event: float
    events_per_step: float
    waited: float

    def __str__(self) -> str:
        bound = "" if self.bound is None else f"at most {self.bound}"
        verdict = "" if self.bound is None else "ok" if self.bounded <= self.bound else "OVER"
        return (
            f"{self.workload:<32} {self.level:<16} {self.microseconds:9.1f} us {self.cpu:6.2f} {self.clock:6.2f}  "
            f"{bound:<12} {verdict:<4} {self.events_per_step:7.1f} {self.ns_per_event:6.0f} {self.waited:6.0%}"
        )


def run(script: Path, level: str) -> Run:
    trace = script.with_suffix(".uht")
    trace.unlink(missing_ok=True)
    command = [sys.executable, str(script)]
    if level:
        code = (
            "import sys; from engine.inspect.recorder import record_program; "
            f"sys.exit(record_program([{str(script)!r}], {str(trace)!r}, **{LEVELS[level]!r}))"
        )
        command = [sys.executable, "-c", code]
    before, begin = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    clock, after = time.perf_counter() - begin, resource.getrusage(resource.RUSAGE_CHILDREN)
    total = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    own = [float(word) for word in done.stdout.split()]
    if not level:
        return Run(own[0], own[1], clock, total)
    with closing(sqlite3.connect(trace)) as database:
        (events,) = database.execute("SELECT sum(count) FROM segments").fetchone()
        query = "SELECT value FROM meta WHERE key = 'waited_ns'"
        (waited,) = database.execute(query).fetchone()
    return Run(own[0], own[1], clock, total, events, int(waited) / 1e9)


def rows(workload: Workload, rounds: int, folder: Path) -> list[Row]:
    script = workload.write(folder)
    levels = ["", *LEVELS]
    table = [[run(script, level) for level in levels] for _ in range(rounds)]
    is_whole = workload is WHOLE
    out = []
    for column, (level, bound) in enumerate(zip(levels, (None, *workload.bounds), strict=True)):
        pairs = [(line[column], line[0]) for line in table]
        if is_whole:
            cpu = statistics.median(a.whole_cpu / b.whole_cpu for a, b in pairs)
            clock = statistics.median(a.whole_clock / b.whole_clock for a, b in pairs)
        else:
            cpu = statistics.median(a.cpu / b.cpu for a, b in pairs)
            clock = statistics.median(a.clock / b.clock for a, b in pairs)
        recorded = [line[column] for line in table]
        events = statistics.median(item.events for item in recorded) * (1 if is_whole else 50 / 51)
        more = statistics.median(
            (a.whole_cpu - b.whole_cpu if is_whole else a.cpu - b.cpu) for a, b in pairs
        )
        seconds = statistics.median(item.whole_cpu if is_whole else item.cpu for item in recorded)
        out.append(
            Row(
                workload=workload.name,
                level=level or "alone",
                microseconds=seconds / workload.steps * 1e6,
                cpu=cpu,
                clock=clock,
                bound=bound,
                bounded=clock if is_whole else cpu,
                ns_per_event=more / events * 1e9 if events else 0.0,
                events_per_step=events / workload.steps,
                waited=statistics.median(item.waited / item.clock for item in recorded),
            )
        )
    return out


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", action="store_true", help="print the table as JSON")
    options = parser.parse_args()
    if not options.json:
        print(
            f"{os.cpu_count()} processors, load {os.getloadavg()[0]:.1f}, {options.rounds} rounds\n"
            f"{'':<32} {'':<16} {'cpu, a step':>12} {'cpu':>6} {'clock':>6}  {'':<12} {'':<4} {'events':>7} "
            f"{'ns':>6} {'waited':>6}"
        )
    everything = []
    with tempfile.TemporaryDirectory() as folder:
        for workload in (*WORKLOADS, WHOLE):
            for row in rows(workload, options.rounds, Path(folder)):
                everything.append(row)
                if not options.json:
                    print(row, flush=True)
    if options.json:
        print(json.dumps([asdict(row) for row in everything], indent=1))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
