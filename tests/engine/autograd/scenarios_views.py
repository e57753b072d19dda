"""Views and writes through them: whose history is rebased, which errors protect it."""

from scenario_tools import about, error, graph, leaf, name, scenario, scenario_of

MODIFIED = "modified by an inplace operation"

VIEWS = {
    "select": lambda m, x: x[1],
    "slice": lambda m, x: x[:, :2],
    "view": lambda m, x: x.view(6),
    "t": lambda m, x: x.t(),
    "narrow": lambda m, x: x.narrow(1, 1, 2),
    "expand_one": lambda m, x: x[None].expand(1, 2, 3),
    "diagonal": lambda m, x: x.diagonal(),
    "unsqueeze": lambda m, x: x.unsqueeze(1),
    "squeeze": lambda m, x: x[:1].squeeze(0),
    "permute": lambda m, x: x.permute(1, 0),
    "as_strided": lambda m, x: x.as_strided((2, 2), (3, 1), 1),
    "unfold": lambda m, x: x.unfold(1, 2, 2),
    "flatten": lambda m, x: x.flatten(),
    "reshape": lambda m, x: x.reshape(3, 2),
    "view_as": lambda m, x: x.view_as(x),
    "twice": lambda m, x: x[1][1:],
    "thrice": lambda m, x: x.t()[1:].view(-1, 1, 2)[0],
    "movedim": lambda m, x: x.movedim(0, 1),
}


@scenario_of(**VIEWS)
def write_through_a_view(m, case):
    x = leaf(m, [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    base = x * 1
    view = case(m, base)
    view.mul_(10)
    (base * base).sum().backward()
    return base, name(base.grad_fn), name(view.grad_fn), view._version, x.grad


@scenario_of(**VIEWS)
def write_to_the_base(m, case):
    x = leaf(m, [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    base = x * 1
    view = case(m, base)
    base.mul_(10)
    (view * view).sum().backward()
    return view, name(base.grad_fn), name(view.grad_fn), view._version, x.grad


@scenario_of(**VIEWS)
def gradient_of_a_view(m, case):
    x = leaf(m, [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    view = case(m, x)
    (view * view).sum().backward()
    base = None if view._base is None else view._base is x
    return graph(view.grad_fn), base, x.grad, list(x.grad.stride())


@scenario
def write_with_a_tensor_that_requires_grad(m):
    x, w = leaf(m, [[1.0, 2.0], [3.0, 4.0]]), leaf(m, 5.0, 6.0)
    base = x * 1
    base[0].mul_(w)
    (base * base).sum().backward()
    return graph(base.grad_fn), x.grad, w.grad


@scenario
def write_into_a_view_of_a_constant(m):
    w = leaf(m, 5.0, 6.0)
    base = m.zeros(2, 2, dtype=m.float64)
    view = base[1]
    before = about(view)
    view.copy_(w)
    (base * base).sum().backward()
    return before, about(view), about(base), graph(base.grad_fn), w.grad


@scenario
def view_made_before_the_base_required_grad(m):
    w = leaf(m, 5.0, 6.0)
    base = m.zeros(2, 2, dtype=m.float64)
    view = base[0]
    base.add_(w)
    log = [about(view), name(view.grad_fn)]
    (view * 3).sum().backward()
    return [*log, view, w.grad]


@scenario
def view_of_a_leaf_made_before_it_required_grad(m):
    x = leaf(m, 1.0, 2.0, grad=False)
    view = x[0]
    x.requires_grad_()
    return about(view), error(lambda: view.add_(1)), x, about(view * 2)


@scenario
def siblings(m):
    x = leaf(m, 1.0, 2.0, 3.0, 4.0)
    base = x * 1
    a, b = base[:2], base[1:]
    a.mul_(10)
    log = [name(a.grad_fn), name(b.grad_fn), b._version]
    b.mul_(3)
    (a.sum() + (b * b).sum()).backward()
    return [*log, a, b, name(base.grad_fn), x.grad]


@scenario
def sibling_regenerates_its_node(m):
    x = leaf(m, 1.0, 2.0, 3.0, 4.0)
    base = x * 1
    a, b = base[:2], base[2:]
    before = b.grad_fn
    a.mul_(10)
    after = b.grad_fn
    return before is after, graph(before), graph(after)


@scenario
def sibling_that_was_saved(m):
    x = leaf(m, 1.0, 2.0, 3.0, 4.0)
    base = x * 1
    a, b = base[:2], base[2:]
    y = (b * b).sum()
    a.mul_(10)
    return error(y.backward, MODIFIED, "version 1", "expected version 0")


@scenario
def view_of_a_view_writes(m):
    x = leaf(m, [[1.0, 2.0], [3.0, 4.0]])
    base = x * 1
    row = base[0]
    cell = row[1]
    cell.add_(10)
    (base * base).sum().backward()
    bases = [row._base is base, cell._base is base]
    return base, [name(t.grad_fn) for t in (base, row, cell)], bases, x.grad


@scenario
def two_writes_through_one_view(m):
    x = leaf(m, [[1.0, 2.0], [3.0, 4.0]])
    base = x * 1
    view = base[0]
    view.mul_(2)
    view.add_(1)
    (base * base).sum().backward()
    return base, graph(base.grad_fn), x.grad, base._version


@scenario
def write_then_new_view(m):
    x = leaf(m, 1.0, 2.0, 3.0)
    base = x * 1
    base[0] = 5.0
    view = base[1:]
    view.mul_(2)
    base.sum().backward()
    return graph(base.grad_fn), x.grad


@scenario
def copy_slices_of_a_transposed_view(m):
    x = leaf(m, [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    base = x * 1
    base.t()[1].copy_(leaf(m, 7.0, 8.0))
    (base * base).sum().backward()
    return base, x.grad


@scenario
def no_grad_view_of_a_leaf(m):
    x = leaf(m, 1.0, 2.0)
    with m.no_grad():
        view = x[0]
    return about(view), error(lambda: view.add_(1), "no_grad"), x


@scenario
def no_grad_view_of_a_result(m):
    x = leaf(m, 1.0, 2.0)
    base = x * 1
    with m.no_grad():
        view = base[0]
    result = error(lambda: about(view.mul_(2)), "no_grad")
    base.sum().backward()
    return about(view), result, x.grad


@scenario
def no_grad_write_through_a_view(m):
    x = leaf(m, 1.0, 2.0)
    base = x * 1
    view = base[0]
    with m.no_grad():
        view.mul_(2)
    base.sum().backward()
    return base, name(base.grad_fn), name(view.grad_fn), x.grad, base._version


@scenario
def view_of_a_leaf_written_under_no_grad(m):
    x = leaf(m, 1.0, 2.0)
    view = x[0]
    with m.no_grad():
        view.mul_(5)
    log = [x, x._version, about(view)]
    view.backward()
    return [*log, x.grad]


@scenario
def no_grad_view_written_under_no_grad_then_used(m):
    x = leaf(m, 1.0, 2.0)
    with m.no_grad():
        view = x[0]
        view.mul_(5)
    (x * x).sum().backward()
    return x.grad, error(lambda: about(view), "no_grad")


@scenario_of(
    chunk=lambda x: x.chunk(2),
    split=lambda x: x.split(1),
    unbind=lambda x: x.unbind(),
    split_sizes=lambda x: x.split([1, 1]),
    tensor_split=lambda x: x.tensor_split(2),
    hsplit=lambda x: x.hsplit(2),
    view_as_list=lambda x: list(x),
)
def write_to_a_part(m, case):
    """Outputs of functions that return several views."""
    x = leaf(m, [[1.0, 2.0], [3.0, 4.0]])
    base = x * 1
    parts = case(base)
    result = error(lambda: about(parts[0].mul_(2)), "view", "inplace")
    remainder = error(base.sum().backward)
    return result, remainder["raises"], x.grad


@scenario_of(chunk=lambda x: x.chunk(2), unbind=lambda x: x.unbind(), split=lambda x: x.split(1))
def write_to_a_part_under_no_grad(m, case):
    x = leaf(m, [[1.0, 2.0], [3.0, 4.0]])
    base = x * 1
    parts = case(base)
    with m.no_grad():
        result = error(lambda: about(parts[0].mul_(2)))
    return result, base


@scenario_of(chunk=lambda x: x.chunk(2), unbind=lambda x: x.unbind(), split=lambda x: x.split(1))
def write_to_the_base_of_parts(m, case):
    x = leaf(m, [[1.0, 2.0], [3.0, 4.0]])
    base = x * 1
    parts = case(base)
    base.mul_(3)
    result = error(lambda: (parts[1] * 1).sum().backward())
    return result, x.grad


@scenario_of(chunk=lambda x: x.chunk(2), unbind=lambda x: x.unbind(), split=lambda x: x.split(1))
def parts_of_a_plain_tensor(m, case):
    base, w = m.zeros(2, 2, dtype=m.float64), leaf(m, [[5.0, 6.0]])
    parts = case(base)
    plain = error(lambda: about(parts[0].add_(1)))
    result = error(lambda: about(parts[1].add_(w.view_as(parts[1]))), "view")
    return plain, result, base


@scenario
def detach_view(m):
    x = leaf(m, 1.0, 2.0)
    base = x * 1
    free = base.detach()
    free.mul_(3)
    base.sum().backward()
    return base, about(free), free._base is None, base._version, x.grad


@scenario
def detach_view_of_a_leaf(m):
    x = leaf(m, 1.0, 2.0)
    free = x.detach()
    free[0] = 7
    return x, x._version, about(free), error(lambda: free.requires_grad_().add_(1), "leaf")


@scenario
def data_view(m):
    x = leaf(m, 1.0, 2.0)
    x.data[0] = 7
    return x, x._version, about(x.data)


@scenario
def detach_in_place(m):
    x = leaf(m, 1.0, 2.0)
    y = x * 2
    z = y * 3
    y.detach_()
    z.sum().backward()
    return about(y), x.grad, about(y * 2)


@scenario
def detach_in_place_of_a_view(m):
    x = leaf(m, 1.0, 2.0)
    view = (x * 1)[0]
    return error(view.detach_, "view"), about(view)


@scenario
def requires_grad_of_a_view(m):
    base = leaf(m, 1.0, 2.0, grad=False)
    view = base[0]
    view.requires_grad_()
    (view * 3).backward()
    return about(view), about(base), view.grad, base.grad


@scenario
def view_that_requires_grad_is_written(m):
    base = leaf(m, 1.0, 2.0, grad=False)
    view = base[0].requires_grad_()
    return error(lambda: view.mul_(2), "leaf"), error(lambda: base.mul_(2)), base


@scenario
def expanded_memory_is_written(m):
    x = leaf(m, [[1.0, 2.0]])
    base = x * 1
    view = base.expand(3, 2)
    return error(lambda: view.add_(1)), about(view)


@scenario
def base_is_dropped(m):
    x = leaf(m, 1.0, 2.0)
    view = (x * 1)[0]
    view.mul_(4)
    view.backward()
    return view, name(view.grad_fn), x.grad, view._base is not None


@scenario
def view_saved_before_a_write(m):
    x = leaf(m, [[1.0, 2.0], [3.0, 4.0]])
    base = x * 1
    y = base[0].exp().sum() + (base[1] ** 2).sum()
    base[0].add_(1)
    return error(y.backward, MODIFIED, "version 1", "expected version 0"), base._version


@scenario
def double_backward_through_copy_slices(m):
    x, w = leaf(m, 1.0, 2.0), leaf(m, 3.0)
    base = x * x
    base[:1].mul_(w)
    (g,) = m.autograd.grad((base**2).sum(), x, create_graph=True)
    return g, m.autograd.grad(g.sum(), [x, w])


@scenario
def inplace_function_of_a_view_that_saves_its_output(m):
    x = leaf(m, 0.1, 0.2, 0.3)
    base = x * 1
    base[1:].exp_()
    base.sum().backward()
    return base, x.grad


@scenario
def inplace_activation_of_a_part_then_write_elsewhere(m):
    x = leaf(m, 0.1, 0.2, 0.3)
    base = x * 1
    base[1:].exp_()
    base[0] = 0.0
    return error(base.sum().backward, MODIFIED, "version 2", "expected version 1"), x.grad


@scenario
def transposed_in_place(m):
    x = leaf(m, [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    y = x * 1
    y.t_()
    (y[0] * 10).sum().backward()
    return list(y.shape), name(y.grad_fn), x.grad


@scenario
def squeezed_in_place(m):
    x = leaf(m, [[1.0, 2.0]])
    y = x * 1
    y.squeeze_()
    y.sum().backward()
    return list(y.shape), name(y.grad_fn), x.grad


@scenario
def relu_of_a_slice_as_networks_do(m):
    x = leaf(m, [[1.0, -2.0, 3.0], [-4.0, 5.0, -6.0]])
    h = x * 2
    h[:, 2:].mul_(-1)
    h[:, :2].relu_()
    (h * h).sum().backward()
    return h, x.grad


@scenario
def loop_that_fills_rows(m):
    x = leaf(m, 1.0, 2.0)
    out = m.zeros(4, 2, dtype=m.float64)
    state = x
    for i in range(4):
        state = state * x
        out[i] = state
    out.sum().backward()
    return out, x.grad, out._version


@scenario
def is_view_and_base(m):
    x = leaf(m, [[1.0, 2.0], [3.0, 4.0]])
    y = x * 1
    views = [x[0], y[0], y.t(), y.view(4), y.detach(), y.clone(), y[0][1:]]
    return [[v._is_view(), v._base is x, v._base is y] for v in views]


@scenario_of(
    mul_=lambda x: x.mul_(2),
    row=lambda x: x[0].mul_(2),
    setitem=lambda x: x.__setitem__((..., 0), 0.25),
    copy_=lambda x: x.t().copy_(x.detach().clone()),
    fill_=lambda x: x.view(4).fill_(1.0),
)
def write_to_a_leaf_that_is_a_view(m, case):
    """The leaf is a view of a tensor that does not require grad."""
    x = m.ones(4, dtype=m.float64).view(2, 2).requires_grad_()
    result = error(lambda: case(x), "leaf", "in-place")
    return result["raises"], result.get("says"), x, about(x)


@scenario_of(
    result=lambda m, x: (x.abs(), slice(1, None)),
    leaf=lambda m, x: (x, slice(1, None)),
    expanded=lambda m, x: (x.abs()[None], 0),
)
def gradients_of_views_made_under_no_grad(m, case):
    base, location = case(m, leaf(m, 1.0, 2.0))
    with m.no_grad():
        view = base[location]
    return (
        about(view),
        error(lambda: m.autograd.grad(view.sum(), view, retain_graph=True)),
        error(lambda: m.autograd.grad(base.sum(), view, retain_graph=True, allow_unused=True)),
        error(lambda: m.autograd.grad((view * 2).sum(), base, allow_unused=True)),
        error(lambda: view.sum().backward()),
        view.grad,
        base.grad,
    )
