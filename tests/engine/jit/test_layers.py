"""Every layer of `engine.nn`, scripted and traced, saved and loaded: outputs and gradients as eager."""

import pytest

import engine
from engine import jit, nn
from tests.engine.jit.programs.layers import LAYERS

# What layers say of their age and of their arguments.
pytestmark = pytest.mark.filterwarnings("ignore")


def flat(nested):
    """The tensors of a result, in order."""
    if nested is None:
        return []
    return (
        [nested]
        if isinstance(nested, engine.Tensor)
        else [x for part in nested for x in flat(part)]
    )


def leaves(inputs, leaf_of):
    """The inputs as leaves that require gradients; what is one tensor stays one."""
    if isinstance(inputs, tuple):
        return tuple(leaves(item, leaf_of) for item in inputs)
    if isinstance(inputs, engine.Tensor) and inputs.is_floating_point():
        return leaf_of.setdefault(id(inputs), inputs.detach().clone().requires_grad_())
    return inputs


def outputs_and_gradients(module, inputs):
    """Return a module's outputs, and the gradients of its inputs and parameters."""
    results = {}
    actual = flat(module(*leaves(inputs, results)))
    sums = [(item.float() * (i + 1)).sum() for i, item in enumerate(actual) if item.requires_grad]
    parameters = list(module.parameters())
    for parameter in parameters:
        parameter.grad = None
    if sums:
        sum(sums).backward()
    return actual, [element.grad for element in [*results.values(), *parameters]]


def check_same(actual, expected):
    assert len(actual) == len(expected)
    for item, other in zip(actual, expected, strict=True):
        if item is None or other is None:
            assert item is other
            continue
        assert item.shape == other.shape
        assert item.dtype == other.dtype
        assert engine.allclose(item, other, atol=1e-5, equal_nan=True)


def layer_of(name):
    """A layer of the table, with the same parameters each time."""
    engine.manual_seed(0)
    return LAYERS[name][0]()


class Fixed(nn.Module):
    """A layer with those of its inputs that are not tensors: a trace takes tensors only."""

    def __init__(self, layer, inputs):
        super().__init__()
        self.layer = layer
        self.inputs = inputs

    def forward(self, *tensors):
        arguments = iter(tensors)
        fixed = (int, float, bool, type(None))
        actual = self.layer(*[x if isinstance(x, fixed) else next(arguments) for x in self.inputs])
        return tuple(flat(actual))


def compiled(mode, name, inputs):
    """A layer as compiled code, and the inputs that it takes."""
    if mode == "script":
        return jit.script(layer_of(name)), inputs
    layer, tensors = (
        layer_of(name),
        tuple(x for x in inputs if isinstance(x, (engine.Tensor, tuple))),
    )
    if len(tensors) < len(inputs):
        layer = Fixed(layer, inputs)
    return jit.trace(layer, tensors, check_trace=False), tensors


@pytest.mark.parametrize("mode", ["script", "trace"])
@pytest.mark.parametrize("name", LAYERS)
def test_a_compiled_layer_is_the_layer(name, mode, tmp_path):
    reference = outputs_and_gradients(layer_of(name), LAYERS[name][1])
    module, inputs = compiled(mode, name, LAYERS[name][1])
    jit.save(module, str(tmp_path / "layer.st"))
    for element in (module, jit.load(str(tmp_path / "layer.st"))):
        for item, expected in zip(outputs_and_gradients(element, inputs), reference, strict=True):
            check_same(item, expected)


def test_running_statistics_are_kept():
    for name in LAYERS:
        if "BatchNorm" not in name:
            continue
        eager, scripted = layer_of(name), jit.script(layer_of(name))
        for _ in range(3):
            eager(*LAYERS[name][1])
            scripted(*LAYERS[name][1])
        check_same([*scripted.buffers()], [*eager.buffers()])


# Without a forward, or another layer once they have seen an input.
ABSTRACT = {"Container", "Module", "RNNBase", "RNNCellBase"}
# Its chunks are an autograd.Function, which scripts do not have: there, Linear and CrossEntropyLoss.
EAGER_ONLY = {"LinearCrossEntropyLoss"}


def test_every_layer_is_in_the_table():
    kinds = {
        name
        for name in dir(nn)
        if isinstance(getattr(nn, name), type) and issubclass(getattr(nn, name), nn.Module)
    }
    target = {type(element).__name__ for name in LAYERS for element in layer_of(name).modules()}
    assert {item for item in kinds - target if not item.startswith("Lazy")} == ABSTRACT | EAGER_ONLY


def test_lazy_layers_are_scripted_once_they_have_seen_an_input():
    x = engine.ones(2, 3)
    layer = nn.LazyLinear(4)
    with pytest.raises(RuntimeError, match="'LazyLinear' has uninitialized parameters"):
        jit.script(layer)
    layer(x)
    assert engine.equal(jit.script(layer)(x), layer(x))
