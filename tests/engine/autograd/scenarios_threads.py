"""Many threads, deep graphs, and backward that calls backward."""

import threading

from scenario_tools import error, leaf, scenario


def in_threads(count, work):
    """The results of work(i) in as many threads, started together; exceptions as their class."""
    results, gate = [None] * count, threading.Barrier(count)

    def run(i):
        gate.wait()
        try:
            results[i] = work(i)
        except Exception as raised:
            results[i] = type(raised).__name__

    threads = [threading.Thread(target=run, args=(i,)) for i in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results


@scenario
def eight_graphs_in_eight_threads(m):
    def work(i):
        total = 0.0
        for step in range(30):
            x = leaf(m, 0.1 * (i + 1), 0.2)
            y = x
            for _ in range(10):
                y = (y * x).sin() + y
            y.sum().backward()
            total += float(x.grad.sum()) / (step + 1)
        return total

    return in_threads(8, work)


@scenario
def eight_threads_share_a_graph(m):
    x, w = leaf(m, 0.5, 0.25), leaf(m, 2.0, 3.0)
    h = (x * w).sin()
    for _ in range(20):
        h = h * 1.01 + h.cos() * 0.1
    y = h.sum()
    (expected,) = m.autograd.grad(y, x, retain_graph=True)

    def work(i):
        matches = [m.autograd.grad(y, x, retain_graph=True)[0] for _ in range(10)]
        return all(m.allclose(g, expected) for g in matches)

    return in_threads(8, work), expected


@scenario
def eight_threads_accumulate_into_one_leaf(m):
    x = leaf(m, 1.0, 2.0)

    def work(i):
        for _ in range(20):
            (x * float(i + 1)).sum().backward()
        return True

    return in_threads(8, work), x.grad


@scenario
def eight_threads_write_to_parts_of_their_own(m):
    def work(i):
        x = leaf(m, 1.0, 2.0, 3.0)
        base = x * 1
        for part in range(3):
            base[part] *= float(i + part)
        base.sum().backward()
        return x.grad.tolist()

    return in_threads(8, work)


@scenario
def hooks_run_in_the_thread_of_backward(m):
    def work(i):
        own, seen = threading.get_ident(), []
        x = leaf(m, 1.0)
        y = x * 2
        y.register_hook(lambda g: seen.append(threading.get_ident()))
        y.sum().backward()
        return seen == [own]

    return in_threads(4, work)


@scenario
def an_error_stays_in_its_thread(m):
    def work(i):
        x = leaf(m, 1.0)
        y = x * 2

        def hook(g):
            if i % 2:
                raise ValueError

        y.register_hook(hook)
        y.sum().backward()
        return x.grad.tolist()

    return in_threads(8, work)


@scenario
def forward_in_one_thread_backward_in_another(m):
    x = leaf(m, 1.0)
    y = [x.exp().sin().sum() for _ in range(4)]

    def work(i):
        y[i].backward()
        return True

    return in_threads(4, work), x.grad


@scenario
def functions_in_threads(m):
    class F(m.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            return g * 2 * x

    def work(i):
        x = leaf(m, float(i))
        for _ in range(20):
            F.apply(x).sum().backward()
        return x.grad.tolist()

    return in_threads(8, work)


@scenario
def deep_chain(m):
    x = leaf(m, 1.0)
    y = x
    for _ in range(100_000):
        y = y + 1
    y.sum().backward()
    return x.grad, y


@scenario
def deep_chain_that_is_only_freed(m):
    x = leaf(m, 1.0)
    y = x
    for _ in range(100_000):
        y = y * 1.0
    y = None
    return x


@scenario
def deep_chain_of_functions(m):
    class F(m.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x + 1

        @staticmethod
        def backward(ctx, g):
            return g

    x = leaf(m, 1.0)
    y = x
    for _ in range(5_000):
        y = F.apply(y)
    y.sum().backward()
    return x.grad


@scenario
def deep_chain_in_place(m):
    x = leaf(m, 1.0, 2.0)
    y = x * 1
    for i in range(2_000):
        y[i % 2] += 1
    y.sum().backward()
    return x.grad, y._version


@scenario
def deep_chain_of_saved_tensors(m):
    x = leaf(m, 0.5)
    y = x
    for _ in range(20_000):
        y = y.sin()
    y.sum().backward()
    return x.grad


@scenario
def deep_chain_with_create_graph(m):
    x = leaf(m, 1.0)
    y = x
    for _ in range(2_000):
        y = y * 1.0001
    (g,) = m.autograd.grad((y * y).sum(), x, create_graph=True)
    return g, m.autograd.grad(g.sum(), x)


@scenario
def wide_graph(m):
    leaves = [leaf(m, float(i)) for i in range(2_000)]
    m.stack([x * 2 for x in leaves]).sum().backward()
    return sum(float(x.grad) for x in leaves)


@scenario
def reentrant_in_a_function(m):
    class F(m.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.x = x.detach().requires_grad_()
            with m.enable_grad():
                ctx.y = ctx.x.sin()
            return ctx.y.detach()

        @staticmethod
        def backward(ctx, g):
            m.autograd.backward(ctx.y, g)
            return ctx.x.grad

    x = leaf(m, 0.4)
    y = F.apply(F.apply(x * 2))
    y.sum().backward()
    return x.grad


@scenario
def reentrant_that_fails(m):
    class F(m.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            with m.enable_grad():
                leaf(m, 1.0, 2.0).exp().backward()
            return g

    x = leaf(m, 0.4)
    return error(F.apply(x).sum().backward, "scalar"), x.grad


@scenario
def reentrant_accumulates_into_the_same_leaf(m):
    w = leaf(m, 3.0)

    class F(m.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            with m.enable_grad():
                (w * w).sum().backward()
            return g

    (F.apply(w) * 5).sum().backward()
    return w.grad
