"""Functions with unsupported Python.

Each case: (function, start of the message, source above the carets, hint).
"""

# ruff: noqa
from typing import Dict, List, Optional, Tuple, Union

import engine
from engine import jit

SOME_NUMBER = 3


def lambdas(x):
    f = lambda y: y + 1
    return f(x)


def generators(x):
    yield x


def inner_functions(x):
    def double(y):
        return y * 2

    return double(x)


def classes(x):
    class A:
        pass

    return x


def tries(x):
    try:
        return x + 1
    except RuntimeError:
        return x


def globals_(x):
    global SOME_NUMBER
    return x


def withs(x):
    with open("file"):
        return x * 2


def for_else(xs: List[int]):
    for x in xs:
        if x > 2:
            break
    else:
        return 0
    return 1


def while_else(n: int):
    while n > 3:
        n -= 1
    else:
        n = 7
    return n


def star_args(*xs):
    return xs[0]


def star_kwargs(x, **options):
    return x


def starred_target(xs: List[int]):
    a, *b = xs
    return a


def sets(n: int):
    return {n, 2}


def walrus(n: int):
    if (m := n + 1) > 3:
        return m
    return n


def imports(n: int):
    import math

    return math.sqrt(n)


def matches(n: int):
    match n:
        case 1:
            return 2
    return 3


def format_specs(x: float):
    return f"{x!r}"


def bare_annotation(n: int):
    x: int
    x = n
    return x


def break_in_unrolled(flag: bool):
    for i in (1, 2):
        if flag:
            break


def recursive(n: int) -> int:
    if n < 2:
        return 1
    return n * recursive(n - 1)


def mapped(xs: List[int]):
    return list(map(str, xs))


def plain_objects(x):
    return object()


def kwargs_call(x):
    return engine.sum(x, **{"dim": 0})


def bytes_(n: int):
    return b"abc"


def asks_autograd(x):
    x.retain_grad()
    return x


def seeds(x):
    engine.manual_seed(3)
    return engine.rand_like(x)


def promotes(x, y):
    return x.to(engine.promote_types(x.dtype, y.dtype))


NOT_SUPPORTED = [
    (asks_autograd, "Tensor.retain_grad isn't supported", "x.retain_grad", "call it outside"),
    (seeds, "engine.manual_seed() isn't supported", "engine.manual_seed(3)", "call it outside"),
    (
        promotes,
        "engine.promote_types() isn't supported",
        "engine.promote_types(x.dtype, y.dtype)",
        "pass what it gives as an argument",
    ),
    (lambdas, "Lambda aren't supported", "lambda y: y + 1", "define a function with `def`"),
    (generators, "Yield aren't supported", "yield x", "append to a list"),
    (
        inner_functions,
        "function definitions aren't supported",
        "def",
        "define the function outside",
    ),
    (classes, "class definitions aren't supported", "class", "define the class outside"),
    (tries, "try blocks aren't supported", "try", "test the condition with `if`"),
    (
        globals_,
        "global variables aren't supported",
        "global SOME_NUMBER",
        "take the value as an argument",
    ),
    (
        withs,
        "with statements aren't supported except for",
        'open("file")',
        "put `with` around the call",
    ),
    (for_else, "else branches of for loops aren't supported", "for", "set a flag before `break`"),
    (while_else, "else branches of while loops aren't supported", "while", "set a flag"),
    (
        star_args,
        "Compiled functions can't take variable number of arguments",
        "xs",
        "name every parameter",
    ),
    (
        star_kwargs,
        "Compiled functions can't take variable number of arguments",
        "options",
        "name every parameter",
    ),
    (starred_target, "Starred aren't supported", "*b", "take a slice"),
    (sets, "Set aren't supported", "{n, 2}", "use a list"),
    (walrus, "NamedExpr aren't supported", "m := n + 1", "assign in a separate statement"),
    (imports, "imports aren't supported", "import math", "import at the top of the file"),
    (matches, "match statements aren't supported", "m", "write if/elif/else"),
    (format_specs, "f-strings with a conversion or a computed format", "x", "{x:.2f}"),
    (bare_annotation, "annotations without a value aren't supported", "x: int", "assign a value"),
    (
        break_in_unrolled,
        "Because we emit iteration over modulelists or tuples",
        "break",
        "into an `if`",
    ),
    (recursive, "function 'recursive' is called recursively", "def", "write a loop"),
    (mapped, "Python's map() isn't supported", "map(str, xs)", "write a list"),
    (plain_objects, "Python's object() isn't supported", "object()", "NamedTuple"),
    (kwargs_call, "**kwargs in calls aren't supported", '{"dim": 0}', "name each"),
    (bytes_, "bytes aren't supported", 'b"abc"', "use a str"),
]


def branch_types(n: int):
    if n > 2:
        y = 1
    else:
        y = 2.0
    return y


def one_branch(n: int):
    if n > 2:
        y = 1
    return y


def loop_only(n: int):
    for i in range(n):
        y = i
    return y


def ternary_types(n: int):
    return 1 if n > 2 else 2.0


def changed_in_loop(x: int):
    for i in range(3):
        x = 1.5
    return x


def no_attribute(x):
    return x.foo()


def no_attribute_of_int(n: int):
    return n.real_part


def unknown_name(x):
    return undefined_function(x)


def no_such_function(x):
    return engine.no_such_function(x)


def no_overload(n: int):
    return n + "a"


def optional_operand(x: Optional[int]):
    return x + 1


def unpack_int(n: int):
    a, b = n
    return a


def unpack_count(t: Tuple[int, int]):
    a, b, c = t
    return a


def mixed_list(n: int):
    return [n, 2.5]


def not_all_paths(n: int) -> int:
    if n > 3:
        return 1


def return_types(n: int):
    if n > 3:
        return 1
    return 1.0


def return_declared(n: int) -> str:
    return n


def helper(x, n: int):
    return x * n


def wrong_argument(x):
    return helper(x, 1.5)


def missing_argument(x):
    return helper(x)


def unknown_keyword(x):
    return helper(x, 2, k=3)


def too_many(x):
    return helper(x, 2, 3)


def global_number(x):
    return x * SOME_NUMBER


def unknown_annotation(x: "Foo"):
    return x


def bare_list(x: list):
    return x


def tuple_index(t: Tuple[int, float], i: int):
    return t[i]


def tuple_range(t: Tuple[int, float]):
    return t[2]


def delete_unknown(n: int):
    del y


def after_delete(n: int):
    del n
    return n


def set_attribute(x):
    x.foo = 3


def truth_of_list(xs: List[int]):
    if xs:
        return 1
    return 0


def iterate_int(n: int):
    for i in n:
        pass


def index_with_float(x):
    return x[1.5]


def breaks_outside(n: int):
    def_value = n
    return helper


WRONG = [
    (
        branch_types,
        "Type mismatch: y is set to type int in the true branch and type float in the false branch",
        "y",
    ),
    (one_branch, "y is not defined in the false branch", "y"),
    (loop_only, "y is not defined here: it was first assigned in a loop", "y"),
    (
        ternary_types,
        "if-expression's true branch has type int but false branch has type float",
        "1 if n > 2 else 2.0",
    ),
    (
        changed_in_loop,
        "Variable 'x' previously had type int but is now being assigned to a value of type float",
        "x",
    ),
    (no_attribute, "'Tensor' object has no attribute or method 'foo'.", "x.foo"),
    (no_attribute_of_int, "'int' object has no attribute or method 'real_part'.", "n.real_part"),
    (unknown_name, "undefined value undefined_function", "undefined_function"),
    (
        no_such_function,
        "engine object has no attribute no_such_function",
        "engine.no_such_function",
    ),
    (no_overload, "Arguments for call are not valid.", 'n + "a"'),
    (optional_operand, "Arguments for call are not valid.", "x + 1"),
    (unpack_int, "int cannot be used as a tuple", "a, b"),
    (unpack_count, "need 3 values to unpack but found only 2", "a, b, c"),
    (mixed_list, "Lists must contain only a single type", "[n, 2.5]"),
    (
        not_all_paths,
        "Function was not annotated as having type None, but does not return along all paths",
        "def not_all_paths(n: int) -> int:",
    ),
    (
        return_types,
        "Previous return statement returned a value of type int but this return statement returns",
        "return 1.0",
    ),
    (
        return_declared,
        "Return value was annotated as having type str but is actually of type int",
        "return n",
    ),
    (
        wrong_argument,
        "helper(Tensor x, int n):\nExpected a value of type 'int' for argument 'n' but instead found type 'float'",
        "helper(x, 1.5)",
    ),
    (missing_argument, "helper(Tensor x, int n):\nArgument n not provided", "helper(x)"),
    (
        unknown_keyword,
        "helper(Tensor x, int n):\nUnknown keyword argument 'k'",
        "helper(x, 2, k=3)",
    ),
    (
        too_many,
        "helper(Tensor x, int n):\nExpected at most 2 argument(s) but found 3 positional argument(s)",
        "helper(x, 2, 3)",
    ),
    (global_number, "python value of type 'int' cannot be used as a value", "SOME_NUMBER"),
    (unknown_annotation, "Unknown type name 'Foo'", '"Foo"'),
    (bare_list, "list needs its element types", "list"),
    (tuple_index, "tuple index must be a compile time constant", "i"),
    (tuple_range, "Tuple index out of range: 2 of 2 elements", "t[2]"),
    (delete_unknown, "undefined value y", "y"),
    (after_delete, "undefined value n", "n"),
    (set_attribute, "Tried to set an attribute: foo on a non-class: Tensor", "x.foo"),
    (truth_of_list, "Could not cast value of type List[int] to bool", "xs"),
    (iterate_int, "'int' object is not iterable", "n"),
    (
        index_with_float,
        "Unsupported operation: indexing tensor with unsupported index type 'float'",
        "x[1.5]",
    ),
    (
        breaks_outside,
        "python value of type 'function' (helper) cannot be used as a value",
        "helper",
    ),
]
