"""What people write at first is answered with a reason, a place and a way out."""

import inspect
import re

import pytest

from engine import jit
from tests.engine.jit.programs import mistakes, mistakes_of_classes

MISTAKES = [*mistakes.MISTAKES, *mistakes_of_classes.MISTAKES]


@pytest.mark.parametrize(
    ("fn", "says", "instead"), MISTAKES, ids=lambda x: getattr(x, "__name__", "")
)
def test_the_message_helps(fn, says, instead):
    with pytest.raises(RuntimeError) as caught:
        jit.script(fn)
    message = str(caught.value)
    reason, _, rest = message.partition('  File "')
    assert says in reason, message
    assert "<--- HERE" in rest, message
    assert instead in rest, message
    first = inspect.getsourcelines(fn)[1]
    line = int(re.search(r", line (\d+)", message)[1])
    assert first <= line < first + len(inspect.getsourcelines(fn)[0])
