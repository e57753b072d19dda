"""The order of the nodes of each layer, so that few wires cross."""

from __future__ import annotations

from bisect import bisect_right, insort

SWEEPS = 6
LARGE = 20_000  # nodes and bends from which on one sweep has to do


def ordered(
    layer: list[int], below: list[list[int]], above: list[list[int]], depth: list[int]
) -> list[list[int]]:
    """Return the nodes of each layer from left to right: a walk down the graph, then improved by sweeps.

    Fixed numbers of sweeps, ties kept as they are: the same graph is always drawn the same.
    """
    rows = _walked(layer, below, above, depth)
    position = [0] * len(layer)
    _number(rows, position)
    best, fewest = [list(row) for row in rows], crossings(rows, below, position)
    for sweep in range(1 if len(layer) > LARGE else SWEEPS):
        if not fewest:
            break
        downwards = sweep % 2 == 0
        for row in rows[1:] if downwards else rows[-2::-1]:
            _sort_row(row, above if downwards else below, position)
        crossed = crossings(rows, below, position)
        if crossed < fewest:
            best, fewest = [list(row) for row in rows], crossed
    return best


def crossings(rows: list[list[int]], below: list[list[int]], position: list[int]) -> int:
    """Return the number of times that two wires cross."""
    count = 0
    for row in rows:
        seen: list[int] = []
        for node in row:
            ends = sorted(position[tail] for tail in below[node])
            if seen and ends and ends[0] < seen[-1]:
                count += sum(len(seen) - bisect_right(seen, end) for end in ends)
                for end in ends:
                    insort(seen, end)
            else:
                seen += ends
    return count


def _walked(
    layer: list[int], below: list[list[int]], above: list[list[int]], depth: list[int]
) -> list[list[int]]:
    """Walk depth first from the top: what is reached first stands left. Deep branches before leaves."""
    rows: list[list[int]] = [[] for _ in range(max(layer, default=-1) + 1)]
    seen = bytearray(len(layer))
    roots = [node for node in range(len(layer)) if not above[node]]
    roots.sort(key=layer.__getitem__)
    for root in [*roots, *range(len(layer))]:
        stack = [root]
        while stack:
            node = stack.pop()
            if seen[node]:
                continue
            seen[node] = 1
            rows[layer[node]].append(node)
            tails = below[node]
            if len(tails) > 1:
                tails = sorted(tails, key=lambda tail: depth[tail] == 0)
            stack.extend(reversed(tails))
    return rows


def _sort_row(row: list[int], neighbours: list[list[int]], position: list[int]) -> None:
    """Sort a layer by the mean position of its neighbours; a node without any stays where it is."""
    if len(row) < 2:
        return
    means: dict[int, float] = {}
    for node in row:
        near = neighbours[node]
        if len(near) == 1:
            means[node] = position[near[0]]
        elif near:
            means[node] = sum(map(position.__getitem__, near)) / len(near)
        else:
            means[node] = position[node]
    row.sort(key=means.__getitem__)
    for at, node in enumerate(row):
        position[node] = at


def _number(rows: list[list[int]], position: list[int]) -> None:
    for row in rows:
        for at, node in enumerate(row):
            position[node] = at
