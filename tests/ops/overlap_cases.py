"""Calls whose result and inputs share memory, of every operator with an out= or in-place form.

`out_cases` and `inplace_cases` iterate over the declarations (`engine.ops.schemas()`) and take arguments
from the table of operators; a `Case` lays an input and the written tensor over one buffer in some way.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any

from table import Array, Row, Sample, rows
from tools import convert, name_of, parts, tensor

import engine

MAX_ELEMENTS = 1000
MAX_SAMPLES = 3  # of one operator
READ_STORAGES = ("as_strided_copy", "as_strided_scatter")  # a clone of the input has another one
Call = Callable[..., Any]


@dataclass(frozen=True)
class Case:
    """One call: the `layout` of the written tensor relative to argument `position`."""

    operator: str
    row: Row
    sample: Sample
    position: int
    layout: str

    def __str__(self) -> str:
        return f"{self.operator} {self.sample.name} argument {self.position}, out is {self.layout}"


def _steps(shape: tuple[int, ...], gap: int) -> tuple[int, ...]:
    steps, step = [], gap
    for size in reversed(shape):
        steps.append(step)
        step *= max(size, 1)
    return tuple(reversed(steps))


def _over_one_buffer(
    module: Any, x: Any, shape: tuple[int, ...], offset: int, gap: int
) -> tuple[Any, Any]:
    """`x` at the start of a buffer, and a tensor of `shape` that starts `offset` elements later."""
    room = max(math.prod(x.shape), math.prod(shape)) * gap + offset + 1
    buffer = module.zeros(room, dtype=x.dtype)
    first = buffer.as_strided(tuple(x.shape), _steps(tuple(x.shape), gap), 0)
    first.copy_(x)
    return first, buffer.as_strided(shape, _steps(shape, gap), offset)


# How the written tensor lies: (module, the input, sizes of the result) -> both over one memory.
LAYOUTS: dict[str, Callable[[Any, Any, tuple[int, ...]], tuple[Any, Any]]] = {
    "the input": lambda _, x, shape: (x, x),
    "an alias": lambda _, x, shape: (x, x[...]),
    "transposed": lambda _, x, shape: (x, x.transpose(0, -1)),
    "shifted": lambda module, x, shape: _over_one_buffer(module, x, shape, 1, 1),
    "at its start": lambda module, x, shape: _over_one_buffer(module, x, shape, 0, 1),
    "shifted with gaps": lambda module, x, shape: _over_one_buffer(module, x, shape, 2, 2),
    "between its elements": lambda module, x, shape: _over_one_buffer(module, x, shape, 1, 2),
    "transposed with gaps": lambda module, x, shape: (
        (first := _over_one_buffer(module, x, shape, 0, 2)[0]),
        first.transpose(0, -1),
    ),
}
RESIZED = ("the input", "an alias")  # also where the result has other sizes


def _fits(layout: str, x: Any, shape: tuple[int, ...]) -> bool:
    if layout.startswith("transposed"):
        return x.dim() > 1 and x.dim() == len(shape) and x.transpose(0, -1).shape == shape
    return x.numel() > 0


def _by_name() -> dict[str, list[Row]]:
    matches: dict[str, list[Row]] = {}
    for row in rows():
        matches.setdefault(row.name.replace(".", "_"), []).append(row)
        matches.setdefault(row.name.rpartition(".")[2], []).append(row)
    return matches


def written_operators(form: str) -> list[str]:
    """Return the names of the operators that have that form, `out` or `inplace`; factories read no tensor."""
    names = set()
    for schema in engine.ops.schemas().values():
        written = [a for a in schema.arguments if a.is_write]
        out = (
            written and written[-1].name == schema.arguments[-1].name and len(schema.arguments) > 1
        )
        reads = form == "inplace" or any("Tensor" in str(a.type) for a in schema.arguments[:-1])
        if (
            written
            and reads
            and (form == "out") == bool(out and schema.overload_name.endswith("out"))
        ):
            names.add(schema.name)
    return sorted(names)


def _samples(row: Row) -> Iterator[Sample]:
    dtype = "float32" if "float32" in row.dtypes else row.dtypes[0]
    for sample in islice(row.samples(dtype), 12):
        sizes = [a.values.size for a in sample.args if isinstance(a, Array)]
        if sizes and 0 < max(sizes) <= MAX_ELEMENTS:
            yield sample


def cases(form: str) -> Iterator[Case]:
    """Yield every layout relative to every tensor argument, of a few samples of every operator with that form."""
    known = _by_name()
    for name in sorted(set(written_operators(form)) - set(READ_STORAGES)):
        for row in known.get(name.removesuffix("_") if form == "inplace" else name, [])[:1]:
            for sample in islice(_samples(row), MAX_SAMPLES):
                for position, value in enumerate(sample.args):
                    if not isinstance(value, Array) or (form == "inplace" and position == 0):
                        continue
                    for layout in LAYOUTS:
                        yield Case(name, row, sample, position, layout)


def _copied(args: list[Any]) -> list[Any]:
    return [
        [item.clone() for item in a]
        if isinstance(a, list)
        else a.clone()
        if hasattr(a, "clone")
        else a
        for a in args
    ]


@dataclass
class Outcome:
    """`written` after the call and what it should be; or the `error` that the call raised."""

    written: Any = None
    expected: Any = None
    error: Exception | None = None


def run_out(case: Case, module: Any, resized: bool = True) -> Outcome | None:
    """Return the call with `out=`; None where the layout does not apply or the module has no such call."""
    args = [convert(a, lambda array: tensor(module, array)) for a in case.sample.args]
    try:
        results = case.row.call(module, *_copied(args), **case.sample.kwargs)
    except Exception:
        return None
    first = parts(results)[0]
    x = args[case.position]
    if not hasattr(first, "dtype") or name_of(first.dtype) != name_of(x.dtype):
        return None
    shape = tuple(first.shape)
    same_sizes = shape == tuple(x.shape)
    if not _fits(case.layout, x, shape):
        return None
    if case.layout in RESIZED and not same_sizes and not resized:
        return None
    args[case.position], written = LAYOUTS[case.layout](module, x, shape)
    expected = parts(case.row.call(module, *_copied(args), **case.sample.kwargs))[0]
    others = [module.empty(tuple(r.shape), dtype=r.dtype) for r in parts(results)[1:]]
    out = (written, *others) if isinstance(results, (tuple, list)) else written
    try:
        case.row.call(module, *args, **case.sample.kwargs, out=out)
    except Exception as error:
        return Outcome(error=error)
    return Outcome(written, expected)


def run_inplace(case: Case, module: Any) -> Outcome | None:
    """Return the method that writes its first argument, over memory that argument `position` shares."""
    args = [convert(a, lambda array: tensor(module, array)) for a in case.sample.args]
    x, shape = args[case.position], tuple(getattr(args[0], "shape", ()))
    if (
        not hasattr(args[0], "dtype")
        or args[0].dtype != x.dtype
        or not _fits(case.layout, x, shape)
    ):
        return None
    if case.layout in RESIZED and shape != tuple(x.shape):
        return None
    start = args[0]
    args[case.position], args[0] = LAYOUTS[case.layout](module, x, shape)
    if case.layout in ("shifted", "shifted with gaps", "between its elements"):
        args[0].copy_(start)
    method = case.operator
    expected = args[0].clone()
    try:
        getattr(expected, method)(*_copied(args[1:]), **case.sample.kwargs)
    except Exception:
        return None
    try:
        getattr(args[0], method)(*args[1:], **case.sample.kwargs)
    except Exception as error:
        return Outcome(error=error)
    return Outcome(args[0], expected)
