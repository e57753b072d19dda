"""autograd.Function: differentiated twice, inside one another, with backward inside backward."""

from scenario_tools import about, double, error, graph, leaf, name, scenario


@scenario
def once_differentiable(m):
    from_module = m.autograd.function.once_differentiable

    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x**2

    @from_module
    def backward(ctx, g):
        return g * 2 * ctx.saved_tensors[0]

    F = double(m, forward=forward, backward=backward)
    x = leaf(m, 3.0)
    (g,) = m.autograd.grad(F.apply(x).sum(), x, create_graph=True)
    first = m.autograd.grad(F.apply(x).sum(), x)
    return first, g, about(g), error(lambda: m.autograd.grad(g.sum(), x), "once_differentiable")


@scenario
def setup_context(m):
    class Cube(m.autograd.Function):
        @staticmethod
        def forward(x, power):
            return x**power

        @staticmethod
        def setup_context(ctx, inputs, output):
            x, ctx.power = inputs
            ctx.save_for_backward(x)

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            return g * ctx.power * x ** (ctx.power - 1), None

    x = leaf(m, 2.0)
    y = Cube.apply(x, 3)
    (g,) = m.autograd.grad(y.sum(), x, create_graph=True)
    return y, g, m.autograd.grad(g.sum(), x)


@scenario
def double_backward_by_another_function(m):
    def backward_forward(ctx, g, x):
        ctx.save_for_backward(g, x)
        return g * x.cos()

    def backward_backward(ctx, h):
        g, x = ctx.saved_tensors
        return h * x.cos(), -h * g * x.sin()

    inner = double(m, forward=backward_forward, backward=backward_backward)

    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.sin()

    outer = double(m, forward=forward, backward=lambda ctx, g: inner.apply(g, ctx.saved_tensors[0]))
    x = leaf(m, 0.5)
    (g,) = m.autograd.grad(outer.apply(x).sum(), x, create_graph=True)
    return g, name(g.grad_fn), m.autograd.grad(g.sum(), x)


@scenario
def function_inside_a_function(m):
    F = double(m)
    G = double(m, forward=lambda ctx, x: F.apply(x) * 3, backward=lambda ctx, g: g * 6)
    x = leaf(m, 1.0)
    y = G.apply(x)
    y.sum().backward()
    return graph(y.grad_fn), x.grad


@scenario
def backward_inside_a_function(m):
    """Backward builds and runs another graph, as checkpointing does."""

    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.exp().sin()

    def backward(ctx, g):
        with m.enable_grad():
            x = ctx.saved_tensors[0].detach().requires_grad_()
            y = x.exp().sin()
        y.backward(g)
        return x.grad

    F = double(m, forward=forward, backward=backward)
    x = leaf(m, 0.3, 0.6)
    (F.apply(x) * F.apply(x)).sum().backward()
    return x.grad


@scenario
def deep_backward_inside_functions(m):
    depth = [0]

    def backward(ctx, g):
        depth[0] += 1
        if depth[0] < 60:
            with m.enable_grad():
                y = F.apply(leaf(m, 1.0)).sum()
            y.backward()
        return g

    F = double(m, backward=backward)
    F.apply(leaf(m, 1.0)).sum().backward()
    return depth


@scenario
def hooks_of_a_function(m):
    log = []
    x = leaf(m, 1.0)
    y = double(m, backward=lambda ctx, g: log.append("backward") or g).apply(x)
    y.register_hook(lambda g: log.append("tensor"))
    y.grad_fn.register_hook(lambda gi, go: log.append("node"))
    y.grad_fn.register_prehook(lambda go: log.append("pre"))
    y.sum().backward()
    return log


@scenario
def tensors_inside_containers_are_not_seen(m):
    F = double(m, forward=lambda ctx, xs: xs[0] * 2)
    x = leaf(m, 1.0)
    return about(F.apply([x]))


@scenario
def keyword_arguments(m):
    x = leaf(m, 1.0)
    return error(lambda: double(m).apply(x=x))["raises"]


@scenario
def same_tensor_twice_as_input(m):
    F = double(m, forward=lambda ctx, a, b: a * b, backward=lambda ctx, g: (g * 3, g * 4))
    x = leaf(m, 1.0)
    F.apply(x, x).sum().backward()
    return x.grad


@scenario
def same_tensor_twice_as_output(m):
    def forward(ctx, x):
        y = x * 2
        return y, y

    F = double(m, forward=forward, backward=lambda ctx, g, h: g * 10 + h)
    x = leaf(m, 1.0)
    a, b = F.apply(x)
    (a * 2 + b).sum().backward()
    return x.grad


@scenario
def save_for_backward_twice(m):
    log = []

    def forward(ctx, x):
        ctx.save_for_backward(x)
        ctx.save_for_backward(x * 2, x * 3)
        return x * 2

    def backward(ctx, g):
        log.append(len(ctx.saved_tensors))
        return g

    double(m, forward=forward, backward=backward).apply(leaf(m, 1.0)).sum().backward()
    return log


@scenario
def save_for_backward_of_no_tensor(m):
    def forward(ctx, x):
        ctx.save_for_backward("text")
        return x * 2

    return error(lambda: double(m, forward=forward).apply(leaf(m, 1.0)))


@scenario
def broadcast_gradient_is_reduced(m):
    """A gradient of a shape that sums to the input's is summed; others are refused."""
    F = double(m, forward=lambda ctx, x: x.expand(3, 2) * 1, backward=lambda ctx, g: g)
    x = leaf(m, 1.0, 2.0)
    return error(F.apply(x).sum().backward), x.grad
