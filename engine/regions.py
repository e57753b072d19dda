"""Named parts of a program in its recording: a profile, a `record_function` block, a distribution's sample.

A recording shows where each begins and ends, which calls ran inside, and which tensors were created there.
Without one, beginning a region costs a question.
"""

from __future__ import annotations

from itertools import count

from engine._generated.event_kinds import REGION, REGION_END
from engine._native import lib

_numbers = count(1)


def begin(name: str) -> int:
    """Record that a region begins, and return its number; 0 while nothing is recorded."""
    if not lib.uh_recording():
        return 0
    number, text = next(_numbers), name.encode()
    lib.uh_emit_blob(REGION, 0, number, 0, 0, 0, text, len(text))
    return number


def end(number: int) -> None:
    """Record that the region of this number ends."""
    if number and lib.uh_recording():
        lib.uh_emit(REGION_END, 0, number, 0, 0, 0, 0)
