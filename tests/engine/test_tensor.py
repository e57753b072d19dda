"""The Python object: description, conversions, copies, errors; looking leaves counters alone."""

import copy
import pickle
import subprocess
import sys

import pytest

import engine
from engine.inspect import live


def test_description():
    x = engine.zeros(2, 3, 4).transpose(0, 2)
    assert repr(x.shape) == "engine.Size([4, 3, 2])"
    assert (x.size(-1), x.stride(), x.stride(0), x.dim(), x.numel()) == (2, (1, 4, 12), 1, 3, 24)
    assert (x.itemsize, x.nbytes, x.storage_offset(), x.is_contiguous()) == (4, 96, 0, False)
    assert (str(x.device), repr(x.device), x.layout) == (
        "cpu",
        "device(type='cpu')",
        engine.strided,
    )
    assert x._base is not None
    with pytest.raises(IndexError, match=r"\[-3, 2\], but got 3"):
        x.size(3)


def test_size_is_a_tuple():
    size = engine.Size([2, 3])
    assert size == (2, 3)
    assert size.numel() == 6
    longer = (1,)
    assert all(
        isinstance(s, engine.Size) for s in (size[1:], size + longer, longer + size, size * 2)
    )
    with pytest.raises(TypeError, match="float"):
        engine.Size([2.5])


def test_python_values():
    assert bool(engine.tensor([[1]]))
    assert (int(engine.tensor(2.7)), float(engine.tensor(2))) == (2, 2.0)
    assert [10, 20, 30][engine.tensor(1)] == 20
    assert 3 in engine.arange(4)
    assert 9 not in engine.arange(4)
    assert [row.tolist() for row in engine.eye(2)] == [[1, 0], [0, 1]]
    assert hash(x := engine.zeros(1)) == hash(x)
    assert engine.tensor([[[]]]).tolist() == [[[]]]
    assert engine.tensor([True, False]).tolist() == [True, False]


@pytest.mark.parametrize(
    ("call", "error", "pattern"),
    [
        (lambda x: bool(x), RuntimeError, "more than one value"),
        (lambda x: bool(x[:0]), RuntimeError, "no values"),
        (lambda x: int(x), ValueError, "only one element"),
        (lambda x: x.item(), RuntimeError, "3 elements"),
        (lambda x: x.__index__(), TypeError, "only integer tensors"),
        (lambda x: len(x[0]), TypeError, "0-d"),
        (lambda x: iter(x[0]), TypeError, "0-d"),
        (lambda x: "a" in x, RuntimeError, "__contains__"),
        (
            lambda x: x.to(3),
            RuntimeError,
            "no opencl:3|no accelerator|accelerator device when none",
        ),
        (lambda x: x.to("cuda"), AssertionError, "'cuda'"),
        (lambda x: x.add("a"), TypeError, "'other'"),
        (lambda x: x + "a", TypeError, "str"),
        (lambda x: x.to("meta").tolist(), NotImplementedError, "meta"),
        (lambda x: engine.set_default_dtype(engine.int8), TypeError, "floating"),
    ],
)
def test_errors(call, error, pattern):
    with pytest.raises(error, match=pattern):
        call(engine.zeros(3))


def test_conversions():
    x = engine.tensor([1.7, -1.7])
    assert x.to(engine.float32) is x
    assert x.to("cpu") is x
    assert x.to(x.dtype, copy=True) is not x
    assert x.int().tolist() == [1, -1]
    assert x.to("meta").is_meta
    assert x.to(engine.tensor(1)).dtype is engine.int64
    assert x.type() == "engine.FloatTensor"
    assert x.type(engine.int8).dtype is engine.int8


def test_copies_keep_what_is_shared():
    x = engine.arange(6)
    a, b = copy.deepcopy([x, x[2:]])
    a[2] = 99
    assert b.tolist() == [99, 3, 4, 5]
    assert x.tolist() == [0, 1, 2, 3, 4, 5]


@pytest.mark.parametrize("kind", engine.dtypes.DTYPES)
def test_pickle(kind):
    x = engine.tensor([[0, 1], [1, 0]]).to(kind).t()
    y = pickle.loads(pickle.dumps(x))
    assert y.dtype is kind
    assert y.tolist() == x.tolist()
    assert y.stride() == x.stride()


def test_tensors_of_one_pickle_share_memory():
    x = engine.arange(6.0)
    parts = [x, x[2:], x.view(2, 3).t(), x.view(engine.uint8), x[:1].expand(4), x[6:]]
    parts.append(engine.nn.Parameter(x.view(3, 2)))
    loaded = pickle.loads(pickle.dumps(parts))
    for part, again in zip(parts, loaded, strict=True):
        assert type(again) is type(part)
        assert again.storage_offset() == part.storage_offset()
        assert again.stride() == part.stride()
        assert again.requires_grad == part.requires_grad
    x.mul_(2)
    loaded[0].mul_(2)
    assert [part.tolist() for part in loaded] == [part.tolist() for part in parts]
    assert loaded[0].untyped_storage() == loaded[-1].untyped_storage()


def test_each_pickle_has_the_bytes_of_its_own_moment():
    x = engine.zeros(2)
    first = pickle.dumps(x)
    x.add_(1)
    assert [pickle.loads(p).tolist() for p in (first, pickle.dumps(x))] == [[0, 0], [1, 1]]


def test_a_pickled_meta_tensor_keeps_its_layout():
    x = engine.empty(2, 3, device="meta").t()
    y = pickle.loads(pickle.dumps(x))
    assert (y.is_meta, y.shape, y.stride()) == (True, (3, 2), (1, 3))


def test_data_has_a_version_of_its_own():
    x = engine.zeros(2)
    x.add_(1)
    x.data.add_(1)
    assert (x._version, x.tolist()) == (1, [2, 2])
    x.data = engine.ones(3)
    assert x.tolist() == [1, 1, 1]


def test_storage():
    x = engine.tensor([1, 2], dtype=engine.int16)
    storage = x.untyped_storage()
    assert (storage.nbytes(), storage.tolist(), bytes(storage)) == (4, [1, 0, 2, 0], b"\1\0\2\0")
    storage[0] = 7
    assert x.tolist() == [7, 2]
    assert storage == x[1:].untyped_storage()
    storage.resize_(8)
    assert storage.nbytes() == 8
    with pytest.raises(IndexError):
        storage[8]


def test_looking_changes_nothing():
    x = engine.zeros(4, 4)
    y = x.t()
    counts = [live.use_count(x), live.storage_use_count(x), live.version(x)]
    x.shape, x.stride(), x.data_ptr(), x.is_contiguous(), x.tolist(), repr(x), x.untyped_storage()
    live.key_set(x), live.shares_memory(x, y), live.allocator_stats(), x._is_view()
    assert [live.use_count(x), live.storage_use_count(x), live.version(x)] == counts


def test_live_answers():
    x = engine.zeros(4)
    assert live.storage_use_count(x) == 1
    assert live.shares_memory(x[:2], x[1:])
    assert not live.shares_memory(x[::2], x[1::2])
    assert live.storage_id(x) == live.storage_id(x[1:])
    assert live.key_set(x)[-1] == "CPU"
    with pytest.raises(ValueError, match="allocator_stats"):
        live.allocator_stats("gpu")


def test_operators_by_name():
    x = engine.ones(2)
    aten = engine.ops.aten
    assert aten.add.Tensor(x, x, alpha=2).tolist() == [3, 3]
    assert aten.add(x, x).tolist() == [2, 2]
    assert [element.item() for element in aten.unbind(x)] == [1, 1]
    assert aten.mul_(x, x) is x
    with pytest.raises(TypeError, match="'self' must be Tensor, got str"):
        aten.add("a", x)
    with pytest.raises(AttributeError, match="no operator"):
        getattr(aten, "nothing_like_this")  # noqa: B009


def test_import_takes_no_numpy():
    code = "import sys, engine; print(any(m.startswith('numpy') for m in sys.modules))"
    completed = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert completed.stdout.strip() == "False"
    code = "import sys, engine; print('engine.inspect' in sys.modules)"
    completed = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert completed.stdout.strip() == "False"


def test_openblas_is_told_its_core_only_where_it_must():
    from engine._native.library import openblas_environment

    wide = {"avx512f", "avx512cd", "avx512bw", "avx512dq", "avx512vl", "fma"}
    assert openblas_environment({}, wide)["OPENBLAS_CORETYPE"] == "SkylakeX"
    assert "OPENBLAS_CORETYPE" not in openblas_environment({}, {"avx2", "fma"})
    assert "OPENBLAS_CORETYPE" not in openblas_environment({"OPENBLAS_CORETYPE": "Zen"}, wide)
