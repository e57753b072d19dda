"""Compiled code raises what Python raises: no optimisation loses the error of an operator that is used."""

import pytest

import engine
from engine import jit


def view_across_strides(x):
    return x.t().view(12).view(4, 3)


def view_of_another_size(x):
    return x.view(5).view(12)


def reshape_of_another_size(x):
    return x.reshape(5).view(12)


def view_of_part(x):
    return x[:, :2].view(6).view(3, 2)


def view_of_expanded(x):
    return x.unsqueeze(0).expand(2, 3, 4).view(24)


def view_after_pointwise(x):
    return (x.t() * 2 + 1).relu().sigmoid().view(-1)


def view_after_nothing(x):
    return ((x.t() + 0) * 1).view(-1)


def view_in_a_loop(x):
    for _ in range(2):
        x = x.t().view(12).view(3, 4)
    return x


def transposed_where_nothing_is(x):
    return x.transpose(0, 3).transpose(0, 3)


def permuted_too_short(x):
    return x.permute(0)


def unsqueezed_too_far(x):
    return x.unsqueeze(9).squeeze(9)


def expanded_to_another_size(x):
    return x.expand(3, 9).expand(3, 4)


def bits_of_floats(x):
    return engine.bitwise_not(engine.bitwise_not(x))


def negated_bools(x):
    return (x > 0).neg().neg()


def added_to_expanded(x):
    y = x[:1].expand(3, 4)
    y.add_(1)
    return y


def added_to_a_smaller_one(x):
    y = x[0].clone()
    y.add_(x)
    return y


def divided_integers_in_place(x):
    y = x.to(engine.int64)
    y.div_(2)
    return y


def changed_after_it_was_saved(x):
    w = x.clone().requires_grad_()
    y = w.exp()
    y.add_(1)
    y.sum().backward()
    return y


def leaf_changed_in_place(x):
    w = x.clone().requires_grad_()
    w.add_(1)
    return w


def one_of_several_views(x):
    w = x.clone().requires_grad_()
    a, _b, _c = (w * 1).unbind(0)
    a.add_(1)
    return a


RAISING = [
    element
    for name, element in list(globals().items())
    if callable(element) and getattr(element, "__module__", "") == __name__
]  # fmt: skip


@pytest.mark.parametrize("fn", RAISING, ids=[fn.__name__ for fn in RAISING])
def test_the_error_of_python_is_raised(fn):
    x = engine.arange(12.0).view(3, 4) * 0.1 - 0.5
    with pytest.raises((RuntimeError, IndexError)) as python:
        fn(x.clone())
    scripted = jit.script(fn)
    first_line = str(python.value).splitlines()[0]
    for _ in range(4):  # as it was compiled, and specialised
        with pytest.raises(type(python.value)) as compiled:
            scripted(x.clone())
        assert first_line in str(compiled.value)


def test_what_a_frozen_trace_knows_of_its_example_is_not_taken_for_all_inputs():
    class Turned(engine.nn.Module):
        def forward(self, x):
            return x.view(12).view(4, 3) * 2

    traced = jit.trace(Turned().eval(), engine.ones(4, 3))
    frozen = jit.freeze(traced)
    for _ in range(4):
        with pytest.raises(RuntimeError, match="view"):
            frozen(engine.ones(3, 4).t())
        assert frozen(engine.ones(4, 3)).sum().item() == 24


def test_a_view_that_no_iteration_reaches_does_not_raise():
    @jit.script
    def f(x, n: int):
        for _ in range(n):
            x = x.t().view(12).view(4, 3)
        return x

    for _ in range(4):
        assert f(engine.ones(3, 4), 0).shape == (3, 4)
