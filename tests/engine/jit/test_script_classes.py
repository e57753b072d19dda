"""User classes and Enums: in modules, in files, on their way from Python and back."""

import gc
from dataclasses import dataclass
from enum import Enum, IntEnum
from typing import Any

import pytest

import engine
from engine import Tensor, jit, nn
from engine._native import lib
from engine.inspect.events import kind_of
from engine.inspect.recorder import record
from engine.inspect.trace import TraceReader
from engine.jit.ir.graph import Graph
from tests.engine.jit.programs import classes
from tests.engine.jit.programs.classes import Color, Pair, Stack, Word

X = engine.tensor([1.0, 2.0])


@jit.script
class Totals:
    def __init__(self, start: int):
        self.sum = start
        self.seen: list[int] = []

    def add(self, n: int) -> int:
        self.sum += n
        self.seen.append(n)
        return self.sum


class Counting(nn.Module):
    """Holds an object that its calls write to, members of Enums, and makes objects."""

    def __init__(self):
        super().__init__()
        self.totals = Totals(10)
        self.color = Color.GREEN
        self.answers = [Word.YES, Word.NO]
        self.saved = [Totals(1), Totals(2)]
        self.line = nn.Linear(2, 2)

    def forward(self, x: Tensor, n: int) -> tuple[Tensor, int, Color]:
        pair = Pair(n, x)
        if self.color == Color.GREEN and self.answers[0] == Word.YES:
            pair.b = self.line(pair.b)
        added = self.totals.add(n) + self.saved[1].sum
        return pair.total(), added, Color.BLUE if n > 2 else self.color


@dataclass
class Spot:
    x: int
    y: float = 2.5

    def size(self) -> float:
        return self.x * self.y


def test_a_module_writes_to_its_object():
    module = Counting()
    scripted = jit.script(module)
    assert scripted(X, 2)[1:] == (14, Color.GREEN)
    assert scripted(X, 3)[1:] == (17, Color.BLUE)
    assert (scripted.totals.sum, scripted.totals.seen) == (15, [2, 3])
    assert module.totals.sum == 10  # its own: the object of Python is copied
    assert scripted.color is Color.GREEN
    scripted.color = Color.RED
    assert engine.equal(scripted(X, 1)[0], X * 2)


def test_files_keep_classes_and_enums(tmp_path):
    scripted = jit.script(Counting())
    scripted(X, 4)
    jit.save(scripted, tmp_path / "counting.st")
    loaded = jit.load(tmp_path / "counting.st")
    ours, other = scripted(X, 5), loaded(X, 5)
    assert engine.equal(ours[0], other[0])
    assert ours[1:] == other[1:]
    assert other[2] is Color.BLUE
    assert type(loaded.totals) is Totals
    assert (loaded.totals.sum, loaded.totals.seen) == (19, [4, 5])
    jit.save(loaded, tmp_path / "again.st")
    assert jit.load(tmp_path / "again.st")(X, 1)[1] == loaded(X, 1)[1]


def test_saved_functions_take_objects_of_this_process(tmp_path):
    jit.save(jit.script(classes.takes_and_gives), tmp_path / "f.st")
    loaded = jit.load(tmp_path / "f.st")
    inputs = loaded(Pair(2, X), 3)
    assert type(inputs) is Pair
    assert inputs.a == classes.takes_and_gives(Pair(2, X), 3).a
    jit.save(jit.script(classes.members), tmp_path / "g.st")
    assert jit.load(tmp_path / "g.st")(Color.RED) == ("RED", 1, True, Color.GREEN)


def test_objects_of_classes_that_are_gone(tmp_path):
    """A file may be read where the class was never written."""

    def saved() -> None:
        class Local:
            def __init__(self, n: int):
                self.n = n

            def twice(self) -> int:
                return self.n * 2

        class Fruit(Enum):
            APPLE = "a"
            PEAR = "p"

        class Makes(nn.Module):
            def __init__(self):
                super().__init__()
                self.fruit = Fruit.PEAR

            def forward(self, n: int):
                return Local(n), self.fruit

        jit.save(jit.script(Makes()), tmp_path / "made.st")

    saved()
    gc.collect()
    loaded, fruit = jit.load(tmp_path / "made.st")(4)
    assert (loaded.n, loaded.twice()) == (4, 8)
    with pytest.raises(AttributeError, match="no attribute 'm'"):
        print(loaded.m)
    assert (fruit.name, fruit.value, type(fruit).__name__) == ("PEAR", "p", "Fruit")


def test_frozen_modules_keep_what_programs_write_to():
    scripted = jit.script(Counting().eval())
    frozen = jit.freeze(scripted)
    assert frozen(X, 2)[1:] == (14, Color.GREEN)
    assert frozen(X, 2)[1] == 16
    assert "CallMethod" not in str(frozen.graph)
    assert "Color" in str(frozen.graph)


class Chain(nn.Module):
    last: classes.Linked | None

    def __init__(self):
        super().__init__()
        self.last = None

    def forward(self, n: int) -> int:
        for i in range(n):
            result = classes.Linked(i)
            result.next = self.last
            self.last = result
        last = self.last
        return -1 if last is None else last.value


def test_a_long_row_of_objects_is_not_saved(tmp_path):
    scripted = jit.script(Chain())
    assert scripted(300) == 299
    jit.save(scripted, tmp_path / "chain.st")
    assert jit.load(tmp_path / "chain.st")(1) == 0
    scripted(2000)
    with pytest.raises(RuntimeError, match="hold each other more than 1000 deep"):
        jit.save(scripted, tmp_path / "chain.st")


def test_a_row_of_a_million_objects_goes_without_a_deep_stack():
    scripted = jit.script(Chain())
    assert scripted(1_000_000) == 999_999
    scripted.last = None
    assert scripted(1) == 0


def test_python_objects_are_copied():
    pair = Pair(2, X)
    scripted = jit.script(classes.takes_and_gives)(pair, 4)
    assert (pair.a, scripted.a) == (2, 9)
    assert scripted is not pair
    assert scripted.b is not None


def test_objects_within_objects():
    stack = Stack(limit=5)
    stack.push(Pair(3, X))

    @jit.script
    def pushed(s: Stack, x) -> Stack:
        s.push(Pair(4, x))
        return s

    actual = pushed(stack, X)
    assert [item.a for item in actual.items] == [3, 4]
    assert actual.last.a == 4
    assert len(stack.items) == 1
    assert (stack.kind, actual.kind) == (Color.RED, Color.RED)


def test_the_decorator_gives_the_class():
    assert isinstance(Totals, type)
    assert Totals(3).add(2) == 5


def test_dataclasses():
    @jit.script
    def moved(s: Spot, n: int) -> tuple[Spot, float, bool]:
        t = Spot(s.x + n)
        return t, t.size(), t == Spot(s.x + n, 2.5)

    position, size, same = moved(Spot(1, 9.0), 3)
    assert (position, size, same) == (Spot(4, 2.5), 10.0, True)
    with pytest.raises(RuntimeError, match="'__repr__'"):
        jit.script(_shows)


def _shows(s: Spot) -> str:
    return s.__repr__()


class Fickle:
    """Whose order contradicts itself, and changes what is sorted."""

    def __init__(self, n: int, all: list[int]):
        self.n = n
        self.all = all

    def __lt__(self, other: "Fickle") -> bool:
        self.n = (self.n * 7 + 3) % 11
        return self.n < other.n or self.n % 2 == 0


def test_an_order_that_contradicts_itself_ends():
    @jit.script
    def shuffled(n: int) -> tuple[int, int]:
        fickle = [Fickle(i, [i]) for i in range(n)]
        fickle.sort()
        total = 0
        for item in sorted(fickle):
            total += item.all[0]
        return len(fickle), total

    for n in (0, 1, 2, 17, 200):
        assert shuffled(n) == (n, n * (n - 1) // 2)


def test_members_in_lists():
    @jit.script
    def among(c: Color, others: list[Color]) -> tuple[bool, bool, int, list[Color]]:
        return c in [Color.RED, Color.BLUE], c not in others, len(Color), list(Color)

    assert among(Color.RED, [Color.GREEN]) == (True, True, 3, list(Color))
    assert among(Color.GREEN, [Color.GREEN]) == (False, False, 3, list(Color))


class Level(IntEnum):
    LOW = 1
    HIGH = 2


def test_int_enums():
    @jit.script
    def level(value: Level) -> tuple[int, bool]:
        return value.value + Level.HIGH.value, value == Level.LOW

    assert level(Level.LOW) == (3, True)


def test_what_is_printed(capsys):
    @jit.script
    def prints(c: Color, p: Pair, n: int | str):
        print(c, [c], {"a": c}, f"{c}", n)
        print(p)

    prints(Color.RED, Pair(1, X), "n")
    first, second = capsys.readouterr().out.splitlines()
    assert first == "Enum<Color.RED> [Enum<Color.RED>] {'a': Enum<Color.RED>} Enum<Color.RED> n"
    assert second.startswith("<__torch__.tests.engine.jit.programs.classes.Pair object at 0x")


def test_wrong_arguments():
    with pytest.raises(RuntimeError, match=r"expected a value of type 'Enum<.*Color>'|Enum<"):
        jit.script(classes.members)(3)
    with pytest.raises(RuntimeError, match=r"'Union\[int, str\]' for argument 'x'"):
        jit.script(classes.of_two)(2.5)
    with pytest.raises(RuntimeError, match=r"classes\.Pair' for argument 'p'"):
        jit.script(classes.takes_and_gives)(3, 1)
    with pytest.raises(RuntimeError, match="Word"):
        jit.script(classes.members)(Word.YES)
    del (broken := Pair(1, X)).b
    with pytest.raises(AttributeError, match="b"):
        jit.script(classes.takes_and_gives)(broken, 1)


class Late:
    def __init__(self, n: int):
        if n > 0:
            self.n = n


class Calls:
    def __init__(self, n: int):
        self.n = n

    def wrong(self) -> int:
        return self.n + "a"


def _makes_late(n: int):
    return Late(n)


def _makes_calls(n: int):
    return Calls(n)


@pytest.mark.parametrize(
    ("fn", "reason", "chain"),
    [
        (
            _makes_late,
            "First assignment cannot be in a control-flow block",
            "'Late' is being compiled",
        ),
        (_makes_calls, "aten::add", "'Calls' is being compiled since it was called"),
    ],
)
def test_mistakes_in_a_class_name_the_line_and_who_used_it(fn, reason, chain):
    with pytest.raises(RuntimeError) as caught:
        jit.script(fn)
    message = str(caught.value)
    assert reason in message
    assert chain in message
    assert message.count("<--- HERE") == 2
    with pytest.raises(RuntimeError, match="HERE"):  # it is not half compiled now
        jit.script(fn)


def test_a_class_that_is_not_compiled_cannot_be_an_attribute():
    class Plain:
        def __init__(self, n: int):
            self.n = n

    class Holds(nn.Module):
        def __init__(self):
            super().__init__()
            self.plain = Plain(1)

        def forward(self, x):
            return x * self.plain.n

    with pytest.raises(RuntimeError, match=r"@jit\.script before `class Plain`"):
        jit.script(Holds())
    jit.script(Plain)
    assert engine.equal(jit.script(Holds())(X), X)


@pytest.mark.parametrize("fn", [fn for fn, _ in classes.CASES], ids=lambda fn: fn.__name__)
def test_text_is_read_back(fn):
    scripted = jit.script(fn)
    text = str(scripted.graph)
    assert str(Graph.parse(text)) == text


def test_recorded_programs_show_them(tmp_path):
    with record(tmp_path / "t.uht", lines=False):
        jit.script(classes.stacks)(X)
        jit.script(classes.members)(Color.RED)
    trace = TraceReader.open(tmp_path / "t.uht")
    recorded = {"GRAPH": "", "JIT_STEP": "", "JIT_FRAME": ""}
    for event in trace.events:
        name = kind_of(int(event["kind"])).name
        if name in recorded:
            recorded[name] += trace.blob(int(event["n"])).decode()
    assert "prim::CreateObject" in recorded["GRAPH"]
    assert "classes.Color.GREEN" in recorded["GRAPH"]
    output = recorded["JIT_STEP"] + recorded["JIT_FRAME"]
    assert "classes.Stack" in output
    assert "classes.Color.RED" in output


def test_gradients_go_through_attributes():
    x = X.clone().requires_grad_()
    y = X.clone().requires_grad_()
    jit.script(classes.gradients)(x).backward()
    classes.gradients(y).backward()
    assert engine.equal(x.grad, y.grad)


def test_they_go_when_nobody_has_them():
    def used() -> None:
        class Short:
            def __init__(self, n: int):
                self.n = n

            def again(self) -> "Short":
                return Short(self.n + 1)

        class Kind(Enum):
            A = 1

        def makes(n: int, k: Kind) -> int | None:
            return Short(n).again().n if k == Kind.A else None

        scripted = jit.script(makes)
        assert [scripted(1, Kind.A) for _ in range(5)] == [2] * 5

    used()
    gc.collect()
    before = lib.uh_jit_alive(b"class")
    for _ in range(3):
        used()
    gc.collect()
    assert lib.uh_jit_alive(b"class") <= before


def test_any_may_be_asked():
    @jit.script
    def kind(x: Any) -> str:
        if isinstance(x, Color):
            return "color " + x.name
        if isinstance(x, Pair):
            return "pair " + str(x.a)
        if isinstance(x, (int, float)):
            return "number"
        if x is None:
            return "none"
        return "other"

    actual = [kind(value) for value in (Color.RED, Pair(3, X), 2, 2.5, None, "text", [1])]
    assert actual == ["color RED", "pair 3", "number", "number", "none", "other", "other"]


def test_a_class_that_only_annotations_name():
    class Here(Enum):
        A = 1

    def name(value: Here) -> str:
        return value.name

    assert jit.script(name)(Here.A) == "A"
