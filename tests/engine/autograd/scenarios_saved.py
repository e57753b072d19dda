"""Saved tensors of the graph: their names, hooks on them, freeing, anomaly mode, checkpoints."""

import weakref

from scenario_tools import (
    Mark,
    alive,
    error,
    graph,
    leaf,
    marking,
    name,
    no_collection,
    scenario,
    scenario_of,
)


@scenario_of(
    mul=lambda x: x * (x + 1),
    exp=lambda x: x.exp(),
    sin=lambda x: x.sin(),
    pow=lambda x: x**3,
    sum=lambda x: x.sum(0),
    matmul=lambda x: x @ x,
    relu=lambda x: x.relu(),
    clamp=lambda x: x.clamp(0.5, 2.0),
    index=lambda x: x[1],
    div=lambda x: x / (x + 1),
    softmax=lambda x: x.softmax(0),
    tanh=lambda x: x.tanh(),
    transpose=lambda x: x[None].transpose(0, 1),
    view=lambda x: x.view(2, 1),
    mean=lambda x: x.mean(),
    max=lambda x: x.max(0).values,
    cumsum=lambda x: x.cumsum(0),
    add=lambda x: x.add(x, alpha=3),
)
def saved_attributes(m, case):
    """Their names and values, as the node shows them."""
    node = case(leaf(m, 1.0, 2.0)).grad_fn
    visible = {}
    for key in sorted(dir(node)):
        if key.startswith("_saved_") and "_sym_" not in key:
            visible[key] = getattr(node, key)
    return name(node), visible


@scenario
def saved_attributes_after_backward(m):
    x = leaf(m, 1.0)
    y = x.exp()
    saved = y.grad_fn._saved_result
    log = [saved, saved.grad_fn is y.grad_fn]
    y.sum().backward()
    return [*log, error(lambda: y.grad_fn._saved_result, "freed")]


@scenario
def saved_attributes_that_were_overwritten(m):
    x = leaf(m, 1.0)
    h = x * 1
    y = h.sin()
    h.add_(1)
    return error(lambda: y.grad_fn._saved_self, "modified", "version 1", "expected version 0")


@scenario
def saved_input_is_the_leaf_itself(m):
    x = leaf(m, 1.0)
    y = x.sin()
    saved = y.grad_fn._saved_self
    return saved is x, saved.requires_grad, saved.is_leaf


@scenario
def hooks_see_what_is_saved(m):
    x = leaf(m, 1.0, 2.0)
    log = []

    def pack(t):
        log.append(["pack", t.tolist(), t.requires_grad])
        return t

    def unpack(t):
        log.append(["unpack", t.tolist()])
        return t

    with m.autograd.graph.saved_tensors_hooks(pack, unpack):
        y = (x * x).exp()
    z = y.sin()
    z.sum().backward()
    return log, x.grad


@scenario
def hooks_that_compress(m):
    x = leaf(m, 1.0, 2.0)

    def pack(t):
        return t.float()

    def unpack(t):
        return t.double()

    with m.autograd.graph.saved_tensors_hooks(pack, unpack):
        y = x.exp() * x
    y.sum().backward()
    return x.grad


@scenario
def hooks_that_pack_into_anything(m):
    x = leaf(m, 1.0, 2.0)
    store = {}

    def pack(t):
        store[len(store)] = t.tolist()
        return f"number {len(store) - 1}"

    def unpack(key):
        return m.tensor(store[int(key.split()[1])], dtype=m.float64)

    with m.autograd.graph.saved_tensors_hooks(pack, unpack):
        y = (x.sin() * x).sum()
    y.backward()
    return store, x.grad


@scenario
def hooks_nest(m):
    """Only the innermost pair sees a tensor."""
    x = leaf(m, 2.0)
    log = []

    def hooks(label):
        def pack(t):
            log.append(["pack", label])
            return t

        def unpack(t):
            log.append(["unpack", label])
            return t

        return m.autograd.graph.saved_tensors_hooks(pack, unpack)

    with hooks("outer"):
        a = x.sin()
        with hooks("inner"):
            b = a.cos()
        c = b.exp()
    c.sum().backward()
    return log


@scenario
def hooks_unpack_every_time(m):
    x = leaf(m, 2.0)
    log = []
    with m.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: log.append("unpack") or t):
        y = x.sin().sum()
    y.backward(retain_graph=True)
    y.backward()
    return log


@scenario
def hooks_and_functions(m):
    log = []

    class F(m.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return g * ctx.saved_tensors[0]

    x = leaf(m, 3.0)
    with m.autograd.graph.saved_tensors_hooks(
        lambda t: log.append("pack") or t * 10, lambda t: log.append("unpack") or t
    ):
        y = F.apply(x)
    y.sum().backward()
    return log, x.grad


@scenario
def pack_raises(m):
    def pack(t):
        raise ValueError("in pack")

    x = leaf(m, 3.0)

    def forward():
        with m.autograd.graph.saved_tensors_hooks(pack, lambda t: t):
            return x.sin()

    return error(forward, "in pack"), (x * 2).requires_grad


@scenario
def unpack_raises(m):
    def unpack(t):
        raise ValueError("in unpack")

    x = leaf(m, 3.0)
    with m.autograd.graph.saved_tensors_hooks(lambda t: t, unpack):
        y = x.sin()
    return error(y.sum().backward, "in unpack"), x.grad


@scenario
def unpack_returns_no_tensor(m):
    x = leaf(m, 3.0)
    with m.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: 3.0):
        y = x.sin()
    return error(y.sum().backward), x.grad


@scenario
def pack_writes_in_place(m):
    x = leaf(m, 3.0)

    def forward():
        with m.autograd.graph.saved_tensors_hooks(lambda t: t.mul_(2), lambda t: t):
            return (x * 1).sin()

    return error(forward)["raises"]


@scenario
def hooks_of_one_saved_tensor(m):
    x = leaf(m, 3.0)
    y = x * x
    log = []
    y.grad_fn._raw_saved_self.register_hooks(lambda t: log.append("pack") or t * 2, lambda t: t)
    y.sum().backward()
    return log, x.grad


@scenario
def save_on_cpu(m):
    x = leaf(m, 1.0, 2.0)
    with m.autograd.graph.save_on_cpu():
        y = (x.exp() * x).sum()
    y.backward()
    return x.grad


@scenario
def hooks_can_be_forbidden(m):
    x = leaf(m, 3.0)

    def inside():
        with (
            m.autograd.graph.disable_saved_tensors_hooks("not here"),
            m.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t),
        ):
            return x.sin()

    return error(inside, "not here")


@scenario
def graph_dies_with_its_last_tensor(m):
    with no_collection():
        x, marks = leaf(m, 1.0), [Mark(), Mark()]
        references = [weakref.ref(mark) for mark in marks]
        F = marking(m)
        h = F.apply(x, marks[0])
        y = F.apply(h, marks[1])
        del marks, h
        first = alive(*references)
        del y
        return first, alive(*references)


@scenario
def a_branch_dies_alone(m):
    with no_collection():
        x, marks = leaf(m, 1.0), [Mark(), Mark()]
        references = [weakref.ref(mark) for mark in marks]
        F = marking(m)
        h = x.exp()
        a, b = F.apply(h, marks[0]), F.apply(h, marks[1])
        del marks, a
        log = [alive(*references)]
        b.sum().backward()
        log.append(alive(*references))
        del b
        return [*log, alive(*references)]


@scenario
def a_leaf_without_a_name_still_gets_its_gradient(m):
    x = leaf(m, 1.0)
    y = (x * 2).exp()
    node = y.grad_fn.next_functions[0][0].next_functions[0][0]
    del x
    y.sum().backward()
    return node.variable.grad, node.variable.is_leaf


@scenario
def node_lives_on_its_own(m):
    with no_collection():
        x = leaf(m, 1.0)
        y = x.exp()
        node = y.grad_fn
        lives = weakref.ref(y)
        del y
        return alive(lives), graph(node), node.metadata


@scenario
def node_of_a_function_lives_on_its_own(m):
    class F(m.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            ctx.word = "kept"
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return g

    with no_collection():
        x = leaf(m, 3.0)
        node = F.apply(x).grad_fn
        other = (F.apply(x) + 1).grad_fn.next_functions[0][0]
        return graph(node), node.saved_tensors, node.word, graph(other), other.saved_tensors


@scenario
def function_context_is_freed_by_backward(m):
    with no_collection():

        class Held:
            pass

        class F(m.autograd.Function):
            @staticmethod
            def forward(ctx, x, saved):
                ctx.saved = saved
                return x * 2

            @staticmethod
            def backward(ctx, g):
                return g, None

        x, retained = leaf(m, 1.0), Held()
        lives = weakref.ref(retained)
        y = F.apply(x, retained)
        del retained
        log = [alive(lives)]
        y.sum().backward()
        log.append(alive(lives))
        del y
        return [*log, alive(lives)]


@scenario
def hooks_are_freed_with_the_graph(m):
    with no_collection():

        class Hook:
            def __call__(self, g):
                return None

        x = leaf(m, 1.0)
        hook, other = Hook(), Hook()
        lives = [weakref.ref(hook), weakref.ref(other)]
        y = x * 2
        y.register_hook(hook)
        y.grad_fn.register_hook(lambda gi, go, other=other: None)
        del hook, other
        log = [alive(*lives)]
        y.sum().backward()
        log.append(alive(*lives))
        del y
        return [*log, alive(*lives)]


@scenario
def removed_hook_is_freed(m):
    with no_collection():

        class Hook:
            def __call__(self, g):
                return None

        x, hook = leaf(m, 1.0), Hook()
        lives = weakref.ref(hook)
        handle = x.register_hook(hook)
        del hook
        log = alive(lives)
        handle.remove()
        return log, alive(lives)


@scenario
def packed_values_are_freed_by_backward(m):
    with no_collection():

        class Box:
            def __init__(self, t):
                self.t = t.detach()

        boxes = []

        def pack(t):
            box = Box(t)
            boxes.append(weakref.ref(box))
            return box

        x = leaf(m, 1.0)
        with m.autograd.graph.saved_tensors_hooks(pack, lambda box: box.t):
            y = x.sin().exp().sum()
        log = [alive(*boxes)]
        y.backward(retain_graph=True)
        log.append(alive(*boxes))
        y.backward()
        return [*log, alive(*boxes)]


@scenario
def saved_tensors_are_freed_while_backward_runs(m):
    """Deeper nodes see that later ones have already released theirs."""
    with no_collection():

        class Box:
            def __init__(self, t):
                self.t = t.detach()

        boxes, log = [], []

        def pack(t):
            box = Box(t)
            boxes.append(weakref.ref(box))
            return box

        x = leaf(m, 1.0)
        with m.autograd.graph.saved_tensors_hooks(pack, lambda box: box.t):
            a = x.sin()
            b = a.sin()
            c = b.sin()
        for y in (c, b, a):
            y.grad_fn.register_hook(lambda gi, go: log.append(alive(*boxes)))
        c.sum().backward()
        return log, alive(*boxes)


@scenario
def create_graph_makes_no_cycle(m):
    with no_collection():
        x, mark = leaf(m, 1.0), Mark()
        lives = weakref.ref(mark)
        y = marking(m).apply(x.exp(), mark)
        (g,) = m.autograd.grad((y * y).sum(), x, create_graph=True)
        del mark, y
        log = [alive(lives), g.tolist()]
        del g
        return [*log, alive(lives)]


@scenario
def losses_that_are_kept_keep_their_graph(m):
    with no_collection():
        x = leaf(m, 1.0)
        losses, hidden, F = [], [], marking(m)
        for _ in range(3):
            mark = Mark()
            hidden.append(weakref.ref(mark))
            losses.append(F.apply(x, mark).sum())
            del mark
        log = [alive(*hidden)]
        losses = [loss.detach() for loss in losses]
        return [*log, alive(*hidden), [loss.item() for loss in losses]]
