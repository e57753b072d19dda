"""`jit.script` rejects a program with a RuntimeError of the engine's classes, whatever the mistake is."""

import linecache

import pytest

import engine
from engine import jit, nn
from engine.jit.frontend import CompileError, NotSupportedError


def defined(text):
    name = f"<wrong {abs(hash(text))}>"
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    space = {"engine": engine, "nn": nn, "__name__": "wrong"}
    exec(compile(text, name, "exec"), space)
    return space["f"]


MISTAKES = [
    ("def f(x):\n    return y\n", "undefined value y"),
    ("def f(x):\n    return x.foo()\n", "foo"),
    ("def f(x):\n    return 99999999999999999999\n", "Integral constant out of range"),
    ("def f(x):\n    return x + -9223372036854775809\n", "Integral constant out of range"),
    ("N = 2 ** 70\ndef f(x):\n    return x + N\n", "closed over global variable"),
    ("def f(x: int = 'a'):\n    return x\n", 'Expected a default value of type int on parameter "x"'),
    ("def f(x: str = 3):\n    return x\n", 'Expected a default value of type str on parameter "x"'),
    ("def f(x=[]):\n    return x\n", "Mutable default parameters are not supported"),
    ("async def f(x):\n    return x\n", "is not a `def`"),
    ("f = lambda x: x\n", "a lambda cannot be compiled"),
    ("class f(nn.Module):\n    pass\n", "inherits from nn.Module, pass an instance instead"),
    ("class f(int):\n    pass\n", "classes that inherit"),
    ("def f(x):\n    try:\n        return x\n    except ValueError:\n        return x\n", "try blocks"),
    ("def f(*args):\n    return 1\n", "variable number of arguments"),
    ("def f(x: 'nothing'):\n    return x\n", "Unknown type name"),
    ("def f(x):\n    return f(x)\n", "called recursively"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "message"), MISTAKES, ids=range(len(MISTAKES)))
def test_a_mistake_is_a_runtime_error(text, message):
    with pytest.raises(RuntimeError, match=message.replace("(", r"\(")) as caught:
        jit.script(defined(text))
    assert isinstance(caught.value, CompileError)
    assert issubclass(NotSupportedError, CompileError)


@pytest.mark.parametrize(
    "text", ["def f(x):\n  return (", "x = 1", "def f(x):\n    return y", "a\0b"]
)
def test_a_unit_that_is_wrong_is_a_runtime_error(text):
    with pytest.raises(RuntimeError) as caught:
        jit.CompilationUnit(text)
    assert isinstance(caught.value, CompileError)


def test_the_largest_and_the_least_integer_are_constants():
    fn = defined("def f(x: int):\n    return [x, 9223372036854775807, -9223372036854775808]\n")
    assert jit.script(fn)(1) == [1, 2**63 - 1, -(2**63)]


def test_what_is_neither_function_nor_module_is_a_type_error():
    for obj in (3, "f", None):
        with pytest.raises(TypeError, match="expected a function"):
            jit.script(obj)
