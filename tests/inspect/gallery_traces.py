"""The gallery's scripts, recorded once, with the engine's own counts of the same run."""

from __future__ import annotations

import json
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from engine.inspect.history import History
from engine.inspect.trace import TraceReader
from tests import gallery
from tests.recordings import once

# Training repeats one step hundreds of times: what is counted at every line of it is counted for minutes, and
# a step is in the others too.
TRAINING = ("char_transformer", "leaking_losses", "lenet", "mlp_on_iris")
SCRIPTS = {
    path.stem: path
    for path in gallery.SCRIPTS
    if path.stem not in TRAINING and path.name not in gallery.MEASURED
}

# Runs a script under a profiler that counts the calls into the engine's C functions.
_COUNTED = """
import gc, json, sys
from collections import Counter
import engine
from engine.inspect import live
calls = Counter()
def note(frame, event, argument):
    if event == "c_call":
        calls[argument.__name__] += 1
script = compile(open(sys.argv[1]).read(), sys.argv[1], "exec")
sys.setprofile(note)
exec(script)
sys.setprofile(None)
gc.collect()
gc.disable()  # what is counted here is what the trace says of its end
allocators = {name: vars(live.allocator_stats(name)) for name in ("cpu", "pool")}
probe = engine.empty(0)
newest = {"tensor": live.tensor_id(probe), "storage": live.storage_id(probe)}
with open(sys.argv[2], "w") as stream:
    json.dump({"calls": calls, "allocators": allocators, "newest": newest}, stream)
"""
_RECORD = (
    "import sys; from engine.inspect.recorder import record_program; "
    "sys.exit(record_program(sys.argv[2:], sys.argv[1]))"
)


class Recorded(NamedTuple):
    history: History
    counted: dict[str, Any]


@cache
def recorded(name: str) -> Recorded:
    """The history of a gallery script and the engine's own counts at its end."""

    def record(folder: Path) -> None:
        (folder / "p.py").write_text(_COUNTED)
        command = [sys.executable, "-c", _RECORD, str(folder / "t.uht"), str(folder / "p.py")]
        command += [str(SCRIPTS[name]), str(folder / "c.json")]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, timeout=600)

    folder = once(f"gallery-{name}", record)
    counted = json.loads((folder / "c.json").read_text())
    return Recorded(History(TraceReader.open(folder / "t.uht")), counted)
