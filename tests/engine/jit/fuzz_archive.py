"""Damaged safetensors files: each is refused with a reason, or read; nothing else happens.

    python tests/engine/jit/fuzz_archive.py --count 10000 --seed 0

Files are cut, their bytes changed, their headers' numbers and brackets exchanged. The rules:
an error says `load: ...`; what is accepted is accepted by the `safetensors` package too, has the
sizes that the header says and can be read to its last byte; the address space stays within
`--memory` MiB beyond what the process begins with, whatever sizes a header names.
"""

from __future__ import annotations

import argparse
import json
import random
import resource
import struct
import tempfile
from collections import Counter
from pathlib import Path

import engine
from engine._native import ffi, lib
from engine.tensor import wrap

_ODD = ("-1", "0", "1", "2", "9", "4611686018427387904", "9223372036854775807", "18446744073709551616",
        "1e3", "1.5", "null", "[]", "{}", '"F32"', '"F64"', '"U64"', '"\\ud800"', "[" * 200)  # fmt: skip
_RUNTIME, _TYPE = 1, 3


def valid_files() -> list[bytes]:
    """Files to damage: a small one of many dtypes, one with a tree of metadata, an empty one."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "valid.safetensors"
        files = []
        for content in (
            {"w": engine.arange(6.0).reshape(2, 3), "b": engine.tensor([True, False, True])},
            {"l": [engine.ones(3, dtype=engine.bfloat16), engine.tensor(7)], "t": (1, "x" * 30)},
            {"e": engine.empty(0, 5), "c": engine.ones(2, dtype=engine.complex64)},
            {},
        ):
            engine.save(content, path)
            files.append(path.read_bytes())
    return files


def damaged(source: random.Random, valid: bytes) -> bytes:
    """One file with one to four changes; half of them are made to the header as JSON text."""
    size = int.from_bytes(valid[:8], "little")
    header, data = bytearray(valid[8 : 8 + size]), bytearray(valid[8 + size :])
    length = None
    for _ in range(source.randint(1, 4)):
        match source.randrange(8):
            case 0:
                header[source.randrange(len(header))] = source.randrange(256)
            case 1:
                header[source.randrange(len(header))] = ord(source.choice('0123456789[]{},:"\\ '))
            case 2:
                header = bytearray(_number_exchanged(source, bytes(header)))
            case 3:
                start = source.randrange(len(header))
                piece = header[start : start + source.randint(1, 40)]
                position = source.randrange(len(header))
                header[position:position] = piece
            case 4:
                start = source.randrange(len(header))
                del header[start : start + source.randint(1, 20)]
                header = header or bytearray(b" ")
            case 5:
                length = source.choice(
                    (0, 1, 2**31, 2**62, 2**64 - 1, len(header) + source.randint(-9, 9))
                )
            case 6:
                data = (
                    data[: source.randint(0, len(data))] if source.random() < 0.7 else data + b"\0"
                )
            case 7:
                return bytes(valid[: source.randint(0, len(valid))])
    if length is None:
        length = len(header)
    return struct.pack("<Q", max(length, 0)) + bytes(header) + bytes(data)


def _number_exchanged(source: random.Random, header: bytes) -> bytes:
    """A value of the header becomes an odd one."""
    positions = [i for i in range(1, len(header)) if header[i - 1 : i] in b":[,"]
    if not positions:
        return header
    start = source.choice(positions)
    end = start
    while end < len(header) and header[end : end + 1] not in (b",", b"]", b"}"):
        end += 1
    return header[:start] + source.choice(_ODD).encode() + header[end:]


def refusal() -> str:
    """Why the last file was refused; AssertionError where that is not an error of the file's."""
    kind, text = lib.uh_last_error_kind(), ffi.string(lib.uh_last_error()).decode()
    assert kind in (_RUNTIME, _TYPE), (kind, text)
    assert text.startswith("load: "), text
    return text


def read_all(archive: int, content: bytes) -> None:
    """Every tensor to its last byte, against the header read by Python."""
    size = int.from_bytes(content[:8], "little")
    header = json.loads(content[8 : 8 + size])
    header.pop("__metadata__", None)
    assert lib.uh_archive_count(archive) == len(header)
    for i in range(len(header)):
        name = ffi.string(lib.uh_archive_name(archive, i)).decode()
        tensor = wrap(lib.uh_archive_tensor(archive, i))
        if name in header:  # else it holds a NUL, where C's text ends
            assert list(tensor.shape) == header[name]["shape"], name
            begin, end = header[name]["data_offsets"]
            read = bytes(ffi.buffer(ffi.cast("char *", tensor.data_ptr()), tensor.nbytes))
            assert read == content[8 + size + begin : 8 + size + end], name


def accepted_by_others(content: bytes) -> bool:
    from safetensors import SafetensorError, deserialize

    try:
        deserialize(content)
    except SafetensorError:
        return False
    return True


def run(count: int, seed: int, memory: int) -> Counter[str]:
    """Counts what happened to each file; raises where one of them did what none may."""
    source, files, seen = random.Random(seed), valid_files(), Counter[str]()
    limit = address_space() + memory * 2**20
    resource.setrlimit(resource.RLIMIT_AS, (limit, resource.RLIM_INFINITY))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "damaged.safetensors"
        for number in range(count):
            content = damaged(source, source.choice(files))
            if number % 2:  # from memory, and through a file, read or mapped
                archive = lib.uh_archive_of_bytes(content, len(content))
            else:
                path.unlink(missing_ok=True)
                path.write_bytes(content)
                open_file = lib.uh_archive_open if number % 4 else lib.uh_archive_map
                archive = open_file(str(path).encode())
            others = accepted_by_others(content)
            if not archive:
                reason = refusal()
                seen["refused"] += 1
                seen["refused, and read by safetensors"] += others
                if others:
                    seen["  " + reason.replace(str(path), "...")[:100]] += 1
                continue
            seen["read"] += 1
            try:
                assert others, "safetensors refuses it"
                read_all(archive, content)
            except BaseException:
                print(f"file {number} of seed {seed}: {content!r}")
                raise
            finally:
                lib.uh_archive_close(archive)
    return seen


def address_space() -> int:
    """Bytes that this process has mapped so far."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[0]) * resource.getpagesize()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--count", type=int, default=10000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--memory", type=int, default=256, help="MiB that may be allocated")
    options = parser.parse_args()
    for outcome, times in sorted(run(options.count, options.seed, options.memory).items()):
        print(f"{times:8} {outcome}")
