"""Why is it stale, alive, without a gradient? Each answer names the fact and the line."""

from __future__ import annotations

import pytest

from engine.inspect.history.why import why_alive, why_no_grad, why_stale
from engine.inspect.history.why_node import why_node_alive, why_node_runs
from tests.inspect.autograd_builder import GradBuilder
from tests.inspect.trace_builder import T

ADD_ = "add_.Scalar(Tensor(a!) self, Scalar other) -> Tensor"


def program(text: str) -> GradBuilder:
    b = GradBuilder()
    b.file("prog.py", text)
    return b


def test_a_stale_tensor_names_the_operator_and_the_line():
    b = program("x = leaf()\ny = x.exp()\ny.add_(1)\ny.mul_(2)\n")
    b.line(1)
    x = b.leaf(name="x")
    b.line(2)
    y = b.result("ExpBackward0", (x,), {"result": 0}, bind="y")
    wrote = []
    for line, schema in ((3, ADD_), (4, ADD_.replace("add_", "mul_"))):
        b.line(line)
        with b.op(schema, [T(y), 1]):
            wrote.append(b.write(y, [2.0, 3.0]) + 1)
    history, node = b.history(), b.made_by[y][0]
    (answer,) = why_stale(history, node, b.now)
    assert answer.text == (
        f"y, which node {node} (ExpBackward0) needs as _saved_result, was written by add_ on line 3"
        " of prog.py (`y.add_(1)`)"
    )
    assert answer.moment == wrote[0]
    assert answer.line == 3
    assert [fact.partition(" of ")[0] for fact in answer.facts] == [
        f"node {node} (ExpBackward0) saved it at version 0 on line 2",
        "add_ on line 3",
        "mul_ on line 4",
    ]
    assert why_stale(history, node, wrote[0] - 1) == ()


def test_holders_add_up_to_the_use_count():
    b = program("x = leaf()\nlosses = [x]\ny = x * x\n")
    b.line(1)
    x = b.leaf(name="x")
    b.line(2)
    b.bind("losses[0]", x, "SLOT", holder=0x10)
    b.bind("f.x", x, "CELL", holder=0x20)
    b.object(x, 3)
    b.line(3)
    y = b.result("MulBackward0", (x, x), {"self": x, "other": x}, bind="y")
    b.backward(y, keep_graph=True)
    history = b.history()
    answer = why_alive(history, x, b.now)
    assert answer.text == "x has use count 4 = 1 + 1 + 2; its Python object has 3 references"
    node, leaf = b.made_by[y][0], b.accumulators[x]
    ways = [fact for fact in answer.facts if fact.startswith("kept by ")]
    assert ways[1:3] == [
        "kept by item losses[0] → name losses → the module, since line 2",
        "kept by closure variable f.x → name f → the module, since line 2",
    ]
    assert answer.facts[len(ways) :] == (
        "1 × its Python object, since line 1",
        f"1 × variable of node {leaf} (AccumulateGrad), since line 3",
        f"2 × saved by node {node} (MulBackward0) as _saved_self and _saved_other, since line 3",
        "its Python object: 1 × name x, since line 1",
        "its Python object: 1 × item losses[0], since line 2",
        "its Python object: 1 × closure variable f.x, since line 2",
    )
    grad = history.autograd.grad(x, b.now).grad
    (holder,) = history.owners(grad, b.now).impl.holders
    assert (holder.kind, holder.name, holder.count) == ("GRAD", ".grad of x", 1)


def no_grad(b: GradBuilder, name: str, m: int | None = None) -> str:
    history = b.history()
    moment = b.now if m is None else m
    (tensor,) = {fact.tensor for fact in history.names_at(moment) if fact.name == name}
    return why_no_grad(history, tensor, moment).text


def test_a_node_is_kept_by_a_result_with_a_name_however_many_have_none():
    b = program("x = leaf()\n")
    b.line(1)
    x = b.leaf(name="x")
    for _ in range(20):
        hidden = b.result("ReluBackward0", (x,), {"result": 0})
    b.result("ViewBackward0", (hidden,), bind="y")
    text = why_node_alive(b.history(), b.accumulators[x], b.now).text
    assert "2 nodes further → grad_fn of y → name y" in text


def test_a_node_of_an_earlier_pass_has_run():
    b = program("x = leaf()\ny = x.exp()\nz = x.sin()\ny.backward()\nz.backward()\n")
    b.line(1)
    x = b.leaf(name="x")
    b.line(2)
    y = b.result("ExpBackward0", (x,), bind="y")
    z = b.result("SinBackward0", (x,), bind="z")
    for line, result in ((4, y), (5, z)):
        b.line(line)
        b.backward(result, keep_graph=True)
    history, node = b.history(), b.made_by[y][0]
    answer = why_node_runs(history, node, b.now)
    assert answer.text == f"Node {node} (ExpBackward0) ran as number 1 of backward pass 1"
    assert answer.facts[0] == "pass 1 was started on line 4 of prog.py (`y.backward()`)"


def test_a_gradient_was_not_made_from_numbers():
    b = program("x = leaf()\ny = x.exp()\ny.backward()\n")
    b.line(1)
    x = b.leaf(name="x")
    b.line(2)
    y = b.result("ExpBackward0", (x,), bind="y")
    b.line(3)
    b.backward(y)
    history = b.history()
    gradient = history.autograd.grad(x, b.now).grad
    text = why_no_grad(history, gradient, b.now).text
    assert "a backward pass computed it" in text


def test_a_gradient_is_called_by_the_tensor_that_it_is_of():
    b = program("w = leaf()\n")
    b.line(1)
    w = b.leaf(name="w")
    grad = b.tensor((2,))
    b.emit("GRAD_SET", w, grad)
    history = b.history()
    assert history.label(grad, b.now) == "w.grad"
    assert history.label(grad, b.now - 1) == f"#{grad}"


def test_nothing_requires_it():
    b = program("x = ones(2)\ny = x * 2\n")
    b.line(1)
    x = b.tensor((2,), name="x")
    assert no_grad(b, "x").startswith("x.requires_grad is False, and it was made from numbers")
    b.line(2)
    with b.op("mul.Scalar(Tensor self, Scalar other) -> Tensor", [T(x), 2]) as call:
        y = b.tensor((2,))
        call.results(y)
    b.bind("y", y)
    reason = "y.requires_grad is False: mul made it on line 2 of prog.py (`y = x * 2`)"
    assert no_grad(b, "y") == reason + " from tensors that require no gradient"
    b.line(3)
    with b.op("zeros(int[] size) -> Tensor", [(2,)]) as call:
        z = b.tensor((2,))
        call.results(z)
    b.bind("z", z)
    assert no_grad(b, "z").endswith("without requires_grad=True")


def test_switched_off():
    b = program("x = leaf()\nx.requires_grad_(False)\n")
    b.line(1)
    x = b.leaf(name="x")
    b.line(2)
    b.emit("REQUIRES_GRAD", x, 0)
    assert no_grad(b, "x").startswith("x.requires_grad is False: it was switched off on line 2")


@pytest.mark.parametrize(
    ("op", "dtype", "answer"),
    [
        ("detach", "float32", "y was detached from x on line 2"),
        (
            "mul",
            "float32",
            "y was made on line 2 of prog.py (`y = f(x)`) by mul while gradients were",
        ),
        ("argmax", "int64", "y is int64: only floating and complex tensors have gradients"),
    ],
)
def test_made_without_a_node(op, dtype, answer):
    b = program("x = leaf()\ny = f(x)\n")
    b.line(1)
    x = b.leaf(name="x")
    b.line(2)
    with b.op(f"{op}(Tensor self) -> Tensor", [T(x)]) as call:
        y = b.tensor((2,), dtype=dtype)
        call.results(y)
    b.bind("y", y)
    assert no_grad(b, "y").startswith(answer)


def graph() -> tuple[GradBuilder, int]:
    b = program("x = leaf()\nz = leaf()\ny = x.exp()\ny.backward()\nx.grad = None\n")
    b.line(1)
    x = b.leaf(name="x")
    b.line(2)
    b.leaf(name="z")
    b.line(3)
    return b, b.result("ExpBackward0", (x,), bind="y")


def test_not_a_leaf():
    b, y = graph()
    assert no_grad(b, "y").startswith(
        f"y is not a leaf: node {b.made_by[y][0]} (ExpBackward0) made it on line 3"
    )
    (keep, never) = why_no_grad(b.history(), y, b.now).facts
    assert "retain_grad()" in keep
    assert "no backward pass has reached it" in never
    b.line(4)
    b.backward(y)
    assert len(why_no_grad(b.history(), y, b.now).facts) == 1


def test_no_pass_yet_a_running_pass_and_one_that_led_elsewhere():
    b, y = graph()
    assert no_grad(b, "x") == "x is a leaf, and no backward pass has run yet"
    b.line(4)
    b.backward(y)
    assert no_grad(b, "x").startswith("x.grad is tensor #")
    assert no_grad(b, "z").startswith(
        "no backward pass reached z: the last one on line 4 of prog.py (`y.backward()`) does not lead"
    )
    assert why_no_grad(b.history(), 2, b.now).facts == ("no operator was called with it",)
    history = b.history()
    enter = int(history.tables.numbers("NODE_ENTER")[0])
    leaf = b.accumulators[1]
    assert no_grad(b, "x", enter) == (
        f"backward pass 1 is still running: node {leaf} (AccumulateGrad) still waits for 1 of them"
    )


def test_cleared():
    b, y = graph()
    b.line(4)
    b.backward(y)
    b.line(5)
    b.emit("GRAD_SET", 1, 0)
    assert no_grad(b, "x") == (
        "x.grad was set to None on line 5 of prog.py (`x.grad = None`), and no gradient has arrived since"
    )


def test_none_arrived_and_a_pass_that_failed():
    b, y = graph()
    b.line(4)
    node = b.made_by[y][0]
    b.backward(y, none=[node])
    answer = why_no_grad(b.history(), 1, b.now)
    assert answer.text.startswith("the gradient that arrived for x in backward pass 1 on line 4")
    assert answer.text.endswith("was None")
    assert answer.facts == (f"node {node} (ExpBackward0) gave None",)
    b, y = graph()
    b.line(4)
    b.backward(y, stops_at=b.made_by[y][0])
    assert no_grad(b, "x").endswith("failed before x got its gradient")


def test_asked_for_other_tensors():
    b, y = graph()
    b.line(4)
    b.backward(y, needs=[b.made_by[y][0]])
    assert no_grad(b, "x").endswith("computed the gradients of other tensors only (inputs=)")
