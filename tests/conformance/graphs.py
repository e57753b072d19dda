"""The nodes that traces have of PyTorch's published samples, here and in PyTorch.

    python tests/conformance/graphs.py add linalg.*     these operators (default: all that the engine has)

One paragraph per operator whose traces differ, with the lines of the first sample that does; at the
end the number of equal graphs. Differences by choice: functions that are one operator in
PyTorch and Python here, or the other way round; sizes that PyTorch's Python reads on the way;
numbers that the engine's Python turns into lists of one.
"""

from __future__ import annotations

import itertools
import re
import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent.parent), str(HERE.parent / "engine" / "jit")]

import catalog  # noqa: E402
import torch  # noqa: E402
from bridge import Arguments, Missing, Unsupported, counterpart  # noqa: E402
from canonical_text import canonical  # noqa: E402

import engine  # noqa: E402

SAMPLES = 4  # of each operator
FEW = 4  # lines shown


def tensors_of(value: Any, kind: type) -> Iterator[Any]:
    """Yield the tensors within a call's arguments, in order."""
    if isinstance(value, kind):
        yield value
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from tensors_of(item, kind)
    elif isinstance(value, dict):
        for item in value.values():
            yield from tensors_of(item, kind)


def with_tensors(value: Any, tensors: Iterator[Any], kind: type) -> Any:
    """Return the same arguments with other tensors."""
    if isinstance(value, kind):
        return next(tensors)
    if isinstance(value, (list, tuple)) and not hasattr(value, "_fields"):
        return type(value)(with_tensors(element, tensors, kind) for element in value)
    if isinstance(value, dict):
        return {key: with_tensors(item, tensors, kind) for key, item in value.items()}
    return value


def nodes(lib: Any, fn: Callable[..., Any], args: list[Any], kwargs: dict[str, Any]) -> list[str]:
    """Return the operators of a trace, a line each, without names and types."""
    inputs = tuple(tensors_of((args, kwargs), lib.Tensor))

    def call(*tensors: Any) -> Any:
        remainder = iter(tensors)
        arguments = with_tensors(args, remainder, lib.Tensor)
        return fn(*arguments, **with_tensors(kwargs, remainder, lib.Tensor))

    graph = lib.jit.trace(call, inputs, check_trace=False, strict=False).graph
    text = re.sub(r"value=[^\[]*\[ CPU\w+\{[\d,]*\} \]\]", "value=<Tensor>]", str(graph))
    lines = [re.sub(r"%[A-Za-z_]+[\w.]*", "%v", line) for line in canonical(text).splitlines()]
    return [re.sub(r" : .*? = ", " = ", line).strip() for line in lines if "aten::" in line]


def samples_of(op: Any) -> list[Any]:
    """Some published samples, of floats where there are any."""
    for dtype in (torch.float32, torch.int64):
        if dtype in op.supported_dtypes("cpu"):
            return list(itertools.islice(op.sample_inputs("cpu", dtype), SAMPLES))
    return []


def compared(op: Any) -> Iterator[tuple[list[str], list[str]]]:
    """Our nodes and PyTorch's of each sample that both can trace."""
    try:
        ours = counterpart(op.op, op.name)
    except Missing:
        return
    for sample in samples_of(op):
        args, kwargs, copies = [sample.input, *sample.args], sample.kwargs, Arguments()
        try:
            own, options = copies.copy(args), copies.copy(kwargs)
            other = nodes(torch, op.op, args, kwargs)
        except (Unsupported, RuntimeError, TypeError):
            continue  # what PyTorch cannot trace, and dtypes that are not here
        try:
            yield nodes(engine, ours, own, options), other
        except RuntimeError as error:
            yield [str(error).partition("\n")[0]], other


def main() -> int:
    warnings.simplefilter("ignore")
    alike = total = 0
    for name in catalog.matching(sys.argv[1:]) or catalog.present():
        output = False
        for ours, other in compared(catalog.database()[name]):
            total += 1
            alike += ours == other
            if ours == other or output:
                continue
            output = True
            print(name)
            for who, lines, others in (("engine", ours, other), ("torch ", other, ours)):
                for line in [item for item in lines if item not in others][:FEW]:
                    print(f"    {who}  {line[:160]}")
    print(f"{alike} of {total} samples have equal graphs")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
