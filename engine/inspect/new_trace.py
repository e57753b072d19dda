"""The database of a trace before its first event; it is created without NumPy, while a program starts."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Final

APPLICATION_ID: Final = 0x55485431  # 'UHT1'
VERSION: Final = 2
"""Of the trace files that are written: those of version 1 had their records as rows of bytes."""
_SCHEMA: Final = """
CREATE TABLE meta(key TEXT PRIMARY KEY, value TEXT);
CREATE TABLE segments(first INTEGER PRIMARY KEY, count INTEGER, t_first INTEGER, t_last INTEGER,
                      events BLOB, blobs BLOB);
CREATE TABLE strings(id INTEGER PRIMARY KEY, text TEXT);
CREATE TABLE sources(file INTEGER PRIMARY KEY, path TEXT, text TEXT);
"""


def new_trace(path: str | Path) -> sqlite3.Connection:
    """Create the tables of a trace in its empty file.

    The file itself is made first, by `private_file`: a trace is never overwritten, and only its owner may read
    it (SQLite's log takes its mode), as it holds a program's source and values.
    """
    database = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    run = database.execute
    run("PRAGMA journal_mode=WAL")
    run("PRAGMA synchronous=OFF")
    run("PRAGMA wal_autocheckpoint=1")
    run("BEGIN IMMEDIATE")
    run(f"PRAGMA application_id={APPLICATION_ID}")
    run(f"PRAGMA user_version={VERSION}")
    for statement in _SCHEMA.split(";\n")[:-1]:
        run(statement)
    run("COMMIT")
    return database
