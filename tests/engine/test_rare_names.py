"""Names that few scripts touch: equal to PyTorch's, or refused with a sentence that says what to do."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import engine

CASES: dict[str, Callable[[Any], Any]] = {
    "conv_tbc": lambda t: t.conv_tbc(
        t.arange(24.0).view(4, 2, 3), t.arange(18.0).view(2, 3, 3), t.ones(3), 1
    ),
    "cond": lambda t: t.cond(t.tensor(False), t.sin, t.cos, (t.zeros(2),)),
    "sym": lambda t: t.tensor([t.sym_max(3, 2.0), t.sym_min(1, 2), t.sym_int(-2.5)]),
    "asarray": lambda t: t.asarray(t.ones(2, requires_grad=True) * 2, requires_grad=False),
    "storage": lambda t: t.tensor(t.arange(4.0)[2:].storage().tolist()),
    "storages": lambda t: t.tensor(t.LongStorage([1, 2]).double().tolist()),
    "map2_": lambda t: t.arange(3.0).map2_(t.ones(3), t.ones(3), lambda a, b, c: a + b * c),
    "fake_quantize_per_tensor_affine": lambda t: t.fake_quantize_per_tensor_affine(
        t.linspace(-1, 2, 9), 0.1, 3, 0, 15
    ),
    "fake_quantize_per_channel_affine": lambda t: t.fake_quantize_per_channel_affine(
        t.linspace(-1, 2, 12).view(2, 3, 2),
        t.tensor([0.1, 0.2, 0.3]),
        t.tensor([0, 1, 2]).int(),
        1,
        0,
        7,
    ),
}
ORDERS = ((2, 3, 5, 7), (1, 2, 1, 3), ())


@pytest.mark.filterwarnings("ignore:TypedStorage is deprecated")
@pytest.mark.parametrize("name", CASES)
def test_values_are_those_of_pytorch(name: str) -> None:
    torch = pytest.importorskip("torch")
    result, expected = CASES[name](engine), CASES[name](torch)
    assert engine.allclose(result, engine.tensor(expected.tolist(), dtype=result.dtype))
    assert str(result.dtype).rpartition(".")[2] == str(expected.dtype).rpartition(".")[2]
    assert result.requires_grad == expected.requires_grad


@pytest.mark.parametrize("shape", ORDERS)
def test_dim_order(shape: tuple[int, ...]) -> None:
    torch = pytest.importorskip("torch")

    def orders(t: Any) -> list[Any]:
        x = t.empty(shape)
        return [v.dim_order() for v in (x, x.mT if x.dim() else x, x.expand(4, *shape))]

    assert orders(engine) == orders(torch)
    with pytest.raises(RuntimeError, match="unique dim order"):
        engine.empty(1, 2, 3, 4).dim_order(ambiguity_check=True)


def test_fake_quantize_passes_gradients_within_its_limits() -> None:
    x = engine.tensor([-9.0, 0.2, 9.0], requires_grad=True)
    engine.fake_quantize_per_tensor_affine(x, 0.1, 0, 0, 15).sum().backward()
    assert x.grad is not None
    assert x.grad.tolist() == [0.0, 1.0, 0.0]


@pytest.mark.parametrize("orthogonal_map", [None, "matrix_exp", "cayley", "householder"])
@pytest.mark.parametrize("use_trivialization", [False, True])
@pytest.mark.parametrize("sizes", [(4, 4), (5, 3), (3, 5)])
def test_orthogonal(orthogonal_map: str | None, use_trivialization: bool, sizes: Any) -> None:
    torch = pytest.importorskip("torch")
    weight = [[((3 * i + 7 * j) % 11) / 7 - 0.6 for j in range(sizes[1])] for i in range(sizes[0])]

    def results(t: Any) -> list[Any]:
        layer = t.nn.Linear(sizes[1], sizes[0], bias=False)
        is_fixed = not use_trivialization or sizes[0] == sizes[1]
        with t.no_grad():
            layer.weight.copy_(t.tensor(weight))
        t.nn.utils.parametrizations.orthogonal(
            layer, orthogonal_map=orthogonal_map, use_trivialization=use_trivialization
        )
        gram = (
            layer.weight.mT @ layer.weight
            if sizes[0] >= sizes[1]
            else layer.weight @ layer.weight.mT
        )
        if not is_fixed:
            return [gram]  # the base is completed with random columns
        (layer.weight**3).sum().backward()
        original = layer.parametrizations.weight.original
        return [gram, layer.weight, original.grad]

    if not use_trivialization and orthogonal_map != "householder":
        layer = engine.nn.utils.parametrizations.orthogonal(
            engine.nn.Linear(3, 3), orthogonal_map="cayley", use_trivialization=True
        )
        layer.parametrizations.weight[0].use_trivialization = False
        with pytest.raises(NotImplementedError, match="not possible to assign"):
            layer.weight = engine.eye(3)
        return
    for result, expected in zip(results(engine), results(torch), strict=True):
        assert engine.allclose(result, engine.tensor(expected.tolist()), atol=1e-5)


def test_transferred_parametrizations() -> None:
    from engine.nn.utils import parametrizations, parametrize

    source = parametrizations.weight_norm(engine.nn.Linear(2, 2))
    target = engine.nn.Linear(2, 2)
    parametrize.transfer_parametrizations_and_params(source, target)
    assert engine.equal(source.weight, target.weight)


def test_mapped_files(tmp_path: Path) -> None:
    path = tmp_path / "numbers"
    x = engine.from_file(path, shared=True, size=3, dtype=engine.int32)
    x.copy_(engine.tensor([1, 2, 3]))
    private = engine.from_file(path, size=2, dtype=engine.int32)
    private[0] = 9
    assert engine.from_file(path, size=3, dtype=engine.int32).tolist() == [1, 2, 3]
    with pytest.raises(RuntimeError, match="pass shared=True"):
        engine.from_file(path, size=4, dtype=engine.int32)


def test_a_counted_write_is_noticed() -> None:
    x = engine.ones(2, requires_grad=True)
    y = x.exp()
    result = y * y
    engine.autograd.graph.increment_version(y)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        result.sum().backward()


def test_as_subclass_stays_in_the_graph() -> None:
    class Own(engine.Tensor):
        pass

    x = engine.ones(2, requires_grad=True)
    y = (x * 2).as_subclass(Own)
    assert type(y) is Own
    y.sum().backward()
    assert x.grad is not None
    assert x.grad.tolist() == [2.0, 2.0]
    with pytest.raises(TypeError, match="does not inherit from Tensor"):
        x.as_subclass(int)  # type: ignore[type-var]


@pytest.mark.parametrize(
    ("owner", "name", "advice"),
    [
        ("", "quantize_per_tensor", "compute in float32 or bfloat16"),
        ("nn.functional", "scaled_mm", "the dtype is not here"),
        ("Tensor", "chalf", "the dtype is not here"),
        ("optim", "swap_in_optimizer_params_and_state", "make another optimizer"),
        ("utils.data", "IterDataPipe", "use Dataset"),
        ("compiler", "config", "jit.script"),
    ],
)
def test_an_absent_name_says_what_to_do(owner: str, name: str, advice: str) -> None:
    home: Any = engine
    for part in owner.split(".") if owner else ():
        home = getattr(home, part)
    with pytest.raises(AttributeError, match=advice):
        getattr(home, name)
    assert not hasattr(home, name)
    with pytest.raises(AttributeError, match="quantized tensors are not here"):
        _ = engine.ones(1).q_scale


def test_a_hook_after_accumulation_may_return_its_parameter() -> None:
    x = engine.zeros(2, requires_grad=True)
    x.register_post_accumulate_grad_hook(lambda p: p.sub_(p.grad))
    x.backward(engine.tensor([1.0, 2.0]))
    assert x.tolist() == [-1.0, -2.0]
    x.register_post_accumulate_grad_hook(lambda p: p.detach())
    with pytest.raises(RuntimeError, match="should return None"):
        x.backward(engine.ones(2))


def test_binomial_draws_from_its_generator() -> None:
    count, prob = engine.full((8,), 40.0), engine.full((8,), 0.4)
    before = engine.get_rng_state()
    first, again = (
        engine.binomial(count, prob, generator=engine.Generator().manual_seed(3)) for _ in range(2)
    )
    assert first.tolist() == again.tolist()
    assert engine.get_rng_state().tolist() == before.tolist()
    with pytest.raises(TypeError, match="must be Generator"):
        engine.binomial(count, prob, generator=3)  # type: ignore[arg-type]
