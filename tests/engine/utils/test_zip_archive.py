"""PyTorch's `.pt` files: written here and read here, and both next to PyTorch; what damaged and hostile files do."""

from __future__ import annotations

import io
import os
import pickle
import random
import struct
import tarfile
import zipfile
from collections import Counter, OrderedDict

import pytest

import engine
from engine.saved_files.torch_writer import write_torch_file
from tests.engine.utils.mutated_files import check as check_mutated

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
    with pytest.raises(pickle.UnpicklingError, match="weights_only=False"):
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
    "new object": b"\x80\x02ccollections\nCounter\n)\x81.",
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
    with pytest.raises((RuntimeError, pickle.UnpicklingError), match="load: "):
        engine.load(path)
    assert not os.path.exists("/tmp/uh-bomb")


def test_other_zips(tmp_path):
    good = pickle.dumps(1, 2)
    with pytest.raises(RuntimeError, match="compressed"):
        engine.load(archive(tmp_path / "a.pt", good * 100, compression=zipfile.ZIP_DEFLATED))
    with pytest.raises(RuntimeError, match="TorchScript"):
        engine.load(archive(tmp_path / "b.pt", good, **{"constants.pkl": b""}))
    with pytest.raises(RuntimeError, match="byte order"):
        engine.load(archive(tmp_path / "c.pt", good, byteorder=b"middle"))
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


def test_mutated_files():
    """A damaged or hostile file raises the right error or is read; nothing is executed. Any seed will do."""
    seed = random.SystemRandom().randrange(2**32)
    outcomes = check_mutated(80, seed)
    assert sum(outcomes.values()) == 80
    assert len(outcomes) > 8, f"seed {seed}: {outcomes}"


def legacy(obj):
    """A file of PyTorch before 1.6, written here."""
    file = io.BytesIO()
    write_torch_file(obj, file, 2, False)
    file.seek(0)
    return file


def test_legacy_files(tmp_path):
    check(engine.load(legacy(example(engine))), example(engine))
    torch = pytest.importorskip("torch")
    check(torch.load(legacy(example(engine)), weights_only=True), example(engine))
    options = {"_use_new_zipfile_serialization": False}
    torch.save(example(torch), tmp_path / "a.pt", **options)
    check(engine.load(tmp_path / "a.pt"), example(torch))
    check(engine.load(tmp_path / "a.pt", weights_only=False), example(torch))
    torch.save([torch.tensor([1 + 2j]).conj(), torch.nn.LSTM(2, 2)], tmp_path / "b.pt", **options)
    conj, lstm = engine.load(tmp_path / "b.pt", weights_only=False)
    assert conj.tolist() == [1 - 2j]
    assert lstm(engine.ones(1, 2))[0].shape == (1, 2)


def test_tar_is_refused(tmp_path):
    with tarfile.open(tmp_path / "a.tar", "w") as file:
        file.addfile(tarfile.TarInfo("storages"))
    with pytest.raises(
        RuntimeError, match=r"is a tar, .* Hint: load it with PyTorch and save it again"
    ):
        engine.load(tmp_path / "a.tar")


def test_big_endian_files(tmp_path):
    """Numbers are swapped by their dtype; of a complex number, each part."""
    kinds = ("int16", "float32", "complex64", "float64", "uint8")
    values = {name: engine.arange(3).to(getattr(engine, name)) for name in kinds}
    engine.save(values, tmp_path / "a.pt")
    with zipfile.ZipFile(tmp_path / "a.pt") as file:
        entries = {name.split("/", 1)[1]: file.read(name) for name in file.namelist()}
    entries["byteorder"] = b"big"
    for key, size in enumerate((2, 4, 4, 8, 1)):
        data = entries[f"data/{key}"]
        parts = [data[i : i + size][::-1] for i in range(0, len(data), size)]
        entries[f"data/{key}"] = b"".join(parts)
    path = archive(tmp_path / "b.pt", entries.pop("data.pkl"), **entries)
    loaded = engine.load(path)
    assert {name: loaded[name].tolist() for name in kinds} == {
        name: values[name].tolist() for name in kinds
    }
    del entries["byteorder"]  # as files before 2.1 have it
    with zipfile.ZipFile(tmp_path / "a.pt") as file:
        content = file.read("a/data.pkl")
    path = archive(tmp_path / "c.pt", content, **entries)
    engine.serialization.set_default_load_endianness(engine.serialization.LoadEndianness.BIG)
    try:
        assert engine.load(path)["float32"].tolist() == [0, 1, 2]
    finally:
        engine.serialization.set_default_load_endianness(None)


def test_mmap(tmp_path):
    x = engine.arange(1000.0)
    engine.save({"x": x, "y": x[10:]}, tmp_path / "a.pt")
    loaded = engine.load(tmp_path / "a.pt", mmap=True)
    assert loaded["y"].tolist() == x[10:].tolist()
    loaded["x"][10] = -1
    assert loaded["y"][0] == -1
    assert engine.load(tmp_path / "a.pt")["x"][10] == 10
    (tmp_path / "b.pt").write_bytes(legacy(x).getvalue())
    with pytest.raises(RuntimeError, match="mmap can only be used"):
        engine.load(tmp_path / "b.pt", mmap=True)


class Config:
    """A class of the program that a file contains."""

    def __init__(self, width):
        self.width = width


def test_safe_globals(tmp_path):
    path = tmp_path / "a.pt"
    engine.save({"config": Config(3)}, path)
    name = f"{__name__}.Config"
    assert engine.serialization.get_unsafe_globals_in_checkpoint(path) == [name]
    with pytest.raises(
        pickle.UnpicklingError, match=r"Weights only load failed.*add_safe_globals\(\[Config\]\)"
    ):
        engine.load(path)
    with engine.serialization.safe_globals([Config]):
        assert engine.load(path)["config"].width == 3
    with engine.serialization.safe_globals([(Counter, name)]):
        assert type(engine.load(path)["config"]) is Counter
    assert engine.serialization.get_safe_globals() == []
    engine.serialization.add_safe_globals([Config])
    assert engine.load(path)["config"].width == 3
    engine.serialization.clear_safe_globals()
    torch = pytest.importorskip("torch")
    torch.save(torch.nn.Sequential(torch.nn.Linear(2, 2)), path)
    with engine.serialization.safe_globals([engine.nn.Linear, engine.nn.Sequential, set]):
        assert isinstance(engine.load(path)[0], engine.nn.Linear)


def modules(torch):
    nn = torch.nn
    model = nn.Sequential(
        nn.Linear(4, 3), nn.LSTM(3, 2), nn.Embedding(4, 3), nn.MultiheadAttention(4, 2),
        nn.TransformerEncoderLayer(4, 2, 8), nn.GRUCell(2, 2), nn.InstanceNorm2d(3),
        nn.ModuleDict({"x": nn.Flatten()}), nn.ModuleList([nn.Softmax(0), nn.MarginRankingLoss()]),
    )  # fmt: skip
    model.act = torch.nn.functional.relu
    model.steps = nn.Buffer(torch.ones(2), persistent=False)
    model[0].weight.note = "attribute"
    return model


@pytest.mark.parametrize("is_zip", [True, False])
def test_whole_modules_go_to_torch_and_back(tmp_path, is_zip):
    torch = pytest.importorskip("torch")
    options = {"_use_new_zipfile_serialization": is_zip}
    for source, target in ((engine, torch), (torch, engine)):
        model = modules(source)
        source.save(model, tmp_path / "m.pt", **options)
        peer = target.load(tmp_path / "m.pt", weights_only=False)
        assert repr(peer) == repr(model)
        assert peer[0].weight.note == "attribute"
        assert peer.act is target.nn.functional.relu
        assert isinstance(peer.steps, target.nn.Buffer)
        assert not peer.steps.persistent
        x = [[0.5, -1.0, 2.0, 1.0]]
        pairs = ((model, source), (peer, target))
        outputs = [m[1](m[0](t.tensor(x)))[0].tolist()[0] for m, t in pairs]
        assert outputs[0] == pytest.approx(outputs[1], abs=1e-6)


def test_what_the_engine_does_not_have_is_named(tmp_path):
    torch = pytest.importorskip("torch")
    path = tmp_path / "a.pt"
    with pytest.warns(UserWarning, match="deprecated"):
        quantised = torch.quantize_per_tensor(torch.ones(2), 0.1, 0, torch.quint8)
    torch.save(quantised, path)
    with pytest.raises(pickle.UnpicklingError, match="quantised"):
        engine.load(path)
    torch.save(torch.ones(2, dtype=torch.uint16), path)
    with pytest.raises(
        pickle.UnpicklingError, match="uint16, a dtype that the engine does not have"
    ):
        engine.load(path)
    content = pickle.dumps(1, 2)
    with pytest.raises(RuntimeError, match="TorchScript"):
        engine.load(archive(path, content, **{"constants.pkl": b""}))


def test_a_file_is_replaced_as_a_whole(tmp_path):
    """Permissions and symbolic links stay; a failure leaves the old file."""
    path = tmp_path / "a.pt"
    engine.save(1, path)
    path.chmod(0o600)
    (tmp_path / "link.pt").symlink_to(path)
    engine.save(2, tmp_path / "link.pt")
    assert engine.load(path) == 2
    assert path.stat().st_mode & 0o777 == 0o600
    with pytest.raises((AttributeError, pickle.PicklingError)):
        engine.save(lambda: None, path)
    assert engine.load(path) == 2
    assert sorted(os.listdir(tmp_path)) == ["a.pt", "link.pt"]


def test_storages_are_aligned_in_the_file(tmp_path):
    """So that a mapped file has aligned tensors."""
    engine.save([engine.ones(n) for n in range(1, 9)], tmp_path / "a.pt")
    content = (tmp_path / "a.pt").read_bytes()
    with zipfile.ZipFile(tmp_path / "a.pt") as file:
        for info in file.infolist():
            start = info.header_offset
            lengths = struct.unpack_from("<2H", content, start + 26)
            assert "/data/" not in info.filename or (start + 30 + sum(lengths)) % 64 == 0


def test_a_record_before_the_file(tmp_path):
    """An offset below 0: the end of the zip claims a longer directory than there is."""
    engine.save({"x": engine.ones(3)}, tmp_path / "a.pt")
    content = bytearray((tmp_path / "a.pt").read_bytes())
    end = content.rindex(b"PK\5\6")
    struct.pack_into("<I", content, end + 16, struct.unpack_from("<I", content, end + 16)[0] + 40)
    (tmp_path / "b.pt").write_bytes(content)
    with pytest.raises(RuntimeError, match="no record"):
        engine.load(tmp_path / "b.pt")


def test_a_module_of_an_older_pytorch_has_no_tables_of_later_hooks():
    """As files of 1.13 have it; a module that is loaded runs and takes hooks."""
    model = engine.nn.Linear(2, 2)
    later = ("_forward_hooks_always_called", "_forward_hooks_with_kwargs", "_backward_pre_hooks")
    state = {name: value for name, value in vars(model).items() if name not in later}
    loaded = engine.nn.Linear.__new__(engine.nn.Linear)
    loaded.__setstate__(state)
    loaded.register_forward_hook(lambda *_: None, always_call=True)
    assert loaded(engine.ones(2)).shape == (2,)
