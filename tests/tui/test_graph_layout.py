"""Layered drawings of graphs: nothing overlaps, every wire arrives, the same graph is drawn the same."""

from __future__ import annotations

import time
from itertools import pairwise

import pytest

from tests.tui import graph_cases as cases
from tui.render.graph import Layout, Run, layout, rails, repeats

BOXES = (1, 3)


def laid_out(case: cases.Case, box: int = 3) -> Layout:
    return layout(case.widths, case.heads, case.tails, box)


@pytest.fixture(params=[*cases.ALL], ids=str)
def case(request) -> cases.Case:
    return cases.ALL[request.param]


@pytest.mark.parametrize("box", BOXES)
def test_no_two_nodes_overlap(case, box):
    result = laid_out(case, box)
    for row in result.rows:
        for item, two in pairwise(row):
            assert result.left[item] + result.widths[item] < result.left[two] + (
                result.widths[two] == 1
            )
    assert all(result.tops[at + 1] > top + box - 1 for at, top in enumerate(result.tops[:-1])), (
        "layers overlap"
    )
    assert all(left >= 0 for left in result.left)
    assert (
        max((x + w for x, w in zip(result.left, result.widths, strict=True)), default=0)
        <= result.width
    )


def test_every_edge_goes_down_layer_by_layer_to_its_end_or_to_a_portal(case):
    result = laid_out(case)
    reached: dict[int, list] = {}
    for gap in result.channels:
        for link in gap.links:
            reached.setdefault(link.edge, []).append(link)
    stubs = {
        edges[0]: (result.count + at, head, edges)
        for at, (head, _, edges) in enumerate(result.portals)
    }
    for edge, (head, tail) in enumerate(zip(case.heads, case.tails, strict=True)):
        if edge in stubs:
            number, origin, _ = stubs[edge]
            assert origin == head
            tail = number
        elif any(edge in edges for _, _, edges in result.portals):
            continue  # goes with the first of its portal
        links = reached[edge]
        assert links[0].net == head
        assert links[-1].lower == tail
        for above, under in pairwise(links):
            assert above.lower == under.net
            assert above.x1 == under.x0, "a wire continues where it came down"
        low, high = result.left[tail], result.left[tail] + result.widths[tail] - 1
        assert low <= links[-1].x1 <= high, "it comes down on the node it leads to"


def test_wires_of_different_nodes_never_lie_on_each_other(case):
    """Along a track, and down a column: crossings are the only cells that two nodes' wires share."""
    result = laid_out(case)
    for gap in result.channels:
        across: dict[tuple[int, int], int] = {}
        down: dict[tuple[int, int], int] = {}
        bottom = gap.tracks + 1
        for link in gap.links:
            turn = link.track if link.track >= 0 else bottom
            cells = [(link.x0, y) for y in range(-1, turn + 1)]
            cells += [(link.x1, y) for y in range(turn, bottom)]
            for cell in cells:
                assert down.setdefault(cell, link.net) == link.net, f"column {cell[0]} is shared"
            for x in range(min(link.x0, link.x1), max(link.x0, link.x1) + 1):
                if link.track >= 0:
                    assert across.setdefault((x, link.track), link.net) == link.net


def test_the_same_graph_is_laid_out_the_same(case):
    assert laid_out(case) == laid_out(case)


def test_layers_lead_down():
    result = laid_out(cases.mlp(6))
    for head, tail in zip(cases.mlp(6).heads, cases.mlp(6).tails, strict=True):
        assert result.layer[head] < result.layer[tail]


def test_repeated_blocks_stay_in_one_column():
    """A network of many layers is as narrow as one of a few: the deepest path goes straight down."""
    for make in (cases.mlp, cases.residual, cases.attention):
        few, many = laid_out(make(3)).width, laid_out(make(40)).width
        assert many <= few * 1.5 + 10, f"{make.__name__} drifts from {few} to {many} columns"


def test_a_diamond_is_symmetrical():
    result = laid_out(cases.diamond())
    _, sine, cosine, product, total = (result.middle(node)[0] for node in range(5))
    assert product == total
    assert abs((sine + cosine) / 2 - product) <= 1


def test_shared_and_far_edges_become_portals():
    case = cases.recurrent(30)
    result = laid_out(case)
    weights = {tail for _, tail, _ in result.portals}
    assert weights <= {0, 1, 2}, "only the weights are used from everywhere"
    assert len(result.arriving[0]) > 20
    far = cases.chain(60)
    far.node("Add", 60, 0)
    assert [(head, tail) for head, tail, _ in laid_out(far).portals] == [(61, 0)]


def test_a_second_root_stands_where_it_joins():
    case = cases.chain(20)
    metric = case.node("Mean", 3)
    result = laid_out(case)
    assert result.layer[metric] == result.layer[3] - 1


def test_a_circle_is_drawn_too():
    result = layout([5, 5, 5], [0, 1, 2], [1, 2, 0])
    assert sorted(node for row in result.rows for node in row if node < 3) == [0, 1, 2]


def test_a_window_knows_what_lies_in_it():
    case = cases.wide(30)
    result = laid_out(case)
    for left in range(0, result.width, 37):
        for at, row in enumerate(result.rows):
            inside = {
                node
                for node in row
                if result.left[node] < left + 40 and result.left[node] + result.widths[node] > left
            }
            assert inside <= set(result.nodes_within(at, left, left + 40))
    for top in range(0, result.height, 3):
        output = result.layers_within(top, top + 4)
        for at, first in enumerate(result.tops):
            end = result.tops[at + 1] if at + 1 < len(result.tops) else result.height
            if first < top + 4 and end > top:
                assert at in output


@pytest.mark.parametrize(
    "case",
    [
        cases.chain(10_000),
        cases.mlp(2000),
        cases.attention(300),
        cases.recurrent(1700),
        cases.wide(5000),
    ],
    ids=["chain", "mlp", "attention", "recurrent", "wide"],
)
def test_ten_thousand_nodes_are_laid_out_without_quadratic_steps(case):
    begin = time.process_time()
    laid_out(case)
    # 0.1 to 0.35 s on an idle machine; comparing all pairs of nodes would take minutes.
    assert time.process_time() - begin < 10.0


# Rails and repeats


def listed(case: cases.Case) -> list[int]:
    """Newest first; a leaf after its last user."""
    last = {}
    for head, tail in zip(case.heads, case.tails, strict=True):
        last[tail] = min(last.get(tail, head), head)
    key = {
        node: (-last.get(node, node) + 0.5) if name == "AccumulateGrad" else -node
        for node, name in enumerate(case.names)
    }
    return sorted(key, key=key.__getitem__)


def test_each_lane_leads_from_a_node_to_one_that_it_has_an_edge_to(case):
    order = listed(case)
    result = rails(len(case.names), case.heads, case.tails, order)
    below: dict[int, set[int]] = {}
    for head, tail in zip(case.heads, case.tails, strict=True):
        below.setdefault(head, set()).add(tail)
    open_: dict[int, list[int]] = {}  # lane -> the nodes that are in it
    joined: dict[int, set[int]] = {}
    for line, row in enumerate(result.rows):
        assert row.node == order[line]
        for lane in list(open_):
            bit = 1 << lane
            assert bool(row.passing & bit) != bool(row.ending & bit), "a lane continues or ends"
            if row.ending & bit and not (row.beginning & bit and lane != row.lane):
                for head in open_.pop(lane):
                    assert row.node in below[head]
                    joined.setdefault(head, set()).add(row.node)
        for lane in range(result.lanes):
            if row.beginning >> lane & 1:
                open_.setdefault(lane, []).append(row.node)
    assert not open_, "no lane is left over"
    for row in result.rows:
        assert len(joined.get(row.node, ())) + row.stubs == len(below.get(row.node, ()))


def test_a_line_of_rails_is_as_wide_as_its_lanes(case):
    result = rails(len(case.names), case.heads, case.tails, listed(case))
    for line in range(len(result.rows)):
        assert len(result.sides(line)) == 2 * result.lanes


def test_repeats_find_blocks_and_nothing_else():
    assert repeats("abcabcabcx") == [Run(0, 3, 3)]
    assert repeats("aaaa") == [Run(0, 1, 4)]
    assert repeats("abab") == [], "twice is not worth a fold"
    assert repeats("xabcdabcdabcdyzzzz") == [Run(1, 4, 3), Run(14, 1, 4)]
    assert repeats("") == []
    for run in repeats("abbabbabbabb"):
        assert run == Run(0, 3, 4), "the run that spares most, not the one that is shortest"


def test_a_window_cuts_nothing_where_there_is_room():
    from tui.views.jit.boxes import within

    assert within(0, 78, 4, 80, 20) == 2, "boxes from column 4 to 80 fit into 78 columns"
    assert within(-3, 30, 0, 20, 5) == -3, "a smaller picture stays centred"
    assert within(0, 10, 30, 60, 35) == 30, "empty columns before the first box are left out"
    assert within(90, 10, 30, 60, 35) == 35, "the focus stays in sight"
