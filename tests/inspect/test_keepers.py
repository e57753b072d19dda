"""Keepers of tensors and nodes, followed to the end; the reason for which a node runs next."""

from __future__ import annotations

import pytest

from engine.inspect.history import History
from engine.inspect.history.keepers import keepers
from engine.inspect.history.why_node import why_node_alive, why_node_runs
from tests.inspect.test_failure import recorded
from tui.actions.queries import why
from tui.navigator import Navigator
from tui.render import UNICODE

CODE = """history = []
w = torch.ones(3, requires_grad=True)
for i in range(2):
    loss = (w.exp() * w).sum()
    history.append(loss)
def outer():
    big = torch.ones(4)
    def inner():
        return big
    return inner
f = outer()
class Node: pass
def cycle():
    n = Node()
    n.t = torch.ones(5)
    n.me = n
cycle()
loss.backward()
pass"""


@pytest.fixture(scope="module")
def history(tmp_path_factory: pytest.TempPathFactory) -> History:
    return recorded(tmp_path_factory.mktemp("keepers"), CODE)


def last(history: History) -> int:
    return int(history.tables.lines.since[-1])


def tensor_with(history: History, sizes: tuple[int, ...]) -> list[int]:
    m = last(history)
    return [fact.id for fact in history.tensors_at(m) if fact.sizes == sizes]


def test_a_saved_tensor_is_followed_to_the_list_that_keeps_its_graph(history: History) -> None:
    m = last(history)
    saved = [
        way.text
        for tensor in tensor_with(history, (3,))
        for way in keepers(history, tensor, m)
        if way.text.startswith("saved by")
    ]
    exp = next(text for text in saved if "ExpBackward0) as _saved_result" in text)
    assert "the graph of node" in exp
    assert exp.endswith(
        "grad_fn of history[0] → item history[0] → name history → the module, since line 7"
    )


def test_a_closure_is_a_name_s_end(history: History) -> None:
    (big,) = tensor_with(history, (4,))
    (way,) = keepers(history, big, last(history))
    assert way.text.startswith("closure variable f.big → name f → the module")


def test_an_object_in_a_cycle_is_held_elsewhere_and_counted_once(history: History) -> None:
    (inside,) = tensor_with(history, (5,))
    m = last(history)
    owners = history.owners(inside, m).object
    assert owners is not None
    assert [(each.kind, each.count) for each in owners.holders] == [("ELSEWHERE", 1)]
    (way,) = keepers(history, inside, m)
    assert way.text.startswith("1 held elsewhere: its last name was n.t")
    assert not way.named
    nav = Navigator(history, at="last")
    nav.move(m)
    nav.select_text(f"tensor={inside}")
    text = nav.picture("object", 120, 40, UNICODE).text()
    assert "ob_refcnt 1" in text


def test_a_node_says_what_it_waits_for_and_why_it_runs(history: History) -> None:
    run = history.autograd.run(1)
    assert run is not None
    names = {history.autograd.describe_node(int(node)): int(node) for node in run.nodes}
    mul = next(node for name, node in names.items() if "MulBackward0" in name)
    top = next(node for name, node in names.items() if "SumBackward0" in name)
    entered = int(run.entered[run.index(top)])
    assert "runs now: every gradient" in why_node_runs(history, top, entered).text
    then = f"then {mul} (MulBackward0) runs: it waits for gradients of this node"
    assert then in why_node_runs(history, top, entered).facts
    newest = int(run.order[-1])
    ending = why_node_runs(history, newest, int(run.entered[run.index(newest)]))
    assert "it is the last node of the pass" in ending.facts
    waiting = why_node_runs(history, mul, entered)
    assert "waits for 1 gradient" in waiting.text
    assert f"they come from {top} (SumBackward0)" in waiting.facts
    ready = int(run.pushed[run.index(mul)])
    answer = why_node_runs(history, mul, ready)
    assert "runs next: every gradient" in answer.text
    assert any("created last runs first" in fact for fact in answer.facts)
    assert "ran as number 1" in why_node_runs(history, top, last(history)).text
    assert why_node_alive(history, mul, ready).text.endswith("since line 6")


def test_why_answers_for_a_selected_node(history: History) -> None:
    run = history.autograd.run(1)
    assert run is not None
    nav = Navigator(history, at="start")
    nav.move(int(run.entered[0]))
    nav.select_text(f"node={int(run.nodes[-1])}")
    page = why(nav)
    assert "# Does this node run next?" in page
    assert "# What keeps this node alive?" in page
