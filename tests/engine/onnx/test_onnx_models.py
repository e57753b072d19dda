"""Every layer of `engine.nn`, operators, scripted programs and the gallery's networks, run in onnxruntime."""

from __future__ import annotations

import contextlib
import io
import warnings
from typing import Any

import pytest

import engine
from engine import nn
from tests.engine.onnx.layer_cases import ABSENT, CASES, NOT_LAYERS, Case
from tests.engine.onnx.onnx_models import assert_exports
from tests.engine.onnx.program_cases import PROGRAMS


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_layer(case: Case) -> None:
    assert_exports(case)


@pytest.mark.parametrize("case", PROGRAMS, ids=lambda case: case.name)
def test_program(case: Case) -> None:
    assert_exports(case)


def test_every_layer_has_a_case_or_a_reason() -> None:
    layers = {name for name in dir(nn) if isinstance(getattr(nn, name), type)} - NOT_LAYERS
    layers = {name for name in layers if not name.startswith("Lazy")}
    covered = {name for case in CASES for name in case.layers}
    assert layers - covered == set(ABSENT)
    assert not covered & set(ABSENT)


_ABSENT_CALLS: dict[str, tuple[Any, ...]] = {
    "CTCLoss": (
        nn.CTCLoss,
        engine.randn(5, 2, 4).log_softmax(2),
        engine.ones(2, 3).long(),
        engine.tensor([5, 5]),
        engine.tensor([3, 3]),
    ),
    "MaxUnpool2d": (
        lambda: nn.MaxUnpool2d(2),
        *nn.functional.max_pool2d(engine.randn(1, 2, 4, 4), 2, return_indices=True),
    ),
    "MultiLabelMarginLoss": (
        nn.MultiLabelMarginLoss,
        engine.randn(2, 3),
        engine.tensor([[0, 1, -1], [2, -1, -1]]),
    ),
}


@pytest.mark.parametrize("name", sorted(_ABSENT_CALLS))
def test_layer_without_a_form_is_refused_with_its_line(name: str) -> None:
    build, *inputs = _ABSENT_CALLS[name]
    with pytest.raises(engine.onnx.OnnxExporterError, match=r"aten::\w+.*\.py:\d+"):
        engine.onnx.export(build(), tuple(inputs))


# The gallery's networks


def _gallery(name: str) -> Any:
    import importlib

    with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
        warnings.simplefilter("ignore")
        return importlib.import_module(f"lessons.gallery.{name}")


def _letters(module: Any, rows: int, length: int) -> engine.Tensor:
    return engine.randint(0, len(module.LETTERS), (rows, length))


_GALLERY = {
    "lenet": lambda m: (m.network(nn), lambda n: (engine.randn(2 + n, 1, 20, 20),)),
    "mlp_on_iris": lambda m: (m.network(nn), lambda n: (engine.randn(3 + 4 * n, 4),)),
    "traced_mlp": lambda m: (m.traced, lambda n: (engine.randn(2 + 3 * n, 4),)),
    "char_transformer": lambda m: (m.network(nn), lambda n: (_letters(m, 2 + n, 5 + 6 * n),)),
    "scripted_rnn": lambda m: (m.compiled, lambda n: (m.rows[: 4 - 3 * n],)),
}


@pytest.mark.parametrize("name", _GALLERY)
def test_network_of_the_gallery(name: str) -> None:
    model, inputs = _GALLERY[name](_gallery(name))
    assert_exports(Case(name, lambda: model, inputs))
