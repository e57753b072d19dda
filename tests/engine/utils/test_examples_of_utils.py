"""The examples in the docstrings of saving, data, checkpoint, gradcheck and functional are true."""

import doctest
import importlib
import pkgutil
import sys

import pytest

import engine
import engine.utils.data

MODULES = [
    "engine.autograd.functional",
    "engine.autograd.gradcheck",
    "engine.serialization",
    "engine.utils.checkpoint",
    *(
        f"engine.utils.data.{module.name}"
        for module in pkgutil.iter_modules(engine.utils.data.__path__)
    ),
]


@pytest.mark.parametrize("name", MODULES)
def test_examples(name):
    importlib.import_module(name)
    failed, _ = doctest.testmod(sys.modules[name], extraglobs={"engine": engine})
    assert failed == 0
