"""The same graph as a list: one node a line, and lanes next to it that lead down to its successors.

For graphs too large to draw in boxes and for small terminals. There are at most LANES lanes; a wire
that would need one more, or pass more than FAR lines, ends at once (the line says where it goes).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tui.render.glyphs import DOWN, LEFT, RIGHT, UP

LANES = 6  # the last one is kept for nodes that no lane leads to
FAR = 120  # lines


@dataclass(frozen=True, slots=True)
class Row:
    """One line: the node's lane, and as sets of bits the lanes that end here, begin here, pass by."""

    node: int
    lane: int
    ending: int
    beginning: int
    passing: int
    stubs: int  # wires that end at once


@dataclass(frozen=True, slots=True)
class Rails:
    rows: tuple[Row, ...]
    lanes: int  # of the widest line
    line_of: tuple[int, ...]  # by node

    def sides(self, line: int) -> list[int]:
        """Return for each lane of a line the sides by which wires leave its cell; then between the lanes.

        Cell 2k is lane k, cell 2k + 1 the gap to the right of it. A lane that passes is never
        joined to the wire that crosses it.
        """
        row = self.rows[line]
        cells = [0] * (2 * self.lanes)
        touched = row.ending | row.beginning | (1 << row.lane)
        low = (touched & -touched).bit_length() - 1
        high = touched.bit_length() - 1
        for at in range(2 * low + 1, 2 * high):
            cells[at] = LEFT | RIGHT
        for lane in range(self.lanes):
            bit = 1 << lane
            if row.passing & bit:
                cells[2 * lane] = UP | DOWN
                continue
            cell_sides = (UP if row.ending & bit else 0) | (DOWN if row.beginning & bit else 0)
            if low <= lane <= high:
                cell_sides |= (LEFT if lane > low else 0) | (RIGHT if lane < high else 0)
            cells[2 * lane] = cell_sides
        return cells


def rails(count: int, heads: Sequence[int], tails: Sequence[int], order: Sequence[int]) -> Rails:
    """Return lanes for `count` nodes listed in `order`; edge i leads from heads[i] to tails[i]."""
    line_of = [0] * count
    for line, node in enumerate(order):
        line_of[node] = line
    below: list[list[int]] = [[] for _ in range(count)]
    for head, tail in zip(heads, tails, strict=True):
        below[head].append(tail)
    lanes: list[int] = [-1] * LANES  # where each lane leads
    rows = []
    widest = 1
    for line, node in enumerate(order):
        ending = sum(1 << lane for lane, to in enumerate(lanes) if to == node)
        for lane in range(LANES):
            if ending >> lane & 1:
                lanes[lane] = -1
        free = [lane for lane in range(LANES) if lanes[lane] < 0]
        own = (ending & -ending).bit_length() - 1 if ending else free[0]
        passing = sum(1 << lane for lane in range(LANES) if lanes[lane] >= 0)
        beginning = stubs = 0
        room = [own, *(lane for lane in free if lane != own)]
        room = [lane for lane in room if lane < LANES - 1]
        # the nearest one goes straight on, so that lanes open and close quickly
        for tail in sorted(set(below[node]), key=line_of.__getitem__, reverse=True):
            known = next((lane for lane, to in enumerate(lanes) if to == tail), -1)
            far = line_of[tail] - line > FAR or line_of[tail] <= line
            if known >= 0 and not beginning >> known & 1:
                beginning |= 1 << known  # joins the lane that leads there already
                passing &= ~(1 << known)
                ending |= 1 << known
            elif far or not room:
                stubs += 1
            else:
                lane = room.pop(0)
                lanes[lane] = tail
                beginning |= 1 << lane
        rows.append(Row(node, own, ending, beginning, passing, stubs))
        used = ending | beginning | passing | 1 << own
        widest = max(widest, used.bit_length())
    return Rails(tuple(rows), widest, tuple(line_of))
