"""Every distribution next to PyTorch's: densities, moments, entropies, gradients, divergences, reprs."""

from __future__ import annotations

import itertools
import warnings

import pytest

import engine
from tests.engine.distributions.distribution_cases import CASES, make, values

torch = pytest.importorskip("torch")
ATTRIBUTES = ("mean", "mode", "variance", "stddev", "batch_shape", "event_shape")


# PyTorch computes these with short polynomials, or not in float64 at all.
APPROXIMATE = {"VonMises": 1e-5, "LKJCholesky": 1e-6, "Multinomial": 1e-6}


def close(actual, expected, rtol=1e-9, atol=1e-9):
    actual = torch.tensor(actual.tolist(), dtype=torch.float64)
    return torch.allclose(actual, expected.detach().double(), rtol=rtol, atol=atol, equal_nan=True)


@pytest.mark.parametrize("name", CASES)
def test_attributes(name):
    actual, expected = make(engine, name)[0], make(torch, name)[0]
    for attribute in ATTRIBUTES:
        if (name, attribute) == ("Kumaraswamy", "mode"):
            continue  # PyTorch takes logarithms of negative numbers: NaN
        try:
            value = getattr(expected, attribute)
        except NotImplementedError:
            with pytest.raises(NotImplementedError):
                getattr(actual, attribute)
            continue
        if isinstance(value, torch.Size):
            assert tuple(getattr(actual, attribute)) == tuple(value), attribute
        else:
            rtol = APPROXIMATE.get(name, 1e-9)
            assert close(getattr(actual, attribute), value, rtol), attribute
    assert actual.has_rsample == expected.has_rsample
    assert actual.has_enumerate_support == expected.has_enumerate_support
    text = repr(make(engine, name)[0]).replace("engine.", "torch.")
    assert text == repr(make(torch, name)[0])
    assert repr(actual.support).replace("engine.", "torch.") == repr(expected.support)


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("method", ["log_prob", "cdf", "entropy"])
def test_functions_and_their_gradients(name, method):
    (actual, inputs), (expected, torch_inputs) = make(engine, name, True), make(torch, name, True)
    arguments = ([], []) if method == "entropy" else ([values(engine, name)], [values(torch, name)])
    try:
        result = getattr(expected, method)(*arguments[1])
    except NotImplementedError:
        with pytest.raises(NotImplementedError):
            getattr(actual, method)(*arguments[0])
        return
    except RuntimeError:
        pytest.skip("PyTorch does not compute it in float64")
    rtol = APPROXIMATE.get(name, 1e-9)
    assert close(getattr(actual, method)(*arguments[0]), result, rtol)
    if not result.requires_grad:
        return
    total = getattr(actual, method)(*arguments[0]).sum()
    try:
        result.sum().backward()
    except NotImplementedError:
        with pytest.raises(NotImplementedError):
            total.backward()
        return
    total.backward()
    for x, y in zip(inputs, torch_inputs, strict=True):
        assert (x.grad is None) == (y.grad is None)
        assert y.grad is None or close(x.grad, y.grad, max(rtol, 1e-6))


@pytest.mark.parametrize("name", CASES)
def test_icdf(name):
    actual, expected = make(engine, name)[0], make(torch, name)[0]
    q = [0.1, 0.5, 0.9]
    try:
        result = expected.icdf(torch.tensor(q, dtype=torch.float64))
    except NotImplementedError:
        with pytest.raises(NotImplementedError):
            actual.icdf(engine.tensor(q, dtype=engine.float64))
        return
    assert close(actual.icdf(engine.tensor(q, dtype=engine.float64)), result, 1e-7)


@pytest.mark.parametrize("name", CASES)
def test_expand(name):
    actual, expected = make(engine, name)[0], make(torch, name)[0]
    shape = (4, *expected.batch_shape)
    actual, expected = actual.expand(shape), expected.expand(shape)
    assert tuple(actual.batch_shape) == tuple(expected.batch_shape)
    try:
        log_prob = expected.log_prob(values(torch, name))
    except RuntimeError:
        pytest.skip("PyTorch does not compute it in float64")
    rtol = APPROXIMATE.get(name, 1e-9)
    assert close(actual.log_prob(values(engine, name)), log_prob, rtol)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # PyTorch warns of nearly singular draws
        assert tuple(actual.sample((2,)).shape) == tuple(expected.sample((2,)).shape)


@pytest.mark.parametrize("name", CASES)
def test_divergences(name):
    """Every pair with this class on the left, as PyTorch computes it or refuses it."""
    for other in CASES:
        if (name, other) == ("ContinuousBernoulli", "Uniform"):
            continue  # PyTorch: infinite also where the interval begins or ends at 0 or 1
        p, tp = make(engine, name)[0], make(torch, name)[0]
        q, tq = make(engine, other)[0], make(torch, other)[0]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)
            try:
                expected = torch.distributions.kl_divergence(tp, tq)
            except NotImplementedError:
                with pytest.raises(NotImplementedError):
                    engine.distributions.kl_divergence(p, q)
                continue
            except (RuntimeError, ValueError):
                continue
            assert close(engine.distributions.kl_divergence(p, q), expected, 1e-7), other


def test_the_same_names_are_public():
    assert set(engine.distributions.__all__) - {"constraints", "transforms", "utils"} == set(
        torch.distributions.__all__
    )
    assert set(engine.distributions.constraints.__all__) == set(
        torch.distributions.constraints.__all__
    )
    assert set(engine.distributions.transforms.__all__) == set(
        torch.distributions.transforms.__all__
    )


TRANSFORMS = {
    "exp": lambda d, t: d.ExpTransform(),
    "sigmoid": lambda d, t: d.SigmoidTransform(),
    "tanh": lambda d, t: d.TanhTransform(),
    "softplus": lambda d, t: d.SoftplusTransform(),
    "affine": lambda d, t: d.AffineTransform(1.0, -2.0),
    "affine event": lambda d, t: d.AffineTransform(t.ones(3), 2 * t.ones(3), event_dim=1),
    "stick": lambda d, t: d.StickBreakingTransform(),
    "softmax": lambda d, t: d.SoftmaxTransform(),
    "corr": lambda d, t: d.CorrCholeskyTransform(),
    "compose": lambda d, t: d.ComposeTransform([d.SigmoidTransform(), d.AffineTransform(0, 3.0)]),
    "independent": lambda d, t: d.IndependentTransform(d.ExpTransform(), 1),
    "reshape": lambda d, t: d.ReshapeTransform((3,), (3, 1)),
    "cat": lambda d, t: d.CatTransform([d.ExpTransform(), d.TanhTransform()], 0, [1, 2]),
    "stack": lambda d, t: d.StackTransform(
        [d.ExpTransform(), d.TanhTransform(), d.SigmoidTransform()], 0
    ),
    "inverse": lambda d, t: d.ComposeTransform([d.ExpTransform(), d.ExpTransform().inv]),
    "cumulative": lambda d, t: d.CumulativeDistributionTransform(d.Normal(0.0, 1.0)),
}


@pytest.mark.parametrize("name", TRANSFORMS)
def test_transforms(name):
    actual = TRANSFORMS[name](engine.distributions, engine)
    expected = TRANSFORMS[name](torch.distributions, torch)
    x, tx = engine.tensor([0.3, -0.4, 1.1]), torch.tensor([0.3, -0.4, 1.1])
    y, ty = actual(x), expected(tx)
    assert close(y, ty, 1e-5)
    assert close(actual.inv(y), expected.inv(ty), 1e-4)
    assert tuple(actual.forward_shape((3,))) == tuple(expected.forward_shape((3,)))
    assert actual.bijective == expected.bijective
    try:
        result = expected.log_abs_det_jacobian(tx, ty)
    except NotImplementedError:
        with pytest.raises(NotImplementedError):
            actual.log_abs_det_jacobian(x, y)
    else:
        assert close(actual.log_abs_det_jacobian(x, y), result, 1e-4, 1e-6)


REGISTRY = ["real", "positive", "unit_interval", "simplex", "corr_cholesky", "lower_cholesky"]


@pytest.mark.parametrize(
    ("registry", "name"), list(itertools.product(["biject_to", "transform_to"], REGISTRY))
)
def test_registry(registry, name):
    data = [[0.3, -0.2, 0.5], [0.1, 0.9, -1.0], [0.4, 0.2, 0.6]]
    results = []
    for t in (engine, torch):
        d = t.distributions
        try:
            transform = getattr(d, registry)(getattr(d.constraints, name))
        except NotImplementedError as error:
            results.append(str(error))
        else:
            y = transform(t.tensor(data))
            assert getattr(d.constraints, name).check(y).all()
            results.append(y)
    if isinstance(results[1], str):
        assert results[0] == results[1]
    else:
        assert close(results[0], results[1], 1e-5)
