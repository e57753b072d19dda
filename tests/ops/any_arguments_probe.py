"""A process that calls every operator with random arguments; test_any_arguments.py watches it die or not.

    python any_arguments_probe.py SEED ROUNDS NOTES [DEVICE]

With a device most tensors are there, and only the operators are called that have no kernel for it.

Each call is written into the file NOTES before it runs: after a crash it names the last one.
"""

from __future__ import annotations

import faulthandler
import math
import random
import resource
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import engine
from engine._generated import codes
from engine._native import ffi, lib
from engine.function_schema import REQUIRED, Argument, FunctionSchema, SchemaType

SECONDS = 100  # a call that does not return shows in Python's stack
MEMORY = 6 << 30  # a request for more fails, as it does on a small machine

NAMES = "bool uint8 int8 int16 int32 int64 float16 bfloat16 float32 float64 complex64 complex128"
DTYPES = [getattr(engine, name) for name in NAMES.split()]
INTS = [0, 1, 2, 3, -1, -2, 5, 64, -(2**63), 2**63 - 1, 2**62, 2**40]
FLOATS = [0.0, 0.5, 1.0, 2.0, -1.5, 1e-5, 1e300, math.inf, -math.inf, math.nan]
KNOWN = """sum prod mean amax amin add multiply constant reflect replicate circular reduced complete r L U
gelsy gelsd gels gelss backward ortho forward linear lower higher midpoint nearest left right none tanh floor
trunc ij xy valid same fro nuc ij,jk->ik ii i-> ...->... zzz ->,"""
WORDS = [*KNOWN.split(), "", "\x00", "é", "a" * 300]


class Call:
    """The arguments of one call: tensors share a shape and a dtype more often than not."""

    def __init__(self, dice: random.Random, device: str) -> None:
        self.dice = dice
        self.device = device
        self.shape = tuple(self.size() for _ in range(dice.randint(0, 4)))
        self.dtype = dice.choice([engine.float32, dice.choice(DTYPES)])
        self.tensors: list[Any] = []

    def one_in(self, n: int) -> bool:
        return self.dice.randrange(n) == 0

    def size(self) -> int:
        return 0 if self.one_in(20) else self.dice.randint(1, 4)

    def values(self, schema: FunctionSchema) -> list[Any]:
        """One value for each argument."""
        matches = []
        for argument in schema.arguments:
            if self.one_in(30):
                kind = self.dice.choice(["Tensor", "int", "float", "str"])
                matches.append(self.value(Argument("", self.maybe_list(SchemaType(kind)), "")))
            elif argument.default is not REQUIRED and self.one_in(2):
                matches.append(argument.default)
            else:
                matches.append(self.value(argument))
        return matches

    def maybe_list(self, item: SchemaType) -> SchemaType:
        listed = item.kind in ("Tensor", "int") and self.one_in(2)
        return SchemaType("List", (item,)) if listed else item

    def value(self, argument: Argument) -> Any:
        if argument.type.kind == "Optional" and self.one_in(2):
            return None
        listed, kind = argument.type.without_optional, argument.type.base
        if listed.kind == "List" and kind == "Tensor":
            return [self.tensor("") for _ in range(self.dice.randint(0, 3))]
        if listed.kind == "List" and kind == "int":
            count = listed.fixed_size or self.dice.choice([0, 1, 2, 3, len(self.shape)])
            return [self.integer(argument.name) for _ in range(count)]
        if listed.kind == "List":
            return [self.dice.choice(FLOATS) for _ in range(self.dice.randint(0, 3))]
        if kind == "Tensor":
            return self.tensor(argument.name)
        if kind == "int":
            return self.integer(argument.name)
        known: dict[str, Callable[[], Any]] = {
            "float": lambda: self.dice.choice(FLOATS),
            "bool": lambda: self.one_in(2),
            "str": lambda: self.dice.choice(WORDS),
            "ScalarType": lambda: self.dice.choice(DTYPES),
            "Device": lambda: self.dice.choice(["cpu", "cpu", self.device, "meta"]),
            "MemoryFormat": lambda: self.dice.choice([0, 1, 2, 3]),
            "Scalar": lambda: self.dice.choice([1, 2, True, 1j, *FLOATS, *INTS]),
        }
        return known[kind]()

    def integer(self, name: str) -> int:
        if "dim" in name and not self.one_in(6) and self.shape:
            return self.dice.randrange(-len(self.shape), len(self.shape))
        return self.dice.choice(INTS) if self.one_in(6) else self.dice.randint(0, 3)

    def tensor(self, name: str) -> Any:
        if self.tensors and self.one_in(6):
            return self.dice.choice(self.tensors)
        shape = (
            self.shape
            if not self.one_in(5)
            else tuple(self.size() for _ in range(self.dice.randint(0, 5)))
        )
        dtype = self.dtype if not self.one_in(8) else self.dice.choice(DTYPES)
        high = 6
        if "ind" in name or name in ("target", "offsets"):
            dtype, high = engine.int64, 2
        if name in ("mask", "condition"):
            dtype = engine.bool
        count = math.prod(shape)
        numbers = [
            self.dice.randint(0, high) if not self.one_in(50) else self.dice.randint(-9, 99)
            for _ in range(count)
        ]
        result = engine.tensor(numbers, dtype=engine.float64).to(dtype).reshape(shape)
        if result.is_floating_point() and self.one_in(10):
            result = result * self.dice.choice(FLOATS)
        if result.dim() > 1 and self.one_in(4):
            result = result.transpose(0, -1)
        if self.one_in(10):
            result = result.unsqueeze(0).expand(2, *result.shape)[0]
        if self.device != "cpu" and not self.one_in(20):
            result = result.to(self.device)
        if self.one_in(20):
            result = result.to("meta")
        self.tensors.append(result)
        return result


def called(device: str) -> list[FunctionSchema]:
    """Return the operators that are called: on another device those that have no kernel there."""
    schemas = list(engine.ops.schemas().values())
    if device == "cpu":
        return schemas
    key = codes.KEYS_BY_PRIORITY.index({"opencl": "OpenCL"}[device])
    return [
        schema
        for schema in schemas
        if not ffi.string(lib.uh_op_kernel(schema.text.partition("(")[0].encode(), key))
        .decode()
        .startswith(device)
    ]


def ways(schema: FunctionSchema) -> list[tuple[str, Callable[..., Any]]]:
    """The operator by its name, and by the public names that are called the same."""
    overload = getattr(getattr(engine.ops.aten, schema.name), schema.overload_name or "default")
    matches: list[tuple[str, Callable[..., Any]]] = [("ops.aten", overload)]
    for location in (engine, engine.Tensor, engine.nn.functional, engine.linalg, engine.special):
        public = getattr(
            location, schema.name.removeprefix("linalg_").removeprefix("special_"), None
        )
        if callable(public) and not isinstance(public, type):
            matches.append((location.__name__, public))
    return matches


def main() -> None:
    """Calls all operators; ends with status 0 when no call ended otherwise than by an exception."""
    seed, rounds, notes = int(sys.argv[1]), int(sys.argv[2]), Path(sys.argv[3])
    device = sys.argv[4] if len(sys.argv) > 4 else "cpu"
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    faulthandler.enable()
    engine.set_num_threads(1)
    dice = random.Random(seed)
    calls = returned = 0
    with notes.open("w", encoding="utf-8") as book:
        for _ in range(rounds):
            for schema in called(device):
                call = Call(dice, device)
                values = call.values(schema)
                name, way = dice.choice(ways(schema))
                book.seek(0)
                book.write(f"{name}: {schema.text}\n" + "\n".join(map(described, values)) + "\n")
                book.truncate()
                book.flush()
                calls += 1
                faulthandler.dump_traceback_later(SECONDS, exit=True)  # for this call
                try:
                    way(*values) if name != "ops.aten" else by_name(way, schema, values)
                    returned += 1
                except SystemError as error:
                    raise AssertionError("an error inside of the engine") from error
                except Exception:
                    continue
    print(calls, returned)


def by_name(way: Callable[..., Any], schema: FunctionSchema, values: list[Any]) -> Any:
    """Return the boxed call: keyword-only arguments by name."""
    pairs = list(zip(schema.arguments, values, strict=True))
    options = {item.name: value for item, value in pairs if item.keyword_only}
    return way(*(value for element, value in pairs if not element.keyword_only), **options)


def described(value: Any) -> str:
    """Return a value in a line; of a tensor its description, as its elements may be what goes wrong."""
    if isinstance(value, engine.Tensor):
        return f"    {value.dtype} {tuple(value.shape)} {value.stride()} {value.device}"
    if isinstance(value, list):
        return "    [" + ", ".join(described(item).strip() for item in value) + "]"
    return f"    {value!r}"


if __name__ == "__main__":
    main()
