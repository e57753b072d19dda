"""The differences from PyTorch that are meant, each with its reason."""

from __future__ import annotations

import re

from tests.programs.outcome import Difference

# Reason: patterns of the fact that differs, and of its detail and statement.
KNOWN = {
    "the number of a Node's name, which counts PyTorch's overloads": (
        "grad_fn", r"\w+: ([A-Za-z]+Backward)\d, not \1\d$", "",
    ),
    "there is no complex32": ("raises", r"got Half and Half", ""),
    "memory that was not written has any values": ("values", "", r"resize_|set_\("),
    "PyTorch reduces into memory that it still reads": (
        "values", "", r"(?s)lib\.(sum|mean|prod|amax)\(.*out=",
    ),
    "PyTorch resizes out= before it rejects the call": (
        "shape|stride|nbytes|storage", r"\(after \w+Error\)$", r"out=",
    ),
    "PyTorch writes what comes before an index that is out of bounds": (
        "values", r"\(after IndexError\)$", r"\[|index_|put_",
    ),
    "PyTorch finds that an empty tensor has no such slice when it describes it": (
        "error class", r"^IndexError \(index_fill.* not RuntimeError \(setStorage", r"index_fill",
    ),
}  # fmt: skip


def reason_for(difference: Difference) -> str | None:
    """Why this difference is meant; None where it is not."""
    for reason, (fact, detail, statement) in KNOWN.items():
        if (
            re.fullmatch(fact, difference.fact)
            and re.search(detail, difference.detail)
            and re.search(statement, difference.statement)
        ):
            return reason
    return None
