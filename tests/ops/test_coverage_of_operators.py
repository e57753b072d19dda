"""Every operator is explained in its yaml entry, and a row of the table (or a named test) tries it."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache
from pathlib import Path

import yaml
from table import rows

import engine
from engine._generated.declarations import ENTRIES, OPERATORS

TESTS = Path(__file__).parents[1]
WORDS = 2  # what a sentence has at least

# Operators that are public under another name: the row that tries them.
UNDER = {
    "cross_entropy_loss": "nn.functional.cross_entropy",
    **dict.fromkeys(("nll_loss", "nll_loss2d", "nll_loss_nd"), "nn.functional.nll_loss"),
    **dict.fromkeys(("nll_loss_forward", "nll_loss2d_forward"), "nn.functional.nll_loss"),
    "multilabel_margin_loss_forward": "nn.functional.multilabel_margin_loss",
    "log_sigmoid": "nn.functional.logsigmoid",
    "im2col": "nn.functional.unfold",
    "col2im": "nn.functional.fold",
    "affine_grid_generator": "nn.functional.affine_grid",
    **dict.fromkeys(("grid_sampler", "grid_sampler_2d", "grid_sampler_3d"), "nn.functional.grid_sample"),
    **dict.fromkeys(
        ("upsample_bicubic2d", "upsample_bilinear2d", "upsample_linear1d", "upsample_nearest1d",
         "upsample_nearest2d", "upsample_nearest3d", "upsample_trilinear3d"),
        "nn.functional.interpolate"),
    "real_view": "real",
    "imag_view": "imag",
    "unique_dim": "unique",
}  # fmt: skip

# Operators that no row can hold: the test file that tries them.
ELSEWHERE: dict[str, tuple[str, ...]] = {
    # Draws have no expected value, but a distribution.
    "ops/test_random.py": ("rand", "randn", "randint", "randperm", "uniform_", "normal_"),
    "ops/test_distributions.py": (
        "bernoulli", "bernoulli_", "multinomial", "normal", "exponential_", "geometric_", "cauchy_",
        "log_normal_", "poisson", "random_", "rand_like", "randn_like", "randint_like",
        "native_dropout", "dropout", "dropout_", "feature_dropout", "alpha_dropout",
        "feature_alpha_dropout"),
    # Without arguments that a meta tensor or another layout could replace.
    "ops/test_factories.py": ("arange", "eye", "full", "linspace", "ones", "zeros", "empty_like",
                           "empty_permuted", "new_empty_strided"),
    "engine/test_creation.py": ("empty",),
    # Python values come out, or the description of a tensor is written.
    "ops/test_small_operators.py": (
        "equal", "allclose", "numpy_T", "alias", "new_zeros", "new_ones", "new_empty", "new_full",
        "scalar_tensor", "empty_strided", "as_strided", "as_strided_", "slice", "set_", "view",
        "meshgrid", "fill", "index_put"),
    "engine/test_tensor.py": ("resize_",),
    # They write into their first argument whatever it holds.
    "ops/test_writes.py": ("copy_", "fill_", "zero_"),
    # x[...] and x[...] = y.
    "engine/test_indexing.py": ("index", "index_put_"),
    # Sparse tensors, which no row has.
    "engine/sparse/test_sparse_tensors.py": (
        "indices", "sparse_values", "crow_indices", "col_indices", "sparse_mask", "sparse_resize_",
        "sparse_resize_and_clear_"),
    "engine/sparse/test_sparse_gradients.py": ("sparse_sampled_addmm",),
    # Results of two dtypes, or determined up to signs only.
    "ops/test_frexp.py": ("frexp",),
    "ops/test_lapack.py": ("linalg_lstsq", "linalg_ldl_solve"),
    # Tensors by keyword only; and what must be the result of another operator.
    "ops/test_segments.py": ("segment_reduce",),
    "ops/test_short_time.py": ("istft",),
}  # fmt: skip


@cache
def tried() -> frozenset[str]:
    """Return the operators that rows and ELSEWHERE name, as the dispatcher calls them."""
    names = {row.name.removeprefix("nn.functional.").replace(".", "_") for row in rows()}
    names |= {row.name.rpartition(".")[2] for row in rows()}
    return frozenset(names.union(UNDER, *ELSEWHERE.values()))


def forms(name: str) -> Iterable[str]:
    """Yield the operator itself, and the one that it is the in-place form of."""
    yield name
    if name.endswith("_") and not name.endswith("__"):
        yield name[:-1]


def public() -> list[str]:
    """Names of the registered operators that are not the machinery of others."""
    return sorted({s.name for s in engine.ops.schemas().values() if not s.name.startswith("_")})


def test_every_operator_has_a_row() -> None:
    missing = [name for name in public() if not tried().intersection(forms(name))]
    assert not missing, (
        f"{len(missing)} operators have no row in tests/ops/rows_*.py: {' '.join(missing)}"
    )


def test_every_entry_is_explained() -> None:
    silent = []
    for (family, line), text in ENTRIES.items():
        entry = yaml.safe_load(text)[0]
        name = entry["schema"].partition("(")[0]
        sentence = (entry.get("doc") or "").strip().partition("\n\n")[0]
        if len(sentence.split()) < WORDS:
            silent.append(f"{name} ({family}.yaml:{line})")
    assert not silent, (
        f"{len(silent)} entries say what they do in less than {WORDS} words: {silent}"
    )


def test_every_operator_has_an_entry() -> None:
    registered = {schema.full_name for schema in engine.ops.schemas().values()}
    assert registered == set(OPERATORS), registered ^ set(OPERATORS)


def test_what_is_tried_under_another_name_is_tried() -> None:
    names, known = {row.name for row in rows()}, set(public())
    assert not set(UNDER.values()) - names, f"there is no row {set(UNDER.values()) - names}"
    assert not set(UNDER) - known, f"the engine does not have {set(UNDER) - known}"


def test_what_is_tried_elsewhere_is_there() -> None:
    known = {s.name for s in engine.ops.schemas().values()}
    for file, names in ELSEWHERE.items():
        text = (TESTS / file).read_text()
        freed = [name for name in names if name not in known]
        assert not freed, f"{file} is said to test {freed}, which the engine does not have"
        terms = [name.removeprefix("linalg_").removeprefix("numpy_") for name in names]
        silent = [name for name in terms if name not in text]
        assert not silent or file == "engine/test_indexing.py", f"{file} does not name {silent}"


def test_every_sample_that_pytorch_publishes_was_measured_and_passes() -> None:
    page = (TESTS.parent / "csrc" / "ops" / "COVERAGE.md").read_text()
    assert "**Complete**: every operator, dtype, error input and gradient" in " ".join(page.split())
    assert "\n## Differences\n\nNone.\n" in page
    measured = re.findall(r"^\| `(\S+)` \|(.*)\|$", page, re.MULTILINE)
    assert [name for name, cells in measured if "**" in cells or " - " in cells] == []
    for cell in re.findall(r"(\d+)/(\d+)", "".join(cells for _, cells in measured)):
        assert cell[0] == cell[1]
    families = {name.partition(".")[0] for name, _ in measured}
    assert {"lu", "svd_lowrank", "pca_lowrank", "hash_tensor", "signal", "masked"} <= families
    seconds = re.search(r"the slowest call: (\S+) s of CPU", page)
    assert seconds is not None
    assert float(seconds[1]) < 10
