"""Random programs in which everything meets (fuzz_programs.py), compiled and eager: results, dtypes, strides,
memory that is shared, what is written into arguments, gradients, errors.

`UNDERHOOD_WHOLE_PROGRAMS=3000 UNDERHOOD_WHOLE_FIRST=5000 pytest tests/engine/jit/test_whole_programs.py` looks at
others and more. A program that fails is shown with everything taken away that the failure does not need.
"""

from __future__ import annotations

import importlib.util
import itertools
import os
import re
import threading
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from types import ModuleType
from typing import Any

import pytest

import engine
from engine import jit
from engine.inspect.recorder import record
from tests.engine.jit.fuzz_outcomes import CASES, Outcome, arguments, difference, flat, outcome
from tests.engine.jit.fuzz_programs import Writer
from tests.engine.jit.fuzz_shrink import shrunk

COUNT = int(os.environ.get("UNDERHOOD_WHOLE_PROGRAMS", "40"))
FIRST = int(os.environ.get("UNDERHOOD_WHOLE_FIRST", "0"))
SHARE = 20  # programs per test
# These sum in another order, and so does what is compiled.
REASSOCIATES = ("batch_mm", "fuse")
NEAR = 1e-4
Eager = dict[str, Outcome]
Check = Callable[[ModuleType, Any, Eager], Iterator[str]]
FILES = itertools.count()


def module_of(text: str, folder: Path) -> ModuleType:
    path = folder / f"whole_{next(FILES)}.py"
    path.write_text(text)
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def differences(
    f: Any, eager: Eager, tolerance: float = 0.0, cases: tuple[str, ...] = CASES[:-1]
) -> Iterator[str]:
    for case in cases:
        actual = difference(outcome(engine, f, arguments(engine, case)), eager[case], tolerance)
        if actual:
            yield f"{case}: {actual}"


# What may be done to a program without changing what it does


def compiled(module: ModuleType, scripted: Any, eager: Eager) -> Iterator[str]:
    """Profiled, specialised, and taken back when the next case is another one."""
    for case in CASES:
        yield from differences(scripted, eager, NEAR, (case,) * 3)


def passes(module: ModuleType, scripted: Any, eager: Eager) -> Iterator[str]:
    """Yield the graph as it is, and after each pass alone."""
    graph = scripted.inlined_graph
    yield from differences(graph.run, eager)
    for name in jit.passes():
        changed = graph.copy()
        if jit.run_pass(changed, name):
            changed.lint()
            tolerance = NEAR if name in REASSOCIATES else 0.0
            for item in differences(changed.run, eager, tolerance):
                yield f"{name}: {item}"
        if changed.without_origin():
            yield f"{name}: values without origin: {changed.without_origin()}"


def parsed(module: ModuleType, scripted: Any, eager: Eager) -> Iterator[str]:
    """Printed and parsed: the same text, the same program."""
    text = str(scripted.inlined_graph)
    if "prim::PythonOp" in text:
        return
    graph = jit.Graph.parse(text)
    if str(graph) != text:
        yield f"{graph} is not {text}"
    yield from differences(graph.run, eager)


def saved(module: ModuleType, scripted: Any, eager: Eager) -> Iterator[str]:
    path = Path(module.__file__ or "").with_suffix(".safetensors")
    if "in_python" in str(scripted.inlined_graph):
        with pytest.raises(RuntimeError, match="in_python"):
            jit.save(scripted, path)
        return
    jit.save(scripted, path)
    yield from differences(jit.load(path), eager, NEAR)


def traced(module: ModuleType, scripted: Any, eager: Eager) -> Iterator[str]:
    """A trace does what was done when it was made. As PyTorch's it knows of no no_grad(), and what is
    written into a tensor that was built from numbers stays written in the trace's constant."""
    text = Path(module.__file__ or "").read_text().partition("class Holder")[0]
    if "lib.tensor(" in text:
        return
    for case in ("plain", "trained", "turned", "whole", "overlapping"):
        if eager[case].error is not None or ("_grad():" in text and case == "trained"):
            continue
        x, y, *numbers = arguments(engine, case)
        parts = flat(module.f(x, y, *numbers))  # while a trace is made, sizes are Tensors as well
        positions = [i for i, item in enumerate(parts) if isinstance(item, engine.Tensor)]

        def tensors(x: Any, y: Any, numbers: Any = numbers, indices: Any = positions) -> Any:
            results = flat(module.f(x, y, *numbers))
            return tuple(results[i] for i in indices)

        with warnings.catch_warnings():
            warnings.simplefilter("ignore", jit.TracerWarning)
            result = jit.trace(tensors, tuple(arguments(engine, case)[:2]), check_trace=False)
        expected = outcome(engine, tensors, arguments(engine, case)[:2])
        for _ in range(3):
            actual = difference(
                outcome(engine, result, arguments(engine, case)[:2]), expected, NEAR
            )
            if actual:
                yield f"{case}: {actual}"


def trained_twice(module: ModuleType, scripted: Any, eager: Eager) -> Iterator[str]:
    """Gradients of gradients."""
    expected = outcome(engine, module.f, arguments(engine, "trained"), twice=True)
    for _ in range(3):
        inputs = arguments(engine, "trained")
        actual = difference(outcome(engine, scripted, inputs, twice=True), expected, NEAR)
        if actual:
            yield actual


def recorded(module: ModuleType, scripted: Any, eager: Eager) -> Iterator[str]:
    """Yield the same under record(), to the numbers of versions."""
    path = Path(module.__file__ or "").with_suffix(".uht")
    with record(path):
        watched = {case: outcome(engine, scripted, arguments(engine, case)) for case in CASES}
    again = jit.script(module_of(Path(module.__file__ or "").read_text(), path.parent).f)
    for case in CASES:
        plain = outcome(engine, again, arguments(engine, case))
        actual = difference(watched[case], plain) or difference(watched[case], eager[case], NEAR)
        if actual or watched[case].versions != plain.versions:
            yield f"{case}: {actual or (watched[case].versions, plain.versions)}"


def in_threads(module: ModuleType, scripted: Any, eager: Eager) -> Iterator[str]:
    """Two threads call it at once, each with its own arguments."""
    actual: list[str] = []

    def calls() -> None:
        for _ in range(3):
            actual.extend(differences(scripted, eager, NEAR))

    threads = [threading.Thread(target=calls) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    yield from actual


def within_modules(module: ModuleType, scripted: Any, eager: Eager) -> Iterator[str]:
    """Scripted, saved and frozen, with a buffer that is written to."""
    for case in ("plain", "turned", "odd", "empty"):
        expected = outcome(engine, twice_of(module.Holder()), arguments(engine, case))
        holder = jit.script(module.Holder())
        ways = {"scripted": holder}
        if "in_python" not in str(holder.inlined_graph):
            path = Path(module.__file__ or "").with_suffix(".safetensors")
            jit.save(holder, path)
            ways |= {"saved": jit.load(path), "saved and frozen": jit.freeze(jit.load(path).eval())}
        ways["frozen"] = jit.freeze(jit.script(module.Holder().eval()))
        for name, item in ways.items():
            actual = difference(
                outcome(engine, twice_of(item), arguments(engine, case)), expected, NEAR
            )
            if actual:
                yield f"{name}, {case}: {actual}"


def twice_of(holder: Any) -> Callable[..., Any]:
    """Return the results of two calls; the second reads what the first wrote."""
    return lambda *args: (holder(*args), holder(*args))


CHECKS: tuple[Check, ...] = (
    compiled,
    passes,
    parsed,
    saved,
    traced,
    trained_twice,
    recorded,
    in_threads,
    within_modules,
)


def failures(check: Check, text: str, folder: Path) -> list[str]:
    module = module_of(text, folder)
    eager = {case: outcome(engine, module.f, arguments(engine, case)) for case in CASES}
    return [*check(module, jit.script(module.f), eager)]


def smallest(check: Check, text: str, folder: Path, failure: str) -> str:
    """Return a smaller program that fails in the same way: the same case, the same kind of difference."""
    kind = re.sub(r"[\d\[].*", "", failure, flags=re.DOTALL)

    def fails(smaller: str) -> bool:
        try:
            actual = failures(check, smaller, folder)
        except Exception:  # whatever a program does that lacks a line
            return False
        return any(item.startswith(kind) for item in actual)

    return shrunk(text, fails)


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("first", range(FIRST, FIRST + COUNT, SHARE))
def test_compiled_is_eager(check: Check, first: int, tmp_path: Path) -> None:
    # A recording takes half a second to begin and to end.
    for seed in range(first, first + SHARE, 5 if check is recorded else 1):
        text = Writer(Random(seed)).text()
        actual = failures(check, text, tmp_path)
        if actual:
            program = smallest(check, text, tmp_path, actual[0])
            pytest.fail(f"seed {seed}: {actual[0]}\n{program}", pytrace=False)
