"""Wires in the channel between two layers: down from a node, along one track, down to what it leads to.

All wires of a node share its track (a bus); wires of different nodes cross at right angles or not at
all. Where a wire comes down onto a column that another one leaves from, the other turns off above it.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Link:
    """A piece of edge `edge` between two layers: from column x0 along the track to column x1.

    `net` is the node (or bend) that it leaves: pieces of one net may join, pieces of two may not.
    """

    edge: int
    net: int
    x0: int
    x1: int
    track: int  # counted from the top of the channel; -1: straight down
    lower: int


@dataclass(slots=True)
class Channel:
    """What runs between layer `at` and the next: its links and how many tracks they need."""

    links: list[Link] = field(default_factory=list)
    tracks: int = 0


@dataclass(slots=True)
class _Net:
    node: int
    column: int
    ends: list[tuple[int, int, int]]  # edge, lower node, column
    above: set[int] = field(default_factory=set)  # nets that must turn off before this one


def channel(
    row: list[int],
    wires: list[list[tuple[int, int]]],
    x: list[int],
    widths: list[int],
    real: int,
    lower_row: list[int],
) -> Channel:
    """Route what leaves a layer. wires[node] lists (edge, lower node). May move a bend by one column."""
    made = Channel()
    coming: dict[int, list[tuple[int, int, int]]] = {}  # lower node -> (column, edge, net)
    sources: dict[int, int] = {}
    for node in row:
        if wires[node]:
            sources[x[node]] = node
            for edge, lower in wires[node]:
                coming.setdefault(lower, []).append((x[node], edge, node))
    nets = {node: _Net(node, column, []) for column, node in sources.items()}
    for lower, arrivals in coming.items():
        if len(arrivals) > 1:
            arrivals.sort()
        entries = [x[lower]] if lower >= real else _entries(arrivals, x[lower], widths[lower])
        for (_, edge, node), column in zip(arrivals, entries, strict=True):
            nets[node].ends.append((edge, lower, column))
    bent = [net for net in nets.values() if any(column != net.column for _, _, column in net.ends)]
    if bent:
        _constrain(bent, nets, sources)
        places = {node: at for at, node in enumerate(lower_row)}
        made.tracks = _tracks(bent, sources, x, widths, real, lower_row, places, made)
    for net in nets.values():
        if len(net.ends) == 1 and net.ends[0][2] == net.column:
            edge, lower, column = net.ends[0]
            made.links.append(Link(edge, net.node, column, column, -1, lower))
        elif all(column == net.column for _, _, column in net.ends):
            made.links += [
                Link(edge, net.node, net.column, column, -1, lower)
                for edge, lower, column in net.ends
            ]
    return made


def _entries(arrivals: list[tuple[int, int, int]], middle: int, width: int) -> list[int]:
    """The column at which each wire comes onto a box: straight down where that is possible."""
    low, high = middle - width // 2, middle - width // 2 + width - 1
    if width > 4:
        low, high = low + 1, high - 1
    if len(arrivals) == 1:
        column = arrivals[0][0]
        return [column if low <= column <= high else middle]
    wished = []
    for column, _, _ in arrivals:
        if not low <= column <= high:
            column = max(low, middle - 2) if column < low else min(high, middle + 2)
        wished.append(column)
    apart = 2 if (high - low) >= 2 * (len(wished) - 1) else 1
    for at in range(1, len(wished)):
        wished[at] = max(wished[at], wished[at - 1] + apart)
    limit = high
    for at in range(len(wished) - 1, -1, -1):
        wished[at] = max(low, min(wished[at], limit))
        limit = wished[at] - apart
    return wished


def _constrain(bent: list[_Net], nets: dict[int, _Net], sources: dict[int, int]) -> None:
    for net in bent:
        for _, _, column in net.ends:
            other = sources.get(column, net.node)
            if other != net.node and any(end[2] != column for end in nets[other].ends):
                net.above.add(other)


def _tracks(
    bent: list[_Net],
    sources: dict[int, int],
    x: list[int],
    widths: list[int],
    real: int,
    lower_row: list[int],
    places: dict[int, int],
    made: Channel,
) -> int:
    """Give each bus the first track that is free, after those that must be above it."""
    bent.sort(key=_turn)
    track_of: dict[int, int] = {}
    used: list[list[tuple[int, int]]] = []  # by track: the stretches in use, from left to right
    taken: dict[int, set[int]] = {}  # by lower node: the columns that wires come down on
    for net in bent:
        for _, lower, column in net.ends:
            taken.setdefault(lower, set()).add(column)
    waiting = bent
    while waiting:
        ready = [net for net in waiting if all(a in track_of for a in net.above)]
        if not ready:
            ready = [waiting[0]]
            _dodge(ready[0], track_of, sources, x, widths, real, lower_row, places, taken)
        for net in ready:
            span = _span(net)
            at = max((track_of[a] + 1 for a in net.above if a in track_of), default=0)
            while at < len(used) and not _clear(used[at], span):
                at += 1
            while at >= len(used):
                used.append([])
            insort(used[at], span)
            track_of[net.node] = at
            for edge, lower, column in net.ends:
                made.links.append(Link(edge, net.node, net.column, column, at, lower))
        waiting = [net for net in waiting if net.node not in track_of]
    return len(used)


def _turn(net: _Net) -> tuple[bool, int]:
    """What goes right turns off above what goes right from further left, and the other way round: then
    these do not cross."""
    right = sum(column for _, _, column in net.ends) >= net.column * len(net.ends)
    return (not right, -net.column if right else net.column)


def _clear(used: list[tuple[int, int]], span: tuple[int, int]) -> bool:
    """Whether a stretch of a track is free; `used` is sorted, its stretches do not overlap."""
    place = bisect_left(used, span)
    before = place and used[place - 1][1] >= span[0]
    after = place < len(used) and used[place][0] <= span[1]
    return not before and not after


def _span(net: _Net) -> tuple[int, int]:
    columns = [column for _, _, column in net.ends]
    return min(net.column, *columns), max(net.column, *columns)


def _dodge(
    net: _Net,
    placed: dict[int, int],
    sources: dict[int, int],
    x: list[int],
    widths: list[int],
    real: int,
    lower_row: list[int],
    places: dict[int, int],
    taken: dict[int, set[int]],
) -> None:
    """Nets that wait for each other: move the ends of one off the columns that others leave from."""
    for number, (edge, lower, column) in enumerate(net.ends):
        other = sources.get(column, net.node)
        if other == net.node or other in placed:
            continue
        left = x[lower] - widths[lower] // 2
        right = left + widths[lower] - 1
        if lower >= real:
            at = places[lower]
            low, high = column - 1, column + 1
            if at and (beside := lower_row[at - 1]) != lower:
                low = max(low, x[beside] - widths[beside] // 2 + widths[beside])
            if at + 1 < len(lower_row):
                beside = lower_row[at + 1]
                high = min(high, x[beside] - widths[beside] // 2 - 1)
        else:
            low, high = left + 1, right - 1
        used = taken.setdefault(lower, set())
        free = [
            to
            for to in range(low, high + 1)
            if to not in used and sources.get(to, net.node) == net.node
        ]
        if free:
            to = min(free, key=lambda to: abs(to - column))
            used.discard(column)
            used.add(to)
            if lower >= real:
                x[lower] = to
            net.ends[number] = (edge, lower, to)
    net.above = {other for other in net.above if other in placed}
