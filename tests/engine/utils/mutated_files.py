"""Damaged and hostile `.pt` files: each must be read, or raise the right error, and nothing else may happen.

    python -m tests.engine.utils.mutated_files --files 10000 [--seed N]

Nothing is executed (an audit hook watches imports, processes, files that are opened and code that is compiled),
memory is bounded (the process's own limit), and no file takes longer than a few seconds.
"""

from __future__ import annotations

import argparse
import encodings.cp437
import encodings.raw_unicode_escape  # noqa: F401  and for text of protocol 0
import io
import os
import pickle
import random
import re
import struct
import sys
import time
import zipfile
import zlib
from collections import Counter, OrderedDict
from contextlib import suppress
from typing import Any

import engine

ERRORS = (RuntimeError, pickle.UnpicklingError, EOFError, TypeError)
_FORBIDDEN = ("subprocess", "os.system", "os.exec", "os.mkdir", "compile", "exec", "import", "open")


def sample(is_zip: bool) -> bytes:
    """Return a file with most of what a checkpoint contains."""
    x = engine.arange(12.0).view(3, 4)
    model = engine.nn.Linear(2, 2)
    content = {
        "x": x,
        "view": x.t()[1:],
        "kinds": [x.to(kind) for kind in (engine.bool, engine.int64, engine.bfloat16)],
        "parameter": engine.nn.Parameter(x.clone()),
        "meta": engine.ones(2, device="meta"),
        "plain": [1, 2.5, None, True, (3, ("a",)), {4}, b"abc", 2**70, complex(1, 2)],
        "counter": Counter("aab"),
        "size": x.shape,
        "device": engine.device("cpu"),
        "state": OrderedDict(model.state_dict()),
    }
    file = io.BytesIO()
    from engine.saved_files.torch_writer import write_torch_file

    write_torch_file(content, file, 2, is_zip)
    return file.getvalue()


def damage(content: bytes, dice: random.Random) -> bytes:
    """Change, remove or insert a few bytes, or cut the file."""
    data = bytearray(content)
    for _ in range(dice.randint(1, 4)):
        position = dice.randrange(len(data))
        match dice.randrange(5):
            case 0:
                data[position] = dice.randrange(256)
            case 1:
                data[position] ^= 1 << dice.randrange(8)
            case 2:
                del data[position : position + dice.randint(1, 8)]
            case 3:
                data[position:position] = dice.randbytes(dice.randint(1, 4))
            case 4 if dice.random() < 0.2:
                del data[position:]
                data += b"\0"
    return bytes(data)


def records(content: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(content)) as file:
        return {name: file.read(name) for name in file.namelist()}


def zipped(entries: list[tuple[str, bytes]], compression: int = zipfile.ZIP_STORED) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", compression) as archive:
        for name, data in entries:
            archive.writestr(name, data)
    return file.getvalue()


def damaged_pickle(content: bytes, dice: random.Random) -> bytes:
    """Return a zip that is intact, with a pickle that is not."""
    entries = records(content)
    entries["archive/data.pkl"] = damage(entries["archive/data.pkl"], dice)
    return zipped(list(entries.items()))


def _numbers(content: bytes, signature: bytes, at: int, kind: str, dice: random.Random) -> bytes:
    """Change a number of a zip header to one that lies."""
    starts = [i for i in range(len(content)) if content.startswith(signature, i)]
    data = bytearray(content)
    start = dice.choice(starts) + at
    size = struct.calcsize(kind)
    lie = dice.choice([0, 1, 2 ** (8 * size) - 1, dice.randrange(2 ** (8 * size))])
    data[start : start + size] = struct.pack(kind, lie)
    return bytes(data)


def lying_zip(content: bytes, dice: random.Random) -> bytes:
    """Return a zip whose headers lie: sizes, offsets, flags, methods, lengths of names."""
    for _ in range(dice.randint(1, 3)):
        signature, at, kind = dice.choice(
            [
                *((b"PK\1\2", at, "<H") for at in (8, 10, 28, 30, 32)),
                *((b"PK\1\2", at, "<I") for at in (16, 20, 24, 42)),
                *((b"PK\3\4", at, "<H") for at in (6, 8, 26, 28)),
                *((b"PK\3\4", at, "<I") for at in (14, 18, 22)),
                *((b"PK\5\6", at, "<H") for at in (8, 10)),
                *((b"PK\5\6", at, "<I") for at in (12, 16)),
            ]
        )
        if signature in content:
            content = _numbers(content, signature, at, kind, dice)
    return content


def repeated_zip(content: bytes, dice: random.Random) -> bytes:
    """Return a zip with two records of one name, without one, or with a compressed one that expands."""
    import warnings

    entries = list(records(content).items())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # zipfile names the duplicate
        match dice.randrange(3):
            case 0:
                return zipped([*entries, dice.choice(entries)])
            case 1:
                entries.remove(dice.choice(entries))
                return zipped(entries)
    bomb = [(name, bytes(1 << 24) if "data/" in name else data) for name, data in entries]
    return zipped(bomb[:6], zipfile.ZIP_DEFLATED)


def overlapping_zip(content: bytes, dice: random.Random) -> bytes:
    """Return a zip of thousands of records, all of them the same bytes of the file."""
    size = 1 << 20
    count = 2000
    body = io.BytesIO()
    name = b"archive/data/0"
    body.write(struct.pack("<4s5H3I2H", b"PK\3\4", 20, 0, 0, 0, 0, 0, size, size, len(name), 0))
    body.write(name + bytes(size))
    tensors = []
    for key in range(count):
        rebuilt = f"((X\x07\0\0\0storagectorch\nByteStorage\nX{chr(len(str(key)))}\0\0\0{key}X\x03\0\0\0cpu".encode()
        rebuilt = b"ctorch._utils\n_rebuild_tensor_v2\n" + rebuilt
        tensors.append(rebuilt + b"J" + struct.pack("<i", size) + b"tQK\0K\x01\x85K\x01\x85\x89NtR")
    content = b"\x80\x02(" + b"".join(tensors) + b"l."
    start = body.tell()
    body.write(
        struct.pack(
            "<4s5H3I2H",
            b"PK\3\4",
            20,
            0,
            0,
            0,
            0,
            zlib.crc32(content),
            len(content),
            len(content),
            16,
            0,
        )
    )
    body.write(b"archive/data.pkl" + content)
    central = body.tell()
    layout = "<4s6H3I5H2I"
    crc = zlib.crc32(bytes(size))
    for key in range(count):
        name = f"archive/data/{key}".encode()
        body.write(
            struct.pack(
                layout, b"PK\1\2", 20, 20, 0, 0, 0, 0, crc, size, size, len(name), 0, 0, 0, 0, 0, 0
            )
            + name
        )
    name = b"archive/data.pkl"
    body.write(
        struct.pack(
            layout,
            b"PK\1\2",
            20,
            20,
            0,
            0,
            0,
            0,
            zlib.crc32(content),
            len(content),
            len(content),
            len(name),
            0,
            0,
            0,
            0,
            0,
            start,
        )
        + name
    )
    end = body.tell()
    body.write(
        struct.pack("<4s4H2IH", b"PK\5\6", 0, 0, count + 1, count + 1, end - central, central, 0)
    )
    return body.getvalue()


def _nested(dice: random.Random) -> bytes:
    """Tuples or lists that contain one another twice: 2 ** depth items in all."""
    depth = dice.choice([40, 90, 300])
    twice = dice.choice([b"q\0h\0\x86", b"q\0]q\1(h\0h\0eh\1"])
    return b")" + twice * depth


def hostile_pickle(content: bytes, dice: random.Random) -> bytes:
    """Return a whole zip with a pickle that was written to hurt."""
    n = struct.pack("<i", dice.choice([-1, 2**31 - 1, 10**6, -(2**31)]))
    storage = b"(X\x07\0\0\0storagectorch\nFloatStorage\nX\x01\0\0\0" + dice.choice([b"0", b"9"])
    storage += (
        b"X\x03\0\0\0cpu"
        + dice.choice([b"K\x0c", b"J" + n, b"\x8a\x09" + b"\xff" * 8 + b"\0"])
        + b"tQ"
    )
    sizes = dice.choice(
        [b"K\3K\4\x86", b"J" + n + b"K\4\x86", b"(" + b"K\1" * 100 + b"t", _nested(dice)]
    )
    strides = dice.choice([b"K\4K\1\x86", b"J" + n + b"K\1\x86", b"K\0K\0\x86", b"]"])
    rebuild = (
        b"ctorch._utils\n" + dice.choice([b"_rebuild_tensor_v2", b"_rebuild_tensor_v3"]) + b"\n("
    )
    calls = [
        b"cos\nsystem\nX\4\0\0\0true\x85R",
        b"cbuiltins\neval\nX\1\0\0\x001\x85R",
        b"cbuiltins\ngetattr\ntR",
        b"c__builtin__\nset\n" + _nested(dice) + b"\x85R",
        b"cbuiltins\nset\n]" + _nested(dice) + b"a\x85R",
        b"ccollections\nOrderedDict\n][".replace(b"[", b"") + b"]" + _nested(dice) + b"aK\1aa\x85R",
        b"ctorch\ndevice\n" + _nested(dice) + b"\x85R",
        b"ctorch\nSize\n" + _nested(dice) + b"\x85R",
        b"}" + _nested(dice) + b"K\1s",
        b"(X\1\0\0\0a" + _nested(dice) + b"tQ",
        b"ctorch\nUIntStorage\n",
        b"cengine.serialization\nload\nX\1\0\0\0a\x85R",
        b"]q\0h\0a",
        b"X\xff\xff\xff\x7fabc",
        b"\x8d" + b"\xff" * 7 + b"\x7f",
        b"\x8b" + b"\xff\xff\xff\x7f",
        b"r\xff\xff\xff\xffj\xff\xff\xff\xff",
        b"(" * 100_000,
        b"ctorch.nn.parameter\nParameter\n)\x81}b",
        rebuild + storage + b"K\0" + sizes + strides + b"\x89NtR",
        rebuild + storage + b"J" + n + sizes + strides + b"\x88)tR",
        b"ctorch._utils\n_rebuild_parameter\n(" + storage + b"\x88NtR",
        b"ctorch._utils\n_rebuild_meta_tensor_no_storage\n(ctorch\nfloat32\n"
        + sizes
        + strides
        + b"\x89tR",
        b"ctorch._tensor\n_rebuild_from_type_v2\n(cos\nsystem\nctorch\nTensor\n)NtR",
    ]
    entries = records(content)
    entries["archive/data.pkl"] = b"\x80\x02" + dice.choice(calls) + b"."
    return zipped(list(entries.items()))


def mutations(seed: int) -> Any:
    """Return an endless iterator of (kind, file)."""
    dice = random.Random(seed)
    intact, legacy = sample(True), sample(False)
    overlapping = overlapping_zip(intact, dice)
    kinds = [
        ("damaged bytes", lambda: damage(intact, dice)),
        ("cut", lambda: intact[: dice.randrange(len(intact))]),
        ("damaged pickle", lambda: damaged_pickle(intact, dice)),
        ("lying zip", lambda: lying_zip(intact, dice)),
        ("repeated records", lambda: repeated_zip(intact, dice)),
        ("hostile pickle", lambda: hostile_pickle(intact, dice)),
        ("damaged legacy", lambda: damage(legacy, dice)),
        ("cut legacy", lambda: legacy[: dice.randrange(len(legacy))]),
    ]
    number = 0
    while True:
        if number % 1000 == 7:
            yield "overlapping records", overlapping
        kind, mutate = kinds[number % len(kinds)]
        yield kind, mutate()
        number += 1


class Guard:
    """Refuses every event of the interpreter that a file could cause by executing something."""

    def __init__(self) -> None:
        self.is_on = False
        self.events: list[str] = []
        sys.addaudithook(self._hook)

    def _hook(self, event: str, arguments: Any) -> None:
        if not self.is_on or not event.startswith(_FORBIDDEN):
            return
        if not re.search(
            r"/engine/|^\('engine\.", repr(arguments)
        ):  # what it imports when first used
            self.events.append(f"{event} {arguments!r:.100}")


def check(files: int, seed: int, guard: Guard | None = None) -> Counter[str]:
    """Load mutated files; return how often each kind was read or raised which error."""
    outcomes: Counter[str] = Counter()
    guard = guard or Guard()
    for content in (sample(True), sample(False), b"not a file", zipped([("a", b"a")])):
        with suppress(*ERRORS):  # what is imported when it is first needed
            engine.load(io.BytesIO(content))
    for number, (kind, content) in enumerate(mutations(seed)):
        if number == files:
            return outcomes
        start = time.monotonic()
        is_mutated = f"file {number} of seed {seed} ({kind})"
        guard.is_on = True
        try:
            engine.load(io.BytesIO(content))
            outcome = "read"
        except ERRORS as error:
            outcome = type(error).__name__
            text = str(error)
            assert text.startswith("load: "), f"{is_mutated}: {text}"
            assert len(text) < 1000, f"{is_mutated}: a message of {len(text)} characters"
        finally:
            guard.is_on = False
        assert not guard.events, f"{is_mutated}: {guard.events}"
        took = time.monotonic() - start
        assert took < 20, f"{is_mutated}: {took:.1f} s"
        outcomes[f"{kind}: {outcome}"] += 1
    raise AssertionError


def main() -> None:
    import resource

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--files", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=int.from_bytes(os.urandom(4), "little"))
    options = parser.parse_args()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    outcomes = check(options.files, options.seed)
    for outcome, count in sorted(outcomes.items()):
        print(f"{count:6} {outcome}")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(
        f"seed {options.seed}: {options.files} files, peak {(peak - before) >> 10} MiB above the start"
    )


if __name__ == "__main__":
    main()
