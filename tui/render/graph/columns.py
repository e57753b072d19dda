"""The column of each node: near its neighbours, never over another, deep chains in one column.

Each layer is an isotonic regression: nodes have places they would like and distances they must keep,
and neighbours that would overlap become one block at its mean (pool adjacent violators): the exact
optimum in one walk along the layer.
"""

from __future__ import annotations

STEEP = 4.0  # a straight way of n nodes pulls with n ** STEEP, against 1 for a wire that may bend
BEND = 500.0  # and this much pulls two bends of a long wire into one column
FIXED = 1e12
GAP = 2  # blank cells between two boxes
SMALL = 200  # nodes up to which branches of equal depth stand symmetrically under their node


def columns(
    rows: list[list[int]],
    below: list[list[int]],
    above: list[list[int]],
    widths: list[int],
    layer: list[int],
    depth: list[int],
    real: int,
) -> list[int]:
    """Return the middle column of each node; nodes from `real` on are bends of long wires, one cell wide."""
    x = [0] * len(widths)
    up, down = _weights(below, above, layer, depth, real)
    widest = max(range(len(rows)), key=lambda at: sum(map(widths.__getitem__, rows[at])), default=0)
    if not rows:
        return x
    left = 0
    for node in rows[widest]:
        x[node] = left + widths[node] // 2
        left += widths[node] + GAP
    for at in range(widest - 1, -1, -1):
        _arrange(rows[at], x, widths, [(below, down)])
    if len(rows[widest]) > len(rows):  # the other layers of a tree are centred on its widest
        for row in rows:
            _arrange(row, x, widths, [(above, up)], {node for node in row if below[node]})
    else:
        for at in range(widest + 1, len(rows)):
            _arrange(rows[at], x, widths, [(above, up)])
        both = [(above, up), (below, down)]
        for turn in (rows[::-1], rows, rows[::-1]):
            for row in turn:
                _arrange(row, x, widths, both)
        for row in rows:
            _arrange(row, x, widths, [(above, up)], {node for node in row if not above[node]})
    _straighten(rows, below, layer, x, widths, real)
    edge = min((x[node] - widths[node] // 2 for row in rows for node in row), default=0)
    return [column - edge for column in x]


Neighbours = tuple[list[list[int]], list[list[float]]]


def _weights(
    below: list[list[int]], above: list[list[int]], layer: list[int], depth: list[int], real: int
) -> tuple[list[list[float]], list[list[float]]]:
    """Return the weight of each wire in the placement of the nodes below and above it.

    The deepest path from the top goes straight, then the deepest of the remaining nodes, and so on: the
    longer a path, the greater its weight. Otherwise repeated blocks would drift sideways.
    """
    up = [[1.0] * len(near) for near in above]
    down = [[1.0] * len(near) for near in below]
    visited = bytearray(len(depth))
    large = real > SMALL
    for first in sorted(range(len(depth)), key=layer.__getitem__):
        if visited[first]:
            continue
        way, node = [], first
        while tails := below[node]:
            deepest = max(map(depth.__getitem__, tails))
            best = [at for at, tail in enumerate(tails) if depth[tail] == deepest]
            tail = tails[best[0]]
            if visited[tail]:
                break
            if not large and (len(best) > 1 or _joins(above[tail], layer)):
                break  # the two arms of a diamond stand left and right of its ends
            way.append((node, best[0]))
            node = tail
            visited[node] = 1
        pull = (len(way) + 1.0) ** STEEP if first < real else BEND
        for head, at in way:
            tail = below[head][at]
            down[head][at] = pull
            up[tail][above[tail].index(head)] = pull
    for node in range(real, len(depth)):
        for at, tail in enumerate(below[node]):
            if tail >= real:
                down[node][at] = max(down[node][at], BEND)
        for at, head in enumerate(above[node]):
            if head >= real:
                up[node][at] = max(up[node][at], BEND)
    return up, down


def _joins(heads: list[int], layer: list[int]) -> bool:
    """Return whether all predecessors are in one layer, and there are several."""
    return len(heads) > 1 and len(set(map(layer.__getitem__, heads))) == 1


def _straighten(
    rows: list[list[int]],
    below: list[list[int]],
    layer: list[int],
    x: list[int],
    widths: list[int],
    real: int,
) -> None:
    """Give the bends of a long wire one column as far down as there is one that is free."""
    if len(widths) == real:
        return
    index_in_row = [0] * len(widths)
    for row in rows:
        for at, node in enumerate(row):
            index_in_row[node] = at

    def room(bend: int) -> tuple[int, int]:
        row, at = rows[layer[bend]], index_in_row[bend]
        low, high = -(1 << 40), 1 << 40
        if at:
            node = row[at - 1]
            low = x[node] - widths[node] // 2 + widths[node] + 1
        if at + 1 < len(row):
            node = row[at + 1]
            high = x[node] - widths[node] // 2 - 2
        return low, high

    seen = bytearray(len(widths))
    for row in rows:
        for first in row:
            if first < real or seen[first]:
                continue
            chain: list[int] = []
            low, high = -(1 << 40), 1 << 40
            bend = first
            while bend >= real:
                seen[bend] = 1
                left, right = room(bend)
                if max(low, left) > min(high, right):
                    _align(chain, x, low, high)
                    chain, low, high = [], -(1 << 40), 1 << 40
                chain.append(bend)
                low, high = max(low, left), min(high, right)
                bend = below[bend][0]
            _align(chain, x, low, high)


def _align(chain: list[int], x: list[int], low: int, high: int) -> None:
    wished = sorted(x[bend] for bend in chain)[len(chain) // 2]
    for bend in chain:
        x[bend] = min(max(wished, low), high)


def _arrange(
    row: list[int],
    x: list[int],
    widths: list[int],
    sides: list[Neighbours],
    keep: set[int] | None = None,
) -> None:
    """Place the nodes of one layer, in their order, as near as can be to where they would like to be:
    the weighted mean of their neighbours; those to `keep` where they are."""
    sums: list[float] = []  # of the blocks: sum of weight times column, weight, nodes
    weights: list[float] = []
    sizes: list[int] = []
    offsets: list[int] = []
    offset, before = 0, 0
    for node in row:
        width = widths[node]
        if offsets:
            offset += (before + 1) // 2 + width // 2 + (GAP if before > 1 and width > 1 else 1)
        offsets.append(offset)
        before = width
        total = weight = 0.0
        for near, strength in sides:
            for other, pull in zip(near[node], strength[node], strict=True):
                total += x[other] * pull
                weight += pull
        if keep and node in keep:
            total, weight = x[node] * FIXED, FIXED
        elif not weight:
            total, weight = x[node] * 0.01, 0.01
        total -= offset * weight
        size = 1
        while weights and total * weights[-1] < sums[-1] * weight:
            total += sums.pop()
            weight += weights.pop()
            size += sizes.pop()
        sums.append(total)
        weights.append(weight)
        sizes.append(size)
    at = 0
    for total, weight, size in zip(sums, weights, sizes, strict=True):
        start = int(total / weight + 0.5) if total >= 0 else -int(0.5 - total / weight)
        for index in range(at, at + size):
            x[row[index]] = start + offsets[index]
        at += size
