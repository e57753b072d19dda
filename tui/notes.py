"""The user's notes on a recording: bookmarks and watch expressions, in a JSON file next to the trace."""

from __future__ import annotations

import json
import os
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

from engine.inspect.expressions import Expression


@dataclass(frozen=True, slots=True)
class Bookmark:
    """A moment, with the user's note."""

    moment: int
    note: str


@dataclass
class Notes:
    """The notes on the trace `path`; without a path they are lost with the session."""

    path: Path | None = None
    bookmarks: list[Bookmark] = field(default_factory=list)
    watches: list[Expression] = field(default_factory=list)
    problem: str = ""

    @property
    def file(self) -> Path | None:
        """The file of the notes: `train.notes.json` next to `train.uht`."""
        return None if self.path is None else self.path.with_suffix(".notes.json")

    @classmethod
    def load(cls, trace: Path) -> Notes:
        """Load the notes on a trace. A file that cannot be read is reported, and not changed."""
        notes = cls(trace)
        try:
            read = json.loads(notes.file.read_text(encoding="utf-8")) if notes.file else {}
            notes.bookmarks = [
                Bookmark(int(each["moment"]), str(each["note"])) for each in read["bookmarks"]
            ]
            notes.watches = [Expression(str(text)) for text in read["watches"]]
        except FileNotFoundError:
            pass
        except (OSError, ValueError, KeyError, TypeError) as error:
            notes.problem = f"{notes.file} was not read: {error}"
        return notes

    def watch(self, text: str) -> str:
        """Add a watch expression, or remove it if it exists."""
        try:
            expression = Expression(text)
        except ValueError as error:
            return str(error)
        known = [each for each in self.watches if each.text != expression.text]
        removed = len(known) < len(self.watches)
        self.watches = known if removed else [*known, expression]
        return self._saved(f"{expression.text} is {'no longer ' if removed else ''}watched")

    def mark(self, moment: int, note: str) -> str:
        """Set the bookmark of a moment; an empty note removes it."""
        others = [each for each in self.bookmarks if each.moment != moment]
        removed = len(others) < len(self.bookmarks) and not note
        self.bookmarks = others if removed else [*others, Bookmark(moment, note)]
        self.bookmarks.sort(key=lambda each: each.moment)
        return self._saved(f"bookmark at event {moment:,} {'removed' if removed else 'set'}")

    def note_at(self, moment: int) -> str:
        """Return the note of a bookmark, "" without one."""
        return next((each.note for each in self.bookmarks if each.moment == moment), "")

    def _saved(self, sentence: str) -> str:
        """Write the file, and return the sentence, or a message if the folder is not writable."""
        if self.file is None:
            return sentence
        if self.problem:
            return f"{sentence}, for this session: {self.problem}"
        content = {
            "bookmarks": [{"moment": each.moment, "note": each.note} for each in self.bookmarks],
            "watches": [each.text for each in self.watches],
        }
        try:
            handle, draft = tempfile.mkstemp(dir=self.file.parent, prefix=".notes")
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                json.dump(content, file, indent=1)
            os.replace(draft, self.file)
        except OSError as error:
            return f"{sentence}, for this session: {error}"
        return sentence
