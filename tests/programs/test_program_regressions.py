"""What the search for programs (search.py) found, each as small as it became, with PyTorch's result."""

from __future__ import annotations

import pytest

import engine
from engine import jit

LEAF = "a leaf Variable that requires grad is being used in an in-place operation"

# Statement that writes x: how much its version grows. However a kernel writes, it is one write.
WRITES = {
    "x.gt_(2)": 1,
    "x.eq_(x)": 1,
    "x.logical_not_()": 1,
    "x.add_(engine.ones(3, dtype=engine.float64))": 1,
    "x.resize_(3)": 0,
    "x.resize_(1, 3)": 1,
    "x.resize_as_(engine.zeros(3))": 0,
    "x.resize_as_(engine.zeros(2, 2))": 1,
    "engine.gt(engine.ones(3), 0, out=x)": 1,
    "engine.add(engine.ones(2), 1, out=x)": 1,
    "engine.add(engine.ones(3, dtype=engine.int64), 1, out=x)": 1,
    "engine.sum(engine.ones(2, 2), 0, out=x)": 1,
    "engine.cat([engine.ones(2), engine.ones(2)], out=x)": 1,
    "engine.arange(4, out=x)": 1,
    "engine.zeros(2, out=x)": 1,
    "engine.ones(3, out=x)": 1,
    "engine.index_select(engine.ones(2), 0, engine.tensor([0]), out=x)": 1,
    "engine.take(engine.ones(2), engine.tensor([0]), out=x)": 1,
    "engine.sort(engine.ones(2), out=(x, engine.zeros(2, dtype=engine.int64)))": 1,
    "x.set_(x.untyped_storage(), 1, (2,), (1,))": 1,
}


@pytest.mark.parametrize("statement", WRITES)
@pytest.mark.filterwarnings("ignore:An output")
def test_a_write_counts_once(statement: str) -> None:
    x = engine.ones(3)
    exec(statement, {"engine": engine, "x": x})
    assert x._version == WRITES[statement]


@pytest.mark.parametrize(
    "expression",
    [
        "x.slice_scatter(x, 1)",
        "x.select_scatter(x[0], 0, 0)",
        "x.diagonal_scatter(x[0, :2])",
        "x.as_strided_scatter(x[0, :2], (2,), (1,))",
    ],
)
def test_a_new_tensor_was_not_written(expression: str) -> None:
    assert eval(expression, {"x": engine.ones(2, 3)})._version == 0


# Strides, those of dimensions of size 1 and of empty tensors included.
STRIDES = {
    "engine.arange(3.0).view(1, 3).t().abs()": (1, 1),
    "engine.arange(3.0).view(1, 3).t() + 1": (1, 3),
    "engine.ones(2, 3, 2)[::2] * 1": (6, 2, 1),
    "engine.ones(2, 3).unfold(0, 1, 2).relu()": (3, 1, 1),
    "engine.zeros(2, 0).t() + 0.5": (1, 0),
    "engine.zeros(2, 0) + 0.5": (1, 1),
    "engine.arange(3).view(1, 3).t().to(engine.float64)": (1, 3),
    "engine.ones(3, 3).diagonal(2).double()": (4,),
    "engine.ones(2, 3, 2)[::2].clone()": (12, 2, 1),
    "engine.ones(1, 2)[..., 1] == 1": (1,),
    "engine.zeros_like(engine.ones(1, 3).t())": (1, 3),
}


@pytest.mark.parametrize("expression", STRIDES)
def test_strides(expression: str) -> None:
    assert eval(expression).stride() == STRIDES[expression]


@pytest.mark.parametrize("name", ["eq_", "ne_", "lt_", "le_", "gt_", "ge_"])
def test_a_comparison_written_in_place_ends_the_gradient(name: str) -> None:
    x, y = engine.ones(2, requires_grad=True), engine.ones(2, requires_grad=True)
    z = x * 3
    getattr(z, name)(y)
    assert z.grad_fn.name() == f"{name[:-1].capitalize()}Backward0"
    z.sum().backward()
    assert x.grad.tolist() == [0, 0]
    assert y.grad.tolist() == [0, 0]


@pytest.mark.parametrize(
    "statement", ["x.gt_(0)", "x.eq_(x)", "x.bitwise_and_(x)", "x.bitwise_not_()"]
)
def test_a_leaf_is_not_written_whatever_is_written(statement: str) -> None:
    with pytest.raises(RuntimeError, match=LEAF):
        exec(statement, {"x": engine.ones(2, requires_grad=True)})


def test_requires_grad_of_a_result_is_not_set() -> None:
    x = engine.ones(2, requires_grad=True) * 2
    with pytest.raises(RuntimeError, match="only change requires_grad flags of leaf variables"):
        x.requires_grad = True
    assert x.requires_grad_() is x


def test_broadcast_tensors_leaves_a_tensor_of_the_shape_as_it_is() -> None:
    x, y = engine.ones(2), engine.ones(2, 2)
    assert engine.broadcast_tensors(x, x)[0] is x
    first, second = engine.broadcast_tensors(x, y)
    assert second is y
    assert first._base is x

    @jit.script
    def both(x: engine.Tensor) -> list[engine.Tensor]:
        return engine.broadcast_tensors(x, x)

    assert both(x)[0] is x


def test_zeros_in_place_of_a_gradient_require_grad_with_create_graph() -> None:
    x, y = engine.ones(2, requires_grad=True), engine.ones(2, requires_grad=True)
    for create in (True, False):
        (zeros,) = engine.autograd.grad(
            x.sum(), y, create_graph=create, allow_unused=True, materialize_grads=True
        )
        assert zeros.requires_grad is create


def test_mT_of_a_number_is_itself() -> None:
    x = engine.tensor(1.5)
    assert x.mT is x
    assert x.mH is x

    @jit.script
    def transposed(x: engine.Tensor) -> engine.Tensor:
        return x.mT

    assert transposed(x) is x
    with pytest.raises(RuntimeError):
        engine.ones(2).mT  # noqa: B018


def test_set_takes_a_storage_a_part_of_it_and_nothing() -> None:
    source = engine.arange(6.0)
    x = engine.empty(0)
    assert x.set_(source.untyped_storage()) is x
    assert x.tolist() == [0, 1, 2, 3, 4, 5]
    assert x.set_(source.untyped_storage(), 1, (2, 2), (3, 1)).tolist() == [[1, 2], [4, 5]]
    assert x.set_(source, 2, (2,)).tolist() == [2, 3]
    x[0] = 9
    assert source[2].item() == 9
    bits = engine.empty(0, dtype=engine.int32).set_(source.untyped_storage())
    assert bits[1].item() == 0x3F800000
    x.set_(source.untyped_storage(), 5, (3,), (1,))  # grows
    assert source.untyped_storage().nbytes() == 32
    assert x[0].item() == 5
    assert x.set_().shape == (0,)
    for arguments, error in (
        ((source.untyped_storage(), -1, (2,), (1,)), RuntimeError),
        ((source.untyped_storage(), 0, (2,), (1, 1)), RuntimeError),
        ((source.untyped_storage(), 0, (2,), (-1,)), RuntimeError),
        ((source.untyped_storage(), 0), TypeError),
        ((source.double(), 0, (1,)), RuntimeError),
        ((source.double(),), RuntimeError),
        ((3,), TypeError),
    ):
        with pytest.raises(error):
            x.set_(*arguments)


def test_set_of_a_leaf_that_requires_grad_raises() -> None:
    x = engine.ones(2, requires_grad=True)
    with pytest.raises(RuntimeError, match=LEAF):
        x.set_(engine.ones(2).untyped_storage(), 0, (2,), (1,))


def test_what_is_a_view_and_what_is_not() -> None:
    x = engine.ones(2, 3)
    for new in (x.kron(x), x.rot90(), x.rot90(2), x.rot90(3)):
        assert new._base is None
        assert not new._is_view()
    assert x.cov()._is_view()


# Of x = ones(3, requires_grad=True) * 1: PyTorch counts overloads and in-place forms in the names of Nodes.
NODES = {
    "x.squeeze()": "SqueezeBackward0",
    "x.squeeze(0)": "SqueezeBackward1",
    "x.squeeze_()": "SqueezeBackward3",
    "x.squeeze_(0)": "SqueezeBackward4",
    "x.unsqueeze_(0)": "UnsqueezeBackward1",
    "x.t_()": "TBackward1",
    "x.transpose_(0, 0)": "TransposeBackward1",
    "x.as_strided_((3,), (1,))": "AsStridedBackward1",
    "x.fill_(1)": "FillBackward2",
    "x.fill_(engine.tensor(1.0))": "FillBackward3",
    "x.conj_physical_()": "ConjPhysicalBackward1",
    "x[None].kron(x)": "UnsafeViewBackward0",
}


@pytest.mark.parametrize("expression", NODES)
def test_names_of_nodes(expression: str) -> None:
    x = engine.ones(3, requires_grad=True) * 1
    assert eval(expression, {"x": x, "engine": engine}).grad_fn.name() == NODES[expression]


def test_data_in_a_script_counts_its_own_versions() -> None:
    @jit.script
    def write(x: engine.Tensor) -> engine.Tensor:
        x.data.mul_(2)
        return x.data

    x = engine.ones(2, requires_grad=True)
    assert write(x).requires_grad is False
    assert x.tolist() == [2, 2]
    assert x._version == 0
