"""Messages name the function that was called, never a private one that it calls."""

from __future__ import annotations

import re
import warnings
from typing import Any

import pytest

import engine

PRIVATE = re.compile(r"(?<![\w.])_[a-z]\w+")
SETTINGS = re.compile("set_|use_|imported_as|seed|manual_seed|save|load|compile|inference_mode")
WRONG: tuple[tuple[Any, ...], ...] = (("x",), (), (object(),), (1, 2, "x", 4))
HOMES = (engine, engine.linalg, engine.fft, engine.special, engine.nn.functional, engine.Tensor)


@pytest.mark.parametrize("home", HOMES, ids=lambda home: home.__name__)
def test_no_message_names_a_private_function(home: Any) -> None:
    x = engine.ones(2, 2)
    offences, calls = [], 0
    for name in dir(home):
        function = getattr(home, name, None)
        if (
            name.startswith("_")
            or SETTINGS.match(name)
            or not callable(function)
            or isinstance(function, type)
        ):
            continue
        for arguments in WRONG:
            arguments = (x, *arguments) if home is engine.Tensor else arguments
            calls += 1
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    function(*arguments)
            except Exception as error:
                if PRIVATE.search(str(error)):
                    offences.append(f"{name}: {str(error)[:100]}")
    assert calls > 100 or home in (engine.fft, engine.special, engine.linalg)
    assert not offences, "\n".join(offences)
