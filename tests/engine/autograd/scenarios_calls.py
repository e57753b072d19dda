"""backward and grad: their arguments, what they return, where .grad goes, and their errors."""

from scenario_tools import about, error, leaf, scenario, scenario_of


@scenario
def backward_twice(m):
    x = leaf(m, 1.0)
    y = x.exp().sum()
    y.backward()
    return error(y.backward, "second time", "retain_graph=True"), x.grad


@scenario
def backward_twice_where_nothing_is_saved(m):
    x = leaf(m, 1.0)
    y = (x + 1).sum()
    y.backward()
    y.backward()
    return x.grad


@scenario
def retain_graph(m):
    x = leaf(m, 1.0)
    y = x.exp().sum()
    y.backward(retain_graph=True)
    y.backward(retain_graph=True)
    y.backward()
    return x.grad, error(y.backward, "second time")


@scenario
def retain_graph_of_a_shared_part(m):
    x = leaf(m, 1.0)
    h = x.exp()
    a, b = h.sin().sum(), h.cos().sum()
    a.backward()
    return error(b.backward, "second time"), x.grad


@scenario
def no_graph(m):
    x = leaf(m, 1.0, grad=False)
    return (
        error(lambda: x.sum().backward(), "does not require grad", "grad_fn"),
        error(lambda: m.autograd.grad(x.sum(), x), "does not require grad"),
        error(lambda: m.autograd.grad(leaf(m, 1.0).sum(), x)),
    )


@scenario
def backward_of_a_leaf(m):
    x = m.tensor(2.0, dtype=m.float64, requires_grad=True)
    x.backward()
    first = x.grad.clone()
    x.backward(m.tensor(5.0, dtype=m.float64))
    return first, x.grad


@scenario
def grad_of_a_leaf_by_itself(m):
    x = m.tensor(2.0, dtype=m.float64, requires_grad=True)
    return m.autograd.grad(x, x), x.grad


@scenario
def non_scalar(m):
    x = leaf(m, 1.0, 2.0)
    y = x * 2
    return error(y.backward, "scalar"), error(lambda: m.autograd.grad(y, x), "scalar"), x.grad


@scenario
def one_element_counts_as_scalar(m):
    x = leaf(m, [[2.0]])
    (x * 3).backward()
    return x.grad


@scenario
def scalar_of_another_kind(m):
    x = leaf(m, 1.0)
    y = x * (1 + 1j)
    return error(lambda: y.sum().backward(), "real"), about(y)


@scenario
def gradient_argument(m):
    x = leaf(m, 1.0, 2.0)
    y = x * x
    y.backward(leaf(m, 1.0, 10.0, grad=False))
    return x.grad


@scenario
def gradient_argument_of_another_shape(m):
    x = leaf(m, 1.0, 2.0)
    y = x * x
    wrong = m.ones(3, dtype=m.float64)
    return (
        error(lambda: y.backward(wrong), "[3]", "[2]"),
        error(lambda: y.backward(m.ones(1, 2, dtype=m.float64))),
        error(lambda: y.backward(m.ones(2, 1, dtype=m.float64))),
        error(lambda: y.backward(m.tensor(1.0, dtype=m.float64))),
        x.grad,
    )


@scenario
def gradient_argument_of_another_dtype(m):
    x = leaf(m, 1.0, 2.0)
    log = []
    for dtype in (m.float32, m.float16, m.int64, m.complex128):
        x.grad = None
        y = x * x
        result = error(lambda y=y, dtype=dtype: y.backward(m.ones(2, dtype=dtype)))
        kind = None if x.grad is None else str(x.grad.dtype).split(".")[-1]
        log.append([result, kind, x.grad])
    return log


@scenario
def gradient_argument_that_is_no_tensor(m):
    x = leaf(m, 1.0, 2.0)
    y = x * x
    return (
        error(lambda: y.backward(3.0)),
        error(lambda: y.backward([1.0, 1.0])),
        error(lambda: m.autograd.grad(y, x, "ones")),
        error(lambda: m.autograd.grad([y], [x], [None])),
    )


@scenario
def gradient_arguments_that_are_too_few(m):
    x = leaf(m, 1.0, 2.0)
    outputs = [x.exp(), x.sin()]
    one = m.ones(2, dtype=m.float64)
    return (
        error(lambda: m.autograd.grad(outputs, x, [one])),
        error(lambda: m.autograd.backward(outputs, [one])),
        error(lambda: m.autograd.backward([])),
        error(lambda: m.autograd.grad([], x)),
    )


@scenario
def gradient_argument_that_requires_grad(m):
    x, v = leaf(m, 1.0, 2.0), leaf(m, 3.0, 4.0)
    y = x * x
    (g,) = m.autograd.grad(y, x, v, create_graph=True)
    (h,) = m.autograd.grad(g.sum(), v)
    return g, h, about(g)


@scenario
def gradient_argument_is_not_changed(m):
    x = leaf(m, 1.0, 2.0)
    v = leaf(m, 1.0, 1.0, grad=False)
    y = x + 0
    y.backward(v)
    x.grad.add_(5)
    return v, v._version


@scenario
def several_outputs(m):
    x = leaf(m, 1.0, 2.0)
    outputs = [(x**2).sum(), (x**3).sum(), x * 2]
    vectors = [None, None, m.ones(2, dtype=m.float64)]
    result = m.autograd.grad(outputs, [x], vectors)
    m.autograd.backward([(x**2).sum(), (x * 5).sum()])
    return result, x.grad


@scenario
def the_same_output_twice(m):
    x = leaf(m, 1.0)
    y = x.exp().sum()
    return m.autograd.grad([y, y], x)


@scenario
def an_output_inside_the_graph_of_another(m):
    x = leaf(m, 2.0)
    h = x * x
    y = h * h
    m.autograd.backward([y.sum(), h.sum()])
    return x.grad


@scenario
def allow_unused(m):
    x, w = leaf(m, 1.0), leaf(m, 2.0)
    y = x.exp().sum()
    return (
        m.autograd.grad(y, [x, w], allow_unused=True),
        error(lambda: m.autograd.grad(x.exp().sum(), [x, w]), "allow_unused"),
        error(lambda: m.autograd.grad(x.exp().sum(), [x, w], allow_unused=False)),
    )


@scenario
def materialize_grads(m):
    x, w = leaf(m, 1.0), leaf(m, 2.0, 3.0)
    result = m.autograd.grad(x.exp().sum(), [x, w], materialize_grads=True)
    wrong = error(
        lambda: m.autograd.grad(x.exp().sum(), [x, w], materialize_grads=True, allow_unused=False)
    )
    return result, [about(g) for g in result], wrong


@scenario
def grad_of_an_intermediate(m):
    x = leaf(m, 1.0, 2.0)
    h = x * 2
    y = (h**2).sum()
    return m.autograd.grad(y, h, retain_graph=True), m.autograd.grad(y, [h, x]), x.grad, h.grad


@scenario
def grad_of_an_intermediate_and_what_follows(m):
    x = leaf(m, 1.0)
    a = x * 2
    b = a * a
    c = b.sin()
    return m.autograd.grad(c.sum(), [b, a, x])


@scenario
def grad_stops_at_the_inputs(m):
    """Nodes that no requested gradient needs do not run."""
    log = []
    x = leaf(m, 1.0)
    h = x.exp()
    y = h.sin()
    x.register_hook(lambda g: log.append("x"))
    h.register_hook(lambda g: log.append("h"))
    h.grad_fn.register_hook(lambda gi, go: log.append("exp node"))
    y.grad_fn.register_hook(lambda gi, go: log.append("sin node"))
    m.autograd.grad(y.sum(), h)
    return log


@scenario
def grad_does_not_touch_grad(m):
    x, w = leaf(m, 1.0), leaf(m, 2.0)
    m.autograd.grad((x * w).sum(), x)
    return x.grad, w.grad


@scenario
def grad_of_inputs_that_do_not_require_grad(m):
    x, w = leaf(m, 1.0), leaf(m, 2.0, grad=False)
    return (
        error(lambda: m.autograd.grad((x * w).sum(), w), "require"),
        error(lambda: m.autograd.grad((x * w).sum(), [x, w], allow_unused=True)),
        error(lambda: m.autograd.grad((x * w).sum(), [])),
    )


@scenario
def grad_for_one_input_given_twice(m):
    x = leaf(m, 3.0)
    return m.autograd.grad((x * x).sum(), [x, x])


@scenario
def is_grads_batched(m):
    x = leaf(m, 1.0, 2.0, 3.0)
    y = x**2
    rows = m.eye(3, dtype=m.float64)
    return m.autograd.grad(y, x, rows, is_grads_batched=True)


@scenario
def is_grads_batched_of_two_inputs(m):
    x, w = leaf(m, 1.0, 2.0), leaf(m, [[1.0, 2.0], [3.0, 4.0]])
    y = (w @ x).tanh()
    return m.autograd.grad(y, [x, w], m.eye(2, dtype=m.float64), is_grads_batched=True)


@scenario
def backward_with_inputs(m):
    x, w = leaf(m, 1.0), leaf(m, 2.0)
    y = (x * w).sum()
    y.backward(inputs=[x], retain_graph=True)
    log = [x.grad, w.grad]
    y.backward(inputs=w)
    return [*log, x.grad, w.grad]


@scenario
def backward_with_inputs_that_are_intermediate(m):
    x = leaf(m, 1.0)
    h = x * 2
    (h * h).sum().backward(inputs=[h])
    return h.grad, x.grad


@scenario
def backward_with_intermediate_and_leaf(m):
    x = leaf(m, 1.0)
    h = x * 2
    (h * h).sum().backward(inputs=[h, x])
    return h.grad, x.grad


@scenario
def backward_with_wrong_inputs(m):
    x, w = leaf(m, 1.0), leaf(m, 2.0, grad=False)
    y = (x * w).sum()
    return (
        error(lambda: y.backward(inputs=[]), "empty"),
        error(lambda: y.backward(inputs=[w])),
        x.grad,
    )


@scenario
def backward_with_inputs_that_are_not_used(m):
    x, w = leaf(m, 1.0), leaf(m, 2.0)
    (x * 2).sum().backward(inputs=[x, w])
    return x.grad, w.grad


@scenario_of(
    backward=lambda m, x: x.exp().sum().backward(),
    grad=lambda m, x: m.autograd.grad(x.exp().sum(), x),
)
def under_no_grad(m, case):
    x = leaf(m, 1.0)
    with m.no_grad():
        result = error(lambda: case(m, x), "does not require grad")
    return result, x.grad


@scenario
def backward_itself_under_no_grad(m):
    x = leaf(m, 1.0)
    y = x.exp().sum()
    with m.no_grad():
        y.backward()
    return x.grad


@scenario
def grad_mode_is_left_as_it_was(m):
    x = leaf(m, 1.0)
    x.exp().sum().backward()
    first = m.is_grad_enabled()
    y = x.exp().sum()
    with m.no_grad():
        y.backward()
        second = m.is_grad_enabled()
    return first, second


@scenario
def grad_mode_is_off_inside_backward(m):
    x = leaf(m, 1.0)
    log = []
    for create in (False, True):
        y = x.exp().sum()
        y.register_hook(lambda g: log.append(m.is_grad_enabled()))
        y.backward(create_graph=create)
    return log


@scenario
def tensors_as_tuple_or_alone(m):
    x = leaf(m, 1.0)
    alone = m.autograd.grad(x.exp().sum(), x)
    several = m.autograd.grad((x.exp().sum(),), (x,))
    return type(alone).__name__, type(several).__name__, alone, several


@scenario
def backward_positional_arguments(m):
    x = leaf(m, 1.0)
    y = x.exp()
    y.backward(m.ones(1, dtype=m.float64), True, False)
    y.backward(m.ones(1, dtype=m.float64))
    return x.grad
