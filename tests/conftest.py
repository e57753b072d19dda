"""The surroundings of every test: the repository's root on the path, and nothing of the user's own."""

from __future__ import annotations

import gc
import os
import signal
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))

# Processes that tests start find the tests' helpers too, and none of them asks a terminal for input.
os.environ["PYTHONPATH"] = os.pathsep.join(
    dict.fromkeys([str(ROOT), *filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))])
)

# A shell's background job and nohup pass ignored signals on; the tests send them.
signal.signal(signal.SIGINT, signal.default_int_handler)
for number in (signal.SIGHUP, signal.SIGQUIT, signal.SIGTERM):
    signal.signal(number, signal.SIG_DFL)


def pytest_collection_finish() -> None:
    """Exempt the collected tests from garbage collection: many tests call `gc.collect()`."""
    gc.collect()
    gc.freeze()
