"""Random calls, as data: which name, with which arguments. call_run.py builds them from a library's tensors.

An argument is a tuple that begins with its tag:
    ("tensor", dtype, shape, numbers, layout, grad)
        layout: one of LAYOUTS, or "tiled"; grad: 0, 1 a leaf, 2 computed from a leaf
    ("again", spec)              the tensor of another argument
    ("view", spec, kind)         a view of it: one of VIEWS
    ("list", ...) ("tuple", ...) ("size", ...)
    ("dtype", name) ("device", name) ("format", name) ("numpy", dtype, number) ("meta", dtype, shape)
    ("value", anything)          Python's own
"""

from __future__ import annotations

import math
import random
from typing import Any

from call_recipes import evaluate, evaluate_list, recipes_for
from call_signatures import REQUIRED, Parameter, Signature, Target

Spec = tuple[Any, ...]
INTS = {"uint8": (0, 255), "int8": (-128, 127), "int16": (-(2**15), 2**15 - 1)}
INTS |= {"int32": (-(2**31), 2**31 - 1), "int64": (-(2**63), 2**63 - 1)}
FLOATS = {"float16": 65504.0, "bfloat16": 3.3e38, "float32": 3.4e38, "float64": 1.7e308}
COMPLEX = ("complex64", "complex128")
DTYPES = ("bool", *INTS, *FLOATS, *COMPLEX)
LAYOUTS = ("plain", "transposed", "strided", "offset", "expanded", "overlapping")  # and "tiled"
VIEWS = ("integer", "reversed", "first", "rest", "flat")
FORMATS = ("contiguous_format", "preserve_format", "channels_last", "channels_last_3d")
TILES = 300  # how often a tensor of the layout "tiled" has its numbers, along the first dimension
LARGE = (1000, 2**16, 2**22, 2**25)  # results of such sizes take seconds at most
WHOLE = (
    *LARGE,
    0,
    1,
    2,
    3,
    -1,
    -2,
    5,
    64,
    -(2**63),
    2**63 - 1,
    2**62,
    2**40,
    2**31,
    -(2**31),
    2**64,
)
REAL = (0.0, 0.5, 1.0, 2.0, -1.5, 1e-5, 1e300, math.inf, -math.inf, math.nan, -0.0, 5e-324)
WORDS = {
    "reduce": "sum prod mean amax amin add multiply",
    "reduction": "none mean sum",
    "mode": "constant reflect replicate circular reduced complete r nearest bilinear bicubic area linear "
    "trilinear nearest-exact sum mean max",
    "padding_mode": "zeros border reflection",
    "UPLO": "L U l",
    "driver": "gelsy gelsd gels gelss gesvd gesvdj",
    "norm": "backward ortho forward",
    "interpolation": "linear lower higher midpoint nearest",
    "side": "left right",
    "approximate": "none tanh",
    "rounding_mode": "floor trunc",
    "indexing": "ij xy",
    "padding": "valid same",
    "ord": "fro nuc inf",
    "p": "fro nuc",
    "equation": "ij->ji i-> ...->... ij,jk->ik ii -> , aa->a",
}
STRANGE_WORDS = ("", "zzz", "sum ", "\x00", "é", "inf", "%s%n", "a" * 300)
INDICES = ("target", "offsets", "repeats", "sorter")
KEYWORDS = (
    ("alpha", "Scalar"), ("out", "Tensor"), ("rounding_mode", "str?"), ("dtype", "ScalarType?"), ("dim", "int?"),
    ("keepdim", "bool"), ("axis", "int?"), ("keepdims", "bool"), ("reduction", "str"), ("generator", "None"),
    ("device", "Device?"), ("weight", "Tensor"), ("requires_grad", "bool"), ("memory_format", "MemoryFormat?"),
    ("layout", "None"), ("foo", "int"), ("value", "Scalar"), ("beta", "Scalar"), ("inplace", "bool"),
)  # fmt: skip


class Call:
    """One call: `path`, `args`, `kwargs`; everything in it follows from the seed and the number."""

    def __init__(self, targets: list[Target], seed: int, number: int) -> None:
        self.dice = dice = random.Random((seed << 40) + number)
        self.target = dice.choice(targets)
        self.path = self.target.path
        self.args: list[Spec] = []
        self.kwargs: dict[str, Spec] = {}
        self.tensors: list[Spec] = []
        zeros = dice.random() < 0.12
        self.letters = {
            letter: 0 if zeros and self.one_in(3) else dice.randint(1, 4)
            for letter in "ABCDEGHIJKLMNPQRSTVW"
        }
        self.batch = [self.size() for _ in range(dice.choice((0, 0, 1, 1, 2)))]
        self.shape = [self.size() for _ in range(dice.choice((0, 1, 1, 2, 2, 2, 3, 3, 4)))]
        self.floating = "float32" if dice.random() < 0.4 else dice.choice(tuple(FLOATS))
        self.inexact = self.floating if dice.random() < 0.7 else dice.choice(COMPLEX)
        self.any = self.inexact if dice.random() < 0.4 else dice.choice(DTYPES)
        self.extreme = dice.random() < 0.2
        self.odd_layouts = dice.random() < 0.4
        self.grad = dice.random() < 0.3
        self.tiled = self.one_in(40)
        if self.target.attribute:
            self.args.append(self.tensor([]))
            return
        if not self.target.signatures:
            return
        signature = dice.choice(self.target.signatures)
        values = self.values(signature)
        if self.target.is_method and (values[0] is None or not is_tensor(values[0])):
            values[0] = self.tensor(self.shape)
        self.pass_arguments(signature.parameters, values)
        if self.one_in(4):
            self.disturb()

    def one_in(self, n: int) -> bool:
        return self.dice.random() * n < 1

    # ---- which value for which argument

    def values(self, signature: Signature) -> list[Spec | None]:
        """Return a value for each parameter; None for one that is left to its default."""
        recipes = recipes_for(signature.full_name)
        recipe = self.dice.choice(recipes) if recipes and not self.one_in(5) else {}
        values: list[Spec | None] = []
        for parameter in signature.parameters:
            text = recipe.get(parameter.name) or (
                recipe.get("self") if parameter.name == "input" else None
            )
            if self.one_in(60):
                values.append(self.anything())
            elif text is not None:
                values.append(self.cooked(parameter, self.dice.choice(text.split("|"))))
            elif parameter.default is not REQUIRED and not self.one_in(3):
                values.append(None)
            else:
                values.append(self.fitting(parameter))
        return values

    def cooked(self, parameter: Parameter, text: str) -> Spec:
        """Return the value of a recipe."""
        kind = parameter.type.rstrip("?")
        if text == "None":
            return ("value", None)
        if ":" in text and "{" not in text:
            return self.cooked_tensor(text)
        if text.startswith("{"):
            items = text.strip("{}").split(";")
            return (
                self.dice.choice(("list", "tuple")),
                *(self.cooked_tensor(item) if item != "-" else ("value", None) for item in items),
            )
        if text.startswith("["):
            if "." in text.replace("..", ""):
                return ("list", *(("value", float(part)) for part in text.strip("[]").split(",")))
            return self.sequence(evaluate_list(text, self.letters, self.dice))
        if kind == "str":
            if parameter.name == "reduction":
                return ("value", self.dice.choice(("none", "mean", "sum")))
            return ("value", text)
        try:
            number = (
                evaluate(text, self.letters, self.dice)
                if "." not in text.replace("..", "")
                else None
            )
        except (KeyError, ValueError):
            number = None
        if number is None:
            try:
                return ("value", float(text))
            except ValueError:
                return ("value", text)
        if kind == "bool":
            return ("value", bool(number))
        if kind == "ScalarType":
            return ("dtype", DTYPES[number % len(DTYPES)])
        return ("value", float(number) if kind == "float" else number)

    def cooked_tensor(self, text: str) -> Spec:
        kind, _, sizes = text.partition(":")
        dtype = {
            "f": self.floating,
            "z": self.inexact,
            "i": "int64",
            "j": "int32",
            "b": "bool",
        }.get(kind[0], self.any)
        if kind[0] == "c":
            dtype = self.inexact if self.inexact in COMPLEX else "complex64"
        shape: list[int] = []
        for size in filter(None, sizes.split(",")):
            shape += self.batch if size == "*" else [evaluate(size, self.letters, self.dice)]
        low, high = -4.0, 4.0
        if kind[1:2] == "<":
            low, high = 0, max(0, evaluate(kind[2:], self.letters, self.dice) - 1)
        elif kind[1:2] == ">":
            low, high = 1, max(1, evaluate(kind[2:], self.letters, self.dice))
        elif kind[1:2] == "u":
            low, high = 0.0, 1.0
        if self.one_in(16):
            dtype = self.dice.choice(DTYPES)
        if self.one_in(16):
            shape = self.other_shape(shape)
        return self.tensor(shape, dtype, low, high, heavy="p" in kind)

    def other_shape(self, shape: list[int]) -> list[int]:
        shape = list(shape)
        if shape and self.one_in(2):
            shape[self.dice.randrange(len(shape))] = self.size()
        elif shape and self.one_in(2):
            del shape[self.dice.randrange(len(shape))]
        else:
            shape.insert(self.dice.randint(0, len(shape)), self.size())
        return shape

    def fitting(self, parameter: Parameter) -> Spec:
        """Return a value of the parameter's type."""
        kind, name, dice = parameter.type, parameter.name, self.dice
        if kind.endswith("?"):
            if self.one_in(3):
                return ("value", None)
            kind = kind[:-1]
        if kind == "Operand":
            kind = dice.choice(("Tensor", "Tensor", "Scalar"))
        if kind == "Tensor":
            return self.named_tensor(name)
        if kind.startswith("Tensor"):
            items = [self.named_tensor(name) for _ in range(dice.randint(0, 3))]
            return (dice.choice(("list", "tuple")), *items)
        if kind == "int":
            return ("value", self.integer(name))
        if kind.startswith("int["):
            count = int(kind[4:-1] or dice.choice((0, 1, 2, 3, len(self.shape))))
            if count and self.one_in(5):
                return ("value", self.integer(name))
            return self.sequence([self.integer(name) for _ in range(count)])
        if kind == "float":
            return ("value", self.real())
        if kind == "float[]":
            return ("list", *(("value", self.real()) for _ in range(dice.randint(0, 3))))
        if kind == "bool":
            return ("value", self.one_in(2))
        if kind == "Scalar":
            return ("value", dice.choice((1, 2, True, 1j, self.real(), self.integer(""))))
        if kind == "str":
            if name not in WORDS or self.one_in(8):
                return ("value", dice.choice(STRANGE_WORDS))
            return ("value", dice.choice(WORDS[name].split(" ")))
        if kind == "ScalarType":
            return ("dtype", dice.choice(DTYPES))
        if kind == "Device":
            return ("value", dice.choice(("cpu", "cpu", "meta", "cuda", "zzz")))
        if kind == "MemoryFormat":
            return ("format", dice.choice(FORMATS))
        if kind == "None":
            return ("value", None)
        return self.anything()

    def anything(self) -> Spec:
        """Return a value of any type, so mostly a wrong one."""
        dice = self.dice
        kind = dice.randrange(14)
        if kind < 3:
            return self.tensor(self.shape)
        if kind < 5:
            return ("value", self.integer(""))
        if kind == 5:
            return ("value", self.real())
        if kind == 6:
            return self.sequence([self.integer("") for _ in range(dice.randint(0, 4))])
        if kind == 7:
            return ("value", dice.choice((True, False, None)))
        if kind == 8:
            return (
                "value",
                dice.choice([*dice.choice(tuple(WORDS.values())).split(" "), *STRANGE_WORDS]),
            )
        if kind == 9:
            tensors = [self.tensor(self.shape) for _ in range(dice.randint(0, 2))]
            return ("list", *tensors, ("value", dice.choice((None, 1, 0.5, "a"))))
        if kind == 10:
            return ("dtype", dice.choice(DTYPES))
        if kind == 11:
            return ("numpy", dice.choice(("float32", "int64", "bool")), dice.randint(0, 2))
        if kind == 12:
            return self.tensor([])
        return ("value", dice.choice((1j, b"ab", {}, {"a": 1}, object, (), slice(0, 2), ...)))

    def sequence(self, numbers: list[int]) -> Spec:
        tag = self.dice.choice(("list", "tuple", "tuple", "size"))
        if tag == "size" and any(not -(2**63) <= n < 2**63 for n in numbers):
            tag = "tuple"
        return (tag, *(("value", n) for n in numbers))

    def size(self) -> int:
        return 0 if self.one_in(25) else self.dice.randint(1, 4)

    def integer(self, name: str) -> int:
        if ("dim" in name or "axis" in name) and self.shape and not self.one_in(8):
            return self.dice.randrange(-len(self.shape), len(self.shape))
        return self.dice.choice(WHOLE) if self.one_in(6) else self.dice.randint(-1, 4)

    def real(self) -> float:
        return self.dice.choice(REAL) if self.one_in(2) else self.dice.randint(-16, 16) / 8

    # ---- tensors

    def named_tensor(self, name: str) -> Spec:
        shape = self.shape if not self.one_in(6) else self.other_shape(self.shape)
        if "ind" in name or (name in INDICES and self.one_in(2)):
            return self.tensor(shape, self.dice.choice(("int64", "int64", "int32")), 0, 2)
        if name in ("mask", "condition"):
            return self.tensor(shape, "bool")
        return self.tensor(shape)

    def tensor(
        self,
        shape: list[int],
        dtype: str | None = None,
        low: float = -4.0,
        high: float = 4.0,
        heavy: bool = False,
    ) -> Spec:
        """Return a tensor of this call: now and then one that is there already, or a view of it."""
        dice = self.dice
        if self.tensors and self.one_in(12):
            other = dice.choice(self.tensors)
            return ("again", other) if self.one_in(2) else ("view", other, dice.choice(VIEWS))
        if dtype is None:
            dtype = self.any if not self.one_in(8) else dice.choice(DTYPES)
        if self.one_in(100):
            vast = self.one_in(3)
            sizes = [dice.choice((0, 1, *LARGE, 2**31, 2**40)) for _ in shape] if vast else shape
            result: Spec = ("meta", dtype, tuple(sizes))
        else:
            numbers = self.numbers(dtype, math.prod(shape), low, high)
            if heavy and len(shape) > 1 and shape[-1] == shape[-2] and dtype not in ("bool", *INTS):
                step = shape[-1]
                for at in range(0, len(numbers), step * step or 1):
                    for i in range(step):
                        numbers[at + i * (step + 1)] += 9
            layout = dice.choice(LAYOUTS) if self.odd_layouts and self.one_in(2) else "plain"
            layout = "tiled" if self.tiled and shape else layout
            floats = dtype in FLOATS or dtype in COMPLEX
            grad = dice.choice((0, 1, 2, 2)) if self.grad and floats else 0
            result = ("tensor", dtype, tuple(shape), numbers, layout, grad)
        self.tensors.append(result)
        return result

    def numbers(self, dtype: str, count: int, low: float, high: float) -> list[Any]:
        dice = self.dice
        if dtype == "bool":
            return [dice.random() < 0.5 for _ in range(count)]
        if dtype in INTS:
            minimum, maximum = INTS[dtype]
            low, high = max(int(low), minimum), int(high)
            numbers: list[Any] = [dice.randint(low, high) for _ in range(count)]
            odd: tuple[Any, ...] = (minimum, maximum, 0, maximum - 1, 1)
        elif dtype in FLOATS:
            numbers = [low + (high - low) * dice.randint(0, 64) / 64 for _ in range(count)]
            odd = (math.inf, -math.inf, math.nan, 0.0, -0.0, FLOATS[dtype], 1e-30, 1e4, -3e4)
        else:
            numbers = [
                complex(dice.randint(-32, 32) / 8, dice.randint(-32, 32) / 8) for _ in range(count)
            ]
            odd = (
                complex(math.inf, 0),
                complex(math.nan, 1),
                complex(0, math.inf),
                0j,
                1e30 + 1e30j,
                1j,
            )
        if self.extreme and not self.one_in(3):
            for i in range(count):
                if dice.random() < 0.3:
                    numbers[i] = dice.choice(odd)
        return numbers

    # ---- positional or by name

    def pass_arguments(self, parameters: tuple[Parameter, ...], values: list[Spec | None]) -> None:
        """By position up to some argument, the others by name."""
        by_name = self.one_in(3) and self.dice.randint(1, max(1, len(parameters)))
        for position, (index, value) in enumerate(zip(parameters, values, strict=True)):
            named = index.keyword_only or (by_name and position >= by_name)
            if value is None:
                by_name = by_name or position or 1
                continue
            if position == 0 and self.target.is_method:
                named = False
            if named:
                self.kwargs[index.name] = value
            else:
                self.args.append(value)
        if "out" not in self.kwargs and not self.target.name.endswith("_") and self.one_in(10):
            self.kwargs["out"] = self.out()

    def out(self) -> Spec:
        shape = self.dice.choice(([0], self.shape, self.shape, []))
        if self.tensors and self.one_in(2):
            first = self.tensors[0]
            shape = list(first[2]) if first[0] != "meta" else self.shape
        dtype = self.any if not self.one_in(3) else self.dice.choice(DTYPES)
        grad, self.grad = self.grad, self.grad and self.one_in(8)
        result = self.tensor(shape, dtype)
        self.grad = grad
        if self.one_in(6):
            return ("tuple", result, self.tensor(shape, self.dice.choice(("int64", dtype))))
        return result

    def disturb(self) -> None:
        """One thing that is not as it should be, or as it was in older versions."""
        dice, args, kwargs = self.dice, self.args, self.kwargs
        receiver = [args.pop(0)] if self.target.is_method else []
        subject = dice.randrange(9)
        if subject == 0 and kwargs:
            args.append(kwargs.pop(dice.choice(list(kwargs))))
        elif subject == 1 and len(args) > 1:
            i, j = dice.sample(range(len(args)), 2)
            args[i], args[j] = args[j], args[i]
        elif subject == 2:
            args.insert(dice.randint(0, len(args)), self.anything())
        elif subject == 3:
            name, kind = dice.choice(KEYWORDS)
            kwargs[name] = self.fitting(Parameter(name, kind))
        elif subject == 4 and args:
            del args[dice.randrange(len(args))]
        elif subject == 5 and "dim" in kwargs:
            kwargs["axis"] = kwargs.pop("dim")
        elif subject == 6 and args:
            args[dice.randrange(len(args))] = self.anything()
        elif subject == 7 and kwargs:
            kwargs[dice.choice(list(kwargs))] = self.anything()
        else:
            for index, value in enumerate(args):
                if value[0] == "value" and type(value[1]) in (int, float) and abs(value[1]) < 100:
                    kind = "int64" if type(value[1]) is int else "float32"
                    args[index] = dice.choice((
                        ("tensor", kind, (), [value[1]], "plain", 0),
                        ("numpy", kind, value[1]),
                        ("value", float(value[1])),
                        ("value", bool(value[1])),
                        ("list", value),
                    ))  # fmt: skip
        args[:0] = receiver


def is_tensor(spec: Spec) -> bool:
    return spec[0] in ("tensor", "again", "view", "meta")


def text(spec: Spec) -> str:
    """Return an argument as a person writes it, nearly as Python."""
    tag = spec[0]
    if tag == "tensor":
        _, dtype, shape, numbers, layout, grad = spec
        more = f", {layout}" if layout != "plain" else ""
        more += ("", ", requires_grad", ", of a leaf")[grad]
        return f"tensor({numbers}, {dtype}, {list(shape)}{more})"
    if tag in ("again", "view"):
        return f"<{tag} of the tensor of shape {list(spec[1][2])}{''.join(f', {k}' for k in spec[2:])}>"
    if tag in ("list", "tuple", "size"):
        inner = ", ".join(map(text, spec[1:]))
        return f"[{inner}]" if tag == "list" else f"({inner},)"
    if tag == "value":
        return repr(spec[1]) if len(repr(spec[1])) < 60 else f"{repr(spec[1])[:50]}..."
    return f"<{' '.join(map(str, spec))}>"


def call_text(call: Call) -> str:
    """Return the call in one line."""
    parts = [
        *map(text, call.args),
        *(f"{name}={text(value)}" for name, value in call.kwargs.items()),
    ]
    return f"{call.path}({', '.join(parts)})"
