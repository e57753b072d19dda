"""Hooks of nodes, and the order of hooks of every kind."""

from scenario_tools import error, leaf, scenario


@scenario
def node_hook(m):
    x = leaf(m, 1.0, 2.0)
    log = []
    y = x * 3
    y.grad_fn.register_hook(
        lambda gi, go: log.append([[g if g is None else g.tolist() for g in gi], go[0].tolist()])
    )
    (y * y).sum().backward()
    return log, x.grad


@scenario
def node_hook_replaces_the_gradients(m):
    x = leaf(m, 1.0, 2.0)
    y = x * 3
    y.grad_fn.register_hook(lambda gi, go: (gi[0] * 100, *gi[1:]))
    y.sum().backward()
    return x.grad


@scenario
def node_hook_returns_too_few(m):
    x, w = leaf(m, 1.0), leaf(m, 2.0)
    y = x * w
    y.grad_fn.register_hook(lambda gi, go: (gi[0],))
    return error(y.sum().backward), x.grad


@scenario
def node_prehook(m):
    x = leaf(m, 1.0, 2.0)
    log = []
    y = x * 3
    y.grad_fn.register_prehook(lambda go: log.append(go[0].tolist()) or (go[0] * 10,))
    y.sum().backward()
    return log, x.grad


@scenario
def node_hooks_with_several_inputs(m):
    x, w = leaf(m, 2.0), leaf(m, 5.0)
    log = []
    y = x * w
    y.grad_fn.register_hook(lambda gi, go: log.append([[g.tolist() for g in gi], len(go)]))
    y.sum().backward()
    return log


@scenario
def order_of_all_hooks(m):
    x = leaf(m, 1.0)
    log = []
    y = x * 2
    z = y.sin()
    y.retain_grad()
    y.grad_fn.register_prehook(lambda go: log.append("node pre"))
    y.register_hook(lambda g: log.append("tensor"))
    y.grad_fn.register_hook(lambda gi, go: log.append("node post"))
    x.register_hook(lambda g: log.append("leaf tensor"))
    accumulate = y.grad_fn.next_functions[0][0]
    accumulate.register_prehook(lambda go: log.append("accumulate pre"))
    accumulate.register_hook(lambda gi, go: log.append("accumulate post"))
    x.register_post_accumulate_grad_hook(lambda p: log.append("post accumulate"))
    z.grad_fn.register_hook(lambda gi, go: log.append("sin post"))
    z.sum().backward()
    return log
