"""Programs that the search (search.py) found, reduced, with PyTorch's result."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
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
    "engine.ones(3, 2).t().masked_fill(engine.zeros(2, 3) > 0, 1)": (3, 1),
    "engine.arange(3.0).view(1, 3).t().square()": (1, 1),
    "engine.zeros(0, 1) ** 2": (1, 1),
    "engine.ones(3, 2).expand(2, 3, 2).mT.clone()": (6, 1, 2),
    "engine.zeros_like(engine.ones(2, 3).mT.expand(2, 3, 2))": (6, 1, 3),
    "engine.complex(engine.ones(2, 2).t(), engine.ones(2, 2).t())": (1, 2),
    "engine.ones(3, 3).t().kron(engine.ones(3, 3).t())": (1, 9),
    "engine.gt(engine.ones(2, 3).t(), 0, out=engine.zeros(()))": (1, 3),
    # Integers are converted to a dense copy before the loop.
    "engine.arange(12).view(2, 2, 3)[:, :1].transpose(0, 1).exp()": (6, 3, 1),
    "engine.zeros(2, 0, dtype=engine.int64).t().tanh()": (2, 1),
    "engine.arange(12.0).view(2, 2, 3)[:, :1].transpose(0, 1).exp()": (3, 3, 1),
    "engine.add(engine.ones(2, 0).t(), 1, out=engine.zeros(2, 0))": (1, 0),
}


@pytest.mark.parametrize("expression", STRIDES)
@pytest.mark.filterwarnings("ignore:An output")
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


def test_zeros_in_place_of_a_gradient_have_the_strides_of_the_input() -> None:
    x = engine.ones(3, 2).t().requires_grad_()
    other = engine.ones(2, requires_grad=True)
    (gradient,) = engine.autograd.grad(other.sum(), x, allow_unused=True, materialize_grads=True)
    assert gradient.stride() == (1, 2)


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
    "x[None, -3:]": "SliceBackward0",
    "x[..., -3:]": "SliceBackward0",
    "x[..., 0:]": "AliasBackward0",
    "x.sum().movedim(0, -1)": "AliasBackward0",
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


def test_a_tensor_that_moves_to_another_storage_counts_with_its_views() -> None:
    x, y = engine.zeros(3), engine.ones(4)
    view, of_y = x[:2], y[1:]
    x.set_(y)
    assert (x._version, view._version, y._version) == (1, 1, 0)
    view.add_(1)
    x.mul_(2)
    of_y.add_(1)
    assert (x._version, view._version, y._version) == (3, 3, 1)
    x.data = engine.zeros(2)
    view.add_(1)
    assert (x._version, view._version, x[:1]._version) == (4, 4, 4)
    z = engine.zeros(3)
    z.detach().set_(y)
    assert z._version == 1


def test_a_write_through_a_view_that_stayed_behind_is_noticed_by_backward() -> None:
    x = engine.ones(2)
    w = engine.ones(2, requires_grad=True)
    view = x[:]
    product = w * x
    x.set_(engine.zeros(2))
    view.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        product.sum().backward()


@pytest.mark.parametrize(
    "call", ["x.resize_(4)", "x[:].resize_(4)", "x.resize_as_(engine.ones(2))"]
)
def test_what_requires_grad_is_not_resized_whatever_the_grad_mode(call: str) -> None:
    x = engine.ones(3, requires_grad=True)
    for enabled in (True, False):
        with (
            engine.set_grad_enabled(enabled),
            pytest.raises(RuntimeError, match="cannot resize variables that require grad"),
        ):
            eval(call, {"x": x, "engine": engine})
    assert x.shape == (3,)
    assert x.detach().resize_(1).shape == (1,)
    with engine.no_grad():
        assert engine.add(engine.ones(2), 1, out=engine.ones(3, requires_grad=True)).shape == (2,)


# Expression of x = tensor(1.0), y = ones(2, 3, requires_grad=True): the class of its error.
RAISES = {
    "x.unflatten(0, (1, -1))": RuntimeError,
    "x.permute()": TypeError,
    "x.view()": TypeError,
    "x.reshape()": TypeError,
    "x.expand()": TypeError,
    "x.repeat()": TypeError,
    "x.flip()": TypeError,
    "~x": TypeError,
    "~engine.ones(2, dtype=engine.complex64)": TypeError,
    "x.bitwise_not()": NotImplementedError,
    "y.sum(dtype=engine.int64)": RuntimeError,
    "y.cumsum(0, dtype=engine.int32)": RuntimeError,
    "y.prod(0, dtype=engine.bool)": RuntimeError,
    "engine.ones(3).put_(engine.tensor([0, 1]), engine.ones(3))": IndexError,
    "engine.ones(3).index_add_(0, engine.tensor([0, 0]), engine.tensor(1.0))": IndexError,
    "engine.ones(4).index_add(0, engine.tensor([0]), engine.tensor(1.0))": RuntimeError,
    "y.detach().index_copy_(0, engine.tensor([0]), y.detach())": RuntimeError,
    "y.detach().index_put_((engine.tensor([0, 0]),), y.detach())": RuntimeError,
    "x.index_put_((x > 0,), x)": IndexError,
    "engine.ones(2).index_put_((engine.tensor([5]),), engine.ones(1).long())": RuntimeError,
    "engine.tensor([1, 'a'])": TypeError,
    "engine.tensor(b'ab')": TypeError,
    "engine.tensor([b'a'])": TypeError,
    "engine.where(x > 0, x, 1, out=engine.empty(()))": TypeError,
    "x.mv(x)": IndexError,
    "engine.ones(3, dtype=engine.bool).trace()": NotImplementedError,
    "engine.ones(2, 0).index_select(1, engine.tensor([0]))": RuntimeError,
    "y.detach().broadcast_to(())": RuntimeError,
    "y.detach().t()[:, :1].view(engine.uint8)": RuntimeError,
    "engine.clamp(y.detach(), 0, 1, out=y.detach().double())": RuntimeError,
    "y.detach().scatter_(0, engine.zeros(2, 3, dtype=engine.int64), engine.ones(3))": IndexError,
    "y.detach().scatter_(0, engine.zeros(2, 3, dtype=engine.int64), engine.ones(2, 3, 1))": RuntimeError,
}


@pytest.mark.parametrize("expression", RAISES)
def test_classes_of_errors(expression: str) -> None:
    x, y = engine.tensor(1.0), engine.ones(2, 3, requires_grad=True)
    with pytest.raises(Exception) as caught:  # noqa: PT011 - the class is compared
        eval(expression, {"engine": engine, "x": x, "y": y})
    assert caught.type is RAISES[expression]


def test_an_integer_of_a_tensor_that_requires_grad_has_no_gradient() -> None:
    y = engine.ones(2, requires_grad=True)
    assert not y.long().requires_grad
    assert not y.to(engine.bool).requires_grad
    assert y.sum(dtype=engine.float64).requires_grad
    assert engine.Tensor.__rsub__(2, 3) is NotImplemented  # type: ignore[arg-type]


def test_strides_of_gradients() -> None:
    empty = engine.zeros(2, 0, requires_grad=True)
    empty.sum().backward()
    assert empty.grad.stride() == (1, 1)
    expanded = engine.ones(1).expand(3).requires_grad_()
    expanded.sum().backward()
    assert expanded.grad.stride() == (1,)
    spaced = engine.ones(4)[::2].requires_grad_()
    (spaced * engine.ones(2)).sum().backward()
    assert spaced.grad.stride() == (1,)
    turned = engine.ones(2, 3).t().requires_grad_()
    turned.square().sum().backward()
    assert turned.grad.stride() == (1, 3)


# Statement that writes x = arange(3).expand(2, 3), whose rows are one memory: what a row is then.
SHARED = {
    "x.masked_fill_(x > 0, -1)": [0, -1, -1],
    "x[x > 0] = -1": [0, -1, -1],
    "x.index_fill_(1, engine.tensor([0]), 5)": [5, 1, 2],
    "x[:, engine.tensor([0, 2])] = 5": [5, 1, 5],
    "x.index_put_((engine.tensor([0]), engine.tensor([1])), engine.tensor(4))": [0, 4, 2],
    "x.copy_(x[:])": [0, 1, 2],
}


@pytest.mark.parametrize("statement", SHARED)
def test_elements_that_share_memory_are_written(statement: str) -> None:
    x = engine.arange(3).expand(2, 3)
    exec(statement, {"engine": engine, "x": x})
    assert x.tolist() == [SHARED[statement]] * 2


def test_what_is_written_is_read_as_it_was() -> None:
    x = engine.arange(6).view(2, 3)
    x[...] = x[:, :1]
    assert x.tolist() == [[0, 0, 0], [3, 3, 3]]
    x = engine.arange(3)
    x.masked_scatter_(engine.tensor([False, True, True]), x)
    assert x.tolist() == [0, 0, 1]


def test_an_inplace_view_leaves_the_history_of_its_base() -> None:
    base = engine.ones(2, 3, requires_grad=True) * 2
    view = base[:1]
    for change in (
        "t_()",
        "unsqueeze_(0)",
        "squeeze_()",
        "transpose_(0, 0)",
        "as_strided_((2,), (1,))",
    ):
        eval(f"view.{change}", {"view": view})
    assert base.grad_fn.name() == "MulBackward0"
    assert view.grad_fn.name() == "AsStridedBackward1"
    assert view.shape == (2,)


def test_unique_has_a_node_and_no_derivative() -> None:
    x = engine.ones(3, requires_grad=True)
    assert x.unique().grad_fn.name() == "Unique2Backward0"
    assert engine.unique(x[None], dim=0).grad_fn.name() == "UniqueDimBackward0"
    values, inverse = x.unique_consecutive(return_inverse=True)
    assert values.grad_fn.name() == "UniqueConsecutiveBackward0"
    assert not inverse.requires_grad
    with pytest.raises(
        NotImplementedError, match="the derivative for '_unique2' is not implemented"
    ):
        x.unique().sum().backward()


def test_data_in_a_trace_counts_its_own_versions() -> None:
    def write(x: engine.Tensor) -> engine.Tensor:
        x.data.mul_(2)
        return x + 1

    traced = jit.trace(write, (engine.ones(2),), check_trace=False)
    x = engine.ones(2, requires_grad=True)
    assert traced(x).tolist() == [3, 3]
    assert x._version == 0


def test_compiled_code_returns_a_view_and_not_its_input() -> None:
    @jit.script
    def full_slice(x: engine.Tensor) -> engine.Tensor:
        return x[:]

    x = engine.ones(2, requires_grad=True)
    for _ in range(4):
        assert full_slice(x) is not x
        assert full_slice(x).grad_fn is not None


def test_a_script_views_as_another_dtype() -> None:
    @jit.script
    def bits(x: engine.Tensor) -> engine.Tensor:
        return x.view(engine.int32)

    assert bits(engine.ones(2)).tolist() == [0x3F800000] * 2


@pytest.mark.parametrize("index", [(), ..., slice(None)])
def test_an_assignment_to_all_elements_is_a_copy(index: Any) -> None:
    x, y = engine.zeros(2), engine.ones(2, requires_grad=True)
    x[index] = y
    assert x.grad_fn.name() == "CopyBackwards"


# Statement that assigns to x = arange(6).view(2, 3), and x then.
ASSIGNED = {
    "x[...] = x.unbind()[1]": [[3, 4, 5], [3, 4, 5]],
    "x[None] = x": [[0, 1, 2], [3, 4, 5]],
    "x[()] = x.split(1)[0]": [[0, 1, 2], [0, 1, 2]],
    "x[True] = 7": [[7, 7, 7], [7, 7, 7]],
    "x[True] = engine.tensor([7, 8, 9])": [[7, 8, 9], [7, 8, 9]],
    "x[True, :1] = engine.tensor([7, 8, 9])": [[7, 8, 9], [3, 4, 5]],
    "x[False, :1] = 7": [[0, 1, 2], [3, 4, 5]],
}


@pytest.mark.parametrize("statement", ASSIGNED)
def test_assignments(statement: str) -> None:
    x = engine.arange(6).view(2, 3)
    exec(statement, {"engine": engine, "x": x})
    assert x.tolist() == ASSIGNED[statement]


def test_errors_of_an_assignment_come_in_pytorchs_order() -> None:
    leaf = engine.ones(2, 3, requires_grad=True)
    with pytest.raises(RuntimeError, match=LEAF):  # before the shape of the mask
        leaf[engine.tensor([True])] = 1
    with pytest.raises(IndexError):
        leaf.detach()[engine.tensor([True])] = 1
    with pytest.raises(RuntimeError, match="without overflow"):
        leaf.detach()[False] = 1j
    with pytest.raises(RuntimeError, match="source and destination dtypes match"):
        engine.zeros(2, 3)[engine.tensor(True), :2] = engine.tensor(1)
    with pytest.raises(RuntimeError, match="single memory location"):
        engine.zeros(3).expand(2, 3)[True] = 2


def test_a_number_as_a_tensor_is_filled_in() -> None:
    x = engine.zeros(2, 3)
    x[...] = engine.tensor(2.0, requires_grad=True)
    assert x.grad_fn.name() == "FillBackward3"


# Statement that writes x = arange(3.).expand(3, 3), whose rows are one memory: what a row is then.
TRIANGLES = {
    "x.tril_()": [0, 0, 0],
    "x.triu_(1)": [0, 0, 0],
    "x.tril_(1)": [0, 1, 0],
    "x.index_put_((engine.tensor([0, 0]),), engine.ones(3), True)": [2, 3, 4],
}


@pytest.mark.parametrize("statement", TRIANGLES)
def test_writes_of_expanded_tensors(statement: str) -> None:
    x = engine.arange(3.0).expand(3, 3)
    exec(statement, {"engine": engine, "x": x})
    assert x[0].tolist() == TRIANGLES[statement]


def test_triangles_are_cut_in_place_whatever_the_strides() -> None:
    for x in (
        engine.ones(2, 3, 4),
        engine.ones(2, 4, 3).mT,
        engine.ones(3, 4, 2).permute(2, 0, 1),
        engine.ones(2, 2, 3, 3).transpose(0, 1),
    ):
        for diagonal in (-5, -1, 0, 1, 5):
            for name in ("tril", "triu"):
                expected = getattr(x, name)(diagonal)
                assert getattr(x.clone(), name + "_")(diagonal).equal(expected)


@pytest.mark.filterwarnings("ignore:An output")
def test_out_that_is_expanded_is_resized_before_it_is_written() -> None:
    for call, sizes in (
        ("engine.arange(4, out=x)", (4,)),
        ("engine.zeros(2, 3, out=x)", (2, 3)),
        ("engine.prod(engine.ones(2, 3), 0, out=x)", (3,)),
    ):
        x = engine.ones(1).expand(2, 2, 2)
        eval(call, {"engine": engine, "x": x})
        assert x.shape == sizes
        assert x.is_contiguous()


def test_backward_to_results_retains_their_gradients() -> None:
    x = engine.ones(3, requires_grad=True)
    y = x * 2
    y.sum().backward(inputs=[y], retain_graph=True)
    assert y.retains_grad
    assert y.grad.tolist() == [1, 1, 1]
    y.sum().backward(inputs=[y], retain_graph=True)
    assert y.grad.tolist() == [2, 2, 2]
    y.sum().backward()
    assert y.grad.tolist() == [3, 3, 3]
    assert x.grad.tolist() == [2, 2, 2]


# Strides of empty tensors, and of what an index of tensors reads.
MORE_STRIDES = {
    "engine.ones(2, 3)[:, 0:0].clone()": (3, 1),
    "engine.ones(2, 3)[:, 0:0].half()": (3, 1),
    "engine.ones(2, 3)[0:0, ::2].to(engine.float64)": (3, 2),
    "engine.ones(3, 2, 2)[engine.tensor([], dtype=engine.int64), None]": (4, 0, 2, 1),
    "engine.ones(4)[engine.tensor([], dtype=engine.int64), None]": (1, 1),
    "engine.ones(1, 2, 2)[engine.tensor([0]), None]": (4, 4, 2, 1),
    "engine.ones(2, 1, 2).permute(2, 0, 1)[None, engine.tensor([0])]": (1, 1, 1, 1),
    "engine.ones(2, 1, 2).permute(2, 0, 1)[:, engine.tensor([0])]": (1, 2, 2),
    "engine.ones(2, 3)[:, 0].select_scatter(engine.ones(()), 0, 0)": (3,),
    "engine.ones(2, 3).t().slice_scatter(engine.zeros(3, 1), 1, 0, 1)": (1, 3),
}


@pytest.mark.parametrize("expression", MORE_STRIDES)
def test_strides_of_the_empty_and_the_indexed(expression: str) -> None:
    assert eval(expression).stride() == MORE_STRIDES[expression]


def test_a_scattered_copy_has_the_storage_of_its_input() -> None:
    x = engine.arange(12.0).view(2, 2, 3)[1]
    for copy in (x.select_scatter(engine.zeros(3), 0, 0), x.diagonal_scatter(engine.zeros(2))):
        assert copy.storage_offset() == 6
        assert copy.untyped_storage().nbytes() == 48
    shared = engine.ones(1).expand(3).select_scatter(engine.zeros(()), 0, 1)
    assert shared.tolist() == [1, 0, 1]


def test_ifft_into_an_empty_out_is_row_major_for_complex_numbers() -> None:
    x = engine.ones(4, 5, 6, dtype=engine.complex64)
    out = engine.empty(0, dtype=engine.complex64)
    assert engine.fft.ifft(x, dim=1, out=out).stride() == (30, 6, 1)


def test_detach_in_place_in_a_script() -> None:
    @jit.script
    def forget(x: engine.Tensor) -> engine.Tensor:
        y = x * 2
        y.detach_()
        return y * x

    x = engine.ones(2, requires_grad=True)
    for _ in range(4):
        x.grad = None
        forget(x).sum().backward()
        assert x.grad.tolist() == [2, 2]

    @jit.script
    def forget_view(x: engine.Tensor) -> engine.Tensor:
        return x[:1].detach_()

    with pytest.raises(RuntimeError, match="Can't detach views in-place"):
        forget_view(engine.ones(2))


@pytest.mark.parametrize("view", ["[...]", "[()]", "[:]", ".transpose(0, 0)", ".permute(0)"])
def test_compiled_code_returns_a_new_object_for_a_view(view: str) -> None:
    unit = jit.CompilationUnit(f"def f(x):\n    y = x{view}\n    return x, y\n")
    x = engine.ones(2)
    for _ in range(4):
        same, other = unit.f(x)
        assert same is x
        assert other is not x
        assert other._base is x


def test_a_trace_expands_what_is_assigned() -> None:
    def assign(x: engine.Tensor, y: engine.Tensor) -> engine.Tensor:
        x[None] = x
        x[:] = y
        return x + 1

    traced = jit.trace(assign, (engine.ones(2, 3), engine.ones(1, 3)), check_trace=False)
    assert "aten::expand" in str(traced.graph)
    assert traced(engine.ones(2, 3), engine.arange(3.0).view(1, 3)).tolist() == [[1, 2, 3]] * 2


# What a statement leaves in `y`, which is x * 1 of a leaf: the Node's name.
HISTORIES = {
    "y = (y * 1j).conj_physical()": "ConjPhysicalBackward0",
    "y = y[:0].chunk(2)[0]": "SplitWithSizesBackward0",
    "y = y.chunk(2)[0]": "SplitBackward0",
    "y = (y * 1j).square()": "PowBackward0",
    "y.square_()": "PowBackward0",
    "y.div_(2, rounding_mode='floor')": "DivBackward2",
    "y = y.t().reshape(3, 3)": "ReshapeAliasBackward0",
    "y = y.reshape(9)": "ViewBackward0",
    "y[:3] = y": "CopyBackwards",
    "y[0:, :5] = y": "CopyBackwards",
    "y[:3, :5] *= 2": "CopyBackwards",
    "y[1:] = 2": "torch::autograd::CopySlices",
    "y.fill_diagonal_(1)": "torch::autograd::CopySlices",
    "y = y.sum(); y[()] = 3": "CopyBackwards",
    "engine.diag(x, out=y)": "NotImplemented",
    "engine.arange(3, out=y)": "NotImplemented",
}


@pytest.mark.parametrize("statement", HISTORIES)
@pytest.mark.filterwarnings("ignore:An output")
def test_name_of_the_node(statement: str) -> None:
    x = engine.ones(3, 3, requires_grad=True)
    names = {"engine": engine, "x": x, "y": x * 1}
    exec(statement, names)
    assert names["y"].grad_fn.name() == HISTORIES[statement]


# Expression: the class of its error, or None. Where nothing is compared PyTorch asks for no order.
ERRORS = {
    "engine.zeros(0, dtype=engine.complex64).median()": None,
    "engine.zeros(0, dtype=engine.uint8).median()": None,
    "engine.zeros(0, dtype=engine.complex64, requires_grad=True).median()": RuntimeError,
    "engine.ones(2, dtype=engine.complex64).median()": NotImplementedError,
    "engine.zeros(0, dtype=engine.complex64).median(0)": IndexError,
    "engine.zeros(0, dtype=engine.complex64).cummax(3)": None,
    "engine.ones((), dtype=engine.complex64).cummax(0)": None,
    "engine.ones((), dtype=engine.complex64).kthvalue(1)": None,
    "engine.zeros((0, 2), dtype=engine.complex64).kthvalue(1, 1)": NotImplementedError,
    "engine.zeros((0, 2), dtype=engine.complex64).mode(1)": None,
    "engine.zeros(0, dtype=engine.int64).softmax(0)": None,
    "engine.zeros((2, 0), dtype=engine.complex64).amax(0)": None,
    "engine.zeros(0, dtype=engine.complex64).max(3)": IndexError,
    "engine.ones(2, dtype=engine.complex64, requires_grad=True).slice_scatter(engine.ones(2) * 1j)": RuntimeError,
    "engine.ones(2, dtype=engine.complex64).expand(2, 2).relu_()": NotImplementedError,
    "engine.ones(2, dtype=engine.complex64).expand(2, 2).clamp_(min=0)": NotImplementedError,
    "engine.ones(2, dtype=engine.complex64).expand(2, 2).round_()": RuntimeError,
    "engine.ones(2, 3).half().cross(engine.ones(2, 3))": RuntimeError,
    "engine.zeros(2, 0)[[5]]": None,
    "engine.zeros(0, 2)[[5]]": IndexError,
    "engine.zeros(3).scatter_add_(0, engine.tensor([0, 0, 0]), engine.ones(()))": RuntimeError,
    "engine.ones(4).index_put_((engine.tensor(0),), engine.ones(1), True)": RuntimeError,
    "engine.zeros(0).index_put_((engine.tensor(0),), engine.tensor([1]))": IndexError,
    "engine.cat([engine.zeros(0), engine.zeros(0)], 3)": None,
    "engine.stack([engine.arange(4), engine.tensor(1)], out=engine.tensor(True))": RuntimeError,
    "engine.ones(2, dtype=engine.uint8).__setitem__(5, 300)": RuntimeError,
    "engine.ones(2, dtype=engine.uint8).__setitem__(False, 300)": RuntimeError,
    "engine.zeros(2, out=engine.ones(2, dtype=engine.complex64, requires_grad=True))": RuntimeError,
    "engine.zeros(0).half().set_(engine.full((3,), 3), 0, (2,), (1,))": None,
    "engine.tensor(1.0).index_add(0, engine.tensor([0]), engine.ones(1))": RuntimeError,
    "engine.tensor(1.0).index_reduce(0, engine.tensor([0]), engine.ones(1), 'prod')": RuntimeError,
    "engine.ones(1, 0).index_add(1, engine.tensor([0]), engine.ones(1, 1))": None,
    "engine.ones(2, 2).index_fill(0, engine.tensor([[0]]), 1)": RuntimeError,
    "engine.nn.functional.hardtanh_(engine.ones(2, dtype=engine.complex64).expand(3, 2))": NotImplementedError,
    "engine.take(engine.ones(2), engine.tensor(0), out=engine.ones(1).expand(3))": RuntimeError,
    "engine.index_select(engine.ones(2), 0, engine.tensor([0]), out=engine.ones(1).expand(3))": RuntimeError,
    "engine.masked_select(engine.ones(3), engine.ones(3) > 2, out=engine.ones(1).expand(3))": RuntimeError,
    "engine.abs(engine.ones(2) * 1j, out=engine.ones(2, dtype=engine.complex128))": RuntimeError,
    "engine.abs(engine.ones(2) * 1j, out=engine.ones(2, dtype=engine.complex64))": None,
    "engine.abs(engine.ones(2) * 1j, out=engine.ones(2, dtype=engine.float64))": None,
    "(engine.ones(2) * 1j).random_()": NotImplementedError,
    "(engine.ones(2) * 1j).random_(3)": RuntimeError,
    "engine.ones(2).random_(0)": RuntimeError,
    "engine.svd_lowrank(engine.tensor(1.0))": ValueError,
    "(engine.ones(2, 0) > 0) @ (engine.ones(0, 2) > 0)": None,
    "(engine.ones(2, 1) > 0) @ (engine.ones(1, 2) > 0)": NotImplementedError,
    # A tuple that may have any length is not an int; one that has a length in the schema may be.
    "engine.full(2, 3)": TypeError,
    "engine.ones(2).new_full(2, 3)": TypeError,
    "engine.empty_strided(2, 1)": TypeError,
    "engine.as_strided(engine.ones(4), 2, 1)": TypeError,
    "engine.nn.functional.layer_norm(engine.ones(4), 4)": TypeError,
    "engine.full(engine.tensor([2]), 3)": TypeError,
    "engine.zeros(4).view(range(4))": TypeError,
    "engine.zeros(4).view(4)": None,
    "engine.zeros(4).sum(0)": None,
    "engine.zeros(4).roll(1)": None,
    "engine.zeros(2, 3).movedim(0, 1)": None,
    "engine.zeros(2, 3).squeeze(0).all(0).any(0)": None,
    "engine.zeros(2).sum(True)": TypeError,
    "engine.ones(2, dtype=engine.bool).mvlgamma(1)": RuntimeError,
    # PyTorch looks at the dtype of out= first.
    "engine.take(engine.zeros(0), engine.tensor([0]), out=engine.zeros(0).double())": RuntimeError,
    "engine.take(engine.zeros(0), engine.tensor([0]), out=engine.zeros(0))": IndexError,
    "engine.amax(engine.ones(2), 5, out=engine.zeros(0).double())": RuntimeError,
    "engine.matmul(engine.ones(2) > 0, engine.ones(2) > 0, out=engine.zeros(()))": RuntimeError,
    "engine.matmul(engine.ones(2, 2) > 0, engine.ones(2) > 0, out=engine.zeros(2))": RuntimeError,
    "engine.matmul(engine.ones(2) > 0, engine.ones(2) > 0, out=engine.zeros(()) > 0)": NotImplementedError,
    "engine.amin(engine.ones(2), 5, out=engine.zeros(0))": IndexError,
    "engine.amax(engine.ones(2) * 1j, 0, out=engine.zeros(()))": RuntimeError,
    "engine.mean(engine.ones(2), 0, out=engine.zeros((), dtype=engine.int64))": RuntimeError,
    "engine.mean(engine.ones(2) * 1j, 0, dtype=engine.complex64, out=engine.zeros(()))": RuntimeError,
    "engine.nanmean(engine.ones(2), 0, out=engine.zeros((), dtype=engine.complex64))": NotImplementedError,
    "engine.nanmean(engine.ones(2), 0, dtype=engine.float32, out=engine.zeros(()).double())": RuntimeError,
    # It read memory past the source.
    "engine.zeros(()).scatter_add_(0, engine.tensor(0), engine.zeros(0))": RuntimeError,
    "engine.zeros(1).scatter_(0, engine.tensor(0), engine.zeros(0))": RuntimeError,
    "engine.zeros(()).scatter_reduce_(0, engine.tensor(0), engine.zeros(0), 'sum')": RuntimeError,
    "engine.zeros(()).scatter_add_(0, engine.tensor([0]), engine.ones(()))": None,
    # No element to convolve, in a channel that there is.
    "engine.conv_transpose1d(engine.ones(1, 2, 0), engine.ones(2, 3, 2))": RuntimeError,
    "engine.conv1d(engine.ones(1, 2, 0), engine.ones(3, 2, 2), padding=1)": RuntimeError,
    "engine.conv_transpose1d(engine.ones(0, 2, 3), engine.ones(2, 3, 2))": None,
}


@pytest.mark.parametrize("expression", ERRORS)
def test_class_of_the_error(expression: str) -> None:
    error = ERRORS[expression]
    if error is None:
        eval(expression)
        return
    with pytest.raises(error) as raised:
        eval(expression)
    assert raised.type is error


def test_a_factory_decides_whether_its_out_requires_grad() -> None:
    x = engine.ones(3, requires_grad=True)
    with engine.no_grad():
        engine.arange(3, out=x)
    assert not x.requires_grad
    y = engine.ones(3, requires_grad=True) * 1
    engine.zeros(3, out=y)
    assert y.requires_grad


def test_a_retained_gradient_is_a_row_major_copy() -> None:
    x = engine.ones(2, 3, requires_grad=True)
    y = x * 1
    y.retain_grad()
    y.sum().backward(retain_graph=True)
    assert y.grad.stride() == (3, 1)
    y.grad = None
    passed = engine.ones(2, 3)
    y.backward(passed)
    assert y.grad.data_ptr() != passed.data_ptr()


def test_the_gradient_of_a_sum_repeats_one_number() -> None:
    x = engine.ones(1, 3, requires_grad=True) * 1
    assert engine.autograd.grad(x.sum(), x)[0].stride() == (0, 0)


def test_a_square_in_place_is_saved_before_it_is_written() -> None:
    x = engine.tensor([1.0, 2.0], requires_grad=True)
    y = x * 3
    y.square_()
    y.square_()
    assert y._version == 2
    y.sum().backward()
    assert x.grad.tolist() == [324, 2592]


@pytest.mark.parametrize(
    "text",
    [
        "x * 2", "2 * x", "x / 2", "x * True", "x.clone().mul_(2)", "x.clone().div_(2)", "x.div(2.5)",
    ],
)  # fmt: skip
def test_a_number_that_pytorch_saves_as_a_tensor_is_released_with_the_graph(text: str) -> None:
    y = eval(text, {"x": engine.ones(2, requires_grad=True)})
    y.sum().backward(retain_graph=True)
    y.sum().backward()
    with pytest.raises(RuntimeError, match="a second time"):
        y.sum().backward()


@pytest.mark.parametrize("text", ["x + 2", "2 - x", "x - 1", "x % 2", "x.fmod(2)", "-x"])
def test_a_second_backward_of_what_saves_nothing(text: str) -> None:
    x = engine.ones(2, requires_grad=True)
    y = eval(text, {"x": x})
    y.backward(engine.ones(2))
    y.backward(engine.ones(2))
    assert x.grad.abs().tolist() == [2, 2]


def test_a_saved_operand_that_no_gradient_needs_is_none() -> None:
    node = (engine.ones(2, requires_grad=True) * 2).grad_fn
    assert (node._saved_self, node._saved_other) == (None, 2)


def test_a_view_whose_base_is_written_is_named_after_its_conversion() -> None:
    x = engine.zeros(2, 2, requires_grad=True) * 1
    z = engine.zeros(2, dtype=engine.complex64, requires_grad=True) * 1
    as_complex, as_real = engine.view_as_complex(x), engine.view_as_real(z)
    row = as_real[0]
    for base in (x, z, x):
        base.mul_(2)
    assert type(as_complex.grad_fn).__name__ == "ViewAsComplexBackward0"
    assert type(as_real.grad_fn).__name__ == "ViewAsRealBackward0"
    assert type(row.grad_fn).__name__ == "AsStridedBackward0"


def test_view_as_complex_does_not_look_at_strides_that_no_element_uses() -> None:
    assert engine.view_as_complex(engine.zeros(4).as_strided((1, 2), (1, 1))).stride() == (0,)
    for sizes in ((2, 2), (0, 2)):
        with pytest.raises(RuntimeError, match="stride divisible by 2"):
            engine.view_as_complex(engine.zeros(4).as_strided(sizes, (1, 1)))


def test_the_gradient_of_a_root_arrives_in_its_dtype() -> None:
    x = engine.tensor(1.5, requires_grad=True)
    x.backward(engine.tensor(0.5, dtype=engine.float16))
    assert (x.grad.dtype, x.grad.item()) == (engine.float32, 0.5)
    passed = engine.ones((), dtype=engine.float64)
    assert engine.autograd.grad(x, x, passed)[0].dtype == engine.float32


def test_an_invalid_root_leaves_the_inputs_of_backward_as_they_are() -> None:
    x = engine.ones(2, requires_grad=True)
    y = x * 2
    for inputs in ([y], [y.sum()]):
        with pytest.raises(RuntimeError, match="only for scalar outputs"):
            y.backward(inputs=inputs)
        assert not inputs[0].retains_grad
    z = y.sum().to(engine.complex64)
    with pytest.raises(RuntimeError, match="real scalar outputs"):
        z.backward(inputs=[y])
    assert not y.retains_grad
    y.sum().backward(inputs=[y])
    assert y.retains_grad


@pytest.mark.parametrize("mode", ["floor", "trunc"])
def test_a_rounded_division_saves_its_operands(mode: str) -> None:
    x, y = engine.ones(2, requires_grad=True), engine.full((2,), 3.0, requires_grad=True)
    for divisor in (y, 3.0):
        quotient = x.div(divisor, rounding_mode=mode)
        quotient.sum().backward()
        with pytest.raises(RuntimeError, match="backward through the graph a second time"):
            quotient.sum().backward()
    quotient = x.div(y, rounding_mode=mode)
    with engine.no_grad():
        y.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        quotient.sum().backward()
    assert x.grad.tolist() == [0, 0]


def test_whether_a_tensor_may_be_written_is_asked_before_the_index() -> None:
    x = engine.ones(3, requires_grad=True)
    with pytest.raises(RuntimeError, match=LEAF):
        x[engine.tensor([0.0, 1.0])] = 3.0
    with pytest.raises(IndexError, match="indices"):
        x.detach()[engine.tensor([0.0, 1.0])] = 3.0
    with pytest.raises(IndexError, match="indices"):
        x[engine.tensor(0.5)]


def test_a_slice_that_ends_before_the_end_of_nothing_is_a_slice() -> None:
    x = engine.ones(2, 0, requires_grad=True)
    for part, name in ((x[..., :-1], "Slice"), (x[:, :-1], "Slice"), (x[..., :0], "Alias")):
        assert type(part.grad_fn).__name__ == f"{name}Backward0"


def test_which_of_two_mistakes_is_reported() -> None:
    mask = engine.ones(2, dtype=engine.bool)
    with pytest.raises(RuntimeError, match="inconsistent tensor size"):
        mask @ mask[:1]
    with pytest.raises(RuntimeError, match="only supports bool tensor for result"):
        engine.all(mask, 5, out=engine.empty(1))


def test_a_tensor_is_assigned_as_it_is_copied() -> None:
    x = engine.ones(2, 1, dtype=engine.uint8)
    for index in (0, slice(None), ..., None, (..., None), True, ()):
        x.fill_(1)
        x[index] = engine.tensor(-2.0)
        assert x[0].item() == 254
        with pytest.raises(RuntimeError, match="without overflow"):
            x[index] = 300
    x.fill_(engine.tensor(300.0))
    assert x.tolist() == [[44], [44]]


def test_new_data_of_another_shape_leaves_a_leaf_in_its_graph() -> None:
    x = engine.ones(2, requires_grad=True)
    y = x.unsqueeze(0)
    x.data = y
    assert engine.autograd.grad(y.sum(), x, retain_graph=True)[0].tolist() == [1, 1]
    y.sum().backward()
    assert x.grad.tolist() == [[1, 1]]


def test_a_roll_of_nothing_flattens_it_if_no_dimension_is_named() -> None:
    nothing = engine.ones(0).expand(2, 0)
    assert nothing.roll(1).stride() == (1, 1)
    assert nothing.roll(1, 0).stride() == nothing.stride()


def test_a_complex_number_to_the_power_of_one_is_itself() -> None:
    z = engine.tensor([-0.75, 2.5j, 1.25 - 3j])
    assert (z**1).tolist() == z.tolist()
    assert (z**3).tolist() == (z * z * z).tolist()


def test_a_gradient_that_was_converted_is_stored_without_history() -> None:
    x = engine.zeros((), dtype=engine.float64, requires_grad=True)
    passed = engine.ones((), requires_grad=True)
    x.backward(passed)
    assert not x.grad.requires_grad
    assert engine.autograd.grad(x, x, passed)[0].requires_grad


STALE = "its base or another view of its base has been modified inplace"


def test_a_view_that_does_not_know_yet_that_its_base_was_written() -> None:
    w = engine.ones(3, requires_grad=True)

    def written(take: Callable[[Any], Any], base: Any) -> Any:
        view = take(base)
        base.mul_(w)
        return view

    view = written(lambda x: x[:], engine.ones(3))
    assert view.requires_grad
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad is being used"):
        view.add_(1)
    assert not view.is_leaf  # it has looked now
    assert view.add_(1).tolist() == [2, 2, 2]
    view = written(lambda x: x[:], engine.ones(3))
    assert view.requires_grad_(False) is view
    view = written(lambda x: x.unbind()[-1], engine.ones(3))
    view.requires_grad = True
    view.retain_grad()
    with pytest.raises(RuntimeError, match="A view was created in no_grad mode and " + STALE):
        bool(view.is_leaf)
    view = written(lambda x: x.unbind()[-1], w * 1)
    with pytest.raises(RuntimeError, match="Output 2 of Unbind is a view and " + STALE):
        bool(view.is_leaf)
    with pytest.raises(RuntimeError, match="you can only change requires_grad flags of leaf"):
        view.requires_grad_(False)


def test_set_keeps_strides_that_have_the_sizes() -> None:
    for arguments in ((), (0, (3,))):
        x = engine.ones(1).expand(3)
        assert x.set_(engine.ones(3).untyped_storage(), *arguments).stride() == (0,)
    assert x.set_(engine.ones(2).untyped_storage()).stride() == (1,)


def test_set_ends_the_graphs_of_a_leaf() -> None:
    for arguments in ((), (engine.ones(3),), (engine.ones(3), 0, (3,), (1,))):
        x = engine.ones(3, requires_grad=True)
        y = x * 2
        with engine.no_grad():
            x.set_(*arguments)
        assert engine.autograd.grad(y.sum(), x, allow_unused=True) == (None,)
        (gradient,) = engine.autograd.grad((x * 2).sum(), x)
        assert gradient.shape == x.shape


def test_bits_are_a_new_tensor_in_inference_mode() -> None:
    x = engine.ones(4)
    with engine.inference_mode():
        bits, view = x.view(engine.int32), x.view(2, 2)
    assert bits.is_inference()
    assert not view.is_inference()


def test_a_loss_is_added_to_in_its_own_dtype() -> None:
    x, counts = engine.ones(2, dtype=engine.float16), engine.tensor([0, 3])
    loss = engine.nn.functional.poisson_nll_loss(x, counts, full=True, reduction="none")
    assert loss.dtype == engine.float16


def test_a_mean_is_summed_in_the_dtype_of_its_out() -> None:
    x = engine.tensor([[1 + 2j, 3j], [4 - 1j, 2]])
    for out in (engine.zeros(2), engine.zeros(2).double(), engine.zeros(2).half()):
        engine.mean(x, 1, out=out)  # the mean of the real parts
        assert out.tolist() == [0.5, 3.0]
    halves = engine.full((3000,), 2.0009765625 * 16).half()
    result = engine.mean(halves, 0, out=engine.zeros((), dtype=engine.float64))
    assert result.item() == 32.0  # not rounded to 16 bits on the way
    numbers = engine.tensor([1.0, engine.nan, 2.5])
    assert engine.nanmean(numbers, 0, out=engine.zeros(()).double()).item() == 1.75


def test_a_leaf_with_data_of_another_shape_gets_gradients_of_that_shape() -> None:
    x = engine.ones(2, requires_grad=True)
    older = x.expand(2, 2)
    x.data = engine.zeros(2, 2)
    x.sum().backward()
    assert older.grad_fn is not None
    assert x.grad is not None
    assert x.grad.tolist() == [[2, 2], [2, 2]]  # summed for the older view, then spread


def test_gradients_of_no_elements_take_no_memory() -> None:
    x = engine.zeros(2, 0, requires_grad=True)
    x.view(0).prod().backward()
    assert x.grad is not None
    assert x.grad.untyped_storage().nbytes() == 0
    (gradient,) = engine.autograd.grad(x.prod(1).sum(), x)
    assert gradient.shape == (2, 0)


def test_the_gradient_of_as_strided_has_the_strides_of_its_input() -> None:
    x = engine.zeros(2, 3).t().requires_grad_()
    (gradient,) = engine.autograd.grad(x.as_strided((2,), (1,)).sum(), x)
    assert gradient.stride() == (1, 3)
    assert gradient.tolist() == [[1, 0], [1, 0], [0, 0]]


def test_a_view_of_another_dtype_of_a_later_leaf_is_named_after_its_step() -> None:
    x = engine.zeros(1, dtype=engine.complex64)
    view = engine.view_as_real(x)
    x += x
    x.requires_grad_()
    assert view.grad_fn is not None
    assert view.grad_fn.name() == "ViewAsRealBackward0"


def test_a_view_of_a_written_tensor_is_a_source_of_set_() -> None:
    x = engine.zeros((2, 1), requires_grad=True)
    y = x * 2
    part = y.unbind()[0]
    z = y.detach()
    z.set_(part)  # counted by the counter of part, too
    assert z.requires_grad
    assert z._version == 1
    with engine.no_grad():
        view = x.swapaxes(0, -1)
    assert x.detach().set_(view).shape == (1, 2)


def test_real_parts_are_copied_into_an_expanded_out_that_is_resized() -> None:
    for function in (engine.abs, engine.angle):
        out = engine.zeros(1).expand(6)
        function(engine.zeros(2, 0, dtype=engine.complex64), out=out)
        assert out.shape == (2, 0)
        for operand in (engine.zeros(6, dtype=engine.complex64), engine.zeros(2, 0)):
            with pytest.raises(RuntimeError, match="more than one element"):
                function(operand, out=engine.zeros(1).expand(6))


def test_backward_into_a_result_runs_its_node() -> None:
    x = engine.ones(3, requires_grad=True)
    y = x * x
    seen: list[int] = []
    y.grad_fn.register_prehook(lambda gradients: seen.append(len(gradients)))
    x.register_post_accumulate_grad_hook(lambda leaf: seen.append(0))
    y.sum().backward(inputs=[y])
    assert seen == [1]
    assert y.grad is not None
    assert x.grad is None
    with pytest.raises(RuntimeError, match="a second time"):
        y.sum().backward()
    seen.clear()
    z = x * 2
    z.sum().backward(inputs=[z, x])
    assert seen == [0]
    with pytest.raises(RuntimeError, match="derivative for aten::diag_embed is not implemented"):
        engine.diag(x, out=engine.zeros(3, 3)).sum().backward()


def test_a_pass_through_a_write_into_a_view_runs_once() -> None:
    x, y = engine.ones(4, requires_grad=True), engine.zeros(4)
    y[1:3] = x[1:3]
    y.sum().backward(retain_graph=True)
    y.sum().backward()
    with pytest.raises(RuntimeError, match="a second time"):
        y.sum().backward()


def test_a_root_whose_data_got_another_shape_takes_no_gradient() -> None:
    x = engine.ones(3, 3, requires_grad=True)
    older = x[:2]  # holds the accumulator, of shape (3, 3)
    x.data = engine.ones(2, 1)
    message = (
        r"^invalid gradient at index 0 - got \[2, 1\] but expected shape compatible with \[3, 3\]"
    )
    with pytest.raises(RuntimeError, match=message):
        engine.autograd.grad(x, x, engine.ones(2, 1))
    assert older.grad_fn is not None


def test_elements_that_share_memory_are_copied_before_they_are_replaced() -> None:
    x = engine.tensor(1.5).expand(2)
    assert x.as_strided_scatter(engine.arange(2.0), (2,), (1,)).tolist() == [0, 1]
    x = engine.tensor(1.5, requires_grad=True).expand(2)
    with pytest.raises(RuntimeError, match="share memory"):
        x.as_strided_scatter(engine.arange(2.0), (2,), (1,))


def test_an_out_of_several_views_is_refused_before_it_is_written() -> None:
    x = engine.ones(2, 3, requires_grad=True) * 1
    with pytest.raises(RuntimeError, match="don't support automatic differentiation"):
        engine.zeros(3, out=x.unbind()[0])
    assert x._version == 0
    y = engine.ones(2, requires_grad=True)
    base = engine.zeros(4)
    with engine.no_grad():
        view = base.view(2, 2)
    with pytest.raises(RuntimeError, match="don't support automatic differentiation"):
        engine.diag(y, out=view)
    assert not base.requires_grad


@pytest.mark.parametrize(
    "function", [lambda x: x.as_strided((2, 0), (2, 1)).square(), lambda x: x.pow(0).square()]
)
def test_a_gradient_that_is_zero_whatever_comes_has_no_history(function: Any) -> None:
    x = engine.tensor(0.5, requires_grad=True)
    (gradient,) = engine.autograd.grad(function(x).sum(), x, create_graph=True)
    assert gradient.item() == 0
    assert not gradient.requires_grad


def test_a_part_of_complex_numbers_of_a_later_leaf_is_named_after_its_step() -> None:
    x = engine.zeros(3, dtype=engine.complex64)
    real, pairs = x.real, engine.view_as_real(x)
    x += x
    x.requires_grad_()
    assert real.grad_fn is not None
    assert pairs.grad_fn is not None
    assert real.grad_fn.name() == "AsStridedBackward0"
    assert pairs.grad_fn.name() == "ViewAsRealBackward0"
    real.sum().backward()
    assert x.grad is not None
    assert x.grad.tolist() == [1, 1, 1]


def test_equal_reads_no_history_of_its_operands() -> None:
    base = engine.zeros(2, 3).requires_grad_()
    column = base.view(-1, 1)
    with engine.no_grad():
        part = column.split(1, -1)[0]
        base.fill_(2)
    # The history of `part`, one of several views whose base was written, raises when it is read.
    assert part.equal(column)
    with pytest.raises(RuntimeError, match="A view was created in no_grad mode"):
        part + 1


@pytest.mark.parametrize(
    "read",
    [
        lambda x: x.gather(0, engine.tensor([[0, 1, 0]])),
        lambda x: x.take(engine.tensor([0, 3])),
        lambda x: x.take_along_dim(engine.tensor([[0, 1, 0]]), 0),
        lambda x: x.cummax(0).values,
        lambda x: x.cummin(0).values,
    ],
)
def test_reading_by_index_notices_that_its_source_was_written(read: Any) -> None:
    x = engine.arange(6.0).reshape(2, 3).requires_grad_() * 1
    result = read(x)
    x.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        result.sum().backward()


def test_a_bool_to_the_power_of_a_bool_is_copied_or_becomes_true() -> None:
    x = engine.tensor([True, False])
    assert x.pow(True).tolist() == [True, False]
    assert x.pow(False).tolist() == x.clone().pow_(False).tolist() == [True, True]
    for base, exponent in (x, x), (True, x), (x, engine.tensor(True)):
        with pytest.raises(NotImplementedError, match="\"pow\" not implemented for 'Bool'"):
            engine.pow(base, exponent)


@pytest.mark.parametrize(
    ("shape", "strides", "expected"),
    [
        ((1, 2, 3, 1), (12, 1, 2, 6), (6, 1, 2, 2)),
        ((1, 3, 4, 1), (1, 1, 3, 1), (12, 1, 3, 3)),
        ((2, 1, 3, 1), (3, 1, 1, 3), (3, 3, 1, 1)),
    ],
)
def test_results_of_channels_last_operands_have_its_strides(
    shape: tuple[int, ...], strides: tuple[int, ...], expected: tuple[int, ...]
) -> None:
    x = engine.empty_strided(shape, strides).fill_(1)
    for result in (x != x, x + x, -x, x.double() + x):
        assert result.stride() == expected


def test_outer_of_an_empty_diagonal_has_the_strides_of_a_reshaped_vector() -> None:
    assert engine.outer(engine.zeros(0, 3).diagonal(), engine.ones(1)).stride() == (1, 0)


@pytest.mark.parametrize("dtype", [engine.float32, engine.complex64])
def test_an_out_whose_elements_share_memory_is_refused_before_it_is_resized(
    dtype: engine.dtype,
) -> None:
    x = engine.ones(4, dtype=dtype)
    out = engine.ones(2, 3).expand(2, 2, 3)
    with pytest.raises(RuntimeError, match="more than one element of the written-to tensor"):
        engine.eq(x, x, out=out)
    assert out.shape == (2, 2, 3)


@pytest.mark.parametrize("base", [2.0, 1])
def test_a_power_of_a_number_is_row_major(base: float) -> None:
    x = engine.arange(6.0).view(2, 3).t()
    assert engine.pow(base, x).stride() == (2, 1)
    assert (x**2).stride() == (1, 3)
    out = engine.empty(0)
    assert engine.pow(base, x, out=out).stride() == (2, 1)
    assert engine.pow(x, 2.0, out=engine.empty(0)).stride() == (1, 3)


def _shifted(x: engine.Tensor) -> engine.Tensor:
    return (x + 2.5).exp()


def _masked(x: engine.Tensor) -> engine.Tensor:
    return x.masked_fill(x > 0, 1.0).exp()


def _power(x: engine.Tensor) -> engine.Tensor:
    return (2.0**x).neg()


@pytest.mark.parametrize("function", [_shifted, _masked, _power])
@pytest.mark.parametrize(
    ("sizes", "strides"),
    [
        ((1, 2, 3, 1), (12, 1, 2, 6)),
        ((3, 1), (1, 5)),
        ((2, 3), (1, 2)),
        ((2, 3), (0, 1)),
        ((4, 3), (2, 9)),
    ],
)
def test_fused_results_have_the_strides_of_eager_mode(
    function: Any, sizes: tuple[int, ...], strides: tuple[int, ...]
) -> None:
    x = engine.ones(40).as_strided(sizes, strides)
    expected = function(x).stride()
    compiled = engine.jit.script(function)
    assert [compiled(x).stride() for _ in range(3)] == [expected] * 3


def test_the_gradient_of_a_view_without_elements_is_row_major_zeros_without_history() -> None:
    x = engine.ones(2, 2).t().requires_grad_()
    (grad,) = engine.autograd.grad(x.as_strided((0, 2), (2, 1)).sum(), x)
    assert grad.stride() == (2, 1)
    leaf = engine.ones(0).requires_grad_()
    view = leaf.view(0)
    with engine.no_grad():
        leaf.mul_(1)
    (view * view).sum().backward(create_graph=True)
    assert leaf.grad is not None
    assert not leaf.grad.requires_grad


@pytest.mark.parametrize("requires_grad", [False, True])
def test_the_product_of_a_row_and_a_matrix_is_squeezed_in_place_and_no_view(
    requires_grad: bool,
) -> None:
    row = engine.ones(3).requires_grad_(requires_grad)
    product = row @ engine.ones(3, 2)
    assert product._version == 1
    assert product._base is None
    assert (engine.ones(1, 3) @ engine.ones(3))._version == 0


@pytest.mark.parametrize(
    "limited",
    [
        lambda x: x.clamp(0, 2),
        lambda x: x.clamp_min(0),
        lambda x: x.clamp_max(2),
        lambda x: x.maximum(engine.zeros(2)),
        lambda x: x.minimum(engine.zeros(2)),
    ],
)
def test_a_gradient_that_only_chooses_does_not_require_grad_by_its_choice(limited: Any) -> None:
    x = engine.ones(2).requires_grad_()
    (grad,) = engine.autograd.grad(limited(x).sum(), x, create_graph=True)
    assert not grad.requires_grad


def test_the_gradient_of_the_first_power_depends_on_its_base() -> None:
    x = engine.ones(2).requires_grad_()
    (grad,) = engine.autograd.grad(x.pow(1).sum(), x, create_graph=True)
    (second,) = engine.autograd.grad(grad.sum(), x)
    assert second.tolist() == [0, 0]


def test_the_gradient_of_the_angle_of_real_numbers_has_their_strides() -> None:
    x = engine.ones(3, 3).t().requires_grad_()
    (grad,) = engine.autograd.grad(x.angle()[0], x, engine.ones(3))
    assert grad.stride() == (1, 3)


def test_as_strided_scatter_begins_where_its_copy_of_expanded_elements_does() -> None:
    x = engine.arange(3).expand(2, 3)[:, 1]
    assert x.as_strided_scatter(engine.tensor([5, 6]), (2,), (1,)).tolist() == [5, 6]


@pytest.mark.parametrize("running", [engine.Tensor.cummax, engine.Tensor.cummin])
def test_gradients_of_running_extremes_of_no_elements_need_no_dimension(running: Any) -> None:
    x = engine.zeros(0).requires_grad_()
    running(x, 2).values.sum().backward()
    assert x.grad is not None
    assert x.grad.shape == (0,)


def test_kron_whose_sizes_overflow_raises() -> None:
    x = engine.empty(2**51, device="meta")
    with pytest.raises(RuntimeError, match="kron"):
        engine.kron(x, x)


def test_every_float16_converts_to_a_number_and_back() -> None:
    numbers = np.arange(2**16, dtype=np.uint16).view(np.float16)
    assert np.array_equal(engine.from_numpy(numbers).tolist(), numbers.tolist(), equal_nan=True)
    with np.errstate(over="ignore", invalid="ignore"):
        between = numbers.astype(np.float32)[:, None] * np.float32([1, 1.0004, 1.0005, 1e-3])
        expected = between.astype(np.float16)
    converted = engine.tensor(between.tolist(), dtype=engine.float16).numpy()
    assert np.array_equal(converted, expected, equal_nan=True)


def test_a_retained_gradient_is_that_of_the_value_after_a_write_through_a_view() -> None:
    x = engine.tensor([2.0, 1.0, 3.0], requires_grad=True)
    y = x * 1
    y.retain_grad()
    y[1:2].mul_(5)
    (y * y).sum().backward()
    assert y.grad is not None
    assert x.grad is not None
    assert y.grad.tolist() == [4, 10, 6]
    assert x.grad.tolist() == [4, 50, 6]


@pytest.mark.parametrize("written", ["v", "y", "y[1:]"])
def test_a_view_retains_the_gradient_of_its_value_after_a_write(written: str) -> None:
    y = engine.ones(3, requires_grad=True) * 1
    v = y[:2]
    v.retain_grad()
    eval(written, {"v": v, "y": y}).mul_(5)
    (v * 1).sum().backward()
    assert v.grad is not None
    assert v.grad.tolist() == [1, 1]


@pytest.mark.parametrize("factory", ["arange(4, out=v)", "eye(2, out=v)", "zeros(4, out=v)"])
@pytest.mark.filterwarnings("ignore:An output")
def test_a_factory_writes_a_view_whose_history_cannot_be_read(factory: str) -> None:
    x = engine.ones(3).requires_grad_()
    with engine.no_grad():
        v = x.view(3)
        eval(f"engine.{factory}", {"engine": engine, "v": v})
    assert v.numel() == 4
    assert x.numel() == 3


def test_a_factory_makes_a_leaf_that_it_writes_require_no_grad() -> None:
    for x in (engine.ones(4), engine.ones(4).view(4)):
        x.requires_grad_()
        with engine.no_grad():
            engine.arange(4, out=x)
        assert not x.requires_grad


def test_an_assignment_of_another_shape_to_elements_that_share_memory_is_refused() -> None:
    v = engine.ones(1, 3).expand(2, 1, 3).narrow(-1, 0, 1)
    with pytest.raises(RuntimeError, match="more than one element of the written-to tensor"):
        v[None] = v


@pytest.mark.parametrize(
    ("dims", "strides"),
    {(1, 0): (4, 1, 12), (2, 0): (5, 15, 1), (1, 2, 0): (20, 5, 1), (2, 1): (20, 5, 1)}.items(),
)
def test_transformed_dimensions_are_stored_in_the_order_of_the_input(
    dims: tuple[int, ...], strides: tuple[int, ...]
) -> None:
    x = engine.ones(3, 4, 5)
    assert engine.fft.fftn(x, dim=dims).stride() == strides
    assert engine.fft.ifftn(x.to(engine.complex64), dim=dims).stride() == strides


def test_a_hook_of_a_leaf_that_returns_something_else_than_a_tensor() -> None:
    x = engine.ones(2, requires_grad=True)
    x.register_post_accumulate_grad_hook(lambda _: 2)
    with pytest.raises(TypeError, match="expected Variable, but hook returned 'int'"):
        x.sum().backward()


def test_the_gradient_of_an_extreme_that_is_no_longer_there_is_zero() -> None:
    x = engine.tensor([0.5, 0.5, 1.5], requires_grad=True)
    largest = x.max()
    x.data[0] = 2
    x.data[2] = 0
    assert engine.autograd.grad(largest, x)[0].tolist() == [0, 0, 0]
    y = engine.tensor([1.0, 2.0], requires_grad=True)
    y.max().backward(engine.tensor(engine.inf))
    assert y.grad is not None
    assert y.grad.tolist() == [0, engine.inf]


@pytest.mark.parametrize("batch", [(2,), (5, 4)])
def test_a_matrix_that_requires_grad_is_multiplied_once(batch: tuple[int, ...]) -> None:
    y = engine.ones(*batch, 3, 2)
    row = engine.ones(1, 3, requires_grad=True) @ y
    assert row.grad_fn is not None
    assert row.grad_fn.name() == "TransposeBackward0"
    rows = engine.ones(2, 3, requires_grad=True) @ y
    assert rows.grad_fn is not None
    assert rows.grad_fn.name() == "CloneBackward0"
    assert rows.is_contiguous()
    constant = engine.ones(2, 3) @ y.requires_grad_()
    assert constant.grad_fn is not None
    assert constant.grad_fn.name() == "UnsafeViewBackward0"


def test_a_leaf_whose_data_got_another_shape_takes_no_gradient_of_the_old_one() -> None:
    x = engine.ones(3, 3, requires_grad=True)
    y = x.unsqueeze(1)
    x.data = engine.ones(1, 1)
    with pytest.raises(RuntimeError, match=r"\[3, 3\] cannot be broadcast to the shape \[1, 1\]"):
        y.sum().backward()
    assert x.grad is None


def test_a_gradient_that_is_not_asked_for_is_not_computed() -> None:
    x = engine.tensor(2.0, requires_grad=True)
    y = x.unique()  # without a formula
    y.sum().backward(inputs=y)
    assert y.grad is not None
    assert y.grad.tolist() == [1]
    weight = engine.ones(2, 2, requires_grad=True)
    row = engine.ones(1, 2, requires_grad=True)
    with engine.profiler.profile() as profile:
        engine.autograd.grad((row @ weight).sum(), row)
    products = [
        event.count for event in profile.key_averages() if event.key in ("aten::mm", "aten::matmul")
    ]
    assert sum(products) <= 3


@pytest.mark.parametrize("stop", [lambda x: x.detach_(), lambda x: x.requires_grad_(False)])
def test_a_leaf_that_requires_no_grad_any_more_has_its_hook_called(
    stop: Callable[[engine.Tensor], engine.Tensor],
) -> None:
    x = engine.ones(3, requires_grad=True)
    y = x * 2
    calls = []
    x.register_post_accumulate_grad_hook(lambda leaf: calls.append(leaf.grad))
    stop(x)
    y.sum().backward()
    assert calls == [None]


class NoGradient(engine.autograd.Function):
    @staticmethod
    def forward(_ctx: Any, x: engine.Tensor) -> engine.Tensor:
        return x * 2

    @staticmethod
    def backward(_ctx: Any, _grad: engine.Tensor) -> None:
        return None


def test_a_leaf_that_gets_no_gradient_has_its_hook_called() -> None:
    x = engine.ones(3, requires_grad=True)
    calls = []
    x.register_post_accumulate_grad_hook(lambda leaf: calls.append(leaf.grad))
    NoGradient.apply(x).sum().backward()
    assert calls == [None]
    y = NoGradient.apply(x)
    x.detach_()
    x.add_(engine.ones(3, requires_grad=True))
    with pytest.raises(RuntimeError, match="moved into the graph interior"):
        y.sum().backward()


def nodes_of(x: engine.Tensor) -> list[str]:
    """The names of the Nodes from a tensor's own to the first without an edge, along first edges."""
    node, names = x.grad_fn, []
    while node is not None:
        names.append(node.name())
        node = node.next_functions[0][0] if node.next_functions else None
    return names


def test_a_batch_of_one_matrix_that_requires_grad_is_multiplied_as_a_matrix() -> None:
    one = engine.ones(1, 2, 3, requires_grad=True)
    many = engine.ones(4, 3, 2)
    assert nodes_of(one @ many)[:4] == [
        "CloneBackward0", "TransposeBackward0", "UnsafeViewBackward0", "MmBackward0",
    ]  # fmt: skip
    other = engine.ones(4, 5, 2, requires_grad=True) @ engine.ones(1, 2, 3, requires_grad=True)
    assert nodes_of(other)[:2] == ["UnsafeViewBackward0", "MmBackward0"]
    both = engine.ones(1, 5, 2, requires_grad=True) @ engine.ones(1, 2, 3, requires_grad=True)
    assert nodes_of(both)[:2] == ["UnsafeViewBackward0", "BmmBackward0"]


def test_a_batch_times_a_vector_is_squeezed() -> None:
    x = engine.ones(3, 2, 4).permute(2, 1, 0).requires_grad_()
    names = nodes_of(x @ engine.ones(3))
    assert names[:3] == ["UnsafeViewBackward0", "SqueezeBackward1", "BmmBackward0"]


@pytest.mark.parametrize("name", ["maximum", "minimum"])
def test_the_gradient_of_an_extremum_has_the_layout_of_its_operands(name: str) -> None:
    x = engine.ones(3, 3, requires_grad=True)
    y = engine.ones(3, 3, requires_grad=True)
    result = getattr(engine, name)(x, y)
    for grad in engine.autograd.grad((result.t() * 2).sum(), (x, y)):
        assert grad.stride() == (3, 1)
        assert grad.flatten().tolist() == [1] * 9


def test_a_copy_of_the_same_dtype_passes_its_gradient_on() -> None:
    x = engine.ones(1, 3, requires_grad=True)
    strides = []
    x.register_hook(lambda grad: strides.append(grad.stride()))
    x.to(x, copy=True).sum().backward()
    assert strides == [(0, 0)]


def test_a_view_that_out_has_enlarged_passes_on_the_gradient_of_its_base() -> None:
    x = engine.ones(3, dtype=engine.float64, requires_grad=True)
    view = x.unflatten(0, (1, -1))
    with engine.no_grad():
        engine.diag(x.detach().clone(), out=view)
    assert view.shape == (3, 3)
    view.backward(engine.arange(9.0, dtype=engine.float64).view(3, 3))
    assert x.grad is not None
    assert x.grad.tolist() == [0, 1, 2]


def test_bools_of_any_byte_are_unique() -> None:
    x = engine.tensor([200, 0, 3, 1, 0, 255] * 500, dtype=engine.uint8).view(engine.bool)
    values, counts = x.unique(return_counts=True)
    assert values.tolist() == [False, True]
    assert counts.tolist() == [1000, 2000]
    assert x.unique_consecutive().tolist() == [True, False] * 1000 + [True]
    assert x.view(-1, 6)[:, ::2].unique(dim=0).tolist() == [[True, True, False]]


@pytest.mark.parametrize("part", ["real", "imag"])
def test_the_gradient_of_a_part_is_row_major(part: str) -> None:
    x = engine.ones(3, 2, dtype=engine.complex64).t().requires_grad_()
    grad = engine.autograd.grad((getattr(x, part) * 2).sum(), x)[0]
    assert grad.stride() == (3, 1)
    assert grad.tolist() == [[2 if part == "real" else 2j] * 3] * 2


def test_what_has_no_derivative_fails_before_later_operands_get_a_gradient() -> None:
    """Its Node has the priority of AccumulateGrad: of both, the one that is found first runs first."""
    for is_first in (True, False):
        x = engine.ones(2, requires_grad=True)
        y = engine.ones(2, requires_grad=True) // 2
        product = x * y if is_first else y * x
        with pytest.raises(RuntimeError, match="floor_divide is not implemented"):
            product.sum().backward()
        assert (x.grad is not None) is is_first
