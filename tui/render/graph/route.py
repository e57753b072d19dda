"""Wires in the channel between two layers: down from a node, along one track, down to its successors.

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
    """The channel between a layer and the next: its links, and the number of tracks they need."""

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
    """Route the wires that leave a layer. wires[node] lists (edge, lower node). May move a bend by one column."""
    result = Channel()
    wires_into: dict[int, list[tuple[int, int, int]]] = {}  # lower node -> (column, edge, net)
    sources: dict[int, int] = {}
    for node in row:
        if wires[node]:
            sources[x[node]] = node
            for edge, lower in wires[node]:
                wires_into.setdefault(lower, []).append((x[node], edge, node))
    nets = {node: _Net(node, column, []) for column, node in sources.items()}
    for lower, arrivals in wires_into.items():
        if len(arrivals) > 1:
            arrivals.sort()
        entries = [x[lower]] if lower >= real else _entries(arrivals, x[lower], widths[lower])
        for (_, edge, node), column in zip(arrivals, entries, strict=True):
            nets[node].ends.append((edge, lower, column))
    bent = [net for net in nets.values() if any(column != net.column for _, _, column in net.ends)]
    if bent:
        _constrain(bent, nets, sources)
        index_in_row = {node: at for at, node in enumerate(lower_row)}
        result.tracks = _tracks(bent, sources, x, widths, real, lower_row, index_in_row, result)
    for net in nets.values():
        if len(net.ends) == 1 and net.ends[0][2] == net.column:
            edge, lower, column = net.ends[0]
            result.links.append(Link(edge, net.node, column, column, -1, lower))
        elif all(column == net.column for _, _, column in net.ends):
            result.links += [
                Link(edge, net.node, net.column, column, -1, lower)
                for edge, lower, column in net.ends
            ]
    return result


def _entries(arrivals: list[tuple[int, int, int]], middle: int, width: int) -> list[int]:
    """Return the column at which each wire comes onto a box: straight down where that is possible."""
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
    index_in_row: dict[int, int],
    result: Channel,
) -> int:
    """Give each bus the first track that is free, after those that must be above it."""
    bent.sort(key=_turn)
    track_of: dict[int, int] = {}
    used: list[list[tuple[int, int]]] = []  # by track: the stretches in use, from left to right
    columns_used: dict[int, set[int]] = {}  # by lower node: the columns that wires come down on
    for net in bent:
        for _, lower, column in net.ends:
            columns_used.setdefault(lower, set()).add(column)
    waiting = bent
    while waiting:
        ready = [net for net in waiting if all(a in track_of for a in net.above)]
        if not ready:
            ready = [waiting[0]]
            _dodge(
                ready[0], track_of, sources, x, widths, real, lower_row, index_in_row, columns_used
            )
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
                result.links.append(Link(edge, net.node, net.column, column, at, lower))
        waiting = [net for net in waiting if net.node not in track_of]
    return len(used)


def _turn(net: _Net) -> tuple[bool, int]:
    """Return a sort key: a wire to the right turns above wires to the right that start further left, and the
    other way round, so that they do not cross."""
    right = sum(column for _, _, column in net.ends) >= net.column * len(net.ends)
    return (not right, -net.column if right else net.column)


def _clear(used: list[tuple[int, int]], span: tuple[int, int]) -> bool:
    """Return whether a span of a track is free; `used` is sorted, and its spans do not overlap."""
    index = bisect_left(used, span)
    before = index and used[index - 1][1] >= span[0]
    after = index < len(used) and used[index][0] <= span[1]
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
    index_in_row: dict[int, int],
    columns_used: dict[int, set[int]],
) -> None:
    """Move the ends of a net off the columns that others leave from, where nets wait for each other."""
    for number, (edge, lower, column) in enumerate(net.ends):
        other = sources.get(column, net.node)
        if other == net.node or other in placed:
            continue
        left = x[lower] - widths[lower] // 2
        right = left + widths[lower] - 1
        if lower >= real:
            at = index_in_row[lower]
            low, high = column - 1, column + 1
            if at and (neighbour := lower_row[at - 1]) != lower:
                low = max(low, x[neighbour] - widths[neighbour] // 2 + widths[neighbour])
            if at + 1 < len(lower_row):
                neighbour = lower_row[at + 1]
                high = min(high, x[neighbour] - widths[neighbour] // 2 - 1)
        else:
            low, high = left + 1, right - 1
        used = columns_used.setdefault(lower, set())
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
