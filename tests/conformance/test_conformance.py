"""PyTorch's own samples for every listed operator, where PyTorch is installed (see run.py).

All selected tests share one run of run.py, in another process, which survives a crash or hang of an operator.
Each test reads the part of its operator and dtype.
"""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from catalog import LISTED
from reports import read

HERE = Path(__file__).resolve().parent
DTYPES = ("float32", "float64", "int64", "bool", "errors")

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("torch") is None, reason="PyTorch is not installed"
)


@pytest.fixture(scope="session")
def reports(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> dict[tuple[str, str], list[dict[str, Any]]]:
    """(name as listed, dtype) -> the reports of the operator's variants."""
    names = [
        item.callspec.params["name"]  # type: ignore[attr-defined]
        for item in request.session.items
        if "reports" in getattr(item, "fixturenames", ())
    ]
    out = tmp_path_factory.mktemp("conformance") / "reports.json"
    command = [sys.executable, str(HERE / "run.py"), *dict.fromkeys(names), "--json", str(out)]
    ran = subprocess.run(command, capture_output=True, text=True)
    assert out.exists(), ran.stdout + ran.stderr
    actual: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for report in read(out):
        operator = report["operator"]
        for name in (operator, operator.partition("/")[0]):
            actual.setdefault((name, report["dtype"]), []).append(report)
    return actual


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", LISTED)
def test_as_pytorch(
    name: str, dtype: str, reports: dict[tuple[str, str], list[dict[str, Any]]]
) -> None:
    own = reports.get((name, dtype), [])
    if not any(report["samples"] for report in own):
        pytest.skip(f"PyTorch publishes no {dtype} samples for {name}")
    wrong = [line for r in own if r["passed"] < r["samples"] for line in r["differences"]]
    assert not wrong, "\n".join([f"{len(wrong)} differences", *wrong[:5]])
