"""How often a growing recording is looked at: often while that is cheap, more seldom as it grows."""

from __future__ import annotations

import time

SHARE = 10  # at most one part in so many of the time goes into looking


class Pace:
    """`due()` before the work, `done()` after it; the work is then not due for ten times its length."""

    def __init__(self) -> None:
        self._begun = self._next = 0.0

    def due(self) -> bool:
        """Whether enough time has passed since the work was done last."""
        self._begun = time.monotonic()
        return self._begun >= self._next

    def done(self) -> None:
        """The work that began at `due` has ended."""
        now = time.monotonic()
        self._next = now + SHARE * (now - self._begun)
