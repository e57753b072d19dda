"""The position of a picture's cursor and its movement: pure functions of a picture.

The cursor is always on a target, never on an empty cell.
"""

from __future__ import annotations

from dataclasses import dataclass

from tui.render import Picture, Target

SEARCH_ROWS = 4000  # how far up or down the cursor looks for the next target
NEAR_ROWS = 300  # how far a kept cursor is looked for in a new picture


@dataclass(frozen=True, slots=True)
class CursorPosition:
    """The position of the cursor: the cells [left, right) of a row, and their target."""

    row: int
    left: int
    right: int
    target: Target

    @property
    def middle(self) -> float:
        return (self.left + self.right) / 2


def merged_targets(picture: Picture, row: int) -> list[tuple[int, int, Target]]:
    """Return the targets of a row; neighbouring spans that stand for the same thing are one."""
    merged: list[tuple[int, int, Target]] = []
    for left, right, target in picture.targets(row):
        if merged and merged[-1][1] == left and merged[-1][2] == target:
            merged[-1] = (merged[-1][0], right, target)
        else:
            merged.append((left, right, target))
    return merged


def positions(picture: Picture, row: int) -> list[CursorPosition]:
    """Return every place of a row that the cursor can be on."""
    return [
        CursorPosition(row, left, right, target)
        for left, right, target in merged_targets(picture, row)
    ]


def first_position(picture: Picture, row: int) -> CursorPosition | None:
    """Return the first place at or below `row`, else above it."""
    down = range(row, min(picture.height, row + SEARCH_ROWS))
    up = range(min(row, picture.height) - 1, max(-1, row - SEARCH_ROWS), -1)
    return next((cursor for y in (*down, *up) for cursor in positions(picture, y)), None)


def next_on_row(picture: Picture, cursor: CursorPosition, dx: int) -> CursorPosition | None:
    """Return the next position on the same row."""
    row = positions(picture, cursor.row)
    others = [s for s in row if (s.left >= cursor.right if dx > 0 else s.right <= cursor.left)]
    return None if not others else others[0 if dx > 0 else -1]


def beyond(picture: Picture, cursor: CursorPosition, dy: int) -> CursorPosition | None:
    """Return the place nearest in column on the next row that has one, on the same side of the picture."""
    y, split = cursor.row + dy, picture.guide.split
    for _ in range(SEARCH_ROWS):
        if not 0 <= y < picture.height:
            return None
        row = [s for s in positions(picture, y) if (s.left < split) is (cursor.left < split)]
        if row:
            return min(row, key=lambda s: distance(s, cursor.middle))
        y += dy
    return None


def nearest(picture: Picture, row: int, column: float) -> CursorPosition | None:
    """Return the position nearest to a row, rows first, then columns."""
    for away in range(SEARCH_ROWS):
        for y in {row - away, row + away}:
            if 0 <= y < picture.height and (row_positions := positions(picture, y)):
                return min(row_positions, key=lambda s: distance(s, column))
        if row - away < 0 and row + away >= picture.height:
            return None
    return None


def placed(picture: Picture, target: Target, near: CursorPosition | None) -> CursorPosition:
    """Return the cursor on `target`: where it is in this picture, else where it was, until it is drawn."""
    for y in range(min(picture.height, SEARCH_ROWS)):
        for cursor in positions(picture, y):
            if cursor.target == target:
                return cursor
    return (
        CursorPosition(near.row, near.left, near.right, target)
        if near
        else CursorPosition(0, 0, 1, target)
    )


def keep_position(picture: Picture, cursor: CursorPosition | None) -> CursorPosition | None:
    """Return the cursor in a new picture: on the same thing if it is still there, else near by."""
    if cursor is None:
        return None
    for away in range(NEAR_ROWS):
        for y in (cursor.row + away, cursor.row - away):
            if 0 <= y < picture.height:
                same = [s for s in positions(picture, y) if s.target == cursor.target]
                if same:
                    return min(same, key=lambda s: distance(s, cursor.middle))
        if cursor.row - away < 0 and cursor.row + away >= picture.height:
            break
    return nearest(picture, min(cursor.row, max(0, picture.height - 1)), cursor.middle)


def distance(cursor: CursorPosition, column: float) -> float:
    """Return the distance of a column from a position; 0 inside it."""
    return 0.0 if cursor.left <= column < cursor.right else abs(cursor.middle - column)
