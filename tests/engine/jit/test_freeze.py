"""`jit.freeze`: what becomes constant, what stays, what is refused."""

import pytest

import engine
from engine import jit, nn


class Scaled(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(3, 2)
        self.factor = 2.0
        self.calls = 0

    def forward(self, x):
        return self.linear(x) * self.factor

    @jit.export
    def label(self, x, offset: int = 1):
        return self.forward(x).argmax(1) + offset

    @jit.export
    def counted(self, x):
        self.calls += 1
        return x


X = engine.randn(4, 3)


def test_the_attributes_are_constants():
    module = Scaled().eval()
    frozen = jit.freeze(jit.script(module))
    assert "GetAttr" not in str(frozen.graph)
    assert "CallMethod" not in str(frozen.graph)
    expected = module(X)
    with engine.no_grad():
        module.linear.weight.zero_()
    assert engine.equal(frozen(X), expected) is False  # the memory is the module's own
    assert not list(frozen.parameters())
    assert frozen.original_name == "Scaled"


def test_methods_and_attributes_are_preserved_by_name():
    module = Scaled().eval()
    frozen = jit.freeze(jit.script(module), preserved_attrs=["label", "factor"])
    assert engine.equal(frozen.label(X), module.label(X))
    assert engine.equal(frozen.label(X, offset=3), module.label(X) + 2)
    frozen.factor = 10.0
    assert engine.allclose(frozen(X), module(X) * 5)
    assert "CallMethod" not in str(frozen.label.graph)


def test_without_being_named_they_go():
    frozen = jit.freeze(jit.script(Scaled().eval()))
    with pytest.raises(AttributeError, match="label"):
        frozen.label(X)


def test_a_method_that_sets_an_attribute():
    scripted = jit.script(Scaled().eval())
    with pytest.raises(
        RuntimeError, match="sets its attribute 'calls'; name it in preserved_attrs"
    ):
        jit.freeze(scripted, preserved_attrs=["counted"])
    frozen = jit.freeze(scripted, preserved_attrs=["counted", "calls"])
    frozen.counted(X)
    frozen.counted(X)
    assert frozen.calls == 2


class Labelled(Scaled):
    def __init__(self):
        super().__init__()
        self.name = "é\0"
        self.drop = nn.Dropout(0.5)  # asks for its probability, and raises

    def forward(self, x):
        return self.drop(self.linear(x)) * self.factor


def test_what_is_known_after_another_fold_is_folded():
    frozen = jit.freeze(jit.script(Labelled().eval()))
    assert not frozen.graph.findAllNodes("prim::If")
    assert not frozen.graph.findAllNodes("aten::__not__")


@pytest.mark.parametrize(
    "preserved", [["label"], ["name"], ["linear"], ["label", "name", "linear", "factor"]]
)
def test_a_frozen_module_is_saved_and_loaded(preserved, tmp_path):
    """Two methods hold the same weights, and an attribute may hold them as well: one tensor each."""
    module = Labelled().eval()
    frozen = jit.freeze(jit.script(module), preserved_attrs=preserved)
    frozen.save(tmp_path / "m")
    assert (tmp_path / "m").stat().st_size < 20_000
    loaded = jit.load(tmp_path / "m")
    assert engine.equal(loaded(X), module(X))
    if "label" in preserved:
        assert engine.equal(loaded.label(X, offset=3), module.label(X) + 2)
    if "name" in preserved:
        assert loaded.name == "é\0"
    loaded.save(tmp_path / "again")
    assert engine.equal(jit.load(tmp_path / "again")(X), module(X))


def test_a_model_of_the_first_version_is_loaded(tmp_path):
    """Its constants are counted, not named."""
    jit.freeze(jit.script(Scaled().eval())).save(tmp_path / "m")
    full = (tmp_path / "m").read_bytes()
    current = b'{\\"version\\":2,\\"constants\\":[\\"CONSTANTS.c0\\",\\"CONSTANTS.c1\\"],'
    old = b'{\\"version\\":1,\\"constants\\":2,'
    assert current in full
    (tmp_path / "old").write_bytes(full.replace(current, old + b" " * (len(current) - len(old))))
    assert engine.equal(jit.load(tmp_path / "old")(X), jit.load(tmp_path / "m")(X))


def test_refusals():
    with pytest.raises(RuntimeError, match="eval mode"):
        jit.freeze(jit.script(Scaled()))
    with pytest.raises(RuntimeError, match="no attribute or method 'nothing' to preserve"):
        jit.freeze(jit.script(Scaled().eval()), preserved_attrs=["nothing"])
    with pytest.raises(ValueError, match="expected a ScriptModule, got Scaled"):
        jit.freeze(Scaled().eval())


def trained(*layers):
    """In eval mode, with statistics and weights that are not those of a new layer."""
    module = nn.Sequential(*layers)
    for _ in range(3):
        module(engine.randn(4, 3, 8, 8) * 2 + 1)
    for layer in module:
        if isinstance(layer, nn.BatchNorm2d) and layer.affine:
            with engine.no_grad():
                layer.weight.copy_(engine.randn(layer.num_features))
                layer.bias.copy_(engine.randn(layer.num_features))
    return module.eval()


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("affine", [True, False])
def test_a_batch_norm_goes_into_the_weights_before_it(bias, affine):
    module = trained(
        nn.Conv2d(3, 6, 3, groups=3, bias=bias), nn.BatchNorm2d(6, affine=affine), nn.ReLU(),
        nn.Conv2d(6, 2, 3, padding="same", bias=bias), nn.BatchNorm2d(2, affine=affine),
    )  # fmt: skip
    weights = [parameter.clone() for parameter in module.parameters()]
    x = engine.randn(2, 3, 8, 8)
    frozen = jit.freeze(jit.script(module))
    assert "aten::batch_norm" not in str(frozen.graph)
    assert str(frozen.graph).count("aten::conv2d") == 2
    assert engine.allclose(frozen(x), module(x), atol=1e-4)
    assert all(map(engine.equal, weights, module.parameters()))
    exact = jit.freeze(jit.script(module), optimize_numerics=False)
    assert str(exact.graph).count("aten::batch_norm") == 2
    assert engine.equal(exact(x), module(x))


class Shared(nn.Module):
    """A convolution's result is read twice."""

    def __init__(self):
        super().__init__()
        self.conv, self.norm = nn.Conv2d(3, 3, 1), nn.BatchNorm2d(3)

    def forward(self, x):
        y = self.conv(x)
        return self.norm(y) + y


class Rows(nn.Module):
    """A batch_norm whose channels are not the columns of the linear before it."""

    def __init__(self):
        super().__init__()
        self.linear, self.norm = nn.Linear(4, 4), nn.BatchNorm1d(4)

    def forward(self, x):
        return self.norm(self.linear(x))


def test_a_batch_norm_stays_where_the_weights_are_not_all():
    shared = Shared().eval()
    frozen = jit.freeze(jit.script(shared))
    assert "aten::batch_norm" in str(frozen.graph)
    x = engine.randn(2, 3, 4, 4)
    assert engine.equal(frozen(x), shared(x))
    rows = Rows()
    rows(engine.randn(5, 4, 4) + 1)
    frozen = jit.freeze(jit.script(rows.eval()))
    x = engine.randn(5, 4, 4)
    assert engine.allclose(frozen(x), rows(x), atol=1e-6)
    assert engine.allclose(frozen(x[0]), rows(x[0]), atol=1e-6)
    traced = jit.freeze(jit.trace(rows, engine.randn(3, 4)))
    assert "aten::batch_norm" not in str(traced.graph)
    assert engine.allclose(traced(x[0]), rows(x[0]), atol=1e-5)
