"""The harness judged: PyTorch compared with itself passes, and each fault put in is found."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path

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
    shown = output(str(HERE / "pytorch_itself.py"), *names, "sparse.mm")
    assert "FAIL" not in shown, shown
    assert "operators: 9 of 9 pass wholly" in shown  # split has two sets of samples
    assert "0/0 (16 skipped)" in shown, "sparse tensors are not for the engine, and that is told"


def test_what_is_missing_has_a_reason_and_is_missing() -> None:
    import catalog
    from bridge import Missing, counterpart

    names = [name for name in catalog.database() if catalog.missing_reason(name)]
    for name in names:
        op = catalog.database()[name]
        for form in (op.op, op.method_variant):
            if form is not None and not name.startswith("chalf"):
                with pytest.raises(Missing):
                    counterpart(form, op.name)
    for glob in catalog.MISSING:
        assert any(catalog.fnmatchcase(name, glob) for name in names), glob
    for name in catalog.present():
        op = catalog.database()[name]
        counterpart(op.op, op.name)


def test_each_fault_is_found() -> None:
    lines = output("-c", FAULTS.format(here=str(HERE))).splitlines()
    found = dict(line.split(" | ", 1) for line in lines)
    assert set(found) == set(FOUND)
    for fault, text in FOUND.items():
        assert text in found[fault], f"{fault}: {found[fault]}"
