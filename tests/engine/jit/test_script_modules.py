"""Scripted modules give what the Python modules give: programs/modules.py, and the engine's layers."""

import pytest
from test_script_results import same

import engine
from engine import jit, nn
from engine.jit.frontend import CompileError, class_of, compile_module
from tests.engine.jit.programs import modules


@pytest.mark.parametrize("name", modules.CASES)
def test_scripted_equals_python(name):
    build, args = modules.CASES[name]
    eager, scripted = modules.made(build), jit.script(modules.made(build))
    for _ in range(3):  # attributes are written by some
        same(eager(*args), scripted(*args))


IMAGE, SERIES, ROWS = engine.randn(2, 4, 6, 6), engine.randn(2, 4, 6), engine.randn(3, 4)
STEPS, LABELS = engine.randn(5, 3, 4), engine.tensor([0, 1, 2])
LAYERS = [
    (nn.Linear(4, 3), ROWS),
    (nn.Bilinear(4, 4, 2), ROWS, ROWS),
    (nn.Identity(), ROWS),
    (nn.ReLU(), ROWS),
    (nn.GELU("tanh"), ROWS),
    (nn.ELU(), ROWS),
    (nn.LeakyReLU(0.2), ROWS),
    (nn.Hardtanh(), ROWS),
    (nn.PReLU(), ROWS),
    (nn.SiLU(), ROWS),
    (nn.Softplus(), ROWS),
    (nn.Softmax(1), ROWS),
    (nn.LogSoftmax(1), ROWS),
    (nn.Dropout(0.5).eval(), ROWS),
    (nn.Dropout2d(0.5).eval(), IMAGE),
    (nn.Conv1d(4, 2, 3), SERIES),
    (nn.Conv2d(4, 2, 3, padding=1, stride=2), IMAGE),
    (nn.Conv2d(4, 2, 3, padding="same"), IMAGE),
    (nn.Conv2d(4, 4, 3, padding=1, padding_mode="reflect"), IMAGE),
    (nn.ConvTranspose2d(4, 2, 3), IMAGE),
    (nn.MaxPool2d(2), IMAGE),
    (nn.AvgPool2d(2), IMAGE),
    (nn.AdaptiveAvgPool2d((2, 3)), IMAGE),
    (nn.BatchNorm1d(4), ROWS),
    (nn.BatchNorm2d(4).eval(), IMAGE),
    (nn.InstanceNorm2d(4), IMAGE),
    (nn.LayerNorm(4), ROWS),
    (nn.GroupNorm(2, 4), IMAGE),
    (nn.RMSNorm(4), ROWS),
    (nn.Embedding(5, 3), LABELS),
    (nn.Flatten(), IMAGE),
    (nn.Unflatten(1, (2, 2)), ROWS),
    (nn.ZeroPad2d(1), IMAGE),
    (nn.PixelShuffle(2), IMAGE),
    (nn.CosineSimilarity(), ROWS, ROWS + 1),
    (nn.MSELoss(), ROWS, ROWS + 1),
    (nn.L1Loss(reduction="sum"), ROWS, ROWS + 1),
    (nn.HuberLoss(), ROWS, ROWS + 1),
    (nn.SmoothL1Loss(), ROWS, ROWS + 1),
    (nn.CrossEntropyLoss(), ROWS, LABELS),
    (nn.NLLLoss(), ROWS, LABELS),
    (nn.BCELoss(), ROWS.sigmoid(), ROWS.sigmoid()),
    (nn.BCEWithLogitsLoss(), ROWS, ROWS.sigmoid()),
    (nn.KLDivLoss(reduction="batchmean"), ROWS, ROWS.sigmoid()),
    (nn.RNNCell(4, 3), ROWS),
    (nn.RNNCell(4, 3, nonlinearity="relu"), ROWS, engine.ones(3, 3)),
    (nn.GRUCell(4, 3), ROWS[0], engine.ones(3)),
    (nn.LSTMCell(4, 3), ROWS, (engine.ones(3, 3), engine.zeros(3, 3))),
    (nn.RNN(4, 3, num_layers=2, bidirectional=True), STEPS),
    (nn.GRU(4, 3, batch_first=True), STEPS, engine.ones(1, 5, 3)),
    (nn.LSTM(4, 3), STEPS),
    (nn.LSTM(4, 3, proj_size=2), STEPS[:, 0], (engine.ones(1, 2), engine.zeros(1, 3))),
]


@pytest.mark.parametrize("case", LAYERS, ids=lambda case: repr(case[0]))
def test_layers_of_the_engine(case):
    layer, *args = case
    scripted = jit.script(layer)
    actual, expected = scripted(*args), layer(*args)
    for item, other in zip(flat(actual), flat(expected), strict=True):
        assert item.shape == other.shape
        assert engine.allclose(item, other, atol=1e-6)


def flat(nested):
    if isinstance(nested, engine.Tensor):
        return [nested]
    return [item for part in nested for item in flat(part)]


def test_errors_of_layers():
    with pytest.raises(jit.Error, match=r"builtins\.ValueError: expected 4D input"):
        jit.script(nn.BatchNorm2d(4))(ROWS)


def test_named_results_have_the_name_of_their_class():
    (result, others) = jit.script(modules.Named())(engine.ones(2))
    assert type(result).__name__ == type(others[0]).__name__ == "Result"
    assert (result.count, others[0].count) == (3, 4)


def test_exported_methods():
    module = jit.script(modules.Methods())
    assert engine.equal(module.other(engine.ones(2)), engine.ones(2) - 3)


def test_the_parameters_are_those_of_the_module():
    module = modules.MLP().eval()
    scripted = jit.script(module)
    with engine.no_grad():
        module.first.weight.zero_()
    x = engine.ones(1, 4)
    assert engine.equal(scripted(x), module(x))


def test_gradients_through_a_scripted_module():
    eager, other = modules.made(modules.Loop), modules.made(modules.Loop)
    scripted = jit.script(other)
    x = engine.arange(24.0).view(2, 3, 4) / 20
    eager(x)[0].sum().backward()
    scripted(x)[0].sum().backward()
    for item, two in zip(eager.parameters(), other.parameters(), strict=True):
        assert engine.allclose(item.grad, two.grad)


def test_one_structure_is_one_class():
    first, second = modules.MLP(), modules.MLP()
    assert class_of(first) is class_of(second)
    assert class_of(modules.Constants("a")) is not class_of(modules.Constants("b"))
    actual = compile_module(first)
    assert actual.class_name.startswith("__torch__.")
    assert actual.class_name.endswith(".MLP")
    assert set(actual.submodules) == {"first", "second", "dropout"}
    kinds = {item.name: item.kind for item in actual.submodules["first"].attributes}
    assert kinds == {"weight": "parameter", "bias": "parameter", "training": "attribute"}


class Untyped(nn.Module):
    def __init__(self):
        super().__init__()
        self.things = []

    def forward(self, x):
        return x + len(self.things)


class Reassigned(nn.Module):
    def __init__(self):
        super().__init__()
        self.n = 1

    def forward(self, x):
        self.n = "one"
        return x


class New(nn.Module):
    def forward(self, x):
        self.fresh = x
        return x


class Dynamic(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([nn.ReLU(), nn.Tanh()])

    def forward(self, x, i: int):
        return self.layers[i](x)


class Missing(nn.Module):
    def forward(self, x):
        return x + self.nothing


@pytest.mark.parametrize(
    ("module", "message"),
    [
        (Untyped, "Module 'Untyped' has no attribute 'things' \\(it is an empty list; say what it"),
        (Reassigned, "Wrong type for attribute assignment. Expected int but got str"),
        (New, "Tried to set fresh, which is not an attribute of module New"),
        (Dynamic, "the modules of ModuleList are indexed by constants that are there"),
        (Missing, "Module 'Missing' has no attribute 'nothing'"),
    ],
)
def test_refused(module, message):
    with pytest.raises(CompileError, match=message):
        jit.script(module())
