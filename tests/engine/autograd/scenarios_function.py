"""autograd.Function: what forward and backward may do, the checks, and the messages."""

from scenario_tools import about, double, error, graph, leaf, name, scenario


@scenario
def plain_function(m):
    x = leaf(m, 1.0, 2.0)
    y = double(m).apply(x)
    y.sum().backward()
    return about(y), graph(y.grad_fn), x.grad


@scenario
def function_of_nothing_that_requires_grad(m):
    log = []
    F = double(m, backward=lambda ctx, g: log.append("ran") or g)
    y = F.apply(leaf(m, 1.0, grad=False))
    with m.no_grad():
        z = F.apply(leaf(m, 1.0))
    return about(y), about(z), log


@scenario
def function_runs_without_grad_mode(m):
    log = []

    def forward(ctx, x):
        log.append(["forward", m.is_grad_enabled(), x.requires_grad, (x * 2).requires_grad])
        return x * 2

    def backward(ctx, g):
        log.append(["backward", m.is_grad_enabled()])
        return g

    x = leaf(m, 1.0)
    double(m, forward=forward, backward=backward).apply(x).sum().backward()
    y = double(m, forward=forward, backward=backward).apply(x).sum()
    y.backward(create_graph=True)
    return log


@scenario
def saves_an_input(m):
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x**3

    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * 3 * x**2

    F = double(m, forward=forward, backward=backward)
    x = leaf(m, 2.0)
    (g,) = m.autograd.grad(F.apply(x).sum(), x, create_graph=True)
    (h,) = m.autograd.grad(g.sum(), x)
    return g, h


@scenario
def saves_an_output(m):
    def forward(ctx, x):
        y = x.exp()
        ctx.save_for_backward(y)
        return y

    F = double(m, forward=forward, backward=lambda ctx, g: g * ctx.saved_tensors[0])
    x = leaf(m, 2.0)
    (g,) = m.autograd.grad(F.apply(x).sum(), x, create_graph=True)
    (h,) = m.autograd.grad(g.sum(), x, create_graph=True)
    (k,) = m.autograd.grad(h.sum(), x)
    return g, h, k


@scenario
def saves_an_intermediate(m):
    def forward(ctx, x):
        s = x.sin()
        ctx.save_for_backward(s, x)
        return s * s

    def backward(ctx, g):
        s, x = ctx.saved_tensors
        return g * 2 * s * x.cos()

    F = double(m, forward=forward, backward=backward)
    x = leaf(m, 0.5)
    (g,) = m.autograd.grad(F.apply(x).sum(), x, create_graph=True)
    return g, about(g), m.autograd.grad(g.sum(), x)


@scenario
def saved_tensors_are_the_same_objects(m):
    log = []

    def forward(ctx, x):
        y = x * 2
        ctx.save_for_backward(x, y, None)
        return y

    def backward(ctx, g):
        saved = ctx.saved_tensors
        log.append([saved[0] is x, saved[2] is None, len(saved), type(saved).__name__])
        log.append([saved[1].grad_fn is y.grad_fn, about(saved[0])])
        return g

    x = leaf(m, 1.0)
    y = double(m, forward=forward, backward=backward).apply(x)
    y.sum().backward()
    return log


@scenario
def saved_input_modified(m):
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * 2

    x = leaf(m, 1.0, 2.0)
    h = x * 1
    y = double(m, forward=forward, backward=lambda ctx, g: g * ctx.saved_tensors[0]).apply(h)
    h.add_(1)
    return error(y.sum().backward, "modified", "version 1", "expected version 0"), x.grad


@scenario
def saved_tensors_are_freed(m):
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * 2

    x = leaf(m, 1.0)
    y = double(m, forward=forward, backward=lambda ctx, g: g * ctx.saved_tensors[0]).apply(x)
    y.sum().backward()
    return error(y.sum().backward, "second time"), error(lambda: y.grad_fn.saved_tensors)


@scenario
def ctx_keeps_attributes(m):
    def forward(ctx, x, factor, flag=False):
        ctx.factor, ctx.flag = factor, flag
        return x * factor

    def backward(ctx, g):
        return g * ctx.factor, None, None

    x = leaf(m, 1.0)
    y = double(m, forward=forward, backward=backward).apply(x, 5, True)
    log = [y.grad_fn.factor, y.grad_fn.flag]
    y.sum().backward()
    return log, x.grad


@scenario
def ctx_is_the_node(m):
    seen = []

    def forward(ctx, x):
        seen.append(ctx)
        return x * 2

    x = leaf(m, 1.0)
    y = double(m, forward=forward).apply(x)
    return seen[0] is y.grad_fn, name(y.grad_fn), type(y.grad_fn).__name__, seen[0].name()


@scenario
def none_for_what_is_no_tensor(m):
    def forward(ctx, a, x, b):
        return x * 2

    x = leaf(m, 1.0)
    right = double(m, forward=forward, backward=lambda ctx, g: (None, g, None))
    right.apply("a", x, {}).sum().backward()
    wrong = double(m, forward=forward, backward=lambda ctx, g: (g, g, g))
    result = error(wrong.apply("a", x, {}).sum().backward)
    return x.grad, result


@scenario
def wrong_number_of_gradients(m):
    def forward(ctx, x, w):
        return x * w

    x, w = leaf(m, 1.0), leaf(m, 2.0)
    log = []
    for count in (0, 1, 3):
        F = double(m, forward=forward, backward=lambda ctx, g, count=count: (g,) * count)
        log.append(error(F.apply(x, w).sum().backward, "expected 2", f"got {count}"))
    trailing = double(m, forward=forward, backward=lambda ctx, g: (g, g, None))
    return log, error(trailing.apply(x, w).sum().backward), x.grad, w.grad


@scenario
def gradients_of_wrong_shapes(m):
    x = leaf(m, 1.0, 2.0)
    log = []
    for shape in ((3,), (1, 2), (1,), (2, 2), ()):
        F = double(m, backward=lambda ctx, g, shape=shape: m.ones(shape, dtype=m.float64))
        x.grad = None
        log.append([error(F.apply(x).sum().backward, str(list(shape)), "[2]"), x.grad])
    return log


@scenario
def gradients_of_other_dtypes(m):
    x = leaf(m, 1.0, 2.0)
    log = []
    for dtype in (m.float32, m.int64):
        x.grad = None
        F = double(m, backward=lambda ctx, g, dtype=dtype: m.ones(2, dtype=dtype))
        log.append([error(F.apply(x).sum().backward), x.grad])
    return log


@scenario
def gradient_that_is_no_tensor(m):
    x = leaf(m, 1.0, 2.0)
    return [
        error(double(m, backward=lambda ctx, g, bad=bad: bad).apply(x).sum().backward)
        for bad in (3.0, "g", [1.0, 2.0])
    ]


@scenario
def gradient_of_none(m):
    x, w = leaf(m, 1.0), leaf(m, 2.0)
    F = double(m, backward=lambda ctx, g: None)
    (F.apply(x) + w).sum().backward()
    result = error(lambda: m.autograd.grad(F.apply(x).sum(), x), "allow_unused")
    return x.grad, w.grad, result, m.autograd.grad(F.apply(x).sum(), x, allow_unused=True)


@scenario
def backward_raises(m):
    def backward(ctx, g):
        raise KeyError("inside backward")

    x = leaf(m, 1.0)
    return error(double(m, backward=backward).apply(x).sum().backward, "inside backward"), x.grad


@scenario
def forward_raises(m):
    def forward(ctx, x):
        raise KeyError("inside forward")

    x = leaf(m, 1.0)
    result = error(lambda: double(m, forward=forward).apply(x), "inside forward")
    return result, about(x * 2), m.is_grad_enabled()


@scenario
def backward_is_missing(m):
    class Bare(m.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

    class Empty(m.autograd.Function):
        pass

    x = leaf(m, 1.0)
    y = Bare.apply(x)
    return about(y), error(y.sum().backward), error(lambda: Empty.apply(x))


@scenario
def instances_are_refused(m):
    F = double(m)
    return error(lambda: F()(leaf(m, 1.0)))


@scenario
def several_inputs_and_outputs(m):
    def forward(ctx, a, b):
        ctx.save_for_backward(a, b)
        return a * b, a + b

    def backward(ctx, g, h):
        a, b = ctx.saved_tensors
        return g * b + h, g * a + h

    F = double(m, forward=forward, backward=backward)
    a, b = leaf(m, 2.0), leaf(m, 5.0)
    product, total = F.apply(a, b)
    (product * total).sum().backward()
    numbers = [n for _, n in (product * total).grad_fn.next_functions]
    return a.grad, b.grad, numbers, product.grad_fn is total.grad_fn


@scenario
def unused_output_gets_zeros(m):
    log = []

    def backward(ctx, g, h):
        log.append([None if v is None else v.tolist() for v in (g, h)])
        return g + h

    F = double(m, forward=lambda ctx, x: (x * 2, x * 3), backward=backward)
    x = leaf(m, 1.0, 2.0)
    F.apply(x)[0].sum().backward()
    F.apply(x)[1].sum().backward()
    return log, x.grad


@scenario
def set_materialize_grads(m):
    log = []

    def forward(ctx, x):
        ctx.set_materialize_grads(False)
        return x * 2, x * 3

    def backward(ctx, g, h):
        log.append([None if v is None else v.tolist() for v in (g, h)])
        return g if h is None else h

    F = double(m, forward=forward, backward=backward)
    x = leaf(m, 1.0, 2.0)
    F.apply(x)[0].sum().backward()
    F.apply(x)[1].sum().backward()
    return log, x.grad


@scenario
def needs_input_grad(m):
    log = []

    def forward(ctx, a, b, c):
        log.append(list(ctx.needs_input_grad))
        return a * b

    def backward(ctx, g):
        log.append(list(ctx.needs_input_grad))
        return g, None, None

    F = double(m, forward=forward, backward=backward)
    F.apply(leaf(m, 1.0), leaf(m, 2.0, grad=False), 3).sum().backward()
    F.apply(leaf(m, 1.0), leaf(m, 2.0), 3).sum().backward()
    return log


@scenario
def needs_input_grad_inside_autograd_grad(m):
    log = []

    def backward(ctx, g):
        log.append(list(ctx.needs_input_grad))
        return g, g

    F = double(m, forward=lambda ctx, a, b: a + b, backward=backward)
    a, b = leaf(m, 1.0), leaf(m, 2.0)
    return m.autograd.grad(F.apply(a, b).sum(), a), log
