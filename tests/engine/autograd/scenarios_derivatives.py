"""Gradients of gradients: create_graph, and what its graphs keep."""

from scenario_tools import about, error, graph, leaf, scenario, scenario_of


@scenario
def create_graph_double(m):
    x = leaf(m, 2.0, 3.0)
    (g,) = m.autograd.grad((x**3).sum(), x, create_graph=True)
    (h,) = m.autograd.grad(g.sum(), x)
    return g, h, about(g), about(h)


@scenario
def create_graph_triple(m):
    x = leaf(m, 0.5, 0.75)
    values = []
    y = (x.sin() * x.exp()).sum()
    for _ in range(4):
        (g,) = m.autograd.grad(y, x, create_graph=True)
        values.append(g)
        y = g.sum()
    return values


@scenario
def create_graph_through_backward(m):
    x = leaf(m, 2.0)
    (x**3).sum().backward(create_graph=True)
    g = x.grad
    log = [g, about(g)]
    x.grad = None
    g.sum().backward()
    return [*log, x.grad, about(x.grad)]


@scenario
def create_graph_accumulates_out_of_place(m):
    x = leaf(m, 2.0)
    (x**2).sum().backward(create_graph=True)
    first = x.grad
    (x**3).sum().backward(create_graph=True)
    return first, x.grad, first is x.grad, about(x.grad)


@scenario
def gradient_penalty(m):
    x, w = leaf(m, 0.3, 0.4), leaf(m, [[1.0, 2.0], [3.0, 4.0]])
    y = (w @ x).tanh().sum()
    (g,) = m.autograd.grad(y, x, create_graph=True)
    ((g.norm() - 1) ** 2 + y).backward()
    return x.grad, w.grad


@scenario
def retain_graph_defaults_to_create_graph(m):
    x = leaf(m, 2.0)
    y = (x**3).sum()
    m.autograd.grad(y, x, create_graph=True)
    (again,) = m.autograd.grad(y, x)
    return again, error(lambda: m.autograd.grad(y, x), "second time")


@scenario
def create_graph_without_retain(m):
    x = leaf(m, 2.0)
    y = (x**3).sum()
    m.autograd.grad(y, x, create_graph=True, retain_graph=False)
    return error(lambda: m.autograd.grad(y, x), "second time")


@scenario
def double_backward_through_grad_output_only(m):
    x, v = leaf(m, 1.0, 2.0), leaf(m, 1.0, 1.0)
    (g,) = m.autograd.grad(x * 3, x, v, create_graph=True)
    return about(g), m.autograd.grad(g.sum(), [x, v], allow_unused=True)


@scenario
def second_gradient_that_does_not_depend(m):
    x = leaf(m, 1.0, 2.0)
    (g,) = m.autograd.grad((x * 3).sum(), x, create_graph=True)
    return about(g), error(lambda: m.autograd.grad(g.sum(), x), "does not require grad")


@scenario
def graph_of_a_gradient(m):
    x = leaf(m, 2.0)
    (g,) = m.autograd.grad((x * x).sum(), x, create_graph=True)
    (h,) = m.autograd.grad(g.sum(), x, create_graph=True)
    return about(g), graph(g.grad_fn) is not None, h, about(h)


@scenario_of(
    exp=lambda x: x.exp(),
    tanh=lambda x: x.tanh(),
    div=lambda x: 1 / x,
    prod=lambda x: x.prod(),
    softmax=lambda x: x.softmax(0)[0],
    log=lambda x: x.log(),
    sqrt=lambda x: x.sqrt(),
    pow=lambda x: x**x,
    norm=lambda x: x.norm(),
    std=lambda x: x.std(),
    sigmoid=lambda x: x.sigmoid(),
    matmul=lambda x: x @ x,
    outer=lambda x: x.outer(x),
    logsumexp=lambda x: x.logsumexp(0),
    cumprod=lambda x: x.cumprod(0),
)
def third_derivatives(m, case):
    x = leaf(m, 0.4, 0.9, 1.7)
    y, log = case(x).sum(), []
    for _ in range(3):
        (g,) = m.autograd.grad(y, x, create_graph=True)
        log.append(g)
        y = (g * g).sum() + g.sum()
    return log


@scenario_of(
    sin_=lambda y, x: y.sin_(),
    cos_=lambda y, x: y.cos_(),
    square_=lambda y, x: y.square_(),
    exp_=lambda y, x: y.exp_(),
    log_=lambda y, x: y.log_(),
    tanh_=lambda y, x: y.tanh_(),
    sqrt_=lambda y, x: y.sqrt_(),
    reciprocal_=lambda y, x: y.reciprocal_(),
    pow_=lambda y, x: y.pow_(3),
    mul_=lambda y, x: y.mul_(x),
    mul_itself=lambda y, x: y.mul_(x * x),
    div_=lambda y, x: y.div_(x.sin()),
    addcmul_=lambda y, x: y.addcmul_(x, x),
    atan2_=lambda y, x: y.atan2_(x),
    part=lambda y, x: y[0].sin_(),
    part_mul=lambda y, x: y[:1].mul_(x[1]),
    setitem=lambda y, x: y.__setitem__(0, x[1] ** 3),
    cumprod_=lambda y, x: y.cumprod_(0),
    several=lambda y, x: y.neg_().add_(2).log_(),
)
def derivatives_through_writes(m, case):
    """Tensors that were saved before a write are part of the graph too."""
    x = leaf(m, 0.3, 0.4)
    y = x * x
    case(y, x)
    (g,) = m.autograd.grad((y * y).sum(), x, create_graph=True)
    return g, m.autograd.grad((g * g).sum(), x)
