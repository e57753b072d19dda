"""Every row of the table against NumPy, in every dtype, layout and form."""

from __future__ import annotations

import pytest
from table import Bad, Row, rows
from tools import assert_same, convert, name_of, parts, reference, run, spread, tensor, values

import engine

ROWS = rows()
CASES = [pytest.param(row, dtype, id=f"{row.name}-{dtype}") for row in ROWS for dtype in row.dtypes]
OUT = [
    pytest.param(r, d, id=f"{r.name}-{d}")
    for r in ROWS
    if r.out
    for d in r.dtypes
    if d in ("float32", "int64", "bool", "complex64")
]
INPLACE = [pytest.param(r, d, id=f"{r.name}-{d}") for r in ROWS if r.inplace for d in r.dtypes]
BAD = [pytest.param(bad, id=f"{row.name}-{i}") for row in ROWS for i, bad in enumerate(row.bad)]

SHAPED_BY_VALUES = {"nonzero", "masked_select", "argwhere", "bincount", "unique"}
SHAPED_BY_VALUES |= {"unique_consecutive", "nn.functional.one_hot"}
WITHOUT_TENSORS = {"fft.fftfreq", "fft.rfftfreq", "tril_indices", "triu_indices", "logspace"}
WITHOUT_TENSORS |= {
    f"{name}_window" for name in ("bartlett", "blackman", "hamming", "hann", "kaiser")
}


def expected_dtypes(row: Row, dtype: str, count: int) -> list[str]:
    if row.result.startswith("values and "):
        return [dtype, *[row.result.removeprefix("values and ")] * (count - 1)]
    return [row.result_dtype(dtype)] * count


@pytest.mark.parametrize(("row", "dtype"), CASES)
def test_values_and_dtype(row: Row, dtype: str) -> None:
    for sample in row.samples(dtype):
        actual, want = parts(run(row, sample)), parts(reference(row, sample))
        subject = f"{row.name} {sample.name}"
        assert len(actual) == len(want), f"{subject}: {len(actual)} results, expected {len(want)}"
        for item, other, result in zip(
            actual, want, expected_dtypes(row, dtype, len(actual)), strict=True
        ):
            assert name_of(item.dtype) == result, (
                f"{subject}: dtype {item.dtype}, expected {result}"
            )
            assert_same(item, other, subject)


@pytest.mark.parametrize(("row", "dtype"), CASES)
def test_strided_inputs(row: Row, dtype: str) -> None:
    if row.name in ("as_strided_scatter", "as_strided_copy", "resize_as_"):
        pytest.skip("it shows the storage, whatever the strides of the input")
    if row.name in ("view_as_complex", "view_as_complex_copy"):
        pytest.skip("the two numbers of a pair must be adjacent")
    for sample in row.samples(dtype):
        if row.name == "reshape" and sample.name.startswith("((0"):
            continue
        for item, other in zip(
            parts(run(row, sample, make=spread)), parts(reference(row, sample)), strict=True
        ):
            assert_same(item, other, f"{row.name} {sample.name} on strided inputs")


@pytest.mark.parametrize(("row", "dtype"), CASES)
def test_meta_has_the_shape_of_cpu(row: Row, dtype: str) -> None:
    if row.name in SHAPED_BY_VALUES:
        pytest.skip("the shape depends on values")
    if row.name in WITHOUT_TENSORS:
        pytest.skip("there is no argument to be on meta")
    for sample in row.samples(dtype):
        on_cpu = parts(run(row, sample))
        on_meta = parts(run(row, sample, make=lambda m, a: tensor(m, a).to("meta")))
        for a, b in zip(on_cpu, on_meta, strict=True):
            assert (b.shape, b.dtype, str(b.device)) == (a.shape, a.dtype, "meta"), (
                f"{row.name} {sample.name}"
            )
            assert b.stride() == a.stride(), f"{row.name} {sample.name}: strides differ on meta"


@pytest.mark.parametrize(("row", "dtype"), OUT)
def test_out(row: Row, dtype: str) -> None:
    for sample in row.samples(dtype):
        want = run(row, sample)
        args = [convert(a, lambda array: tensor(engine, array)) for a in sample.args]
        fitting = engine.empty(want.shape, dtype=want.dtype)
        address = fitting.data_ptr()
        assert row.call(engine, *args, **sample.kwargs, out=fitting) is fitting
        assert fitting.data_ptr() == address, (
            f"{row.name} {sample.name}: out= that fits was reallocated"
        )
        assert_same(fitting, values(want), f"{row.name} {sample.name} out=")
        strided = engine.empty((*want.shape, 2), dtype=want.dtype)[..., 0]
        row.call(engine, *args, **sample.kwargs, out=strided)
        assert_same(strided, values(want), f"{row.name} {sample.name} out= with strides")
        empty = engine.empty(0, dtype=want.dtype)
        row.call(engine, *args, **sample.kwargs, out=empty)
        assert_same(empty, values(want), f"{row.name} {sample.name} out= resized")


@pytest.mark.parametrize(("row", "dtype"), INPLACE)
def test_inplace(row: Row, dtype: str) -> None:
    for sample in row.samples(dtype):
        want = run(row, sample)
        args = [convert(a, lambda array: tensor(engine, array)) for a in sample.args]
        own = args[0]
        method = getattr(own, f"{row.name}_")
        if want.shape != own.shape or row.result_dtype(dtype) != dtype:
            with pytest.raises(RuntimeError, match=r"output with shape|can't be cast"):
                method(*args[1:], **sample.kwargs)
            continue
        version = own._version
        assert method(*args[1:], **sample.kwargs) is own
        assert own._version == version + 1, f"{row.name}_ counts {own._version - version} versions"
        assert_same(own, values(want), f"{row.name}_ {sample.name}")


@pytest.mark.parametrize("row", [pytest.param(r, id=r.name) for r in ROWS if r.view])
def test_view_shares_memory(row: Row) -> None:
    for sample in row.samples("float32" if "float32" in row.dtypes else row.dtypes[0]):
        x = tensor(engine, sample.args[0])
        view = row.call(engine, x, *sample.args[1:], **sample.kwargs)
        assert view.untyped_storage().data_ptr() == x.untyped_storage().data_ptr(), (
            f"{row.name} copied"
        )


@pytest.mark.parametrize("bad", BAD)
def test_bad_calls(bad: Bad) -> None:
    with pytest.raises(bad.error, match=bad.match):
        bad.call(engine)
