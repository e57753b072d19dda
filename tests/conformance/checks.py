"""One operator's samples through every form it has: function, method, in place, operators, aliases, out=.

PyTorch runs each call first. If it raises, the engine must raise the same class; else the results and the
arguments after the call must be equal (compare.py).
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

import numpy as np
import torch
from bridge import Arguments, Missing, Unsupported, counterpart, describe_call
from catalog import deviation, full_name
from compare import WIDE, Call, leaves_of
from tables import CRASHES_PYTORCH

import engine

OUTS = ("empty", "strided", "other dtype", "narrow dtype")
FEW_ELEMENTS, ALL_ELEMENTS = 6, 100_000  # of a tensor in a report: usually; for one chosen sample
# torch.manual_seed also seeds every other device, and formats a traceback for each that is absent.
torch.manual_seed = torch.default_generator.manual_seed
SLOW = 10.0  # seconds of CPU that no call may take
ALIAS_SAMPLES = 3  # an alias is the same function: a max_elements samples suffice


@dataclass
class Report:
    """The results of an operator's samples of one dtype (or of its error inputs)."""

    operator: str
    dtype: str  # "errors" for error inputs
    samples: int = 0
    passed: int = 0
    skipped: dict[str, int] = field(default_factory=dict)  # reason: samples
    forms: dict[str, list[int]] = field(default_factory=dict)  # form: [passed, total]
    differences: list[str] = field(default_factory=list)
    deviations: dict[str, int] = field(default_factory=dict)  # reason: calls
    missing: set[str] = field(default_factory=set)
    slowest: float = 0.0  # the CPU seconds of the engine's slowest call

    def record(self, form: str, difference: str | None, text: str) -> bool:
        """Count one call; return whether it passed or is an allowed deviation."""
        counts = self.forms.setdefault(form.partition(" ")[0], [0, 0])
        counts[1] += 1
        if difference:
            result = (
                f"{self.dtype} {form}: {difference}"
                if form != self.dtype
                else f"{form}: {difference}"
            )
            if allowed := deviation(self.operator, result):
                _count(self.deviations, allowed.reason)
            else:
                self.differences.append(f"{result} | {text}")
                return False
        counts[0] += 1
        return True


def _count(counts: dict[str, int], key: str) -> None:
    counts[key] = counts.get(key, 0) + 1


@dataclass(frozen=True)
class Form:
    """One way to call an operator."""

    name: str
    theirs: Callable[..., Any]
    ours: Callable[..., Any]


class Stopwatch:
    """Measures the CPU seconds of the slowest call since the last reading."""

    def __init__(self) -> None:
        self._slowest = 0.0

    def time(self, call: Callable[[], Any]) -> tuple[Any, float]:
        """Return a call's result and its CPU seconds."""
        start = time.process_time()
        try:
            result = call()
        finally:
            seconds = time.process_time() - start
            self._slowest = max(self._slowest, seconds)
        return result, seconds

    def read(self) -> float:
        """Return the slowest call's seconds; the next reading starts from 0."""
        slowest, self._slowest = self._slowest, 0.0
        return round(slowest, 3)


stopwatch = Stopwatch()


def seed() -> None:
    """Seed every generator, so that each run has the same samples."""
    torch.manual_seed(0)
    engine.manual_seed(0)
    random.seed(0)
    np.random.seed(0)


def forms_of(op: Any, missing: set[str]) -> Iterator[Form]:
    """Yield every form but out=; add the names that the engine lacks to `missing`."""
    variants = [
        ("function", op.op),
        ("method", op.method_variant),
        ("in-place", op.inplace_variant),
        ("operator", op.operator_variant),
        ("in-place operator", op.inplace_operator_variant),
    ]
    for alias in op.aliases:
        variants += [
            (f"alias {alias.name}", alias.op),
            (f"alias method {alias.name}", alias.method_variant),
            (f"alias in-place {alias.name}_", alias.inplace_variant),
        ]
    for form, other in variants:
        if other is None:
            continue
        name = form.rpartition(" ")[2] if form.startswith("alias") else op.name
        try:
            yield Form(form, other, counterpart(other, name))
        except Missing as error:
            missing.add(str(error))


def check_samples(
    op: Any, dtype: torch.dtype, announce: Callable[[str], None], only: int | None
) -> Report:
    """Check all samples of one dtype. `announce` gets each call before it runs, in case it never returns."""
    report = Report(full_name(op), str(dtype).removeprefix("torch."))
    forms = list(forms_of(op, report.missing))
    max_elements = FEW_ELEMENTS if only is None else ALL_ELEMENTS
    seed()
    for position, sample in enumerate(op.sample_inputs("cpu", dtype, requires_grad=False)):
        if only is not None and position != only:
            continue
        args, kwargs = (sample.input, *sample.args), sample.kwargs
        text = f"sample {position}: {describe_call(report.operator, args, kwargs, max_elements)}"
        announce(text)
        try:
            passed = check_sample(op, forms, args, kwargs, report, text, position)
        except Unsupported as error:
            _count(report.skipped, str(error))
            continue
        except Missing as error:
            report.missing.add(str(error))
            passed = False
        report.samples += 1
        report.passed += passed and not report.missing
    report.slowest = stopwatch.read()
    report.differences.sort(key=_weight)
    if report.missing and report.samples:
        report.differences.insert(0, f"missing: {', '.join(sorted(report.missing))}")
    return report


def _weight(difference: str) -> int:
    """Return a sort key: the function's differences come first, those of an out= of another dtype last."""
    form = difference.partition(" ")[2]
    order = ("function", "method", "in-place", "operator", "out empty", "out strided", "alias")
    return next((n for n, word in enumerate(order) if form.startswith(word)), len(order))


def check_sample(
    op: Any,
    forms: list[Form],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    report: Report,
    text: str,
    position: int,
) -> bool:
    """Return True if all forms agree with PyTorch on one sample."""
    passed = True
    for form in forms:
        if form.name.startswith("alias") and position >= ALIAS_SAMPLES:
            continue
        if "operator" in form.name and (kwargs or len(args) > 2):
            continue
        difference = check_call(report.operator, form.theirs, form.ours, args, kwargs)
        passed &= report.record(form.name, difference, text)
    if not op.supports_out or not forms or forms[0].name != "function":
        return passed
    try:
        expected = op.op(*args, **kwargs)
    except Exception:
        return passed
    for kind in OUTS:
        out = None if (op.name, kind) in CRASHES_PYTORCH else make_out(expected, kind)
        if out is not None:
            with_out = dict(kwargs, out=out)
            precision = next((a.dtype for _, a, _ in leaves_of(expected, expected)), None)
            difference = check_call(
                report.operator, op.op, forms[0].ours, args, with_out, kwargs, precision
            )
            passed &= report.record(f"out {kind}", difference, text)
    return passed


def make_out(expected: Any, kind: str) -> Any:
    """Return a tensor for `out=` of this kind; None if the result has no such tensor."""
    if isinstance(expected, (list, tuple)):
        parts = tuple(make_out(item, kind) for item in expected)
        return None if any(part is None for part in parts) else parts
    if not isinstance(expected, torch.Tensor) or expected.layout is not torch.strided:
        return None
    if kind == "empty":
        return expected.new_empty(0)
    if kind == "strided":
        out = torch.empty(expected.shape[::-1], dtype=expected.dtype).fill_(1)
        return out.permute(tuple(reversed(range(out.dim()))))
    floating = expected.dtype.is_floating_point or expected.is_complex()
    if kind == "narrow dtype":
        return torch.ones(expected.shape, dtype=torch.int64 if floating else torch.bool)
    wide = WIDE.get(expected.dtype, torch.float32)
    other = torch.float32 if wide is expected.dtype else wide
    if wide is torch.complex128 and other is torch.float32:
        other = torch.complex64
    return torch.ones(expected.shape, dtype=other)


def check_call(
    name: str,
    theirs: Callable[..., Any],
    ours: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    plain: dict[str, Any] | None = None,
    precision: torch.dtype | None = None,
) -> str | None:
    """Return the difference between one call of the engine and of PyTorch, or None.

    With out=, `plain` are the arguments without it and `precision` is the dtype of the computation.
    """
    left, right = Arguments("torch"), Arguments("engine")
    their_args, their_kwargs = left.copy((args, kwargs))
    our_args, our_kwargs = right.copy((args, kwargs))
    pairs = [(a, b) for (_, a), (_, b) in zip(left.pairs, right.pairs, strict=True)]

    def reference() -> Any:
        seed()
        default = torch.get_default_dtype()
        torch.set_default_dtype(torch.float64)  # the dtype of results of integers
        try:
            return theirs(*widened(args), **widened(kwargs if plain is None else plain))
        finally:
            torch.set_default_dtype(default)

    expected = their_error = None
    seed()
    try:
        expected = theirs(*their_args, **their_kwargs)
    except Exception as error:
        their_error = error
    seed()
    try:
        actual, seconds = stopwatch.time(lambda: ours(*our_args, **our_kwargs))
    except AttributeError as error:
        if home := _engine_name(error.obj):
            raise Missing(f"{home}.{error.name}") from None
        return _raised(their_error, error)
    except Exception as error:
        return _raised(their_error, error)
    if seconds > SLOW:
        return f"takes {seconds:.0f} seconds"
    if their_error is not None:
        return f"no error; PyTorch raises {_line(their_error)}"
    try:
        call = Call(name, args, kwargs if plain is None else plain, pairs, reference, precision)
        return call.difference(expected, actual)
    except Exception as error:  # such as strides that lead out of the storage
        return f"result cannot be read: {_line(error)}"


def widened(value: Any) -> Any:
    """Return the arguments with floating dtypes converted to double."""
    if isinstance(value, torch.Tensor):
        return value.detach().clone().to(WIDE.get(value.dtype, value.dtype))
    if isinstance(value, torch.dtype):
        return WIDE.get(value, value)
    if isinstance(value, (list, tuple)) and not isinstance(value, torch.Size):
        return type(value)(map(widened, value))
    return {k: widened(v) for k, v in value.items()} if isinstance(value, dict) else value


def _raised(theirs: Exception | None, ours: Exception) -> str | None:
    """Return None if the engine's exception has the class of PyTorch's, else the difference."""
    if theirs is None:
        return f"raises {_line(ours)}"
    builtin = next(c for c in type(theirs).__mro__ if c.__module__ == "builtins")
    same_name = builtin is type(theirs) or type(ours).__name__.strip("_") == type(
        theirs
    ).__name__.strip("_")
    if isinstance(ours, builtin) and same_name:
        return None
    return f"raises {_line(ours)}; PyTorch raises {_line(theirs)}"


def _engine_name(value: Any) -> str | None:
    """Return the name of `value`, if it is a module of the engine or its Tensor class."""
    if isinstance(value, engine.Tensor) or value is engine.Tensor:
        return "engine.Tensor"
    name = value.__name__ if isinstance(value, ModuleType) else ""
    return name if name.partition(".")[0] == "engine" and "._" not in name else None


def _line(error: Exception) -> str:
    return f"{type(error).__name__}: {str(error).strip().partition(chr(10))[0][:160]}"


def check_errors(op: Any, announce: Callable[[str], None], only: int | None) -> Report:
    """Check PyTorch's published bad inputs: both must raise the same class."""
    report = Report(full_name(op), "errors")
    if op.error_inputs_func is None:
        return report
    forms = [form for form in forms_of(op, report.missing) if form.name == "function"]
    max_elements = FEW_ELEMENTS if only is None else ALL_ELEMENTS
    seed()
    for position, bad in enumerate(op.error_inputs("cpu")):
        if only is not None and position != only:
            continue
        sample = bad.sample_input
        args, kwargs = (sample.input, *sample.args), sample.kwargs
        text = (
            f"error input {position}: {describe_call(report.operator, args, kwargs, max_elements)}"
        )
        announce(text)
        if not forms:
            report.samples += 1
            continue
        try:
            difference = check_call(report.operator, op.op, forms[0].ours, args, kwargs)
        except Unsupported as error:
            _count(report.skipped, str(error))
            continue
        except Missing as error:
            report.missing.add(str(error))
            forms = []
            difference = str(error)
        report.samples += 1
        report.passed += report.record("errors", difference, text)
    report.slowest = stopwatch.read()
    if not forms and report.samples:
        report.differences.insert(0, f"missing: {', '.join(sorted(report.missing))}")
    return report
