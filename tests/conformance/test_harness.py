"""The harness judged: PyTorch compared with itself passes, and each fault put in is found."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).resolve().parent

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("torch") is None, reason="PyTorch is not installed"
)

FAULTS = """
import os, signal, sys, time
sys.path.insert(0, {here!r})
import pytorch_itself, catalog, checks, run, torch
catalog.database()
from pytorch_itself import engine

def wrong_value(x, *args, **kwargs):
    return torch.cumsum(x, *args, **kwargs) * 1.001

def wrong_dtype(x, *args, **kwargs):
    return torch.cumsum(x, *args, **kwargs).double()

def wrong_strides(x, *args, **kwargs):
    r = torch.cumsum(x, *args, **kwargs)
    return r.mT.contiguous().mT if r.dim() > 1 else r

def view_lost(x, *args, **kwargs):
    return torch.t(x).clone(memory_format=torch.preserve_format)

def input_written(x, *args, **kwargs):
    r = torch.cumsum(x, *args, **kwargs)
    x.zero_()
    return r

def kind_lost(*args, **kwargs):
    return list(torch.split(*args, **kwargs))

def wrong_error(*args, **kwargs):
    try:
        return torch.t(*args, **kwargs)
    except RuntimeError as error:
        raise ValueError(str(error))

def ignores_out(x, *args, out=None, **kwargs):
    return torch.cumsum(x, *args, **kwargs)

def crash(*args, **kwargs):
    os.kill(os.getpid(), signal.SIGSEGV)

def hang(*args, **kwargs):
    time.sleep(60)

for name, dtype, fault in [
    ("cumsum", "float32", wrong_value), ("cumsum", "float32", wrong_dtype),
    ("cumsum", "float32", wrong_strides), ("t", "int64", view_lost),
    ("cumsum", "float32", input_written), ("split", "float32", kind_lost),
    ("t", "errors", wrong_error), ("cumsum", "float32", ignores_out),
    ("cumsum", "bool", crash), ("cumsum", "bool", hang),
]:
    setattr(engine, name, fault)
    report, = run.run([(name, dtype)], 1, 2.0, None)
    delattr(engine, name)
    print(fault.__name__, "|", report["differences"][0] if report["differences"] else "not found")
"""
FOUND = {
    "wrong_value": "values: ",
    "wrong_dtype": "dtype float64, PyTorch's is float32",
    "wrong_strides": "strides ",
    "view_lost": "is a new tensor; PyTorch's is a view of input 0",
    "input_written": "input 0 afterwards: values: ",
    "kind_lost": "list, PyTorch's is a tuple",
    "wrong_error": "raises ValueError",
    "ignores_out": "out empty: is a new tensor; PyTorch's is input 1 itself",
    "crash": "CRASH (SIGSEGV) | sample 0: cumsum(",
    "hang": "HANG (over 2 s) | sample 0: cumsum(",
}


def output(*command: str) -> str:
    ran = subprocess.run([sys.executable, *command], capture_output=True, text=True)
    assert not ran.stderr, ran.stderr
    return ran.stdout


def test_pytorch_passes_against_itself() -> None:
    names = ["add", "sort", "linalg.qr", "nn.functional.dropout", "__getitem__", "float", "split"]
    reported = output(str(HERE / "pytorch_itself.py"), *names, "sparse.mm")
    assert "FAIL" not in reported, reported
    assert "operators: 9 of 9 pass wholly" in reported  # split has two sets of samples
    assert "0/0 (16 skipped)" in reported, (
        "sparse tensors are not for the engine, and the report says so"
    )


def test_what_is_missing_has_a_reason_and_is_missing() -> None:
    import catalog
    import torch
    from bridge import Arguments, Missing, Unsupported, counterpart

    def called(op: Any, form: Any) -> None:
        ours = counterpart(form, op.name)  # PyTorch's own wrappers miss a name when they are called
        sample = next(iter(op.sample_inputs("cpu", torch.float32)))
        args, kwargs = Arguments().copy(((sample.input, *sample.args), sample.kwargs))
        ours(*args, **kwargs)

    names = [name for name in catalog.database() if catalog.missing_reason(name)]
    for name in names:
        op = catalog.database()[name]
        for form in (op.op, op.method_variant):
            if form is not None:
                with pytest.raises((Missing, Unsupported, AttributeError)):
                    called(op, form)
    for glob in catalog.MISSING:
        assert any(catalog.fnmatchcase(name, glob) for name in names), glob
    for name in catalog.present():
        op = catalog.database()[name]
        counterpart(op.op, op.name)


def test_the_page_says_what_fails_and_what_was_not_measured(tmp_path: Path) -> None:
    import coverage_table

    report = {
        "operator": "abs", "dtype": "int8", "samples": 2, "passed": 1, "skipped": {"a layout": 3},
        "forms": {"function": [1, 2]}, "differences": ["int8 function: values: 1 | abs(1)"],
        "deviations": {}, "commit": "c0ffee",
    }  # fmt: skip
    path = tmp_path / "reports.json"
    path.write_text(json.dumps(report) + "\n")
    rows = coverage_table.read([str(path)])
    page = coverage_table.table(rows, [])
    (row,) = [line for line in page.splitlines() if line.startswith("| `abs` |")]
    assert row.startswith("| `abs` | function |  | **1/2** (3 skipped) | - |"), "bool, int8, uint8"
    tasks = len(coverage_table.expected())
    flowing = " ".join(page.split())
    assert (
        f"1 at c0ffee; 0 s of CPU for operators, both sides together. **Not measured**: {tasks - 1}"
        in flowing
    )
    assert "- `abs`: `int8 function: values: 1`" in page
    assert "- a layout: 3" in page
    rows["abs"]["int8"].update(passed=2, deviations={"a reason": 1})
    assert "| `abs` | function |  | 2/2\\* (3 skipped) |" in coverage_table.table(rows, [])


CRASHES = """
import os, signal, sys
sys.path.insert(0, {here!r})
import run

def target(name, dtype, note, only):
    if dtype == "int8":
        os.kill(os.getpid(), signal.SIGSEGV)
    return {{"operator": name, "dtype": dtype, "differences": [], "samples": 1, "passed": 1}}

tasks = [("add", "bool"), ("add", "int8"), ("add", "int16"), ("sub", "bool")]
for report in run.run(tasks, 1, 5.0, None, target):
    print(report["operator"], report["dtype"], report["passed"], *report["differences"])
"""


def test_a_crash_leaves_the_other_dtypes_to_a_new_child() -> None:
    lines = output("-c", CRASHES.format(here=str(HERE))).splitlines()
    assert lines == [
        "add bool 1",
        "add int8 0 int8 CRASH (SIGSEGV) | ",
        "add int16 1",
        "sub bool 1",
    ]


def test_a_run_that_was_cut_off_goes_on(tmp_path: Path) -> None:
    import reports

    path = tmp_path / "reports.json"
    first, second = ({"operator": "add", "dtype": dtype} for dtype in ("bool", "int8"))
    assert [r["commit"] for r in reports.recorded([first], path)] == [reports.engine_commit()]
    with path.open("a") as file:
        file.write('{"operator": "add", "dt')
    tasks = [("add", "bool"), ("add", "int8")]
    assert reports.remaining(tasks, path) == [("add", "int8")]
    list(reports.recorded([second], path))
    assert reports.remaining(tasks, path) == []
    assert [report["dtype"] for report in reports.read(path)] == ["bool", "int8"]


def test_each_fault_is_found() -> None:
    lines = output("-c", FAULTS.format(here=str(HERE))).splitlines()
    actual = dict(line.split(" | ", 1) for line in lines)
    assert set(actual) == set(FOUND)
    for fault, text in FOUND.items():
        assert text in actual[fault], f"{fault}: {actual[fault]}"
