"""SparseConvTensors and layers: rulebooks that are shared, empty inputs, and errors with their values."""

from __future__ import annotations

import pytest

import engine
from engine import nn, sparse_conv
from engine.sparse_conv import (
    SparseConv2d,
    SparseConv3d,
    SparseConvTensor,
    SparseInverseConv2d,
    SparseMaxPool2d,
    SparseSequential,
    SubMConv2d,
    SubMConv3d,
)

INDICES = [[0, 0, 0], [0, 0, 1], [0, 3, 3]]


def tensor(channels=2, indices=INDICES, shape=(5, 5), batch_size=1, dtype=engine.int64):
    rows = engine.tensor(indices, dtype=dtype).reshape(-1, len(shape) + 1)
    return SparseConvTensor(engine.ones(rows.size(0), channels), rows, shape, batch_size)


def test_dense_and_back():
    engine.manual_seed(0)
    dense = engine.randn(2, 3, 4, 5) * (engine.rand(2, 1, 4, 5) < 0.3)
    sparse = SparseConvTensor.from_dense(dense)
    assert sparse.dense().equal(dense)
    assert sparse.density == sparse.indices.size(0) / 40


def test_gradients_reach_the_features_through_dense():
    x = tensor()
    x.features.requires_grad_()
    (x.dense() * 3).sum().backward()
    assert x.features.grad.equal(engine.full((3, 2), 3.0))


@pytest.mark.parametrize("dtype", [engine.int32, engine.int64])
def test_indices_keep_their_dtype(dtype):
    out = SparseConv2d(2, 1, 3)(tensor(dtype=dtype))
    assert out.indices.dtype == dtype


def test_a_submanifold_layer_keeps_sites_and_a_regular_one_grows_them():
    x = tensor(indices=[[0, 2, 2]])
    assert SubMConv2d(2, 1, 3)(x).indices is x.indices
    assert SparseConv2d(2, 1, 3, padding=1)(x).indices.size(0) == 9


def test_layers_with_one_key_share_a_rulebook():
    net = SparseSequential(
        SubMConv2d(2, 4, 3, indice_key="a"), nn.ReLU(), SubMConv2d(4, 2, 3, indice_key="a")
    )
    x = tensor()
    out = net(x)
    assert list(x.rulebooks) == ["a"]
    assert out.rulebooks is x.rulebooks
    assert net[0].rulebook(x) is net[2].rulebook(out)
    assert SubMConv2d(2, 4, 3)(tensor()).rulebooks == {}


def test_an_inverse_convolution_restores_the_sites():
    x = tensor(indices=[[0, 0, 0], [0, 4, 1], [0, 2, 2]])
    down = SparseConv2d(2, 4, 3, stride=2, padding=1, indice_key="down")
    up = SparseInverseConv2d(4, 2, 3, indice_key="down")
    out = up(down(x))
    assert out.indices is x.indices
    assert out.spatial_shape == (5, 5)


def test_pooling_ignores_empty_cells_and_prefers_nan():
    indices = engine.tensor([[0, 0, 0], [0, 0, 1], [0, 2, 2], [0, 3, 3]])
    features = engine.tensor([[-5.0], [-3.0], [engine.nan], [1.0]], requires_grad=True)
    out = SparseMaxPool2d(2)(SparseConvTensor(features, indices, [4, 4], 1))
    assert out.features[0].item() == -3.0
    assert out.features[1].isnan()
    out.features.sum().backward()
    assert features.grad.flatten().tolist() == [0.0, 1.0, 1.0, 0.0]


@pytest.mark.parametrize(
    "layer",
    [
        SubMConv2d(2, 3, 3),
        SparseConv2d(2, 3, 3, stride=2),
        SparseMaxPool2d(2),
    ],
)
def test_no_sites(layer):
    x = tensor(indices=[])
    x.features.requires_grad_()
    out = layer(x)
    assert out.indices.shape == (0, 3)
    assert out.features.size(0) == 0
    assert out.dense().abs().sum() == 0
    out.features.sum().backward()
    assert x.features.grad.shape == (0, 2)
    assert all(not p.grad.any() for p in layer.parameters())


def test_a_sample_without_sites_and_one_site():
    x = tensor(indices=[[2, 1, 1]], batch_size=4)
    out = SparseConv2d(2, 1, 3, padding=1)(x)
    assert set(out.indices[:, 0].tolist()) == {2}
    assert out.dense().shape == (4, 1, 5, 5)
    assert not out.dense()[[0, 1, 3]].any()


def test_a_sequential_gives_other_layers_the_features():
    net = SparseSequential(SubMConv2d(2, 4, 3), nn.BatchNorm1d(4), nn.ReLU(), SparseMaxPool2d(2))
    out = net(tensor())
    assert isinstance(out, SparseConvTensor)
    assert out.channels == 4
    state = net.state_dict()
    assert state["0.weight"].shape == (3, 3, 2, 4)


def test_a_network_learns():
    engine.manual_seed(0)
    net = SparseSequential(SubMConv2d(2, 8, 3), nn.ReLU(), SubMConv2d(8, 1, 3))
    optimizer = engine.optim.Adam(net.parameters(), lr=0.05)
    x = tensor()
    losses = []
    for _ in range(60):
        loss = (net(x).features - engine.tensor([[1.0], [-1.0], [2.0]])).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < 0.01 * losses[0]


def test_the_operators_are_those_of_a_loaded_library():
    tensor()
    assert any("libsparse_conv" in path for path in engine.ops.loaded_libraries)
    assert "CPU" in engine.ops.kernels("sparse_conv::gather_gemm_scatter")


@pytest.mark.parametrize("kernel_size", [2, (3, 4), (2, 1)])
def test_submanifold_kernels_of_even_size_have_no_centre(kernel_size):
    with pytest.raises(ValueError, match=r"must be odd.*Hint: SparseConv2d takes any size"):
        SubMConv2d(2, 3, kernel_size)
    sizes = (kernel_size, kernel_size) if isinstance(kernel_size, int) else kernel_size
    with pytest.raises(ValueError, match="needs odd kernel sizes, which have a centre"):
        sparse_conv.build_rulebook(engine.tensor(INDICES), 1, (5, 5), sizes, submanifold=True)
    assert SparseConv2d(2, 3, kernel_size)(tensor()).channels == 3


SITES = engine.tensor(INDICES)


class Network(nn.Module):
    """Two sparse layers around a site-wise one, from the features of fixed sites to a dense tensor."""

    def __init__(self):
        super().__init__()
        self.layers = SparseSequential(
            SubMConv2d(2, 4, 3), nn.ReLU(), SparseConv2d(4, 3, 2, stride=2)
        )

    def forward(self, features):
        return self.layers(SparseConvTensor(features, SITES, (5, 5), 1)).dense()


def test_a_trace_names_the_operators_and_has_their_gradients():
    engine.manual_seed(0)
    net = Network()
    traced = engine.jit.trace(net, (engine.randn(3, 2),))
    assert str(traced.inlined_graph).count("sparse_conv::gather_gemm_scatter") == 2
    features = engine.randn(3, 2, requires_grad=True)
    parameters = [features, *net.parameters()]
    expected = engine.autograd.grad(net(features).square().sum(), parameters)
    actual = engine.autograd.grad(traced(features).square().sum(), parameters)
    for first, second in zip(expected, actual, strict=True):
        assert engine.allclose(first, second)


def test_meta_has_the_sizes_of_the_result():
    rulebook = sparse_conv.build_rulebook(
        engine.tensor(INDICES), 1, (5, 5), (3, 3), submanifold=True
    )
    rows = (rulebook.in_rows, rulebook.out_rows, rulebook.starts)
    meta = [t.to("meta") for t in (engine.ones(3, 2), engine.ones(9, 2, 4), *rows)]
    assert engine.ops.sparse_conv.gather_gemm_scatter(*meta, 3).shape == (3, 4)
    grads = engine.ops.sparse_conv.weight_gradient(meta[0], engine.ones(3, 4).to("meta"), *meta[2:])
    assert grads.shape == (9, 2, 4)


BAD_TENSORS = [
    (
        lambda: SparseConvTensor([[1.0]], engine.zeros(1, 3, dtype=engine.int64), [2, 2], 1),
        TypeError,
        "got list",
    ),
    (
        lambda: SparseConvTensor(engine.ones(1), engine.zeros(1, 3, dtype=engine.int64), [2, 2], 1),
        ValueError,
        r"got \(1,\)",
    ),
    (
        lambda: SparseConvTensor(engine.ones(1, 1), engine.zeros(1, 3), [2, 2], 1),
        TypeError,
        "got float32",
    ),
    (
        lambda: SparseConvTensor(
            engine.ones(2, 1), engine.zeros(1, 3, dtype=engine.int64), [2, 2], 1
        ),
        ValueError,
        r"\(2, 1\) for 1 sites",
    ),
    (
        lambda: tensor(indices=[[0, 0, 5]]),
        IndexError,
        r"indices\[0, 2\] is 5, outside of dimension 1 of spatial_shape \(5\)",
    ),
    (lambda: tensor(indices=[[0, 0, 0], [0, -1, 0]]), IndexError, r"indices\[1, 1\] is -1"),
    (
        lambda: tensor(indices=[[3, 0, 0]], batch_size=2),
        IndexError,
        r"indices\[0, 0\] is 3, outside of batch_size \(2\)",
    ),
    (
        lambda: tensor(indices=[[0, 1, 1], [0, 2, 2], [0, 1, 1]]),
        ValueError,
        r"indices\[0\] and indices\[2\] are the same site, \[0, 1, 1\]",
    ),
    (lambda: tensor(batch_size=0), ValueError, "batch_size must be at least 1, got 0"),
    (lambda: tensor(shape=(5, 0)), ValueError, r"spatial_shape must be at least 1, got \[5, 0\]"),
    (
        lambda: tensor(shape=(5, 5, 5), indices=[[0, 1, 1, 1]]).replace_feature(engine.ones(2, 2)),
        ValueError,
        r"\(2, 2\) for 1 sites",
    ),
    (
        lambda: SparseConvTensor(
            engine.ones(1, 1), engine.zeros(1, 2, dtype=engine.int64), [2, 2], 1
        ),
        ValueError,
        r"the shape \(sites, 3\).*got \[1, 2\]",
    ),
    (lambda: SparseConvTensor.from_dense(engine.ones(2, 2)), ValueError, r"got \(2, 2\)"),
    (
        lambda: tensor(shape=(2**31 - 1,) * 2, batch_size=2**20),
        ValueError,
        "more than 2\\^63 cells",
    ),
]


@pytest.mark.parametrize(("call", "error", "message"), BAD_TENSORS)
def test_wrong_tensors_are_rejected_with_their_values(call, error, message):
    with pytest.raises(error, match=message):
        call()


BAD_LAYERS = [
    (
        lambda: SubMConv2d(2, 3, 3)(engine.ones(1, 2, 5, 5)),
        TypeError,
        "expected a SparseConvTensor, got Tensor",
    ),
    (
        lambda: SubMConv3d(2, 3, 3)(tensor()),
        ValueError,
        r"expected 3 spatial dimensions, got spatial_shape=\(5, 5\)",
    ),
    (
        lambda: SubMConv2d(4, 3, 3)(tensor()),
        ValueError,
        r"expected 4 channels, got features of shape \(3, 2\)",
    ),
    (
        lambda: SubMConv2d(2, 3, 3, dtype=engine.float64)(tensor()),
        TypeError,
        "float32, the weight is .*float64",
    ),
    (lambda: SubMConv2d(2, 3, 2), ValueError, "must be odd, so that it has a centre, got 2"),
    (
        lambda: SparseConv2d(2, 3, (3, 0)),
        ValueError,
        r"kernel_size must be .* at least 1.*got \(3, 0\)",
    ),
    (lambda: SparseConv3d(2, 3, (3, 3)), ValueError, r"or 3 of them, got \(3, 3\)"),
    (lambda: SparseConv2d(2, 3, 3, stride=0), ValueError, "stride must be .* at least 1.*got 0"),
    (
        lambda: SparseConv2d(2, 3, 3, padding=-1),
        ValueError,
        "padding must be .* at least 0.*got -1",
    ),
    (lambda: SparseConv2d(2, 3, 3, dilation=1.5), ValueError, "dilation must be .*got 1.5"),
    (lambda: SparseConv2d(0, 3, 3), ValueError, "in_channels must be a positive integer, got 0"),
    (
        lambda: SparseConv2d(2, 3, 7)(tensor()),
        ValueError,
        "kernel is larger than the padded input: 7 > 5",
    ),
    (
        lambda: SparseInverseConv2d(2, 3, 3, "up")(tensor()),
        ValueError,
        "no layer before it has the indice_key 'up'; the tensor's rulebooks: none",
    ),
]


@pytest.mark.parametrize(("call", "error", "message"), BAD_LAYERS)
def test_wrong_layers_are_rejected_with_their_values(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_a_key_of_another_kernel_or_other_sites_is_rejected():
    x = tensor()
    SubMConv2d(2, 2, 3, indice_key="a")(x)
    with pytest.raises(ValueError, match=r"has kernel_size=\(3, 3\), this layer \(1, 1\)"):
        SubMConv2d(2, 2, 1, indice_key="a")(x)
    with pytest.raises(ValueError, match="has submanifold=True, this layer False"):
        SparseConv2d(2, 2, 3, indice_key="a")(x)
    grown = SparseConv2d(2, 2, 3, padding=1, indice_key="b")(x)
    with pytest.raises(ValueError, match=r"for other sites: 3 in \(5, 5\), the input has"):
        SubMConv2d(2, 2, 3, indice_key="a")(grown)
    with pytest.raises(ValueError, match="leads to other sites"):
        SparseInverseConv2d(2, 2, 3, "b")(x)
    with pytest.raises(ValueError, match=r"has kernel_size=\(3, 3\), this layer \(2, 2\)"):
        SparseInverseConv2d(2, 2, 2, "b")(grown)


ROWS = engine.tensor([0, 1])
PLAN = engine.tensor([0, 2])
BAD_CALLS = [
    (
        lambda op: op(engine.ones(2, 2), engine.ones(1, 3, 2), ROWS, ROWS, PLAN, 2),
        ValueError,
        "2 channels, weight takes 3",
    ),
    (
        lambda op: op(engine.ones(2, 2), engine.ones(2, 2, 2), ROWS, ROWS, PLAN, 2),
        ValueError,
        "2 kernel offsets, the rulebook 1",
    ),
    (
        lambda op: op(engine.ones(2, 2), engine.ones(1, 2, 2), ROWS, ROWS[:1], PLAN, 2),
        ValueError,
        "equal lengths, got 2 and 1",
    ),
    (
        lambda op: op(
            engine.ones(2, 2), engine.ones(1, 2, 2), ROWS, ROWS, engine.tensor([0, 3]), 2
        ),
        ValueError,
        r"number of pairs, 2, got \[0, 3\]",
    ),
    (
        lambda op: op(engine.ones(1, 2), engine.ones(1, 2, 2), ROWS, ROWS, PLAN, 2),
        IndexError,
        "in_rows has the row 1 of 1 rows",
    ),
    (
        lambda op: op(engine.ones(2, 2), engine.ones(1, 2, 2), ROWS.flip(0), ROWS, PLAN, 1),
        IndexError,
        "out_rows has the row 1 of 1 rows",
    ),
    (
        lambda op: op(engine.ones(2, 2), engine.ones(1, 2, 2), ROWS, -ROWS, PLAN, 2),
        IndexError,
        "out_rows has the row -1 of 2 rows",
    ),
    (
        lambda op: op(engine.ones(2, 2), engine.ones(1, 2, 2), ROWS, ROWS, PLAN, -1),
        ValueError,
        "n_out must not be negative, got -1",
    ),
    (
        lambda op: op(engine.ones(2, 2).double(), engine.ones(1, 2, 2), ROWS, ROWS, PLAN, 2),
        TypeError,
        "different dtypes",
    ),
    (
        lambda op: op(engine.ones(2, 2).long(), engine.ones(1, 2, 2), ROWS, ROWS, PLAN, 2),
        TypeError,
        "float32 or float64",
    ),
    (
        lambda op: op(engine.ones(2, 2), engine.ones(1, 2, 2), ROWS.int(), ROWS, PLAN, 2),
        TypeError,
        "in_rows must be int64",
    ),
]


@pytest.mark.parametrize(("call", "error", "message"), BAD_CALLS)
def test_wrong_rulebooks_are_rejected(call, error, message):
    tensor()  # loads the library
    with pytest.raises(error, match=message):
        call(engine.ops.sparse_conv.gather_gemm_scatter)


def test_pooling_rejects_an_output_without_inputs():
    tensor()
    with pytest.raises(ValueError, match="output row 2 has no input row"):
        engine.ops.sparse_conv.max_pool_rows(engine.ones(2, 2), ROWS, ROWS, PLAN, 3)


def test_pairs_outside_of_the_kernel():
    rulebook = sparse_conv.build_rulebook(
        engine.tensor(INDICES), 1, (5, 5), (3, 3), submanifold=True
    )
    with pytest.raises(IndexError, match="offset 9 is out of range; the kernel has 9 offsets"):
        rulebook.pairs(9)
    with pytest.raises(ValueError, match="auto, grid or hash, got 'tree'"):
        sparse_conv.build_rulebook(engine.tensor(INDICES), 1, (5, 5), (3, 3), table="tree")
    assert repr(rulebook) == "Rulebook(submanifold, kernel_size=(3, 3), 3 -> 3 sites, 5 pairs)"
