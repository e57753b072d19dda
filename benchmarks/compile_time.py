"""The processor time of compiling: `python benchmarks/compile_time.py [nodes...]`.

Per size of a scripted function: the front end, the first call (general code) and the third (specialised code,
fused), medians over different functions. The third should take at most 5 ms for 50 nodes. `--passes` prints
the slowest passes of a recording.
"""

from __future__ import annotations

import argparse
import importlib.util
import statistics
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import engine
from engine import jit
from engine.inspect.events import kind_of
from engine.inspect.recorder import record
from engine.inspect.trace import TraceReader

ROUNDS = 9
MAX_MS = {50: 5.0}  # ms
LINES = (  # each is a step of one or two nodes; {} is a different number in each function
    "a = a + x",
    "a = a * 0.5{}1",
    "a = a - y * 1.{}",
    "a = (a * x).tanh()",
    "b = a.sigmoid() + 2.{}",
    "a = b + a",
)


def function(nodes: int, folder: Path, number: int) -> Callable[..., Any]:
    """Return a new function of about `nodes` pointwise operators; compiling one again would cost nothing."""
    body, results = ["def f(x, y):", "    a = x * y"], 1
    while results < nodes:
        line = LINES[len(body) % len(LINES)].format(len(body))
        results += 1 + (
            line.count("(") > 1 or line.count("*") + line.count("+") + line.count("-") > 1
        )
        body.append("    " + line)
    path = folder / f"f{nodes}_{number}.py"
    path.write_text("\n".join([*body, "    return a", ""]))
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    result: Callable[..., Any] = module.f
    return result


def milliseconds(call: Callable[[], Any]) -> tuple[float, Any]:
    begin = time.thread_time()
    result = call()
    return 1e3 * (time.thread_time() - begin), result


def costs(nodes: int, folder: Path) -> tuple[float, float, float]:
    x, y = engine.rand(4, 4), engine.rand(4, 4)
    rows = []
    for number in range(ROUNDS):
        fn = function(nodes, folder, number)
        front, scripted = milliseconds(lambda fn=fn: jit.script(fn))  # type: ignore[misc]
        calls = [milliseconds(lambda s=scripted: s(x, y))[0] for _ in range(3)]  # type: ignore[misc]
        rows.append((front, calls[0], calls[2]))
    front, first, third = (statistics.median(column) for column in zip(*rows, strict=True))
    return front, first, third


def pass_times(nodes: int, folder: Path, number: int) -> dict[str, int]:
    """Nanoseconds of every pass, of all compilations of one function."""
    scripted = jit.script(function(nodes, folder, ROUNDS + number))
    x, y = engine.rand(4, 4), engine.rand(4, 4)
    path = folder / f"{nodes}_{number}.uht"
    with record(path, lines=False):
        for _ in range(3):
            scripted(x, y)
    took: defaultdict[str, int] = defaultdict(int)
    trace, names = TraceReader.open(path), {}
    for event in trace.events:
        kind = kind_of(int(event["kind"])).name
        if kind == "PASS_BEGIN":
            names[int(event["a"])] = trace.string(int(event["d"]))
        elif kind == "PASS_END":
            took[names[int(event["a"])]] += int(event["c"])
    return took


def passes(nodes: int, folder: Path) -> str:
    """Return the longest passes and their share of the passes' time: medians, as a clock on the wall is read."""
    runs = [pass_times(nodes, folder, number) for number in range(ROUNDS)]
    took = {name: statistics.median(run[name] for run in runs) for name in runs[0]}
    longest = sorted(took.items(), key=lambda item: -item[1])[:6]
    return ", ".join(f"{name} {100 * ns / sum(took.values()):.0f} %" for name, ns in longest)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("nodes", nargs="*", type=int, default=[10, 50, 200, 1000])
    parser.add_argument("--passes", action="store_true", help="which passes take how much of it")
    options = parser.parse_args()
    good = True
    with tempfile.TemporaryDirectory() as folder:
        for nodes in options.nodes:
            front, first, third = costs(nodes, Path(folder))
            expected = MAX_MS.get(nodes)
            verdict = "" if expected is None else "  ok" if third <= expected else "  SLOW"
            good = good and verdict != "  SLOW"
            print(
                f"{nodes:>5} nodes: scripted in {front:7.2f} ms, first call {first:6.2f} ms,"
                f" specialised in {third:6.2f} ms{verdict}"
            )
            if options.passes:
                print(f"             {passes(nodes, Path(folder))}")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
