"""The user's settings (config.toml, read only) and the explorer's state (state.json).

Neither prevents the start: a broken file causes a warning, and the defaults apply.
"""

from __future__ import annotations

import json
import os
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tui import paths

MAX_LINES = 2000


@dataclass
class Settings:
    """The settings in effect; `warnings` lists the invalid parts of the file."""

    theme: str = ""
    ascii: bool = False
    mouse: bool = True
    keys: dict[str, str] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)


KINDS = {"theme": str, "ascii": bool, "mouse": bool, "keys": dict}


def load_settings(path: Path | None = None) -> Settings:
    """Read config.toml; anything wrong with it is a warning, never an error."""
    path = path or paths.settings_file()
    settings = Settings()
    if not path.exists():
        return settings
    import tomllib

    try:
        with path.open("rb") as file:
            table = tomllib.load(file)
    except (OSError, tomllib.TOMLDecodeError) as error:
        settings.warnings.append(f"{path} was not read: {error}")
        return settings
    for name, value in table.items():
        kind = KINDS.get(name)
        if kind is None:
            settings.warnings.append(f"{path}: unknown setting {name!r}")
        elif not isinstance(value, kind):
            settings.warnings.append(f"{path}: {name} must be {kind.__name__}, not {value!r}")
        else:
            setattr(settings, name, value)
    settings.keys = {str(k): str(v) for k, v in settings.keys.items()}
    return settings


class Memory:
    """Values that outlive a session, in one JSON file that is written atomically."""

    def __init__(self, path: Path | None = None) -> None:
        self.path = path or paths.state_folder() / "state.json"
        try:
            read = json.loads(self.path.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            read = {}
        self.facts: dict[str, Any] = read if isinstance(read, dict) else {}

    def get(self, name: str, default: Any = None) -> Any:
        """Return the value `name`, or `default` if there is none of the default's type."""
        value = self.facts.get(name, default)
        return value if default is None or isinstance(value, type(default)) else default

    def put(self, name: str, value: Any) -> None:
        """Store a value. If the folder is not writable, it lasts for this session only."""
        self.facts[name] = value
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            handle, draft = tempfile.mkstemp(dir=self.path.parent, prefix=".state")
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                json.dump(self.facts, file, indent=1)
            os.replace(draft, self.path)
        except OSError:
            return

    def remember_trace(self, path: Path) -> None:
        """Put `path` first in the list of recent traces."""
        absolute = str(path.resolve())
        others = [p for p in self.get("recent", []) if isinstance(p, str) and p != absolute]
        self.put("recent", [absolute, *others][:30])


class LineMemory:
    """The history of a prompt; each line is appended to a file at once, so that a crash loses none."""

    def __init__(self, path: Path | None = None) -> None:
        self.path = path or paths.state_folder() / "prompt_history"
        try:
            text = self.path.read_text(encoding="utf-8", errors="replace")
        except OSError:
            text = ""
        self.lines = [json_line(line) for line in text.splitlines() if line.strip()][-MAX_LINES:]
        self.index = len(self.lines)
        self.draft = ""

    def add(self, typed: str) -> None:
        """Add a typed line, unless it repeats the last one."""
        self.index, self.draft = len(self.lines), ""
        if not typed.strip() or (self.lines and self.lines[-1] == typed):
            return
        self.lines.append(typed)
        self.index = len(self.lines)
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with self.path.open("a", encoding="utf-8") as file:
                file.write(json.dumps(typed) + "\n")
        except OSError:
            return

    def move(self, by: int, current: str) -> str:
        """Return the line `by` entries further; the line being typed is after the last."""
        if self.index == len(self.lines):
            self.draft = current
        self.index = max(0, min(len(self.lines), self.index + by))
        return self.draft if self.index == len(self.lines) else self.lines[self.index]


def json_line(line: str) -> str:
    """Decode a history line; a hand-edited line that is not JSON is returned unchanged."""
    try:
        read = json.loads(line)
    except ValueError:
        return line
    return read if isinstance(read, str) else line
