"""What people write at first, and what they are told: (function or module, what is said, what to do).

Every message has the reason with the actual types, the line with carets, and a way out.
"""

# ruff: noqa  (as programs are written)
from collections import OrderedDict, defaultdict
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Dict, List, Optional, Tuple, Union

import engine
from engine import jit, nn


class Color(Enum):
    RED = 1


@dataclass
class Point:
    x: int
    y: int = field(default_factory=int)


class Base:
    def __init__(self, x: int):
        self.x = x


class Derived(Base):
    def twice(self) -> int:
        return self.x * 2


class Counter:
    count = 0

    def __init__(self, n: int):
        self.n = n

    def bump(self) -> int:
        return self.n + 1


class Mixed(Enum):
    A = 1
    B = "b"


TABLE = {"a": 1}
SCALE = 2.5


def missing_annotation_range(n):
    out = 0
    for i in range(n):
        out += i
    return out


def string_without_annotation(s):
    return s + "a"


def changed_type(n: int):
    x = 1
    if n > 2:
        x = "many"
    return x


def int_becomes_float(n: int):
    total = 0
    for i in range(n):
        total = total + 0.5
    return total


def none_then_value(n: int):
    found = None
    for i in range(n):
        found = i
    return found


def empty_list_of_ints(n: int):
    xs = []
    xs.append(n)
    return xs


def empty_dict(n: int):
    d = {}
    d["a"] = n
    return d


def different_returns(n: int):
    if n > 2:
        return n
    return "small"


def returns_or_not(n: int) -> int:
    if n > 2:
        return n


def optional_not_refined(x: Optional[int]):
    return x + 1


def optional_tensor(x: Optional[engine.Tensor]):
    return x.sum()


def optional_attribute_twice(x: Optional[List[int]]):
    return x[0]


def branch_only(flag: bool):
    if flag:
        y = 1
    return y


def lambda_(xs: List[int]):
    return sorted(xs, key=lambda x: -x)


def try_except(s: str):
    try:
        return int(s)
    except ValueError:
        return 0


def yields(n: int):
    for i in range(n):
        yield i


def numpy_call(x):
    import numpy as np

    return np.sqrt(x)


def numpy_method(x):
    return x.numpy()


def no_such_method(x):
    return x.summ()


def no_such_function(x):
    return engine.summ(x)


def misspelled(x):
    return xx + 1


def too_few(x):
    return engine.matmul(x)


def too_many(n: int):
    return helper(n, n, n)


def wrong_kind(x):
    return helper(x, 1)


def unknown_option(x):
    return x.sum(axes=1)


def helper(a: int, b: int = 1):
    return a + b


def truth_of_list(xs: List[int]):
    if xs:
        return 1
    return 0


def truth_of_text(s: str):
    while s:
        s = s[1:]
    return s


def truth_of_optional(x: Optional[int]):
    if x:
        return 1
    return 0


def mixed_list(x):
    return [1, 2.0, "a"]


def mixed_dict(n: int):
    return {"a": 1, "b": "c"}


def global_number(x):
    return x * SCALE


def global_table(s: str):
    return TABLE[s]


def writes_global(n: int):
    global SCALE
    SCALE = n


def sets_(n: int):
    return {1, 2, n}


def nested_function(x):
    def inner(y):
        return y * 2

    return inner(x)


def class_inside(x):
    class A:
        pass

    return x


def args_and_kwargs(*args, **kwargs):
    return args[0]


def enum_by_value(n: int):
    return Color(n)


def enum_of_two_types(c: Mixed):
    return c.value


def enum_without_member(c: Color):
    return c == Color.GREEN


def derived(n: int):
    return Derived(n).twice()


def class_attribute(n: int):
    return Counter(n).count


def no_attribute(n: int):
    return Counter(n).m


def new_attribute(n: int):
    c = Counter(n)
    c.extra = 1
    return c.n


def wrong_attribute(n: int):
    c = Counter(n)
    c.n = "a"
    return c.n


def adds_objects(n: int):
    return Counter(n) + Counter(n)


def loops_over_object(n: int):
    return [x for x in Counter(n)]


def truth_of_object(n: int):
    if Counter(n):
        return 1
    return 2


def deletes_attribute(n: int):
    c = Counter(n)
    del c.n
    return c


def module_parameter(m: nn.Linear, x):
    return m(x)


def list_of_any(x: Any):
    return isinstance(x, list)


def dataclass_parameter(p: Point):
    return p.x


def makes_dataclass(n: int):
    return Point(n, n)


def ordered(n: int):
    return OrderedDict()


def with_file(x):
    with open("f") as f:
        return x


def tuple_by_variable(t: Tuple[int, str], i: int):
    return t[i]


def adds_text_and_number(n: int):
    return "n = " + n


def compares(n: int, s: str):
    return n < s


def index_by_text(xs: List[int]):
    return xs["a"]


def iterate_number(n: int):
    for i in n:
        print(i)


def union_parameter(x: Union[int, str]):
    return x + 1


def attribute_of_union(x: Union[List[int], str]):
    return x.upper()


def bare_list(x: list):
    return x


def any_(x: Any):
    return x + 1


def raises_later(n: int):
    assert n > 1, "n" if n else 2
    return n


def calls_method_of_none(x):
    y = None
    return y.sum()


def recursive(n: int) -> int:
    return 1 if n < 2 else n * recursive(n - 1)


def prints_with_end(n: int):
    print(n, end="")


def power_of_ints(n: int) -> int:
    return n**2


def divides_ints(n: int) -> int:
    return n / 2


def unpack_wrong(t: Tuple[int, int]):
    a, b, c = t
    return a


MISTAKES = [
    (missing_annotation_range, "range() takes ints, not a value of type Tensor", "n: int"),
    (string_without_annotation, "found type 'str'", "s: str"),
    (changed_type, "Variable 'x' previously had type int", "another name"),
    (
        int_becomes_float,
        "previously had type int but is now being assigned to a value of type float",
        "0.0",
    ),
    (none_then_value, "previously had type NoneType", "found: Optional[int] = None"),
    (
        empty_list_of_ints,
        "previously matched to type Tensor is matched to type int",
        "xs: List[int] = []",
    ),
    (empty_dict, "Dict[str, Tensor]", "d: Dict[str, int] = {}"),
    (
        different_returns,
        "a value of type int but this return statement returns a value of type str",
        "same type",
    ),
    (returns_or_not, "does not return along all paths", "end with a `return`"),
    (optional_not_refined, "Optional[int]", "is not None"),
    (optional_tensor, "'Optional[Tensor]' object has no attribute or method 'sum'", "None"),
    (optional_attribute_twice, "'Optional[List[int]]' object is not subscriptable", "None"),
    (branch_only, "y is not defined in the false branch", "before the `if`"),
    (lambda_, "Lambda aren't supported", "def"),
    (try_except, "try blocks aren't supported", "if"),
    (yields, "Yield aren't supported", "append to a list"),
    (numpy_call, "imports aren't supported", "import at the top"),
    (numpy_method, "numpy", "outside"),
    (no_such_method, "'Tensor' object has no attribute or method 'summ'", "sum"),
    (no_such_function, "engine object has no attribute summ", "sum"),
    (misspelled, "undefined value xx", "x"),
    (too_few, "Argument other not provided", ""),
    (too_many, "Expected at most 2 argument(s) but found 3", ""),
    (
        wrong_kind,
        "Expected a value of type 'int' for argument 'a' but instead found type 'Tensor'",
        "x: int",
    ),
    (unknown_option, "axes", ""),
    (truth_of_list, "Could not cast value of type List[int] to bool", "len"),
    (truth_of_text, "Could not cast value of type str to bool", "len"),
    (truth_of_optional, "Could not cast value of type Optional[int] to bool", "is not None"),
    (mixed_list, "Lists must contain only a single type", "tuple"),
    (mixed_dict, "single type", "same type"),
    (global_number, "python value of type 'float' cannot be used as a value", "2.5"),
    (global_table, "python value of type 'dict' cannot be used as a value", "argument"),
    (writes_global, "global variables aren't supported", "return"),
    (sets_, "Set aren't supported", "list"),
    (nested_function, "function definitions aren't supported", "outside"),
    (class_inside, "class definitions aren't supported", "outside"),
    (args_and_kwargs, "variable number of arguments", "name every parameter"),
    (enum_by_value, "Color(...), a member by its value, isn't supported", "Color.RED"),
    (enum_of_two_types, "Enum 'Mixed' has values of the types int, str", "all texts"),
    (enum_without_member, "Color object has no attribute GREEN", ""),
    (dataclass_parameter, "field 'y' has a default_factory", "write __init__"),
    (makes_dataclass, "field 'y' has a default_factory", "write __init__"),
    (derived, "classes that inherit (here from Base) are not compiled", "in one class"),
    (class_attribute, "is defined as a class attribute", "self.count"),
    (no_attribute, "Did you forget to initialize an attribute in __init__()?", "n"),
    (new_attribute, "Tried to set nonexistent attribute: extra", "Counter.__init__"),
    (wrong_attribute, "Expected int but got str", "annotate it where __init__ makes it"),
    (adds_objects, "has no attribute or method '__add__'", "define __add__ in the class Counter"),
    (loops_over_object, "is not iterable", "range(len(x))"),
    (truth_of_object, "has no attribute or method '__bool__'", "define __bool__"),
    (deletes_attribute, "del of attributes aren't supported", "assign another value"),
    (module_parameter, "a Module is no type of an argument", "attribute of the Module"),
    (list_of_any, "without what it holds", "jit.isinstance(x, List[int])"),
    (ordered, "OrderedDict", "Dict"),
    (with_file, "with statements", "around the call"),
    (tuple_by_variable, "tuple index must be a compile time constant", "List"),
    (adds_text_and_number, "'str'", "str("),
    (compares, "'str'", ""),
    (index_by_text, "'str'", ""),
    (iterate_number, "'int' object is not iterable", "range("),
    (union_parameter, "Union[int, str]", "isinstance"),
    (attribute_of_union, "'Union[List[int], str]' object has no attribute", "isinstance"),
    (bare_list, "list needs the types of what it holds", "List[int]"),
    (any_, "'Any'", "isinstance"),
    (
        raises_later,
        "if-expression's true branch has type str but false branch has type int",
        "same type",
    ),
    (calls_method_of_none, "'NoneType' object has no attribute or method 'sum'", ""),
    (recursive, "called recursively", "loop"),
    (prints_with_end, "print takes no keywords", "one text"),
    (power_of_ints, "annotated as having type int but is actually of type float", "int("),
    (divides_ints, "annotated as having type int but is actually of type float", "//"),
    (unpack_wrong, "need 3 values to unpack but found only 2", ""),
]
