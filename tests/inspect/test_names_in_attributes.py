"""A recording follows names into the attributes of tensors."""

from __future__ import annotations

import subprocess
from pathlib import Path

from engine.inspect.history import History
from engine.inspect.trace import TraceReader
from tests.inspect.test_recorder import recorded_command

PROGRAM = """\
import engine
x = engine.ones(2)
x.other = engine.zeros(3)
items = [x]
done = True
"""


def test_names_lead_through_attributes(tmp_path: Path) -> None:
    program, trace = tmp_path / "program.py", tmp_path / "program.uht"
    program.write_text(PROGRAM)
    subprocess.run(recorded_command(trace, str(program)), cwd=tmp_path, check=True)
    history = History(TraceReader.open(trace))
    moments = range(history.end)
    labels = {f.label for moment in moments for f in history.names_at(moment) if f.tensor}
    assert {"x", "x.other", "items[0]", "items[0].other"} <= labels
