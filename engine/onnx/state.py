"""The calls of Functions that this thread's export records."""

from __future__ import annotations

import threading
from typing import Any

live = threading.local()


def calls() -> Any:
    """Returns the FunctionCalls of this thread's export; None outside of one."""
    return getattr(live, "calls", None)
