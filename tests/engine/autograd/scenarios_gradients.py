"""Values of gradients: sums over broadcast dimensions, dtypes, complex gradients, layouts."""

from scenario_tools import about, error, graph, leaf, scenario, scenario_of


def dtype(x):
    return None if x is None else str(x.dtype).split(".")[-1]


@scenario_of(
    add=lambda a, b: a + b,
    sub=lambda a, b: a - b,
    mul=lambda a, b: a * b,
    div=lambda a, b: a / b,
    pow=lambda a, b: a**b,
    atan2=lambda a, b: a.atan2(b),
    maximum=lambda a, b: a.maximum(b),
    lerp=lambda a, b: a.lerp(b, 0.25),
    hypot=lambda a, b: a.hypot(b),
    addcmul=lambda a, b: a.addcmul(b, b),
    fmod=lambda a, b: a.fmod(b),
    logaddexp=lambda a, b: a.logaddexp(b),
)
def broadcasting(m, case):
    log = []
    for sizes in ((3,), (2, 1), (1, 3), (1, 1), (), (4, 2, 3)):
        a = leaf(m, [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
        b = m.full(sizes, 1.5, dtype=m.float64, requires_grad=True)
        case(a, b).sum().backward()
        log.append([a.grad, b.grad, list(b.grad.shape)])
    return log


@scenario
def broadcasting_a_scalar_tensor(m):
    a, s = leaf(m, 1.0, 2.0), m.tensor(3.0, dtype=m.float64, requires_grad=True)
    (a * s + s).sum().backward()
    return a.grad, s.grad, list(s.grad.shape)


@scenario
def broadcasting_where(m):
    a, b = leaf(m, [[1.0], [2.0]]), leaf(m, 5.0, 6.0, 7.0)
    y = m.where(m.tensor([True, False, True]), a, b)
    (y * y).sum().backward()
    return a.grad, b.grad


@scenario
def broadcasting_matmul(m):
    a = m.arange(12.0, dtype=m.float64).view(2, 2, 3).requires_grad_()
    b = m.arange(6.0, dtype=m.float64).view(3, 2).requires_grad_()
    ((a @ b) ** 2).sum().backward()
    return a.grad, b.grad


@scenario
def broadcasting_batches_of_matrices(m):
    a = m.arange(4.0, dtype=m.float64).view(1, 2, 2).requires_grad_()
    b = m.arange(12.0, dtype=m.float64).view(3, 2, 2).requires_grad_()
    (a @ b).sin().sum().backward()
    return a.grad, b.grad


@scenario
def expand_sums(m):
    x = leaf(m, [[1.0], [2.0]])
    (x.expand(3, 2, 4) * 2).sum().backward()
    return x.grad


@scenario_of(
    sum=lambda x: x.sum(),
    sum_dim=lambda x: x.sum(1),
    sum_keep=lambda x: x.sum(0, keepdim=True),
    sum_dims=lambda x: x[None].sum((0, 2)),
    mean=lambda x: x.mean(1),
    prod=lambda x: x.prod(1),
    prod_zero=lambda x: (x * m_zero(x)).prod(),
    max=lambda x: x.max(),
    max_ties=lambda x: (x * 0).max(),
    amax_ties=lambda x: (x * 0).amax(1),
    min_dim=lambda x: x.min(1).values,
    norm=lambda x: x.norm(),
    norm_zero=lambda x: (x * 0).norm(),
    norm_one=lambda x: x.norm(1),
    norm_inf=lambda x: x.norm(float("inf")),
    var=lambda x: x.var(1),
    std_zero=lambda x: (x * 0).std(),
    logsumexp=lambda x: x.logsumexp(1),
    cumsum=lambda x: x.cumsum(1),
    cumprod=lambda x: x.cumprod(1),
    median=lambda x: x.median(),
    softmax=lambda x: x.softmax(1),
    trace=lambda x: x[:, :2].trace(),
    nansum=lambda x: x.nansum(),
)
def reduction(m, case):
    x = leaf(m, [[1.0, -2.0, 3.0], [4.0, 0.5, -6.0]])
    y = case(x)
    (y * y + y).sum().backward()
    return y, x.grad


def m_zero(x):
    """Ones, with a zero in the second place."""
    ones = x.detach() * 0 + 1
    ones[0, 1] = 0
    return ones


@scenario_of(
    abs=lambda x: x.abs(),
    relu=lambda x: x.relu(),
    sqrt=lambda x: x.sqrt(),
    sign=lambda x: x.sign(),
    clamp=lambda x: x.clamp(0, 1),
    clamp_min=lambda x: x.clamp(min=0),
    pow_zero=lambda x: x**0,
    pow_half=lambda x: x**0.5,
    log=lambda x: x.log(),
    reciprocal=lambda x: 1 / x,
    norm=lambda x: x.norm(dim=1),
    max=lambda x: x.maximum(x * 0),
    leaky=lambda x: x.relu() - 0.1 * (-x).relu(),
    atan2=lambda x: x.atan2(x * 0),
    sinc=lambda x: x.sinc(),
    hypot=lambda x: x.hypot(x),
    tanh=lambda x: (x * 1e3).tanh(),
    logsigmoid=lambda x: -(1 + (-x).exp()).log(),
)
def gradient_at_corners(m, case):
    """Zero, one, minus one, infinity, nan."""
    x = leaf(m, [[0.0], [-0.0], [1.0], [-1.0], [float("inf")], [float("nan")]])
    case(x).sum().backward()
    return x.grad


@scenario
def nan_behind_where(m):
    x = leaf(m, 0.0, 1.0)
    m.where(x > 0, x.sqrt(), m.zeros(2, dtype=m.float64)).sum().backward()
    return x.grad


@scenario
def float32_times_float64(m):
    a, b = leaf(m, 1.0, 2.0, dtype="float32"), leaf(m, 3.0, 4.0)
    y = a * b
    y.sum().backward()
    return dtype(y), dtype(a.grad), dtype(b.grad), a.grad, b.grad, graph(y.grad_fn)


@scenario_of(
    add=lambda a, b: a + b,
    mul=lambda a, b: a * b,
    div=lambda a, b: a / b,
    others=None,
)
def mixed_dtypes(m, case):
    a, b = leaf(m, 1.0, 2.0, dtype="float32"), leaf(m, 3.0, 4.0)
    named = {
        "where": lambda a, b: m.where(a > 1, a, b),
        "cat": lambda a, b: m.cat([a, b]),
        "stack": lambda a, b: m.stack([a, b]),
    }
    log = []
    for function in [case] if case else [named[key] for key in ("where", "cat", "stack")]:
        a.grad = b.grad = None
        y = function(a, b)
        (y * y).sum().backward()
        log.append([dtype(y), dtype(a.grad), dtype(b.grad), a.grad, b.grad])
    return log


@scenario
def float16_and_bfloat16(m):
    log = []
    for kind in ("float16", "bfloat16"):
        x = leaf(m, 1.0, 2.0, dtype=kind)
        y = x * x + 1
        y.sum().backward()
        log.append([dtype(y), dtype(x.grad), x.grad])
    return log


@scenario
def integers_beside_floats(m):
    x = leaf(m, 1.0, 2.0, dtype="float32")
    y = x * m.tensor([2, 3]) + m.tensor([True, False])
    y.sum().backward()
    return dtype(y), x.grad, dtype(x.grad)


@scenario
def casts_on_the_way(m):
    x = leaf(m, 1.0, 2.0, dtype="float32")
    x.double().half().float().sum().backward()
    return x.grad, dtype(x.grad)


@scenario
def cast_to_an_integer_cuts(m):
    x = leaf(m, 1.5, 2.5)
    return about(x.long()), about(x.bool()), about(x.to(m.int32) * x)


def complex_leaf(m):
    return m.tensor([1.0 + 2.0j, -0.5 + 0.25j], dtype=m.complex128, requires_grad=True)


@scenario_of(
    abs=lambda z: z.abs(),
    angle=lambda z: z.angle(),
    real=lambda z: z.real,
    imag=lambda z: z.imag,
    conj=lambda z: (z.conj() * z).real,
    square=lambda z: (z * z).real,
    exp=lambda z: z.exp().imag,
    log=lambda z: z.log().real,
    sin=lambda z: z.sin().abs(),
    tanh=lambda z: z.tanh().imag,
    reciprocal=lambda z: (1 / z).real,
    pow=lambda z: (z**3).imag,
    sqrt=lambda z: z.sqrt().real,
    sum=lambda z: z.sum().abs(),
    prod=lambda z: z.prod().abs(),
    matmul=lambda z: (z @ z).real,
    mul_real=lambda z: (z * 3.0).imag,
    mul_imaginary=lambda z: (z * 2j).real,
    div=lambda z: (z / (z + 1)).abs(),
    sgn=lambda z: z.sgn().real,
    mean=lambda z: z.mean().imag,
    cumsum=lambda z: z.cumsum(0).abs(),
)
def complex_gradient(m, case):
    z = complex_leaf(m)
    y = case(z)
    y.sum().backward()
    (g,) = m.autograd.grad(case(z).sum(), z, create_graph=True)
    second = (
        m.autograd.grad(m.view_as_real(g).sum(), z, allow_unused=True) if g.requires_grad else None
    )
    return y, z.grad, second


@scenario
def complex_and_real(m):
    x, z = leaf(m, 1.0, 2.0), complex_leaf(m)
    y = x * z
    (y.real + 3 * y.imag).sum().backward()
    return dtype(y), x.grad, dtype(x.grad), z.grad


@scenario
def complex_made_of_parts(m):
    a, b = leaf(m, 1.0, 2.0), leaf(m, 3.0, 4.0)
    z = m.complex(a, b)
    (z * z.conj()).real.sum().backward()
    return about(z), a.grad, b.grad


@scenario
def complex_views(m):
    x = leaf(m, [[1.0, 2.0], [3.0, 4.0]])
    z = m.view_as_complex(x)
    (z * z).real.sum().backward()
    w = complex_leaf(m)
    m.view_as_real(w)[:, 0].sin().sum().backward()
    return x.grad, w.grad, graph(z.grad_fn)


@scenario
def complex_backward_with_a_gradient(m):
    z = complex_leaf(m)
    (z * (2 + 1j)).backward(m.tensor([1.0 + 1.0j, 0.5j], dtype=m.complex128))
    return z.grad


@scenario_of(
    contiguous=lambda m: m.ones(2, 3, dtype=m.float64),
    transposed=lambda m: m.ones(3, 2, dtype=m.float64).t(),
    gaps=lambda m: m.ones(2, 6, dtype=m.float64)[:, ::2],
    expanded=lambda m: m.ones(1, 3, dtype=m.float64).expand(2, 3),
    permuted=lambda m: m.ones(2, 3, 4, dtype=m.float64).permute(2, 0, 1),
    channels=lambda m: m.ones(1, 2, 3, 4, dtype=m.float64).to(memory_format=m.channels_last),
)
def layout_of_grad(m, case):
    """.grad has the strides of a dense leaf; otherwise it is row-major."""
    x = case(m).detach().requires_grad_()
    log = [list(x.stride())]
    for make in (
        lambda: (x * 2).sum(),
        lambda: x.sum(),
        lambda: (x.transpose(0, 1) * 3).sum(),
        lambda: (x.contiguous() * 2).sum(),
    ):
        x.grad = None
        make().backward()
        log.append([list(x.grad.stride()), x.grad.is_contiguous()])
    make().backward()
    return [*log, list(x.grad.stride())]


@scenario
def grad_is_no_view_of_something_else(m):
    x = leaf(m, 1.0, 2.0, 3.0)
    v = m.ones(3, dtype=m.float64)
    (x + 0).backward(v)
    w = leaf(m, 1.0, 2.0, 3.0)
    (w.sum() * 2).backward()
    return x.grad.data_ptr() == v.data_ptr(), list(w.grad.stride()), w.grad._is_view()


@scenario
def two_leaves_do_not_share_their_gradient(m):
    a, b = leaf(m, 1.0, 2.0), leaf(m, 3.0, 4.0)
    (a + b).backward(m.ones(2, dtype=m.float64))
    a.grad.add_(100)
    return a.grad, b.grad, a.grad.data_ptr() == b.grad.data_ptr()


@scenario
def gradient_that_was_kept_is_not_written(m):
    x = leaf(m, 1.0, 2.0)
    saved = []
    x.register_hook(saved.append)
    (x * 2).sum().backward()
    (x * 3).sum().backward()
    return [k.tolist() for k in saved], x.grad


@scenario_of(
    int=lambda m, x: x[1],
    negative=lambda m, x: x[-1],
    slice=lambda m, x: x[1:, ::2],
    ellipsis=lambda m, x: x[..., 0],
    none=lambda m, x: x[:, None],
    list=lambda m, x: x[[0, 0, 2]],
    pairs=lambda m, x: x[[0, 1, 0], [1, 1, 1]],
    mixed=lambda m, x: x[[0, 2], 1:],
    mask=lambda m, x: x[x > 4],
    row_mask=lambda m, x: x[m.tensor([True, False, True])],
    bool=lambda m, x: x[True],
    tensor=lambda m, x: x[m.tensor([[0, 1], [1, 2]])],
    empty=lambda m, x: x[[]],
    take=lambda m, x: x.take(m.tensor([0, 4, 4])),
    index_select=lambda m, x: x.index_select(1, m.tensor([2, 2])),
    gather=lambda m, x: x.gather(1, m.tensor([[0], [2], [2]])),
    masked_select=lambda m, x: x.masked_select(x < 5),
    diagonal=lambda m, x: x.diagonal(1),
    narrow=lambda m, x: x.narrow(0, 1, 2),
    unfold=lambda m, x: x.unfold(0, 2, 1),
    tril=lambda m, x: x.tril(-1),
    roll=lambda m, x: x.roll((1, -1), (0, 1)),
    flip=lambda m, x: x.flip((0, 1)),
    repeat=lambda m, x: x.repeat(2, 1, 2),
    interleave=lambda m, x: x.repeat_interleave(2, 0),
    pad=lambda m, x: m.nn.functional.pad(x, (1, 0, 0, 2)),
    rot90=lambda m, x: x.rot90(),
    tile=lambda m, x: x.tile((2,)),
    kron=lambda m, x: m.kron(x, x),
    block_diag=lambda m, x: m.block_diag(x, x),
    swapaxes=lambda m, x: x.swapaxes(0, 1),
)
def gradient_of_indexing(m, case):
    x = (m.arange(9.0, dtype=m.float64) + 1).view(3, 3).requires_grad_()
    y = case(m, x)
    (y * y).sum().backward()
    return y, graph(y.grad_fn), x.grad


@scenario_of(
    linear=lambda m, F, x, w: F.linear(x, w, w[:, 0]),
    conv1d=lambda m, F, x, w: F.conv1d(x[None], w[:, :, None].expand(3, 3, 2)),
    mse=lambda m, F, x, w: F.mse_loss(x, w),
    l1=lambda m, F, x, w: F.l1_loss(x, w),
    cross_entropy=lambda m, F, x, w: F.cross_entropy(x @ w, m.tensor([0, 2, 1])),
    nll=lambda m, F, x, w: F.nll_loss(F.log_softmax(x @ w, 1), m.tensor([0, 2, 1])),
    bce=lambda m, F, x, w: F.binary_cross_entropy(x.sigmoid(), w.sigmoid()),
    bce_logits=lambda m, F, x, w: F.binary_cross_entropy_with_logits(x, w.sigmoid()),
    smooth_l1=lambda m, F, x, w: F.smooth_l1_loss(x, w),
    huber=lambda m, F, x, w: F.huber_loss(x, w),
    kl_div=lambda m, F, x, w: F.kl_div(x.log_softmax(1), w.softmax(1), reduction="batchmean"),
    gelu=lambda m, F, x, w: F.gelu(x @ w),
    gelu_tanh=lambda m, F, x, w: F.gelu(x @ w, approximate="tanh"),
    silu=lambda m, F, x, w: F.silu(x @ w),
    elu=lambda m, F, x, w: F.elu(x @ w),
    leaky_relu=lambda m, F, x, w: F.leaky_relu(x @ w),
    softplus=lambda m, F, x, w: F.softplus(x @ w),
    mish=lambda m, F, x, w: F.mish(x @ w),
    hardtanh=lambda m, F, x, w: F.hardtanh(x @ w),
    glu=lambda m, F, x, w: F.glu(m.cat([x, w], 1)),
    glu_rows=lambda m, F, x, w: F.glu(m.cat([x, w], 0), 0),
    layer_norm=lambda m, F, x, w: F.layer_norm(x, (3,), w[0], w[1]),
    group_norm=lambda m, F, x, w: F.group_norm(x, 3, w[0], w[1]) * w[2],
    batch_norm=lambda m, F, x, w: F.batch_norm(x, None, None, w[0], w[1], training=True),
    embedding=lambda m, F, x, w: F.embedding(m.tensor([0, 2, 2]), w) * x,
    normalize=lambda m, F, x, w: F.normalize(x) * w,
    cosine=lambda m, F, x, w: F.cosine_similarity(x, w),
    max_pool=lambda m, F, x, w: F.max_pool2d((x @ w)[None], 2),
    avg_pool=lambda m, F, x, w: F.avg_pool2d((x @ w)[None], 2, 1),
    interpolate=lambda m, F, x, w: F.interpolate((x @ w)[None], 5, mode="linear"),
    attention=lambda m, F, x, w: F.scaled_dot_product_attention(x[None], w[None], x[None]),
    prelu=lambda m, F, x, w: F.prelu(x, w[0, :1]),
    hinge=lambda m, F, x, w: F.margin_ranking_loss(x[0], w[0], m.ones(3, dtype=m.float64)),
)
def network_functions(m, case):
    x = leaf(m, [[0.5, -1.0, 2.0], [1.5, 0.25, -0.75], [-0.3, 0.9, 1.1]])
    w = leaf(m, [[0.2, -0.4, 0.6], [1.0, 0.3, -0.7], [0.8, -1.2, 0.1]])
    y = case(m, m.nn.functional, x, w)
    (y * y).sum().backward()
    return y, x.grad, w.grad


@scenario_of(
    inv=lambda m, a: m.linalg.inv(a),
    det=lambda m, a: m.linalg.det(a),
    slogdet=lambda m, a: m.linalg.slogdet(a)[1],
    solve=lambda m, a: m.linalg.solve(a, a[:, :1] + 1),
    cholesky=lambda m, a: m.linalg.cholesky(a @ a.t() + m.eye(3, dtype=m.float64)),
    eigvalsh=lambda m, a: m.linalg.eigvalsh(a + a.t()),
    svdvals=lambda m, a: m.linalg.svdvals(a),
    qr=lambda m, a: m.linalg.qr(a)[1].abs(),
    pinv=lambda m, a: m.linalg.pinv(a),
    matrix_power=lambda m, a: m.linalg.matrix_power(a, 3),
    matrix_exp=lambda m, a: m.matrix_exp(a * 0.1),
    norm=lambda m, a: m.linalg.norm(a),
    einsum=lambda m, a: m.einsum("ij,kj->ik", a, a),
    triangular=lambda m, a: m.linalg.solve_triangular(a.triu() + 1, a, upper=True),
)
def linear_algebra(m, case):
    a = leaf(m, [[2.0, 0.5, 0.1], [-0.3, 1.5, 0.7], [0.2, -0.6, 3.0]])
    y = case(m, a)
    (y * y).sum().backward()
    return y, a.grad


@scenario
def gradient_of_an_empty_part(m):
    x = leaf(m, 1.0, 2.0)
    y = m.cat([x[:0], x])
    y.sum().backward()
    return x.grad


@scenario
def undefined_gradients_in_a_sum(m):
    x, w = leaf(m, 1.0), leaf(m, 2.0)
    a = x * 2
    b = a.detach() * w
    (a + b).sum().backward()
    return x.grad, w.grad


@scenario
def out_of_place_where_needed(m):
    """Accumulating a shared gradient must not write into the one that went elsewhere."""
    x, w = leaf(m, 1.0, 2.0), leaf(m, 3.0, 4.0)
    h = x + w
    y = h * 2 + h * 3 + x
    y.sum().backward()
    return x.grad, w.grad


@scenario
def gradient_error_names_the_shape(m):
    x = leaf(m, 1.0, 2.0)
    return error(lambda: (x * 2).backward(m.ones(2, 2, dtype=m.float64)), "[2, 2]", "[2]")
