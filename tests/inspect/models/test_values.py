"""The values model: every dtype, statistics, what is unknown, and what the last line changed."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

from engine.inspect.layout import Extent
from engine.inspect.models import to_json
from engine.inspect.models._contents import BUDGET, SPREAD, Contents
from engine.inspect.models._numbers import BY_NAME, decode, dtype_of, exact, short
from engine.inspect.models.values import ValuesModel, project
from tests.inspect.models.small import history
from tests.inspect.selections import select
from tests.inspect.trace_builder import TraceBuilder, encode


def model_of(builder: TraceBuilder, tensor: int, **selection) -> ValuesModel:
    result = builder.history()
    return project(result, result.end - 1, select(tensor=tensor, **selection))


def test_changed_since_the_previous_line() -> None:
    result, tensors = history()
    model = project(result, result.end - 1, select(tensor=tensors["y"]))
    changes = {c.index: (c.changed, c.before) for row in model.cells for c in row if c.changed}
    assert changes == {(1, 0): ("changed", "1.0"), (1, 1): ("changed", "4.0")}
    assert model.changed == 2
    quiet = project(result, result.previous(result.end - 1, "line"), select(tensor=tensors["y"]))
    assert quiet.changed == 0


def test_new_memory_is_not_compared() -> None:
    result, tensors = history()
    after_arange = result.call(1).until
    model = project(result, after_arange, select(tensor=tensors["x"]))
    assert (model.before, model.changed, model.earlier) == (-1, None, None)


def test_what_became_known_is_marked_as_learned() -> None:
    builder = TraceBuilder()
    builder.line(1)
    tensor = builder.tensor((2,), name="x")
    builder.line(2)
    builder.write(tensor, [1.0])
    builder.line(3)
    (row,) = model_of(builder, tensor).cells
    assert [(cell.kind, cell.changed) for cell in row] == [("number", "learned"), ("unknown", "")]


def test_statistics_leave_nan_and_infinity_out_and_count_them() -> None:
    builder = TraceBuilder()
    values = [1.0, math.nan, 3.0, math.inf, -math.inf, math.nan]
    statistics = model_of(builder, builder.tensor((6,), values=values)).statistics
    assert statistics is not None
    assert (statistics.numel, statistics.known, statistics.nan, statistics.inf) == (6, 6, 2, 2)
    assert (statistics.minimum, statistics.maximum, statistics.mean) == (1.0, 3.0, 2.0)


def test_kinds_of_numbers() -> None:
    builder = TraceBuilder()
    tensor = builder.tensor((4,), values=[0.0, math.nan, math.inf, -math.inf])
    (row,) = model_of(builder, tensor).cells
    assert [cell.kind for cell in row] == ["number", "nan", "inf", "-inf"]
    assert [cell.text for cell in row] == ["0.", "nan", "inf", "-inf"]


def test_outliers_are_clipped_and_said_to_be() -> None:
    builder = TraceBuilder()
    tensor = builder.tensor((101,), values=[float(i % 2) for i in range(100)] + [1000.0])
    model = model_of(builder, tensor, index=(100,))
    assert model.statistics is not None
    assert model.statistics.clipped == 1
    assert model.statistics.high < 1000
    (cell,) = model.row(0, 100, 1)
    assert (cell.clipped, cell.share) == (1, 1.0)


def test_statistics_equal_numpy_on_strided_views() -> None:
    builder = TraceBuilder()
    data = np.random.default_rng(1).normal(size=60).astype(np.float32)
    base = builder.tensor((6, 10), values=data)
    view = builder.tensor((5, 3, 4), (1, 20, 0), 3, base=base)
    expected = np.lib.stride_tricks.as_strided(data[3:], (5, 3, 4), (4, 80, 0)).astype(float)
    statistics = model_of(builder, view).statistics
    assert statistics is not None
    assert (statistics.numel, statistics.known) == (60, 60)
    assert statistics.minimum == expected.min()
    assert statistics.maximum == expected.max()
    assert statistics.mean == pytest.approx(expected.mean())
    assert statistics.deviation == pytest.approx(expected.std())


def test_a_sampled_write_is_shown_as_sampled() -> None:
    builder = TraceBuilder()
    values = np.arange(1000, dtype=np.float32)
    tensor = builder.tensor((1000,), name="x")
    builder.sample(tensor, values, 16)
    model = model_of(builder, tensor)
    assert model.statistics is not None
    assert model.recorded is not None
    assert (model.statistics.known, model.statistics.numel) == (63, 1000)
    assert (model.recorded.step, model.recorded.sampled, model.recorded.maximum) == (16, 63, 999.0)
    row = model.row(0, 15, 3)
    assert [(cell.kind, cell.text) for cell in row] == [
        ("unknown", ""),
        ("number", "16."),
        ("unknown", ""),
    ]


def test_a_large_tensor_is_read_up_to_the_budget_and_says_so() -> None:
    builder = TraceBuilder()
    tensor = builder.tensor((1 << 20,), dtype="uint8", values=np.zeros(1 << 20))
    statistics = model_of(builder, tensor).statistics
    assert statistics is not None
    assert statistics.read == BUDGET < statistics.numel


def test_a_tensor_of_equal_numbers_has_no_scale() -> None:
    builder = TraceBuilder()
    (row,) = model_of(builder, builder.tensor((2,), values=[4.0, 4.0])).cells
    assert [cell.share for cell in row] == [None, None]


def test_huge_floats_do_not_break_the_scale() -> None:
    builder = TraceBuilder()
    tensor = builder.tensor((3,), dtype="float64", values=[-1.7e308, 0.0, 1.7e308])
    (row,) = model_of(builder, tensor).cells
    assert [cell.share for cell in row] == pytest.approx([0.0, 0.5, 1.0])


def test_a_tensor_that_leaves_its_storage_is_not_read() -> None:
    builder = TraceBuilder()
    base = builder.tensor((2,), values=[1.0, 2.0])
    statistics = model_of(builder, builder.tensor((9,), (1,), base=base)).statistics
    assert statistics is not None
    assert statistics.read == 0


@pytest.mark.parametrize("name", BY_NAME)
def test_decode_reads_back_what_was_encoded(name: str) -> None:
    dtype, values = dtype_of(name), [0, 1, 1, 0]
    assert decode(dtype, encode(values, name)).tolist() == values
    assert len(encode(values, name)) == 4 * dtype.itemsize


def test_bfloat16_is_the_upper_half_of_float32() -> None:
    bits = np.array([0x3FC0, 0xC049, 0x7F80, 0x7FC0, 0x0001], "<u2")
    decoded = decode(dtype_of("bfloat16"), bits.tobytes())
    assert decoded[:3].tolist() == [1.5, -3.140625, math.inf]
    assert math.isnan(decoded[3])
    assert 0 < decoded[4] < 1e-38


@pytest.mark.parametrize(
    ("name", "value", "text", "precise"),
    [
        ("float32", np.float32(0.1), "0.1", "0.1"),
        ("float32", np.float32(1e20), "1e20", "1e+20"),
        ("float32", np.float32(-0.0), "-0.", "-0.0"),
        ("float64", 1 / 3, "0.3333", "0.3333333333333333"),
        ("float32", np.float32(12345), "12345.", "12345.0"),
        ("float16", np.float16(2049), "2048.", "2048.0"),
        ("int64", -(2**63), str(-(2**63)), str(-(2**63))),
        ("bool", True, "True", "True"),
    ],
)
def test_numbers_are_written_short_and_exactly(name, value, text, precise) -> None:
    dtype = dtype_of(name)
    assert (short(dtype, value), exact(dtype, value)) == (text, precise)


def test_the_model_is_json_with_nan() -> None:
    builder = TraceBuilder()
    model = model_of(builder, builder.tensor((2,), values=[math.nan, 1.0]))
    assert json.loads(json.dumps(to_json(model), allow_nan=False))["cells"][0][0]["text"] == "nan"


def test_elements_far_apart_do_not_read_all_that_lies_between() -> None:
    """A view of every 2**30th element: the first is read, the others are unknown."""

    class Seen:
        def bytes_of(self, storage: int, m: int, lo: int, hi: int) -> tuple[bytes, np.ndarray]:
            assert hi - lo <= SPREAD
            return np.arange(lo, hi, dtype=np.uint8).tobytes(), np.ones(hi - lo, bool)

    far = Extent.of(1, (3,), (1 << 30,), 1)
    values, known = Contents.of(Seen(), 1, 0, 1 << 40, count=False).elements(BY_NAME["int8"], far)
    assert known.tolist() == [True, False, False]
    assert values[0] == 1
