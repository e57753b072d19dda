"""no_grad, enable_grad, set_grad_enabled, inference_mode: as contexts, decorators, functions."""

import copy
import pickle

from scenario_tools import about, error, leaf, scenario, scenario_of


@scenario
def no_grad(m):
    x = leaf(m, 1.0)
    with m.no_grad():
        y = x * 2
        inside = m.is_grad_enabled()
    return about(y), inside, m.is_grad_enabled()


@scenario
def modes_nest(m):
    x = leaf(m, 1.0)
    log = []
    with m.no_grad():
        log.append(m.is_grad_enabled())
        with m.enable_grad():
            log += [m.is_grad_enabled(), (x * 2).requires_grad]
            with m.no_grad():
                log.append(m.is_grad_enabled())
            log.append(m.is_grad_enabled())
        log.append(m.is_grad_enabled())
    return [*log, m.is_grad_enabled()]


@scenario
def mode_is_restored_after_an_exception(m):
    matches = []
    for mode in (m.no_grad, m.inference_mode):
        try:
            with mode():
                raise ValueError
        except ValueError:
            matches.append([m.is_grad_enabled(), m.is_inference_mode_enabled()])
    return matches


@scenario_of(no_grad="no_grad", enable_grad="enable_grad", inference_mode="inference_mode")
def mode_as_a_decorator(m, case):
    mode = getattr(m, case)

    @mode()
    def called(x):
        """Its text."""
        return [m.is_grad_enabled(), (x * 2).requires_grad]

    x = leaf(m, 1.0)
    log = [called(x), called(x), called.__name__, called.__doc__]
    with m.no_grad():
        return [*log, called(x), m.is_grad_enabled()]


@scenario_of(no_grad="no_grad", enable_grad="enable_grad", inference_mode="inference_mode")
def mode_as_a_decorator_without_call(m, case):
    @getattr(m, case)
    def called():
        return m.is_grad_enabled()

    with m.set_grad_enabled(case == "no_grad"):
        return called(), m.is_grad_enabled()


@scenario
def mode_as_a_decorator_of_a_method(m):
    class Thing:
        @m.no_grad()
        def run(self, x):
            return (x * 2).requires_grad

    return Thing().run(leaf(m, 1.0))


@scenario
def mode_as_a_decorator_of_a_generator(m):
    log = []

    @m.no_grad()
    def numbers():
        log.append(["start", m.is_grad_enabled()])
        got = yield 1
        log.append([got, m.is_grad_enabled()])
        try:
            yield 2
        except ValueError:
            log.append(["caught", m.is_grad_enabled()])
        yield 3
        return 4

    run = numbers()
    log += [next(run), m.is_grad_enabled(), run.send("sent"), m.is_grad_enabled()]
    log += [run.throw(ValueError()), m.is_grad_enabled()]
    try:
        next(run)
    except StopIteration as end:
        log.append(end.value)
    return [*log, m.is_grad_enabled()]


@scenario
def generator_that_is_closed(m):
    log = []

    @m.no_grad()
    def numbers():
        try:
            yield 1
        finally:
            log.append(m.is_grad_enabled())

    run = numbers()
    next(run)
    run.close()
    return log, m.is_grad_enabled()


@scenario
def set_grad_enabled_as_a_function(m):
    log = [m.is_grad_enabled()]
    m.set_grad_enabled(False)
    log += [m.is_grad_enabled(), (leaf(m, 1.0) * 2).requires_grad]
    m.set_grad_enabled(True)
    return [*log, m.is_grad_enabled()]


@scenario
def set_grad_enabled_as_a_context(m):
    log = []
    for mode in (True, False):
        with m.set_grad_enabled(mode):
            log.append(m.is_grad_enabled())
        log.append(m.is_grad_enabled())
    return log


@scenario
def set_grad_enabled_as_a_decorator(m):
    @m.set_grad_enabled(False)
    def called():
        return m.is_grad_enabled()

    return m.is_grad_enabled(), called(), m.is_grad_enabled()


@scenario
def one_context_entered_twice(m):
    mode = m.no_grad()
    log = []
    for _ in range(2):
        with mode:
            log.append(m.is_grad_enabled())
        log.append(m.is_grad_enabled())
    return log


@scenario
def new_tensors_in_no_grad_may_require_grad(m):
    with m.no_grad():
        x = leaf(m, 1.0)
        y = m.zeros(2, dtype=m.float64).requires_grad_()
        z = y * 2
    (x * 2 + y.sum()).sum().backward()
    return about(x), about(y), about(z), x.grad, y.grad


@scenario
def results_in_no_grad_are_leaves(m):
    x = leaf(m, 1.0)
    with m.no_grad():
        y = x * 2
    y.requires_grad_()
    (y * 3).sum().backward()
    return about(y), y.grad, x.grad


@scenario
def grad_mode_belongs_to_the_thread(m):
    import threading

    log = []
    with m.no_grad():
        thread = threading.Thread(target=lambda: log.append(m.is_grad_enabled()))
        thread.start()
        thread.join()
        log.append(m.is_grad_enabled())
    return log


@scenario
def inference_mode(m):
    x = leaf(m, 1.0)
    with m.inference_mode():
        y = x * 2
        log = [m.is_grad_enabled(), m.is_inference_mode_enabled(), about(y), y.is_inference()]
    return [*log, m.is_inference_mode_enabled(), x.is_inference(), y.is_inference()]


@scenario
def inference_mode_false(m):
    x = leaf(m, 1.0)
    with m.inference_mode():
        with m.inference_mode(False):
            log = [m.is_inference_mode_enabled(), m.is_grad_enabled(), about(x * 2)]
        return [*log, m.is_inference_mode_enabled()]


@scenario
def inference_tensors_have_no_version(m):
    with m.inference_mode():
        y = m.ones(2)
        y.add_(1)
    return error(lambda: y._version, "version"), y


@scenario
def inference_tensors_outside(m):
    x = leaf(m, 1.0, 2.0)
    with m.inference_mode():
        y = m.ones(2, dtype=m.float64)
    return (
        error(lambda: y.add_(1), "InferenceMode"),
        error(lambda: y.requires_grad_()),
        error(lambda: x * y),
        error(lambda: about(x + y)),
        error(lambda: about(y * 2)),
        error(lambda: about(y[0])),
        about(y.clone() * 1),
    )


@scenario
def inference_tensors_saved(m):
    x = leaf(m, 1.0, 2.0)
    with m.inference_mode():
        y = m.ones(2, dtype=m.float64)
    return error(lambda: (x * y).sum().backward(), "nference"), error(lambda: x.exp() + y)["raises"]


@scenario
def inference_views_of_normal_tensors(m):
    x = m.ones(2, 2)
    with m.inference_mode():
        view = x[0]
        log = [view.is_inference(), x.is_inference()]
        x.add_(1)
        view.add_(1)
    return [*log, x, x._version, error(lambda: view.add_(1)), x]


@scenario
def inference_write_to_a_leaf(m):
    x = leaf(m, 1.0)
    with m.inference_mode():
        result = error(lambda: x.add_(1))
    return result, x, x._version


@scenario
def inference_write_to_a_result(m):
    x = leaf(m, 1.0)
    y = x * 2
    with m.inference_mode():
        y.mul_(3)
    y.sum().backward()
    return y, about(y), x.grad, y._version


@scenario
def inference_clone_is_normal(m):
    with m.inference_mode():
        y = m.ones(2, dtype=m.float64)
    z = y.clone().requires_grad_()
    (z * 2).sum().backward()
    return z.is_inference(), z.grad


@scenario
def backward_in_inference_mode(m):
    x = leaf(m, 1.0)
    y = x.exp().sum()
    with m.inference_mode():
        result = error(y.backward)
    return result, x.grad


@scenario
def detach(m):
    x = leaf(m, 1.0, 2.0)
    y = x * 2
    free = y.detach()
    (y * free).sum().backward()
    return about(free), free.data_ptr() == y.data_ptr(), x.grad


@scenario
def stop_gradient_in_the_middle(m):
    x = leaf(m, 2.0)
    y = (x * 3).detach() * x
    y.sum().backward()
    return x.grad


@scenario
def copies_of_leaves(m):
    x = leaf(m, 1.0, 2.0)
    x.sum().backward()
    deep, shallow = copy.deepcopy(x), copy.copy(x)
    deep.grad.add_(5)
    log = [about(deep), deep.grad, x.grad, deep.data_ptr() == x.data_ptr()]
    return [*log, about(shallow), shallow.data_ptr() == x.data_ptr()]


@scenario
def deepcopy_of_a_non_leaf(m):
    x = leaf(m, 1.0)
    y = x * 2
    return (
        error(lambda: copy.deepcopy(y), "leaf"),
        about(copy.deepcopy(y.detach())),
        error(lambda: copy.deepcopy([x, y])),
    )


@scenario
def deepcopy_keeps_what_is_shared(m):
    x = leaf(m, 1.0, 2.0)
    a, b = copy.deepcopy([x, x])
    return a is b, about(a)


@scenario
def pickle_of_a_leaf(m):
    x = leaf(m, 1.0, 2.0)
    (x * 2).sum().backward()
    y = pickle.loads(pickle.dumps(x))
    return y, about(y), y.grad, str(y.dtype).split(".")[-1]


@scenario
def pickle_of_a_non_leaf(m):
    y = leaf(m, 1.0, 2.0) * 2
    result = error(lambda: about(pickle.loads(pickle.dumps(y))))
    return result["raises"], result.get("value")


@scenario
def optimizer_like_update(m):
    x = leaf(m, 5.0)
    momentum = m.zeros(1, dtype=m.float64)
    log = []
    for _ in range(5):
        x.grad = None
        ((x - 1) ** 2).sum().backward()
        with m.no_grad():
            momentum.mul_(0.9).add_(x.grad)
            x.add_(momentum, alpha=-0.1)
        log.append(x.tolist())
    return log, about(x), about(momentum), x._version


@scenario
def requires_grad_given_to_factories(m):
    options = {"dtype": m.float64, "requires_grad": True}
    results = [
        m.zeros(2, **options), m.ones(2, **options), m.full((2,), 3.0, **options),
        m.eye(2, **options), m.arange(3.0, **options), m.linspace(0, 1, 3, **options),
        m.empty(0, **options), m.rand(2, **options), m.randn(2, **options),
        m.zeros_like(m.ones(2), requires_grad=True), m.tensor([1.0], requires_grad=True),
    ]  # fmt: skip
    return [about(x) for x in results]


@scenario
def item_and_numbers_of_what_requires_grad(m):
    x = leaf(m, 1.5)
    y = x * 2
    return y.item(), float(y), y.tolist(), bool(y), int(y), error(lambda: y.numpy(), "grad")


@scenario
def text_of_what_requires_grad(m):
    x = leaf(m, 1.5)
    strings = [repr(x), repr(x * 2), repr((x * 2).detach()), repr(x[0].exp())]
    return [text.replace("torch.", "engine.") for text in strings]


@scenario
def comparing_does_not_need_a_graph(m):
    x = leaf(m, 1.0, 2.0)
    return about(x == x), about(x.isnan()), about(x.argsort()), m.equal(x, x), m.allclose(x, x)
