"""The layer of each node: one below the lowest node that leads to it."""

from __future__ import annotations


def layers(count: int, heads: list[int], tails: list[int]) -> list[int]:
    """Return the layer of every node, 0 at the top; edge i leads down from heads[i] to tails[i].

    The longest way from a node that nothing leads to. Such a node itself stands right above the
    highest thing that it leads to, so that a second loss is drawn where it joins. A circle (only a
    damaged trace has one) is cut where it closes: `heads` may then be below `tails`.
    """
    below: list[list[int]] = [[] for _ in range(count)]
    waiting = [0] * count
    for head, tail in zip(heads, tails, strict=True):
        below[head].append(tail)
        waiting[tail] += 1
    roots = [node for node in range(count) if not waiting[node]]
    layer = [0] * count
    order = _down(roots, below, waiting, layer)
    if len(order) < count:
        done = set(order)
        for node in range(count):
            if node not in done and waiting[node] > 0:
                waiting[node] = 0
                done.update(_down([node], below, waiting, layer))
    lowest = 0
    for node in roots:
        if below[node]:
            layer[node] = min(layer[tail] for tail in below[node]) - 1
    lowest = min((layer[node] for node in roots), default=0)
    return [number - lowest for number in layer] if lowest else layer


def _down(
    first: list[int], below: list[list[int]], waiting: list[int], layer: list[int]
) -> list[int]:
    """Visit what can be visited, each node after all that lead to it; the nodes visited."""
    order = list(first)
    for node in order:  # grows while it is walked
        under = layer[node] + 1
        for tail in below[node]:
            if layer[tail] < under and waiting[tail] > 0:
                layer[tail] = under
            waiting[tail] -= 1
            if waiting[tail] == 0:
                order.append(tail)
    return order


def depths(count: int, below: list[list[int]], layer: list[int]) -> list[int]:
    """Return the length of the longest path down from each node."""
    depth = [0] * count
    for node in sorted(range(count), key=layer.__getitem__, reverse=True):
        depth[node] = max((depth[tail] + 1 for tail in below[node]), default=0)
    return depth
