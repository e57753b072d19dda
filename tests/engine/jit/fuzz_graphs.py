"""Graphs that are damaged in their text, run: refused with a reason, or run to an end or an error.

    python tests/engine/jit/fuzz_graphs.py --count 2000 --seed 0

fuzz_model.py asks whether a damaged file is read; here what the verifier lets through is run as well, on
tensors of several kinds, before and after each pass. Each graph is run in its own process, with limits
of time and memory: one that ends by a signal other than the limit's is a fault, and is shown.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import re
import resource
import signal
import tempfile
from collections import Counter
from pathlib import Path
from random import Random

from fuzz_outcomes import arguments, outcome
from fuzz_programs import Writer

import engine
from engine import jit

TYPES = ("int", "float", "bool", "str", "Tensor", "Tensor[]", "int[]", "Tensor?", "NoneType", "Any",
         "Dict(str, Tensor)", "(Tensor, int)", "Float(3, 4)", "number")  # fmt: skip
VALUES = ("0", "1", "-1", "9223372036854775807", "-9223372036854775808", "1e300", "nan", "inf", '"x"',
          "[1, 2]", "[]", "100000")  # fmt: skip
DAMAGED = 20  # graphs from one program


def whole_graph(seed: int, folder: Path) -> str:
    path = folder / f"graph_{seed}.py"
    path.write_text(Writer(Random(seed)).text())
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return str(jit.script(module.f).inlined_graph)


def damaged(source: Random, text: str) -> str:
    """Another operand, type, kind or value in a line or two; a line less, or two exchanged."""
    lines = text.split("\n")
    for _ in range(source.randint(1, 2)):
        i = source.randrange(1, len(lines) - 2)
        match source.randrange(6):
            case 0:
                lines[i] = _exchanged(source, lines[i], r"%[\w.]+", re.findall(r"%[\w.]+", text))
            case 1:
                lines[i] = _exchanged(source, lines[i], r"(?<= : )[\w?\[\]]+", TYPES)
            case 2:
                kinds = re.findall(r"(?:aten|prim)::\w+", text)
                lines[i] = _exchanged(source, lines[i], r"(?:aten|prim)::\w+", kinds)
            case 3:
                lines[i] = _exchanged(source, lines[i], r"(?<=value=)[^\]]*(?=\])", VALUES)
            case 4:
                del lines[i]
            case _:
                j = source.randrange(1, len(lines) - 2)
                lines[i], lines[j] = lines[j], lines[i]
    return "\n".join(lines)


def _exchanged(source: Random, line: str, pattern: str, others: list[str] | tuple[str, ...]) -> str:
    matches = [*re.finditer(pattern, line)]
    if not matches:
        return line
    item = source.choice(matches)
    return line[: item.start()] + source.choice(others) + line[item.end() :]


def run_all(text: str) -> str:
    """Run one graph and return its outcome."""
    try:
        graph = jit.Graph.parse(text)
    except (RuntimeError, ValueError, TypeError, IndexError):
        return "refused"
    for case in ("plain", "trained", "turned", "whole", "empty"):
        outcome(engine, graph.run, arguments(engine, case))
    for name in jit.passes():
        changed = graph.copy()
        jit.run_pass(changed, name)
        for case in ("plain", "trained"):
            outcome(engine, changed.run, arguments(engine, case))
    return "run"


def in_a_process(text: str) -> str:
    """Return the same in a child: what became of it, or the signal that ended it."""
    child = os.fork()
    if child == 0:
        resource.setrlimit(resource.RLIMIT_CPU, (10, 11))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        code = 2
        try:
            code = 0 if run_all(text) == "run" else 1
        finally:
            os._exit(code)
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        return signal.Signals(os.WTERMSIG(status)).name
    return ("run", "refused", "raised by a pass")[os.WEXITSTATUS(status)]


def run(count: int, seed: int) -> Counter[str]:
    seen = Counter[str]()
    with tempfile.TemporaryDirectory() as folder:
        for number in range(count):
            if number % DAMAGED == 0:
                full = whole_graph(seed + number // DAMAGED, Path(folder))
            text = damaged(Random(f"{seed} {number}"), full)
            result = in_a_process(text)
            seen[result] += 1
            if result.startswith("SIG") and result != "SIGXCPU":
                raise AssertionError(f"graph {number} of seed {seed}: {result}\n{text}")
            if result == "raised by a pass":
                raise AssertionError(f"graph {number} of seed {seed}: a pass failed\n{text}")
    return seen


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--count", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    for result, times in sorted(run(options.count, options.seed).items()):
        print(f"{times:8} {result}")
