"""Runs calls in one library, the engine or PyTorch, and describes what came of each as plain data.

    python call_run.py LIBRARY SEED NUMBERS MODE [WORD...]

Standard output is a stream of pickles (number, outcome). An outcome is ("raised", class, message, internal, where),
("returned", result, inputs, gradients), or ("unbuilt", why) where an argument could not be made.
The file that PROGRESS names holds four integers of eight bytes: the number of the call that is running, the number of
the longest call so far and its microseconds of processor time, and the most memory that was resident, in KiB.
NUMBERS: START:END, or numbers between commas. MODE: `look` writes only outcomes that are wrong by themselves, `full`
all outcomes, `wide` all with floating dtypes made double. WORD: only names that contain one of these.
"""

from __future__ import annotations

import importlib
import mmap
import os
import pickle
import re
import resource
import struct
import sys
import time
import traceback
import warnings
from typing import Any

import numpy as np
from call_arguments import TILES, Call, Spec
from call_signatures import targets

MEMORY = {"engine": 2 << 30, "torch": 5 << 30}  # PyTorch needs more to begin with
WIDE = dict.fromkeys(("float16", "bfloat16", "float32"), "float64") | {"complex64": "complex128"}
MAX_ELEMENTS = 20_000  # elements of a tensor that is looked at
INTERNAL = (
    AttributeError,
    NameError,
    KeyError,
    RecursionError,
    SystemError,
    AssertionError,
    StopIteration,
)
PRIVATE = re.compile(
    r"'NoneType' object|cdata|ctype|\buh_|has no attribute|not subscriptable|unsupported operand|\b_(?!_)\w+\(\)"
    r"|object is not callable|instances of '|bad operand type|not enough values|too many values|tuple index"
    r"|list index|pop from|cannot unpack|object is not iterable|engine\._|\.py\b"
)


def is_sparse(t: Any) -> bool:
    return not str(t.layout).endswith(".strided")


class Builder:
    """Makes one call's arguments of a library's tensors."""

    def __init__(self, lib: Any, wide: bool = False) -> None:
        self.lib = lib
        self.dtypes = WIDE if wide else {}
        self.tensors: list[Any] = []
        self.leaves: list[Any] = []
        self._of_specs: dict[int, Any] = {}

    def build(self, spec: Spec) -> Any:
        """Return the argument that a spec describes; each spec of a tensor is one tensor."""
        tag = spec[0]
        if tag == "value":
            return spec[1]
        if tag in ("list", "tuple", "size"):
            items = [self.build(item) for item in spec[1:]]
            return (
                items if tag == "list" else tuple(items) if tag == "tuple" else self.lib.Size(items)
            )
        if tag == "again":
            return self.build(spec[1])
        if tag == "numpy":
            return getattr(np, spec[1] if spec[1] != "bool" else "bool_")(spec[2])
        if tag in ("dtype", "format"):
            return getattr(self.lib, self.dtypes.get(spec[1], spec[1]))
        if id(spec) not in self._of_specs:
            self._of_specs[id(spec)] = result = self.tensor(spec)
            self.tensors.append(result)
        return self._of_specs[id(spec)]

    def tensor(self, spec: Spec) -> Any:
        if spec[0] == "view":
            return view(self.build(spec[1]), spec[2])
        if spec[0] == "meta":
            return self.lib.empty(spec[2], dtype=getattr(self.lib, spec[1]), device="meta")
        narrow = getattr(self.lib, spec[1])
        return tensor(spec, self.lib, narrow, self.dtypes.get(spec[1]), self.leaves)


def tensor(spec: Spec, lib: Any, kind: Any, wide: str | None, leaves: list[Any]) -> Any:
    """Return the tensor of a spec in its layout."""
    _, _, shape, numbers, layout, grad = spec
    result = lib.tensor(numbers, dtype=kind).reshape(shape)
    if layout == "tiled":
        return tensor(
            (*spec[:2], (TILES * shape[0], *shape[1:]), TILES * numbers, "plain", grad),
            lib,
            kind,
            wide,
            leaves,
        )
    if wide:
        kind = getattr(lib, wide)
        result = result.to(kind)
    if layout == "transposed" and len(shape) > 1:
        result = result.transpose(0, -1).contiguous().transpose(0, -1)
    elif layout == "strided" and shape:
        result = lib.stack([result, result], -1)[..., 0]
    elif layout == "offset":
        flat = lib.zeros(result.numel() + 3, dtype=kind)
        flat[3:] = result.reshape(-1)
        result = flat[3:].reshape(shape)
    elif layout == "expanded" and shape:
        result = result[:1].expand(shape) if shape[0] else result
    elif layout == "overlapping" and shape and result.numel():
        flat = result.reshape(-1)
        result = (
            flat.as_strided(shape, [1] * len(shape))
            if sum(shape) - len(shape) < flat.numel()
            else result
        )
    if grad:
        leaf = result.detach().requires_grad_()
        leaves.append(leaf)
        return leaf if grad == 1 else leaf * 1
    return result


def view(source: Any, kind: str) -> Any:
    """Return a view of a tensor that there is already."""
    if kind == "reversed" and source.dim():
        return source.permute(tuple(reversed(range(source.dim()))))
    if kind in ("first", "rest") and source.dim() and source.shape[0]:
        return source[:1] if kind == "first" else source[1:]
    return source.reshape(-1) if kind == "flat" else source.view(source.shape)


class Library:
    """The engine or PyTorch: its public names, and the facts of its tensors."""

    def __init__(self, name: str) -> None:
        self.module = importlib.import_module(name)
        self.Tensor = self.module.Tensor
        self.name = name

    def run(self, call: Call, mode: str) -> tuple[Any, ...] | None:
        """Return the outcome of one call; in mode `look` only what is wrong by itself, else None."""
        full = mode != "look"
        builder = Builder(self.module, mode == "wide")
        tensors, leaves = builder.tensors, builder.leaves
        try:
            args = [builder.build(arg) for arg in call.args]
            kwargs = {name: builder.build(item) for name, item in call.kwargs.items()}
        except Exception as error:
            return ("unbuilt", f"{type(error).__name__}: {error}")
        try:
            result = self.call(call, args, kwargs)
        except Exception as error:
            return self.raised(error, full)
        if not full:
            self.touch(result)
            try:
                self.gradients(result, leaves)
            except Exception as error:
                return self.raised(error, False)
            return None
        inputs = [self.described(t, tensors, False) for t in tensors]
        try:
            gradients = self.gradients(result, leaves)
        except Exception as error:
            gradients = self.raised(error, True)
        return ("returned", self.tree(result, tensors), inputs, gradients)

    def call(self, call: Call, args: list[Any], kwargs: dict[str, Any]) -> Any:
        """Finds the name and calls it."""
        result: Any = self.module
        for part in call.path.split("."):
            result = getattr(result, part, None)
        if result is None:
            raise LookupError(call.path)
        if not call.target.attribute:
            if call.target.is_method and args and isinstance(args[0], self.Tensor):
                return getattr(args[0], call.target.name)(*args[1:], **kwargs)
            return result(*args, **kwargs)
        return getattr(args[0], call.target.name)

    def raised(self, error: Exception, full: bool) -> tuple[Any, ...] | None:
        message = str(error)
        if isinstance(error, LookupError) and type(error) is LookupError:
            return ("missing",)
        internal = isinstance(error, INTERNAL) or bool(PRIVATE.search(message))
        internal = internal and not message.startswith("Torch not compiled with")
        if not full and (not internal or isinstance(error, MemoryError)):
            return None
        location = ""
        if internal and self.name == "engine":
            last = traceback.extract_tb(error.__traceback__)[-1]
            location = f"{os.path.basename(last.filename)}:{last.lineno}"
        return ("raised", type(error).__name__, message[:300], internal, location)

    def touch(self, value: Any) -> None:
        """Reads what came back: strides that lead out of the storage are found here."""
        if isinstance(value, self.Tensor):
            if not value.is_meta and 0 < value.numel() <= MAX_ELEMENTS:
                (value.to_dense() if is_sparse(value) else value).tolist()
        elif isinstance(value, (tuple, list)):
            for item in value:
                self.touch(item)

    def tree(self, value: Any, inputs: list[Any]) -> Any:
        if isinstance(value, self.Tensor):
            return self.described(value, inputs, True)
        if isinstance(value, (list, tuple)):
            kind = type(value).__name__ if len(value) < 64 else "long"
            return (kind.rpartition(".")[2], *(self.tree(item, inputs) for item in value[:64]))
        if isinstance(value, (bool, int, float, complex, str, type(None))):
            return ("value", type(value).__name__, value)
        return ("other", type(value).__name__, str(value).replace("torch", "engine")[:100])

    def described(self, t: Any, inputs: list[Any], sources: bool) -> tuple[Any, ...]:
        """("tensor", dtype, shape, strides, requires_grad, which input it is, whose storage it shares, numbers)"""
        if is_sparse(t):  # it has neither strides nor a storage
            layout = str(t.layout).rpartition(".")[2]
            return (layout, *self.described(t.detach().to_dense(), [], False))
        numbers: Any = None
        if not t.is_meta and t.numel() <= MAX_ELEMENTS:
            dense = t.detach()
            if self.name == "torch":  # the engine has no lazy conjugates
                dense = dense.resolve_conj().resolve_neg()
            numbers = dense.reshape(-1).tolist()
        same = shares = None
        if sources:
            same = next((k for k, item in enumerate(inputs) if item is t), None)
            if t.numel() and not t.is_meta:
                position = t.untyped_storage().data_ptr()
                shares = next(
                    (
                        k
                        for k, element in enumerate(inputs)
                        if element.untyped_storage().data_ptr() == position
                    ),
                    None,
                )
        return (
            "tensor",
            str(t.dtype).rpartition(".")[2],
            tuple(t.shape),
            tuple(t.stride()),
            t.requires_grad,
            same,
            shares,
            numbers,
            t.device.type,
        )

    def gradients(self, result: Any, leaves: list[Any]) -> Any:
        outs = [
            t
            for t in (result if isinstance(result, (list, tuple)) else [result])
            if isinstance(t, self.Tensor)
            and t.requires_grad
            and t.grad_fn is not None
            and not t.is_meta
        ]
        if not outs or not leaves or sum(t.numel() for t in outs) > MAX_ELEMENTS:
            return None
        weights = []
        for t in outs:
            w = self.module.arange(t.numel(), dtype=self.module.float32) % 5 + 1
            weights.append((w / 4).reshape(t.shape).to(t.dtype))
        output = self.module.autograd.grad(outs, leaves, weights, allow_unused=True)
        return [None if g is None else self.described(g, [], False) for g in output]


def main() -> None:
    """Runs the calls and writes the outcomes."""
    name, seed, numbers, mode, *terms = sys.argv[1:]
    start, colon, end = numbers.partition(":")
    chosen_numbers = range(int(start), int(end)) if colon else map(int, numbers.split(","))
    if "asan" not in os.environ.get("LD_PRELOAD", ""):  # which reserves more and has its own limits
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY[name], MEMORY[name]))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    warnings.simplefilter("ignore")
    library = Library(name)
    library.module.set_num_threads(1)
    selected = [t for t in targets() if not terms or any(word in t.path for word in terms)]
    stream = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # the output of a library is not an outcome
    with open(os.environ["PROGRESS"], "r+b") as file:
        progress = mmap.mmap(file.fileno(), 32)
        longest, longest_number = 0.0, 0
        for number in chosen_numbers:
            began = time.process_time()
            progress[:8] = number.to_bytes(8, "little")
            if os.environ.get("CALL_RUN_ABORTS_AT") == str(number):  # to test the search with
                os.abort()
            outcome = library.run(Call(selected, int(seed), number), mode)
            took = time.process_time() - began
            if took > longest:
                longest, longest_number = took, number
            peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
            progress[8:] = struct.pack("<3q", longest_number, int(longest * 1e6), peak)
            if outcome is not None or number % 64 == 0:
                pickle.dump((number, outcome), stream)
                if mode == "look" or number % 16 == 0:
                    stream.flush()
        pickle.dump((-1, None), stream)
        stream.flush()


if __name__ == "__main__":
    main()
