"""Searches for calls that crash, hang, end in an internal error or differ from PyTorch.

    python tests/calls/call_search.py --count 100000 --seed 1            (the engine alone)
    python tests/calls/call_search.py --count 10000 --torch --op sub     (against PyTorch, names with `sub`)
    python tests/calls/call_search.py --seed 1 --show 4711 [--torch]     (one call and its outcomes)
    python tests/calls/call_search.py --seed 1 --again found.jsonl       (the findings of that file)

Every call follows from its seed and number. Calls run in a child process with a memory limit; one that ends the
child, or takes longer than 10 seconds, is a finding, and the search continues after it.
"""

from __future__ import annotations

import argparse
import collections
import json
import os
import pickle
import re
import select
import shlex
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from call_arguments import Call, call_text
from call_compare import difference, no_farther
from call_differences import internal_in_pytorch_too, reason
from call_faults import wrong_in_two_ways
from call_signatures import targets

SECONDS = 10.0  # of its processor's time, or four times as many on the wall
HERE = Path(__file__).parent


@dataclass
class Finding:
    """One call and what is wrong with it."""

    seed: int
    number: int
    path: str
    difference: str
    call: str = ""


class Child:
    """The process that runs the calls in one library, started again after each call that ends it."""

    def __init__(
        self,
        library: str,
        seed: int,
        numbers: list[int] | range,
        mode: str,
        terms: list[str],
        python: Sequence[str] = (sys.executable,),
        seconds: float = SECONDS,
    ) -> None:
        self.python, self.seconds = python, seconds
        self.library, self.seed, self.mode, self.terms = library, seed, mode, terms
        self.left = numbers
        self.progress = tempfile.NamedTemporaryFile()  # noqa: SIM115  (open as long as this)
        self.process: subprocess.Popen[bytes] | None = None
        self.longest, self.longest_number, self.peak = 0.0, 0, 0  # seconds; KiB

    def outcomes(self) -> Iterator[tuple[int, Any]]:
        """(number, outcome) in order; an outcome ("ended", how) stands for a call that ended the process."""
        while self.left:
            self._start()
            try:
                yield from self._read()
            finally:
                self._stop()

    def _start(self) -> None:
        self.progress.seek(0)
        self.progress.write(self.left[0].to_bytes(8, "little") + bytes(24))
        self.progress.flush()
        environment = {
            **os.environ,
            "PROGRESS": self.progress.name,
            "OPENBLAS_NUM_THREADS": "1",
            "OMP_NUM_THREADS": "1",
            "MALLOC_ARENA_MAX": "2",
        }
        numbers = ",".join(map(str, self.left))
        if isinstance(self.left, range):
            numbers = f"{self.left.start}:{self.left.stop}"
        command = [
            *self.python,
            HERE / "call_run.py",
            self.library,
            self.seed,
            numbers,
            self.mode,
        ]
        self.process = subprocess.Popen(
            [*map(str, command), *self.terms],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=environment,
        )

    def _stop(self) -> None:
        assert self.process is not None
        self.process.kill()
        self.process.communicate()
        number, took, peak = struct.unpack("<3q", Path(self.progress.name).read_bytes()[8:32])
        self.longest, self.longest_number = max(
            (self.longest, self.longest_number), (took / 1e6, number)
        )
        self.peak = max(self.peak, peak)

    def measured(self) -> str:
        """Return the longest call that came back, and the most memory."""
        return (
            f"longest call {self.longest:.2f} s of processor time (#{self.longest_number}), "
            f"most memory {self.peak >> 10} MiB"
        )

    def _running(self) -> int:
        return int.from_bytes(Path(self.progress.name).read_bytes()[:8], "little")

    def _read(self) -> Iterator[tuple[int, Any]]:
        assert self.process is not None
        stream = self.process.stdout
        hung = ""
        while not hung:
            hung = self._hangs(stream)
            if hung:
                break
            try:
                number, outcome = pickle.load(stream)
            except (EOFError, pickle.UnpicklingError):
                break
            if number < 0:
                self.left = range(0)
                return
            self.left = self.left[self.left.index(number) + 1 :]
            yield number, outcome
        if hung:
            self.process.kill()
        code = self.process.wait()
        running = self._running()
        while self.mode != "look" and self.left[0] != running:  # outcomes that were not written yet
            yield self.left[0], None
            self.left = self.left[1:]
        self.left = self.left[self.left.index(running) + 1 :]
        yield running, ("ended", hung or (f"signal {-code}" if code < 0 else f"status {code}"))

    def _hangs(self, stream: Any) -> str:
        """Waits for the next outcome; says how long one call has taken where that is too long."""
        if stream.peek(1) if select.select([stream], [], [], 0)[0] else False:
            return ""
        number, since, cpu = self._running(), time.monotonic(), self._cpu()
        while not select.select([stream], [], [], 0.5)[0]:
            if self._running() != number:
                number, since, cpu = self._running(), time.monotonic(), self._cpu()
            used = self._cpu() - cpu
            if used > self.seconds or time.monotonic() - since > 4 * self.seconds:
                return f"takes longer than {self.seconds:g} s"
        return ""

    def _cpu(self) -> float:
        assert self.process is not None
        try:
            fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            return 0.0
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def search(
    seed: int,
    numbers: list[int] | range,
    torch: bool,
    terms: list[str],
    say: Any,
    python: Sequence[str] = (sys.executable,),
    seconds: float = SECONDS,
) -> tuple[collections.Counter[str], list[Finding]]:
    """Runs the calls; returns counts and findings."""
    counts: collections.Counter[str] = collections.Counter()
    findings: list[Finding] = []
    selected = [t for t in targets() if not terms or any(word in t.path for word in terms)]

    def note(number: int, difference: str, may_differ: bool = False) -> None:
        call = Call(selected, seed, number)
        text = call_text(call)
        if may_differ and (allowed := reason(call.path, difference, text)):
            counts[f"allowed: {allowed}"] += 1
            return
        finding = Finding(seed, number, call.path, difference, text)
        findings.append(finding)
        say(finding)

    ours = Child("engine", seed, numbers, "full" if torch else "look", terms, python, seconds)
    if not torch:
        for number, outcome in ours.outcomes():
            if outcome is None:
                continue
            if outcome[0] == "ended":
                counts["ended"] += 1
                note(number, f"ends the process: {outcome[1]}")
            elif outcome[0] == "unbuilt":  # an argument could not be made: no call
                counts["unbuilt"] += 1
            elif outcome[0] == "raised" and not internal_in_pytorch_too(
                Call(selected, seed, number).path, outcome
            ):
                counts["internal"] += 1
                note(number, f"internal {outcome[1]} at {outcome[4]}: {outcome[2]}")
        counts["calls"] += len(numbers) - counts["unbuilt"]
        print(ours.measured())
        return counts, findings
    result = Child("torch", seed, numbers, "full", terms)
    doubtful: dict[int, tuple[str, Any, Any]] = {}
    for (number, b), (other, a) in zip(ours.outcomes(), result.outcomes(), strict=True):
        assert number == other
        counts["calls"] += 1
        if b is not None and b[0] == "ended":
            counts["ended"] += 1
            note(number, f"ends the process: {b[1]}")
        elif a is None or b is None:
            counts["lost"] += 1
        elif a[0] == "ended":
            counts[f"PyTorch {a[1]}"] += 1
        else:
            counts[f"PyTorch {a[0]}"] += 1
            path = Call(selected, seed, number).path
            output = difference(path, a, b)
            if output and both_raise(a, b) and wrong_in_two_ways(b[1:3], a[1:3]):
                counts["wrong in two ways: each reports one"] += 1
            elif output and "values:" in output:
                doubtful[number] = output, a, b
            elif output:
                internal = b[0] == "raised" and b[3]
                location = f" (at {b[4]})" if internal else ""
                note(
                    number,
                    f"{output}{location} | {b[2] if b[0] == 'raised' else ''} | {a[2] if a[0] == 'raised' else ''}",
                    may_differ=True,
                )
    judge = Child("torch", seed, list(doubtful), "wide", terms)
    for number, wide in judge.outcomes():
        output, a, b = doubtful[number]
        if wide and wide[0] == "returned" and no_farther(a, b, wide):
            counts["no farther from the result in float64"] += 1
        else:
            note(number, output, may_differ=True)
    return counts, findings


def both_raise(theirs: Any, ours: Any) -> bool:
    """Return True if both outcomes are errors, and ours does not come from inside."""
    return theirs[0] == ours[0] == "raised" and not ours[3]


def show(seed: int, number: int, torch: bool, terms: list[str]) -> None:
    """Prints one call and what comes of it."""
    selected = [t for t in targets() if not terms or any(word in t.path for word in terms)]
    print(call_text(Call(selected, seed, number)))
    for library in ("engine", "torch") if torch else ("engine",):
        for _, outcome in Child(library, seed, [number], "full", terms).outcomes():
            print(f"{library}: {outcome}")


def main() -> int:
    """Reads the command line; status 1 when there are findings."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--start", type=int, default=0)
    parser.add_argument("--count", type=int, default=10_000)
    parser.add_argument(
        "--op", action="append", default=[], help="only names that contain this; may be repeated"
    )
    parser.add_argument("--torch", action="store_true", help="compare each call with PyTorch's")
    parser.add_argument("--show", type=int, help="print the call of this number and its outcomes")
    parser.add_argument(
        "--again", type=Path, help="only the calls of this seed in such a file of findings"
    )
    parser.add_argument("--out", type=Path, help="append findings to this file as lines of JSON")
    parser.add_argument(
        "--python", default=sys.executable, help="the command that runs the engine's calls"
    )
    parser.add_argument("--seconds", type=float, default=SECONDS, help="how long one call may take")
    options = parser.parse_args()
    if options.show is not None:
        show(options.seed, options.show, options.torch, options.op)
        return 0

    def say(finding: Finding) -> None:
        if options.out:
            with options.out.open("a", encoding="utf-8") as file:
                file.write(json.dumps(vars(finding)) + "\n")

    began = time.monotonic()
    numbers: list[int] | range = range(options.start, options.start + options.count)
    if options.again:
        earlier = [Finding(**json.loads(line)) for line in options.again.read_text().splitlines()]
        numbers = sorted({item.number for item in earlier if item.seed == options.seed})
    counts, findings = search(
        options.seed,
        numbers,
        options.torch,
        options.op,
        say,
        shlex.split(options.python),
        options.seconds,
    )
    kinds: dict[tuple[str, str], list[Finding]] = {}
    for item in findings:
        kinds.setdefault((item.path, re.sub(r"\d+", "#", item.difference)[:60]), []).append(item)
    for alike in sorted(kinds.values(), key=len):
        first = alike[0]
        print(
            f"{len(alike)} x {first.path}: {first.difference[:300]}\n    #{first.number} {first.call[:600]}"
        )
    print(f"{dict(counts)}; {len(findings)} findings; {time.monotonic() - began:.0f} s")
    return bool(findings)


if __name__ == "__main__":
    sys.exit(main())
