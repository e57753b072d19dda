"""Random programs of `programs/random_flow.py` give what Python gives, and raise what it raises.

Only where Python stops at an index or a division may compiled code continue: as in PyTorch, unused
results are not computed.

UNDERHOOD_RANDOM_PROGRAMS sets how many are tried; UNDERHOOD_RANDOM_FIRST is the first seed.
"""

import importlib.util
import os

import pytest

from engine import jit
from tests.engine.jit.programs.random_flow import Writer

COUNT = int(os.environ.get("UNDERHOOD_RANDOM_PROGRAMS", "200"))
FIRST = int(os.environ.get("UNDERHOOD_RANDOM_FIRST", "0"))
PER_FILE = 20
ARGUMENTS = [
    (0, 0, 0, 0.0, False, ""),
    (1, 2, 3, 1.5, True, "ab"),
    (5, -4, 2, -2.25, False, "xaxb"),
    (-3, 8, 1, 4.0, True, "b"),
]


def functions(seeds, folder):
    """A function for each seed, all of one file."""
    text = [
        line for seed in seeds for line in [*Writer(seed, f"program_{seed}").lines_of(), "", ""]
    ]
    path = folder / f"programs_{seeds[0]}.py"
    path.write_text("\n".join(text))
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return [getattr(module, f"program_{seed}") for seed in seeds]


def outcome(fn, args):
    """Return a call's result as text (-0.0 and True are not 0.0 and 1), or the error that it raised."""
    try:
        return repr(fn(*args)), None
    except Exception as error:
        return None, error


@pytest.mark.parametrize("first", range(FIRST, FIRST + COUNT, PER_FILE))
def test_scripted_equals_python(first, tmp_path):
    for fn in functions(range(first, first + PER_FILE), tmp_path):
        scripted = jit.script(fn)
        for args in ARGUMENTS:
            expected, error = outcome(fn, args)
            actual, other = outcome(scripted, args)
            if isinstance(error, (IndexError, ZeroDivisionError)):
                continue
            assert actual == expected, f"{fn.__name__}{args}: {other or error}"
            assert str(error or "") in str(other), f"{fn.__name__}{args}"
