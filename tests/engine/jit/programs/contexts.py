"""`with` over grad modes, in every place that a program can leave: what is recorded, and what not."""

# ruff: noqa  (as programs are written)
import engine
from engine import jit


def alike_inside_and_outside(x):
    with engine.no_grad():
        y = x * 2 + 1
    z = x * 2 + 1
    return y, z, y + z


def nothing_to_do_inside(x):
    with engine.no_grad():
        y = x.t().t()
        z = x * 1
        w = x + 0
    return y, z, w, x.t().t()


def fused(x):
    with engine.no_grad():
        y = (x * 2 + 1).relu() * x - 0.5
    z = (x * 2 + 1).relu() * x - 0.5
    with engine.no_grad():
        w = (y * 3).tanh().exp() * z
    return y, z, w


def in_a_loop(x, n: int):
    ys = [x]
    for i in range(n):
        with engine.no_grad():
            ys.append(x * 3)
        ys.append(x * 3)
    return ys


def around_a_loop(x, n: int):
    with engine.no_grad():
        for i in range(n):
            x = x * 2
        y = x + 1
    return x, y


def within_each_other(x):
    with engine.no_grad():
        with engine.enable_grad():
            y = x * 2
        z = x * 2
    return y, z


def several_at_once(x):
    with engine.no_grad(), engine.enable_grad():
        y = x * 2
    return y, x * 2


def as_told(x, on: bool):
    with engine.set_grad_enabled(on):
        y = x * 2
    with engine.set_grad_enabled(mode=not on):
        z = x * 2
    return y, z, x * 2


def returns_from_within(x, n: int):
    with engine.no_grad():
        if n == 1:
            return x * 2
        for i in range(n):
            with engine.enable_grad():
                if i == 3:
                    return x * 5
                x = x * 1.5
            if i == 5:
                return x + 1
    return x * 3


def leaves_loops_from_within(x, n: int):
    for i in range(n):
        with engine.no_grad():
            if i == 1:
                continue
            y = x * 2
            if i == 4:
                break
        x = x + y
    return x, x * 2


def in_branches(x, flag: bool):
    if flag:
        with engine.no_grad():
            y = x * 2
    else:
        y = x * 3
    return y, x * 2


def writes_inside(x):
    y = x * 2
    with engine.no_grad():
        y.mul_(3)
        y[0] = 1
    return y


def asks(x):
    with engine.no_grad():
        inside = engine.is_grad_enabled()
    return inside, engine.is_grad_enabled()


def in_inference(x):
    with engine.inference_mode():
        inside, y = engine.is_inference_mode_enabled(), x * 2
    with engine.inference_mode(False):
        z = x * 3
    return inside, engine.is_inference_mode_enabled(), y, z


def calls(x):
    with engine.no_grad():
        y = doubled(x)
    return y, doubled(x)


def doubled(x):
    return x * 2


@engine.no_grad()
def decorated(x, n: int):
    if n > 2:
        return x * 2
    return x * 3


def calls_decorated(x):
    return decorated(x, 1), decorated(x, 5), x * 2


def nothing_is_named(x):
    with engine.no_grad() as nothing:
        y = x * 2
    return y


def raises(x, n: int):
    with engine.no_grad():
        if n > 2:
            raise ValueError("too large")
        return x * 2


def scripted_again(x):
    with engine.no_grad():
        y = _scripted(x)
    return y, _scripted(x)


@jit.script
def _scripted(x):
    return (x * 2).relu() + 1


CASES = [
    (alike_inside_and_outside, [()]),
    (nothing_to_do_inside, [()]),
    (fused, [()]),
    (in_a_loop, [(0,), (3,)]),
    (around_a_loop, [(0,), (3,)]),
    (within_each_other, [()]),
    (several_at_once, [()]),
    (as_told, [(True,), (False,)]),
    (returns_from_within, [(0,), (1,), (2,), (5,), (9,)]),
    (leaves_loops_from_within, [(1,), (3,), (8,)]),
    (in_branches, [(True,), (False,)]),
    (writes_inside, [()]),
    (asks, [()]),
    (in_inference, [()]),
    (calls, [()]),
    (decorated, [(1,), (5,)]),
    (calls_decorated, [()]),
    (nothing_is_named, [()]),
    (raises, [(1,), (5,)]),
    (scripted_again, [()]),
]
