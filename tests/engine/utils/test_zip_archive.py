"""PyTorch's `.pt` files: written here and read here, and both next to PyTorch; what damaged and hostile files do."""

from __future__ import annotations

import io
import os
import pickle
import random
import zipfile
from collections import Counter, OrderedDict

import pytest

import engine

DTYPES = ["bool", "uint8", "int8", "int16", "int32", "int64", "float16", "bfloat16", "float32"]
DTYPES += ["float64", "complex64", "complex128"]


def example(torch):
    """An object with most of what a checkpoint contains."""
    x = torch.arange(12.0).view(3, 4)
    return {
        "x": x,
        "view": x.t()[1:],
        "kinds": {name: x.to(getattr(torch, name)) for name in DTYPES},
        "scalar": torch.tensor(5),
        "empty": torch.empty(0, 3),
        "leaf": x.clone().requires_grad_(),
        "parameter": torch.nn.Parameter(x.clone()),
        "plain": [1, 2.5, None, True, (3, ("a",)), {4}, b"abc", 2**70, complex(1, 2)],
        "ordered": OrderedDict(a=1),
        "counter": Counter("aab"),
        "dtype": torch.float16,
        "shape": x.shape,
        "device": torch.device("cpu"),
        7: "seven",
    }


def same(a, b):
    """Return True if two objects agree; tensors by their values, strides and flags."""
    if hasattr(a, "untyped_storage"):
        return (
            a.tolist() == b.tolist()
            and tuple(a.stride()) == tuple(b.stride())
            and a.requires_grad == b.requires_grad
            and str(a.dtype).split(".")[1] == str(b.dtype).split(".")[1]
            and type(a).__name__ == type(b).__name__
        )
    if isinstance(a, dict):
        return list(a) == list(b) and all(same(a[key], b[key]) for key in a)
    if isinstance(a, (list, tuple)):
        return len(a) == len(b) and all(map(same, a, b))
    return str(a).split(".")[-1] == str(b).split(".")[-1]


def check(actual, expected):
    for key in expected:
        assert same(actual[key], expected[key]), key
    assert actual["x"].untyped_storage().data_ptr() == actual["view"].untyped_storage().data_ptr()


@pytest.mark.parametrize("suffix", [".pt", ".pth", ".pth.tar", ".ckpt"])
def test_written_here_and_read_here(tmp_path, suffix):
    path = tmp_path / f"model{suffix}"
    engine.save(example(engine), path)
    assert zipfile.is_zipfile(path)
    check(engine.load(path), example(engine))
    assert os.listdir(tmp_path) == [path.name]


def test_written_by_torch(tmp_path):
    torch = pytest.importorskip("torch")
    torch.save(example(torch), tmp_path / "a.pt")
    check(engine.load(tmp_path / "a.pt"), example(torch))
    content = io.BytesIO((tmp_path / "a.pt").read_bytes())
    check(engine.load(content), example(torch))
    check(engine.load(tmp_path / "a.pt", weights_only=False), example(torch))


def test_read_by_torch(tmp_path):
    torch = pytest.importorskip("torch")
    engine.save(example(engine), tmp_path / "a.pt")
    check(torch.load(tmp_path / "a.pt", weights_only=True), example(engine))


def test_modules_and_optimizers(tmp_path):
    model = engine.nn.Sequential(engine.nn.Linear(3, 4), engine.nn.BatchNorm1d(4))
    optimizer = engine.optim.Adam(model.parameters())
    model(engine.randn(5, 3)).sum().backward()
    optimizer.step()
    path = tmp_path / "c.pt"
    engine.save({"model": model.state_dict(), "optimizer": optimizer.state_dict()}, path)
    state = engine.load(path)
    assert state["model"]._metadata == model.state_dict()._metadata
    other = engine.nn.Sequential(engine.nn.Linear(3, 4), engine.nn.BatchNorm1d(4))
    other.load_state_dict(state["model"])
    engine.optim.Adam(other.parameters()).load_state_dict(state["optimizer"])
    assert engine.equal(other[0].weight, model[0].weight)
    torch = pytest.importorskip("torch")
    peer = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.BatchNorm1d(4))
    peer.load_state_dict(torch.load(path)["model"])
    assert peer[0].weight.tolist() == model[0].weight.tolist()


def test_objects_only_when_asked(tmp_path):
    model = engine.nn.Linear(2, 2)
    engine.save(model, tmp_path / "m.pt")
    with pytest.raises(RuntimeError, match="weights_only=False"):
        engine.load(tmp_path / "m.pt")
    loaded = engine.load(tmp_path / "m.pt", weights_only=False)
    assert engine.equal(loaded.weight, model.weight)


def archive(path, content, **entries):
    with zipfile.ZipFile(path, "w", entries.pop("compression", zipfile.ZIP_STORED)) as file:
        file.writestr("archive/data.pkl", content)
        for name, data in entries.items():
            file.writestr(f"archive/{name}", data)
    return path


class Bomb:
    def __reduce__(self):
        return os.mkdir, ("/tmp/uh-bomb",)


HOSTILE = {
    "calls": pickle.dumps(Bomb(), 2),
    "protocol 4": pickle.dumps(Bomb(), 4),
    "builds a dtype": b"\x80\x02ctorch\nfloat32\nN}X\x08\x00\x00\x00itemsizeK\x01s\x86b.",
    "builds a constructor": b"\x80\x02ctorch._utils\n_rebuild_parameter\n}b.",
    "new object": b"\x80\x02ccollections\nOrderedDict\n)\x81.",
    "calls a list": b"\x80\x02])R.",
    "deep tuples": b"\x80\x02}" + b"K\x01" + b"\x85" * 100000 + b"K\x01s.",
    "missing storage": pickle.dumps({"a": 1}, 2)[:-1] + b"(X\x01\x00\x00\x00aQ.",
    "huge memo": b"\x80\x02K\x01r\xff\xff\xff\xffj\x00\x00\x00\x01.",
    "no stop": b"\x80\x02K\x01",
    "empty": b"",
    "two values": b"\x80\x02K\x01K\x02.",
    "other encoding": b"\x80\x02c_codecs\nencode\nX\x01\x00\x00\x00aX\x03\x00\x00\x00zip\x86R.",
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_pickles(tmp_path, name):
    path = archive(tmp_path / "x.pt", HOSTILE[name])
    with pytest.raises(RuntimeError, match="load: "):
        engine.load(path)
    assert not os.path.exists("/tmp/uh-bomb")


def test_other_zips(tmp_path):
    good = pickle.dumps(1, 2)
    with pytest.raises(RuntimeError, match="compressed"):
        engine.load(archive(tmp_path / "a.pt", good * 100, compression=zipfile.ZIP_DEFLATED))
    with pytest.raises(RuntimeError, match="TorchScript"):
        engine.load(archive(tmp_path / "b.pt", good, **{"constants.pkl": b""}))
    with pytest.raises(RuntimeError, match="big-endian"):
        engine.load(archive(tmp_path / "c.pt", good, byteorder=b"big"))
    with zipfile.ZipFile(tmp_path / "d.pt", "w") as file:
        file.writestr("readme", b"")
    with pytest.raises(RuntimeError, match=r"no data\.pkl"):
        engine.load(tmp_path / "d.pt")


def test_map_location(tmp_path):
    engine.save({"x": engine.ones(3)}, tmp_path / "a.pt")
    assert engine.load(tmp_path / "a.pt", map_location="meta")["x"].is_meta
    for location in (
        "cpu",
        engine.device("cpu"),
        {"cpu": "cpu"},
        lambda storage, location: storage,
    ):
        assert engine.load(tmp_path / "a.pt", map_location=location)["x"].tolist() == [1, 1, 1]
    with pytest.raises(RuntimeError, match="map_location='cpu'"):
        engine.load(tmp_path / "a.pt", map_location="cuda:0")


def test_one_storage_with_two_dtypes_is_rejected(tmp_path):
    x = engine.zeros(4)
    with pytest.raises(RuntimeError, match="as different types"):
        engine.save([x, x.view(engine.int32)], tmp_path / "a.pt")
    assert os.listdir(tmp_path) == []


def mutated(content, dice):
    """Change, remove or insert a few bytes; the zip's checksums then fail or the pickle does."""
    data = bytearray(content)
    for _ in range(dice.randint(1, 4)):
        position = dice.randrange(len(data))
        match dice.randrange(3):
            case 0:
                data[position] = dice.randrange(256)
            case 1:
                del data[position : position + dice.randint(1, 8)]
            case 2:
                data[position:position] = dice.randbytes(dice.randint(1, 4))
    return bytes(data)


def test_mutated_files(tmp_path):
    """A damaged file raises RuntimeError, or is read; nothing else happens."""
    dice = random.Random(0)
    engine.save(example(engine), tmp_path / "a.pt")
    content = (tmp_path / "a.pt").read_bytes()
    failures = 0
    for _ in range(500):
        try:
            engine.load(io.BytesIO(mutated(content, dice)))
        except RuntimeError as error:
            failures += str(error).startswith("load: ")
    assert failures > 100


def test_mutated_pickles(tmp_path):
    """The same with correct checksums, so that the pickle's interpreter reads the damage."""
    dice = random.Random(1)
    engine.save(example(engine), tmp_path / "a.pt")
    with zipfile.ZipFile(tmp_path / "a.pt") as file:
        entries = {name.split("/", 1)[1]: file.read(name) for name in file.namelist()}
    content = entries.pop("data.pkl")
    failures = 0
    for _ in range(1000):
        path = archive(tmp_path / "b.pt", mutated(content, dice), **entries)
        try:
            engine.load(path)
        except RuntimeError as error:
            failures += str(error).startswith("load: ")
    assert failures > 500
