"""PyTorch's published samples against the engine.

    python tests/conformance/run.py add linalg.*           these operators: names, name/variant, globs
    python tests/conformance/run.py --listed               issue 3's list (the default)
    python tests/conformance/run.py --all                  and all others of the database
    ... --dtype float32 bfloat16     only these dtypes (default: float32 float64 int64 bool; or `all`)
    ... --errors-only | --no-errors  only the bad inputs, or without them
    ... -v                           every difference, not just the first of each line
    ... --sample 12                  one sample of each, by its number
    ... --jobs 2 --timeout 120       processes at once, seconds per sample
    ... --slice 3/8                  the third of eight parts of the operators
    ... --json OUT                   results for programs, a line each; coverage_table.py makes COVERAGE.md of them
    ... --resume                     only what OUT has no report on

One line per operator and dtype: samples passed / total, then the first difference: dtype, form (function,
method, in-place, operator, alias, out ...), what differs | the call that showed it. A crash or a hang ends
only the child that ran the operator, and is reported with the sample that was running. Exit status: 0 if
everything passed.
"""

from __future__ import annotations

import argparse
import gc
import importlib
import itertools
import json
import mmap
import multiprocessing
import os
import pkgutil
import signal
import sys
import time
import traceback
import warnings
from collections.abc import Callable, Iterator
from dataclasses import asdict
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent.parent)]

import catalog  # noqa: E402
from reports import recorded, remaining  # noqa: E402

DTYPES = ["float32", "float64", "int64", "bool"]
NOTE = 4096  # bytes of shared memory in which a child says what it is doing


Task = tuple[str, str]
Work = Callable[[str, str, mmap.mmap, int | None], dict[str, Any]]


def work(name: str, dtype: str, note: mmap.mmap, only: int | None) -> dict[str, Any]:
    """Return the report on one operator with one dtype, or on its bad inputs."""
    import torch
    from checks import check_errors, check_samples

    def announce(text: str) -> None:
        line = text.encode()[: NOTE - 1]
        note[: len(line) + 1] = line + b"\0"

    warnings.simplefilter("ignore")
    op = catalog.database()[name]
    try:
        return asdict(
            check_errors(op, announce, only)
            if dtype == "errors"
            else check_samples(op, getattr(torch, dtype), announce, only)
        )
    except Exception:  # ours, not the engine's: those are caught at the call
        return lost((name, dtype), "HARNESS " + traceback.format_exc(), note)


def serve(
    tasks: list[Task], target: Work, note: mmap.mmap, only: int | None, pipe: Connection
) -> None:
    """In a child: the reports on one operator's tasks."""
    for task in tasks:
        begin = time.process_time()
        report = target(*task, note, only)
        report["seconds"] = round(time.process_time() - begin, 3)
        pipe.send(json.dumps(report, default=sorted))
    pipe.close()
    os._exit(0)


class Child:
    """A process that works on some tasks of one operator, its progress and its deadline."""

    def __init__(
        self, numbers: list[int], tasks: list[Task], target: Work, only: int | None
    ) -> None:
        context = multiprocessing.get_context("fork")
        self.numbers = numbers  # of the tasks without a report, the first being worked on
        self.note = mmap.mmap(-1, NOTE)
        self.pipe, sender = context.Pipe(duplex=False)
        own = [tasks[number] for number in numbers]
        self.process = context.Process(target=serve, args=(own, target, self.note, only, sender))
        self.process.start()
        sender.close()
        self._doing = b""
        self._deadline = 0.0

    def receive(self) -> dict[str, Any]:
        """Return the report on its first task. Raises: EOFError if the child has ended without one."""
        report: dict[str, Any] = json.loads(self.pipe.recv())
        self._doing = b""
        return report

    def hangs(self, timeout: float) -> bool:
        """Return true if one sample has taken more than `timeout` seconds."""
        doing = self.note[:]
        if doing != self._doing:
            self._doing, self._deadline = doing, time.monotonic() + timeout
        return time.monotonic() > self._deadline

    def ended(self) -> str:
        """Return the signal or exit status that ended the process."""
        self.process.join()
        code = self.process.exitcode or 0
        return signal.Signals(-code).name if code < 0 else f"exit status {code}"


def run(
    tasks: list[Task], jobs: int, timeout: float, only: int | None, target: Work = work
) -> Iterator[dict[str, Any]]:
    """Yield the tasks' reports in the order of the tasks; each operator runs in its own child process.

    A task that ends its child leaves the operator's other tasks to a new child.
    """
    operators = itertools.groupby(range(len(tasks)), key=lambda number: tasks[number][0])
    waiting = [list(numbers) for _, numbers in operators]
    waiting.reverse()
    running: dict[Connection, Child] = {}
    finished: dict[int, dict[str, Any]] = {}
    import_lazy_modules()
    gc.freeze()  # children collect no garbage among what they share with this process

    def fail(child: Child, reason: str) -> None:
        number = child.numbers.pop(0)
        finished[number] = lost(tasks[number], reason, child.note)
        del running[child.pipe]
        if child.numbers:
            waiting.append(child.numbers)

    output = 0
    while output < len(tasks):
        while waiting and len(running) < jobs:
            child = Child(waiting.pop(), tasks, target, only)
            running[child.pipe] = child
        for pipe in wait(list(running), timeout=0.5):
            child = running[pipe]
            try:
                finished[child.numbers[0]] = child.receive()
            except EOFError:
                fail(child, f"CRASH ({child.ended()})")
                continue
            child.numbers.pop(0)
            if not child.numbers:
                del running[pipe]
                child.ended()
        for child in list(running.values()):
            if child.hangs(timeout):
                child.process.kill()
                child.ended()
                fail(child, f"HANG (over {timeout:g} s)")
        while output in finished:
            yield finished.pop(output)
            output += 1


def import_lazy_modules() -> None:
    """Imports here, once, what the engine would import in each child at its first use."""
    if "engine._native" not in sys.modules:  # pytorch_itself.py's stand-in
        return
    for name in (
        "_generated.families",
        "nn",
        "nn.functional",
        "linalg",
        "fft",
        "special",
        "signal",
    ):
        package = importlib.import_module(f"engine.{name}")
        for module in pkgutil.iter_modules(getattr(package, "__path__", ()), f"engine.{name}."):
            importlib.import_module(module.name)
    importlib.import_module("engine.masked")


def lost(task: Task, reason: str, note: mmap.mmap) -> dict[str, Any]:
    """Return the report on a child that sent none."""
    text = note[:].partition(b"\0")[0].decode(errors="replace")
    return {
        "operator": task[0], "dtype": task[1], "samples": 1, "passed": 0, "skipped": {}, "forms": {},
        "differences": [f"{task[1]} {reason} | {text}"], "deviations": {}, "missing": [], "slowest": 0.0,
    }  # fmt: skip


def line(report: dict[str, Any], width: int, verbose: bool) -> str:
    """One report in words."""
    good = report["passed"] == report["samples"]
    skipped = sum(report["skipped"].values())
    counts = f"{report['passed']}/{report['samples']}" + (
        f" ({skipped} skipped)" if skipped else ""
    )
    mark = "ok  " if good else "FAIL"
    text = f"{mark} {report['operator']:<{width}} {report['dtype']:<9} {counts:<9}"
    differences = report["differences"]
    if good or not differences:
        return text.rstrip()
    if verbose:
        return "\n    ".join([text.rstrip(), *differences])
    # What is missing says nothing about what is there: the first difference as well.
    output = differences[: 2 if differences[0].startswith("missing") else 1]
    return f"{text} {'; '.join(item.removeprefix(report['dtype'] + ' ') for item in output)}"


def absent(report: dict[str, Any]) -> bool:
    """Return true if the operator itself is missing, so that nothing was compared."""
    return bool(report["missing"]) and not any(counts[0] for counts in report["forms"].values())


def tasks_of(names: list[str], dtypes: list[str], errors: bool, samples: bool) -> list[Task]:
    """(operator, dtype) for what PyTorch supports and the engine can hold; "errors" for bad inputs."""
    import torch

    import engine

    tasks = []
    for name in names:
        op = catalog.database()[name]
        allowed = sorted(str(d).removeprefix("torch.") for d in op.dtypes)
        expected = (
            allowed if dtypes == ["all"] else [d for d in dtypes if getattr(torch, d) in op.dtypes]
        )
        retained = [d for d in expected if hasattr(engine, d)]
        tasks += [(name, d) for d in retained if samples]
        if errors and op.error_inputs_func is not None:
            tasks.append((name, "errors"))
    return tasks


def parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("names", nargs="*")
    parser.add_argument("--listed", action="store_true")
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--dtype", nargs="+", default=DTYPES)
    parser.add_argument("--errors-only", action="store_true")
    parser.add_argument("--no-errors", action="store_true")
    parser.add_argument("--sample", type=int)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--timeout", type=float, default=120)
    parser.add_argument("-v", "--verbose", action="store_true")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--resume", action="store_true")
    parser.add_argument("--slice", type=part, default=(1, 1))
    return parser.parse_args()


def part(text: str) -> tuple[int, int]:
    """ "3/8" as two numbers."""
    number, _, count = text.partition("/")
    if not 1 <= int(number) <= int(count):
        raise ValueError(text)
    return int(number), int(count)


def main() -> int:
    """Runs what the command line asks for; returns the exit status."""
    options = parsed()
    import torch

    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    names = catalog.matching(options.names) if options.names else catalog.listed()
    if options.all:
        names = [name for name in catalog.everything() if catalog.missing_reason(name) is None]
    number, count = options.slice
    names = names[number - 1 :: count]
    tasks = tasks_of(names, options.dtype, not options.no_errors, not options.errors_only)
    width = max((len(name) for name, _ in tasks), default=0)
    begin, reports = time.monotonic(), []
    import checks  # noqa: F401  (imported here once, not in each child)

    tasks = left(tasks, options)
    for report in recorded(run(tasks, options.jobs, options.timeout, options.sample), options.json):
        reports.append(report)
        if report["samples"] or report["skipped"]:
            print(line(report, width, options.verbose), flush=True)
    summarise(reports, time.monotonic() - begin)
    return int(any(r["passed"] < r["samples"] for r in reports))


def left(tasks: list[Task], options: argparse.Namespace) -> list[Task]:
    """The tasks to run: all, and into an empty file, or with --resume those that are not in it."""
    if options.resume:
        return remaining(tasks, options.json)
    if options.json:
        options.json.unlink(missing_ok=True)
    return tasks


def summarise(reports: list[dict[str, Any]], seconds: float) -> None:
    """Totals, and what is missing."""
    operators: dict[str, list[dict[str, Any]]] = {}
    for report in reports:
        operators.setdefault(report["operator"], []).append(report)
    freed = [name for name, own in operators.items() if any(map(absent, own))]
    full = [n for n, own in operators.items() if all(r["passed"] == r["samples"] for r in own)]
    forms = sorted({name for r in reports for name in r["missing"]})
    for title, selected in (("samples", False), ("error inputs", True)):
        own = [r for r in reports if (r["dtype"] == "errors") is selected]
        print(f"{title}: {sum(r['passed'] for r in own)} of {sum(r['samples'] for r in own)} passed"
              f", {sum(sum(r['skipped'].values()) for r in own)} skipped")  # fmt: skip
    print(
        f"operators: {len(full)} of {len(operators)} pass wholly, {len(freed)} missing; {seconds:.0f} s"
    )
    if forms:
        print("missing names:", " ".join(forms))


if __name__ == "__main__":
    sys.exit(main())
