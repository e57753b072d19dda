"""Differences of a statement whose operands differ in the last place, or in the sign of a zero, already.

A rounding error decides what `floor`, a comparison or a root at its branch cut gives, and how many numbers are
unique, and `x.view(lib.int32)` shows it as it is. So a difference counts as that if the other library, given the same
bits, computes the same values.
"""

from __future__ import annotations

import ast
import re
from typing import Any

from tests.programs.grammar import Session
from tests.programs.outcome import (
    TOLERANCES,
    Difference,
    facts_of_all,
    fits,
    flat,
    kind,
    near,
    plain,
    statements,
    tolerance_of,
)

BITS = re.compile(r"\.view\(lib\.u?int\d+\)")


def follows_from_rounding(ours: Any, theirs: Any, text: str, difference: Difference) -> bool:
    """Return True if the statement computes the same from operands that are the same bit for bit.

    Or if it shows bits of numbers that differ in the last place, or are NaN: through a view of another dtype, or
    through a tensor of another dtype over the same storage.
    """
    parts = statements(text)
    sessions = Session(ours), Session(theirs)
    for part in parts[: parts.index(difference.statement)]:
        for session in sessions:
            session.run(part)
    viewed = [_numbers(session, _receivers(difference.statement)) for session in sessions]
    if any(_rounded(*pair) for pair in zip(*viewed, strict=True)):
        return True
    _copy_bits(*sessions)
    for session in sessions:
        session.run(difference.statement)
    a, b = (facts_of_all(session.lib, session.tensors()) for session in sessions)
    tolerance = tolerance_of(a)
    seen = [plain(session.names["seen"]) for session in sessions]
    name = difference.detail.partition(":")[0]
    if _shows_nan(sessions[0], name):
        return True
    if difference.fact == "values" and _shows_near_bits(*sessions, name):
        return True
    return (
        a.keys() == b.keys()
        and all(a[name]["shape"] == b[name]["shape"] for name in a)
        and all(near(a[name]["values"], b[name]["values"], tolerance) for name in a)
        and near(*seen, tolerance)
    )


def reads_other_bools(ours: Any, text: str, difference: Difference) -> bool:
    """Return True if a bool tensor shows bytes that are neither 0 nor 1, which C++ leaves undefined."""
    parts = statements(text)
    session = Session(ours)
    for part in parts[: parts.index(difference.statement)]:
        session.run(part)
    return any(
        fits(x, x.untyped_storage().nbytes())
        and max(flat(x.view(ours.uint8).tolist()), default=0) > 1
        for x in session.tensors().values()
        if x.dtype == ours.bool
    )


def _copy_bits(source: Session, target: Session) -> None:
    """Writes the bytes of every tensor into the other library's: its version counters stay."""
    tensors = target.tensors()
    for name, x in source.tensors().items():
        ours, theirs = (
            session.lib.empty(0, dtype=session.lib.uint8).set_(tensor.untyped_storage())
            for session, tensor in ((source, x), (target, tensors[name]))
        )
        if ours.numel():
            theirs.copy_(target.lib.tensor(ours.tolist(), dtype=target.lib.uint8))


def _shows_nan(session: Session, name: str) -> bool:
    """Return True if a tensor's storage holds NaN as the elements of a tensor of another dtype."""
    tensors = session.tensors()
    if name not in tensors:
        return False
    address = tensors[name].untyped_storage().data_ptr()
    return any(
        x.dtype != tensors[name].dtype
        and (x.is_floating_point() or x.is_complex())
        and x.untyped_storage().data_ptr() == address
        and "nan" in repr(x.detach().tolist())
        for x in tensors.values()
    )


def _shows_near_bits(ours: Session, theirs: Session, name: str) -> bool:
    """Return True if the bytes of a tensor are near in both libraries when read in another dtype.

    In the floating dtype of another tensor over the same storage, that is: -0.0 and 0.0 have the same value there.
    """
    tensors = ours.tensors()
    if name not in tensors:
        return False
    different, counterparts = tensors[name], theirs.tensors()
    address = different.untyped_storage().data_ptr()
    for other, x in tensors.items():
        if (
            x.untyped_storage().data_ptr() != address
            or x.dtype == different.dtype
            or kind(x) != "float"
        ):
            continue
        pair = [y.untyped_storage() for y in (x, counterparts[other])]
        if pair[0].nbytes() != pair[1].nbytes():
            continue
        numbers = [
            lib.empty(0, dtype=y.dtype).set_(storage).tolist()
            for lib, y, storage in zip(
                (ours.lib, theirs.lib), (x, counterparts[other]), pair, strict=True
            )
        ]
        if near(*numbers, TOLERANCES.get(str(x.dtype).rpartition(".")[2], 1e-9)):
            return True
    return False


def _receivers(statement: str) -> list[str]:
    """The expressions whose bits a statement shows."""
    return [
        ast.unparse(node.func.value)
        for node in ast.walk(ast.parse(statement))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr == "view"
        and BITS.search(ast.unparse(node))
    ]


def _numbers(session: Session, expressions: list[str]) -> list[list[Any]]:
    """The numbers of each expression that is a floating-point tensor, else none."""
    values = [session.value(expression) for expression in expressions]
    return [
        flat(x.detach().tolist())
        if isinstance(x, session.lib.Tensor) and kind(x) == "float"
        else []
        for x in values
    ]


def _rounded(a: list[Any], b: list[Any]) -> bool:
    """Return True if numbers are not the same bit for bit, though near, or are NaN."""
    if repr(a) == repr(b):
        return "nan" in repr(a)
    return near(a, b, 1e-2)
