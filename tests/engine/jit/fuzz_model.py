"""Damaged files of saved models: each is refused with a reason, or loaded; nothing else happens.

    python tests/engine/jit/fuzz_model.py --count 10000 --seed 0

Half of the damage is done to the file as such (fuzz_archive.py), half to the program in it: the JSON
of its classes and objects, and the text of its graphs, written back into a valid file. What
is loaded has graphs that can be printed; it is not run, for a program may well never end.
"""

from __future__ import annotations

import argparse
import json
import random
import resource
import tempfile
from collections import Counter
from pathlib import Path

from fuzz_archive import address_space, damaged

import engine
from engine._native import ffi, lib

_KEY = "underhood.jit"
_REFUSED = (1, 2, 3, 4, 5)  # kinds of errors: not 6, memory, and not 8, internal


class Cell(engine.nn.Module):
    """Parameters, a buffer, a submodule, loops, branches, lists, dictionaries and strings."""

    def __init__(self) -> None:
        super().__init__()
        self.w = engine.nn.Parameter(engine.ones(3, 3))
        self.register_buffer("b", engine.zeros(3))
        self.names = ["a", "b"]
        self.scale = 0.5

    def step(self, x, n: int):
        return (x @ self.w + self.b) * self.scale + n

    def forward(self, x):
        matches: list[engine.Tensor] = []
        for i in range(3):
            x = self.step(x, i)
            if i % 2 == 0:
                matches.append(x.relu())
        counts = {"n": len(matches)}
        while counts["n"] > 0:
            x = x + matches[counts["n"] - 1]
            counts["n"] = counts["n"] - 1
        assert x.dim() == 2, "two dimensions"
        return x, len(self.names)


def valid_files() -> list[bytes]:
    def chain(x, y):
        return (x.t().t() + y * 2).sum(1)

    x = engine.ones(2, 3)
    with tempfile.TemporaryDirectory() as folder:
        path, files = Path(folder) / "model.safetensors", []
        for program in (
            engine.jit.script(Cell()),
            engine.jit.script(chain),
            engine.jit.trace(chain, (x, x)),
        ):
            engine.jit.save(program, path)
            files.append(path.read_bytes())
    return files


def rewritten(source: random.Random, valid: bytes) -> bytes:
    """Return the same tensors with another program: a few places of its JSON changed."""
    size = int.from_bytes(valid[:8], "little")
    header = json.loads(valid[8 : 8 + size])
    text = header["__metadata__"][_KEY]
    for _ in range(source.randint(1, 3)):
        text = _changed(source, text)
    header["__metadata__"][_KEY] = text
    new = json.dumps(header, ensure_ascii=source.random() < 0.5).encode(errors="replace")
    return len(new).to_bytes(8, "little") + new + valid[8 + size :]


def _changed(source: random.Random, text: str) -> str:
    start = source.randrange(len(text))
    end = min(len(text), start + source.randint(1, 30))
    match source.randrange(6):
        case 0:
            return (
                text[:start] + source.choice('0123456789%,:(){}[]"\\ \n#=?!*-x') + text[start + 1 :]
            )
        case 1:
            return text[:start] + text[end:]
        case 2:
            position = source.randrange(len(text))
            return text[:position] + text[start:end] + text[position:]
        case 3:
            return _word_exchanged(source, text)
        case 4:
            return (
                text[:start]
                + source.choice(("(" * 300, "[" * 300, "9" * 400, "Optional[" * 90))
                + text[start:]
            )
        case _:
            lines = text.split("\\n")
            item, two = source.randrange(len(lines)), source.randrange(len(lines))
            lines[item], lines[two] = lines[two], lines[item]
            return "\\n".join(lines)


def _word_exchanged(source: random.Random, text: str) -> str:
    """A word or a number becomes another one of the file: names, types, values and kinds of nodes."""
    words = text.replace('"', " ").replace("(", " ").replace(",", " ").replace("\\n", " ").split()
    return text.replace(source.choice(words), source.choice(words), source.randint(1, 2))


def run(count: int, seed: int, memory: int) -> Counter[str]:
    source, files, seen = random.Random(seed), valid_files(), Counter[str]()
    limit = address_space() + memory * 2**20
    resource.setrlimit(resource.RLIMIT_AS, (limit, resource.RLIM_INFINITY))
    with tempfile.TemporaryDirectory() as folder:
        path, saved = Path(folder) / "damaged.safetensors", Path(tempfile.gettempdir())
        for number in range(count):
            full = source.choice(files)
            content = damaged(source, full) if number % 2 else rewritten(source, full)
            path.unlink(missing_ok=True)
            path.write_bytes(content)
            module = lib.uh_jit_load(str(path).encode())
            if module:
                seen["loaded"] += 1
                lib.uh_box_release(module)
                continue
            kind, text = lib.uh_last_error_kind(), ffi.string(lib.uh_last_error()).decode()
            seen["refused"] += 1
            if kind not in _REFUSED or not text:
                position = saved / f"fuzz_model_{seed}_{number}.safetensors"
                position.write_bytes(content)
                raise AssertionError(f"{position}: error of kind {kind}: {text}")
    return seen


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--count", type=int, default=10000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--memory", type=int, default=512, help="MiB that may be allocated")
    options = parser.parse_args()
    for outcome, times in sorted(run(options.count, options.seed, options.memory).items()):
        print(f"{times:8} {outcome}")
