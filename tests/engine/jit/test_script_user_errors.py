"""Errors for common mistakes: each has a reason, a place and a hint."""

import inspect
import re

import pytest

from engine import jit
from tests.engine.jit.programs import class_user_errors, user_errors

MISTAKES = [*user_errors.MISTAKES, *class_user_errors.MISTAKES]


@pytest.mark.parametrize(
    ("fn", "expected_reason", "hint"), MISTAKES, ids=lambda x: getattr(x, "__name__", "")
)
def test_the_message_helps(fn, expected_reason, hint):
    with pytest.raises(RuntimeError) as caught:
        jit.script(fn)
    message = str(caught.value)
    reason, _, remainder = message.partition('  File "')
    assert expected_reason in reason, message
    assert "<--- HERE" in remainder, message
    assert hint in remainder, message
    first = inspect.getsourcelines(fn)[1]
    line = int(re.search(r", line (\d+)", message)[1])
    assert first <= line < first + len(inspect.getsourcelines(fn)[0])
