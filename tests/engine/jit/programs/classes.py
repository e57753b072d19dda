"""User classes, Enums, Unions and Any, named tuples."""

# ruff: noqa  (as programs are written)
from enum import Enum
from typing import Any, Dict, List, NamedTuple, Optional, Tuple, Union

import engine
from engine import Tensor, jit


class Color(Enum):
    RED = 1
    GREEN = 2
    BLUE = 3


class Word(Enum):
    YES = "yes"
    NO = "no"


class Pair:
    """Attributes, operators, properties, a static method."""

    def __init__(self, a: int, b: Tensor):
        self.a = a
        self.b = b
        self.xs: List[int] = []

    def total(self, k: int = 2) -> Tensor:
        return self.b * self.a * k

    def add(self, n: int) -> "Pair":
        self.a += n
        return self

    def __add__(self, other: "Pair") -> "Pair":
        return Pair(self.a + other.a, self.b + other.b)

    def __len__(self) -> int:
        return len(self.xs)

    def __lt__(self, other: "Pair") -> bool:
        return self.a < other.a

    def __eq__(self, other: "Pair") -> bool:
        return self.a == other.a

    def __getitem__(self, i: int) -> int:
        return self.xs[i]

    def __setitem__(self, i: int, value: int) -> None:
        self.xs[i] = value

    def __contains__(self, i: int) -> bool:
        return i in self.xs

    def __bool__(self) -> bool:
        return self.a > 0

    def __neg__(self) -> "Pair":
        return Pair(-self.a, -self.b)

    def __str__(self) -> str:
        return "Pair of " + str(self.a)

    def __int__(self) -> int:
        return self.a

    def __call__(self, n: int) -> int:
        return self.a * n

    @property
    def double(self) -> int:
        return self.a * 2

    @double.setter
    def double(self, value: int) -> None:
        self.a = value // 2

    @staticmethod
    def one_more(a: int) -> int:
        return a + 1


class Stack:
    """A class that holds lists, objects of another class and Optionals."""

    def __init__(self, limit: int = 3):
        self.items: List[Pair] = []
        self.limit = limit
        self.last: Optional[Pair] = None
        self.kind = Color.RED

    def push(self, item: Pair) -> bool:
        if len(self.items) == self.limit:
            self.kind = Color.BLUE
            return False
        self.items.append(item)
        self.last = item
        return True

    def total(self) -> int:
        sum = 0
        for item in self.items:
            sum += item.a
        return sum


class Watch:
    """A context: `with` enters and leaves it."""

    def __init__(self, n: int):
        self.n = n

    def __enter__(self) -> int:
        self.n += 1
        return self.n

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        self.n += 10

    def __lt__(self, other: "Watch") -> bool:
        return self.n < other.n


class Linked:
    def __init__(self, value: int):
        self.value = value
        self.next: Optional["Linked"] = None


class Groups:
    def __init__(self):
        self.of: Dict[int, List[str]] = {}
        self.last: Union[int, str] = 0

    def put(self, word: str) -> None:
        n = len(word)
        if n not in self.of:
            self.of[n] = []
        self.of[n].append(word)
        self.last = word


class Shape(NamedTuple):
    name: str
    sides: int = 4
    at: Optional[Tensor] = None


def make_and_read(x: Tensor) -> Tensor:
    p = Pair(3, x)
    p.a = 5
    p.xs.append(1)
    return p.total() + p.a + p.total(k=4)


def operators(x: Tensor) -> Tensor:
    p = Pair(3, x)
    q = p + Pair(1, x)
    if p < q:
        q.b = q.b + 1
    if p == q:
        q.a = 100
    if q:
        p.a = 7
    n = -q
    return q.total() + p.a + n.b + int(q)


def containers_of(x: Tensor) -> int:
    p = Pair(3, x)
    p.xs.append(4)
    p[0] = p[0] + 5
    found = 9 in p
    missing = 4 not in p
    return len(p) + (1 if found and missing else 0) + p(2)


def properties(x: Tensor) -> int:
    p = Pair(3, x)
    p.double = 10
    p.a += 1
    return p.double + Pair.one_more(1)


def texts_of(x: Tensor) -> str:
    return str(Pair(8, x))


def takes_and_gives(p: Pair, n: int) -> Pair:
    for i in range(n):
        p.a += i
    return p.add(1)


def lists_of(ps: List[Pair]) -> Tuple[int, List[Pair]]:
    total = 0
    for p in ps:
        total += p.a
    ps.append(Pair(1, ps[0].b))
    return total, ps


def dictionaries_of(x: Tensor) -> int:
    d = {"a": Pair(1, x)}
    d["b"] = Pair(2, x)
    d["a"].a = 5
    return d["a"].a + d["b"].a


def branches(flag: bool, x: Tensor) -> int:
    if flag:
        p = Pair(1, x)
    else:
        p = Pair(2, x + 1)
    q = p if flag else Pair(3, x)
    return p.a + q.a


def optional_of(p: Optional[Pair], x: Tensor) -> Optional[Pair]:
    found: Optional[Pair] = None
    if p is not None:
        found = p
    if found is None:
        return Pair(9, x)
    return None


def stacks(x: Tensor) -> Tuple[int, bool, Color]:
    s = Stack(limit=2)
    for i in range(4):
        s.push(Pair(i, x))
    last = s.last
    assert last is not None
    return s.total() + last.a, s.push(Pair(9, x)), s.kind


def gradients(x: Tensor) -> Tensor:
    p = Pair(2, x * x)
    for i in range(3):
        p.b = p.b * 2
    return p.total().sum()


def entered(n: int) -> Tuple[int, int]:
    w = Watch(n)
    with w as k:
        n = n + k
        if n > 100:
            return n, w.n
    return n, w.n


def sorted_objects(xs: List[int]) -> List[int]:
    ws = [Watch(x) for x in xs]
    ws.sort()
    return [w.n for w in ws]


def written_once(xs: List[Pair]) -> int:
    xs.pop().a += 5
    xs[0].a *= 2
    return len(xs) + xs[0].a


def same_object(x: Tensor) -> Tuple[int, bool]:
    a = Pair(1, x)
    b = a
    b.a = 9
    listed = [a, b]
    listed[0].a += 1
    return a.a, a is b


def in_loops(n: int, x: Tensor) -> int:
    best = Pair(0, x)
    for i in range(n):
        p = Pair(i * i % 5, x)
        if best < p:
            best = p
    while best.a < 20:
        best.a += 7
    return best.a


def linked(n: int) -> int:
    head = Linked(0)
    at = head
    for i in range(n):
        new = Linked(i)
        at.next = new
        at = new
    total = 0
    now: Optional[Linked] = head
    while now is not None:
        total += now.value
        now = now.next
    return total


def grouped(words: List[str]) -> Tuple[Dict[int, List[str]], str]:
    groups = Groups()
    for word in words:
        groups.put(word)
    last = groups.last
    if isinstance(last, int):
        return groups.of, "none"
    return groups.of, last


def members(c: Color) -> Tuple[str, int, bool, Color]:
    return c.name, c.value, c == Color.RED, Color.GREEN


def through_members() -> List[Color]:
    found: List[Color] = []
    for c in Color:
        found.append(c)
    return found


def compared(c: Color, w: Word) -> Dict[str, Color]:
    if c is Color.RED or c != Color.GREEN:
        if w == Word.YES:
            return {"first": c}
    return {"second": Color.BLUE, w.value: c}


def member_by_default(c: Color = Color.GREEN, names: Optional[List[Word]] = None) -> int:
    if names is None:
        return c.value
    return c.value + len(names)


def chosen(n: int) -> Color:
    if n == 0:
        c = Color.RED
    else:
        c = Color.GREEN
    return c


def of_two(x: Union[int, str]) -> int:
    if isinstance(x, int):
        return x + 1
    return len(x)


def of_three(x: Union[int, str, None], y: Optional[Union[int, List[int]]]) -> int:
    if x is None:
        return 1
    if jit.isinstance(y, List[int]):
        return y[0]
    if isinstance(x, (int, float)):
        return x
    return len(x)


def annotated_union(flag: bool) -> Union[int, str]:
    x: Union[int, str] = 1
    if flag:
        x = "a"
    return x


def unions_in_lists(xs: List[Union[int, str]]) -> int:
    total = 0
    for x in xs:
        if isinstance(x, str):
            total += len(x)
        else:
            total += x
    xs.append("word")
    xs.append(1)
    return total + len(xs)


def numbers(x: Union[int, float]) -> float:
    return float(x + 1)


def optional_instance(x: Optional[int], y: int) -> int:
    if isinstance(y, int):
        y = y + 1
    if isinstance(x, int):
        return x + y
    return y


def anything(x: Any) -> int:
    if isinstance(x, int):
        return x
    elif isinstance(x, str):
        return len(x)
    elif jit.isinstance(x, List[int]):
        return len(x) + 10
    elif jit.isinstance(x, Dict[str, int]):
        return x["a"]
    elif jit.isinstance(x, Tuple[int, str]):
        return x[0]
    elif isinstance(x, Tensor):
        return x.dim()
    return -1


def handed_on(x: Any, n: int) -> Any:
    if n > 0:
        return n
    return x


def asserted(x: Union[int, str]) -> int:
    assert isinstance(x, int), "not an int"
    return x + 1


def left_early(x: Union[int, str]) -> int:
    if not isinstance(x, int):
        return -1
    return x + 1


def tensor_or_list(x: Union[Tensor, List[Tensor]]) -> Tensor:
    if isinstance(x, Tensor):
        return x + 1
    return x[0]


def dict_or_list(x: Union[Dict[str, int], List[int]]) -> int:
    if jit.isinstance(x, Dict[str, int]):
        return x["a"]
    else:
        return x[0]


def objects_or_not(x: Union[Pair, int]) -> int:
    if isinstance(x, Pair):
        return x.a
    return x


def shapes(s: Shape) -> Shape:
    t = Shape("square")
    name, sides, at = s
    if at is None:
        return Shape(name=name + t.name, sides=sides + s[1])
    return Shape(s.name, at=at * t.sides)


def list_of_shapes(n: int) -> List[Shape]:
    return [Shape(str(i), i) for i in range(n)]


X = engine.tensor([1.0, 2.0])
CASES = [
    (make_and_read, [(X,)]),
    (operators, [(X,)]),
    (containers_of, [(X,)]),
    (properties, [(X,)]),
    (texts_of, [(X,)]),
    (takes_and_gives, [(Pair(2, X), 3)]),
    (lists_of, [([Pair(2, X), Pair(3, X)],)]),
    (dictionaries_of, [(X,)]),
    (branches, [(True, X), (False, X)]),
    (optional_of, [(None, X), (Pair(1, X), X)]),
    (stacks, [(X,)]),
    (gradients, [(X,)]),
    (entered, [(1,), (100,)]),
    (sorted_objects, [([3, 1, 2],)]),
    (written_once, [([Pair(2, X), Pair(3, X)],)]),
    (same_object, [(X,)]),
    (in_loops, [(6, X)]),
    (linked, [(5,)]),
    (grouped, [(["a", "bb", "c"],), ([],)]),
    (members, [(Color.RED,), (Color.BLUE,)]),
    (through_members, [()]),
    (compared, [(Color.RED, Word.YES), (Color.GREEN, Word.YES), (Color.BLUE, Word.NO)]),
    (member_by_default, [(), (Color.RED,), (Color.BLUE, [Word.NO, Word.YES])]),
    (chosen, [(0,), (1,)]),
    (of_two, [(3,), ("word",)]),
    (of_three, [(None, 1), (5, [7]), (5, 3), ("abc", None)]),
    (annotated_union, [(True,), (False,)]),
    (unions_in_lists, [([1, "abc", 2],)]),
    (numbers, [(1,), (2.5,)]),
    (optional_instance, [(None, 2), (3, 4)]),
    (anything, [(3,), ("ab",), ([1, 2],), ({"a": 9},), ((4, "x"),), (X,), (2.5,)]),
    (handed_on, [("a", 0), ([1], 2)]),
    (asserted, [(1,)]),
    (left_early, [(1,), ("a",)]),
    (tensor_or_list, [(X,), ([X, X],)]),
    (dict_or_list, [({"a": 4},), ([5],)]),
    (objects_or_not, [(Pair(4, X),), (5,)]),
    (shapes, [(Shape("a", 3),), (Shape("b", 2, X),)]),
    (list_of_shapes, [(2,)]),
]
