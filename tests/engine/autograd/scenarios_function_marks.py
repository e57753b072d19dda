"""autograd.Function: what forward says of its outputs: marks, writes in place, views, inputs returned."""

from scenario_tools import about, double, error, graph, leaf, name, scenario


@scenario
def mark_non_differentiable(m):
    def forward(ctx, x):
        signs = x.sign()
        ctx.mark_non_differentiable(signs)
        return x * 2, signs

    F = double(m, forward=forward, backward=lambda ctx, g, h: g * 2)
    x = leaf(m, 1.0, -2.0)
    y, signs = F.apply(x)
    y.sum().backward()
    return about(y), about(signs), x.grad


@scenario
def integer_output(m):
    F = double(m, forward=lambda ctx, x: (x * 2, x.long()), backward=lambda ctx, g, h: g * 2)
    x = leaf(m, 1.0, -2.0)
    y, number = F.apply(x)
    y.sum().backward()
    return about(number), x.grad


@scenario
def output_that_is_no_tensor(m):
    F = double(m, forward=lambda ctx, x: (x * 2, "text", None), backward=lambda ctx, g, a, b: g)
    x = leaf(m, 1.0)
    y, text, nothing = F.apply(x)
    y.sum().backward()
    only = double(m, forward=lambda ctx, x: 3)
    return text, nothing, x.grad, error(lambda: only.apply(x))


@scenario
def mark_dirty(m):
    def forward(ctx, x):
        ctx.mark_dirty(x)
        return x.mul_(2)

    F = double(m, forward=forward)
    x = leaf(m, 1.0, 2.0)
    y = x * 1
    z = F.apply(y)
    z.sum().backward()
    return z is y, about(y), y._version, graph(y.grad_fn), x.grad


@scenario
def mark_dirty_of_a_leaf(m):
    def forward(ctx, x):
        ctx.mark_dirty(x)
        return x.mul_(2)

    x = leaf(m, 1.0)
    return error(lambda: double(m, forward=forward).apply(x), "leaf"), x


@scenario
def mark_dirty_of_a_view(m):
    def forward(ctx, x):
        ctx.mark_dirty(x)
        return x.mul_(3)

    x = leaf(m, 1.0, 2.0)
    base = x * 1
    F = double(m, forward=forward, backward=lambda ctx, g: g * 3)
    F.apply(base[:1])
    base.sum().backward()
    return base, name(base.grad_fn), x.grad


@scenario
def mark_dirty_but_not_returned(m):
    def forward(ctx, x):
        ctx.mark_dirty(x)
        x.mul_(2)
        return x.clone()

    y = leaf(m, 1.0) * 1
    return error(lambda: double(m, forward=forward).apply(y))


@scenario
def written_but_not_marked(m):
    x = leaf(m, 1.0)
    y = x * 1
    z = double(m, forward=lambda ctx, x: x.mul_(2)).apply(y)
    return z is y, about(z), about(y), y._version


@scenario
def returns_its_input(m):
    x = leaf(m, 1.0)
    y = double(m, forward=lambda ctx, x: x).apply(x)
    y.sum().backward()
    return y is x, about(y), x.grad, y._is_view(), error(lambda: y.mul_(2))


@scenario
def returns_a_view_of_its_input(m):
    x = leaf(m, 1.0, 2.0)
    base = x * 1
    y = double(m, forward=lambda ctx, x: x[:1], backward=lambda ctx, g: g.expand(2)).apply(base)
    log = [about(y), y._is_view(), y._base is base]
    return [*log, error(lambda: about(y.mul_(2)), "view", "custom")]


@scenario
def returns_two_views(m):
    x = leaf(m, 1.0, 2.0)
    base = x * 1
    F = double(m, forward=lambda ctx, x: (x[:1], x[1:]), backward=lambda ctx, g, h: m.cat([g, h]))
    a, b = F.apply(base)
    result = error(lambda: about(a.mul_(2)), "view")
    (b * 3).sum().backward()
    return result, x.grad
