"""Anomaly mode, and parts that run again: checkpoint."""

from scenario_tools import error, leaf, name, scenario, scenario_of

# ---- anomaly mode


def forward_of_the_anomaly(x):
    return x.exp()


@scenario
def anomaly_mode_shows_the_forward_call(m):
    import warnings

    x = leaf(m, 1.0)
    with warnings.catch_warnings(record=True) as caught, m.autograd.detect_anomaly():
        warnings.simplefilter("always")
        y = forward_of_the_anomaly(x)
        z = y.sum()
        with m.no_grad():
            y.add_(1)
        result = error(z.backward)
        result = error(lambda: (y * y).sum().backward(), "modified")
    strings = [str(w.message) for w in caught]
    visible = [t for t in strings if "forward_of_the_anomaly" in t and "x.exp()" in t]
    return result["raises"], bool(visible), any("ExpBackward0" in t for t in visible)


@scenario
def anomaly_mode_finds_nan(m):
    log = []
    for check in (True, False):
        x = leaf(m, 0.0)
        with m.autograd.detect_anomaly(check_nan=check):
            y = x.sqrt() * 0
            log.append(error(y.sum().backward, "SqrtBackward0", "nan"))
        log.append(x.grad)
    return log


@scenario
def anomaly_mode_is_restored(m):
    log = [m.is_anomaly_enabled(), m.is_anomaly_check_nan_enabled()]
    with m.autograd.detect_anomaly(check_nan=False):
        log += [m.is_anomaly_enabled(), m.is_anomaly_check_nan_enabled()]
    with m.autograd.set_detect_anomaly(True):
        log.append(m.is_anomaly_enabled())
    m.autograd.set_detect_anomaly(False)
    return [*log, m.is_anomaly_enabled()]


# ---- checkpoints


def block(calls):
    def run(x, scale=2.0):
        calls.append("run")
        return (x * scale).tanh().exp()

    return run


@scenario_of(reentrant=True, hooks=False)
def checkpoint(m, case):
    x, calls = leaf(m, 0.5, -0.5), []
    y = m.utils.checkpoint.checkpoint(block(calls), x, use_reentrant=case)
    before = list(calls)
    y.sum().backward()
    return before, calls, x.grad, name(y.grad_fn)


@scenario_of(reentrant=True, hooks=False)
def checkpoint_of_two(m, case):
    x, w, calls = leaf(m, 0.5, -0.5), leaf(m, [[1.0, 2.0], [3.0, 4.0]]), []

    def run(x, w, note):
        calls.append(note)
        return (w @ x).sin(), x * 2

    a, b = m.utils.checkpoint.checkpoint(run, x, w, "called", use_reentrant=case)
    (a.sum() * b.sum()).backward()
    return calls, x.grad, w.grad


@scenario_of(reentrant=True, hooks=False)
def checkpoint_sequential(m, case):
    x, calls = leaf(m, 0.5, -0.5), []
    steps = [lambda x, i=i: calls.append(i) or x.sin() for i in range(5)]
    y = m.utils.checkpoint.checkpoint_sequential(steps, 2, x, use_reentrant=case)
    y.sum().backward()
    return calls, x.grad


@scenario_of(reentrant=True, hooks=False)
def checkpoint_and_autograd_grad(m, case):
    x = leaf(m, 0.5)
    y = m.utils.checkpoint.checkpoint(block([]), x, use_reentrant=case)
    return error(lambda: m.autograd.grad(y.sum(), x))


@scenario_of(reentrant=True, hooks=False)
def checkpoint_twice_over(m, case):
    x, calls = leaf(m, 0.5), []
    y = m.utils.checkpoint.checkpoint(block(calls), x, use_reentrant=case)
    y.sum().backward(retain_graph=True)
    y.sum().backward()
    return calls, x.grad, error(y.sum().backward, "second time")["raises"]


@scenario
def checkpoint_double_backward(m):
    x, calls = leaf(m, 0.5), []
    y = m.utils.checkpoint.checkpoint(block(calls), x, use_reentrant=False)
    (g,) = m.autograd.grad(y.sum(), x, create_graph=True)
    return g, m.autograd.grad(g.sum(), x), calls


@scenario
def checkpoints_nested(m):
    x, calls = leaf(m, 0.5), []

    def outer(x):
        calls.append("outer")
        inner = m.utils.checkpoint.checkpoint(block(calls), x * 2, use_reentrant=False)
        return inner.sin()

    m.utils.checkpoint.checkpoint(outer, x, use_reentrant=False).sum().backward()
    return calls, x.grad


@scenario_of(reentrant=True, hooks=False)
def checkpoint_draws_the_same_numbers(m, case):
    m.manual_seed(3)
    x = m.ones(200, dtype=m.float64, requires_grad=True)

    def run(x):
        return m.nn.functional.dropout(x * 2, 0.5)

    y = m.utils.checkpoint.checkpoint(run, x, use_reentrant=case)
    m.rand(5)
    y.sum().backward()
    return bool(((y > 0) == (x.grad > 0)).all()), 0 < int((y > 0).sum()) < 200


@scenario
def checkpoint_keyword_arguments(m):
    x, calls = leaf(m, 0.5), []
    y = m.utils.checkpoint.checkpoint(block(calls), x, use_reentrant=False, scale=0.25)
    y.sum().backward()
    wrong = error(
        lambda: m.utils.checkpoint.checkpoint(block([]), x, use_reentrant=True, scale=1.0), "scale"
    )
    return x.grad, wrong


@scenario
def checkpoint_that_changes_its_mind(m):
    x, calls = leaf(m, 0.5, 0.25), []

    def run(x):
        calls.append(1)
        return x.sin() if len(calls) == 1 else x[:1].sin()

    y = m.utils.checkpoint.checkpoint(run, x, use_reentrant=False)
    return error(y.sum().backward)


@scenario
def checkpoint_early_stop(m):
    log = []
    for early in (True, False):
        x, calls = leaf(m, 0.5), []

        def run(x, calls=calls):
            y = x.sin()
            calls.append("first")
            y = y * 2
            calls.append("second")
            return y

        y = m.utils.checkpoint.checkpoint(run, x, use_reentrant=False, early_stop=early)
        y.sum().backward()
        log.append(calls)
    return log
