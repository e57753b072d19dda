"""The output of the command line: text and JSON that cannot control the terminal that shows it.

File names, error messages and everything in a recording may come from a stranger.
"""

from __future__ import annotations

import argparse
import json
import sys
from typing import IO, Any

from tui.render import clean_lines


def write(text: str, file: IO[str] | None = None) -> None:
    """Print `text`, cleaned line by line, to `file` (default: standard output).

    Characters that its encoding lacks are printed as escapes: `\\xf6` in the C locale."""
    stream = file or sys.stdout
    encoding = getattr(stream, "encoding", None) or "utf-8"
    print(clean_lines(text).encode(encoding, "backslashreplace").decode(encoding), file=stream)


def complain(text: str) -> None:
    """Print `text`, cleaned line by line, to standard error."""
    write(text, sys.stderr)


def json_text(value: Any, indent: int | None = 1) -> str:
    """Return `value` as JSON in printable ASCII (json leaves DEL as it is)."""
    return json.dumps(value, indent=indent).replace("\x7f", "\\u007f")


class Parser(argparse.ArgumentParser):
    """An argument parser that cleans its messages, because they quote the command line."""

    def _print_message(self, message: str, file: Any = None) -> None:
        super()._print_message(clean_lines(message), file)
