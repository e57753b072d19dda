"""Compiled code reads and writes numbers as Python does, in every locale."""

import math
import os
import random
import shutil
import struct
import subprocess
import sys

import pytest

from engine import jit

# Run in another process, whose locale has a decimal comma.
_PROGRAM = """
import locale, sys
locale.setlocale(locale.LC_ALL, sys.argv[1])
assert locale.localeconv()["decimal_point"] == ",", locale.localeconv()

import engine
from engine import jit
from tests.engine.jit.test_locale import halved, read, written

graph = jit.script(halved)

assert jit.script(written)(1234.5678, 2) == written(1234.5678, 2), jit.script(written)(1234.5678, 2)
assert jit.script(read)("1234.5") == 1234.5
assert jit.script(read)(" 1_0.25e3 ") == 10250.0
assert jit.script(read)("1e999") == float("inf")
assert engine.equal(graph(engine.ones(2), 0.25), engine.ones(2) * 0.75)
assert "0.5" in str(graph.graph), graph.graph
jit.save(graph, sys.argv[2])
assert engine.equal(jit.load(sys.argv[2])(engine.ones(2), 0.25), engine.ones(2) * 0.75)
"""


def written(x: float, n: int):
    strings = [
        f"{x}",
        f"{x:.3f}",
        f"{x:e}",
        f"{x:g}",
        "%.2f" % x,  # noqa: UP031
        str(x),
        f"{x:,.1f}",
        str(round(x, n)),
    ]
    return strings


def halved(x, y: float):
    return x * 0.5 + y


def read(text: str):
    return float(text)


def comma_locale(folder):
    """A locale with a decimal comma that is installed, or one that is made; None."""
    current = subprocess.run(["locale", "-a"], capture_output=True, text=True).stdout.split()
    for name in current:
        if name.lower().startswith(("de_de", "fr_fr", "ru_ru", "es_es")):
            return name, {}
    if shutil.which("localedef"):
        result = folder / "de_DE.UTF-8"
        command = ["localedef", "-i", "de_DE", "-f", "UTF-8", str(result)]
        subprocess.run(command, capture_output=True, check=False)
        if result.exists():
            return result.name, {"LOCPATH": str(folder)}
    return None


@pytest.mark.skipif(not shutil.which("locale"), reason="there is no `locale` to ask")
def test_a_decimal_comma_changes_nothing(tmp_path):
    actual = comma_locale(tmp_path)
    if actual is None:
        pytest.skip("no locale with a decimal comma is installed, and none can be made")
    name, environment = actual
    root = os.path.abspath(os.path.join(os.path.dirname(__file__), *[".."] * 3))
    run = subprocess.run(
        [sys.executable, "-c", _PROGRAM, name, str(tmp_path / "m.st")],
        env={**os.environ, **environment, "PYTHONPATH": root},
        capture_output=True,
        text=True,
        cwd=root,
    )
    assert run.returncode == 0, run.stderr


def floats(seed, count):
    """Numbers of all sizes, short and long."""
    source = random.Random(seed)
    for _ in range(count):
        kind = source.random()
        if kind < 0.4:
            bits = source.getrandbits(64)
            value = struct.unpack("d", struct.pack("Q", bits))[0]
        elif kind < 0.7:
            value = source.uniform(-1, 1) * 10.0 ** source.randint(-9, 9)
        else:
            value = source.randint(-10000, 10000) / source.choice([1, 2, 4, 8, 1000])
        if math.isfinite(value):
            yield value


def every_form(x: float):
    return [
        f"{x:f}",
        f"{x:.0f}",
        f"{x:.17e}",
        f"{x:E}",
        f"{x:g}",
        f"{x:.3G}",
        f"{x:#.4g}",
        f"{x:#.0f}",
        f"{x:.1%}",
        f"{x:+.2f}",
        str(x),
    ]


def rounded(x: float, digits: int):
    return round(x, digits)


def test_numbers_are_written_as_python_writes_them():
    forms, to_digits = jit.script(every_form), jit.script(rounded)
    for x in floats(1, 400):
        assert forms(x) == every_form(x)
        for digits in (0, 1, 2, 5):
            assert to_digits(x, digits) == round(x, digits)


@pytest.mark.parametrize(
    "text",
    [
        *("1e999", "-1e999", "1e-999", "-1e-999", "0.000001e-330", "1" + "0" * 400),
        *("1" * 400 + "e-399", "0." + "0" * 400 + "1", "-" + "9" * 310, "1e99999999999999999999"),
        *("1e-99999999999999999999", "0e99999999999999999999", "  2.5e-1 ", "+7", "inf", "-nan"),
        "1_000.5",
    ],
)
def test_numbers_are_read_as_python_reads_them(text):
    scripted, expected = jit.script(read)(text), float(text)
    assert math.copysign(1, scripted) == math.copysign(1, expected) or math.isnan(expected)
    assert scripted == expected or (math.isnan(scripted) and math.isnan(expected))
