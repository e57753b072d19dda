"""The tour of six keys, on the first script that the user runs: each step waits for its key."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Stop:
    """A step of the tour: the action that completes it, the key, and a sentence about it."""

    action: str
    key: str
    sentence: str


STOPS = (
    Stop("step(1)", "< then ]", "run the first lines of your script"),
    Stop("step(-1)", "[", "take that line back: time runs both ways"),
    Stop("next_tensor(1)", "a", "select a tensor; every view highlights it"),
    Stop("who_wrote()", "w", "go to the line that last wrote this tensor"),
    Stop("view('2')", "2", "show the timeline; each tab names its key"),
    Stop("help()", "?", "explain every key and symbol on the screen"),
)
FACT = "tour_taken"
"""The name under which the explorer remembers that the tour was taken or left."""


class Tour:
    """The position in the tour."""

    def __init__(self) -> None:
        self.at = 0

    @property
    def over(self) -> bool:
        """Return whether every key was pressed."""
        return self.at >= len(STOPS)

    def acted(self, action: str) -> bool:
        """Advance if the tour waits for this action; return whether it does."""
        if self.over or STOPS[self.at].action != action:
            return False
        self.at += 1
        return True

    def parts(self) -> tuple[str, str, str]:
        """Return (position, key, sentence) of the current step."""
        stop = STOPS[self.at]
        return f"tour {self.at + 1}/{len(STOPS)}", stop.key, stop.sentence
