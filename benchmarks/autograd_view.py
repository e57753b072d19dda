"""The speed of the autograd view in a large graph: `python benchmarks/autograd_view.py [nodes]`.

Records a program that builds a residual network of `nodes` nodes (10,000) over 200 weights and runs
backward through it. Prints the best of three of opening and the 95th percentile of keys:

open:   reading the trace, folding it, the model of the moment before backward, with 40 nodes read
key:    the model after one step of each grain, with the 40 nodes around the focus read
drawn:  the same, and drawing the picture of 120x40
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from engine.inspect.history import History
from engine.inspect.models.autograd import Autograd, project
from engine.inspect.selection import Selection
from engine.inspect.trace import TraceReader

PROGRAM = """
import engine

ws = [engine.ones(2, 2).div_(4).requires_grad_() for _ in range(200)]
h = engine.ones(2, 2)
for i in range({rounds}):
    w = ws[i % 200]
    h = (h @ w).tanh() + h
loss = h.sum()
loss.backward()
"""
PER_ROUND = 3  # nodes
LOOKED_AT = 40  # nodes that one screen shows
STEPS = 40


def recorded(folder: Path, nodes: int) -> Path:
    from engine.inspect.recorder import record_program

    program, trace = folder / "deep.py", folder / "deep.uht"
    program.write_text(PROGRAM.format(rounds=max(1, nodes // PER_ROUND)))
    run = f"import sys; from {record_program.__module__} import record_program; "
    run += "sys.exit(record_program(sys.argv[2:], sys.argv[1]))"
    subprocess.run([sys.executable, "-c", run, str(trace), str(program)], check=True)
    return trace


def looked_at(history: History, moment: int) -> Autograd:
    """Return the model of a moment as a screen uses it, with the nodes around the focus built."""
    model = project(history, moment, Selection())
    position = max(0, model.nodes.place_of(model.focus))
    first = max(0, min(position - LOOKED_AT // 2, len(model.nodes) - LOOKED_AT))
    for _ in model.nodes[first : first + LOOKED_AT]:
        pass
    return model


def drawn(history: History, moment: int) -> None:
    from tui.views import DrawContext, view

    model = looked_at(history, moment)
    picture = view("autograd").draw(model, DrawContext(120, 40))
    for y in range(min(40, picture.height)):
        picture.line(y)


def seconds(act: Callable[[], object]) -> float:
    begin = time.perf_counter()
    act()
    return time.perf_counter() - begin


def keys(history: History, look: Callable[[History, int], object]) -> dict[str, float]:
    """Per grain the time that 95 of 100 steps do not exceed, at four places of the run."""
    tables, result = history.tables, {}
    started = int(history.autograd.tables.runs.since[0])
    starts = (started // 2, started, (started + history.end) // 2, history.end - 1)
    for grain in ("event", "op", "node", "line"):
        times = []
        for start in starts:
            moment = start
            for step in range(STEPS):
                way = tables and (history.next if step % 4 else history.previous)
                moment = way(moment, grain)
                times.append(seconds(lambda at=moment: look(history, at)))  # type: ignore[misc]
        result[grain] = sorted(times)[int(0.95 * len(times))]
    return result


def main() -> None:
    nodes = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    with tempfile.TemporaryDirectory() as folder:
        path = recorded(Path(folder), nodes)

        def open_() -> None:
            history = History(TraceReader.open(path))
            looked_at(history, int(history.autograd.tables.runs.since[0]))

        opened = min(seconds(open_) for _ in range(3))
        history = History(TraceReader.open(path))
        started = int(history.autograd.tables.runs.since[0])
        drawn(history, started)
        first = seconds(lambda: drawn(History(TraceReader.open(path)), started))
        model = project(history, started, Selection())
        print(f"{len(model.nodes):,} nodes, {history.end:,} events")
        print(f"open                  {opened * 1e3:8.1f} ms")
        print(f"open and draw         {first * 1e3:8.1f} ms")
        for name, look in (("key", looked_at), ("drawn", drawn)):
            for grain, used in keys(history, look).items():
                print(f"{name:6}{grain:16}{used * 1e3:8.1f} ms (p95)")


if __name__ == "__main__":
    main()
