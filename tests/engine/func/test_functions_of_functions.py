"""func: gradients, Jacobians, batches and functional calls, next to PyTorch's where it is installed."""

import doctest
import importlib

import pytest

import engine
import engine.func

CASES = {
    "grad": lambda t: t.func.grad(lambda x: (x**3).sum())(t.tensor([1.0, 2.0])),
    "nested": lambda t: t.func.grad(t.func.grad(lambda x: x**4))(t.tensor(2.0)),
    "argnums": lambda t: t.func.grad(lambda x, y: x * y, (0, 1))(t.tensor(2.0), t.tensor(5.0)),
    "dicts": lambda t: t.func.grad(lambda p: (p["a"] * p["b"]).sum())(
        {"a": t.ones(2), "b": 2 * t.ones(2)}
    ),
    "aux": lambda t: t.func.grad(lambda x: (x * x, x + 1), has_aux=True)(t.tensor(3.0)),
    "value": lambda t: t.func.grad_and_value(lambda x: x.exp())(t.tensor(0.0)),
    "closure": lambda t: t.func.grad(lambda x: t.func.grad(lambda y: y * y * x)(t.tensor(3.0)))(
        t.tensor(2.0)
    ),
    "vjp": lambda t: t.func.vjp(lambda x: x * x * x, t.tensor([0.0, 1.0]))[1](t.tensor([1.0, 2.0])),
    "jacrev": lambda t: t.func.jacrev(lambda x: x.outer(x))(t.tensor([1.0, 2.0])),
    "hessian": lambda t: t.func.jacrev(t.func.jacrev(lambda x: (x**3).sum()))(t.tensor([1.0, 2.0])),
    "vmap": lambda t: t.func.vmap(t.dot)(t.arange(6.0).view(2, 3), t.ones(2, 3)),
    "in_dims": lambda t: t.func.vmap(t.mv, (None, 1))(t.ones(3, 2), t.arange(4.0).view(2, 2)),
    "out_dims": lambda t: t.func.vmap(lambda x: x * 2, out_dims=1)(t.arange(6.0).view(2, 3)),
    "tuples": lambda t: t.func.vmap(lambda x: (x, x.sum()))(t.arange(6.0).view(2, 3)),
    "per sample": lambda t: t.func.vmap(t.func.grad(lambda w, x: (w * x).sum() ** 2), (None, 0))(
        t.ones(3), t.arange(6.0).view(2, 3)
    ),
}


def plain(value):
    """Return tensors as nested lists."""
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, tuple):
        return tuple(plain(item) for item in value)
    assert not value.requires_grad
    return value.tolist()


FACTS = {"nested": 48.0, "closure": 6.0, "vmap": [3.0, 12.0], "argnums": (5.0, 2.0)}


@pytest.mark.parametrize("name", CASES)
def test_cases_next_to_torch(name):
    actual = plain(CASES[name](engine))
    if name in FACTS:
        assert actual == FACTS[name]
    torch = pytest.importorskip("torch")
    assert actual == plain(CASES[name](torch))


@pytest.mark.parametrize("name", ["functional_call", "gradients", "vmap"])
def test_examples(name):
    module = importlib.import_module(f"engine.func.{name}")
    assert doctest.testmod(module).failed == 0


def test_results_keep_the_graph_of_other_parameters():
    w = engine.tensor(2.0, requires_grad=True)
    engine.func.grad(lambda x: w * x * x)(engine.tensor(3.0)).backward()
    assert w.grad == 6


def test_functional_call_restores_the_module():
    layer = engine.nn.Sequential(engine.nn.Linear(2, 2), engine.nn.BatchNorm1d(2))
    before = {name: id(x) for name, x in layer.named_parameters()}
    other = {name: engine.zeros_like(x) for name, x in layer.named_parameters()}
    assert not engine.func.functional_call(layer, other, engine.ones(3, 2)).any()
    assert {name: id(x) for name, x in layer.named_parameters()} == before
    with pytest.raises(KeyError, match="'none'"):
        engine.func.functional_call(layer, {"none": engine.ones(1)}, engine.ones(3, 2))
    with pytest.raises(RuntimeError, match="missing"):
        engine.func.functional_call(layer, {}, engine.ones(3, 2), strict=True)


def test_tied_weights_are_replaced_together():
    a, b = engine.nn.Linear(2, 2, bias=False), engine.nn.Linear(2, 2, bias=False)
    b.weight = a.weight
    layer = engine.nn.Sequential(a, b)
    eye = {"0.weight": 2 * engine.eye(2)}
    assert engine.func.functional_call(layer, eye, engine.ones(2)).tolist() == [4, 4]
    ours = {"0.weight": engine.zeros(2, 2), "1.weight": engine.eye(2)}
    assert not engine.func.functional_call(layer, ours, engine.ones(2), tie_weights=False).any()


def test_models_are_stacked():
    models = [engine.nn.Linear(2, 3) for _ in range(4)]
    parameters, buffers = engine.func.stack_module_state(models)
    assert parameters["weight"].shape == (4, 3, 2)
    assert not buffers
    call = engine.func.functional_call
    x = engine.randn(4, 2)
    result = engine.func.vmap(lambda p, row: call(models[0], p, (row,)))(parameters, x)
    expected = engine.stack([model(row) for model, row in zip(models, x, strict=True)])
    assert engine.allclose(result, expected)


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda: engine.func.grad(lambda x: x)(engine.ones(2)), RuntimeError),
        (lambda: engine.func.grad(lambda x: x, 3)(engine.ones(())), RuntimeError),
        (lambda: engine.func.vmap(engine.dot)(engine.ones(2, 3), engine.ones(3, 3)), ValueError),
        (lambda: engine.func.vmap(lambda x: 1)(engine.ones(2)), ValueError),
        (lambda: engine.func.stack_module_state([]), RuntimeError),
    ],
)
def test_errors(call, error):
    with pytest.raises(error):
        call()


def along(t):
    """Return products with Jacobians, Jacobians and second derivatives, as nested lists."""
    x, y = t.tensor([0.3, -1.2]), t.tensor([[0.5], [2.0]])
    v, w = t.tensor([1.0, 2.0]), t.tensor([[-1.0], [0.5]])
    f = t.func

    def function(a, b):
        return {"product": a * b, "sum": (a.sin() * b.exp()).sum()}

    values, tangents = f.jvp(function, (x, y), (v, w))
    nested = f.jvp(lambda a: f.grad(lambda c: (c**3).sum())(a), (x,), (v,))[1]
    output, push = f.linearize(lambda a: a.sin() * 2, x)
    return [
        {k: z.tolist() for k, z in values.items()},
        {k: z.tolist() for k, z in tangents.items()},
        nested.tolist(),
        [output.tolist(), push(v).tolist()],
        f.jacfwd(lambda a: a.cos() * a.sum())(x).tolist(),
        f.hessian(lambda a: (a**3).sum() * a[0])(x).tolist(),
        f.jvp(lambda a: (a * 2, 3), (x,), (v,), has_aux=True)[2] if t is engine else 3,
        f.jvp(lambda a: t.ones(2), (x,), (v,))[1].tolist(),
    ]


def flattened(value):
    if isinstance(value, dict):
        value = list(value.values())
    if not isinstance(value, list):
        return [value]
    return [number for item in value for number in flattened(item)]


@pytest.mark.filterwarnings("ignore")  # PyTorch compiles its derivatives when first asked
def test_forward_products_are_pytorchs():
    torch = pytest.importorskip("torch")
    assert flattened(along(engine)) == pytest.approx(flattened(along(torch)), rel=1e-5)


def test_forward_products_of_known_functions():
    x, v = engine.tensor([1.0, 2.0]), engine.tensor([3.0, 4.0])
    value, tangent = engine.func.jvp(lambda a: a**2, (x,), (v,))
    assert (value.tolist(), tangent.tolist()) == ([1.0, 4.0], [6.0, 16.0])
    assert not tangent.requires_grad
    with pytest.raises(RuntimeError, match="Expected primals to be a tuple"):
        engine.func.jvp(engine.sin, x, v)
    with pytest.raises(RuntimeError, match=r"sizes \[\(2,\)\] and tangents of sizes \[\(3,\)\]"):
        engine.func.jvp(engine.sin, (x,), (engine.ones(3),))


def test_random_numbers_of_a_batch():
    x = engine.zeros(3, 2)
    draw = lambda row: row + engine.rand(2)  # noqa: E731
    same = engine.func.vmap(draw, randomness="same")(x)
    assert engine.equal(same[0], same[1])
    different = engine.func.vmap(draw, randomness="different")(x)
    assert not engine.equal(different[0], different[1])
    with pytest.raises(
        RuntimeError, match="called random operation while in randomness error mode"
    ):
        engine.func.vmap(draw)(x)
    with pytest.raises(RuntimeError, match="Only allowed values for randomness"):
        engine.func.vmap(draw, randomness="none")
    with pytest.raises(TypeError, match="chunk_size must be an int or None, got dict"):
        engine.func.vmap(draw, chunk_size={})
