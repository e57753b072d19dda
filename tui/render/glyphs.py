"""The two sets of symbols that pictures are drawn with: Unicode, and plain ASCII for `--ascii`.

Views never write a drawing character themselves; they take it from here by its meaning, so that
each exists in both sets and each view's HELP can explain it.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import lru_cache

UP, RIGHT, DOWN, LEFT = 1, 2, 4, 8  # the sides a line leaves a cell by; a wire is a sum of them


@dataclass(frozen=True, slots=True)
class Glyphs:
    """One set of symbols, each exactly one cell wide."""

    name: str
    ellipsis: str  # a text was cut here
    arrow: str  # points at
    arrow_left: str
    arrow_up: str
    arrow_down: str
    highlighted: str  # this line belongs to the selection
    current: str  # the current line, event or position
    mark: str  # touched by the selection
    dot: str  # an item of a list; a separator
    ghost: str  # no longer exists
    temporary: str  # a tensor without a name
    forever: str  # immortal: never counted down
    times: str  # between the sizes of a shape
    call: str  # an operator call
    fail: str  # an error
    write: str  # bytes were written
    full: str  # a cell of a bar that is used
    part: str  # a cell of a bar that is used in part
    empty: str  # a cell of a bar that is not used
    hole: str  # a cell that no tensor reaches
    unknown: str  # a value that the trace does not hold
    life: str  # the time from creation to free
    created: str
    freed: str
    waits: str  # a node of a graph: nothing has arrived
    partly: str  # something has arrived, something has not
    ready: str  # in the queue
    done: str  # it has run
    skipped: str  # it need not run
    to_come: str  # the end of a wire: its gradient has not arrived
    came: str  # it has
    none: str  # the gradient is None
    single: str  # one gradient is in the buffer, unchanged
    sum: str  # the buffer holds a sum of several
    far: str  # leads far away
    joins: str  # comes from far away
    saved: str  # a saved tensor
    levels: str  # nine heights from nothing to full
    wires: str  # 16 symbols by the sum of their sides
    heavy: str  # the same 16 for highlighted wires

    def wire(self, sides: int, heavy: bool = False) -> str:
        """Return the symbol of a line that leaves its cell by these sides."""
        return (self.heavy if heavy else self.wires)[sides]

    def level(self, share: float) -> str:
        """Return the bar symbol of a share of 0..1; only 0 is drawn as a blank."""
        top = len(self.levels) - 1
        return self.levels[min(top, max(1, round(share * top)))] if share > 0 else self.levels[0]


UNICODE = Glyphs(
    name="unicode",
    ellipsis="…",
    arrow="▸",
    arrow_left="◂",
    arrow_up="▴",
    arrow_down="▾",
    highlighted="▌",
    current="▶",
    mark="◆",
    dot="·",
    ghost="╌",
    temporary="◌",
    forever="∞",
    times="×",
    call="ƒ",
    fail="✖",
    write="✎",
    full="█",
    part="▓",
    empty="░",
    hole="·",
    unknown="?",
    life="━",
    created="╞",
    freed="╡",
    waits="○",
    partly="◐",
    ready="◎",
    done="✓",
    skipped="⊘",
    to_come="▽",
    came="▼",
    none="∅",
    single="■",
    sum="Σ",
    far="⇢",
    joins="⇠",
    saved="▪",
    levels=" ▁▂▃▄▅▆▇█",
    # by the sum of UP=1 RIGHT=2 DOWN=4 LEFT=8; a single side is drawn as a whole line
    wires=" │─╰││╭├─╯─┴╮┤┬┼",
    heavy=" ┃━┗┃┃┏┣━┛━┻┓┫┳╋",
)

ASCII = Glyphs(
    name="ascii",
    ellipsis="~",
    arrow=">",
    arrow_left="<",
    arrow_up="^",
    arrow_down="v",
    highlighted="]",
    current=">",
    mark="*",
    dot=".",
    ghost="-",
    temporary="o",
    forever="@",
    times="x",
    call="f",
    fail="!",
    write="w",
    full="#",
    part="%",
    empty=".",
    hole=".",
    unknown="?",
    life="=",
    created="[",
    freed="]",
    waits="o",
    partly="c",
    ready="=",
    done="v",
    skipped="/",
    to_come=":",
    came="V",
    none="N",
    single="&",
    sum="S",
    far="}",
    joins="{",
    saved="$",
    levels=" .:-=+*%#",
    wires=" |-+||++-+-+++++",
    heavy=" #=#####=#=#####",
)


def translated(text: str, glyphs: Glyphs) -> str:
    """Return `text` (a symbol of HELP, or a sentence about one) with the symbols of another set."""
    if glyphs is UNICODE:
        return text
    return text.translate(_table(glyphs))


@lru_cache(maxsize=4)
def _table(glyphs: Glyphs) -> dict[int, str]:
    pairs = [
        (getattr(UNICODE, field.name), getattr(glyphs, field.name))
        for field in fields(Glyphs)
        if field.name != "name"
    ]
    return {
        ord(old): new
        for olds, news in pairs
        for old, new in zip(olds, news, strict=True)
        if not old.isascii()
    }


SETS = {"unicode": UNICODE, "ascii": ASCII}
