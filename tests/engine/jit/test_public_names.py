"""Everything that PyTorch documents under torch.jit is here, by its name, or explains why it is not."""

from __future__ import annotations

import copy
import io
import pickle
import pydoc

import pytest

import engine
from engine import jit

# Of `dir(torch.jit)`: what was imported there, and what PyTorch does not document.
NOT_PUBLIC = {
    "Iterator",
    "ONNXTracedModule",
    "RecursiveScriptClass",
    "ScriptWarning",
    "TopLevelTracedModule",
    "TracedModule",
    "contextmanager",
    "isinstance",  # through __getattr__
    "jit_module_from_flatbuffer",
    "save_jit_module_to_flatbuffer",
    "set_module",
    "strict_fusion",
}


def test_every_public_name_is_here():
    torch = pytest.importorskip("torch")
    module = type(torch)
    names = {
        name
        for name in dir(torch.jit)
        if not name.startswith("_") and not isinstance(getattr(torch.jit, name), module)
    }
    assert sorted(n for n in names - NOT_PUBLIC if not hasattr(jit, n)) == []
    assert jit.isinstance([1], list[int])


def test_classes_say_where_they_are_imported_from():
    scripted = jit.script(Inner())
    actual = [
        type(element)
        for element in (plus_one, scripted, scripted.forward, scripted.graph, plus_one.schema)
    ]
    assert actual == [jit.ScriptFunction, jit.ScriptModule, jit.ScriptMethod, jit.Graph, jit.Schema]
    assert str(actual[0]) == "<class 'engine.jit.ScriptFunction'>"
    classes = [item for item in map(jit.__dict__.get, jit.__all__) if isinstance(item, type)]
    assert {item.__module__ for item in classes} == {"engine.jit"}
    assert all(pickle.loads(pickle.dumps(item)) is item for item in classes)
    assert "class ScriptFunction in module engine.jit\n" in pydoc.render_doc(jit.ScriptFunction)


class Inner(engine.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = engine.nn.Linear(2, 2)
        self.register_buffer("scale", engine.full((2,), 3.0))
        self.times = 2

    def forward(self, x):
        return self.linear(x) * self.scale * self.times


class Outer(engine.nn.Module):
    def __init__(self):
        super().__init__()
        self.first = Inner()
        self.others = engine.nn.Sequential(Inner(), engine.nn.ReLU())

    def forward(self, x):
        return self.others(self.first(x))


@jit.script
def plus_one(x, by: int = 1):
    return x + by


def test_a_deep_copy_has_tensors_of_its_own():
    scripted = jit.script(Outer())
    x = engine.ones(1, 2)
    other = copy.deepcopy(scripted)
    assert other(x).tolist() == scripted(x).tolist()
    with engine.no_grad():
        other.first.linear.weight.zero_()
    assert scripted.first.linear.weight.abs().sum().item() != 0
    assert other.first.linear.weight.abs().sum().item() == 0


def test_a_copy_shares_them():
    scripted = jit.script(Outer())
    for other in (copy.copy(scripted), scripted.copy()):
        assert other is not scripted
        assert other.first.linear.weight is scripted.first.linear.weight
        assert other(engine.ones(1, 2)).tolist() == scripted(engine.ones(1, 2)).tolist()


def test_compiled_things_are_not_pickled():
    with pytest.raises(pickle.PickleError, match="cannot be pickled"):
        pickle.dumps(plus_one)
    with pytest.raises(pickle.PickleError, match="cannot be pickled"):
        copy.deepcopy(plus_one)
    with pytest.raises(RuntimeError, match=r"Outer: .* not pickled; write it with jit.save"):
        pickle.dumps(jit.script(Outer()))


@pytest.mark.parametrize("compiled", [plus_one, jit.script(Inner())], ids=["function", "module"])
def test_what_is_saved_comes_as_bytes(compiled):
    data = compiled.save_to_buffer({"note": "hello"})
    notes = {"note": b""}
    again = jit.load(io.BytesIO(data), _extra_files=notes)
    assert notes == {"note": b"hello"}
    assert again(engine.ones(1, 2)).tolist() == compiled(engine.ones(1, 2)).tolist()


def test_a_folder_is_no_file(tmp_path):
    with pytest.raises(ValueError, match="is a directory"):
        jit.load(tmp_path)


def test_a_compiled_container_is_iterable():
    container = jit.script(Outer()).others
    assert len(container) == 2
    assert [item.original_name for item in container] == ["Inner", "ReLU"]
    assert container[0] is next(iter(container))
    assert [item.original_name for item in container[1:]] == ["ReLU"]
    table = jit.script(engine.nn.ModuleDict({"a": engine.nn.ReLU()}))
    assert list(table) == ["a"]
    assert "a" in table
    assert table["a"].original_name == "ReLU"
    with pytest.raises(TypeError, match="Inner is not iterable"):
        len(jit.script(Inner()))
    assert jit.script(Inner())


def test_what_was_compiled_is_neither_deleted_nor_added_to():
    scripted = jit.script(Outer())
    with pytest.raises(RuntimeError, match="cannot delete"):
        del scripted.first
    with pytest.raises(RuntimeError, match="gets no submodule 'more'"):
        scripted.add_module("more", engine.nn.ReLU())
    scripted.note = "mine"
    del scripted.note
    assert not hasattr(scripted, "note")


def test_code_has_its_constants_beside_it():
    retained = engine.tensor([1.0, 2.0])
    traced = jit.trace(lambda x: x + retained, engine.ones(2))
    module = jit.freeze(jit.script(Inner().eval()))
    code, constants = module.code_with_constants
    assert code == module.code
    visible = {name: tensor.shape for name, tensor in constants.const_mapping.items()}
    assert set(visible.values()) == {(2, 2), (2,)}
    assert all(f"CONSTANTS.{name}" in code for name in visible)
    assert constants.c0 is constants.const_mapping["c0"]
    assert "CONSTANTS.c0" in traced.code


def test_a_method_knows_its_module():
    scripted = jit.script(Inner())
    assert (scripted.forward.name, scripted.forward.owner) == ("forward", scripted)


class Counter(jit.ScriptModule):
    __constants__ = ["step"]  # noqa: RUF012

    def __init__(self, step):
        super().__init__()
        self.step = step
        self.linear = engine.nn.Linear(2, 2)

    @jit.script_method
    def forward(self, x):
        return self.linear(x) + self.helper(x)

    def helper(self, x):
        return x * self.step

    @jit.script_method
    def other(self, x):
        return x - self.step


class Derived(Counter):
    @jit.script_method
    def forward(self, x):
        return self.helper(x) + 1


def test_a_class_of_script_methods_is_compiled():
    result = Counter(3)
    x = engine.ones(1, 2)
    assert isinstance(result, Counter)
    assert isinstance(result, jit.ScriptModule)
    assert result(x).tolist() == (result.linear(x) + 3).tolist()
    assert result.other(x).tolist() == [[-2.0, -2.0]]
    assert result.graph.findNode("prim::CallMethod") is not None
    assert [name for name, _ in result.named_parameters()] == ["linear.weight", "linear.bias"]
    assert jit.load(io.BytesIO(result.save_to_buffer()))(x).tolist() == result(x).tolist()
    assert Derived(5)(x).tolist() == [[6.0, 6.0]]


def test_a_program_is_compiled_from_text():
    unit = jit.CompilationUnit("def f(x, n: int):\n    return x * n\n")
    unit.define("def g(xs: List[int]):\n    return len(xs)\n")
    assert unit.f(engine.ones(2), 3).tolist() == [3.0, 3.0]
    assert unit.g([1, 2]) == 2
    assert unit.get_functions() == [unit.f, unit.g]
    with pytest.raises(AttributeError, match="no function 'h'"):
        _ = unit.h
    with pytest.raises(RuntimeError, match="line 1 of the text is not a function"):
        jit.CompilationUnit("import os")


# ---- what is set, and asked


def test_operators_are_named_with_their_overloads():
    assert jit.export_opnames(plus_one) == ["aten::add.Tensor"]
    assert jit.export_opnames(jit.script(Inner())) == ["aten::linear", "aten::mul.Tensor"]
    with pytest.raises(TypeError, match="script or trace it first"):
        jit.export_opnames(Inner())


def test_inference_takes_a_frozen_module():
    scripted = jit.script(Inner().eval())
    frozen = jit.optimize_for_inference(scripted)
    assert frozen(engine.ones(1, 2)).tolist() == scripted(engine.ones(1, 2)).tolist()
    assert not list(frozen.parameters())
    jit.run_frozen_optimizations(frozen)
    with pytest.raises(RuntimeError, match="eval mode"):
        jit.optimize_for_inference(jit.script(Inner()))
    for ask in (jit.optimize_for_inference, jit.run_frozen_optimizations):
        with pytest.raises(ValueError, match="ScriptModule"):
            ask(Inner())


def test_settings_of_pytorch_are_kept():
    before = jit.set_fusion_strategy([("STATIC", 1)])
    assert jit.set_fusion_strategy(before) == [("STATIC", 1)]
    with pytest.raises(ValueError, match="got: EVER"):
        jit.set_fusion_strategy([("EVER", 1)])
    with jit.fuser("fuser1"), jit.optimized_execution(True):
        assert plus_one(engine.ones(1)).tolist() == [2.0]
    with pytest.raises(ValueError, match="unrecognized fuser"), jit.fuser("mine"):
        pass


def test_what_is_not_there_says_why():
    with pytest.raises(RuntimeError, match=r"fn.graph.run"), jit.optimized_execution(False):
        pass
    with pytest.raises(NotImplementedError, match="graph_for"):
        jit.last_executed_optimized_graph()
    with pytest.warns(UserWarning, match="oneDNN"):
        jit.enable_onednn_fusion(True)
    jit.enable_onednn_fusion(False)
    assert jit.onednn_fusion_enabled() is False


@pytest.mark.parametrize(
    ("args", "options", "message"),
    [
        ((), {}, "plus_one() is missing value for argument 'x'. Declaration: plus_one("),
        ((1, 2, 3), {}, "expected at most 2 argument(s) but received 3 argument(s). Declaration"),
        ((1,), {"z": 3}, "Unknown keyword argument 'z' for operator 'plus_one'. Schema: plus_one("),
        ((1,), {"x": 3}, "Argument 'x' specified both as positional and keyword argument."),
    ],
)
def test_arguments_that_do_not_fit_are_told_as_pytorch_tells_them(args, options, message):
    with pytest.raises(RuntimeError) as raised:
        plus_one(*args, **options)
    assert message in str(raised.value)


def test_a_method_counts_its_module_as_an_argument():
    scripted = jit.script(Inner())
    with pytest.raises(RuntimeError, match=r"forward\(\) expected at most 2 .* but received 3"):
        scripted(1, 2)
    with pytest.raises(RuntimeError, match=r"forward\(\) is missing value for argument 'x'"):
        scripted()
