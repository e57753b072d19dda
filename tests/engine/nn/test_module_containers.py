"""Sequential, ModuleList, ModuleDict, ParameterList and ParameterDict behave as PyTorch's."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

import pytest
from module_tools import both, named, without_library


def kinds(container: Any) -> list[str]:
    return [type(module).__name__ for module in container]


def names(container: Any) -> list[str]:
    return list(container._modules)


@both
def test_sequential(library: str) -> None:
    nn = named(library).nn
    module = nn.Sequential(nn.ReLU(), nn.Tanh(), nn.Sigmoid())
    assert names(module) == ["0", "1", "2"]
    assert len(module) == 3
    assert type(module[-1]) is nn.Sigmoid
    assert kinds(module[1:]) == ["Tanh", "Sigmoid"]
    assert names(module[1:]) == ["1", "2"]
    module[1] = nn.Identity()
    assert kinds(module) == ["ReLU", "Identity", "Sigmoid"]
    del module[0]
    assert names(module) == ["0", "1"]
    assert module.append(nn.ELU()) is module
    assert module.insert(0, nn.SELU()) is module
    assert kinds(module) == ["SELU", "Identity", "Sigmoid", "ELU"]
    assert kinds(module.extend(nn.Sequential(nn.CELU()))) == [*kinds(module)]
    assert type(module.pop(-1)) is nn.CELU
    assert names(module) == ["0", "1", "2", "3"]
    del module[1:3]
    assert kinds(module) == ["SELU", "ELU"]
    assert kinds(module + module) == ["SELU", "ELU"] * 2
    assert kinds(module * 2) == kinds(2 * module) == ["SELU", "ELU"] * 2
    module *= 2
    assert kinds(module) == ["SELU", "ELU"] * 2
    module += nn.Sequential(nn.ReLU())
    assert kinds(module)[-1] == "ReLU"


@both
def test_sequential_with_names(library: str) -> None:
    nn = named(library).nn
    module = nn.Sequential(OrderedDict(first=nn.ReLU(), second=nn.Tanh()))
    assert names(module) == ["first", "second"]
    assert type(module.second) is nn.Tanh
    assert names(module[:1]) == ["first"]
    module[0] = nn.ELU()
    assert type(module.first) is nn.ELU


@both
@pytest.mark.parametrize(
    ("error", "text", "do"),
    [
        (TypeError, "int is not a Module subclass", lambda nn, s: nn.Sequential(3)),
        (TypeError, "list is not a Module subclass", lambda nn, s: nn.Sequential([nn.ReLU()])),
        (IndexError, "index 1 is out of range", lambda nn, s: s[1]),
        (IndexError, "index -2 is out of range", lambda nn, s: s[-2]),
        (IndexError, "Index out of range: 3", lambda nn, s: s.insert(3, nn.ReLU())),
        (TypeError, "int is not a Module subclass", lambda nn, s: s.append(3)),
        (IndexError, "index 3 is out of range", lambda nn, s: s.pop(3)),
        (ValueError, None, lambda nn, s: s + 3),
        (ValueError, None, lambda nn, s: s * 0),
        (TypeError, None, lambda nn, s: s * "a"),
        (AssertionError, None, lambda nn, s: s.insert(0, 4)),
        (TypeError, "int is not a Module subclass", lambda nn, s: nn.ModuleList([3])),
        (
            TypeError,
            "ModuleList.extend should be called with an iterable, but got int",
            lambda nn, s: nn.ModuleList(3),
        ),
        (IndexError, "index 3 is out of range", lambda nn, s: nn.ModuleList([s])[3]),
        (NotImplementedError, None, lambda nn, s: nn.ModuleList()(3)),
        (TypeError, "int is not a Module subclass", lambda nn, s: nn.ModuleDict({"a": 3})),
        (
            TypeError,
            "ModuleDict.update should be called with an iterable of key/value pairs, but got int",
            lambda nn, s: nn.ModuleDict(3),
        ),
        (
            KeyError,
            repr('module name can\'t contain ".", got: a.b'),
            lambda nn, s: nn.ModuleDict({"a.b": s}),
        ),
        (TypeError, "module name should be a string. Got int", lambda nn, s: nn.ModuleDict({1: s})),
        (
            ValueError,
            "ModuleDict update sequence element #0 has length 3; 2 is required",
            lambda nn, s: nn.ModuleDict([(1, 2, 3)]),
        ),
        (TypeError, None, lambda nn, s: nn.ModuleDict([3])),
        (KeyError, "'q'", lambda nn, s: nn.ModuleDict()["q"]),
        (IndexError, "index 3 is out of range", lambda nn, s: nn.ParameterList([1])[3]),
        (
            TypeError,
            "ParameterList.extend should be called with an iterable, but got int",
            lambda nn, s: nn.ParameterList(3),
        ),
        (RuntimeError, "ParameterList should not be called.", lambda nn, s: nn.ParameterList()(2)),
        (RuntimeError, "ParameterDict should not be called.", lambda nn, s: nn.ParameterDict()(2)),
        (
            AttributeError,
            "'ParameterDict' object has no attribute 's'",
            lambda nn, s: nn.ParameterDict()["s"],
        ),
        (TypeError, None, lambda nn, s: nn.ParameterDict(3)),
        (TypeError, None, lambda nn, s: nn.ParameterDict({1: 2})),
    ],
)
def test_refusals(library: str, error: type[Exception], text: str | None, do: Any) -> None:
    nn = named(library).nn
    with pytest.raises(error) as actual:
        do(nn, nn.Sequential(nn.ReLU()))
    assert text is None or without_library(str(actual.value)) == text


@both
def test_module_list(library: str) -> None:
    nn = named(library).nn
    module = nn.ModuleList([nn.ReLU(), nn.Tanh()])
    module.append(nn.ELU())
    module += [nn.SELU()]
    module.insert(1, nn.CELU())
    assert kinds(module) == ["ReLU", "CELU", "Tanh", "ELU", "SELU"]
    assert names(module) == ["0", "1", "2", "3", "4"]
    assert type(module[-2]) is nn.ELU
    assert type(module[1:3]) is nn.ModuleList
    assert names(module[1:3]) == ["0", "1"]
    del module[0]
    del module[1:3]
    assert kinds(module) == ["CELU", "SELU"]
    assert type(module.pop(0)) is nn.CELU
    assert names(module) == ["0"]
    assert kinds(module.__add__([nn.ReLU()])) == ["SELU", "ReLU"]
    module[0] = nn.Tanh()
    assert kinds(module) == ["Tanh"]
    assert kinds(reversed(module)) == ["Tanh"]


@both
def test_repr_of_lists_folds_repeated_modules(library: str) -> None:
    nn = named(library).nn
    module = nn.ModuleList([nn.ReLU(), nn.ReLU(), nn.Sequential(nn.Tanh()), nn.ReLU()])
    assert repr(module) == (
        "ModuleList(\n  (0-1): 2 x ReLU()\n  (2): Sequential(\n    (0): Tanh()\n  )\n  (3): ReLU()\n)"
    )
    assert repr(nn.ModuleList()) == "ModuleList()"


@both
def test_module_dict(library: str) -> None:
    nn = named(library).nn
    module = nn.ModuleDict({"a": nn.ReLU(), "b": nn.Tanh()})
    module.update([("c", nn.ELU())])
    module.update(nn.ModuleDict({"d": nn.SELU()}))
    assert list(module) == list(module.keys()) == ["a", "b", "c", "d"]
    assert "a" in module
    assert "x" not in module
    assert [name for name, _ in module.items()] == list(module)
    assert kinds(module.values()) == ["ReLU", "Tanh", "ELU", "SELU"]
    assert type(module.pop("b")) is nn.Tanh
    del module["a"]
    assert len(module) == 2
    module["c"] = nn.ReLU()
    assert type(module.c) is nn.ReLU
    module.clear()
    assert len(module) == 0
    assert list(nn.ModuleDict({"b": nn.ReLU(), "a": nn.ReLU()})) == ["b", "a"]


@both
def test_parameter_list(library: str) -> None:
    L = named(library)
    nn = L.nn
    module = nn.ParameterList([L.ones(2), nn.Parameter(L.zeros(2, 3)), "word"])
    assert type(module[0]) is nn.Parameter
    assert module[2] == "word"
    assert list(module.state_dict()) == ["0", "1"]
    assert len(list(module.parameters())) == 2
    module.append(L.ones(1))
    module += [L.ones(1)]
    assert len(module) == 5
    module[0] = L.zeros(1)
    assert module[0].tolist() == [0.0]
    assert len(module[1:3]) == 2
    assert [type(item).__name__ for item in module] == ["Parameter"] * 2 + ["str"] + [
        "Parameter"
    ] * 2
    assert repr(nn.ParameterList([L.ones(2, 3), 3])).replace("torch", "engine") == (
        "ParameterList(\n"
        "    (0): Parameter containing: [engine.float32 of size 2x3]\n"
        "    (1): Object of type: int\n)"
    )


@both
def test_parameter_dict(library: str) -> None:
    L = named(library)
    nn = L.nn
    assert list(nn.ParameterDict({"b": L.ones(2), "a": 1})) == ["a", "b"], "a dict is sorted"
    module = nn.ParameterDict([("b", L.ones(2)), ("a", nn.Parameter(L.zeros(3))), ("n", 3)])
    assert list(module) == list(module.keys()) == ["b", "a", "n"]
    assert list(module.state_dict()) == ["b", "a"]
    assert type(module["b"]) is nn.Parameter
    assert type(module.b) is nn.Parameter
    assert module.get("x") is None
    assert module.get("n") == 3
    assert module.setdefault("m", 7) == 7
    assert module.popitem() == ("m", 7)
    assert list(reversed(module)) == ["n", "a", "b"]
    assert module.pop("n") == 3
    with pytest.raises(AttributeError):
        module.pop("n")
    both_of_them = module | nn.ParameterDict({"z": L.ones(1)})
    assert list(both_of_them) == ["b", "a", "z"]
    assert both_of_them["a"] is module["a"]
    module |= nn.ParameterDict({"y": L.ones(1)})
    assert "y" in module
    del module["y"]
    assert len(module) == 2
    assert [name for name, _ in module.items()] == ["b", "a"]
    assert len(list(module.values())) == 2
    assert list(module.copy()) == ["b", "a"]
    assert list(module.fromkeys(["p", "q"], 1)) == ["p", "q"]
    assert repr(module).replace("torch", "engine") == (
        "ParameterDict(\n"
        "    (b): Parameter containing: [engine.FloatTensor of size 2]\n"
        "    (a): Parameter containing: [engine.FloatTensor of size 3]\n)"
    )
    module.clear()
    assert len(module) == 0
