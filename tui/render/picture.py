"""A picture: lines of spans, each span with its style and its target.

Every view draws a `Picture`; the canvas widget shows it, `underhood show` prints it, tests compare it.
A picture knows nothing of Textual or Rich. Lines are drawn on demand and cached, so a picture of a
million lines costs nothing until a part of it is visible.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import accumulate
from unicodedata import category, combining, east_asian_width

from tui.render.target import Target

MAX_SEARCHED = 2000  # rows of a picture that is searched for its landmarks


@dataclass(frozen=True, slots=True)
class Span:
    """A run of cells on one line: text, semantic style names (space separated), and its target.

    Its text has no control characters (see `clean`): pictures are drawn from
    recordings of untrusted programs, and this is where text becomes cells.
    """

    text: str
    style: str = ""
    target: Target | None = None

    def __post_init__(self) -> None:
        if not self.text.isprintable():
            object.__setattr__(self, "text", _without_controls(self.text))

    @property
    def width(self) -> int:
        return cells(self.text)


Line = tuple[Span, ...]


@dataclass(frozen=True, slots=True)
class Guide:
    """The cursor movement in a picture that is only a window onto something larger.

    The window is drawn round `focus`. From there a key leads to its target in `ways` (up, down,
    left, right, home, end, pageup, pagedown), on the picture or not. Left and right of
    column `split` are two panes: no key goes up or down from one to the other.
    """

    focus: Target | None = None
    ways: dict[str, Target] = field(default_factory=dict)
    split: int = 0


@dataclass(frozen=True, slots=True)
class Landmarks:
    """The first line of a picture with the current thing, and the first with a highlighted one."""

    current: int | None = None
    highlighted: int | None = None


class Picture:
    """`height` lines, none wider than `width`; `line(y)` calls `make` once and caches the line."""

    __slots__ = ("_find", "_lines", "_make", "guide", "height", "width")

    def __init__(
        self,
        width: int,
        height: int,
        make: Callable[[int], Iterable[Span]],
        landmarks: Callable[[], Landmarks] | None = None,
    ) -> None:
        """`landmarks` finds them without drawing the lines; without it they are searched."""
        self.width = width
        self.height = height
        self.guide = Guide()
        self._make = make
        self._find = landmarks
        self._lines: dict[int, Line] = {}

    @classmethod
    def of(cls, lines: Sequence[Sequence[Span]], width: int = 0) -> Picture:
        """Return a picture of lines that exist already; as wide as its widest line, at least `width`."""
        widest = max((line_width(line) for line in lines), default=0)
        return cls(max(width, widest), len(lines), lines.__getitem__)

    def line(self, y: int) -> Line:
        """Return the spans of line `y`; nothing outside the picture."""
        if not 0 <= y < self.height:
            return ()
        line = self._lines.get(y)
        if line is None:
            line = self._lines[y] = tuple(span for span in self._make(y) if span.text)
        return line

    @property
    def focus_row(self) -> int | None:
        """The row that should be visible: the first current one, else the first highlighted one."""
        landmarks = self.landmarks()
        return landmarks.highlighted if landmarks.current is None else landmarks.current

    def landmarks(self) -> Landmarks:
        """Return the landmarks of the picture; none of a very tall one, which the user scrolls."""
        if self._find is not None:
            return self._find()
        highlighted = None
        for y in range(self.height if self.height <= MAX_SEARCHED else 0):
            for span in self.line(y):
                names = span.style.split()
                if "current" in names:
                    return Landmarks(y, highlighted)
                if highlighted is None and "highlighted" in names:
                    highlighted = y
        return Landmarks(None, highlighted)

    def text(self, styles: bool = False) -> str:
        """Return all lines as plain text; with `styles`, each styled span reads `⟨style:text⟩`."""
        return "\n".join(
            "".join(_marked(span) if styles else span.text for span in self.line(y)).rstrip()
            for y in range(self.height)
        )

    def targets(self, y: int) -> list[tuple[int, int, Target]]:
        """Return (first cell, cell after the last, target) of every span with a target on line `y`."""
        targets, x = [], 0
        for span in self.line(y):
            if span.target is not None:
                targets.append((x, x + span.width, span.target))
            x += span.width
        return targets

    def target_at(self, x: int, y: int) -> Target | None:
        """Return the target of the cell in column `x` of line `y`."""
        return next((target for lo, hi, target in self.targets(y) if lo <= x < hi), None)


def stack(parts: Sequence[Picture]) -> Picture:
    """Return the parts, one below the other; each is still drawn only where it is visible."""
    ends = list(accumulate((part.height for part in parts), initial=0))

    def make(y: int) -> Line:
        part = bisect_right(ends, y) - 1
        return parts[part].line(y - ends[part])

    def landmarks() -> Landmarks:
        current = highlighted = None
        for part, top in zip(parts, ends, strict=False):
            own = part.landmarks()
            if current is None and own.current is not None:
                current = top + own.current
            if highlighted is None and own.highlighted is not None:
                highlighted = top + own.highlighted
        return Landmarks(current, highlighted)

    return Picture(max((part.width for part in parts), default=0), ends[-1], make, landmarks)


def side_by_side(parts: Sequence[Picture], width: int) -> Picture:
    """Return the parts next to each other, each in a column of `width` cells, which none may exceed."""

    def make(y: int) -> Line:
        spans: list[Span] = []
        for part in parts:
            line = part.line(y)
            spans += [*line, Span(" " * (width - line_width(line)))]
        return tuple(spans)

    def landmarks() -> Landmarks:
        own = [part.landmarks() for part in parts]
        current = [each.current for each in own if each.current is not None]
        highlighted = [each.highlighted for each in own if each.highlighted is not None]
        return Landmarks(min(current, default=None), min(highlighted, default=None))

    height = max((part.height for part in parts), default=0)
    return Picture(width * len(parts), height, make, landmarks)


def cells(text: str) -> int:
    """Return how many terminal cells `text` takes once it is clean: two for wide East Asian
    characters, none for combining marks."""
    return len(text) if text.isascii() else sum(map(_cell, text))


def line_width(line: Iterable[Span]) -> int:
    """Return the number of cells that the spans of a line take together."""
    return sum(span.width for span in line)


def clean(text: str) -> str:
    """Return `text` on one line, without characters that control a terminal, break lines or change
    the direction of writing: each becomes `·`, and tabs become spaces."""
    return text if text.isprintable() else _without_controls(text.expandtabs(4))


def clean_lines(text: str) -> str:
    """Return `text` with each of its lines clean; only line feeds are kept."""
    return text if text.isprintable() else "\n".join(map(clean, text.split("\n")))


def _without_controls(text: str) -> str:
    """Replace controls, format characters (bidi marks), line separators and surrogates by `·`."""
    return "".join("·" if category(c) in ("Cc", "Cf", "Zl", "Zp", "Cs") else c for c in text)


def cut(text: str, width: int, ellipsis: str = "…") -> str:
    """Return `text` in at most `width` cells; an ellipsis marks what is cut off."""
    if cells(text) <= width:
        return text
    room, clipped = width - cells(ellipsis), []
    for character in text:
        room -= _cell(character)
        if room < 0:
            break
        clipped.append(character)
    return ("".join(clipped) + ellipsis) if width >= cells(ellipsis) else ""


def cut_middle(text: str, width: int, ellipsis: str = "…") -> str:
    """Return the text in at most `width` cells; a longer one loses its middle, or where there is little room
    its start: of paths (`net.0.weight`) the end differs. Cuts at a dot that is near."""
    if cells(text) <= width or width < 4:
        return cut(text, width, ellipsis)
    tail = width - cells(ellipsis) if width < 12 else (width - 1) * 2 // 3
    if width >= 12 and (dot := text.rfind(".", -tail - 2, -tail)) >= 0:
        tail = len(text) - dot  # a whole component
    end = text[-tail:]
    while cells(end) > tail:
        end = end[1:]
    return ellipsis + end if width < 12 else cut(text, width - cells(end), ellipsis) + end


def cut_apart(names: Iterable[str], width: int, ellipsis: str = "…") -> dict[str, str]:
    """Return each text in at most `width` cells: those that `cut_middle` makes equal are cut elsewhere, if they
    differ there (`encoder.weight` and `decoder.weight`)."""
    groups: dict[str, list[str]] = {}
    for text in dict.fromkeys(names):
        groups.setdefault(cut_middle(text, width, ellipsis), []).append(text)
    visible: dict[str, str] = {}
    for alike in groups.values():
        ways = [
            [way(text, width, ellipsis) for text in alike] for way in (cut_middle, _cut_inside, cut)
        ]
        best = max(ways, key=lambda cuts: len(set(cuts)))
        visible.update(zip(alike, best, strict=True))
    return visible


def _cut_inside(text: str, width: int, ellipsis: str) -> str:
    """Return the text in at most `width` cells; a longer one keeps as much of its start as of its end."""
    tail = max(0, (width - cells(ellipsis)) // 2)
    while cells(text[len(text) - tail :]) > tail:
        tail -= 1
    end = text[len(text) - tail :]
    return text if cells(text) <= width else cut(text, width - cells(end), ellipsis) + end


def fit(text: str, width: int, ellipsis: str = "…", align: str = "<") -> str:
    """Return `text` in exactly `width` cells: cut or padded, to the left (`<`) or to the right (`>`)."""
    text = cut(text, width, ellipsis)
    blank = " " * (width - cells(text))
    return blank + text if align == ">" else text + blank


@lru_cache(maxsize=4096)
def _cell(character: str) -> int:
    if combining(character) or category(character) in ("Mn", "Me"):
        return 0  # format characters are drawn as one cell: see `clean`
    return 2 if east_asian_width(character) in "WF" else 1


def _marked(span: Span) -> str:
    return f"⟨{span.style}:{span.text}⟩" if span.style else span.text
