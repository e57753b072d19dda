"""The speed of opening and querying recordings of compiled programs: `python benchmarks/jit_views.py [size]`.

Three programs are recorded, `size` (1) times as large as described here:

graph:      a trace of 10,000 nodes, of which peephole erases 5,000, one per rewrite
functions:  500 scripted functions, each called three times
steps:      a loop of 1,000,000 instructions in 60 calls

open:  reading the trace and folding it
first: the first model of the JIT view and of the interpreter's: they read every graph of the recording
seek:  the model at a random moment; step: after one rewrite, or one instruction. Median and worst.
"""

from __future__ import annotations

import random
import statistics
import subprocess
import sys
import tempfile
from functools import partial
from pathlib import Path

from history import timed

from engine.inspect.history import History
from engine.inspect.models import project
from engine.inspect.selection import Selection
from engine.inspect.trace import TraceReader

GRAPH = """
import engine

def turned(x):
    for _ in range({nodes}):
        x = x.t().t().neg().abs()
    return x

traced = engine.jit.trace(turned, engine.ones(2, 2), check_trace=False)
for _ in range(3):
    traced(engine.ones(2, 2))
"""
FUNCTION = """
@engine.jit.script
def f{number}(x, n: int):
    y = x.t().t() * {number}
    if n > {number}:
        y = y + 1
    return y

for _ in range(3):
    f{number}(engine.ones(2, 2), {number})
"""
STEPS = """
import engine

@engine.jit.script
def counted(xs: list[int], n: int):
    total = 0
    for i in range(n):
        v = xs[i % 7]
        if v % 3 == 0:
            total += v
        else:
            xs[i % 7] = i
    return total

for _ in range({calls}):
    counted([1, 2, 3, 4, 5, 6, 7], 1300)
"""


def programs(size: float) -> dict[str, str]:
    """Return the programs by name."""
    functions = (FUNCTION.replace("{number}", str(n)) for n in range(round(500 * size)))
    return {
        "graph": GRAPH.replace("{nodes}", str(round(2500 * size))),
        "functions": "import engine\n" + "".join(functions),
        "steps": STEPS.replace("{calls}", str(round(60 * size))),
    }


def recorded(program: str, folder: Path) -> Path:
    """Return the trace of a program."""
    script, trace = folder / "program.py", folder / "program.uht"
    script.write_text(program)
    trace.unlink(missing_ok=True)
    command = [sys.executable, "-m", "tui", "record", "-o", str(trace), str(script)]
    subprocess.run(command, check=True, capture_output=True)
    return trace


def measure(name: str, trace: Path) -> None:
    """Prints a line for opening, and one for each of the two views."""
    matches: list[History] = []
    opened = timed(lambda: matches.append(History(TraceReader.open(trace))))
    history, chooser = matches[0], random.Random(0)
    size = f"{history.end:,} events, {len(history.jit.tables.rewrites):,} rewrites"
    print(f"{name:<10} open {opened:17.0f} ms   {size}")
    for view, grain in (("jit", "rewrite"), ("interpreter", "instruction")):
        look = partial(project, view, history)
        first = timed(partial(look, history.end - 1, Selection()))
        positions = [chooser.randrange(history.end) for _ in range(30)]
        seeks = [timed(partial(look, m, Selection())) for m in positions]
        m, steps = history.next(history.end // 3, grain), []
        for _ in range(30):
            steps.append(timed(partial(look, m, Selection())))
            m = history.next(m, grain)
        print(
            f"  {view:<12} first {first:7.0f} ms   seek {statistics.median(seeks):6.1f} {max(seeks):7.1f}"
            f"   step {statistics.median(steps):6.1f} {max(steps):7.1f}"
        )


def main() -> None:
    size = float(sys.argv[1]) if len(sys.argv) > 1 else 1.0
    with tempfile.TemporaryDirectory() as folder:
        for name, program in programs(size).items():
            measure(name, recorded(program, Path(folder)))


if __name__ == "__main__":
    main()
