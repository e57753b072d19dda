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
    ... --json OUT                   results for programs; coverage_table.py makes csrc/ops/COVERAGE.md of them

One line per operator and dtype: samples passed / total, then the first difference: dtype, form (function,
method, in-place, operator, alias, out ...), what differs | the call that showed it. A crash or a hang ends
only the child that ran the operator, and is told with the sample that was running. Exit status: 0 if
everything passed.
"""

from __future__ import annotations

import argparse
import json
import mmap
import multiprocessing
import os
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

DTYPES = ["float32", "float64", "int64", "bool"]
NOTE = 4096  # bytes of shared memory in which a child says what it is doing


def work(name: str, dtype: str, note: mmap.mmap, only: int | None, pipe: Connection) -> None:
    """In a child: one operator with one dtype, or its bad inputs."""
    import torch
    from checks import check_errors, check_samples

    def say(text: str) -> None:
        line = text.encode()[: NOTE - 1]
        note[: len(line) + 1] = line + b"\0"

    warnings.simplefilter("ignore")
    op = catalog.database()[name]
    try:
        report = asdict(
            check_errors(op, say, only)
            if dtype == "errors"
            else check_samples(op, getattr(torch, dtype), say, only)
        )
    except Exception:  # ours, not the engine's: those are caught at the call
        report = lost((name, dtype), "HARNESS " + traceback.format_exc(), note)
    pipe.send(json.dumps(report, default=sorted))
    pipe.close()
    os._exit(0)


def run(
    tasks: list[tuple[str, str]],
    jobs: int,
    timeout: float,
    only: int | None,
    target: Callable[..., None] = work,
) -> Iterator[dict[str, Any]]:
    """The tasks' reports in the order of the tasks; each runs in a child of its own."""
    context = multiprocessing.get_context("fork")
    running: dict[Connection, tuple[int, Any, mmap.mmap]] = {}
    deadlines: dict[Connection, tuple[bytes, float]] = {}  # what a child does, and until when
    finished: dict[int, dict[str, Any]] = {}
    started = told = 0
    while told < len(tasks):
        while started < len(tasks) and len(running) < jobs:
            note = mmap.mmap(-1, NOTE)
            receiver, sender = context.Pipe(duplex=False)
            child = context.Process(target=target, args=(*tasks[started], note, only, sender))
            child.start()
            sender.close()
            running[receiver] = (started, child, note)
            started += 1
        for pipe in wait(list(running), timeout=0.5):
            number, child, note = running.pop(pipe)
            deadlines.pop(pipe, None)
            try:
                finished[number] = json.loads(pipe.recv())
                child.join()
            except EOFError:
                child.join()
                code = child.exitcode or 0
                cause = signal.Signals(-code).name if code < 0 else f"exit status {code}"
                finished[number] = lost(tasks[number], f"CRASH ({cause})", note)
        for pipe, (number, child, note) in list(running.items()):
            doing = note[:]
            if deadlines.get(pipe, (b"", 0.0))[0] != doing:
                deadlines[pipe] = (doing, time.monotonic() + timeout)
            elif time.monotonic() > deadlines[pipe][1]:
                child.kill()
                child.join()
                del running[pipe], deadlines[pipe]
                finished[number] = lost(tasks[number], f"HANG (over {timeout:g} s)", note)
        while told in finished:
            yield finished.pop(told)
            told += 1


def lost(task: tuple[str, str], what: str, note: mmap.mmap) -> dict[str, Any]:
    """The report on a child that sent none."""
    text = note[:].partition(b"\0")[0].decode(errors="replace")
    return {
        "operator": task[0], "dtype": task[1], "samples": 1, "passed": 0, "skipped": {}, "forms": {},
        "differences": [f"{task[1]} {what} | {text}"], "deviations": {}, "missing": [], "slowest": 0.0,
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
    shown = differences[: 2 if differences[0].startswith("missing") else 1]
    return f"{text} {'; '.join(one.removeprefix(report['dtype'] + ' ') for one in shown)}"


def absent(report: dict[str, Any]) -> bool:
    """Whether the operator itself is not there, so that nothing was compared."""
    return bool(report["missing"]) and not any(counts[0] for counts in report["forms"].values())


def tasks_of(
    names: list[str], dtypes: list[str], errors: bool, samples: bool
) -> list[tuple[str, str]]:
    """(operator, dtype) for what PyTorch supports and the engine can hold; "errors" for bad inputs."""
    import torch

    import engine

    tasks = []
    for name in names:
        op = catalog.database()[name]
        allowed = sorted(str(d).removeprefix("torch.") for d in op.dtypes)
        wanted = (
            allowed if dtypes == ["all"] else [d for d in dtypes if getattr(torch, d) in op.dtypes]
        )
        held = [d for d in wanted if hasattr(engine, d)]
        tasks += [(name, d) for d in held if samples]
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
    names = catalog.chosen(options.names) if options.names else catalog.listed()
    if options.all:
        names = [name for name in catalog.everything() if catalog.missing_reason(name) is None]
    number, count = options.slice
    names = names[number - 1 :: count]
    tasks = tasks_of(names, options.dtype, not options.no_errors, not options.errors_only)
    width = max((len(name) for name, _ in tasks), default=0)
    begin, reports = time.monotonic(), []
    import checks  # noqa: F401  (imported here once, not in each child)

    for report in run(tasks, options.jobs, options.timeout, options.sample):
        reports.append(report)
        if report["samples"] or report["skipped"]:
            print(line(report, width, options.verbose), flush=True)
    summarise(reports, time.monotonic() - begin)
    if options.json:
        options.json.write_text(json.dumps(reports, indent=1))
    return int(any(r["passed"] < r["samples"] for r in reports))


def summarise(reports: list[dict[str, Any]], seconds: float) -> None:
    """Totals, and what is missing."""
    operators: dict[str, list[dict[str, Any]]] = {}
    for report in reports:
        operators.setdefault(report["operator"], []).append(report)
    gone = [name for name, own in operators.items() if any(map(absent, own))]
    whole = [n for n, own in operators.items() if all(r["passed"] == r["samples"] for r in own)]
    forms = sorted({name for r in reports for name in r["missing"]})
    for title, chosen in (("samples", False), ("error inputs", True)):
        own = [r for r in reports if (r["dtype"] == "errors") is chosen]
        print(f"{title}: {sum(r['passed'] for r in own)} of {sum(r['samples'] for r in own)} passed"
              f", {sum(sum(r['skipped'].values()) for r in own)} skipped")  # fmt: skip
    print(
        f"operators: {len(whole)} of {len(operators)} pass wholly, {len(gone)} missing; {seconds:.0f} s"
    )
    if forms:
        print("missing names:", " ".join(forms))


if __name__ == "__main__":
    sys.exit(main())
