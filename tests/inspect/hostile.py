"""Traces that a stranger wrote to do harm: real recordings whose strings or tables were changed."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
import zlib
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np

from engine._generated.event_kinds import KINDS
from engine.inspect.events import HAS_BLOB
from engine.inspect.writer import packed
from tests.inspect.trace_builder import unpacked

PLAIN = """
import engine
x = engine.arange(6.).view(2, 3)
y = x.t()[1:]
y.mul_(2)
words = [x.sum(), y.expand(4, 2, 2)]
try:
    x.view(4)
except RuntimeError as error:
    print(error)
del y
big = engine.zeros(100, 100) + 1
w = engine.ones(3, requires_grad=True)
loss = (w * w + w.exp()).sum()
loss.backward()
"""
COMPILED = """
import engine

@engine.jit.script
def helper(x):
    return x.t().t() * 2

@engine.jit.script
def looped(x, n: int, words: dict[str, int]):
    y = engine.tanh(helper(x)) + 1
    for i in range(n):
        if i % 2 == 0:
            y = y.relu() * y
        else:
            words["odd"] = i
    assert n > 0, "n must be positive"
    return y.sum(), words

for _ in range(4):
    looped(engine.ones(2, 3), 2, {"a": 1})
try:
    looped(engine.ones(3, 2, 2)[0], 0, {})
except engine.jit.Error as error:
    print(error)
"""
"""Every sort of event of the JIT: graphs, rewrites, code, steps, a fused group, a bail-out."""
PROGRAM = COMPILED + PLAIN


def record(folder: Path, program: str = PROGRAM) -> Path:
    """Record `program` in another process; returns the trace."""
    script, trace = folder / "program.py", folder / "program.uht"
    script.write_text(program)
    code = (
        "import sys; from engine.inspect.recorder import record_program; "
        "sys.exit(record_program(sys.argv[1:2], sys.argv[2]))"
    )
    run = [sys.executable, "-c", code, str(script), str(trace)]
    subprocess.run(run, check=True, stdout=subprocess.DEVNULL)
    return trace


def rewrite_texts(
    trace: Path,
    change: Callable[[str, str], str],
    replace_json: Callable[[str], bytes] | None = None,
    names: bool = True,
) -> None:
    """Change every string in a trace: `change(source, text)`, source = the event kind or the table.

    With `names`, also every string within JSON, be it a name that the explorer looks for; with
    `replace_json`, the bytes that it returns for an event kind stand for its JSON.
    """
    with closing(sqlite3.connect(trace)) as database:
        for first, count, time, events, blobs in database.execute(
            "SELECT first, count, t_first, events, blobs FROM segments"
        ).fetchall():
            records = unpacked(events, first, count, time)
            rewritten = _rewrite_blobs(records, zlib.decompress(blobs), change, replace_json, names)
            row = (zlib.compress(packed(records), 1), zlib.compress(rewritten, 1), first)
            database.execute("UPDATE segments SET events = ?, blobs = ? WHERE first = ?", row)
        for table, key, columns in (
            ("strings", "id", ("text",)),
            ("sources", "file", ("path", "text")),
            ("meta", "key", ("value",)),
        ):
            for column in columns:
                query = f"SELECT {key}, {column} FROM {table}"
                for number, text in database.execute(query).fetchall():
                    update = f"UPDATE {table} SET {column} = ? WHERE {key} = ?"
                    database.execute(update, (change(table, text), number))
        database.commit()


def _rewrite_blobs(
    records: np.ndarray,
    blobs: bytes,
    change: Callable[[str, str], str],
    replace_json: Callable[[str], bytes] | None,
    names: bool,
) -> bytes:
    out = bytearray()
    for at in np.flatnonzero(records["flags"] & HAS_BLOB).tolist():
        start = int(records["e"][at])
        blob = blobs[start + 8 : start + 8 + int.from_bytes(blobs[start : start + 8], "little")]
        kind = KINDS[int(records["kind"][at])]
        if kind.blob.startswith("utf-8"):
            blob = change(kind.name, blob.decode()).encode()
        elif kind.blob.startswith("JSON") and replace_json:
            blob = replace_json(kind.name)
        elif kind.blob.startswith("JSON") and names:
            blob = json.dumps(_rewrite_json(json.loads(blob), kind.name, change)).encode()
        records["e"][at] = len(out)
        out += len(blob).to_bytes(8, "little") + blob + bytes(-len(blob) % 8)
    return bytes(out)


def _rewrite_json(value: Any, kind: str, change: Callable[[str, str], str]) -> Any:
    if isinstance(value, dict):
        return {name: _rewrite_json(item, kind, change) for name, item in value.items()}
    if isinstance(value, list):
        return [_rewrite_json(item, kind, change) for item in value]
    return change(kind, value) if isinstance(value, str) else value
