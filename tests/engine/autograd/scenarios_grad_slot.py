"""The .grad slot: what accumulates there, which object it is, who has one."""

from scenario_tools import about, error, leaf, scenario


@scenario
def accumulation(m):
    x = leaf(m, 1.0, 2.0)
    (x * 2).sum().backward()
    first = x.grad
    (x * 3).sum().backward()
    return x.grad, first is x.grad, first, x.grad._version


@scenario
def accumulation_after_none(m):
    x = leaf(m, 1.0)
    (x * 2).sum().backward()
    first = x.grad
    x.grad = None
    (x * 3).sum().backward()
    return first, x.grad, first is x.grad


@scenario
def accumulation_after_zero(m):
    x = leaf(m, 1.0)
    (x * 2).sum().backward()
    first = x.grad
    x.grad.zero_()
    (x * 3).sum().backward()
    return first, first is x.grad


@scenario
def accumulation_when_grad_has_a_view(m):
    x = leaf(m, 1.0, 2.0)
    x.sum().backward()
    view = x.grad[:1]
    (x * 2).sum().backward()
    return view, x.grad


@scenario
def grad_is_the_same_object(m):
    x = leaf(m, 1.0)
    x.exp().sum().backward()
    return x.grad is x.grad, about(x.grad)


@scenario
def grad_assigned(m):
    x = leaf(m, 1.0, 2.0)
    g = leaf(m, 5.0, 6.0, grad=False)
    x.grad = g
    log = [x.grad is g]
    (x * 2).sum().backward()
    return [*log, x.grad is g, g]


@scenario
def grad_assigned_wrongly(m):
    x = leaf(m, 1.0, 2.0)

    def assign(value):
        def call():
            x.grad = value

        return call

    return (
        error(assign(m.ones(3, dtype=m.float64)), "[3]", "[2]"),
        error(assign(m.ones(2, dtype=m.float32))),
        error(assign(3.0)),
        error(assign(x)),
        error(assign(None)),
        x.grad,
    )


@scenario
def grad_deleted(m):
    x = leaf(m, 1.0)
    x.sum().backward()
    del x.grad
    return x.grad


@scenario
def grad_of_a_non_leaf(m):
    x = leaf(m, 1.0)
    y = x * 2
    y.sum().backward()
    return y.grad


@scenario
def retain_grad(m):
    x = leaf(m, 1.0)
    y = x * 2
    y.retain_grad()
    log = [y.retains_grad, x.retains_grad]
    (y * y).sum().backward()
    return [*log, y.grad, x.grad, about(y.grad)]


@scenario
def retain_grad_where_it_does_nothing(m):
    x, w = leaf(m, 1.0), leaf(m, 1.0, grad=False)
    x.retain_grad()
    return x.retains_grad, error(w.retain_grad, "requires_grad=False")


@scenario
def retain_grad_accumulates(m):
    x = leaf(m, 1.0)
    y = x * 2
    y.retain_grad()
    z = (y * y).sum()
    z.backward(retain_graph=True)
    first = y.grad
    z.backward()
    return y.grad, first is y.grad


@scenario
def retain_grad_twice(m):
    x = leaf(m, 1.0)
    y = x * 2
    y.retain_grad()
    y.retain_grad()
    (y * y).sum().backward()
    return y.grad
