"""Common mistakes: (function or module, reason in the message, hint).

Every message has the reason with the actual types, the line with carets, and a hint.
"""

# ruff: noqa  (as programs are written)
from collections import OrderedDict, defaultdict
from typing import Dict, List, Optional, Tuple

import engine
from engine import jit, nn


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


def lambda_(n: int):
    f = lambda x: -x
    return f(n)


def sorted_by(xs: List[int]):
    return sorted(xs, key=lambda x: -x)


def longest(xs: List[str]):
    return max(xs, key=len)


def most_of(xs: List[int]):
    return max(*xs)


def merged(d: Dict[str, int]):
    return dict(**d)


def deletes_slice(xs: List[int]):
    del xs[1:]
    return xs


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


def bare_list(x: list):
    return x


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
    (sorted_by, "sorted(key=...) isn't supported", "tuples"),
    (longest, "max(key=...) isn't supported", "tuples"),
    (most_of, "max(*xs) isn't supported", "max(xs)"),
    (merged, "dict(**options) isn't supported", "update"),
    (deletes_slice, "del of a part of a value of type List[int]", "xs[:a] + xs[b:]"),
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
    (ordered, "OrderedDict", "Dict"),
    (with_file, "with statements", "around the call"),
    (tuple_by_variable, "tuple index must be a compile time constant", "List"),
    (adds_text_and_number, "'str'", "str("),
    (compares, "'str'", ""),
    (index_by_text, "'str'", ""),
    (iterate_number, "'int' object is not iterable", "range("),
    (bare_list, "list needs its element types", "List[int]"),
    (
        raises_later,
        "if-expression's true branch has type str but false branch has type int",
        "same type",
    ),
    (calls_method_of_none, "'NoneType' object has no attribute or method 'sum'", ""),
    (recursive, "called recursively", "loop"),
    (prints_with_end, "print takes no keywords", "one string"),
    (power_of_ints, "annotated as having type int but is actually of type float", "int("),
    (divides_ints, "annotated as having type int but is actually of type float", "//"),
    (unpack_wrong, "need 3 values to unpack but found only 2", ""),
]
