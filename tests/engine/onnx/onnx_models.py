"""Running an exported model in onnxruntime, and comparing it with the engine's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import engine
from engine import Tensor
from tests.engine.onnx.layer_cases import Case

pytest.importorskip("onnx", reason="the package onnx is not installed")
onnxruntime = pytest.importorskip("onnxruntime", reason="the package onnxruntime is not installed")


def leaves(value: Any) -> list[Tensor]:
    """Return the tensors and numbers of a result, in order."""
    if isinstance(value, (list, tuple)):
        return [leaf for item in value for leaf in leaves(item)]
    return [value if isinstance(value, Tensor) else engine.tensor(value)]


def session(model: Any) -> Any:
    """Return an onnxruntime session of one thread for a model, a path or an ONNXProgram."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 4
    source = model if isinstance(model, str) else model.model_proto.SerializeToString()
    return onnxruntime.InferenceSession(source, options, providers=["CPUExecutionProvider"])


def run(model: Any, *inputs: Tensor) -> list[Any]:
    """Return the outputs of onnxruntime for inputs in order."""
    live = model if hasattr(model, "get_inputs") else session(model)
    feeds = dict(zip((x.name for x in live.get_inputs()), (x.numpy() for x in inputs), strict=True))
    return list(live.run(None, feeds))


def assert_same(actual: list[Any], expected: Any) -> None:
    """Outputs of onnxruntime equal the engine's: shapes, dtypes, values to 1e-5."""
    expected_leaves = leaves(expected)
    assert len(actual) == len(expected_leaves)
    for output, leaf in zip(actual, expected_leaves, strict=True):
        reference = leaf.detach().numpy()
        assert (output.shape, output.dtype) == (reference.shape, reference.dtype)
        np.testing.assert_allclose(output, reference, rtol=1e-5, atol=1e-5)


def assert_exports(case: Case) -> None:
    """The case gives the same in onnxruntime at both of its sizes, which one model takes."""
    engine.manual_seed(3)
    model = case.build()
    if isinstance(model, engine.nn.Module):
        model.eval()
    examples = [case.inputs(0), case.inputs(1)]
    names = [f"input_{i}" for i in range(len(examples[0]))]
    axes = {
        name: {
            i: f"size_{a.shape[i]}_{b.shape[i]}" for i in range(a.dim()) if a.shape[i] != b.shape[i]
        }
        for name, a, b in zip(names, *examples, strict=True)
    }
    assert any(axes.values()), "both examples have the same sizes"
    program = engine.onnx.export(model, examples[0], input_names=names, dynamic_axes=axes)
    live = session(program)
    for inputs in examples:
        with engine.no_grad():
            assert_same(run(live, *inputs), model(*inputs))
