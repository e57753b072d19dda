"""`engine.onnx.export`: names, weights, control flow, symbolic functions, and what each node came from."""

from __future__ import annotations

import io
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import engine
from engine import Tensor, nn
from tests.engine.onnx.onnx_models import assert_same, run, session

onnx = pytest.importorskip("onnx", reason="the package onnx is not installed")


class Net(nn.Module):
    """A module in a module."""

    def __init__(self) -> None:
        super().__init__()
        self.body = nn.Sequential(nn.Linear(3, 4), nn.ReLU())
        self.head = nn.Linear(4, 2)

    def forward(self, x: Tensor) -> Tensor:
        return self.head(self.body(x))


def test_weights_keep_their_names_and_values() -> None:
    model = Net()
    graph = engine.onnx.export(model, (engine.ones(2, 3),)).model_proto.graph
    stored = {x.name: onnx.numpy_helper.to_array(x) for x in graph.initializer}
    assert set(stored) == set(model.state_dict())
    for name, weight in model.named_parameters():
        np.testing.assert_array_equal(stored[name], weight.detach().numpy())


def test_names_of_inputs_and_outputs() -> None:
    def function(x: Tensor, pair: tuple[Tensor, Tensor], scale: float) -> tuple[Tensor, Tensor]:
        return x * scale, pair[0] + pair[1]

    example = (engine.ones(2), (engine.ones(3), engine.ones(3)), 2.0)
    graph = engine.onnx.export(function, example).model_proto.graph
    assert [x.name for x in graph.input] == ["x", "pair_0", "pair_1"]
    assert [x.name for x in graph.output] == ["output_0", "output_1"]
    graph = engine.onnx.export(
        function, example, input_names=["a"], output_names=["s", "t"]
    ).model_proto.graph
    assert [x.name for x in graph.input] == ["a", "pair_0", "pair_1"]
    assert [x.name for x in graph.output] == ["s", "t"]


def test_keyword_arguments_and_constants() -> None:
    def function(x: Tensor, power: int = 2, shift: Tensor | None = None) -> Tensor:
        return x**power + (0 if shift is None else shift)

    x, shift = engine.randn(3), engine.randn(3)
    program = engine.onnx.export(function, (x,), kwargs={"shift": shift, "power": 3})
    inputs = [x.name for x in program.model_proto.graph.input]
    assert inputs == ["x", "shift"]
    assert_same(run(program, x, shift), x**3 + shift)


def test_an_unused_input_stays_and_an_input_can_be_an_output() -> None:
    program = engine.onnx.export(lambda x, y: x, (engine.ones(2), engine.ones(3)))
    assert [x.name for x in program.model_proto.graph.input] == ["x", "y"]
    assert_same(run(program, engine.ones(2) * 4, engine.ones(3)), engine.ones(2) * 4)


def test_dynamic_shapes_name_axes_by_parameter() -> None:
    program = engine.onnx.export(
        Net(), (engine.ones(2, 3),), dynamic_shapes={"x": {0: "batch"}}, output_names=["y"]
    )
    graph = program.model_proto.graph
    assert graph.input[0].type.tensor_type.shape.dim[0].dim_param == "batch"
    assert graph.output[0].type.tensor_type.shape.dim[0].dim_param == "batch"
    assert graph.input[0].type.tensor_type.shape.dim[1].dim_value == 3


def test_a_computed_size_stays_computed() -> None:
    program = engine.onnx.export(
        lambda x: x.reshape(x.shape[0] * 2, -1) / x.shape[1],
        (engine.randn(3, 4),),
        dynamic_axes={"x": [0, 1]},
    )
    live = session(program)
    for rows, columns in ((3, 4), (5, 2), (1, 8)):
        x = engine.randn(rows, columns)
        assert_same(run(live, x), x.reshape(rows * 2, -1) / columns)


def test_weights_as_inputs() -> None:
    model = Net()
    x = engine.randn(2, 3)
    program = engine.onnx.export(model, (x,), export_params=False)
    graph = program.model_proto.graph
    assert not [w for w in graph.initializer if "." in w.name]
    names = [v.name for v in graph.input]
    assert sorted(names[1:]) == sorted(model.state_dict())
    weights = dict(model.named_parameters())
    assert_same(run(program, x, *(weights[n].detach() for n in names[1:])), model(x))
    both = engine.onnx.export(model, (x,), keep_initializers_as_inputs=True).model_proto.graph
    assert {w.name for w in both.initializer} < {v.name for v in both.input}


def test_constant_folding() -> None:
    model, x = nn.Linear(3, 4), engine.randn(2, 5, 3)
    folded = engine.onnx.export(model, (x,)).model_proto.graph
    assert [node.op_type for node in folded.node] == ["MatMul", "Add"]
    assert "weight.transpose" in {w.name for w in folded.initializer}
    plain = engine.onnx.export(model, (x,), do_constant_folding=False).model_proto.graph
    assert [node.op_type for node in plain.node] == ["Transpose", "MatMul", "Add"]
    assert {"weight", "bias"} <= {w.name for w in plain.initializer}


@pytest.mark.parametrize("opset", [13, 15, 17, 20, onnx.defs.onnx_opset_version()])
def test_opsets(opset: int) -> None:
    model = nn.Sequential(
        nn.Conv2d(2, 4, 3),
        nn.BatchNorm2d(4),
        nn.Hardswish(),
        nn.GroupNorm(2, 4),
        nn.Flatten(),
        nn.LayerNorm(64),
        nn.GELU(),
        nn.Linear(64, 3),
        nn.Mish(),
    ).eval()
    x = engine.randn(2, 2, 6, 6)
    program = engine.onnx.export(model, (x,), opset_version=opset)
    assert program.model_proto.opset_import[0].version == opset
    assert_same(run(program, x), model(x))


def test_the_mode_of_each_module_comes_back() -> None:
    model = nn.Sequential(nn.Dropout(0.5), nn.BatchNorm1d(3).eval())
    engine.onnx.export(model, (engine.ones(2, 3),))
    assert [module.training for module in model.modules()] == [True, True, False]
    preserve = engine.onnx.TrainingMode.PRESERVE
    with pytest.raises(engine.onnx.errors.SymbolicValueError, match="random numbers"):
        engine.onnx.export(model, (engine.ones(2, 3),), training=preserve)


# Control flow


def _kinds(graph: Any) -> list[str]:
    kinds = []
    for node in graph.node:
        kinds.append(node.op_type)
        for attribute in node.attribute:
            if attribute.HasField("g"):
                kinds += _kinds(attribute.g)
    return kinds


def test_if_and_loop_are_in_the_model() -> None:
    @engine.jit.script
    def power(x: Tensor, n: Tensor) -> Tensor:
        y = x
        for _ in range(int(n)):
            if bool(y.sum() > 10):
                y = y / 2
            y = y * x
        return y

    program = engine.onnx.export(power, (engine.ones(3), engine.tensor(2)))
    kinds = _kinds(program.model_proto.graph)
    assert "Loop" in kinds
    assert "If" in kinds
    live = session(program)
    for n in (0, 1, 5):
        x = engine.rand(3) * 3
        assert_same(run(live, x, engine.tensor(n)), power(x, engine.tensor(n)))


def test_a_loop_over_modules_has_no_loop_left() -> None:
    class Stack(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layers = nn.ModuleList([nn.Linear(3, 3), nn.Linear(3, 3)])

        def forward(self, x: Tensor) -> Tensor:
            for layer in self.layers:
                x = layer(x)
            return x

    model = engine.jit.script(Stack())
    program = engine.onnx.export(model, (engine.ones(1, 3),))
    assert _kinds(program.model_proto.graph) == ["Gemm", "Gemm"]
    names = {w.name for w in program.model_proto.graph.initializer}
    assert names == set(model.state_dict())


# Symbolic functions


class Clipped(engine.autograd.Function):
    """A Function that says what it is in ONNX."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, limit: float) -> Tensor:
        ctx.save_for_backward(x)
        return engine.tensor(np.clip(x.numpy(), -limit, limit))

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        return grad, None

    @staticmethod
    def symbolic(g: Any, x: Any, limit: float) -> Any:
        return g.op("Clip", x, -limit, limit).setType(x.type())


class Plain(engine.autograd.Function):
    """A Function without one: its forward is traced."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        return x * 2 + 1

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        return grad * 2


def test_functions_with_and_without_symbolic() -> None:
    def model(x: Tensor) -> Tensor:
        return Plain.apply(Clipped.apply(x, 0.5)) + Clipped.apply(x, 1.5)

    x = engine.randn(8) * 2
    program = engine.onnx.export(model, (x,), dynamic_axes={"x": [0]})
    assert _kinds(program.model_proto.graph).count("Clip") == 2
    y = engine.randn(5) * 2
    assert_same(run(program, y), model(y))
    assert Clipped.apply(x, 0.5).shape == x.shape  # outside of an export it is itself


class LLTMStep(engine.autograd.Function):
    """The step of the LLTM, with its gradient written by hand."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, w: Tensor, b: Tensor, h: Tensor, c: Tensor) -> Any:
        gates = nn.functional.linear(engine.cat([h, x], 1), w, b).chunk(3, 1)
        i, o = gates[0].sigmoid(), gates[1].sigmoid()
        new_c = c + nn.functional.elu(gates[2]) * i
        return new_c.tanh() * o, new_c

    @staticmethod
    def backward(ctx: Any, grad_h: Tensor, grad_c: Tensor) -> Any:
        raise NotImplementedError("not needed for an export")

    @staticmethod
    def symbolic(g: Any, x: Any, w: Any, b: Any, h: Any, c: Any) -> Any:
        joined = g.op("Concat", h, x, axis_i=1)
        gates = g.op("Gemm", joined, w, b, transB_i=1)
        i, o, cell = g.op("Split", gates, outputs=3, axis_i=1, num_outputs_i=3)
        new_c = g.op("Add", c, g.op("Mul", g.op("Elu", cell), g.op("Sigmoid", i)))
        return g.op("Mul", g.op("Tanh", new_c), g.op("Sigmoid", o)), new_c


class LLTM(nn.Module):
    """Long long-term memory, PyTorch's example of a custom unit."""

    def __init__(self, size: int, state: int) -> None:
        super().__init__()
        self.weights = nn.Parameter(engine.randn(3 * state, size + state))
        self.bias = nn.Parameter(engine.randn(3 * state))

    def forward(self, x: Tensor, h: Tensor, c: Tensor) -> Any:
        return LLTMStep.apply(x, self.weights, self.bias, h, c)


def test_lltm_through_symbolic() -> None:
    model = LLTM(4, 3)
    axes = {name: {0: "batch"} for name in ("x", "h", "c")}
    example = (engine.randn(2, 4), engine.randn(2, 3), engine.randn(2, 3))
    program = engine.onnx.export(model, example, dynamic_axes=axes, output_names=["new_h", "new_c"])
    assert "Gemm" in _kinds(program.model_proto.graph)
    for batch in (2, 7):
        inputs = (engine.randn(batch, 4), engine.randn(batch, 3), engine.randn(batch, 3))
        with engine.no_grad():
            assert_same(run(program, *inputs), model(*inputs))


def test_an_operator_of_another_domain() -> None:
    @engine.library.custom_op("onnx_tests::twice", mutates_args=())
    def twice(x: Tensor) -> Tensor:
        return x * 2

    @twice.register_fake
    def _(x: Tensor) -> Tensor:
        return engine.empty_like(x)

    with pytest.raises(engine.onnx.errors.UnsupportedOperatorError, match="onnx_tests::twice"):
        engine.onnx.export(lambda x: twice(x) + 1, (engine.ones(2),))
    register = engine.onnx.register_custom_op_symbolic
    register("onnx_tests::twice", lambda g, x: g.op("tests::Twice", x, factor_f=2.0), 13)
    try:
        program = engine.onnx.export(
            lambda x: twice(x) + 1, (engine.ones(2),), custom_opsets={"tests": 4}
        )
    finally:
        engine.onnx.unregister_custom_op_symbolic("onnx_tests::twice", 13)
    node = program.model_proto.graph.node[0]
    assert (node.domain, node.op_type, node.attribute[0].f) == ("tests", "Twice", 2.0)
    assert {(x.domain, x.version) for x in program.model_proto.opset_import} == {
        ("", 18),
        ("tests", 4),
    }


def test_a_registered_symbolic_comes_before_ours_from_its_opset_on() -> None:
    register = engine.onnx.register_custom_op_symbolic
    register(
        "aten::relu",
        engine.onnx.symbolic_helper.parse_args("v")(lambda g, x: g.op("Max", x, 0.0)),
        15,
    )
    try:
        for opset, kind in ((14, "Relu"), (15, "Max"), (18, "Max")):
            program = engine.onnx.export(engine.relu, (engine.ones(2),), opset_version=opset)
            assert _kinds(program.model_proto.graph) == [kind]
    finally:
        engine.onnx.unregister_custom_op_symbolic("aten::relu", 15)


# Origins


def test_each_node_names_its_ir_node_module_and_line() -> None:
    program = engine.onnx.export(Net(), (engine.ones(2, 3),))
    origins = program.origins()
    assert [origin.op_type for origin in origins] == ["Gemm", "Relu", "Gemm"]
    assert [origin.scope for origin in origins] == [
        "__module.body/__module.body.0",
        "__module.body/__module.body.1",
        "__module.head",
    ]
    assert [origin.name for origin in origins] == ["/body/0/Gemm", "/body/1/Relu", "/head/Gemm"]
    for origin, kind in zip(origins, ("linear", "relu", "linear"), strict=True):
        assert f"= aten::{kind}(" in origin.ir
        assert origin.ir.partition(" = ")[0] in program.ir
        path, line, _ = origin.source.rsplit(":", 2)
        assert "engine/nn/modules" in path
        assert int(line) > 0
    assert program.model_proto.graph.node[0].doc_string.startswith(origins[0].ir)


# Files


def test_files_and_file_objects(tmp_path: Path) -> None:
    path = tmp_path / "net.onnx"
    program = engine.onnx.export(Net(), (engine.ones(2, 3),), path)
    assert path.read_bytes() == program.model_proto.SerializeToString()
    assert os.listdir(tmp_path) == ["net.onnx"]
    buffer = io.BytesIO()
    engine.onnx.export(nn.ReLU(), (engine.ones(2),), buffer)
    assert onnx.load_from_string(buffer.getvalue()).graph.node[0].op_type == "Relu"


def test_verbose_prints_the_model(capsys: pytest.CaptureFixture[str]) -> None:
    engine.onnx.export(nn.ReLU(), (engine.ones(2),), verbose=True)
    assert "Relu (input)" in capsys.readouterr().out


def test_sparse_convolution_with_its_rulebook_computed_at_the_export() -> None:
    sites = engine.tensor([[0, 1, 1], [0, 2, 2], [0, 3, 1]], dtype=engine.int32)

    class Sparse(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.conv = engine.sparse_conv.SubMConv2d(2, 3, 3)

        def forward(self, features: Tensor) -> Tensor:
            grid = engine.sparse_conv.SparseConvTensor(features, sites, (5, 5), 1)
            return self.conv(grid).features

    model, features = Sparse(), engine.randn(3, 2)
    program = engine.onnx.export(model, (features,))
    assert "ScatterND" in _kinds(program.model_proto.graph)
    assert_same(run(program, features), model(features))
