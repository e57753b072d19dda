"""The graph: which nodes an operation leaves, how gradients flow through it, what is a leaf."""

from scenario_tools import about, error, graph, leaf, name, scenario, scenario_of


@scenario
def diamond(m):
    x = leaf(m, 1.0, 2.0)
    a = x * x
    b, c = a.exp(), a.sin()
    y = (b * c).sum()
    y.backward()
    return graph(y.grad_fn), x.grad


@scenario
def diamond_of_diamonds(m):
    x = leaf(m, 0.5)
    y = x
    for _ in range(6):
        y = y.sin() + y.cos() * y
    y.sum().backward()
    return y, x.grad


@scenario
def same_tensor_twice(m):
    x = leaf(m, 3.0)
    y = x * x
    y.backward(m.ones(1, dtype=m.float64))
    return graph(y.grad_fn), x.grad


@scenario
def same_tensor_many_times(m):
    x = leaf(m, 1.5, -2.0)
    y = m.stack([x, x, x * 2, x]).sum()
    y.backward()
    return graph(y.grad_fn), x.grad


@scenario
def only_some_inputs_require_grad(m):
    x, w = leaf(m, 1.0, 2.0), leaf(m, 3.0, 4.0, grad=False)
    y = x * w + w
    y.sum().backward()
    return graph(y.grad_fn), x.grad, w.grad, about(w * w)


@scenario
def unused_branch(m):
    x = leaf(m, 1.0, 2.0)
    unused = x.exp()
    (x * 3).sum().backward()
    return x.grad, about(unused)


@scenario
def constants_have_no_node(m):
    x = leaf(m, 1.0)
    y = x + 1
    z = 2 - x
    return graph(y.grad_fn), graph(z.grad_fn), about(m.ones(2) + 1)


@scenario_of(
    add=lambda m, x: x + x,
    sub=lambda m, x: x - 1,
    rsub=lambda m, x: 1 - x,
    mul=lambda m, x: x * 2,
    div=lambda m, x: x / 2,
    neg=lambda m, x: -x,
    pow=lambda m, x: x**2,
    rpow=lambda m, x: 2**x,
    matmul=lambda m, x: x @ x,
    mv=lambda m, x: x @ x[0],
    dot=lambda m, x: x[0] @ x[1],
    t=lambda m, x: x.t(),
    transpose=lambda m, x: x.transpose(0, 1),
    view=lambda m, x: x.view(4),
    reshape=lambda m, x: x.t().reshape(4),
    expand=lambda m, x: x.expand(3, 2, 2),
    select=lambda m, x: x[0],
    slice=lambda m, x: x[:, 1:],
    index=lambda m, x: x[[0, 1], [1, 0]],
    mask=lambda m, x: x[x > 2],
    none=lambda m, x: x[None],
    sum=lambda m, x: x.sum(),
    sum_dim=lambda m, x: x.sum(0),
    mean=lambda m, x: x.mean(),
    exp=lambda m, x: x.exp(),
    tanh=lambda m, x: x.tanh(),
    sigmoid=lambda m, x: x.sigmoid(),
    relu=lambda m, x: x.relu(),
    clamp=lambda m, x: x.clamp(0, 2),
    where=lambda m, x: m.where(x > 2, x, 0.0),
    cat=lambda m, x: m.cat([x, x]),
    stack=lambda m, x: m.stack([x, x]),
    unsqueeze=lambda m, x: x.unsqueeze(0),
    squeeze=lambda m, x: x[None].squeeze(),
    squeeze_dim=lambda m, x: x[None].squeeze(0),
    permute=lambda m, x: x.permute(1, 0),
    clone=lambda m, x: x.clone(),
    to=lambda m, x: x.to(m.float32),
    softmax=lambda m, x: x.softmax(0),
    log_softmax=lambda m, x: m.log_softmax(x, 1),
    max=lambda m, x: x.max(),
    max_dim=lambda m, x: x.max(0).values,
    abs=lambda m, x: x.abs(),
    sqrt=lambda m, x: x.sqrt(),
    prod=lambda m, x: x.prod(),
    std=lambda m, x: x.std(),
    norm=lambda m, x: x.norm(),
    gather=lambda m, x: x.gather(0, m.zeros(1, 2, dtype=m.int64)),
    diagonal=lambda m, x: x.diagonal(),
    linear=lambda m, x: m.nn.functional.linear(x, x, x[0]),
    cumsum=lambda m, x: x.cumsum(0),
    flatten=lambda m, x: x.flatten(),
    unbind=lambda m, x: x.unbind()[1],
    detach=lambda m, x: x.detach(),
    as_strided=lambda m, x: x.as_strided((2,), (3,)),
    addmm=lambda m, x: m.addmm(x, x, x),
    maximum=lambda m, x: m.maximum(x, x * 1.5),
    atan2=lambda m, x: m.atan2(x, x + 1),
    lerp=lambda m, x: m.lerp(x, x * 2, 0.5),
    flip=lambda m, x: x.flip(0),
    roll=lambda m, x: x.roll(1),
    tril=lambda m, x: x.tril(),
    repeat=lambda m, x: x.repeat(2, 1),
    masked_fill=lambda m, x: x.masked_fill(x > 2, 0.0),
    sort=lambda m, x: x.sort(0).values,
    logsumexp=lambda m, x: x.logsumexp(0),
    erf=lambda m, x: x.erf(),
    gelu=lambda m, x: m.nn.functional.gelu(x),
    silu=lambda m, x: m.nn.functional.silu(x),
    mse_loss=lambda m, x: m.nn.functional.mse_loss(x, x + 1),
)
def node_of(m, case):
    x = leaf(m, [[1.0, 2.0], [3.0, 4.0]])
    y = case(m, x)
    if not y.requires_grad:
        return about(y), y
    y.to(m.float64).sum().backward()
    return graph(y.grad_fn), y, x.grad


@scenario
def unbind_uses_one_part(m):
    x = leaf(m, [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    _, b, _ = x.unbind()
    (b * 2).sum().backward()
    return name(b.grad_fn), b.grad_fn.next_functions[0][1], x.grad


@scenario
def multiple_outputs_share_a_node(m):
    x = leaf(m, [[1.0, 2.0], [3.0, 4.0]])
    a, b = x.unbind()
    y = a * 2 + b
    numbers = [n for _, n in y.grad_fn.next_functions]
    inner = y.grad_fn.next_functions[0][0].next_functions[0]
    return numbers, inner[1], name(inner[0]), inner[0] is y.grad_fn.next_functions[1][0]


@scenario_of(
    split=lambda m, x: x.split(2),
    split_sizes=lambda m, x: x.split([1, 3]),
    chunk=lambda m, x: x.chunk(2),
    unbind=lambda m, x: x.unbind(),
    topk=lambda m, x: (x.topk(2, 0).values,),
    sort=lambda m, x: (x.sort(0, descending=True).values,),
    max=lambda m, x: (x.max(1).values,),
    median=lambda m, x: (x.median(0).values,),
    var_mean=lambda m, x: m.var_mean(x, 0),
    std_mean=lambda m, x: m.std_mean(x, 1),
    cummax=lambda m, x: (x.cummax(0).values,),
    aminmax=lambda m, x: tuple(m.aminmax(x)),
    svd=lambda m, x: (m.linalg.svdvals(x),),
    frexp=lambda m, x: (m.frexp(x)[0],),
    meshgrid=lambda m, x: m.meshgrid(x[:, 0], x[:, 1], indexing="ij"),
    tensor_split=lambda m, x: x.tensor_split(3),
    kthvalue=lambda m, x: (x.kthvalue(2, 0).values,),
)
def multi_output(m, case):
    log = []
    for which in ("first", "last", "all"):
        x = leaf(m, [[1.0, 8.0], [3.0, -4.0], [5.0, 2.5], [0.25, 7.0]])
        outputs = [y for y in case(m, x) if y.requires_grad]
        selected = {"first": outputs[:1], "last": outputs[-1:], "all": outputs}[which]
        sum((y * (i + 2)).sum() for i, y in enumerate(selected)).backward()
        log.append([[name(y.grad_fn) for y in outputs], x.grad])
    return log


@scenario
def integer_outputs_do_not_require_grad(m):
    x = leaf(m, 3.0, 1.0)
    values, indices = x.sort()
    return about(values), about(indices), about(x > 2), about(x.argmax()), about(x.long())


@scenario
def metadata_is_a_dict_of_the_node(m):
    x = leaf(m, 1.0)
    y = x.exp()
    y.grad_fn.metadata["note"] = 3
    return y.grad_fn.metadata, y.grad_fn.metadata is y.grad_fn.metadata


@scenario
def the_node_is_one_object(m):
    x = leaf(m, 1.0)
    y = x.exp()
    z = y.sin()
    return y.grad_fn is y.grad_fn, z.grad_fn.next_functions[0][0] is y.grad_fn


@scenario
def accumulate_grad_is_one_object(m):
    x = leaf(m, 1.0)
    a, b = x.exp(), x.sin()
    first, second = (y.grad_fn.next_functions[0][0] for y in (a, b))
    return first is second, name(first), first.variable is x, first.next_functions


@scenario
def a_leaf_has_no_node(m):
    x, y = leaf(m, 1.0), leaf(m, 1.0, grad=False)
    return about(x), about(y), about(x.detach()), about(x.clone())


@scenario
def nodes_of_different_ops_have_types_of_their_own(m):
    x = leaf(m, 1.0)
    return type(x.exp().grad_fn).__name__, type(x.sin().grad_fn).__name__


@scenario
def rebinding_a_name_keeps_the_graph(m):
    x = leaf(m, 2.0)
    y = x * 3
    y = y * y
    y = y + x
    y.backward(m.ones(1, dtype=m.float64))
    return graph(y.grad_fn), x.grad


@scenario
def control_flow_shapes_the_graph(m):
    log = []
    for start in (1.0, 5.0):
        x = leaf(m, start)
        y = x
        while y.item() < 20:
            y = y * 2
        y.sum().backward()
        log.append([graph(y.grad_fn), x.grad])
    return log


@scenario
def a_graph_of_no_elements(m):
    x = m.zeros(0, 3, dtype=m.float64, requires_grad=True)
    (x * 2).exp().sum().backward()
    return x.grad, list(x.grad.shape)


@scenario
def a_scalar_leaf(m):
    x = m.tensor(3.0, dtype=m.float64, requires_grad=True)
    (x**3).backward()
    return x.grad, list(x.grad.shape)


@scenario
def result_of_requires_grad_of_an_integer(m):
    x = m.arange(3)
    return (
        error(lambda: x.requires_grad_(), "floating point"),
        error(lambda: m.tensor([1], requires_grad=True), "floating point"),
        error(lambda: m.zeros(2, dtype=m.bool, requires_grad=True)),
        about(x),
    )


@scenario
def requires_grad_of_a_non_leaf(m):
    x = leaf(m, 1.0)
    y = x * 2

    def assign():
        y.requires_grad = False

    return (
        error(lambda: y.requires_grad_(False), "leaf"),
        error(assign, "leaf"),
        about(y.requires_grad_()),
    )


@scenario
def requires_grad_of_a_leaf_goes_on_and_off(m):
    x = leaf(m, 1.0, grad=False)
    log = [about(x)]
    x.requires_grad = True
    log += [about(x), about(x * 2)]
    x.requires_grad = False
    return [*log, about(x), about(x * 2), about(x.requires_grad_())]


@scenario
def requires_grad_set_after_use(m):
    x = leaf(m, 1.0, 2.0, grad=False)
    before = x * 2
    x.requires_grad_()
    after = x * 3
    (before + after).sum().backward()
    return about(before), about(after), x.grad


@scenario
def dtype_changes_in_the_graph(m):
    x = leaf(m, 1.0, 2.0, dtype="float32")
    y = x.double() * 2
    y.sum().backward()
    return graph(y.grad_fn), str(x.grad.dtype).split(".")[-1], x.grad


@scenario
def a_long_chain(m):
    x = leaf(m, 1.0)
    y = x
    for _ in range(1000):
        y = y * 1.001
    y.sum().backward()
    return x.grad


@scenario
def a_wide_fan(m):
    x = leaf(m, 2.0)
    y = sum(x * float(i) for i in range(300))
    y.sum().backward()
    return x.grad


@scenario
def the_wrong_gradient_is_not_seen_by_integers(m):
    x = leaf(m, 1.0, 2.0)
    y = x[m.tensor([0, 0, 1])]
    y.sum().backward()
    return x.grad


@scenario
def order_of_execution(m):
    """Nodes run by the number they were made with, the newest first."""
    log = []
    x = leaf(m, 1.0)
    a = x.exp()
    b = x.sin()
    c = b.cos()
    d = a * c
    e = a + d
    for label, y in zip("abcde", (a, b, c, d, e), strict=True):
        y.grad_fn.register_prehook(lambda grads, label=label: log.append(label))
    e.sum().backward()
    return log, x.grad


@scenario
def order_of_execution_of_a_reversed_sum(m):
    log = []
    x, w = leaf(m, 1.0), leaf(m, 2.0)
    parts = [x * float(i) * w for i in range(5)]
    for i, y in enumerate(parts):
        y.register_hook(lambda g, i=i: log.append(i))
    total = parts[3] + parts[1]
    for i in (0, 4, 2):
        total = total + parts[i]
    total.sum().backward()
    return log, x.grad, w.grad
