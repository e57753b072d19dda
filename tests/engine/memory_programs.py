"""Random programs of views, writes, out= and resized storages, compared with a model of the memory in NumPy.

    python tests/engine/memory_programs.py [--seed N] [--count N] [--steps N]

A tensor of the model is a description (sizes, strides, offset) of a byte buffer. Every step is computed on
copies of its inputs. The engine either does the same, to every tensor of the program; or it raises,
and then no element has changed. It may raise over shared memory only where memory is shared, and must
where a description reaches beyond its buffer. The failing program is printed as Python.
"""

from __future__ import annotations

import argparse
import random
import sys
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import engine

SHARED = "single memory location"
BEYOND = "out of bounds for storage"
DTYPES = {"int64": 8, "int32": 4}


@dataclass
class Variable:
    """A tensor of the program under its name, and the buffer that the model keeps for it."""

    name: str
    tensor: Any
    buffer: int

    @property
    def dtype(self) -> str:
        return str(self.tensor.dtype).removeprefix("engine.")


class Failure(Exception):
    """The engine and the model disagree."""


class Program:
    """One random program, step by step."""

    def __init__(self, seed: int) -> None:
        self.dice = random.Random(seed)
        self.seed = seed
        self.lines: list[str] = []
        self.variables: list[Variable] = []
        self.buffers: list[bytearray] = []
        self.raised = self.done = 0

    # ---- the model

    def extent(self, v: Variable) -> int:
        """Return the number of bytes that the description needs."""
        t = v.tensor
        if t.numel() == 0:
            return 0
        last = sum((n - 1) * s for n, s in zip(t.shape, t.stride(), strict=True))
        return (t.storage_offset() + last + 1) * DTYPES[v.dtype]

    def within(self, v: Variable) -> bool:
        return self.extent(v) <= len(self.buffers[v.buffer])

    def view(self, v: Variable) -> np.ndarray:
        """Return the model's elements, sharing its buffer."""
        t, width = v.tensor, DTYPES[v.dtype]
        if t.numel() == 0:
            return np.empty(tuple(t.shape), v.dtype)
        return np.ndarray(
            tuple(t.shape),
            v.dtype,
            self.buffers[v.buffer],
            t.storage_offset() * width,
            tuple(s * width for s in t.stride()),
        )

    def byte_offsets(self, v: Variable) -> np.ndarray:
        """Return the first byte of every element."""
        t, width = v.tensor, DTYPES[v.dtype]
        at = np.full(tuple(t.shape), t.storage_offset() * width)
        for dim, (n, step) in enumerate(zip(t.shape, t.stride(), strict=True)):
            index = np.arange(n).reshape([-1 if d == dim else 1 for d in range(t.dim())])
            at = at + index * step * width
        return at

    def bytes_of(self, v: Variable) -> set[int]:
        width = DTYPES[v.dtype]
        return {int(at) + i for at in self.byte_offsets(v).ravel() for i in range(width)}

    def overlaps_itself(self, v: Variable) -> bool:
        offsets = self.byte_offsets(v).ravel()
        return len(set(offsets.tolist())) < len(offsets)

    def shares(self, a: Variable, b: Variable) -> bool:
        return a.buffer == b.buffer and not self.bytes_of(a).isdisjoint(self.bytes_of(b))

    # ---- steps

    def pick(self) -> Variable:
        return self.dice.choice(self.variables)

    def add(self, tensor: Any, buffer: int) -> str:
        name = f"t{len(self.variables)}"
        self.variables.append(Variable(name, tensor, buffer))
        return name

    def new(self) -> None:
        shape = tuple(self.dice.choice((1, 2, 3, 3, 4)) for _ in range(self.dice.randint(0, 3)))
        dtype = self.dice.choice(list(DTYPES))
        count = int(np.prod(shape))
        start = self.dice.randint(0, 50)
        values = np.arange(start, start + count, dtype=dtype).reshape(shape)
        self.buffers.append(bytearray(values.tobytes()))
        name = self.add(engine.tensor(values), len(self.buffers) - 1)
        self.lines.append(
            f"{name} = engine.arange({start}, {start + count}, dtype=engine.{dtype}).view({shape})"
        )

    def look(self) -> None:
        """A view of one of the variables."""
        v, dice = self.pick(), self.dice
        t = v.tensor
        dim = dice.randrange(t.dim()) if t.dim() else 0
        size = t.shape[dim] if t.dim() else 1
        low = dice.randint(0, size)
        forms = [f"{v.name}.detach()", f"{v.name}[...]", f"{v.name}.unsqueeze(0)"]
        if t.dim():
            forms += [
                f"{v.name}.transpose(0, -1)",
                f"{v.name}.narrow({dim}, {min(low, size)}, {dice.randint(0, size - min(low, size))})",
                f"{v.name}.expand(2, {', '.join(['-1'] * t.dim())})",
                f"{v.name}[{'..., ' if dice.random() < 0.5 else ''}::{dice.randint(1, 3)}]",
                f"{v.name}.flatten()",
            ]
            if size:
                forms.append(f"{v.name}.select({dim}, {dice.randrange(size)})")
                forms.append(
                    f"{v.name}.unfold({dim}, {dice.randint(1, size)}, {dice.randint(1, 2)})"
                )
        room = len(self.buffers[v.buffer]) // DTYPES[v.dtype]
        sizes = tuple(dice.randint(1, 3) for _ in range(dice.randint(1, 2)))
        steps = tuple(dice.randint(0, 3) for _ in sizes)
        forms += [f"{v.name}.as_strided({sizes}, {steps}, {dice.randint(0, max(room, 1))})"] * 2
        self.run(dice.choice(forms), view_of=v)

    def operands(self) -> tuple[Variable, Variable, Variable]:
        """Three variables, more often of one Storage than chance makes them."""
        a = self.pick()
        near = [v for v in self.variables if v.buffer == a.buffer]

        def choose() -> Variable:
            return self.dice.choice(near) if self.dice.random() < 0.7 else self.pick()

        return a, choose(), choose()

    def same_elements(self, a: Variable, b: Variable) -> bool:
        return a.buffer == b.buffer and all(
            getattr(a.tensor, layout)() == getattr(b.tensor, layout)()
            for layout in ("size", "stride", "storage_offset")
        )

    def write(self) -> None:
        a, b, c = self.operands()
        A, B, C = a.name, b.name, c.name
        dice = self.dice
        x, y, z = (lambda v=v: self.view(v).copy() for v in (a, b, c))
        n = dice.randint(-3, 3)
        table: list[tuple[str, list[Variable], Callable[[], Any]]] = [
            (f"{A}.add_({B})", [a, b], lambda: x() + y()),
            (f"{A}.sub_({B})", [a, b], lambda: x() - y()),
            (f"{A}.mul_({B})", [a, b], lambda: x() * y()),
            (f"{A}.copy_({B})", [b], lambda: np.broadcast_to(y(), x().shape)),
            (f"{A}[...] = {B}", [b], lambda: np.broadcast_to(y(), x().shape)),
            (f"{A}.fill_({n})", [], lambda: np.full(x().shape, n)),
            (f"{A}.zero_()", [], lambda: np.zeros(x().shape, "int64")),
            (f"{A}.neg_()", [a], lambda: -x()),
            (f"{A}.addcmul_({B}, {C})", [a, b, c], lambda: x() + y() * z()),
            (f"{A}.masked_fill_({B} > 5, {n})", [a, b], lambda: np.where(y() > 5, n, x())),
            (f"{A}.clamp_(min={B})", [a, b], lambda: np.maximum(x(), y())),
            (f"{A}.cumsum_(0)", [a], lambda: x() if not x().ndim else x().cumsum(0)),
            (f"engine.add({B}, {C}, out={A})", [b, c], lambda: y() + z()),
            (f"engine.add({B}, 1, out={A})", [b], lambda: y() + np.array(1, y().dtype)),
            (f"engine.maximum({B}, {C}, out={A})", [b, c], lambda: np.maximum(y(), z())),
            (f"engine.where({B} > 4, {B}, {C}, out={A})", [b, c], lambda: np.where(y() > 4, y(), z())),
            (f"engine.sum({B}, 0, out={A})", [b], lambda: y().sum(0) if y().ndim else y()),
            (f"engine.cumsum({B}, -1, out={A})", [b], lambda: y().cumsum(-1) if y().ndim else y()),
            (f"engine.sort({B}, 0, out=({A}, engine.empty(0, dtype=engine.int64)))", [b],
             lambda: np.sort(y(), 0) if y().ndim else y()),
            (f"engine.cat([{B}, {C}], out={A})", [b, c], lambda: np.concatenate([y(), z()])),
            (f"engine.stack([{B}, {C}], out={A})", [b, c], lambda: np.stack([y(), z()])),
            (f"engine.outer({B}, {C}, out={A})", [b, c], lambda: _outer(y(), z())),
            (f"engine.square({B}, out={A})", [b], lambda: y() * y()),
            (f"engine.abs({B}, out={A})", [b], lambda: abs(y())),
            (f"engine.clamp({B}, min={C}, out={A})", [b, c], lambda: np.maximum(y(), z())),
            (f"engine.mm({B}, {C}, out={A})", [b, c], lambda: _product(y(), z())),
            (f"{A}.index_add_(0, engine.tensor([0]), {B})", [a, b], lambda: _first(x(), y(), True)),
            (f"{A}.index_copy_(0, engine.tensor([0]), {B})", [a, b], lambda: _first(x(), y(), False)),
        ]  # fmt: skip
        text, reads, compute = dice.choice(table)
        onto_itself = text in (f"{A}.copy_({B})", f"{A}[...] = {B}") and self.same_elements(a, b)
        if onto_itself:  # as in PyTorch nothing is read or written
            self.run(text)
            return
        self.run(text, written=a, reads=reads, compute=compute)

    def resize(self) -> None:
        v, dice = self.pick(), self.dice
        other = self.pick()
        size = tuple(dice.randint(0, 4) for _ in range(dice.randint(0, 2)))
        nbytes = dice.choice((0, 4, 8, 16, 24, 64, 128, len(self.buffers[v.buffer])))
        text = dice.choice(
            [
                f"{v.name}.untyped_storage().resize_({nbytes})",
                f"{v.name}.untyped_storage().resize_({nbytes})",
                f"{v.name}.resize_({size})",
                f"{v.name}.set_({other.name})",
                f"{v.name}.data = {other.name}",
                f"{v.name}.as_strided_({size}, {tuple(dice.randint(0, 3) for _ in size)}, {dice.randint(0, 4)})",
                f"{v.name}.t_()",
                f"{v.name}.unsqueeze_(0)",
            ]
        )
        self.run(text, moved=v, source=other if other.name in text.partition(".")[2] else None)

    # ---- one step in both worlds

    def run(
        self,
        text: str,
        view_of: Variable | None = None,
        written: Variable | None = None,
        reads: list[Variable] | None = None,
        compute: Callable[[], Any] | None = None,
        moved: Variable | None = None,
        source: Variable | None = None,
    ) -> None:
        expected, unreadable = None, [v for v in reads or [] if not self.within(v)]
        if compute and not unreadable:
            try:
                with np.errstate(all="ignore"):
                    expected = np.asarray(compute())
            except (ValueError, IndexError):
                expected = None
        shares = (
            bool(written)
            and self.within(written)
            and (self.overlaps_itself(written) or any(self.shares(written, v) for v in reads or []))
        )
        scope = {v.name: v.tensor for v in self.variables} | {"engine": engine}
        shape = tuple(written.tensor.shape) if written else ()
        self.lines.append(text)
        try:
            if view_of is None:
                exec(text, scope)
            else:
                tensor = eval(text, scope)
        except (RuntimeError, IndexError, ValueError, TypeError) as error:
            self.raised += 1
            self.lines[-1] += f"  # {type(error).__name__}: {error}".replace("\n", " ")[:160]
            apart = written and written.tensor.numel() and self.within(written) and not shares
            if SHARED in str(error) and apart and expected is not None and expected.shape == shape:
                raise Failure("raises over shared memory, and none is shared") from error
            self.compare(written)
            return
        self.done += 1
        if view_of is not None:
            shared = tensor.untyped_storage() == view_of.tensor.untyped_storage()
            if shared and all(v.tensor is not tensor for v in self.variables):
                self.lines[-1] = f"{self.add(tensor, view_of.buffer)} = {text}"
            else:
                self.lines.pop()
            return
        if unreadable and any(v.tensor.numel() for v in unreadable):
            raise Failure(f"reads {unreadable[0].name}, which is longer than its storage")
        if moved is not None:
            self.follow(moved, source)
        if written is not None and expected is not None:
            self.follow(written, None)
            if not self.within(written):
                raise Failure(f"writes {written.name}, which is longer than its storage")
            if self.overlaps_itself(written):
                self.take(written)
            else:
                self.view(written)[...] = np.broadcast_to(expected, tuple(written.tensor.shape))
        elif written is not None:
            self.follow(written, None)
            self.take(written)
        self.compare(None)

    def follow(self, v: Variable, source: Variable | None) -> None:
        """The buffer of a variable that may have moved to another Storage, or whose Storage was resized."""
        if source is not None:
            v.buffer = source.buffer
            return
        storage = v.tensor.untyped_storage()
        buffer = self.buffers[v.buffer]
        if len(buffer) > storage.nbytes():
            del buffer[storage.nbytes() :]
        elif len(buffer) < storage.nbytes():  # what is new is undefined: as the engine has it
            buffer += bytes(storage)[len(buffer) :]

    def take(self, v: Variable) -> None:
        """Take over the engine's bytes where the result depends on the order of writes."""
        if self.within(v):
            self.buffers[v.buffer][:] = bytes(v.tensor.untyped_storage())

    def compare(self, resized: Variable | None) -> None:
        """Every buffer of the program is what the engine has; `resized` may have grown before it raised."""
        if resized is not None:
            self.follow(resized, None)
        seen = set()
        for v in self.variables:
            if self.within(v):
                other = self.view(v).tolist()
                if v.tensor.tolist() != other:
                    raise Failure(f"{v.name} is {v.tensor.tolist()}, expected {other}")
            elif v.tensor.numel():
                try:
                    v.tensor.tolist()
                except RuntimeError as error:
                    if BEYOND not in str(error):
                        raise Failure(f"{v.name} is beyond its storage: {error}") from error
                else:
                    raise Failure(f"{v.name} is beyond its storage and was read")
            if v.buffer not in seen:
                seen.add(v.buffer)
                if bytes(v.tensor.untyped_storage()) != bytes(self.buffers[v.buffer]):
                    raise Failure(f"other bytes in the storage of {v.name}")

    def play(self, steps: int) -> None:
        self.new()
        self.new()
        for _ in range(steps):
            step = self.dice.choices((self.new, self.look, self.write, self.resize), (1, 5, 8, 2))[
                0
            ]
            step()


def _outer(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    if a.ndim != 1 or b.ndim != 1:
        raise ValueError("vectors")
    return np.outer(a, b)


def _product(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    if a.ndim != 2 or b.ndim != 2:
        raise ValueError("matrices")
    return a @ b


def _first(a: np.ndarray, b: np.ndarray, add: bool) -> np.ndarray:
    if a.ndim == 0 or b.ndim != a.ndim or b.shape[0] != 1 or b.shape[1:] != a.shape[1:]:
        raise ValueError("slices")
    a[0] = a[0] + b[0] if add else b[0]
    return a


def search(seed: int, count: int, steps: int) -> tuple[int, int]:
    """Plays `count` programs; returns how many steps were done and how many raised."""
    done = raised = 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for number in range(seed, seed + count):
            program = Program(number)
            try:
                program.play(steps)
            except Failure as failure:
                text = "\n".join(program.lines)
                raise AssertionError(f"seed {number}: {failure}\n{text}") from failure
            done += program.done
            raised += program.raised
    return done, raised


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--count", type=int, default=10_000)
    parser.add_argument("--steps", type=int, default=25)
    parser.add_argument("--keep-going", action="store_true", help="report every failing seed")
    options = parser.parse_args()
    failures = done = raised = 0
    for seed in range(options.seed, options.seed + options.count):
        try:
            newly_done, newly_raised = search(seed, 1, options.steps)
        except AssertionError as error:
            failures += 1
            print(error, flush=True)
            if not options.keep_going:
                break
            continue
        done, raised = done + newly_done, raised + newly_raised
    print(
        f"{options.count} programs: {done} steps done, {raised} raised, {failures} programs failed"
    )
    sys.exit(failures > 0)


if __name__ == "__main__":
    main()
