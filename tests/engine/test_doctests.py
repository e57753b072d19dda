"""The examples in docstrings are true."""

import doctest
import importlib
import pkgutil

import pytest

import engine

MODULES = [
    f"engine.{module.name}" for module in pkgutil.iter_modules(engine.__path__) if not module.ispkg
]
MODULES += ["engine.nn.functional.linear_cross_entropy", "engine.signal.windows"]


@pytest.mark.parametrize("name", MODULES)
def test_examples(name):
    module = importlib.import_module(name)
    failed, _ = doctest.testmod(module, extraglobs={"engine": engine})
    assert failed == 0


FAMILIES = sorted({*importlib.import_module("engine._generated.ops").HOMES.values()})


@pytest.mark.parametrize("family", FAMILIES)
def test_examples_of_operators(family):
    module = importlib.import_module(f"engine._generated.families.{family}")
    failed, _ = doctest.testmod(module, extraglobs={"engine": engine})
    assert failed == 0
