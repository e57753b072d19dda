"""Gradients on a few of PyTorch's samples, and that the comparison finds what is wrong (see gradients.py)."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import catalog
import pytest
from reports import read

import engine

torch = pytest.importorskip("torch")

HERE = Path(__file__).resolve().parent
FEW = "tanh|mul|where|sgn|nn.functional.gelu|nn.functional.mse_loss|clamp|view_as_real"


def test_gradients_as_pytorch(tmp_path: Path) -> None:
    out = tmp_path / "reports.json"
    command = [sys.executable, str(HERE / "gradients.py"), "--only", FEW, "--json", str(out)]
    ran = subprocess.run(command, capture_output=True, text=True)
    reports = read(out)
    assert {report["operator"] for report in reports} == set(FEW.split("|"))
    wrong = [line for report in reports for line in report["differences"]]
    assert not wrong, "\n".join(wrong)
    assert ran.returncode == 0, ran.stdout


def first_difference(name: str, ours: Callable[..., Any], twice: bool = True) -> str | None:
    from gradient_sample import GradientSample

    op = catalog.database()[name]
    sample = next(iter(op.sample_inputs("cpu", torch.float64, requires_grad=True)))
    case = GradientSample(op, ours, sample)
    actual: str | None = case.difference(twice)
    assert case.compared
    return actual


class Square(engine.autograd.Function):
    """x * x, whose gradient is right, and whose second derivative forgets x."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        (x,) = ctx.saved_tensors
        return grad * 2 * x.detach()


@pytest.mark.parametrize(
    ("name", "ours", "expected"),
    [
        ("sin", engine.sin, None),
        ("sin", engine.cos, "gradient 0: values: "),
        ("sin", lambda x: x.sin().detach(), "results that require gradients: [False]"),
        ("square", Square.apply, "second derivative"),
    ],
)
def test_what_is_wrong_is_found(name: str, ours: Callable[..., Any], expected: str | None) -> None:
    actual = first_difference(name, ours)
    assert actual is None if expected is None else actual is not None and expected in actual
