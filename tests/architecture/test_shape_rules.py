"""Shape rules stand apart from kernels (yaml key `structured`); the exceptions, each with its reason."""

from __future__ import annotations

from collections import Counter

from tests.architecture.test_files import declarations

UNSTRUCTURED = {
    # No element is computed, so there is nothing for a device to do.
    "view": 24,
    "complex": 5,  # four views, and conj_physical_, which negates a view in place
    # The size of a result depends on the values of elements.
    "sparse": 25,
    "masked": 3,
    "unique": 3,
    "index": 1,  # index: a mask says how many elements there are
    "arrange": 2,  # repeat_interleave; block_diag copies into slices of its result
    "embedding": 2,  # one_hot; embedding_bag
    "search": 1,  # bincount
    "decompose": 1,  # linalg_lstsq: residuals only for a full rank
    "matrix_function": 1,  # matrix_exp: the number of squarings
    # Every device has its own kernels (`kernels`), and the CPU's only save passes over memory.
    "copy": 6,
    "loss": 5,
    "products": 1,  # addbmm
    # A result may be missing: a mask says which ones are computed.
    "resample": 2,
    # Lists of tensors, which are written.
    "optim": 4,
    # A functional form that is pointwise, with an in-place kernel that skips what it need not write.
    "activation": 1,
    "comparison": 2,  # nan_to_num_, equal
}


def has_kernel_for_cpu(entry: dict[str, object]) -> bool:
    return "kernel" in entry or "inplace_kernel" in entry or "CPU" in str(entry.get("kernels"))


def test_kernels_without_a_shape_rule_are_exceptions() -> None:
    unstructured = Counter(
        path.stem
        for path, entry in declarations()
        if has_kernel_for_cpu(entry) and not {"structured", "inplace_structured"} & set(entry)
    )
    assert unstructured == Counter(UNSTRUCTURED)
