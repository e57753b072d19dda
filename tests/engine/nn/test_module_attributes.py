"""A Module's parameters, buffers and submodules, and its messages about values that cannot be any."""

from __future__ import annotations

import copy
import os
import pickle
from typing import Any

import pytest
from module_tools import both, named, without_library

import engine


def raises(error: type[Exception], text: str, call: Any) -> None:
    with pytest.raises(error) as actual:
        call()
    assert without_library(str(actual.value)) == text


def simple(L: Any) -> Any:
    """Return a module with one of everything."""
    module = L.nn.Module()
    module.weight = L.nn.Parameter(L.ones(2))
    module.register_buffer("count", L.zeros(1))
    module.register_buffer("cache", L.zeros(1), persistent=False)
    module.layer = L.nn.ReLU()
    module.plain = 3
    return module


@both
def test_where_attributes_go(library: str) -> None:
    L = named(library)
    module = simple(L)
    assert list(module._parameters) == ["weight"]
    assert list(module._buffers) == ["count", "cache"]
    assert list(module._modules) == ["layer"]
    assert module.__dict__["plain"] == 3
    assert "weight" not in module.__dict__
    module.weight = None
    assert module._parameters == {"weight": None}
    module.layer = None
    assert module._modules == {"layer": None}
    assert list(module.children()) == []
    module.count = None
    assert module.count is None
    assert list(module.state_dict()) == []


@both
def test_a_name_is_in_one_table(library: str) -> None:
    L = named(library)
    module = simple(L)
    module.plain = L.nn.Parameter(L.ones(1))
    assert "plain" not in module.__dict__
    module.count = L.nn.Parameter(L.ones(1))
    assert "count" not in module._buffers
    module.layer = L.nn.Parameter(L.ones(1))
    assert module._modules == {}
    module.cache = L.nn.Tanh()
    assert "cache" not in module._buffers
    assert module._non_persistent_buffers_set == set()
    module.state = L.nn.Buffer(L.ones(1), persistent=False)
    assert module._non_persistent_buffers_set == {"state"}
    module.state = L.zeros(3)
    assert module._non_persistent_buffers_set == {"state"}, "a new tensor keeps what it was"


@both
def test_assignments_that_are_refused(library: str) -> None:
    L = named(library)
    module = simple(L)
    ones = L.ones(2)
    wrong = "cannot assign 'engine.FloatTensor' as "
    raises(
        TypeError,
        f"{wrong}parameter 'weight' (engine.nn.Parameter or None expected)",
        lambda: setattr(module, "weight", ones),
    )
    raises(
        TypeError,
        f"{wrong}child module 'layer' (engine.nn.Module or None expected)",
        lambda: setattr(module, "layer", ones),
    )
    raises(
        TypeError,
        "cannot assign 'int' as buffer 'count' (engine.nn.Buffer, engine.Tensor or None expected)",
        lambda: setattr(module, "count", 3),
    )
    raises(
        TypeError,
        "cannot assign 'engine.FloatTensor' object to parameter 'w' "
        "(engine.nn.Parameter or None required)",
        lambda: module.register_parameter("w", ones),
    )
    raises(
        TypeError,
        "cannot assign 'str' object to buffer 'b' (engine Tensor or None required)",
        lambda: module.register_buffer("b", "x"),
    )
    raises(TypeError, "int is not a Module subclass", lambda: module.add_module("m", 3))


@both
def test_names_that_are_refused(library: str) -> None:
    L = named(library)
    module = simple(L)
    for kind, register in (
        ("parameter", module.register_parameter),
        ("buffer", module.register_buffer),
    ):
        raises(TypeError, f"{kind} name should be a string. Got int", lambda r=register: r(3, None))
        raises(KeyError, repr(f'{kind} name can\'t contain "."'), lambda r=register: r("a.b", None))
        raises(
            KeyError, repr(f'{kind} name can\'t be empty string ""'), lambda r=register: r("", None)
        )
        raises(
            KeyError,
            "\"attribute 'plain' already exists\"",
            lambda r=register: r("plain", None),
        )
    add = module.register_module
    raises(TypeError, "module name should be a string. Got int", lambda: add(3, None))
    raises(KeyError, repr('module name can\'t contain ".", got: a.b'), lambda: add("a.b", None))
    raises(KeyError, repr('module name can\'t be empty string ""'), lambda: add("", None))
    raises(KeyError, "\"attribute 'weight' already exists\"", lambda: add("weight", None))


@both
def test_before_init(library: str) -> None:
    L = named(library)

    def with_init(body: Any) -> Any:
        return type("Bare", (L.nn.Module,), {"__init__": body})

    for item, value in (
        ("parameters", L.nn.Parameter(L.ones(1))),
        ("module", L.nn.ReLU()),
        ("buffer", L.nn.Buffer(L.ones(1))),
    ):
        raises(
            AttributeError,
            f"cannot assign {item} before Module.__init__() call",
            with_init(lambda self, value=value: setattr(self, "x", value)),
        )
    raises(
        AttributeError,
        "cannot assign parameter before Module.__init__() call",
        with_init(lambda self: self.register_parameter("x", None)),
    )
    bare = with_init(lambda self: setattr(self, "x", 1))()
    raises(AttributeError, "'Bare' object has no attribute 'y'", lambda: bare.y)
    raises(AttributeError, "'Bare' object has no attribute '_parameters'", lambda: bare._parameters)
    raises(AttributeError, "'Bare' object has no attribute '_backward_hooks'", lambda: bare(1))


@both
def test_arguments_of_init(library: str) -> None:
    L = named(library)
    raises(
        TypeError,
        "Module.__init__() takes 1 positional argument but 2 were given",
        lambda: L.nn.Module(3),
    )
    raises(
        TypeError,
        "Module.__init__() got an unexpected keyword argument 'a'",
        lambda: L.nn.Module(a=3),
    )

    class Other:
        def __init__(self, size: int) -> None:
            self.size = size

    result = type("Both", (L.nn.Module, Other), {"call_super_init": True})(7)
    assert result.size == 7


@both
def test_deleting(library: str) -> None:
    L = named(library)
    module = simple(L)
    for name in ("weight", "count", "cache", "layer", "plain"):
        delattr(module, name)
        assert not hasattr(module, name)
    assert module._non_persistent_buffers_set == set()
    raises(AttributeError, "'Module' object has no attribute 'layer'", lambda: module.layer)
    with pytest.raises(AttributeError):
        del module.layer


@both
def test_dir(library: str) -> None:
    L = named(library)
    module = L.nn.Sequential(simple(L))
    assert "0" not in dir(module)
    assert {"weight", "count", "layer", "plain", "forward"} <= set(dir(module[0]))


@both
def test_walking(library: str) -> None:
    L = named(library)
    shared = L.nn.Linear(1, 1)
    module = L.nn.Sequential(shared, L.nn.Sequential(shared, L.nn.ReLU()))
    module.none = None
    module.register_module("empty", None)
    assert [name for name, _ in module.named_modules()] == ["", "0", "1", "1.1"]
    names = [name for name, _ in module.named_modules(prefix="net", remove_duplicate=False)]
    assert names == ["net", "net.0", "net.1", "net.1.0", "net.1.1"]
    assert [name for name, _ in module.named_parameters()] == ["0.weight", "0.bias"]
    names = [name for name, _ in module.named_parameters("net", remove_duplicate=False)]
    assert names == ["net.0.weight", "net.0.bias", "net.1.0.weight", "net.1.0.bias"]
    assert list(module.parameters(recurse=False)) == []
    assert [name for name, _ in module.named_children()] == ["0", "1"]
    assert len(list(module.children())) == 2
    assert len(list(module.modules())) == 4
    seen: list[str] = []
    assert module.apply(lambda child: seen.append(type(child).__name__)) is module
    assert seen == ["Linear", "Linear", "ReLU", "Sequential", "Sequential"]


@both
def test_by_path(library: str) -> None:
    L = named(library)
    module = L.nn.Sequential(simple(L))
    assert module.get_submodule("") is module
    assert module.get_submodule("0.layer") is module[0].layer
    assert module.get_parameter("0.weight") is module[0].weight
    assert module.get_buffer("0.count") is module[0].count
    new = L.nn.Tanh()
    module.set_submodule("0.layer", new)
    assert module[0].layer is new
    missing = "Sequential has no attribute `x`"
    raises(AttributeError, missing, lambda: module.get_submodule("x.y"))
    raises(AttributeError, missing, lambda: module.get_parameter("x"))
    raises(AttributeError, missing, lambda: module.set_submodule("x", new, strict=True))
    raises(
        AttributeError, "`weight` is not an nn.Module", lambda: module.get_submodule("0.weight.a")
    )
    raises(
        AttributeError, "`count` is not an nn.Parameter", lambda: module.get_parameter("0.count")
    )
    raises(AttributeError, "`weight` is not a buffer", lambda: module.get_buffer("0.weight"))
    raises(
        ValueError,
        "Cannot set the submodule without a target name!",
        lambda: module.set_submodule("", new),
    )
    raises(
        ValueError,
        "`module` is not an nn.Module, found <class 'int'>",
        lambda: module.set_submodule("a", 3),
    )
    raises(
        AttributeError,
        "`weight` is not an nn.Module",
        lambda: module.set_submodule("0.weight", new),
    )


@both
def test_modes(library: str) -> None:
    L = named(library)
    module = L.nn.Sequential(L.nn.Dropout(), L.nn.Sequential(L.nn.ReLU()))
    assert module.eval() is module
    assert [element.training for element in module.modules()] == [False] * 4
    assert module.train() is module
    assert [item.training for item in module.modules()] == [True] * 4
    raises(ValueError, "training mode is expected to be boolean", lambda: module.train(1))


@both
def test_forward_is_missing(library: str) -> None:
    L = named(library)
    text = 'Module [Module] is missing the required "forward" function'
    raises(NotImplementedError, text, lambda: L.nn.Module()(3))


@both
def test_repr(library: str) -> None:
    L = named(library)

    class Two(L.nn.Module):  # type: ignore[misc,name-defined]
        def extra_repr(self) -> str:
            return "first\nsecond"

    module = Two()
    assert repr(module) == "Two(\n  first\n  second\n)"
    module.child = L.nn.Sequential(L.nn.ReLU())
    module.none = None
    module.register_module("gone", None)
    assert repr(module) == (
        "Two(\n  first\n  second\n  (child): Sequential(\n    (0): ReLU()\n  )\n  (gone): None\n)"
    )


@both
def test_copies(library: str) -> None:
    L = named(library)
    module = L.nn.Sequential(L.nn.Linear(2, 3), L.nn.BatchNorm1d(3))
    module.again = module[0]
    module[0].weight.requires_grad_(False)
    for item in (copy.deepcopy(module), pickle.loads(pickle.dumps(module))):
        assert repr(item) == repr(module)
        assert item.again is item[0]
        assert item[0].weight is not module[0].weight
        assert type(item[0].weight) is L.nn.Parameter
        assert item[0].weight.requires_grad is False
        assert item[0].bias.requires_grad is True
        assert item[0].bias.tolist() == module[0].bias.tolist()
        assert list(item.state_dict()) == list(module.state_dict())
    item = copy.copy(module)
    assert item[0] is module[0]


# ---- Parameter and Buffer


@both
def test_parameter(library: str) -> None:
    L = named(library)
    data = L.ones(2)
    module = L.nn.Parameter(data)
    assert module.requires_grad
    assert module.is_leaf
    assert repr(module) == "Parameter containing:\ntensor([1., 1.], requires_grad=True)"
    assert repr(L.nn.Parameter(data, False)) == "Parameter containing:\ntensor([1., 1.])"
    assert module.data_ptr() == data.data_ptr(), "memory is shared"
    assert tuple(L.nn.Parameter().shape) == (0,)
    assert type(module * 2) is L.Tensor
    module.note = "attributes are allowed"
    assert pickle.loads(pickle.dumps(module)).note == module.note
    with pytest.raises(RuntimeError, match="floating point and complex dtype can require grad"):
        L.nn.Parameter(L.ones(2, dtype=L.int64))
    assert L.nn.Parameter(L.ones(2, dtype=L.int64), requires_grad=False).dtype is L.int64
    with pytest.raises(AttributeError, match="'list' object has no attribute 'detach'"):
        L.nn.Parameter([1.0])


@both
def test_buffer(library: str) -> None:
    L = named(library)
    module = L.nn.Module()
    module.saved = L.nn.Buffer(L.ones(1))
    module.lost = L.nn.Buffer(L.ones(1), persistent=False)
    assert isinstance(module.saved, L.nn.Buffer)
    assert [name for name, _ in module.named_buffers()] == ["saved", "lost"]
    assert list(module.state_dict()) == ["saved"]
    assert repr(module.saved) == "tensor([1.])"


@both
def test_a_result_is_no_parameter(library: str) -> None:
    L = named(library)
    module = L.nn.Module()
    result = L.nn.Parameter(L.ones(1)) * 2
    with pytest.raises(TypeError):
        module.register_parameter("x", result)
    assert L.nn.Parameter(result).is_leaf


@both
@pytest.mark.filterwarnings("ignore:Lazy modules")
def test_uninitialized(library: str) -> None:
    L = named(library)
    layer = L.nn.LazyLinear(3)
    weight = layer.weight
    assert repr(weight) == "<UninitializedParameter>"
    assert layer.has_uninitialized_params()
    with pytest.raises(RuntimeError, match="Can't access the shape of an uninitialized parameter"):
        weight.shape  # noqa: B018
    assert list(layer.state_dict()) == ["weight", "bias"]
    other = L.nn.LazyLinear(3)
    other.load_state_dict(L.nn.Linear(4, 3).state_dict())
    assert tuple(other.weight.shape) == (3, 4)
    layer(L.ones(2, 5))
    assert type(layer) is L.nn.Linear
    assert layer.weight is weight
    assert type(weight) is L.nn.Parameter
    assert tuple(weight.shape) == (3, 5)
    assert layer._forward_pre_hooks == {}
    other(L.ones(1, 4))
    assert repr(other) == "Linear(in_features=4, out_features=3, bias=True)"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the platform does not fork")
@pytest.mark.filterwarnings("ignore:.*fork")
def test_share_memory() -> None:
    layer = engine.nn.Linear(2, 2)
    weight, before = layer.weight, layer.weight.tolist()
    assert layer.share_memory() is layer
    assert layer.weight is weight
    assert weight.tolist() == before
    child = os.fork()
    if child == 0:
        weight.data.fill_(7.0)
        os._exit(0)
    os.waitpid(child, 0)
    assert weight.tolist() == [[7.0, 7.0], [7.0, 7.0]], "what the child wrote is seen here"
