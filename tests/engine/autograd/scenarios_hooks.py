"""Hooks: of tensors, of nodes, after accumulation; their order, what they replace, what they raise."""

from scenario_tools import about, error, leaf, name, scenario, scenario_of


@scenario
def tensor_hook_sees_the_gradient(m):
    x = leaf(m, 1.0, 2.0)
    log = []
    y = x * 3
    y.register_hook(lambda g: log.append(g.tolist()))
    x.register_hook(lambda g: log.append(g.tolist()))
    (y * y).sum().backward()
    return log, x.grad


@scenario
def tensor_hook_replaces_the_gradient(m):
    x = leaf(m, 1.0, 2.0)
    y = x * 3
    y.register_hook(lambda g: g * 100)
    (y * y).sum().backward()
    return x.grad


@scenario
def leaf_hook_replaces_the_gradient(m):
    x = leaf(m, 1.0, 2.0)
    x.register_hook(lambda g: g + 1)
    (x * 2).sum().backward()
    (x * 2).sum().backward()
    return x.grad


@scenario
def leaf_hook_sees_the_sum(m):
    """A leaf that is used twice: its hook runs once, with the sum."""
    x = leaf(m, 1.0)
    log = []
    x.register_hook(lambda g: log.append(g.tolist()))
    (x * 2 + x * 3).sum().backward()
    return log


@scenario
def hook_of_an_intermediate_sees_the_sum(m):
    x = leaf(m, 1.0)
    log = []
    h = x * 1
    h.register_hook(lambda g: log.append(g.tolist()))
    (h * 2 + h * 3).sum().backward()
    return log


@scenario
def hooks_run_in_the_order_they_were_registered(m):
    x = leaf(m, 1.0)
    log = []
    for i in range(4):
        x.register_hook(lambda g, i=i: log.append([i, g.tolist()]) or g * 2)
    (x * 1).sum().backward()
    return log, x.grad


@scenario
def removed_hook(m):
    x = leaf(m, 1.0)
    log = []
    first = x.register_hook(lambda g: log.append("first"))
    x.register_hook(lambda g: log.append("second"))
    first.remove()
    first.remove()
    (x * 1).sum().backward()
    return log


@scenario
def handle_is_a_context_manager(m):
    x = leaf(m, 1.0)
    log = []
    with x.register_hook(lambda g: log.append("ran")):
        x.sum().backward()
    x.sum().backward()
    return log


@scenario
def hook_removes_itself(m):
    x = leaf(m, 1.0)
    log, handles = [], []

    def hook(g):
        log.append("once")
        handles[0].remove()

    handles.append(x.register_hook(hook))
    x.register_hook(lambda g: log.append("other"))
    x.sum().backward()
    x.sum().backward()
    return log


@scenario
def hook_removes_the_next(m):
    x = leaf(m, 1.0)
    log, handles = [], []

    def first(g):
        log.append("first")
        handles[1].remove()

    handles.append(x.register_hook(first))
    handles.append(x.register_hook(lambda g: log.append("second")))
    result = error(x.sum().backward)
    x.sum().backward()
    return result["raises"], log


@scenario
def hook_adds_a_hook(m):
    x = leaf(m, 1.0)
    log = []

    def hook(g):
        log.append("outer")
        if len(log) == 1:
            x.register_hook(lambda g: log.append("inner"))

    x.register_hook(hook)
    result = error(x.sum().backward)
    first = list(log)
    x.sum().backward()
    return result["raises"], "outer" in first, log[-2:]


@scenario
def hook_in_a_node_adds_a_hook_to_a_tensor(m):
    x = leaf(m, 1.0)
    log = []
    h = x * 2
    y = h.sin()
    y.register_hook(lambda g: h.register_hook(lambda g: log.append("added")) and None)
    y.sum().backward()
    return log


@scenario
def hook_raises(m):
    x = leaf(m, 1.0)

    def hook(g):
        raise ValueError("from the hook")

    y = x * 2
    y.register_hook(hook)
    result = error((y * 3).sum().backward, "from the hook")
    return result, x.grad


@scenario
def hook_raises_an_exception_of_its_own(m):
    class Strange(Exception):
        pass

    x = leaf(m, 1.0)

    def hook(g):
        raise Strange("inside")

    x.register_hook(hook)
    result = error(x.sum().backward, "inside")
    return result, x.grad


@scenario
def backward_works_after_a_hook_raised(m):
    x = leaf(m, 1.0)

    def hook(g):
        raise ValueError

    handle = x.register_hook(hook)
    error((x * 2).sum().backward)
    handle.remove()
    (x * 2).sum().backward()
    return x.grad


@scenario
def graph_after_a_hook_raised(m):
    x = leaf(m, 1.0)
    y = x.exp()

    def hook(g):
        raise ValueError

    handle = x.register_hook(hook)
    z = y.sin().sum()
    error(z.backward)
    handle.remove()
    return error(z.backward, "second time"), x.grad


@scenario_of(
    number=lambda m, g: 3.0,
    text=lambda m, g: "gradient",
    tuple=lambda m, g: (g,),
    shape=lambda m, g: m.ones(5, dtype=m.float64),
    true=lambda m, g: True,
    float32=lambda m, g: g.float() * 2,
    none=lambda m, g: None,
    broadcastable=lambda m, g: m.ones(1, 2, dtype=m.float64),
)
def hook_returns(m, case):
    x = leaf(m, 1.0, 2.0)
    y = x * 2
    y.register_hook(lambda g: case(m, g))
    result = error((y * 3).sum().backward)
    return result, x.grad, None if x.grad is None else str(x.grad.dtype).split(".")[-1]


@scenario
def hook_that_is_no_function(m):
    x, w = leaf(m, 1.0), leaf(m, 1.0, grad=False)
    return (
        error(lambda: w.register_hook(lambda g: g), "require"),
        error(lambda: w.register_post_accumulate_grad_hook(lambda p: p)),
        error(lambda: (x * 2).register_post_accumulate_grad_hook(lambda p: p), "leaf"),
    )


@scenario
def post_accumulate_hook(m):
    x = leaf(m, 1.0, 2.0)
    log = []
    x.register_post_accumulate_grad_hook(lambda p: log.append([p is x, p.grad.tolist()]))
    (x * 2).sum().backward()
    (x * 3).sum().backward()
    return log


@scenario
def post_accumulate_hook_steps_and_clears(m):
    x = leaf(m, 1.0, 2.0)

    def step(p):
        with m.no_grad():
            p.sub_(p.grad * 0.5)
        p.grad = None

    handle = x.register_post_accumulate_grad_hook(step)
    (x * x).sum().backward()
    log = [x.tolist(), x.grad]
    handle.remove()
    (x * 2).sum().backward()
    return [*log, x.grad]


@scenario
def post_accumulate_hook_and_autograd_grad(m):
    x = leaf(m, 1.0)
    log = []
    x.register_post_accumulate_grad_hook(lambda p: log.append("ran"))
    m.autograd.grad((x * 2).sum(), x)
    return log


@scenario
def tensor_hook_and_autograd_grad(m):
    x = leaf(m, 1.0)
    log = []
    x.register_hook(lambda g: log.append("leaf") or g * 2)
    h = x * 3
    h.register_hook(lambda g: log.append("middle") or g * 10)
    result = m.autograd.grad(h.sum(), [x, h])
    return log, result


@scenario
def retain_grad_before_and_after_hooks(m):
    """`.grad` holds the gradient after all hooks, whenever retain_grad was called."""
    log = []
    for first in (True, False):
        x = leaf(m, 1.0)
        y = x * 2
        if first:
            y.retain_grad()
        y.register_hook(lambda g: g * 10)
        if not first:
            y.retain_grad()
        y.register_hook(lambda g: g + 1)
        y.sum().backward()
        log.append([y.grad.tolist(), x.grad.tolist()])
    return log


@scenario
def prehook_sees_what_tensor_hooks_made(m):
    x = leaf(m, 1.0)
    log = []
    y = x * 2
    y.grad_fn.register_prehook(lambda go: log.append(["pre", go[0].tolist()]))
    y.register_hook(lambda g: log.append(["tensor", g.tolist()]) or g * 5)
    y.sum().backward()
    return log, x.grad


@scenario
def hook_on_a_tensor_written_in_place(m):
    """The hook belongs to the node that the tensor had when it was registered."""
    x = leaf(m, 1.0)
    log = []
    y = x * 2
    y.register_hook(lambda g: log.append(["before", g.tolist()]))
    y.mul_(5)
    y.register_hook(lambda g: log.append(["after", g.tolist()]))
    y.sum().backward()
    return log, x.grad


@scenario
def retain_grad_of_a_tensor_written_in_place(m):
    x = leaf(m, 1.0)
    y = x * 2
    y.retain_grad()
    y.mul_(5)
    y.sum().backward()
    return y.grad, x.grad


@scenario
def hooks_of_one_output_of_several(m):
    x = leaf(m, [[1.0, 2.0], [3.0, 4.0]])
    log = []
    a, b = x.unbind()

    def hook(label):
        return lambda g: log.append([label, None if g is None else g.tolist()])

    a.register_hook(hook("a"))
    a.register_hook(lambda g: g * 2)
    b.register_hook(hook("b"))
    (a * 3).sum().backward(retain_graph=True)
    (a + b).sum().backward()
    return log, x.grad


@scenario
def hook_with_create_graph(m):
    x = leaf(m, 2.0)
    y = x * x
    y.register_hook(lambda g: g * x)
    (g,) = m.autograd.grad(y.sum(), x, create_graph=True)
    return g, m.autograd.grad(g.sum(), x)


@scenario
def hook_gradient_is_shared_with_grad(m):
    """A hook's write to its gradient is visible in `.grad` unless the engine copies."""
    x = leaf(m, 1.0, 2.0)
    saved = []
    x.register_hook(lambda g: saved.append(g))
    (x * 2).sum().backward()
    return saved[0], about(saved[0])


@scenario
def hook_keeps_running_in_every_backward(m):
    x = leaf(m, 1.0)
    log = []
    y = x * 2
    y.register_hook(lambda g: log.append("y"))
    z = (y * y).sum()
    for _ in range(3):
        z.backward(retain_graph=True)
    return log, x.grad


@scenario
def hook_of_an_unused_tensor(m):
    x = leaf(m, 1.0)
    log = []
    unused = x * 2
    unused.register_hook(lambda g: log.append("ran"))
    (x * 3).sum().backward()
    return log


@scenario
def backward_inside_a_hook(m):
    x, w = leaf(m, 1.0), leaf(m, 2.0)

    def hook(g):
        with m.enable_grad():
            (w * w).sum().backward()
        return g * w.grad

    y = x * 3
    y.register_hook(hook)
    y.sum().backward()
    return x.grad, w.grad


@scenario
def grad_inside_a_hook(m):
    x = leaf(m, 2.0)

    def hook(g):
        with m.enable_grad():
            inner = x.detach().requires_grad_()
            (result,) = m.autograd.grad((inner**3).sum(), inner)
        return g + result

    y = x * 3
    y.register_hook(hook)
    y.sum().backward()
    return x.grad


@scenario
def backward_of_the_same_graph_inside_a_hook(m):
    x = leaf(m, 1.0)
    log = []
    h = x.exp()
    y = h.sum()
    z = h.sin().sum()

    def hook(g):
        log.append("outer")
        if len(log) == 1:
            y.backward(retain_graph=True)

    handle = z.grad_fn.register_prehook(hook)
    z.backward()
    handle.remove()
    return log, x.grad


@scenario
def deep_backward_inside_hooks(m):
    """A hundred backwards, each inside a hook of the one before."""
    depth = [0]

    def level():
        depth[0] += 1
        with m.enable_grad():
            y = leaf(m, 1.0) * 2
            if depth[0] < 100:
                y.register_hook(lambda g: level())
            y.sum().backward()

    level()
    return depth


@scenario
def multi_grad_hook(m):
    x, w = leaf(m, 1.0), leaf(m, 2.0)
    log = []
    handle = m.autograd.graph.register_multi_grad_hook(
        (x, w), lambda gs: log.append([None if g is None else g.tolist() for g in gs])
    )
    (x * w).sum().backward()
    (x * 2).sum().backward()
    handle.remove()
    (x * w).sum().backward()
    return log


@scenario
def names_of_hooked_nodes(m):
    x = leaf(m, 1.0)
    y = x.exp()
    before = y.grad_fn
    y.register_hook(lambda g: g)
    return before is y.grad_fn, name(y.grad_fn)
