"""autograd.functional: products with Jacobians and Hessians, and these matrices."""

import pytest

import engine
from engine.autograd.functional import hessian, hvp, jacobian, jvp, vhp, vjp


@pytest.fixture
def x():
    return engine.tensor([[0.5, -1.0], [2.0, 0.25], [1.5, -0.75]], dtype=engine.float64)


@pytest.fixture
def w():
    return engine.tensor([[1.0, 2.0], [-0.5, 0.75]], dtype=engine.float64)


def model(x, w):
    return (x @ w).tanh()


def energy(x, w):
    return ((x @ w).tanh() * x).sum()


def two(x, w):
    return (x @ w).tanh(), (x * 2).sum(1)


def close(a, b):
    return engine.allclose(a, b, atol=1e-12)


def test_products_agree_with_the_matrix(x, w):
    vx, vw = engine.randn(3, 2, dtype=engine.float64), engine.randn(2, 2, dtype=engine.float64)
    jx, jw = jacobian(model, (x, w))
    assert jx.shape == (3, 2, 3, 2)
    assert jw.shape == (3, 2, 2, 2)
    y, (gx, gw) = vjp(model, (x, w), vx)
    assert close(y, model(x, w))
    assert close(gx, (vx[:, :, None, None] * jx).sum((0, 1)))
    assert close(gw, (vx[:, :, None, None] * jw).sum((0, 1)))
    y, slope = jvp(model, (x, w), (vx, vw))
    assert close(slope, (jx * vx).sum((2, 3)) + (jw * vw).sum((2, 3)))
    assert not any(t.requires_grad for t in (y, slope, gx, gw, jx, jw))


def test_hessian_products_agree_with_the_matrix(x, w):
    vx, vw = engine.randn(3, 2, dtype=engine.float64), engine.randn(2, 2, dtype=engine.float64)
    (hxx, hxw), (hwx, hww) = hessian(energy, (x, w))
    assert hxx.shape == (3, 2, 3, 2)
    assert hxw.shape == (3, 2, 2, 2)
    assert close(hxw, hwx.permute(2, 3, 0, 1))
    y, (ax, aw) = hvp(energy, (x, w), (vx, vw))
    z, (bx, bw) = vhp(energy, (x, w), (vx, vw))
    assert close(y, energy(x, w))
    assert close(z, y)
    assert close(ax, (hxx * vx).sum((2, 3)) + (hxw * vw).sum((2, 3)))
    assert close(aw, (hwx * vx).sum((2, 3)) + (hww * vw).sum((2, 3)))
    assert close(ax, bx)
    assert close(aw, bw)


@pytest.mark.parametrize("vectorize", [False, True])
def test_structure_follows_inputs_and_outputs(x, w, vectorize):
    alone = jacobian(lambda x: x.exp(), x, vectorize=vectorize)
    assert alone.shape == (3, 2, 3, 2)
    (first,) = jacobian(lambda x: x.exp(), (x,), vectorize=vectorize)
    assert close(first, alone)
    rows = jacobian(two, (x, w), vectorize=vectorize)
    assert [[tuple(j.shape) for j in row] for row in rows] == [
        [(3, 2, 3, 2), (3, 2, 2, 2)],
        [(3, 3, 2), (3, 2, 2)],
    ]
    assert bool((rows[1][1] == 0).all())
    assert hessian(lambda x: (x**3).sum(), x, vectorize=vectorize).shape == (3, 2, 3, 2)
    assert bool((hessian(lambda x: x.sum(), x, vectorize=vectorize) == 0).all())


def test_create_graph(x, w):
    x.requires_grad_()
    (jx, _) = jacobian(model, (x, w), create_graph=True)
    (g,) = engine.autograd.grad(jx.sum(), x)
    expected = jacobian(lambda x: jacobian(model, (x, w), create_graph=True)[0].sum(), x)
    assert close(g, expected)
    for product, v in ((vjp, model(x, w).detach()), (jvp, x.detach())):
        _, result = product(lambda x: model(x, w), x, v, create_graph=True)
        assert result.requires_grad
        assert engine.autograd.grad(result.sum(), x)[0].shape == x.shape
    for product in (hvp, vhp):
        _, result = product(lambda x: energy(x, w), x, x.detach(), create_graph=True)
        assert engine.autograd.grad(result.sum(), x)[0].shape == x.shape


def test_vectors_left_out(x):
    value, g = vjp(lambda x: (x**2).sum(), x)
    assert close(g, 2 * x)
    element = engine.tensor([3.0], dtype=engine.float64)
    assert jvp(lambda x: x**2, element)[1].tolist() == [6]
    assert hvp(lambda x: (x**3).sum(), element)[1].tolist() == [18]
    assert vhp(lambda x: (x**3).sum(), element)[1].tolist() == [18]
    assert value.item() == (x**2).sum().item()


def test_under_no_grad(x):
    with engine.no_grad():
        assert close(vjp(lambda x: x * 2, x, x)[1], 2 * x)
        assert close(jvp(lambda x: x * 2, x, x)[1], 2 * x)
        assert jacobian(lambda x: x.exp(), x).shape == (3, 2, 3, 2)
        assert not engine.is_grad_enabled()


def test_inputs_are_not_touched(x):
    jacobian(lambda x: x.exp(), x)
    assert not x.requires_grad
    assert x.grad is None


@pytest.mark.parametrize(
    "call",
    [
        lambda x: vjp(lambda x: x * 2, x),
        lambda x: vjp(lambda x: x * 2, x, engine.ones(2)),
        lambda x: jvp(lambda x: x * 2, x),
        lambda x: jvp(lambda x: x * 2, x, (x, x)),
        lambda x: hessian(lambda x: x * 2, x),
        lambda x: hessian(lambda x: (x.sum(),), x),
        lambda x: hvp(lambda x: x * 2, x, x),
        lambda x: jacobian(lambda x: x, x, strict=True, vectorize=True),
        lambda x: jacobian(lambda x: engine.ones(2), x, strict=True),
        lambda x: jacobian(lambda x, y: x * 2, (x, x.clone()), strict=True),
        lambda x: vjp(lambda x, y: x * 2, (x, x.clone()), x, strict=True),
        lambda x: jvp(lambda x, y: x * 2, (x, x.clone()), (x, x), strict=True),
        lambda x: hvp(lambda x: (x * 2).sum(), x, x, strict=True),
        lambda x: vhp(lambda x: (x * 2).sum(), x, x, strict=True),
        lambda x: hessian(lambda x: (x * 2).sum(), x, strict=True),
        lambda x: jacobian(lambda x: x * 2, x, create_graph=True, strict=True),
    ],
)
def test_what_is_refused(call, x):
    with pytest.raises(RuntimeError):
        call(x)


def test_kinds_that_are_refused(x):
    with pytest.raises(TypeError, match=r"inputs.*int"):
        vjp(lambda x: x, 3)
    with pytest.raises(TypeError, match=r"outputs.*float at position 1"):
        jacobian(lambda x: (x, 3.0), x)
    with pytest.raises(NotImplementedError, match="forward"):
        jacobian(lambda x: x, x, strategy="forward-mode", vectorize=True)
    with pytest.raises(AssertionError, match="sideways"):
        jacobian(lambda x: x, x, strategy="sideways")


FUNCTIONS = {
    "vjp": lambda F, m, x, w: F.vjp(model, (x, w), m.ones_like(x)),
    "jvp": lambda F, m, x, w: F.jvp(two, (x, w), (m.ones_like(x), m.ones_like(w))),
    "jacobian": lambda F, m, x, w: F.jacobian(two, (x, w)),
    "vectorized": lambda F, m, x, w: F.jacobian(two, (x, w), vectorize=True),
    "hessian": lambda F, m, x, w: F.hessian(energy, (x, w)),
    "hvp": lambda F, m, x, w: F.hvp(energy, (x, w), (x, w)),
    "vhp": lambda F, m, x, w: F.vhp(energy, (x, w), (x, w)),
}


def leaves(value):
    return [value] if hasattr(value, "tolist") else [y for part in value for y in leaves(part)]


@pytest.mark.parametrize("name", FUNCTIONS)
def test_equals_torch(name, x, w):
    torch = pytest.importorskip("torch")
    target = [torch.tensor(t.tolist(), dtype=torch.float64) for t in (x, w)]
    other = leaves(FUNCTIONS[name](torch.autograd.functional, torch, *target))
    ours = leaves(FUNCTIONS[name](engine.autograd.functional, engine, x, w))
    assert len(ours) == len(other)
    for a, b in zip(ours, other, strict=True):
        assert tuple(a.shape) == tuple(b.shape)
        assert close(a, engine.tensor(b.tolist(), dtype=engine.float64).reshape(a.shape))
