"""Gradients of every operator of the table against finite differences, and their own gradients too.

Samples hold eighths, which hit kinks and ties: they are moved a little, and where a function is not
there (the logarithm of -1), into an interval where it is.
"""

from __future__ import annotations

import functools
import importlib
import itertools
import sys
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from table import COMPLEX, Array, Row, Sample, rows
from tools import convert, parts

import engine

CODEGEN = Path(__file__).resolve().parents[2] / "csrc" / "codegen"
MAX_ELEMENTS = 48  # elements of all inputs: differences cost two calls for each
SAMPLES = 2  # of a row, the smallest ones
CASES = [
    pytest.param(row, dtype, id=f"{row.name}-{dtype}")
    for row in rows()
    for dtype in ("float64", "complex128")
    if dtype in row.dtypes
]

# What differences cannot judge, with the reason.
SKIPPED = {
    "linalg.eig": "its vectors have any phase, and a loss that depends on it has no gradient",
    "nn.functional.ctc_loss": "its gradient is that of log-probabilities that add up to 1",
    "ctc_loss": "its gradient is that of log-probabilities that add up to 1",
    "ops.aten.nll_loss_backward": "the weight is a constant of the loss",
    "ops.aten.nll_loss2d_backward": "the weight is a constant of the loss",
    **dict.fromkeys(
        (f"ops.aten.native_{kind}_norm_backward" for kind in ("layer", "batch", "group")),
        "the statistics that are saved are functions of the input",
    ),
}
# No derivative in PyTorch either, at all or by some input: backward raises.
RAISES = {
    "floor_divide", "heaviside", "igamma", "igammac", "special.gammainc", "special.gammaincc",
    "special.zeta", "bincount", "unique", "_unique2", "unique_consecutive", "unique_dim", "geqrf",
    "linalg.ldl_factor", "linalg.ldl_factor_ex", "linalg_ldl_factor_ex", "linalg_ldl_solve",
    "detach_copy", "scatter", "scatter_", "_cdist_backward", "_pdist_backward", "multilabel_margin_loss_backward",
    "ops.aten.multilabel_margin_loss_backward",
    "_ctc_loss_backward", "_fused_lstm_cell_backward", "_fused_gru_cell_backward",
    "_scaled_dot_product_flash_attention_for_cpu_backward", "sparse_resize_", "sparse_resize_and_clear_",
}  # fmt: skip
# Whose gradients have none.
ONCE = {"cdist", "pdist", "nn.functional.pdist", "nn.functional.multilabel_margin_loss"}
# Only one triangle of this argument is read, and its gradient is returned as if it were symmetric.
SYMMETRIC = {
    "cholesky", "linalg.cholesky", "linalg.cholesky_ex", "linalg.eigvalsh", "linalg.eigh",
}  # fmt: skip
TRIANGULAR = {"cholesky_solve": 1, "cholesky_inverse": 0}
# Buffers that are written: no gradient.
BUFFERS = {"batch_norm": (3, 4), "nn.functional.batch_norm": (1, 2)}
# Still without any: this list only gets shorter.
UNFINISHED = {"embedding_renorm_", "one_hot", "bernoulli", "histogram", "set_"}


def moved(values: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Off kinks and ties, never farther from 0; zeros become small positive numbers."""
    by = rng.uniform(0.002, 0.03, values.shape)
    turned = np.exp(1j * by) if np.iscomplexobj(values) else 1  # off branch cuts
    return np.where(values == 0, by, values * (1 - by)) * turned


def positive(values: np.ndarray) -> np.ndarray:
    """Into (0.1, 0.9), in the same order."""
    return 0.5 + 0.4 * values / (1 + np.abs(values))


PLACES: list[Callable[[np.ndarray], np.ndarray]] = [
    lambda v: v,
    positive,
    lambda v: 1 + positive(v),
]


def inputs_of(
    row: Row, sample: Sample, dtype: str, move: Callable[[np.ndarray], np.ndarray]
) -> tuple[list[Any], list[Any]]:
    """Return the arguments with arrays of `dtype` as leaves, and the leaves."""
    rng = np.random.default_rng(zlib.crc32(sample.name.encode()))
    leaves: list[Any] = []

    def make(a: Array) -> Any:
        if a.dtype != dtype:
            return engine.tensor(a.values)
        leaf = engine.tensor(moved(move(a.values), rng)).requires_grad_()
        leaves.append(leaf)
        return leaf

    args = [convert(arg, make) for arg in sample.args]
    for buffer in BUFFERS.get(row.name, ()):
        leaves = [leaf for leaf in leaves if leaf is not args[buffer]]
        args[buffer] = args[buffer].detach() if args[buffer] is not None else None
    return args, leaves


def called(row: Row, args: list[Any], kwargs: dict[str, Any]) -> list[Any]:
    """Return the operator's results; matrices of which it reads one half are completed first."""
    args = list(args)
    if row.name in SYMMETRIC:
        args[0] = (args[0] + args[0].mH) / 2
    if row.name in TRIANGULAR:
        at = TRIANGULAR[row.name]
        args[at] = args[at].triu() if kwargs.get("upper") else args[at].tril()
    if row.name in BUFFERS:
        args = [
            a.clone() if i in BUFFERS[row.name] and a is not None else a for i, a in enumerate(args)
        ]
    return parts(row.call(engine, *args, **kwargs))


def small_samples(row: Row, dtype: str) -> Iterator[Sample]:
    def size(sample: Sample) -> int:
        _, leaves = inputs_of(row, sample, dtype, PLACES[0])
        return sum(leaf.numel() for leaf in leaves)

    sized = [(size(sample), i, sample) for i, sample in enumerate(row.samples(dtype))]
    selected = sorted(item[:2] for item in sized if 0 < item[0] <= MAX_ELEMENTS)
    for _, i in itertools.islice(selected, SAMPLES):
        yield sized[i][2]


def replaced(args: Any, leaves: list[Any], values: tuple[Any, ...]) -> Any:
    """Return the arguments with other tensors in the leaves' places."""
    for leaf, value in zip(leaves, values, strict=True):
        if args is leaf:
            return value
    return [replaced(a, leaves, values) for a in args] if isinstance(args, list) else args


def case(row: Row, sample: Sample, dtype: str) -> tuple[Callable[..., Any], tuple[Any, ...]] | None:
    """Return the operator as a function of its differentiable inputs; None if no result depends on them."""
    for item in PLACES if dtype not in COMPLEX else PLACES[:1]:
        args, leaves = inputs_of(row, sample, dtype, item)
        try:
            results = called(row, args, sample.kwargs)
        except (RuntimeError, ValueError, IndexError):
            continue  # a value that the operator refuses
        tensors = [isinstance(t, engine.Tensor) and t.requires_grad for t in results]
        if not any(tensors):
            return None
        saved = [t for t, is_one in zip(results, tensors, strict=True) if is_one]
        if all(
            bool(engine.isfinite(engine.view_as_real(t) if t.is_complex() else t).all())
            for t in saved
        ):
            break
    else:
        return None

    def function(*values: Any) -> Any:
        result = called(row, replaced(args, leaves, values), sample.kwargs)
        return tuple(t for t, is_one in zip(result, tensors, strict=True) if is_one)

    return function, tuple(leaves)


def checked(function: Callable[..., Any], leaves: tuple[Any, ...], twice: bool) -> None:
    """Raises: GradcheckError for a gradient, or (`twice`) a second derivative that is wrong."""
    engine.autograd.gradcheck(function, leaves, check_undefined_grad=False)
    if twice:
        engine.autograd.gradgradcheck(function, leaves, check_undefined_grad=False)


@pytest.mark.parametrize(("row", "dtype"), CASES)
def test_gradients_are_those_of_differences(row: Row, dtype: str) -> None:
    if row.name in SKIPPED:
        pytest.skip(SKIPPED[row.name])
    engine.manual_seed(0)
    for sample in small_samples(row, dtype):
        actual = case(row, sample, dtype)
        if actual is None:
            continue
        function, leaves = actual
        if row.name not in RAISES or (row.name == "scatter" and "reduce" not in sample.kwargs):
            checked(function, leaves, twice=row.name not in ONCE)
            continue
        with pytest.raises((RuntimeError, NotImplementedError), match="is not implemented"):
            sum(t.sum() for t in function(*leaves)).backward()
        total = sum(t.sum() for t in function(*leaves))
        with pytest.raises((RuntimeError, NotImplementedError), match="is not implemented"):
            engine.autograd.grad(total, leaves, allow_unused=True)
        if len(leaves) == 2:  # by the other input there may be one
            try:
                checked(functools.partial(function, leaves[0].detach()), leaves[1:], twice=False)
            except (RuntimeError, NotImplementedError) as error:
                if "is not implemented" not in str(error):
                    raise


def test_every_operator_has_a_gradient_or_says_that_it_has_none() -> None:
    pytest.importorskip("yaml", reason="PyYAML reads the declarations")
    sys.path.insert(0, str(CODEGEN))
    try:
        load = importlib.import_module("model").load
    finally:
        sys.path.remove(str(CODEGEN))
    without = set()
    for op in load(CODEGEN.parent / "ops"):
        inputs = op.gradient or op.no_gradient or op.decompose or op.composite
        used = any("Tensor" in a.type or a.type == "Operand" for a in op.arguments)
        result = op.written or any("Tensor" in r.type for r in op.results)
        written_out = any(a.written and a.keyword_only for a in op.arguments)
        if not inputs and used and result and not op.base and not written_out:
            without.add(op.full_name)
    names = {name.partition(".")[0] for name in without}
    assert names - RAISES - UNFINISHED == set()
    assert names >= UNFINISHED, f"finished: {sorted(UNFINISHED - names)}"
