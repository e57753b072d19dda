"""Functions of torch that are methods, in-place forms or older names, compared with PyTorch's results."""

from __future__ import annotations

import doctest

import pytest

import engine
from engine import function_forms

CALLS = {
    "is_nonzero": lambda t: t.is_nonzero(t.tensor([2.0])),
    "is_same_size": lambda t: t.is_same_size(t.ones(2), t.ones(2)),
    "is_signed": lambda t: (t.is_signed(t.ones(1)), t.is_signed(t.ones(1, dtype=t.uint8))),
    "is_neg": lambda t: t.is_neg(t.ones(1)),
    "is_inference": lambda t: t.is_inference(t.ones(1)),
    "is_distributed": lambda t: t.is_distributed(t.ones(1)),
    "is_storage": lambda t: t.is_storage(t.ones(1).untyped_storage()),
    "get_device": lambda t: t.get_device(t.ones(1)),
    "detach_": lambda t: t.detach_(t.ones(1, requires_grad=True) * 2).requires_grad,
    "typename": lambda t: (t.typename(t.ones(1)).split(".")[1], t.typename(3), t.typename("a")),
    "range": lambda t: t.range(1, 4, 1.5).tolist(),
    "rrelu": lambda t: t.rrelu(t.tensor([-1.0, 2.0])).tolist(),
    "rrelu_": lambda t: t.rrelu_(t.tensor([-1.0, 2.0])).tolist(),
    "dropout_": lambda t: t.dropout_(t.ones(3), 0.5, False).tolist(),
    "feature_dropout_": lambda t: t.feature_dropout_(t.ones(1, 2, 3), 0.5, False).tolist(),
    "norm_except_dim": lambda t: t.norm_except_dim(t.arange(6.0).view(2, 3), 2, 1).tolist(),
    "norm_except_dim of all": lambda t: t.norm_except_dim(t.ones(4), 2, -1).item(),
    "apply_": lambda t: t.ones(2, 2).t().apply_(lambda x: x + 1).tolist(),
    "map_": lambda t: t.ones(2, 1).map_(t.ones(1) * 3, lambda a, b: a + b).tolist(),
    "GradScaler": lambda t: t.GradScaler("cpu").get_scale(),
    "get_device_module": lambda t: t.get_device_module("cuda").__name__.split(".")[-1],
}
ERRORS = {
    "apply_": lambda t: t.ones(1, requires_grad=True).apply_(abs),
    "map_": lambda t: t.ones(1).map_(t.ones(1, requires_grad=True), max),
    "is_nonzero": lambda t: t.is_nonzero(t.ones(2)),
    "set_num_interop_threads": lambda t: t.set_num_interop_threads(0),
}
pytestmark = pytest.mark.filterwarnings("ignore:torch.range is deprecated")


@pytest.mark.parametrize("name", CALLS)
def test_the_same_result_as_pytorch(name):
    actual = CALLS[name](engine)
    torch = pytest.importorskip("torch")
    assert actual == CALLS[name](torch)


@pytest.mark.parametrize("name", ERRORS)
def test_the_same_error_as_pytorch(name):
    with pytest.raises(RuntimeError) as ours:
        ERRORS[name](engine)
    torch = pytest.importorskip("torch")
    with pytest.raises(RuntimeError) as theirs:
        ERRORS[name](torch)
    assert str(ours.value)[:40] == str(theirs.value)[:40]


def test_range_is_deprecated():
    with pytest.warns(UserWarning, match="use torch.arange"):
        assert engine.range(0, 3).tolist() == [0.0, 1.0, 2.0, 3.0]


def test_examples():
    assert doctest.testmod(function_forms).failed == 0


def test_arguments_of_other_types():
    for call in (
        lambda: engine.is_inference(True),
        lambda: engine.ones(1).map_(2, max),
        lambda: engine.ones(1).map_(engine.ones(1), None),
        lambda: engine.ones(1).apply_(3),
    ):
        with pytest.raises(TypeError):
            call()
