"""Fused groups, compared with eager, torch.jit and jax.jit: `python benchmarks/jit.py [--jax PYTHON] [--threads N]`.

One line per function and size: our time, then our time / theirs, all on one core or on N. PyTorch is timed
in turn with us in one process. jax may have its own environment (it needs its own NumPy): `--jax` names its
Python, which runs this file, and we alternate with it. The affinity limits all of them to N cores, because jax
ignores its setting and uses every core that it can. The bounds are those of the issue.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import json
import os
import statistics
import subprocess
import sys
from collections.abc import Callable
from typing import Any

from run import BLOCK, ROUNDS, Work, show_time, timed

SIZES = (1_000, 100_000, 4_000_000)
TORCH_BOUND, JAX_BOUND = 0.25, 1.0


def numbers(n: int, seed: int) -> list[float]:
    """Return the same numbers for all libraries: a few thousand, repeated, which is quick."""
    period = min(n, 4001)
    return [((i * 7919 + seed * 104729) % 4001) / 1000.0 - 2.0 for i in range(period)]


def tensor(m: Any, n: int, seed: int) -> Any:
    some = m.tensor(numbers(n, seed))
    return some.repeat(n // len(some) + 1)[:n].clone()


# ---- what is fused, for engine and torch (methods) and for jax (its functions)


def chain(x: Any, y: Any) -> Any:
    z = (x * y + 0.5).sigmoid() * x.tanh()
    return (z - y).relu() * 0.25 + (x * x + y * y).sqrt()


def polynomial(x: Any, y: Any) -> Any:
    return ((x * 0.3 + y) * x - 1.5) * x + (y * y - x) * 0.5


def squared_error(x: Any, y: Any) -> Any:
    return ((x - y) * (x - y) * 0.5).sum()


def jax_chain(jax: Any) -> Callable[..., Any]:
    def function(x: Any, y: Any) -> Any:
        z = jax.nn.sigmoid(x * y + 0.5) * jax.numpy.tanh(x)
        return jax.nn.relu(z - y) * 0.25 + jax.numpy.sqrt(x * x + y * y)

    return function


FUNCTIONS: dict[str, tuple[Callable[..., Any], Callable[[Any], Callable[..., Any]]]] = {
    "chain": (chain, jax_chain),
    "polynomial": (polynomial, lambda jax: polynomial),
    "squared_error": (squared_error, lambda jax: squared_error),
}


def traced(m: Any, function: Callable[..., Any], n: int) -> Work:
    x, y = tensor(m, n, 1), tensor(m, n, 2)
    compiled = m.jit.trace(function, (x, y))
    for _ in range(4):  # profiled, specialised, fused
        compiled(x, y)
    return lambda: compiled(x, y)


def eager(m: Any, function: Callable[..., Any], n: int) -> Work:
    x, y = tensor(m, n, 1), tensor(m, n, 2)
    return lambda: function(x, y)


def block(work: Work) -> float:
    """Seconds of one call, over a block that lasts long enough to be timed."""
    timed(work, 2)
    return timed(work, max(1, round(BLOCK / max(timed(work, 3), 1e-8))))


# ---- the other side of the pipe: this file, run by a Python that has jax


def serve_jax() -> int:
    """For each line "name size" read, the seconds of one call."""
    jax = importlib.import_module("jax")
    works: dict[str, Work] = {}
    for line in sys.stdin:
        name, size = line.split()
        if line not in works:
            n = int(size)
            compiled = jax.jit(FUNCTIONS[name][1](jax))
            x, y = (jax.numpy.resize(jax.numpy.array(numbers(n, s)), n) for s in (1, 2))
            works[line] = lambda c=compiled, x=x, y=y: c(x, y).block_until_ready()  # type: ignore[misc]
        print(json.dumps(block(works[line])), flush=True)
    return 0


class Jax:
    """A process with jax, which measures one time per request."""

    def __init__(self, python: str) -> None:
        self.process = subprocess.Popen(
            [python, __file__, "--serve-jax"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "JAX_PLATFORMS": "cpu"},
        )

    def seconds(self, name: str, n: int) -> float:
        assert self.process.stdin
        assert self.process.stdout
        print(name, n, file=self.process.stdin, flush=True)
        answer = self.process.stdout.readline()
        if not answer:
            raise RuntimeError(f"the Python given with --jax ended: {self.process.wait()}")
        return float(json.loads(answer))

    def close(self) -> None:
        assert self.process.stdin
        self.process.stdin.close()
        self.process.wait()


def line(name: str, n: int, jax: Jax | None, torch: Any) -> str:
    engine = importlib.import_module("engine")
    function = FUNCTIONS[name][0]
    ours = traced(engine, function, n)
    others: dict[str, Callable[[], float]] = {}
    plain = eager(engine, function, n)
    others["eager"] = lambda: block(plain)
    if torch:
        other, theirs_plain = traced(torch, function, n), eager(torch, function, n)
        others["torch"] = lambda: block(theirs_plain)
        others["torch.jit"] = lambda: block(other)
    if jax:
        others["jax.jit"] = lambda: jax.seconds(name, n)
    times: dict[str, list[float]] = {key: [] for key in ("ours", *others)}
    for _ in range(ROUNDS):
        times["ours"].append(block(ours))
        for key, seconds in others.items():
            times[key].append(seconds())
    text = f"{name:<14} {n:>9,} {show_time(statistics.median(times['ours']))}"
    for key in others:
        ratio = statistics.median(a / b for a, b in zip(times["ours"], times[key], strict=True))
        bound = {"torch.jit": TORCH_BOUND, "jax.jit": JAX_BOUND}.get(key)
        verdict = "" if bound is None or name != "chain" else " ok" if ratio <= bound else " OVER"
        text += f"   {key} {ratio:5.2f}{verdict}"
    return text


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help=f"only these: {', '.join(FUNCTIONS)}")
    parser.add_argument(
        "--jax", metavar="PYTHON", help="a Python that has jax, if this one has not"
    )
    parser.add_argument("--threads", type=int, default=1, metavar="N", help="how many cores")
    parser.add_argument("--serve-jax", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve_jax:
        return serve_jax()
    unknown = set(options.names) - set(FUNCTIONS)
    if unknown:
        parser.error(f"there is no {', '.join(sorted(unknown))}")
    cores = sorted(os.sched_getaffinity(0))
    if not 1 <= options.threads <= len(cores):
        parser.error(f"--threads {options.threads}: there are {len(cores)} cores")
    os.sched_setaffinity(0, cores[: options.threads])
    importlib.import_module("engine").set_num_threads(options.threads)
    torch = importlib.import_module("torch") if importlib.util.find_spec("torch") else None
    if torch:
        torch.set_num_threads(options.threads)
    python = options.jax or (sys.executable if importlib.util.find_spec("jax") else None)
    jax = Jax(python) if python else None
    for name in options.names or FUNCTIONS:
        for n in SIZES:
            print(line(name, n, jax, torch), flush=True)
    if jax:
        jax.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
