"""Gradients on PyTorch's published samples: the engine's against PyTorch's own.

    python tests/conformance/gradients.py                      every operator that the engine has
    ... --only 'tanh|linalg.*'       operators whose full name (name/variant) this matches wholly
    ... --family activation          operators declared in csrc/ops/activation.yaml (may be repeated)
    ... --dtype float64              only this dtype (float32, float64 and, where PyTorch has it, complex128)
    ... --no-gradgrad                without second derivatives
    ... --sample 12 -v               one sample of each; every difference
    ... --jobs 2 --timeout 120       processes at once, seconds per sample
    ... --json OUT                   results for programs, a line each; coverage_table.py makes COVERAGE.md of them
    ... --resume                     only what OUT has no report on

One line per operator and dtype: samples whole / total, then the first difference. Compared: which results
require gradients, the gradients of all inputs for the same random gradients of the results, second derivatives
(of the inputs and of the results' gradients) where PyTorch has them, and the name of the first result's grad_fn,
which is reported but does not fail a sample. A crash or a hang ends only the child that ran the operator. Exit status:
0 if everything passed.
"""

from __future__ import annotations

import argparse
import mmap
import re
import sys
import time
import traceback
import warnings
from collections.abc import Callable
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent.parent)]

import catalog  # noqa: E402
from reports import recorded  # noqa: E402
from run import Task, left, line, lost, run  # noqa: E402

DTYPES = ("float32", "float64", "complex128")
OPERATORS = HERE.parent.parent / "csrc" / "ops"


def check(
    op: Any, dtype: Any, announce: Callable[[str], None], only: int | None, twice: bool
) -> Any:
    """Return the report on one operator's samples of one dtype."""
    from bridge import Missing, Unsupported, counterpart, describe_call
    from checks import ALL_ELEMENTS, FEW_ELEMENTS, Report, seed
    from gradient_sample import GradientSample

    report = Report(catalog.full_name(op), str(dtype).removeprefix("torch."))
    try:
        ours = counterpart(op.op, op.name)
    except Missing as error:
        report.missing.add(str(error))
        return report
    seed()
    for position, sample in enumerate(op.sample_inputs("cpu", dtype, requires_grad=True)):
        if only is not None and position != only:
            continue
        args, kwargs = (sample.input, *sample.args), sample.kwargs
        output = describe_call(
            report.operator, args, kwargs, FEW_ELEMENTS if only is None else ALL_ELEMENTS
        )
        text = f"sample {position}: {output}"
        announce(text)
        try:
            case = GradientSample(op, ours, sample)
            # Rounding to float32 twice says nothing that float64 does not.
            difference = case.difference(twice and dtype.itemsize >= 8)
        except Unsupported as error:
            report.skipped[str(error)] = report.skipped.get(str(error), 0) + 1
            continue
        except Missing as error:
            difference, case = str(error), None
        if case is not None and not case.compared:
            continue  # PyTorch has no gradient here
        report.samples += 1
        report.passed += report.record("gradient", difference, text)
        if case is not None and case.name and not report.forms.get(case.name):
            report.forms = {case.name: [0, 0], **report.forms}
    return report


def work(name: str, dtype: str, note: mmap.mmap, only: int | None, twice: bool) -> dict[str, Any]:
    """Return the report on one operator with one dtype."""
    import torch

    def announce(text: str) -> None:
        output = text.encode()[: len(note) - 1]
        note[: len(output) + 1] = output + b"\0"

    warnings.simplefilter("ignore")
    try:
        op = catalog.database()[name]
        report = asdict(check(op, getattr(torch, dtype), announce, only, twice))
    except Exception:  # ours, not the engine's: those are caught at the call
        location = traceback.format_exc().strip().splitlines()
        report = lost((name, dtype), f"HARNESS {location[-1]} ({location[-3].strip()})", note)
    return report


def family_names(family: str) -> set[str]:
    """Return the public names that csrc/ops/<family>.yaml declares, as in PyTorch's operator database.

    Raises: SystemExit for a family that is not there.
    """
    path = OPERATORS / f"{family}.yaml"
    if not path.exists():
        raise SystemExit(f"csrc/ops has no {family}.yaml")
    text = path.read_text()
    names = set(re.findall(r"^- schema: (\w+)", text, re.MULTILINE))
    for aliases in re.findall(r"^  aliases: \[(.*)\]", text, re.MULTILINE):
        names.update(alias.strip() for alias in aliases.split(","))
    spaces = ("linalg", "special", "fft")
    dotted = {name.replace("_", ".", 1) for name in names if name.startswith(spaces)}
    return names | dotted | {f"nn.functional.{name}" for name in names}


def tasks_of(options: argparse.Namespace) -> list[Task]:
    """(operator, dtype) for the selected operators that PyTorch differentiates."""
    import torch

    expected: set[str] = set().union(*map(family_names, options.family))
    tasks = []
    for name in catalog.present():
        op = catalog.database()[name]
        if options.only and not re.fullmatch(options.only, name):
            continue
        if (options.family and op.name not in expected) or not op.supports_autograd:
            continue
        able = op.supported_backward_dtypes("cpu")
        tasks += [(name, d) for d in options.dtype if getattr(torch, d) in able]
    return tasks


def parsed(arguments: list[str] | None = None) -> argparse.Namespace:
    """Return the options of a command line, of this process's by default."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--only")
    parser.add_argument("--family", action="append", default=[])
    parser.add_argument("--dtype", nargs="+", default=DTYPES, choices=DTYPES)
    parser.add_argument("--no-gradgrad", action="store_true")
    parser.add_argument("--sample", type=int)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--timeout", type=float, default=120)
    parser.add_argument("-v", "--verbose", action="store_true")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--resume", action="store_true")
    return parser.parse_args(arguments)


def main() -> int:
    """Runs what the command line asks for; returns the exit status."""
    options = parsed()
    import torch

    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    tasks = tasks_of(options)
    width = max((len(name) for name, _ in tasks), default=0)
    begin, reports = time.monotonic(), []
    import gradient_sample  # noqa: F401  (imported here once, not in each child)

    tasks = left(tasks, options)
    target = partial(work, twice=not options.no_gradgrad)
    result = run(tasks, options.jobs, options.timeout, options.sample, target)
    for report in recorded(({**item, "gradients": True} for item in result), options.json):
        if not report["samples"]:
            continue
        reports.append(report)
        names = "".join(f"  [{name}]" for name in report["forms"] if name != "gradient")
        print(line(report, width, options.verbose) + names, flush=True)
    summarise(reports, time.monotonic() - begin)
    return int(any(r["passed"] < r["samples"] for r in reports))


def summarise(reports: list[dict[str, Any]], seconds: float) -> None:
    """Totals."""
    failed = {r["operator"] for r in reports if r["passed"] < r["samples"]}
    everything = {r["operator"] for r in reports}
    named = {r["operator"] for r in reports if set(r["forms"]) - {"gradient"}}
    print(
        f"samples: {sum(r['passed'] for r in reports)} of {sum(r['samples'] for r in reports)} passed"
        f", {sum(sum(r['skipped'].values()) for r in reports)} skipped\n"
        f"operators: {len(everything) - len(failed)} of {len(everything)} whole, {len(named)} with another"
        f" grad_fn; {seconds:.0f} s"
    )


if __name__ == "__main__":
    sys.exit(main())
