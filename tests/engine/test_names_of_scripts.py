"""Names that scripts import in passing: trees, testing, hub, pruning, switches; what stays out says what to do."""

from __future__ import annotations

import collections

import pytest

import engine
from engine import export, fx, hub, nn, overrides, testing
from engine.nn import grad
from engine.nn.utils import prune, stateless
from engine.utils import _pytree, benchmark, model_zoo

Point = collections.namedtuple("Point", "x y")


@pytest.mark.parametrize(
    ("tree", "leaves", "paths"),
    [
        ([1, (2, {"b": 3, "a": [4]})], [1, 2, 3, 4], ["[0]", "[1][0]", "[1][1]['b']", "[1][1]['a'][0]"]),
        (Point(1, [2]), [1, 2], [".x", ".y[0]"]),
        (collections.OrderedDict(z=1, a=(2,)), [1, 2], ["['z']", "['a'][0]"]),
        (collections.defaultdict(list, {"k": [1]}), [1], ["['k'][0]"]),
        (collections.deque([1, [2]], maxlen=3), [1, 2], ["[0]", "[1][0]"]),
        (None, [None], [""]),
    ],
)  # fmt: skip
def test_trees_are_taken_apart_and_put_together(tree, leaves, paths):
    flat, spec = _pytree.tree_flatten(tree)
    assert flat == leaves
    assert [_pytree.keystr(path) for path, _ in _pytree.tree_leaves_with_path(tree)] == paths
    again = _pytree.tree_unflatten(flat, spec)
    assert again == tree
    assert type(again) is type(tree)


def test_other_trees_must_have_the_structure():
    with pytest.raises(ValueError, match="Node arity mismatch; expected 1, but got 2"):
        _pytree.tree_map(max, [1], [1, 2])


def test_assert_close_says_how_far_apart():
    with pytest.raises(AssertionError) as raised:
        testing.assert_close(engine.tensor([1.0, 2.0, 3.0]), engine.tensor([1.0, 2.5, 3.0]))
    assert str(raised.value).splitlines()[2:] == [
        "Mismatched elements: 1 / 3 (33.3%)",
        "Greatest absolute difference: 0.5 at index (1,) (up to 1e-05 allowed)",
        "Greatest relative difference: 0.20000000298023224 at index (1,) (up to 1.3e-06 allowed)",
    ]
    with pytest.raises(AssertionError, match="The values for attribute 'dtype' do not match"):
        testing.assert_close(engine.ones(1), engine.ones(1, dtype=engine.float64))
    with pytest.raises(ValueError, match="must be either specified or unspecified"):
        testing.assert_close(1.0, 1.0, rtol=0.1)


def test_make_tensor_stays_in_its_range():
    x = testing.make_tensor(40, dtype=engine.int64, low=-2, high=3)
    assert int(x.min()) >= -2
    assert int(x.max()) <= 2
    assert not testing.make_tensor(4, 6, dtype=engine.float32, noncontiguous=True).is_contiguous()


def test_pruned_layers_mask_the_smallest_weights():
    layer = nn.Linear(3, 2)
    layer.weight.data.copy_(engine.tensor([[1.0, -6.0, 3.0], [-2.0, 5.0, 4.0]]))
    prune.l1_unstructured(layer, "weight", amount=2)
    assert layer.weight.tolist() == [[0.0, -6.0, 3.0], [0.0, 5.0, 4.0]]
    prune.ln_structured(layer, "weight", amount=1, n=2, dim=0)
    assert layer.weight[1].tolist() == [0.0, 0.0, 0.0] or layer.weight[0].tolist() == [0, 0, 0]
    assert list(layer.state_dict()) == ["bias", "weight_orig", "weight_mask"]
    layer(engine.ones(1, 3)).sum().backward()
    assert prune.is_pruned(layer)
    prune.remove(layer, "weight")
    assert list(layer.state_dict()) == ["bias", "weight"]
    assert not prune.is_pruned(layer)


def test_global_pruning_ranks_all_tensors_together():
    layers = nn.Linear(2, 1), nn.Linear(2, 1)
    for layer, values in zip(layers, ([1.0, 2.0], [3.0, 4.0]), strict=True):
        layer.weight.data.copy_(engine.tensor([values]))
    prune.global_unstructured([(x, "weight") for x in layers], prune.L1Unstructured, amount=2)
    assert [layer.weight.tolist() for layer in layers] == [[[0.0, 0.0]], [[3.0, 4.0]]]


def test_cross_map_normalization_has_the_first_channel_in_every_sum():
    x = engine.tensor([1.0, 2.0, 3.0]).view(1, 3, 1, 1)
    out = nn.CrossMapLRN2d(1, alpha=1.0, beta=1.0, k=0.0)(x).flatten()
    testing.assert_close(out, engine.tensor([1.0, 2 / 5, 3 / 10]))
    with pytest.raises(ValueError, match="Expected input to be 4D, got 3D"):
        nn.CrossMapLRN2d(1)(x[0])


def test_sync_batch_norm_is_batch_norm_in_one_process():
    batch = nn.BatchNorm2d(3)
    sync = nn.SyncBatchNorm.convert_sync_batchnorm(nn.Sequential(batch))[0]
    x = engine.randn(4, 3, 2, 2)
    assert isinstance(sync, nn.SyncBatchNorm)
    assert sync.weight is batch.weight
    testing.assert_close(sync.eval()(x), batch.eval()(x))


def test_gradients_of_convolutions_as_functions():
    x, w = (
        engine.randn(2, 3, 5, 5, requires_grad=True),
        engine.randn(4, 3, 3, 3, requires_grad=True),
    )
    out = nn.functional.conv2d(x, w, stride=2, padding=1)
    g = engine.randn(out.shape)
    expected = engine.autograd.grad(out, (x, w), g)
    testing.assert_close(grad.conv2d_input(x.shape, w, g, stride=2, padding=1), expected[0])
    testing.assert_close(grad.conv2d_weight(x, w.shape, g, stride=2, padding=1), expected[1])


def test_a_module_is_called_with_other_parameters():
    layer = nn.Linear(1, 1, bias=False)
    out = stateless.functional_call(layer, {"weight": engine.full((1, 1), 3.0)}, engine.ones(1))
    assert out.tolist() == [3.0]


def test_models_come_from_local_folders_only(tmp_path):
    (tmp_path / "hubconf.py").write_text("def net(n):\n    'A net.'\n    return n + 1\n")
    assert hub.list(tmp_path, source="local") == ["net"]
    assert hub.help(tmp_path, "net", source="local") == "A net."
    assert hub.load(tmp_path, "net", 2, source="local") == 3
    with pytest.raises(NotImplementedError, match="clone the repository and pass source='local'"):
        hub.load("pytorch/vision", "resnet18")
    assert model_zoo.load_url is hub.load_state_dict_from_url


def test_what_stays_out_says_what_to_do():
    with pytest.raises(
        NotImplementedError, match=r"fx.symbolic_trace is not supported: .*jit.trace"
    ):
        fx.symbolic_trace(nn.Linear(1, 1))
    with pytest.raises(NotImplementedError, match=r"export.export is not supported: .*onnx.export"):
        export.export(nn.Linear(1, 1), (engine.ones(1),))
    with pytest.raises(
        NotImplementedError, match=r"distributed.send is not supported: .*one process"
    ):
        engine.distributed.send(engine.ones(1), 1)
    assert not isinstance(nn.Linear(1, 1), fx.GraphModule)
    assert fx.wrap("len") == "len"
    with pytest.raises(AttributeError, match=r"engine.fx' has no attribute 'missing'"):
        fx.missing  # noqa: B018
    assert not overrides.has_torch_function((engine.ones(1),))


def test_switches_that_scripts_set():
    engine._dynamo.config.suppress_errors = True
    engine._inductor.config.coordinate_descent_tuning = True
    engine._dynamo.reset()
    assert "BLAS" in engine.__config__.show()
    with nn.attention.sdpa_kernel(nn.attention.SDPBackend.MATH):
        pass
    with pytest.raises(AssertionError, match="expected SDPBackend values, got 'math'"):
        nn.attention.sdpa_kernel("math").__enter__()
    assert benchmark.Timer("x + 1", globals={"x": 1}).timeit(3).number_per_run == 3


def test_a_clone_of_a_generator_draws_the_same_numbers():
    generator = engine.Generator().manual_seed(3)
    engine.rand(2, generator=generator)
    clone = generator.clone_state()
    assert engine.rand(4, generator=clone).tolist() == engine.rand(4, generator=generator).tolist()
    assert generator.device == engine.device("cpu")
    assert engine.default_generator.device.type == "cpu"


@pytest.mark.parametrize("factory", ["zeros", "ones", "empty", "rand", "randn"])
def test_factories_take_their_sizes_as_a_keyword(factory: str) -> None:
    create = getattr(engine, factory)
    assert create(size=(2, 3), dtype=engine.float64).shape == (2, 3)
    assert create(size=[]).shape == ()
    with pytest.raises(TypeError, match="multiple values for argument 'size'"):
        create(2, size=(3,))
    with pytest.raises(TypeError, match="must be tuple of ints, not int"):
        create(size=3)


def test_randint_takes_all_its_arguments_by_keyword() -> None:
    assert engine.randint(high=4, size=(2, 3)).shape == (2, 3)
    with pytest.raises(TypeError, match="missing the argument 'high'"):
        engine.randint(size=(2,))


def test_futures_of_several():
    futures = engine.futures
    first, second = futures.Future(), futures.Future()
    both = futures.collect_all([first, second])
    first.set_result(1)
    assert not both.done()
    second.set_result(2)
    assert futures.wait_all([first, second]) == [1, 2]
    failing = futures.Future()
    both = futures.collect_all([first, failing, second])
    failing.set_exception(ValueError("no"))
    with pytest.raises(ValueError, match="no"):
        both.wait()
    assert futures.collect_all([]).wait() == []


def test_libraries_find_the_private_names_that_they_touch():
    from engine import _C, _tensor_str

    x = engine.tensor([[1.0, 2.0], [3.0, 4.5]])
    text = _tensor_str._tensor_str(x, len("mine("))
    assert text == "[[1.0000, 2.0000],\n      [3.0000, 4.5000]]"
    assert _tensor_str._add_suffixes("mine(" + text, ["n=2"], 5, False).endswith("4.5000]], n=2)")
    assert _tensor_str._str(x) == repr(x)
    with engine.printoptions(precision=2):
        assert _tensor_str.PRINT_OPTS.precision == 2
    assert _C._get_default_device() == "cpu"

    class Mine(engine.Tensor):
        __torch_function__ = _C._disabled_torch_function_impl

    assert Mine.__torch_function__(max, (), (1, 2)) == 2
    with pytest.raises(NotImplementedError, match=r"^Mine: .* pass a plain tensor$"):
        engine.Tensor._make_wrapper_subclass(Mine, (2, 3))
    assert engine.ops.aten.squeeze.dim(engine.ones(1, 2), 0).shape == (2,)
    assert engine.ops.aten.sum.dim_IntList(engine.ones(3, 2), [0]).tolist() == [3, 3]
    with pytest.raises(AttributeError, match="squeeze has no overload 'nothing'"):
        engine.ops.aten.squeeze.nothing  # noqa: B018


def test_signatures_before_a_function_are_left_as_they_are():
    @engine.jit._overload
    def double(x: int) -> int: ...

    def double(x):  # noqa: F811
        return x * 2

    assert engine.jit.script(double)(engine.ones(2)).tolist() == [2, 2]


def test_other_processes_are_not_called():
    from engine.distributed import rpc

    assert not rpc.is_available()
    assert not hasattr(rpc, "api")
    assert not isinstance(1, rpc.RRef)
    with pytest.raises(NotImplementedError, match="call the function itself"):
        rpc.rpc_sync("other", max)


def test_older_names_that_libraries_import():
    from engine._vmap_internals import _vmap
    from engine.fx.node import Node
    from engine.nn.parallel.scatter_gather import scatter
    from engine.optim.lr_scheduler import _LRScheduler
    from engine.serialization import FILE_LIKE, MAP_LOCATION

    assert _vmap(engine.sum)(engine.ones(2, 3)).tolist() == [3, 3]
    assert fx.node.Node is fx.Node is Node
    with pytest.raises(NotImplementedError, match="pass the inputs to the module itself"):
        scatter(engine.ones(2), [0])
    optimizer = engine.optim.SGD([engine.ones(1, requires_grad=True)], lr=0.1)

    class Same(_LRScheduler):
        def get_lr(self):
            return [group["lr"] for group in self.optimizer.param_groups]

    assert Same(optimizer).get_last_lr() == [0.1]
    assert str in FILE_LIKE.__args__
    assert engine.device in MAP_LOCATION.__args__
