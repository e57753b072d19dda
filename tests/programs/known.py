"""The differences from PyTorch that are meant, each with its reason."""

from __future__ import annotations

import re

from tests.programs.outcome import Difference

# Reason: the fact that differs, and what its detail and statement show.
KNOWN = {
    "the number of a Node's name, which counts PyTorch's overloads": (
        "grad_fn", r"\w+: ([A-Za-z]+Backward)\d, not \1\d$", "",
    ),
    "there is no complex32": ("raises", r"got Half and Half", ""),
    "memory that was not written has any values": ("values", "", r"resize_|set_\("),
    "PyTorch reduces into memory that it still reads": (
        "values", "", r"(?s)lib\.(sum|mean|prod|amax)\(.*out=",
    ),
}  # fmt: skip


def reason_for(difference: Difference) -> str | None:
    """Why this difference is meant; None where it is not."""
    for reason, (fact, detail, statement) in KNOWN.items():
        if (
            difference.fact == fact
            and re.search(detail, difference.detail)
            and re.search(statement, difference.statement)
        ):
            return reason
    return None
