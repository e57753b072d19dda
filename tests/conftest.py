"""The environment of every test: the repository's root is on the path, and the user's settings are not
used."""

from __future__ import annotations

import gc
import os
import shutil
import signal
import sys
import tempfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))

from tests import opencl_driver, recordings, sampling  # noqa: E402

opencl_driver.prepare()

# Processes that tests start can import the tests' helpers too, and none of them reads from a terminal.
os.environ["PYTHONPATH"] = os.pathsep.join(
    dict.fromkeys([str(ROOT), *filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))])
)

# A shell's background job and nohup leave signals ignored, which the tests send.
signal.signal(signal.SIGINT, signal.default_int_handler)
for number in (signal.SIGHUP, signal.SIGQUIT, signal.SIGTERM):
    signal.signal(number, signal.SIG_DFL)


def pytest_configure(config: pytest.Config) -> None:
    """Create the folder of shared recordings; xdist workers inherit its name."""
    if "PYTEST_XDIST_WORKER" not in os.environ:
        folder = tempfile.mkdtemp(prefix="underhood-recordings-")
        os.environ[recordings.VARIABLE] = folder
        config.add_cleanup(lambda: shutil.rmtree(folder, ignore_errors=True))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say how to repeat the samples of a run that failed."""
    if terminalreporter.stats.keys() & {"failed", "error"}:
        terminalreporter.write_line(
            f"the samples of this run: {sampling.SEED_VARIABLE}={sampling.SEED}"
        )


def pytest_collection_finish() -> None:
    """Exempt the collected tests from garbage collection: many tests call `gc.collect()`."""
    gc.collect()
    gc.freeze()
