"""The operators of the table on an OpenCL device, with the CPU as reference: values, shapes, dtypes and devices.

`UNDERHOOD_OPENCL_TABLE=all` runs every dtype and more samples, which takes an hour on PoCL's compiler.
"""

from __future__ import annotations

import os
import warnings
from itertools import islice

import pytest
from table import Row, rows
from tools import assert_same, parts, run, tensor, values

import engine
from engine import opencl

pytestmark = pytest.mark.skipif(not opencl.is_available(), reason="there is no OpenCL device")
ALL = os.environ.get("UNDERHOOD_OPENCL_TABLE") == "all"
SAMPLES = 3 if ALL else 2  # of each row: a kernel is compiled for every kind of call
CASES = [
    pytest.param(row, dtype, id=f"{row.name}-{dtype}")
    for row in rows()
    for dtype in row.dtypes
    if ALL or dtype in ("float32", "int64")
]


@pytest.mark.parametrize(("row", "dtype"), CASES)
def test_a_device_computes_what_the_cpu_does(row: Row, dtype: str) -> None:
    moved: list[engine.Tensor] = []

    def make(module: object, each: object) -> engine.Tensor:
        moved.append(tensor(module, each).to("opencl"))
        return moved[-1]

    for sample in islice(row.samples(dtype), SAMPLES):
        moved.clear()
        expected = parts(run(row, sample))
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", ".* has no kernel on this device", UserWarning)
            actual = parts(run(row, sample, make=make))
        subject = f"{row.name} {sample.name}"
        for result, item in zip(actual, expected, strict=True):
            assert (result.shape, result.dtype) == (item.shape, item.dtype), subject
            assert result.is_opencl or not moved, f"{subject}: the result is on {result.device}"
            assert_same(result.cpu(), values(item), subject)
