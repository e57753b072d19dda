"""save and load: what comes back, what is refused, and files from elsewhere."""

import collections
import io
import json
import os
import struct

import numpy as np
import pytest

import engine
from engine.serialization import load, save

safetensors = pytest.importorskip("safetensors")
DTYPES = "bool uint8 int8 int16 int32 int64 float16 bfloat16 float32 float64 complex64 complex128"


@pytest.fixture(params=["read", "mapped", "stream"])
def again(request, tmp_path):
    """The object after saving and loading, in three ways."""

    def round_trip(obj):
        if request.param == "stream":
            file = io.BytesIO()
            save(obj, file)
            file.seek(0)
            return load(file)
        save(obj, tmp_path / "x.safetensors")
        return load(tmp_path / "x.safetensors", mmap=request.param == "mapped")

    return round_trip


@pytest.mark.parametrize("name", DTYPES.split())
def test_dtypes(name, again):
    x = (engine.arange(6).view(2, 3) % 4).to(getattr(engine, name))
    y = again({"x": x})["x"]
    assert y.dtype == x.dtype
    assert y.tolist() == x.tolist()
    assert y.shape == (2, 3)


def test_nested_containers(again):
    obj = {
        "model": collections.OrderedDict([("w", engine.ones(2)), ("b", engine.zeros(()))]),
        "optimizer": {"state": {0: {"step": engine.tensor(3.0)}, 1: {}}, "groups": [{"lr": 0.1}]},
        "pair": (1, [None, True, "text \u00e9 \ud800"], {1, 2}, frozenset([3])),
        "numbers": [2**70, -1, 0.1, float("inf"), 1 + 2j, 5e-324],
        "words": [b"\x00\xff", engine.float16, engine.Size([2, 3]), engine.device("cpu")],
        ("a", 1): "a key that is not a string",
    }
    result = again(obj)
    assert list(result) == list(obj)
    assert type(result["model"]) is collections.OrderedDict
    assert list(result["model"]) == ["w", "b"]
    assert result["optimizer"]["state"][0]["step"].item() == 3
    assert result["optimizer"]["state"][1] == {}
    for key in ("pair", "numbers", "words", ("a", 1)):
        assert result[key] == obj[key]
    assert type(result["words"][2]) is engine.Size


@pytest.mark.parametrize("obj", [None, 3, "text", [], {}, (), [{}]])
def test_objects_without_tensors(obj, again):
    assert again(obj) == obj


def test_a_tensor_alone(again):
    assert again(engine.arange(3)).tolist() == [0, 1, 2]
    assert again(engine.tensor(2.5)).shape == ()
    assert again(engine.empty(0, 3)).shape == (0, 3)


def test_layouts_stay_as_they_are(again):
    x = engine.arange(12.0).view(3, 4)
    image = engine.rand(2, 3, 4, 5).contiguous(memory_format=engine.channels_last)
    obj = {
        "t": x.t(),
        "part": engine.arange(10)[::3],
        "wide": engine.ones(1).expand(3),
        "image": image,
        "complex": engine.ones(2, 3, dtype=engine.complex128).t(),
    }
    result = again(obj)
    for key, tensor in obj.items():
        assert result[key].tolist() == tensor.tolist()
        assert result[key].stride() == tensor.stride(), key
        assert result[key].dtype is tensor.dtype


def test_another_reader_finds_a_strided_tensor_by_its_shape(tmp_path):
    from safetensors.numpy import load_file

    x = engine.arange(6.0).view(2, 3)
    save({"t": x.t()}, tmp_path / "x")
    assert load_file(tmp_path / "x")["t"].tolist() == x.t().tolist()


def test_tied_weights_stay_tied(again):
    w = engine.ones(2, 3)
    result = again({"encoder": w, "decoder": w.detach(), "other": w.clone()})
    result["encoder"].add_(1)
    assert result["decoder"].tolist() == result["encoder"].tolist()
    assert result["other"].tolist() == engine.ones(2, 3).tolist()


VIEWS = {
    "row": lambda x: [x, x[0]],
    "transposed": lambda x: [x, x.t()],
    "halves": lambda x: [x[:3], x[1:]],
    "flat": lambda x: [x, x.view(16)],
    "diagonal first": lambda x: [x.diagonal(), x],
    "expanded": lambda x: [x[:, :1].expand(4, 3), x],
    "other dtype": lambda x: [x, x.view(engine.int32)[1]],
    "bytes": lambda x: [x.view(engine.uint8), x[2:]],
    "chain": lambda x: [x[0:2], x[1:3], x[2:4], x[1]],
    "complex": lambda x: [engine.view_as_complex(x.view(4, 2, 2)), x],
}


@pytest.mark.parametrize("dtype", [engine.float32, engine.float64])
@pytest.mark.parametrize("name", VIEWS)
def test_loaded_views_share_memory(again, name, dtype):
    if (name, dtype) == ("other dtype", engine.float64):
        pytest.skip("two int32 for each element")
    obj = VIEWS[name](engine.arange(16.0, dtype=dtype).view(4, 4))
    result = again(obj)
    for a, b in zip(obj, result, strict=True):
        assert (a.shape, a.stride(), a.dtype) == (b.shape, b.stride(), b.dtype)
        assert a.tolist() == b.tolist()
    for tensors in (obj, result):  # a write into one is seen in all
        target = tensors[0] if name != "expanded" else tensors[1]
        target.mul_(2)
    assert [a.tolist() for a in obj] == [b.tolist() for b in result]


def test_shared_views_keep_who_requires_grad(again):
    x = engine.arange(4.0)
    result = again([x.detach().requires_grad_(), x[1:]])
    assert [t.requires_grad for t in result] == [True, False]


def test_rows_of_one_storage_are_written_each_by_itself(tmp_path):
    from safetensors.numpy import load_file

    x = engine.arange(16.0).view(4, 4)
    save([x[0], x[1], x[0]], tmp_path / "x")
    first, _, again = load(tmp_path / "x")
    assert first.data_ptr() == again.data_ptr()
    assert {name: value.tolist() for name, value in load_file(tmp_path / "x").items()} == {
        "0": [0, 1, 2, 3], "1": [4, 5, 6, 7],
    }  # fmt: skip


def test_dtypes_that_share_memory_keep_their_grid(again):
    x = engine.arange(3.0)
    result = again([x.view(engine.uint8)[1:], x[1:]])
    result[0].zero_()
    assert result[1].tolist() == [0, 0]


@pytest.mark.parametrize(
    ("obj", "kind", "pattern"),
    [
        ({"a": [print]}, TypeError, r"\['a'\]\[0\] is a builtins.builtin_function"),
        (collections.Counter(), TypeError, "Counter"),
        (np.ones(2), TypeError, "numpy.ndarray"),
        (engine.empty(2, device="meta"), RuntimeError, "meta"),
        ({"a": object()}, TypeError, "object"),
    ],
)
def test_what_cannot_be_saved(obj, kind, pattern, tmp_path):
    with pytest.raises(kind, match=pattern):
        save(obj, tmp_path / "x")
    assert not os.listdir(tmp_path)


def test_containers_without_end(tmp_path):
    loop = []
    loop.append(loop)
    with pytest.raises(ValueError, match="itself"):
        save(loop, tmp_path / "x")
    deep = 1
    for _ in range(200):
        deep = [deep]
    with pytest.raises(ValueError, match="100"):
        save(deep, tmp_path / "x")
    same = [1]
    save([same, same], tmp_path / "x")
    assert load(tmp_path / "x") == [[1], [1]]


def test_a_file_is_replaced_whole(tmp_path):
    path = tmp_path / "x"
    save({"x": engine.ones(1000)}, path)
    mapped = load(path, mmap=True)["x"]
    save({"x": engine.zeros(1000)}, path)
    assert mapped.sum().item() == 1000
    assert load(path)["x"].sum().item() == 0
    assert os.listdir(tmp_path) == ["x"]


def test_writing_to_mapped_tensors_leaves_the_file(tmp_path):
    save(engine.ones(5), tmp_path / "x")
    load(tmp_path / "x", mmap=True).zero_()
    assert load(tmp_path / "x").sum().item() == 5


def test_map_location(tmp_path):
    save({"x": engine.ones(5)}, tmp_path / "x")
    assert load(tmp_path / "x", map_location="meta")["x"].is_meta
    assert load(tmp_path / "x", map_location=engine.device("cpu"))["x"].is_cpu
    with pytest.raises(AssertionError, match="cuda"):
        load(tmp_path / "x", map_location="cuda")
    with pytest.raises(RuntimeError, match="pickle_module"):
        load(tmp_path / "x", pickle_module=json)
    with pytest.raises(ValueError, match="path"):
        load(io.BytesIO(b""), mmap=True)


def test_requires_grad_is_kept(again):
    result = again({"w": engine.ones(2, requires_grad=True), "b": engine.ones(2)})
    assert result["w"].requires_grad
    assert result["w"].is_leaf
    assert not result["b"].requires_grad


def written(tmp_path, header, data=b""):
    """A file with any header."""
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    path = tmp_path / "made"
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)
    return path


def test_files_of_others(tmp_path):
    """As other writers leave them: no metadata of ours, and tensors that are not aligned."""
    header = {
        "__metadata__": {"format": "pt"},
        "b": {"dtype": "U8", "shape": [3], "data_offsets": [0, 3]},
        "a.weight": {"dtype": "F32", "shape": [2, 1], "data_offsets": [3, 11]},
        "half": {"dtype": "BF16", "shape": [2], "data_offsets": [11, 15]},
    }
    data = bytes([1, 2, 3]) + struct.pack("<ff", 1.5, -2.0) + b"\x80\x3f\x00\x40"
    path = written(tmp_path, header, data)
    for mapped in (False, True):
        loaded = load(path, mmap=mapped)
        assert list(loaded) == ["b", "a.weight", "half"]
        assert loaded["a.weight"].tolist() == [[1.5], [-2.0]]
        assert loaded["half"].tolist() == [1.0, 2.0]
        assert (loaded["a.weight"] * 2).tolist() == [[3.0], [-4.0]]


def test_unknown_dtypes_are_named(tmp_path):
    header = {"x": {"dtype": "U16", "shape": [1], "data_offsets": [0, 2]}}
    with pytest.raises(TypeError, match=r"'x'.*U16"):
        load(written(tmp_path, header, b"\0\0"))


def test_files_written_with_torch(tmp_path):
    torch = pytest.importorskip("torch")
    from safetensors.torch import load_file, save_file

    kinds = [kind for kind in DTYPES.split() if kind != "complex128"]
    other = {kind: torch.arange(6).reshape(2, 3).to(getattr(torch, kind)) for kind in kinds}
    save_file(other, tmp_path / "x", {"format": "pt"})
    ours = load(tmp_path / "x")
    for kind in kinds:
        assert ours[kind].dtype == getattr(engine, kind)
        assert ours[kind].tolist() == other[kind].tolist()
    save({"layer": {"w": ours["bfloat16"], "b": ours["float64"]}}, tmp_path / "y")
    back = load_file(tmp_path / "y")
    assert back["layer.w"].dtype == torch.bfloat16
    assert back["layer.b"].tolist() == other["float64"].tolist()


class Bomb:
    def __reduce__(self):
        return exec, ("raise SystemExit('executed')",)


def test_pickles_are_refused_and_never_run(tmp_path):
    import pickle

    path = tmp_path / "x"
    for protocol in (2, 3, 4, 5):
        path.write_bytes(pickle.dumps(Bomb(), protocol=protocol))
        with pytest.raises(RuntimeError, match="pickle"):
            load(path)
        with pytest.raises(RuntimeError, match="pickle"):
            load(io.BytesIO(path.read_bytes()))
    path.write_bytes(b"PK\x03\x04" + bytes(200))
    with pytest.raises(RuntimeError, match=r"torch\.save"):
        load(path)
    path.write_bytes(pickle.dumps(Bomb(), protocol=0))
    with pytest.raises(RuntimeError, match="not a whole safetensors file"):
        load(path)


def test_files_cut_short(tmp_path):
    save({"x": engine.ones(10), "n": [1, 2]}, tmp_path / "whole")
    full = (tmp_path / "whole").read_bytes()
    path = tmp_path / "cut"
    for size in [0, 1, 7, 8, 9, 30, len(full) // 2, len(full) - 1]:
        path.write_bytes(full[:size])
        error = RuntimeError if size else EOFError
        with pytest.raises(error, match="cut"):
            load(path)
        with pytest.raises(error, match="file"):
            load(io.BytesIO(full[:size]))
    path.write_bytes(full + b"x")
    with pytest.raises(RuntimeError, match="cut"):
        load(path)


def test_no_file(tmp_path):
    with pytest.raises(FileNotFoundError):
        load(tmp_path / "nowhere")
    with pytest.raises(FileNotFoundError):
        save(1, tmp_path / "no" / "folder")
    with pytest.raises(IsADirectoryError):
        load(tmp_path)
    with pytest.raises(TypeError, match="rb"):
        load(io.StringIO("text"))


TREES = [
    "not json", "[]", "{}", '{"root": [1]}', '{"root": {"exec": "1"}}', '{"root": {"tensor": {}}}',
    '{"root": {"tensor": {"name": "nowhere"}}}', '{"root": {"tensor": "x"}}',
    '{"root": {"tensor": {"name": ["x"]}}}', '{"root": {"dict": [[1]]}}', '{"root": {"int": [1]}}',
    '{"root": {"dict": [[{"list": []}, 1]]}}', '{"root": {"dtype": "exec"}}',
    '{"root": {"device": "gpu"}}', '{"root": {"size": ["x"]}}', '{"root": {"bytes": "!"}}',
    '{"root": {"list": 3}}', '{"root": {"complex": [1, 2, 3]}}', '{"root": {"a": 1, "b": 2}}',
    '{"root": ' + '{"list": [' * 3000 + "]}" * 3000 + "}",
    '{"root": {"tensor": {"name": "x", "complex": true}}}',
]  # fmt: skip


@pytest.mark.parametrize("tree", TREES, ids=range(len(TREES)))
def test_metadata_that_nobody_wrote(tree, tmp_path):
    header = {
        "__metadata__": {"underhood": tree},
        "x": {"dtype": "U8", "shape": [3], "data_offsets": [0, 3]},
    }
    with pytest.raises(RuntimeError, match="made"):
        load(written(tmp_path, header, b"abc"))


def test_headers_that_lie(tmp_path):
    def entry(**changes):
        return {"x": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8], **changes}}

    for header in (
        entry(shape=[3]), entry(shape=[-2]), entry(data_offsets=[0, 80]), entry(shape=[2**62, 8]),
        entry(data_offsets=[8, 0]), entry(dtype="exec"), b"{", b"[]", b"\xff\xff",
    ):  # fmt: skip
        with pytest.raises((RuntimeError, TypeError), match="made"):
            load(written(tmp_path, header, bytes(8)))
