"""The traces of the gallery are complete, and their counts add up."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from gallery_traces import SCRIPTS, recorded

from engine._generated.ops import HOMES
from engine._native import ffi, lib
from engine.inspect.events import NUMBER
from engine.inspect.history import History
from engine.inspect.history.facts import Owners
from engine.inspect.history.ownership import ELSEWHERE

ALLOCATORS = {"cpu": 1, "pool": 2}
gallery = pytest.mark.parametrize("name", SCRIPTS)


def c_name_of(schema: str) -> str:
    """`max.dim(...)` is called through `uh_max_dim`, `add.Tensor(...)` through plain `uh_add`."""
    name, _, overload = schema.partition("(")[0].partition(".")
    with_overload = f"{name}_{overload}" if overload else name
    return f"uh_{with_overload}" if with_overload in HOMES else f"uh_{name}"


def all_operators() -> set[str]:
    schemas = (lib.uh_op_schema(i) for i in range(lib.uh_op_count()))
    return {c_name_of(ffi.string(schema).decode()) for schema in schemas}


def calls_into(operators: set[str], calls: dict[str, int]) -> Counter[str]:
    """Count the calls of each operator."""
    return Counter({name: count for name, count in calls.items() if name in operators})


@gallery
def test_allocations_frees_and_live_bytes_are_the_allocators_own(name: str) -> None:
    history, counted = recorded(name)
    for which, number in ALLOCATORS.items():
        stats, blocks = counted["allocators"][which], history.tables.blocks
        own = blocks.allocator == number
        alive = own & (blocks.until > history.end)
        assert int(own.sum()) == stats["allocations"]
        assert int((own & ~alive).sum()) == stats["frees"]
        assert int(blocks.bytes[alive].sum()) == stats["live_bytes"]
        assert int((blocks.reused[own] != 0).sum()) == stats["reused"]
        assert peak(history, number) == stats["peak_bytes"]


def peak(history: History, allocator: int) -> int:
    """Return the peak of allocated bytes."""
    events = history.tables.events
    own = events[events["a"] == allocator]
    sign = (own["kind"] == NUMBER["ALLOCATE"]).astype(int) - (own["kind"] == NUMBER["FREE"])
    return int(np.cumsum(sign * own["c"]).max(initial=0))


@gallery
def test_every_tensor_and_storage_that_was_made_is_there(name: str) -> None:
    history, counted = recorded(name)
    tables = history.tables
    for item, ids in (("tensor", tables.tensors.id), ("storage", tables.storages.id)):
        assert sorted(set(ids.tolist())) == list(range(1, counted["newest"][item] + 1)), item


def during(history: History, scope: str, moments: np.ndarray) -> np.ndarray:
    """Return for each moment if it is in a backward pass, in a pass of the compiler or in a frame of
    its interpreter: these call operators from C++."""
    begins, ends = {
        "backward": ("BACKWARD_BEGIN", "BACKWARD_END"),
        "pass": ("PASS_BEGIN", "PASS_END"),
        "frame": ("JIT_FRAME", "JIT_FRAME_END"),
    }[scope]
    numbers = history.tables.numbers
    started = np.searchsorted(numbers(begins), moments)
    return started > np.searchsorted(numbers(ends), moments)


@gallery
def test_every_operator_call_is_there(name: str) -> None:
    """Counted by a profiler, operator by operator."""
    history, counted = recorded(name)
    result = calls_into(all_operators(), counted["calls"])
    calls = history.tables.calls
    outer = calls.parent == 0
    for item in ("backward", "pass", "frame"):
        outer &= ~during(history, item, calls.since)
    output = Counter(c_name_of(history.string(int(op))) for op in calls.op[outer])
    output["uh_empty"] -= 1  # made after the counting, to learn the newest numbers
    # Four functions call operators from C, where no profiler sees it: an index one for each of its
    # items, data a conversion where it is needed, backward the gradient of a scalar, a trace what a
    # number of arithmetic becomes in it.
    unseen = {"uh__to_copy": "uh_from_data", "uh_ones_like": "uh_backward"}
    unseen |= {"uh_full": "uh_jit_trace_begin"}
    unseen |= dict.fromkeys(("uh_select", "uh_slice", "uh_unsqueeze", "uh_alias"), "uh_basic_index")
    for operator, caller in unseen.items():
        hidden = output.pop(operator, 0) - result.pop(operator, 0)
        assert 0 <= hidden <= 3 * counted["calls"].get(caller, 0), operator
    assert +output == +result
    assert result
    assert not calls.at(history.end - 1).size, "a call that never ended"


def total(owners: Owners) -> int:
    return sum(holder.count for holder in owners.holders)


@gallery
def test_owners_add_up_at_every_line(name: str) -> None:
    """Each counted reference to a tensor that the running frame can name has a named holder, and the
    unexplained ones are listed as such. Engine counts have no remainder at all."""
    history, _ = recorded(name)
    looked = 0
    for m in history.tables.numbers("LINE").tolist():
        frame = history.frame_at(m)
        storages = set()
        for tensor in history.tensors_at(m):
            storages.add(tensor.storage)
            owners = history.owners(tensor.id, m)
            location = f"{history.label(tensor.id, m)} before line {history.line_at(m)}: {owners}"
            assert total(owners.impl) == owners.impl.count, location
            assert ELSEWHERE not in {holder.name for holder in owners.impl.holders}, location
            seen = history.object_at(tensor.id, m)
            if seen is None or owners.object is None:
                continue
            assert total(owners.object) == owners.object.count, location
            if any(fact.frame == frame for fact in history.names_of(tensor.id, m)):
                assert owners.object.count == seen.refcount, location
                looked += 1
        for storage in storages:
            retained = history.storage_owners(storage, m)
            assert total(retained) == retained.count, retained
            assert ELSEWHERE not in {holder.name for holder in retained.holders}, retained
    assert looked > 10


@gallery
def test_what_passes_compute_is_not_the_programs(name: str) -> None:
    history, _ = recorded(name)
    calls = history.tables.calls
    inside = during(history, "pass", calls.since)
    assert (history.tables.by_compiler == inside).all()
    assert not np.isin(calls.until[inside], history.tables.returns).any()


@gallery
def test_use_counts_are_what_the_engine_said_last(name: str) -> None:
    """The holders of a storage at the end of each operator against the count in its last event."""
    history, _ = recorded(name)
    counts = history.tables.storage_counts
    for m in history.tables.returns.tolist():
        for storage in history.storages_at(m):
            row = counts.last("id", storage.id, m)
            assert history.storage_owners(storage.id, m).count == int(counts.count[row])
