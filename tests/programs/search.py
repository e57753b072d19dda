"""Searches for programs that behave differently in the engine than in PyTorch, or compiled than in Python.

    python -m tests.programs.search --mode pytorch --count 100000      against PyTorch, statement by statement
    python -m tests.programs.search --mode script --count 20000        `jit.script` against the same Python, without
    python -m tests.programs.search --mode trace --count 20000         PyTorch; likewise `jit.trace`
    ... --seed 5000     the first seed (a program is what its seed draws)
    ... --jobs 2        processes at once
    ... --show 7        prints the program of a seed, as a script, and how it goes
    ... --classes 40    the number of classes of difference that are reduced and printed, at most

Prints the number of programs, of differences, and for each class the first program, reduced to the smallest that
still differs. Exit status: 0 if there is no difference. A process that dies is a difference, too. Ctrl-C ends the
search and prints its results so far.
"""

from __future__ import annotations

import argparse
import ast
import faulthandler
import importlib
import importlib.util
import json
import multiprocessing
import os
import resource
import signal
import sys
import time
import traceback
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from typing import Any

import engine
from tests.engine.jit.fuzz_shrink import shrunk
from tests.programs import compiled
from tests.programs.aliases import with_one_name
from tests.programs.blocks import without_blocks
from tests.programs.copies import computes_the_same_with_copies
from tests.programs.grammar import program
from tests.programs.known import UNTRACEABLE, reason_for
from tests.programs.outcome import Difference, difference, run, statements
from tests.programs.rounding import follows_from_rounding, reads_other_bools

SECONDS = 30  # for one program
CHUNK = 250  # programs of one process
MEMORY = 6 << 30


def beside_pytorch(text: str) -> Difference | None:
    torch = importlib.import_module("torch")
    return difference(run(engine, text), run(torch, text))


def reason_within_block(text: str, result: Difference) -> str | None:
    """The reason for the first difference of the program without its blocks."""
    alone = without_blocks(engine, text)
    if result.statement in statements(alone):  # it is in no block
        return None
    first = beside_pytorch(alone)
    return first and known_reason("pytorch", alone, first)


CHECKS: dict[str, compiled.Check] = {
    "pytorch": beside_pytorch,
    "script": compiled.scripted,
    "trace": compiled.traced,
}
COMPILERS: dict[str, compiled.Compiler] = {"script": compiled.script, "trace": compiled.trace}


def known_reason(mode: str, text: str, result: Difference) -> str | None:
    """The reason for an intended difference, else None."""
    if mode == "trace" and UNTRACEABLE.search(text):
        return "PyTorch cannot trace resize_, set_ and x.data; its detach_ leaves the tensor of the caller"
    with_grad = text.replace("with lib.no_grad():", "if True:")
    if mode == "trace" and with_grad != text and CHECKS[mode](with_grad) is None:
        return "PyTorch does not trace no_grad, and neither does the engine"
    if mode == "pytorch" and result.fact in ("shape", "values", "seen", "grad values"):
        torch = importlib.import_module("torch")
        if follows_from_rounding(engine, torch, text, result):
            return (
                "the operands differ in the last place or the sign of a zero, or it shows such bits"
            )
        if reads_other_bools(engine, text, result):
            return "a bool tensor of bytes that are neither 0 nor 1"
    if mode == "pytorch" and result.fact in ("values", "seen"):
        torch = importlib.import_module("torch")
        if computes_the_same_with_copies(engine, torch, text, result):
            return "PyTorch reads memory that the operator has written or moved"
    if mode == "pytorch":
        named = with_one_name(engine, text, result)
        return reason_for(result, text) or reason_for(named) or reason_within_block(text, result)
    if not importlib.util.find_spec("torch"):
        return reason_for(result)
    torch = importlib.import_module("torch")
    part = compiled.compilable_part(torch, text, COMPILERS[mode])
    known = compiled.compiles_as(torch, text, COMPILERS[mode])
    if not known and part != ast.unparse(
        ast.parse(text)
    ):  # what PyTorch does not compile may differ
        shorter = CHECKS[mode](part)
        known = (
            shorter is not None
            and shorter.fact == result.fact
            and compiled.compiles_as(torch, part, COMPILERS[mode])
        )
    return "PyTorch compiles the program to the same" if known else reason_for(result)


def text_of(mode: str, seed: int) -> str:
    return program(seed, compiled=mode != "pytorch")


@dataclass
class Finding:
    """A program that differs."""

    seed: int
    signature: str
    statement: str
    detail: str


def work(mode: str, seeds: range, pipe: Connection) -> None:
    """In a child: says which seed it begins, and what differed."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    for seed in seeds:
        pipe.send(("begin", seed))
        signal.alarm(SECONDS)
        text = text_of(mode, seed)
        reason = None
        try:
            result = CHECKS[mode](text)
            if result is not None:
                reason = known_reason(mode, text, result)
        except MemoryError as error:  # a loop that doubles a tensor: its elements do not fit a list
            reason = "the program's facts need more memory than the search has"
            result = Difference("the search failed", "0", str(error))
        except Exception as error:
            trace = "".join(traceback.format_exception(error)[-3:])
            result = Difference("the search failed", "0", trace)
        if result is not None:
            if reason:
                pipe.send(("known", reason))
            else:
                pipe.send(
                    ("differs", Finding(seed, result.signature, result.statement, result.detail))
                )
    pipe.send(("end", None))


def reduce(mode: str, seed: int, signature: str, alone: bool, pipe: Connection) -> None:
    """In a child: the smallest program that shows the class of difference. `alone`: run each in another child,
    because one of them ends its process."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    signal.alarm(120)
    fact = signature.partition(":")[0]

    def fails(text: str) -> bool:
        try:
            result = in_child(check_alone, (mode, text)) if alone else CHECKS[mode](text)
        except Exception:
            return fact == "the search failed"
        return result is not None and result.fact == fact and not known_reason(mode, text, result)

    text = shrunk(text_of(mode, seed), fails, 600)
    result = CHECKS[mode](text) if fact != "the search failed" else None
    pipe.send((text, "" if result is None else f"{result.statement!r}: {result.detail}"))


class Search:
    """Runs chunks of seeds in children, and counts."""

    def __init__(self, mode: str, seed: int, count: int, jobs: int) -> None:
        self.mode, self.jobs = mode, jobs
        self.chunks = [
            range(first, min(first + CHUNK, seed + count))
            for first in range(seed, seed + count, CHUNK)
        ]
        self.findings: list[Finding] = []
        self.known: Counter[str] = Counter()
        self.programs = 0

    def run(self) -> None:
        children: dict[Any, tuple[Any, range, int]] = {}
        pending = self.chunks[::-1]
        while pending or children:
            while pending and len(children) < self.jobs:
                seeds = pending.pop()
                pipe, other = multiprocessing.Pipe(duplex=False)
                child = multiprocessing.Process(target=work, args=(self.mode, seeds, other))
                child.start()
                other.close()
                children[pipe] = (child, seeds, seeds.start)
            for pipe in wait(list(children)):
                assert isinstance(pipe, Connection)
                child, seeds, seed = children[pipe]
                try:
                    kind, value = pipe.recv()
                except EOFError:
                    child.join()
                    self.died(seed, child.exitcode)
                    del children[pipe]
                    if seed + 1 < seeds.stop:
                        pending.append(range(seed + 1, seeds.stop))
                    continue
                if kind == "begin":
                    children[pipe] = (child, seeds, value)
                    self.programs += 1
                    if self.programs % 1000 == 0:
                        print(f"{self.programs} programs", file=sys.stderr, flush=True)
                elif kind == "known":
                    self.known[value] += 1
                elif kind == "differs":
                    self.findings.append(value)
                    print(f"seed {value.seed}: {value.signature}", file=sys.stderr, flush=True)
                else:
                    child.join()
                    del children[pipe]

    def died(self, seed: int, code: int | None) -> None:
        """A program that also ends PyTorch's process, or takes as long there, is not a difference."""
        text = text_of(self.mode, seed)
        if self.mode == "pytorch" and in_child(run_alone, ("engine", text)) is not None:
            self.known["PyTorch's process ended"] += 1
        elif (
            self.mode == "pytorch"
            and code == -signal.SIGALRM
            and in_child(run_alone, ("torch", text)) is None
        ):
            self.known[f"neither library ends it within {SECONDS} s"] += 1
        else:
            self.findings.append(Finding(seed, f"process ended: {code}", "", ""))


def run_alone(library: str, text: str, pipe: Connection) -> None:
    signal.alarm(SECONDS)
    run(importlib.import_module(library), text)
    pipe.send(True)


def check_alone(mode: str, text: str, pipe: Connection) -> None:
    signal.alarm(SECONDS)
    pipe.send(CHECKS[mode](text))


def in_child(target: Callable[..., None], args: tuple[Any, ...]) -> Any:
    pipe, other = multiprocessing.Pipe(duplex=False)
    child = multiprocessing.Process(target=target, args=(*args, other))
    child.start()
    other.close()
    try:
        return pipe.recv()
    except EOFError:
        return None
    finally:
        child.join()


def script(text: str) -> str:
    """A program as a file that runs by itself: `python program.py torch`, or `engine`."""
    lines = ["import importlib", "import sys", "import traceback", "",
             "lib = importlib.import_module(sys.argv[1] if sys.argv[1:] else 'engine')", "seen = []"]  # fmt: skip
    for step in run(engine, text):
        if step.error is None:
            lines.append(step.statement)
            continue
        lines += ["try:", *("    " + line for line in step.statement.split("\n"))]
        lines += ["except Exception:", "    traceback.print_exc(limit=0)"]
    names = list(run(engine, text)[-1].tensors)
    lines += [
        f"for x in ({', '.join(names)},):",
        "    print(x, x._version, x.requires_grad)",
        "print(seen)",
    ]
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--mode", choices=list(CHECKS), default="pytorch")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--show", type=int, metavar="SEED")
    parser.add_argument("--classes", type=int, default=40)
    parser.add_argument("--json", metavar="FILE", help="every finding, for programs")
    options = parser.parse_args()
    if options.mode == "pytorch":
        importlib.import_module("torch").set_num_threads(1)
        importlib.import_module("torch.fx.experimental.symbolic_shapes")  # once, not in each child
    engine.set_num_threads(1)
    if options.show is not None:
        faulthandler.enable()
        text = text_of(options.mode, options.show)
        print(script(text) if options.mode == "pytorch" else text)
        result = CHECKS[options.mode](text)
        print(
            "# no difference"
            if result is None
            else f"# {result.signature}: {result.statement!r}: {result.detail}"
        )
        return 0
    begin = time.monotonic()
    search = Search(options.mode, options.seed, options.count, options.jobs)
    try:
        search.run()
    except KeyboardInterrupt:
        print(f"interrupted after {search.programs} of {options.count} programs", file=sys.stderr)
    if options.json:
        with open(options.json, "w") as file:
            json.dump([vars(element) for element in search.findings], file, indent=1)
    classes: dict[str, list[Finding]] = {}
    for finding in search.findings:
        classes.setdefault(finding.signature, []).append(finding)
    ordered = sorted(classes.items(), key=lambda item: -len(item[1]))
    for signature, findings in ordered[: options.classes]:
        print(f"\n{len(findings)} x {signature} (seed {findings[0].seed})")
        small = in_child(reduce, (options.mode, findings[0].seed, signature, False))
        small = small or in_child(reduce, (options.mode, findings[0].seed, signature, True))
        text, detail = small or (text_of(options.mode, findings[0].seed), findings[0].detail)
        print(
            "\n".join(f"    {line}" for line in text.splitlines()), f"\n    # {detail}", flush=True
        )
    for reason, count in search.known.most_common():
        print(f"{count} x known: {reason}")
    facts = Counter(finding.signature.partition(":")[0] for finding in search.findings)
    print(
        f"{options.mode}: {search.programs} programs from seed {options.seed}, {len(search.findings)} differ in "
        f"{len(classes)} classes {dict(facts)}, {time.monotonic() - begin:.0f} s"
    )
    return 1 if search.findings else 0


if __name__ == "__main__":
    sys.exit(main())
