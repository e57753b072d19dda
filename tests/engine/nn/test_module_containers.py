"""Sequential, ModuleList, ModuleDict, ParameterList and ParameterDict behave as PyTorch's."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

import pytest
from module_tools import both, named, told


def kinds(container: Any) -> list[str]:
    return [type(module).__name__ for module in container]


def names(container: Any) -> list[str]:
    return list(container._modules)


@both
def test_sequential(library: str) -> None:
    nn = named(library).nn
    made = nn.Sequential(nn.ReLU(), nn.Tanh(), nn.Sigmoid())
    assert names(made) == ["0", "1", "2"]
    assert len(made) == 3
    assert type(made[-1]) is nn.Sigmoid
    assert kinds(made[1:]) == ["Tanh", "Sigmoid"]
    assert names(made[1:]) == ["1", "2"]
    made[1] = nn.Identity()
    assert kinds(made) == ["ReLU", "Identity", "Sigmoid"]
    del made[0]
    assert names(made) == ["0", "1"]
    assert made.append(nn.ELU()) is made
    assert made.insert(0, nn.SELU()) is made
    assert kinds(made) == ["SELU", "Identity", "Sigmoid", "ELU"]
    assert kinds(made.extend(nn.Sequential(nn.CELU()))) == [*kinds(made)]
    assert type(made.pop(-1)) is nn.CELU
    assert names(made) == ["0", "1", "2", "3"]
    del made[1:3]
    assert kinds(made) == ["SELU", "ELU"]
    assert kinds(made + made) == ["SELU", "ELU"] * 2
    assert kinds(made * 2) == kinds(2 * made) == ["SELU", "ELU"] * 2
    made *= 2
    assert kinds(made) == ["SELU", "ELU"] * 2
    made += nn.Sequential(nn.ReLU())
    assert kinds(made)[-1] == "ReLU"


@both
def test_sequential_with_names(library: str) -> None:
    nn = named(library).nn
    made = nn.Sequential(OrderedDict(first=nn.ReLU(), second=nn.Tanh()))
    assert names(made) == ["first", "second"]
    assert type(made.second) is nn.Tanh
    assert names(made[:1]) == ["first"]
    made[0] = nn.ELU()
    assert type(made.first) is nn.ELU


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
    with pytest.raises(error) as found:
        do(nn, nn.Sequential(nn.ReLU()))
    assert text is None or told(str(found.value)) == text


@both
def test_module_list(library: str) -> None:
    nn = named(library).nn
    made = nn.ModuleList([nn.ReLU(), nn.Tanh()])
    made.append(nn.ELU())
    made += [nn.SELU()]
    made.insert(1, nn.CELU())
    assert kinds(made) == ["ReLU", "CELU", "Tanh", "ELU", "SELU"]
    assert names(made) == ["0", "1", "2", "3", "4"]
    assert type(made[-2]) is nn.ELU
    assert type(made[1:3]) is nn.ModuleList
    assert names(made[1:3]) == ["0", "1"]
    del made[0]
    del made[1:3]
    assert kinds(made) == ["CELU", "SELU"]
    assert type(made.pop(0)) is nn.CELU
    assert names(made) == ["0"]
    assert kinds(made.__add__([nn.ReLU()])) == ["SELU", "ReLU"]
    made[0] = nn.Tanh()
    assert kinds(made) == ["Tanh"]
    assert kinds(reversed(made)) == ["Tanh"]


@both
def test_repr_of_lists_folds_repeated_modules(library: str) -> None:
    nn = named(library).nn
    made = nn.ModuleList([nn.ReLU(), nn.ReLU(), nn.Sequential(nn.Tanh()), nn.ReLU()])
    assert repr(made) == (
        "ModuleList(\n  (0-1): 2 x ReLU()\n  (2): Sequential(\n    (0): Tanh()\n  )\n  (3): ReLU()\n)"
    )
    assert repr(nn.ModuleList()) == "ModuleList()"


@both
def test_module_dict(library: str) -> None:
    nn = named(library).nn
    made = nn.ModuleDict({"a": nn.ReLU(), "b": nn.Tanh()})
    made.update([("c", nn.ELU())])
    made.update(nn.ModuleDict({"d": nn.SELU()}))
    assert list(made) == list(made.keys()) == ["a", "b", "c", "d"]
    assert "a" in made
    assert "x" not in made
    assert [name for name, _ in made.items()] == list(made)
    assert kinds(made.values()) == ["ReLU", "Tanh", "ELU", "SELU"]
    assert type(made.pop("b")) is nn.Tanh
    del made["a"]
    assert len(made) == 2
    made["c"] = nn.ReLU()
    assert type(made.c) is nn.ReLU
    made.clear()
    assert len(made) == 0
    assert list(nn.ModuleDict({"b": nn.ReLU(), "a": nn.ReLU()})) == ["b", "a"]


@both
def test_parameter_list(library: str) -> None:
    L = named(library)
    nn = L.nn
    made = nn.ParameterList([L.ones(2), nn.Parameter(L.zeros(2, 3)), "word"])
    assert type(made[0]) is nn.Parameter
    assert made[2] == "word"
    assert list(made.state_dict()) == ["0", "1"]
    assert len(list(made.parameters())) == 2
    made.append(L.ones(1))
    made += [L.ones(1)]
    assert len(made) == 5
    made[0] = L.zeros(1)
    assert made[0].tolist() == [0.0]
    assert len(made[1:3]) == 2
    assert [type(one).__name__ for one in made] == ["Parameter"] * 2 + ["str"] + ["Parameter"] * 2
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
    made = nn.ParameterDict([("b", L.ones(2)), ("a", nn.Parameter(L.zeros(3))), ("n", 3)])
    assert list(made) == list(made.keys()) == ["b", "a", "n"]
    assert list(made.state_dict()) == ["b", "a"]
    assert type(made["b"]) is nn.Parameter
    assert type(made.b) is nn.Parameter
    assert made.get("x") is None
    assert made.get("n") == 3
    assert made.setdefault("m", 7) == 7
    assert made.popitem() == ("m", 7)
    assert list(reversed(made)) == ["n", "a", "b"]
    assert made.pop("n") == 3
    with pytest.raises(AttributeError):
        made.pop("n")
    both_of_them = made | nn.ParameterDict({"z": L.ones(1)})
    assert list(both_of_them) == ["b", "a", "z"]
    assert both_of_them["a"] is made["a"]
    made |= nn.ParameterDict({"y": L.ones(1)})
    assert "y" in made
    del made["y"]
    assert len(made) == 2
    assert [name for name, _ in made.items()] == ["b", "a"]
    assert len(list(made.values())) == 2
    assert list(made.copy()) == ["b", "a"]
    assert list(made.fromkeys(["p", "q"], 1)) == ["p", "q"]
    assert repr(made).replace("torch", "engine") == (
        "ParameterDict(\n"
        "    (b): Parameter containing: [engine.FloatTensor of size 2]\n"
        "    (a): Parameter containing: [engine.FloatTensor of size 3]\n)"
    )
    made.clear()
    assert len(made) == 0
