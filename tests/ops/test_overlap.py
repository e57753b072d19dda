"""Writing into memory that is read: every operator gives the right value or raises, as PyTorch does."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from overlap_cases import Case, Outcome, cases, run_inplace, run_out, written_operators
from tools import assert_same, values

import engine

SHARED = (
    "unsupported operation: some elements of the input tensor and the written-to tensor refer to"
)
TWICE = "more than one element of the written-to tensor refers to a single memory location"
# Accepted messages of a call over shared memory; another error would be a fault.
REFUSALS = (SHARED, "the input tensor and the written-to tensor refer to a single memory location",
            "doesn't match the broadcast shape", "got an unexpected keyword argument 'out'")  # fmt: skip

# Operators whose tensors are in lists, or that no row of the table calls by their own name: the functions
# that people call instead (div, gelu, interpolate...) are tested.
ELSEWHERE = {
    "_div_floor", "_div_trunc", "_gelu_none", "_gelu_tanh", "_softmax", "_log_softmax",
    "_upsample_bicubic2d_aa", "_upsample_bilinear2d_aa", "_upsample_nearest_exact1d",
    "_upsample_nearest_exact2d", "_upsample_nearest_exact3d", "upsample_bicubic2d", "upsample_bilinear2d",
    "upsample_linear1d", "upsample_nearest1d", "upsample_nearest2d", "upsample_nearest3d",
    "upsample_trilinear3d", "col2im", "im2col", "frexp", "linalg_ldl_solve", "linalg_lstsq", "log_sigmoid",
    "nll_loss2d", "cat", "stack", "hstack", "vstack", "dstack", "column_stack", "linalg_multi_dot",
    "as_strided_copy", "as_strided_scatter",
}  # fmt: skip


def check(case: Case, outcome: Outcome | None) -> bool:
    """Check that the value is right or the error one of REFUSALS; False if the case does not apply."""
    if outcome is None:
        return False
    if outcome.error is not None:
        assert any(text in str(outcome.error) for text in REFUSALS), f"{case}: {outcome.error!r}"
        return "unexpected keyword" not in str(outcome.error)
    assert_same(outcome.written.to(outcome.expected.dtype), values(outcome.expected), str(case))
    return True


@pytest.fixture(scope="module", autouse=True)
def quiet() -> Iterator[None]:
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        yield


def test_every_operator_with_out_is_tried() -> None:
    missing = set(written_operators("out")) - {case.operator for case in cases("out")} - ELSEWHERE
    assert not missing, f"no row of the table calls these: {sorted(missing)}"


def test_out_that_shares_memory_is_right_or_refused() -> None:
    tried = sum(check(case, run_out(case, engine)) for case in cases("out"))
    assert tried > 4000


def test_in_place_over_what_is_read_is_right_or_refused() -> None:
    tried = sum(check(case, run_inplace(case, engine)) for case in cases("inplace"))
    assert tried > 500


@pytest.mark.parametrize("join", ["cat", "stack", "hstack", "vstack", "dstack", "column_stack"])
@pytest.mark.parametrize("offset", [0, 2, 4, 8])
def test_joins_refuse_an_out_that_they_read(join: str, offset: int) -> None:
    buffer = engine.arange(20.0)
    pieces = [buffer[:4], buffer[4:8]]
    expected = getattr(engine, join)([p.clone() for p in pieces])
    out = buffer[offset : offset + 8].view(expected.shape)
    if offset == 8:
        getattr(engine, join)(pieces, out=out)
        assert_same(out, values(expected), join)
        return
    with pytest.raises(RuntimeError, match="single memory location"):
        getattr(engine, join)(pieces, out=out)


def test_all_of_pytorchs_ways_to_name_the_same_elements_are_permitted() -> None:
    x, y = engine.arange(6.0), engine.full((6,), 2.0)
    assert engine.add(x, y, out=x) is x
    assert x.tolist() == [2, 3, 4, 5, 6, 7]
    engine.mul(x, y, out=x[:])
    assert x.tolist() == [4, 6, 8, 10, 12, 14]
    square = engine.arange(9.0).view(3, 3)
    square.t().add_(square.t())
    assert square.tolist() == [[0, 2, 4], [6, 8, 10], [12, 14, 16]]
    grid = engine.arange(12.0).view(3, 4)
    grid[:, 0].add_(grid[:, 1])  # interleaved, nothing shared
    grid[::2, 1:].mul_(grid[::2, 1:])
    assert grid.tolist() == [[1, 1, 4, 9], [9, 5, 6, 7], [17, 81, 100, 121]]


@pytest.mark.parametrize("method", ["add_", "mul_", "sub_", "div_", "copysign_", "maximum"])
def test_in_place_with_the_own_transpose_is_refused(method: str) -> None:
    def call(x: Any, other: Any) -> None:
        engine.maximum(x, other, out=x) if method == "maximum" else getattr(x, method)(other)

    x = engine.arange(9.0).view(3, 3)
    gaps = engine.arange(36.0).view(6, 6)[
        ::2, ::2
    ]  # PyTorch computes with values that it has just written
    row = engine.arange(10.0)
    for written, read in [
        (x, x.t()), (x.t(), x), (gaps, gaps.t()), (row[1:], row[:-1]), (row[2::2], row[:-2:2]),
        (x, x[0]), (x[:, :2], x[:, 1:]), (gaps, gaps[0]),
    ]:  # fmt: skip
        before = written.clone()
        with pytest.raises(RuntimeError, match=SHARED):
            call(written, read)
        assert engine.equal(written, before), "nothing was written"
    with pytest.raises(RuntimeError, match=SHARED):
        x.addcmul_(x.t(), x)
    with pytest.raises(RuntimeError, match=SHARED):
        x.lerp_(x.t(), 0.5)


def test_a_copy_over_what_it_reads_is_refused_where_both_are_dense_and_right_elsewhere() -> None:
    x = engine.arange(9.0).view(3, 3)
    row = engine.arange(10.0)
    for written, read in ((x, x.t()), (x.t(), x), (row[1:], row[:-1]), (x, x[0])):
        with pytest.raises(RuntimeError, match=SHARED):
            written.copy_(read)
    assert x.tolist() == [[0, 1, 2], [3, 4, 5], [6, 7, 8]]
    gaps = engine.arange(36.0).view(6, 6)[::2, ::2]
    for written, read in (
        (gaps, gaps.t()), (row[2::2], row[:-2:2]), (x[:, :2], x[:, 1:]), (gaps, gaps[0]),
    ):  # fmt: skip
        expected = read.clone().expand(written.shape)
        written.copy_(read)
        assert engine.equal(written, expected)


def test_out_that_is_an_input_and_has_to_grow_is_refused_before_it_is_resized() -> None:
    x = engine.arange(3.0)
    with pytest.raises(RuntimeError, match="doesn't match the broadcast shape"):
        engine.add(x, engine.ones(2, 3), out=x)
    assert x.tolist() == [0, 1, 2]
    base = engine.arange(8.0)
    for view in (base[:3], base[1:4]):
        with pytest.raises(RuntimeError, match=SHARED):
            engine.add(base[:3], engine.ones(2, 3), out=view)
        assert view.shape == (3,)
    assert base.tolist() == [0, 1, 2, 3, 4, 5, 6, 7]


def test_out_with_elements_that_share_memory_is_refused() -> None:
    target = engine.zeros(3, 1).expand(3, 4)
    x = engine.ones(3, 4)
    for call in (engine.add, engine.maximum, engine.cross, engine.addcmul):
        args = (
            (x[:, :3], x[:, :3])
            if call is engine.cross
            else (x, x, x)[: 3 if call is engine.addcmul else 2]
        )
        out = engine.zeros(3, 1).expand(3, 3) if call is engine.cross else target
        with pytest.raises(RuntimeError, match=TWICE):
            call(*args, out=out)
    for full in (slice(None), ..., None, (slice(None), slice(None))):
        with pytest.raises(RuntimeError, match=TWICE):
            target[full] = 7
    target[:, 0] = 7  # one of each
    assert target[:, 3].tolist() == [7, 7, 7]
    with pytest.raises(RuntimeError, match=TWICE):
        target.fill_(engine.tensor(1.0))


def test_writes_through_a_view_that_overlaps_itself_go_in_pytorchs_order() -> None:
    def windows() -> tuple[Any, Any]:
        x = engine.arange(6.0)
        return x, x.unfold(0, 3, 1)

    x, w = windows()
    w.mul_(2)
    assert x.tolist() == [0, 4, 16, 24, 16, 10]
    x, w = windows()
    w.t().mul_(2)
    assert x.tolist() == [0, 4, 16, 24, 16, 10]
    x, w = windows()
    w.copy_(engine.arange(12.0).view(4, 3))
    assert x.tolist() == [0, 3, 6, 9, 10, 11]
    x, w = windows()
    w.t().copy_(engine.arange(12.0).view(3, 4))
    assert x.tolist() == [0, 1, 2, 3, 7, 11]
    x, w = windows()
    w.index_add_(0, engine.tensor([0, 1]), engine.ones(2, 3))
    assert x.tolist() == [1, 3, 4, 4, 4, 5]


def test_index_kernels_over_what_they_read_at_other_places_are_right_or_refused() -> None:
    x = engine.arange(12.0)
    index = engine.tensor([2, 0, 1])
    for name, call in {
        "index_add_": lambda a, b: a.index_add_(0, index, b),
        "index_copy_": lambda a, b: a.index_copy_(0, index, b),
        "put_": lambda a, b: a.put_(index, b),
        "scatter_": lambda a, b: a.scatter_(0, index, b),
        "scatter_add_": lambda a, b: a.scatter_add_(0, index, b),
    }.items():
        for a, b in ((x[:3], x[1:4]), (x[:3], x[:3])):
            with pytest.raises(RuntimeError, match=SHARED):
                call(a, b)
        a, b = x[0:6:2], x[2:8:2]
        if name.startswith("scatter"):
            with pytest.raises(RuntimeError, match=SHARED):
                call(a, b)
        else:
            expected = call(a.clone(), b.clone())
            assert engine.equal(call(a, b), expected), name
        call(x[0:6:2], x[1:7:2])  # interleaved
    own = engine.zeros(8, dtype=engine.int64)
    with pytest.raises(RuntimeError, match=SHARED):  # indices that change while they are used
        own[::2].scatter_(0, own[2::2], 1 << 40)
