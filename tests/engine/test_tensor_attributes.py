"""A tensor takes attributes, which live as long as the tensor: also while only a graph holds it."""

from __future__ import annotations

import copy
import gc
import pickle
import threading
import weakref
from pathlib import Path
from typing import Any

import pytest

import engine


def tagged(**options: Any) -> engine.Tensor:
    x = engine.ones(2, **options)
    x.tag = [1]
    return x


def saved(x: Any, tmp_path: Path) -> Any:
    engine.save(x, tmp_path / "x.pt")
    return engine.load(tmp_path / "x.pt")


def test_attributes_are_set_read_and_deleted() -> None:
    x = tagged()
    assert x.tag == [1]
    assert vars(x) == {"tag": [1]}
    assert "tag" in dir(x)
    del x.tag
    assert not hasattr(x, "tag")
    x.__dict__ = {"other": 2}
    assert x.other == 2
    with pytest.raises(AttributeError):
        x.shape = 3


def test_results_have_none() -> None:
    x = tagged()
    for result in (x + 1, x.detach(), x.view(2), x.clone(), x.data):
        assert not vars(result)
    assert vars(x.add_(1)) == {"tag": [1]}


def test_copies_have_them(tmp_path: Path) -> None:
    x = tagged()
    assert copy.copy(x).tag is x.tag
    assert copy.deepcopy(x).tag == [1]
    assert copy.deepcopy(x).tag is not x.tag
    assert pickle.loads(pickle.dumps(x)).tag == [1]
    assert saved({"x": x}, tmp_path)["x"].tag == [1]
    sparse = engine.eye(2).to_sparse()
    sparse.tag = 1
    assert pickle.loads(pickle.dumps(sparse)).tag == 1
    parameter = engine.nn.Parameter(engine.ones(1))
    parameter.tag = 1
    copied = copy.copy(parameter)
    assert type(copied) is engine.nn.Parameter
    assert copied.tag == 1


def test_pytorch_reads_them(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    engine.save(tagged(), tmp_path / "x.pt")
    assert torch.load(tmp_path / "x.pt", weights_only=True).tag == [1]
    x = torch.ones(2)
    x.tag = {"a": 1}
    torch.save(x, tmp_path / "y.pt")
    assert engine.load(tmp_path / "y.pt").tag == {"a": 1}


def test_they_live_as_long_as_the_graph_holds_the_tensor() -> None:
    x = tagged(requires_grad=True)
    y = x * 2
    del x
    gc.collect()
    leaf = y.grad_fn.next_functions[0][0].variable
    assert leaf.tag == [1]
    assert leaf is y.grad_fn.next_functions[0][0].variable
    y.sum().backward()
    leaf.grad.seen = True
    assert leaf.grad.seen
    base = tagged()
    view = base[1:]
    del base
    assert view._base.tag == [1]


def test_a_parameter_stays_one() -> None:
    parameter = engine.nn.Parameter(engine.ones(2))
    y = parameter * 2
    del parameter
    assert type(y.grad_fn.next_functions[0][0].variable) is engine.nn.Parameter


def test_weak_references_live_as_long_as_the_tensor() -> None:
    dead: list[str] = []
    x = engine.ones(2, requires_grad=True)
    reference = weakref.ref(x, lambda _: dead.append("x"))
    y = x * 2
    del x
    assert reference() is y.grad_fn.next_functions[0][0].variable
    assert not dead
    del y
    assert reference() is None
    assert dead == ["x"]


def test_an_object_that_a_weak_reference_returned_outlives_the_graph() -> None:
    x = tagged(requires_grad=True)
    reference = weakref.ref(x)
    y = x * 2
    del x
    again = reference()
    del y
    assert again is not None
    assert again.tag == [1]
    assert again.tolist() == [1.0, 1.0]
    del again
    assert reference() is None


def test_cycles_are_collected() -> None:
    class Holder:
        pass

    def cycles() -> list[Any]:
        through, own = Holder(), tagged()
        through.x = tagged()
        through.x.holder = through
        own.me = [own]
        return [weakref.ref(through), weakref.ref(through.x), weakref.ref(own)]

    references = cycles()
    assert all(reference() is not None for reference in references)
    gc.collect()
    assert all(reference() is None for reference in references)


def test_what_the_graph_holds_is_not_collected() -> None:
    x = tagged(requires_grad=True)
    x.me = x
    y = x * 2
    del x
    gc.collect()
    assert y.grad_fn.next_functions[0][0].variable.me.tag == [1]


def test_a_long_chain_is_freed_without_recursion() -> None:
    x = engine.ones(1, requires_grad=True)
    first = weakref.ref(x)
    for i in range(20_000):
        x = x * 1.0
        x.position = i
    del x
    assert first() is None


def test_threads() -> None:
    references = []

    def work() -> None:
        for _ in range(300):
            x = engine.ones(3, requires_grad=True)
            x.me = x
            y = (x * x).sum()
            references.append(weakref.ref(x))
            del x
            y.backward()

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    gc.collect()
    assert len(references) == 1200
    assert all(reference() is None for reference in references)
