"""Fused groups on processors that know less: the tests of blocks with their kernels and code."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from isa_level import level_in_use

BLOCKS = Path(__file__).with_name("test_fused_blocks.py")
ROOT = Path(__file__).parents[3]


@pytest.mark.parametrize("isa", ["v2", "v3"])
def test_blocks_give_the_bits_of_eager_code(isa: str) -> None:
    if level_in_use(isa) != isa:
        pytest.skip(f"this build has no loops for {isa} (UNDERHOOD_ISA_LEVELS)")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(BLOCKS)],
        env={**os.environ, "UNDERHOOD_ISA": isa},
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
