"""Recording changes nothing: no output, no count, no version, no byte, at any point of a program."""

from __future__ import annotations

import difflib
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from engine.inspect.recorder import TOO_LONG
from tests import gallery, sampling
from tests.end_to_end.probe import instrumented
from tests.end_to_end.programs import random_program

GALLERY = [script for script in gallery.SCRIPTS if script.name not in gallery.MEASURED]
# The recorder's own message about a long recording, after the program's output.
LENGTH = re.compile(
    rb"underhood: more than [\d,]+ events: " + re.escape(TOO_LONG.encode()) + rb"\n"
)
RECORD = (
    "import sys; from engine.inspect.recorder import record_program; "
    "sys.exit(record_program(sys.argv[2:], sys.argv[1]))"
)


def run(command: list[str], folder: Path, report: Path) -> tuple[int, bytes, bytes]:
    environment = {**os.environ, "PROBE_REPORT": str(report)}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, timeout=600)
    return done.returncode, done.stdout, re.sub(rb"0x[0-9a-f]+", b"0x", done.stderr)


def assert_recording_changes_nothing(program: str, folder: Path) -> None:
    (folder / "program.py").write_text(instrumented(program))
    plain = run([sys.executable, "program.py"], folder, folder / "plain")
    recorder = [sys.executable, "-c", RECORD, "t.uht"]
    code, output, errors = run([*recorder, "program.py"], folder, folder / "recorded")
    assert (code, output, LENGTH.sub(b"", errors)) == plain
    plain_notes, recorded_notes = ((folder / name).read_text() for name in ("plain", "recorded"))
    assert "refs" in plain_notes
    difference = list(
        difflib.unified_diff(plain_notes.split("\n"), recorded_notes.split("\n"), n=2)
    )
    assert not difference, "\n".join(difference[:40])


@pytest.mark.parametrize("script", sampling.sampled(GALLERY, 8), ids=lambda path: path.stem)
def test_the_gallery_counts_the_same_when_it_is_recorded(script: Path, tmp_path: Path) -> None:
    for data in gallery.FOLDER.glob("*.csv"):
        shutil.copy(data, tmp_path)
    assert_recording_changes_nothing(script.read_text(), tmp_path)


@pytest.mark.parametrize("seed", sampling.seeds(6, "observer"))
def test_a_random_program_counts_the_same_when_it_is_recorded(seed: int, tmp_path: Path) -> None:
    assert_recording_changes_nothing(random_program(seed), tmp_path)
