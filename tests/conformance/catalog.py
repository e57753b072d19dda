"""Which operators are compared: issue 3's list, and all else of PyTorch's that the engine has by name.

Names are those of PyTorch's operator database: `name` or `name/variant`; a bare name stands for all its
variants. Only `database()` imports PyTorch, so that the list can be read where PyTorch is absent.
"""

from __future__ import annotations

import sys
import types
import unittest
import warnings
from collections.abc import Iterable
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache
from typing import Any

_LIST = """
arange empty empty_like eye full full_like linspace meshgrid/list_of_tensors new_ones new_zeros ones
ones_like rand_like randint randn randn_like zeros zeros_like bernoulli multinomial clone contiguous
to item bool double float int long

abs atan bitwise_not ceil clamp clamp_min cos cosh erf exp expm1 floor isfinite isinf isnan log
log1p log2 logical_not nan_to_num neg reciprocal round rsqrt sigmoid sign sin sinh sqrt square tan
tanh trunc

add addcdiv addcmul allclose atan2 bitwise_and bitwise_or bitwise_xor div eq equal floor_divide ge
gt isclose le lerp logical_and logical_or logical_xor lt maximum minimum mul ne pow remainder sub
where __radd__ __rmul__ __rsub__

all amax amin any argmax argmin count_nonzero cumprod cumsum logsumexp max mean median min norm prod
std sum var

as_strided broadcast_to cat chunk diag diagonal expand flatten flip movedim narrow permute repeat
repeat_interleave reshape roll split squeeze stack T t tile transpose tril triu unbind unfold
unsqueeze view hstack vstack __getitem__ gather index_add index_copy index_put index_select
masked_fill masked_select nonzero scatter scatter_add scatter_reduce/amax scatter_reduce/sum select
argsort bincount searchsorted sort topk unique

addmm baddbmm bmm dot einsum matmul mm mv outer trace linalg.cholesky linalg.det linalg.eigh
linalg.inv linalg.norm linalg.pinv linalg.qr linalg.slogdet linalg.solve linalg.svd
linalg.vector_norm

log_softmax softmax nn.functional.adaptive_avg_pool2d nn.functional.avg_pool2d
nn.functional.batch_norm nn.functional.binary_cross_entropy
nn.functional.binary_cross_entropy_with_logits nn.functional.conv1d nn.functional.conv2d
nn.functional.conv_transpose2d nn.functional.cosine_similarity nn.functional.cross_entropy
nn.functional.dropout nn.functional.elu nn.functional.embedding nn.functional.gelu
nn.functional.group_norm nn.functional.hardtanh nn.functional.interpolate/bilinear
nn.functional.interpolate/nearest nn.functional.kl_div nn.functional.l1_loss
nn.functional.layer_norm nn.functional.leaky_relu nn.functional.linear nn.functional.max_pool1d
nn.functional.max_pool2d nn.functional.mse_loss nn.functional.nll_loss nn.functional.normalize
nn.functional.one_hot nn.functional.pad nn.functional.relu nn.functional.rms_norm
nn.functional.scaled_dot_product_attention nn.functional.silu nn.functional.smooth_l1_loss
nn.functional.softplus
"""
LISTED = _LIST.split()


@dataclass(frozen=True)
class Deviation:
    """A difference that is meant: it counts as passed, and the coverage table tells it."""

    operator: str  # a glob on full names
    difference: str  # a glob on the difference's text, "float32 out empty: strides (1,), ..."
    reason: str


DEVIATIONS: tuple[Deviation, ...] = (
    *(
        Deviation(
            name,
            "* out strided: no error; PyTorch raises RuntimeError: *",
            "PyTorch folds a batch into rows, and then cannot write to an out= that does not fold alike",
        )
        for name in ("matmul", "nn.functional.linear")
    ),
    Deviation(
        "nn.functional.avg_pool3d",
        "* out strided: values: *",
        "PyTorch fills an out= that is not contiguous as if it were",
    ),
    *(
        Deviation(
            name,
            "* out empty: shape *",
            "PyTorch leaves out= as it was where a single dimension is transformed",
        )
        for name in ("fft.ihfft2", "fft.ihfftn")
    ),
    Deviation(
        "narrow_copy",
        "* out strided: values: *",
        "PyTorch fills an out= that is not contiguous as if it were",
    ),
    Deviation(
        "as_strided_scatter",
        "* gradient: gradient 0: values: *",
        "PyTorch gives self the gradient of what src wrote over: its own gradcheck refuses that",
    ),
)


def deviation(operator: str, difference: str) -> Deviation | None:
    """The entry that allows this difference, if there is one."""
    for entry in DEVIATIONS:
        if fnmatchcase(operator, entry.operator) and fnmatchcase(difference, entry.difference):
            return entry
    return None


def full_name(op: Any) -> str:
    """`name`, or `name/variant` where PyTorch has several sets of samples."""
    return f"{op.name}/{op.variant_test_name}" if op.variant_test_name else op.name


@cache
def database() -> dict[str, Any]:
    """PyTorch's OpInfos by full name."""
    try:
        import expecttest  # noqa: F401
    except ImportError:  # PyTorch's test tools import it for a base class that nothing here uses
        stand_in = types.ModuleType("expecttest")
        stand_in.TestCase = unittest.TestCase  # type: ignore[attr-defined]
        sys.modules["expecttest"] = stand_in
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from torch.testing._internal.common_methods_invocations import op_db
    return {full_name(op): op for op in op_db if not op.name.startswith("jiterator")}


def listed() -> list[str]:
    """The full names of the issue's list, in its order."""
    return chosen(LISTED)


def chosen(patterns: Iterable[str]) -> list[str]:
    """Full names for what was asked: `pad`, `nn.functional.pad`, `.../pad/circular` or a glob.

    Raises: SystemExit for a name that PyTorch's database does not have.
    """
    found: dict[str, None] = {}
    for pattern in patterns:
        tests = (
            lambda name, p: name == p or name.partition("/")[0] == p,
            fnmatchcase,
            lambda name, p: name.partition("/")[0].endswith(f".{p}"),
        )
        for test in tests:
            names = [name for name in database() if test(name, pattern)]
            if names:
                break
        else:
            raise SystemExit(f"PyTorch's operator database has no {pattern!r}")
        found.update(dict.fromkeys(names))
    return list(found)


def present() -> list[str]:
    """The full names of all operators that the engine has, listed or not."""
    from bridge import has

    return [name for name, op in database().items() if has(op.name)]
