"""Errors for unsupported Python: the reason, the line, carets under it, a hint."""

import inspect
import re

import pytest

from engine import jit
from engine.jit.frontend import CompileError, NotSupportedError
from tests.engine.jit.programs import unsupported


def under_carets(message):
    """The text that the (first) carets stand under."""
    lines = message.splitlines()
    at = next(i for i, line in enumerate(lines) if "<--- HERE" in line)
    marks = re.search("~+", lines[at])
    return lines[at - 1][marks.start() : marks.end()]


def line_number(message):
    return int(re.search(r'File ".*unsupported\.py", line (\d+)', message)[1])


@pytest.mark.parametrize(
    ("fn", "begins", "text", "hint"),
    unsupported.NOT_SUPPORTED,
    ids=lambda x: getattr(x, "__name__", ""),
)
def test_not_supported(fn, begins, text, hint):
    with pytest.raises(NotSupportedError) as caught:
        jit.script(fn)
    message = str(caught.value)
    assert message.strip().startswith(begins), message
    assert under_carets(message) == text, message
    assert hint in message, message
    assert "Hint: " in message
    lines, first = inspect.getsourcelines(fn)
    assert first <= line_number(message) < first + len(lines)


@pytest.mark.parametrize(
    ("fn", "begins", "text"), unsupported.WRONG, ids=lambda x: getattr(x, "__name__", "")
)
def test_wrong(fn, begins, text):
    with pytest.raises(CompileError) as caught:
        jit.script(fn)
    message = str(caught.value)
    assert message.strip().startswith(begins), message
    assert under_carets(message) == text, message
    assert isinstance(caught.value, RuntimeError)
    assert not isinstance(caught.value, NotSupportedError)


def test_a_call_that_led_there_is_named():
    with pytest.raises(CompileError) as caught:
        jit.script(calls_branch_types)
    message = str(caught.value)
    assert (
        "'branch_types' is being compiled since it was called from 'calls_branch_types'" in message
    )
    assert message.count("<--- HERE") == 2


def calls_branch_types(n: int):
    return unsupported.branch_types(n)


def test_a_lambda_has_no_source():
    with pytest.raises(RuntimeError, match="a lambda cannot be compiled; write it as a `def`"):
        jit.script(lambda x: x)


def test_a_function_without_file():
    names = {}
    exec("def f(x):\n    return x", names)
    with pytest.raises(RuntimeError, match="the source of f cannot be read"):
        jit.script(names["f"])
