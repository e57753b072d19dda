"""Writing in place: leaves, version counters, saved tensors that were overwritten."""

from scenario_tools import about, error, graph, leaf, name, scenario, scenario_of

MODIFIED = "modified by an inplace operation"


@scenario_of(
    add_=lambda m, x: x.add_(1),
    mul_=lambda m, x: x.mul_(2),
    iadd=lambda m, x: x.__iadd__(1),
    zero_=lambda m, x: x.zero_(),
    fill_=lambda m, x: x.fill_(3),
    copy_=lambda m, x: x.copy_(m.ones(2)),
    exp_=lambda m, x: x.exp_(),
    setitem=lambda m, x: x.__setitem__(0, 5.0),
    setitem_all=lambda m, x: x.__setitem__(slice(None), 5.0),
    clamp_=lambda m, x: x.clamp_(0, 1),
    normal_=lambda m, x: x.normal_(),
    uniform_=lambda m, x: x.uniform_(),
    index_fill_=lambda m, x: x.index_fill_(0, m.tensor([0]), 1.0),
    masked_fill_=lambda m, x: x.masked_fill_(x > 0, 1.0),
    view_of_leaf=lambda m, x: x[0].add_(1),
    relu_=lambda m, x: x.relu_(),
    t_=lambda m, x: x[None].t_(),
    unsqueeze_=lambda m, x: x.unsqueeze_(0),
    resize_=lambda m, x: x.resize_(3),
    detach_=lambda m, x: x.detach_(),
)
def on_a_leaf(m, case):
    x = leaf(m, 1.0, 2.0)
    result = error(lambda: case(m, x), "leaf", "in-place")
    if result["raises"] is None:
        result = "no error"
    return result, x._version


@scenario_of(
    add_=lambda m, x: x.add_(1), copy_=lambda m, x: x.copy_(m.ones(2)), zero_=lambda m, x: x.zero_()
)
def on_a_leaf_under_no_grad(m, case):
    x = leaf(m, 1.0, 2.0)
    with m.no_grad():
        case(m, x)
    return x, x._version, about(x)


@scenario
def on_a_leaf_that_is_saved(m):
    x = leaf(m, 1.0, 2.0)
    y = (x * x).sum()
    with m.no_grad():
        x.add_(1)
    return error(y.backward, MODIFIED, "version 1", "expected version 0", "[2]"), x.grad


@scenario
def on_a_leaf_that_is_not_saved(m):
    x = leaf(m, 1.0, 2.0)
    y = (x + x).sum()
    with m.no_grad():
        x.add_(1)
    y.backward()
    return x.grad


@scenario
def makes_a_plain_tensor_require_grad(m):
    x, y = leaf(m, 1.0, 2.0), m.zeros(2, dtype=m.float64)
    y.add_(x)
    log = [about(y), graph(y.grad_fn)]
    y.mul_(3)
    y.sum().backward()
    return [*log, graph(y.grad_fn), x.grad, y._version]


@scenario
def chain_of_writes(m):
    x = leaf(m, 0.1, 0.2)
    y = x * 2
    y.neg_().add_(1).mul_(x)
    y.sum().backward()
    return y, graph(y.grad_fn), x.grad, y._version


@scenario_of(
    exp=("exp", "ExpBackward0"),
    tanh=("tanh", "TanhBackward0"),
    sigmoid=("sigmoid", "SigmoidBackward0"),
    sqrt=("sqrt", "SqrtBackward0"),
    relu=("relu", "ReluBackward0"),
    reciprocal=("reciprocal", "ReciprocalBackward0"),
    softmax=(lambda x: x.softmax(0), "SoftmaxBackward0"),
    tan=("tan", "TanBackward0"),
    cumprod=(lambda x: x.cumprod(0), "CumprodBackward0"),
    rsqrt=("rsqrt", "RsqrtBackward0"),
    expm1=("expm1", "Expm1Backward0"),
    norm=(lambda x: x.norm(dim=0, keepdim=True), "LinalgVectorNormBackward0"),
)
def saved_output_is_overwritten(m, case):
    function, node = case
    x = leaf(m, 1.0, 2.0)
    y = getattr(x, function)() if isinstance(function, str) else function(x)
    log = [y.grad_fn.name() == node]
    z = y * 1
    y.add_(1)
    return log, error(z.sum().backward, MODIFIED, "version 1", "expected version 0", node[:-9])


@scenario_of(
    sin=lambda x: x.sin(),
    log=lambda x: x.log(),
    pow=lambda x: x**3,
    mul=lambda x: x * x,
    square=lambda x: x.square(),
    abs=lambda x: x.abs(),
    atan=lambda x: x.atan(),
    prod=lambda x: x.prod(),
    matmul=lambda x: x @ x,
    div=lambda x: 1 / x,
    silu=lambda x: x * x.sigmoid(),
    max=lambda x: x.max(),
    cos=lambda x: x.cos(),
    erf=lambda x: x.erf(),
)
def saved_input_is_overwritten(m, case):
    x = leaf(m, 1.0, 2.0)
    h = x * 1
    y = case(h)
    h.mul_(2)
    return error(y.sum().backward, MODIFIED, "version 1", "expected version 0", "[2]"), x.grad


@scenario_of(
    add=lambda x: x + 1,
    sum=lambda x: x.sum(),
    neg=lambda x: -x,
    mul=lambda x: x * 3,
    view=lambda x: x.view(2, 1),
    mean=lambda x: x.mean(),
    clone=lambda x: x.clone(),
    cat=lambda x: x.repeat(2),
    cumsum=lambda x: x.cumsum(0),
    flip=lambda x: x.flip(0),
    stack=lambda x: x.expand(3, 2).clone(),
)
def input_that_is_not_saved_is_overwritten(m, case):
    x = leaf(m, 1.0, 2.0)
    h = x * 1
    y = case(h).clone()
    h.mul_(2)
    y.sum().backward()
    return y, x.grad


@scenario
def versions_go_on_counting(m):
    x = leaf(m, 1.0)
    h = x * 1
    y = h.sin()
    for _ in range(3):
        h.add_(1)
    return h._version, error(y.sum().backward, "version 3", "expected version 0")


@scenario
def saved_at_a_later_version(m):
    x = leaf(m, 1.0)
    h = x * 1
    h.add_(1)
    h.add_(1)
    y = h.sin()
    h.add_(1)
    return error(y.sum().backward, "version 3", "expected version 2")


@scenario
def saved_at_a_later_version_and_left_alone(m):
    x = leaf(m, 1.0)
    h = x * 1
    h.add_(1)
    y = h.sin()
    y.sum().backward()
    return x.grad


@scenario_of(exp_="exp_", tanh_="tanh_", sigmoid_="sigmoid_", relu_="relu_", sqrt_="sqrt_", sin_="sin_",
             cos_="cos_", log_="log_", square_="square_", neg_="neg_", abs_="abs_", reciprocal_="reciprocal_",
             floor_="floor_", erf_="erf_", rsqrt_="rsqrt_", zero_="zero_")  # fmt: skip
def function_in_place(m, case):
    x = leaf(m, 0.5, 2.0)
    y = x * 1
    z = getattr(y, case)()
    z.sum().backward()
    return z is y, name(y.grad_fn), y._version, y, x.grad


@scenario
def tanh_and_sigmoid_chain_in_place(m):
    x = leaf(m, 0.5, -0.3)
    y = x * 2
    y.tanh_()
    error_of_second = y.sigmoid_()
    return about(error_of_second), error(y.sum().backward, MODIFIED, "Tanh", "version 2")


@scenario
def exp_then_add_in_place(m):
    x = leaf(m, 0.5, -0.3)
    y = x.exp()
    y += 1
    return error(y.sum().backward, MODIFIED, "AddBackward0", "version 1")


@scenario
def multiplied_by_itself_in_place(m):
    x = leaf(m, 2.0)
    y = x * 1
    y *= y
    return error(y.sum().backward, MODIFIED), about(y)


@scenario
def multiplied_by_a_leaf_in_place(m):
    x, w = leaf(m, 2.0), leaf(m, 5.0)
    y = x * 1
    y *= w
    return y, error(y.sum().backward), x.grad, w.grad


@scenario
def division_in_place(m):
    x, w = leaf(m, 2.0), leaf(m, 5.0)
    y = x.clone()
    y /= w
    y.sum().backward()
    return x.grad, w.grad, name(y.grad_fn)


@scenario
def broadcast_in_place(m):
    x, w = leaf(m, [[1.0, 2.0], [3.0, 4.0]]), leaf(m, 10.0, 20.0)
    y = x * 1
    y += w
    y.sum().backward()
    return x.grad, w.grad, error(lambda: w.clone().add_(x), "[2, 2]")


@scenario
def setitem_of_a_constant(m):
    x = leaf(m, 1.0, 2.0, 3.0)
    y = x * 1
    y[1] = 10.0
    (y * y).sum().backward()
    return y, name(y.grad_fn), x.grad


@scenario
def setitem_of_a_tensor(m):
    x, w = leaf(m, 1.0, 2.0, 3.0), leaf(m, 7.0)
    y = x * 1
    y[1:2] = w * 2
    (y * y).sum().backward()
    return y, graph(y.grad_fn), x.grad, w.grad


@scenario
def setitem_into_a_constant(m):
    w = leaf(m, 7.0, 8.0)
    y = m.zeros(3, 2, dtype=m.float64)
    y[1] = w
    y[:, 0] += 1
    (y * y).sum().backward()
    return y, w.grad, about(y)


@scenario
def setitem_by_indices(m):
    x, w = leaf(m, 1.0, 2.0, 3.0), leaf(m, 7.0, 8.0)
    y = x * 1
    y[m.tensor([2, 0])] = w
    (y * y).sum().backward()
    return y, name(y.grad_fn), x.grad, w.grad


@scenario
def setitem_by_a_mask(m):
    x, w = leaf(m, 1.0, 2.0, 3.0), m.tensor(9.0, dtype=m.float64, requires_grad=True)
    y = x * 1
    y[x.detach() > 1.5] = w
    (y * y).sum().backward()
    return y, x.grad, w.grad


@scenario
def index_put_accumulates(m):
    x, w = leaf(m, 1.0, 2.0, 3.0), leaf(m, 7.0, 8.0)
    y = x * 1
    y.index_put_((m.tensor([0, 0]),), w, accumulate=True)
    (y * y).sum().backward()
    return y, x.grad, w.grad


@scenario_of(
    scatter_=lambda m, y, w: y.scatter_(0, m.tensor([2, 0]), w),
    scatter_add_=lambda m, y, w: y.scatter_add_(0, m.tensor([2, 2]), w),
    index_copy_=lambda m, y, w: y.index_copy_(0, m.tensor([1, 0]), w),
    index_add_=lambda m, y, w: y.index_add_(0, m.tensor([1, 1]), w),
    masked_scatter_=lambda m, y, w: y.masked_scatter_(m.tensor([True, False, True]), w),
    masked_fill_=lambda m, y, w: y.masked_fill_(m.tensor([True, False, True]), w.sum()),
    index_fill_=lambda m, y, w: y.index_fill_(0, m.tensor([1]), w.sum()),
    addcmul_=lambda m, y, w: y.addcmul_(w.sum(), w.prod()),
    lerp_=lambda m, y, w: y.lerp_(w.sum(), 0.25),
    copy_=lambda m, y, w: y.copy_(w.sum()),
)
def write_with_a_tensor(m, case):
    x, w = leaf(m, 1.0, 2.0, 3.0), leaf(m, 7.0, 8.0)
    y = x * 1
    case(m, y, w)
    (y * y).sum().backward()
    return y, name(y.grad_fn), x.grad, w.grad


@scenario
def copy_of_the_whole(m):
    x, w = leaf(m, 1.0, 2.0), leaf(m, 7.0, 8.0)
    y = x * 1
    y.copy_(w)
    (y * 3).sum().backward()
    return graph(y.grad_fn), x.grad, w.grad


@scenario
def copy_into_another_dtype(m):
    w = leaf(m, 7.0, 8.0)
    y = m.zeros(2, dtype=m.float32)
    y.copy_(w)
    (y * 3).sum().backward()
    return graph(y.grad_fn), w.grad, str(w.grad.dtype).split(".")[-1]


@scenario
def copy_that_broadcasts(m):
    w = leaf(m, 7.0, 8.0)
    y = m.zeros(3, 2, dtype=m.float64)
    y.copy_(w)
    (y * 3).sum().backward()
    return w.grad


@scenario
def copy_from_an_integer(m):
    x = leaf(m, 1.0, 2.0)
    y = x * 1
    y.copy_(m.tensor([3, 4]))
    return y, about(y), error(lambda: y.sum().backward()), x.grad


@scenario
def integers_take_no_gradient(m):
    x = leaf(m, 1.0, 2.0)
    y = m.zeros(2, dtype=m.int64)
    result = error(lambda: y.add_(x))
    y.copy_(x.detach())
    return result["raises"], about(y)


@scenario
def fill_with_a_tensor(m):
    x, w = leaf(m, 1.0, 2.0), m.tensor(3.0, dtype=m.float64, requires_grad=True)
    y = x * 1
    y.fill_(w)
    (y * y).sum().backward()
    return name(y.grad_fn), x.grad, w.grad


@scenario
def random_writes_cut_the_gradient(m):
    x = leaf(m, 1.0, 2.0)
    y = x * 1
    y.uniform_()
    y.sum().backward()
    return name(y.grad_fn), x.grad


@scenario_of(
    add=lambda m, x, o: m.add(x, x, out=o),
    mul=lambda m, x, o: m.mul(x, 2, out=o),
    exp=lambda m, x, o: m.exp(x, out=o),
    sum=lambda m, x, o: m.sum(x, 0, out=o),
    matmul=lambda m, x, o: m.matmul(x, x, out=o),
    cat=lambda m, x, o: m.cat([x, x], out=o),
)
def out_refuses(m, case):
    """An argument that requires grad, then an out= that does."""
    x = leaf(m, 1.0, 2.0)
    plain, wanting = m.zeros(2, dtype=m.float64), leaf(m, 0.0, 0.0)
    with m.no_grad():
        allowed = error(lambda: about(case(m, x, m.zeros(0, dtype=m.float64))))
    return (
        error(lambda: case(m, x, plain), "out="),
        error(lambda: case(m, x.detach(), wanting), "out="),
        allowed,
    )


@scenario
def data_is_not_counted(m):
    x = leaf(m, 1.0)
    h = x * 1
    y = h.sin()
    h.data.add_(1)
    y.sum().backward()
    return h._version, x.grad, h


@scenario
def detach_shares_the_counter(m):
    x = leaf(m, 1.0)
    h = x * 1
    y = h.sin()
    h.detach().add_(1)
    return h._version, error(y.sum().backward, MODIFIED, "version 1")


@scenario
def data_of_a_leaf(m):
    x = leaf(m, 1.0, 2.0)
    x.data.mul_(3)
    x.data[0] = 9
    log = [x, x._version, about(x.data)]
    x.data = m.ones(3, dtype=m.float64)
    (x * 2).sum().backward()
    return [*log, x, x.grad, about(x)]


@scenario
def set_of_a_leaf(m):
    x = leaf(m, 1.0, 2.0)
    result = error(lambda: x.set_(m.ones(2, dtype=m.float64)))
    y = m.zeros(2, dtype=m.float64)
    with m.no_grad():
        y.set_(m.ones(3, dtype=m.float64))
    return result["raises"], y, about(y)


@scenario
def optimizer_step_between_forward_and_backward(m):
    w = leaf(m, 1.0, 2.0)
    first = (w * w).sum()
    first.backward(retain_graph=True)
    with m.no_grad():
        w -= 0.1 * w.grad
    return w, error(first.backward, MODIFIED, "version 1", "expected version 0")


@scenario
def optimizer_steps(m):
    w = leaf(m, 1.0, 2.0)
    log = []
    for _ in range(4):
        loss = ((w - 3) ** 2).sum()
        loss.backward()
        with m.no_grad():
            w -= 0.1 * w.grad
            w.grad.zero_()
        log.append([w.tolist(), w._version, w.is_leaf])
    return log
