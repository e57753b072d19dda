"""The operators to compare: all of PyTorch's operator database, first issue 3's list.

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
    """A difference that is meant: it counts as passed, and the coverage table lists it."""

    operator: str  # a glob on full names
    difference: str  # a glob on the difference's text, "float32 out empty: strides (1,), ..."
    reason: str


NO_SPARSE = "the engine has no sparse layouts"
NO_COMPLEX32 = "the engine has no complex32: float16 parts"
NO_FLOAT8 = "the engine has no float8 dtypes"
NO_CPU = "PyTorch has it on GPUs only"
PRIVATE = "private to PyTorch: its compilers and backends call it; what users call is compared"

# Operators that the engine does not have: a glob on full names, and why.
MISSING: dict[str, str] = {
    "sparse.*": NO_SPARSE,
    "to_sparse": NO_SPARSE,
    "chalf": NO_COMPLEX32,
    "torch._scaled_mm*": NO_FLOAT8,
    "torch.ops.aten._flash_attention_forward": NO_CPU,
    "torch.ops.aten._efficient_attention_forward": NO_CPU,
    "torch.ops.aten._safe_softmax.default": PRIVATE,
    "_native_batch_norm_legit": PRIVATE,
    "_batch_norm_with_update": PRIVATE,
    "_chunk_cat": PRIVATE,
    "_segment_reduce/*": PRIVATE,
    "_unsafe_masked_index": PRIVATE,
    "_unsafe_masked_index_put_accumulate": PRIVATE,
    "max_pool2d_with_indices_backward": PRIVATE,
}

DEVIATIONS: tuple[Deviation, ...] = (
    *(
        Deviation(
            name,
            "* out strided: no error; PyTorch raises RuntimeError: *",
            "PyTorch folds a batch into rows, and then cannot write to an out= that does not fold in the same way",
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
        "fft.hfft2",
        "* out other dtype: values: *",
        "each element is a sum over all, computed in float32; out= is float64, the rounding is not",
    ),
    Deviation(
        "index_select",
        "errors: no error; PyTorch raises RuntimeError: unsupported operation: more than one element *",
        "the engine resizes out= before it looks at its strides, as PyTorch does elsewhere",
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
    *(
        Deviation(
            name,
            "float32 gradient: gradient 0: values: *",
            "differences of singular values divide the gradient: in float32 both are off by 1e-5 where these are near",
        )
        for name in ("svd", "linalg.svd")
    ),
    Deviation(
        "__rsub__",
        "errors: raises AttributeError: *",
        "a method of tensors that is called by name with a number for its tensor: AttributeError",
    ),
    *(
        Deviation(
            name,
            "* out other dtype: no error; PyTorch raises RuntimeError: Found dtype *",
            "PyTorch does not convert to the dtype of out= where a single dimension is transformed",
        )
        for name in ("fft.ihfft2", "fft.ihfftn")
    ),
    Deviation(
        "linalg.lstsq*",
        "* out empty: result 0: strides *",
        "PyTorch resizes an empty out= to LAPACK's order of memory, the engine to rows",
    ),
    Deviation(
        "linalg.lstsq*",
        "* out other dtype: raises RuntimeError: *",
        "PyTorch converts to the dtype of out=; the engine asks for that of the result",
    ),
    *(
        Deviation(
            f"polygamma/polygamma_n_{n}",
            "* values: inf*",
            "infinite at its poles; in PyTorch the sine of a multiple of pi is not quite 0",
        )
        for n in range(5)
    ),
    Deviation(
        "special.polygamma/special_polygamma_n_0",
        "* values: inf*",
        "infinite at its poles; in PyTorch the sine of a multiple of pi is not quite 0",
    ),
    *(
        Deviation(
            name,
            "float64 * values: *",
            "PyTorch is up to 3.2e-7 off between 4 and 8.4; the engine's J0 is that of the integral to 1e-15",
        )
        for name in ("special.bessel_j0", "special.bessel_y1")
    ),
    Deviation(
        "cov",
        "float32 gradient: gradient 1: values: *e-0*",
        "a gradient that is 0 but for the rounding of both",
    ),
    Deviation(
        "native_batch_norm",
        "bfloat16 * input 3 afterwards: values: *",
        "PyTorch rounds the batch's mean to bfloat16 before it averages, the engine after",
    ),
    *(
        Deviation(
            name,
            "float32 gradient: gradient * values: *",
            f"rounding of float32 in one sample: the gradient's largest element is {largest}, the engine is "
            f"at most {ours} from the float64 gradient, PyTorch {other}",
        )
        for name, largest, ours, other in (
            ("grid_sampler_2d", "110", "1.4e-4", "0.7e-4"),
            ("linalg.lstsq*", "130", "1.3e-4", "0.5e-4"),
            ("linalg.pinv/hermitian", "13", "0.64e-4", "0.59e-4"),
        )
    ),
    Deviation(
        "mvlgamma/*",
        "float16 out other dtype: values: *",
        "the sum is rounded to float16 at each step, then converted",
    ),
    Deviation(
        "matrix_exp",
        "float16 * PyTorch's is nan *",
        "PyTorch's powers overflow float16, the engine's do not",
    ),
    Deviation(
        "native_dropout_backward",
        "* dtype *int*, PyTorch's is float32",
        "a private operator, which is called with floating gradients",
    ),
    Deviation(
        "native_dropout_backward",
        "bool * raises NotImplementedError: *",
        "a private operator, which is called with floating gradients",
    ),
    Deviation(
        "linalg.matrix_power",
        "* out other dtype: raises RuntimeError: *",
        "PyTorch checks the dtype of out= for some exponents only, the engine for all",
    ),
    *(
        Deviation(
            name,
            "*float16 out other dtype: no error; PyTorch raises RuntimeError: std_var_all: *",
            "PyTorch reduces no 16-bit floats into an out= of another dtype",
        )
        for name in ("std", "var")
    ),
    *(
        Deviation(
            name,
            "complex* is a new tensor; PyTorch's is a view of input 0",
            "the engine has no conjugate bit: conj() of complex numbers computes",
        )
        for name in ("conj", "H", "mH")
    ),
    Deviation("complex", "float16 * raises RuntimeError: *", NO_COMPLEX32),
    Deviation("view_as_complex", "float16 * raises RuntimeError: *", NO_COMPLEX32),
)


def deviation(operator: str, difference: str) -> Deviation | None:
    """Return the entry that allows this difference, if there is one."""
    for entry in DEVIATIONS:
        if fnmatchcase(operator, entry.operator) and fnmatchcase(difference, entry.difference):
            return entry
    return None


def missing_reason(operator: str) -> str | None:
    """Why the engine does not have this operator, if that is known."""
    return next((reason for name, reason in MISSING.items() if fnmatchcase(operator, name)), None)


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
    """Return the full names of the issue's list, in its order."""
    return matching(LISTED)


def matching(patterns: Iterable[str]) -> list[str]:
    """Full names for patterns: `pad`, `nn.functional.pad`, `.../pad/circular` or a glob.

    Raises: SystemExit for a name that PyTorch's database does not have.
    """
    matches: dict[str, None] = {}
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
        matches.update(dict.fromkeys(names))
    return list(matches)


def everything() -> list[str]:
    """Return the full names of the whole database: the issue's list, then all others."""
    return list(dict.fromkeys([*listed(), *database()]))


def present() -> list[str]:
    """Return the full names of all operators but those that are known to be missing."""
    return [name for name in database() if missing_reason(name) is None]
