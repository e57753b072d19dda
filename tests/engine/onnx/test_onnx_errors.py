"""Bad input of `engine.onnx.export`: the right class, the values, and nothing half written."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import engine
from engine import Tensor, nn

pytest.importorskip("onnx", reason="the package onnx is not installed")
errors = engine.onnx.errors
X = engine.ones(2, 3)
LINEAR = nn.Linear(3, 1)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"model": "net"}, TypeError, "expected a Module, a function or what is scripted, got str"),
        ({"args": 3}, TypeError, "args is a tuple of inputs, not int"),
        ({"args": ()}, TypeError, "does not fit the model: missing a required argument"),
        ({"args": (X, X)}, TypeError, "does not fit the model: too many positional arguments"),
        ({"kwargs": {"z": X}}, TypeError, "does not fit the model"),
        ({"f": 3}, TypeError, "f is a path or an object with write, not int"),
        ({"input_names": "x"}, TypeError, "input_names is a list of strings, not 'x'"),
        (
            {"input_names": ["a", "b"]},
            ValueError,
            r"names provided \(2\) exceeded number of inputs \(1\)",
        ),
        ({"output_names": ["a", "b"]}, ValueError, r"exceeded number of outputs \(1\)"),
        ({"output_names": ["a", "a"]}, ValueError, "has a name twice: a, a"),
        ({"output_names": ["input"]}, ValueError, "the output name 'input' is in use"),
        ({"dynamic_axes": {"y": [0]}}, ValueError, "'y' names no input or output; there are input"),
        ({"dynamic_axes": {"input": [2]}}, ValueError, "has 2 dimensions, and axis 2"),
        ({"dynamic_axes": {"input": 0}}, TypeError, "a dictionary or a list of axes, not int"),
        ({"dynamic_axes": {"input": {"0": "n"}}}, TypeError, "is not an axis and its name"),
        ({"dynamic_axes": {"input": {0: "n", 1: "n"}}}, ValueError, "'n'.* have sizes 2 and 3"),
        (
            {"dynamic_shapes": {"y": {0: "n"}}},
            ValueError,
            "'y' is not a parameter; there are input",
        ),
        ({"dynamic_shapes": ({}, {})}, ValueError, "has 2 entries for 1 arguments"),
        ({"dynamic_shapes": {}, "dynamic_axes": {}}, ValueError, "not both"),
        ({"opset_version": 9}, ValueError, "opset_version 9: 13 to"),
        ({"opset_version": 99}, ValueError, "opset_version 99: 13 to"),
        ({"opset_version": "18"}, TypeError, "opset_version is an int, not '18'"),
        ({"training": True}, TypeError, "training is a TrainingMode, not True"),
        ({"training": engine.onnx.TrainingMode.TRAINING}, NotImplementedError, "export it in EVAL"),
        ({"verify": True}, NotImplementedError, "verify does not exist here"),
        ({"report": True}, NotImplementedError, "report does not exist here"),
        (
            {"operator_export_type": engine.onnx.OperatorExportTypes.ONNX_ATEN},
            NotImplementedError,
            "only ONNX",
        ),
    ],
)
def test_wrong_arguments(options: dict[str, Any], error: type[Exception], message: str) -> None:
    arguments = {"model": LINEAR, "args": (X,), **options}
    with pytest.raises(error, match=message):
        engine.onnx.export(**arguments)


def test_paths_that_cannot_be_written(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="there is no folder"):
        engine.onnx.export(LINEAR, (X,), tmp_path / "no" / "net.onnx")
    with pytest.raises(IsADirectoryError, match="is a folder"):
        engine.onnx.export(LINEAR, (X,), tmp_path)
    assert os.listdir(tmp_path) == []


@pytest.mark.skipif(os.geteuid() == 0, reason="root writes everywhere")
def test_a_folder_without_permission(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    with pytest.raises(PermissionError, match="cannot be written"):
        engine.onnx.export(LINEAR, (X,), tmp_path / "net.onnx")


def test_a_failure_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "net.onnx"
    path.write_bytes(b"before")
    with pytest.raises(errors.UnsupportedOperatorError):
        engine.onnx.export(engine.erfinv, (X,), path)

    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(OSError, match="No space left"):
        engine.onnx.export(LINEAR, (X,), path)
    assert path.read_bytes() == b"before"
    assert os.listdir(tmp_path) == ["net.onnx"]


def test_all_unsupported_operators_at_once_with_their_lines() -> None:
    def model(x: Tensor) -> Tensor:
        y = engine.erfinv(x)
        z = engine.special.i0(y) + engine.median(x)
        return z + engine.lgamma(x)

    with pytest.raises(errors.UnsupportedOperatorError) as info:
        engine.onnx.export(model, (X,))
    message = str(info.value)
    first = model.__code__.co_firstlineno
    assert "4 operations" in message
    for name, line in (("erfinv", 1), ("i0", 2), ("median", 2), ("lgamma", 3)):
        assert f"aten::{name}" in message
        assert f"{Path(__file__).name}:{first + line}:" in message


def test_unsupported_operators_in_branches_are_listed_too() -> None:
    @engine.jit.script
    def model(x: Tensor) -> Tensor:
        if bool(x.sum() > 0):
            x = engine.erfinv(x)
        else:
            for _ in range(x.size(0)):
                x = engine.lgamma(x)
        return x

    with pytest.raises(errors.UnsupportedOperatorError, match=r"(?s)erfinv.*lgamma"):
        engine.onnx.export(model, (X,), dynamic_axes={"x": [0]})


def test_a_model_that_changes_its_weight_or_buffer() -> None:
    class Counter(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("count", engine.zeros(()))

        def forward(self, x: Tensor) -> Tensor:
            self.count.add_(1)
            return x * self.count

    with pytest.raises(
        errors.SymbolicValueError, match=r"changes its weight or buffer .* in place.*py:\d+"
    ):
        engine.onnx.export(Counter(), (X,))


def test_the_example_is_not_changed_by_a_model_that_writes_to_it() -> None:
    x = engine.tensor([-1.0, 2.0])
    engine.onnx.export(nn.ReLU(inplace=True), (x,))
    assert x.tolist() == [-1, 2]


@pytest.mark.parametrize(
    "share",
    [
        lambda y: y.reshape(-1),
        lambda y: y.reshape_as(y),
        lambda y: y.view_as(y),
        lambda y: nn.functional.dropout(y, 0.5, False),
    ],
    ids=["reshape", "reshape_as", "view_as", "dropout"],
)
def test_a_write_to_what_may_share_memory_with_what_is_read_later(share: Any) -> None:
    """A reshape is a view or a copy: where that matters, the export says so."""

    def model(x: Tensor) -> Tensor:
        y = x + 1
        shared, view = share(y), y.view(-1)
        shared.relu_()
        return view

    with pytest.raises(errors.SymbolicValueError, match="may share memory with %"):
        engine.onnx.export(model, (X,))


def test_an_overload_without_a_form() -> None:
    with pytest.raises(errors.SymbolicValueError, match="has no form with the argument 'dtype'"):
        engine.onnx.export(lambda x: x.view(engine.int32) + 1, (X,))


def test_a_model_that_changes_its_state() -> None:
    class Counter(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.count = 0

        def forward(self, x: Tensor) -> Tensor:
            self.count += 1
            return x * self.count

    with pytest.raises(errors.SymbolicValueError, match="sets the attribute 'count'"):
        engine.onnx.export(engine.jit.script(Counter()), (X,))


def test_operators_of_newer_opsets() -> None:
    with pytest.raises(
        errors.SymbolicValueError, match="Col2Im since opset 18, and opset_version is 17"
    ):
        engine.onnx.export(nn.Fold((4, 4), 2), (engine.ones(1, 4, 9),), opset_version=17)


def test_names_of_registered_operators() -> None:
    register = engine.onnx.register_custom_op_symbolic
    with pytest.raises(ValueError, match="Failed to register operator relu"):
        register("relu", lambda g, x: x, 13)
    with pytest.raises(TypeError, match="symbolic_fn must be callable, got int"):
        register("aten::relu", 3, 13)


def test_a_wrong_symbolic_function() -> None:
    register = engine.onnx.register_custom_op_symbolic
    register("aten::relu", lambda g, x: g.op("Relu", x, alpha=2), 13)
    try:
        with pytest.raises(ValueError, match="Invalid attribute specifier 'alpha'"):
            engine.onnx.export(engine.relu, (X,))
    finally:
        engine.onnx.unregister_custom_op_symbolic("aten::relu", 13)


def test_without_the_package() -> None:
    program = (
        "import sys; sys.modules['onnx'] = None\n"
        "import engine\n"
        "try:\n"
        "    engine.onnx.export(engine.nn.ReLU(), (engine.ones(2),))\n"
        "except engine.onnx.OnnxExporterError as error:\n"
        "    print(error)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout == "onnx.export needs the package onnx: pip install 'underhood[onnx]'\n"
