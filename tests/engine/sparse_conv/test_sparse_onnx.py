"""A sparse convolution in ONNX: nodes that onnxruntime runs, for any number of sites."""

from __future__ import annotations

import pytest

import engine
from engine import nn, sparse_conv
from tests.engine.sparse_conv.test_sparse_layers import Network

onnx = pytest.importorskip("onnx")
onnxruntime = pytest.importorskip("onnxruntime")

NAMES = ["features", "in_rows", "out_rows", "starts"]


class Convolution(nn.Module):
    """A submanifold convolution whose rulebook is an input."""

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(engine.randn(9, 3, 2))

    def forward(self, features, in_rows, out_rows, starts):
        n_out = features.size(0)
        return engine.ops.sparse_conv.gather_gemm_scatter(
            features, self.weight, in_rows, out_rows, starts, n_out
        ).relu()


def test_a_network_of_fixed_sites(tmp_path):
    engine.manual_seed(1)
    net, path = Network(), tmp_path / "network.onnx"
    engine.onnx.export(net, (engine.randn(3, 2),), path, input_names=["x"], opset_version=18)
    onnx.checker.check_model(onnx.load(path), full_check=True)
    x = engine.randn(3, 2)
    (actual,) = onnxruntime.InferenceSession(path).run(None, {"x": x.numpy()})
    assert engine.allclose(engine.from_numpy(actual), net(x).detach(), atol=1e-5)


def test_an_opset_that_cannot_add_is_refused(tmp_path):
    with pytest.raises(engine.onnx.errors.OnnxExporterError, match="opset 16 on; this is opset 15"):
        engine.onnx.export(Network(), (engine.randn(3, 2),), tmp_path / "x.onnx", opset_version=15)


def arguments(density: float) -> tuple[engine.Tensor, ...]:
    indices = (engine.rand(1, 6, 6) < density).nonzero()
    rulebook = sparse_conv.build_rulebook(indices, 1, [6, 6], [3, 3], submanifold=True)
    features = engine.randn(indices.size(0), 3)
    return features, rulebook.in_rows, rulebook.out_rows, rulebook.starts


def test_onnxruntime_computes_the_same_for_two_rulebooks(tmp_path):
    engine.manual_seed(0)
    net, path = Convolution(), tmp_path / "sparse.onnx"
    axes = {"features": {0: "sites"}, "in_rows": {0: "pairs"}, "out_rows": {0: "pairs"}}
    options = {"input_names": NAMES, "dynamic_axes": axes, "opset_version": 18}
    engine.onnx.export(net, arguments(0.5), path, **options)
    onnx.checker.check_model(onnx.load(path), full_check=True)
    session = onnxruntime.InferenceSession(path)
    for density in (0.5, 0.2, 1.0):
        inputs = arguments(density)
        feeds = {name: value.numpy() for name, value in zip(NAMES, inputs, strict=True)}
        (actual,) = session.run(None, feeds)
        expected = net(*inputs).detach()
        assert engine.allclose(engine.from_numpy(actual), expected, atol=1e-5)
