"""Running scripted programs: loops of numbers as machine code, errors with the lines they come from, Ctrl+C."""

from __future__ import annotations

import math
import os
import signal
import threading

import pytest

import engine
from engine import jit


def half_sum(n: int):
    s = 0.0
    for i in range(n):
        s = s + i * 0.5
    return s


def collatz(n: int):
    steps = 0
    while n != 1:
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        steps += 1
    return steps


def leaves_early(n: int):
    s = 0
    for i in range(n):
        for j in range(i, 0, -2):
            if j % 5 == 3:
                continue
            s += j << 1
            if s > 1000:
                return s
    return -s


def swaps(n: int):
    a, b = 0, 1
    while a < n and not b > 89:
        a, b = b, a + b
    return a, b


def divides(n: int):
    quotients = 0
    rests = 0
    for a in range(-n, n, 3):
        for b in range(-5, 6):
            if b != 0:
                quotients = quotients * 31 + a // b
                rests = rests * 31 + a % b
                quotients = quotients & 0xFFFFFF
                rests = rests & 0xFFFFFF
    return quotients, rests


def floats(n: int):
    x = 0.5
    total = 0.0
    for i in range(1, n):
        x = math.sin(x * i) + math.sqrt(abs(x)) - x / i
        total += math.floor(x * 10.0) + max(x, 0.25) * min(i, 3) + x // 0.3 + x % 0.7 + x**2
    return x, total


def bits(n: int):
    state = 88172645463325252
    for _ in range(n):
        state = (state ^ (state << 13)) & 0x7FFFFFFFFFFF
        state = state ^ (state >> 7)
        state = (state ^ (state << 17)) & 0x7FFFFFFFFFFF
    return state, ~state, -state, state | 5


LOOPS = [half_sum, leaves_early, swaps, divides, floats, bits]


@pytest.mark.parametrize("fn", LOOPS)
def test_loops_of_numbers_are_as_in_python(fn):
    scripted = jit.script(fn)
    for n in (0, 1, 2, 3, 10, 57):
        assert scripted(n) == fn(n), n
        assert scripted(n) == fn(n), n


def test_while_loops_of_numbers_are_as_in_python():
    scripted = jit.script(collatz)
    assert [scripted(n) for n in range(1, 50)] == [collatz(n) for n in range(1, 50)]


def test_loops_of_numbers_are_instructions_of_their_own():
    scripted = jit.script(half_sum)
    assert scripted(3) == 1.5
    assert "LOOP" in scripted.instructions(3)  # what is recorded: every step can be seen


def mixed(x, n: int):
    scale = 1.0
    for i in range(n):
        scale = scale * 0.5 + i
    for _ in range(n):
        x = x * scale
    return x


def test_loops_of_numbers_within_programs_of_tensors():
    scripted = jit.script(mixed)
    x = engine.ones(3)
    for n in (0, 2, 4, 3, 1):
        assert scripted(x, n).tolist() == mixed(x, n).tolist()


def divide(a: int, b: int):
    return a // b


divide_scripted = jit.script(divide)


def sums(n: int):
    s = 0
    for i in range(n):
        s += divide_scripted(i, i - 3)
    return s


def test_an_error_says_the_lines_of_every_call():
    scripted = jit.script(sums)
    assert scripted(3) == sum(i // (i - 3) for i in range(3))
    with pytest.raises(RuntimeError, match="ZeroDivisionError") as caught:
        scripted(5)
    message = str(caught.value)
    assert message.startswith("The following operation failed in the TorchScript interpreter.\n")
    outer, inner = message.index(", in sums\n"), message.index(", in divide\n")
    assert outer < inner
    assert "    return a // b\n           ~~~~~~ <--- HERE\n" in message


def checked(x, n: int):
    assert n > 0, "n must be positive"
    if n > 3:
        raise ValueError(f"too big: {n}")
    return x[n]


def test_errors_keep_their_class():
    scripted = jit.script(checked)
    with pytest.raises(jit.Error, match=r"RuntimeError: AssertionError: n must be positive"):
        scripted(engine.ones(2), 0)
    with pytest.raises(jit.Error, match=r"builtins\.ValueError: too big: 9"):
        scripted(engine.ones(2), 9)
    with pytest.raises(IndexError, match="IndexError: "):
        scripted(engine.ones(2), 3)


def for_ever(n: int):
    s = 0
    while n > 0:
        s = s + 1
        if s > 5:
            s = 0
    return s


@pytest.fixture
def ctrl_c():
    """Python's handler of Ctrl+C, also if the tests run in the background, where it is ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("ctrl_c")
def test_ctrl_c_ends_a_scripted_loop():
    scripted = jit.script(for_ever)
    assert scripted(0) == 0
    timer = threading.Timer(0.2, lambda: os.kill(os.getpid(), signal.SIGINT))

    def run() -> None:
        timer.start()
        scripted(1)

    with pytest.raises(KeyboardInterrupt):
        run()
    timer.join()


def cell(x, state: tuple[engine.Tensor, engine.Tensor]):
    h, c = state
    c = c.sigmoid() * x + h.tanh()
    return c.tanh() * h, c


def test_tensors_in_tuples_are_fused_too():
    traced = jit.trace(cell, (engine.rand(2, 3), (engine.rand(2, 3), engine.rand(2, 3))))
    x, h, c = engine.rand(2, 3), engine.rand(2, 3), engine.rand(2, 3)
    expected = cell(x, (h, c))
    for _ in range(4):
        got = traced(x, (h, c))
        assert [item.tolist() for item in got] == [element.tolist() for element in expected]
    assert "prim::FusionGroup" in str(traced.graph_for(x, (h, c)))


def test_threads_share_a_function():
    scripted = jit.script(mixed)
    expected = mixed(engine.ones(3), 3).tolist()
    wrong = []

    def call():
        for k in range(200):
            shape = (3,) if k % 3 else (1, 3)
            got = scripted(engine.ones(shape), 3).flatten().tolist()
            if got != expected:
                wrong.append(got)

    threads = [threading.Thread(target=call) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def nested_while(a: int, b: int):
    w = 0
    while w < 3 and b < a + a and 3 > 1:
        w += 1
        v = 0
        while v < 2 and a >= 0:
            v += 1
            a = 6
    return w, a


def test_a_loop_whose_first_condition_is_made_outside_of_it():
    scripted = jit.script(nested_while)
    for a, b in ((0, 0), (2, 1), (-1, -5)):
        assert scripted(a, b) == nested_while(a, b)


def test_a_long_row_of_operators_needs_no_deep_stack():
    lines = [f"  %{i + 1} : Tensor = aten::neg(%{i})\n" for i in range(30_000)]
    graph = jit.Graph.parse(f"graph(%0 : Tensor):\n{''.join(lines)}  return (%30000)\n")
    assert graph.run(engine.ones(2)).tolist() == [1, 1]


def unbound(x):
    return engine.stack(x.unbind(0)).size(0)


def without_gradients_between(x):
    with engine.no_grad():
        y = x.view([4]).to(engine.float64)
        z = x.view(x.size())
    return y.to(engine.float16), y.view([2, 2]), z


def test_specialised_code_knows_no_more_than_what_is_said():
    scripted = jit.script(unbound)
    assert [scripted(engine.ones(n)) for n in (5, 5, 5, 5, 3, 1)] == [5, 5, 5, 5, 3, 1]


def test_what_is_computed_without_gradients_has_none_afterwards():
    x = engine.ones(2, 2, requires_grad=True)
    scripted = jit.script(without_gradients_between)
    expected = [
        (element.requires_grad, element.grad_fn is None) for element in without_gradients_between(x)
    ]
    for _ in range(4):
        actual = scripted(x)
        assert [(item.requires_grad, item.grad_fn is None) for item in actual] == expected


def refuses_negative(n: int) -> int:
    if n < 0:
        s = str(n)
        s = (s + s)[:9]
        s = (s + s)[:9]
        s = (s + s)[:9]
        s = (s + s)[:9]
        s = (s + s)[:9]
        s = (s + s)[:9]
        s = (s + s)[:9]
        s = (s + s)[:9]
        s = (s + s)[:9]
        s = (s + s)[:9]
        s = (s + s)[:9]
        s = (s + s)[:9]
        s = (s + s)[:9]
        s = (s + s)[:9]
        s = (s + s)[:9]
        s = (s + s)[:9]
        s = (s + s)[:9]
        s = (s + s)[:9]
        s = (s + s)[:9]
        s = (s + s)[:9]
        raise ValueError(s)
    return n + 1


def test_a_message_that_is_made_of_itself_is_made_once():
    scripted = jit.script(refuses_negative)  # in two ways from each to the next: a million in all
    assert scripted(3) == 4
    with pytest.raises(RuntimeError, match="-12-12-12"):
        scripted(-12)


def test_a_float_survives_a_conversion_to_a_tensor_and_back():
    graph = jit.Graph.parse(
        "graph(%0 : float):\n"
        "  %1 : Tensor = prim::NumToTensor(%0)\n"
        "  %2 : float = aten::Float(%1)\n"
        "  return (%2)\n"
    )
    assert graph.run(0.1) == 0.1
