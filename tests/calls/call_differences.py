"""The differences between the engine and PyTorch that are allowed, each with its reason."""

from __future__ import annotations

import re
from dataclasses import dataclass

# Random numbers, or uninitialised memory: dtype, shape and strides are compared, numbers are not.
NO_NUMBERS = re.compile(
    r"(Tensor\.|nn\.functional\.|)(.*(empty|rand|dropout|bernoulli|multinomial|normal(?!ize)|poisson$|binomial"
    r"|uniform|cauchy|exponential|geometric|rrelu|gumbel|fractional_max_pool).*"
    r"|resize_|resize_as_|new|multi_head_attention_forward)"
)
# PyTorch says no thing about these words: whose turn it was to run out of memory.
MEMORY = re.compile(r"memory|allocat|too large|overflow|Storage size|bytes", re.IGNORECASE)


@dataclass(frozen=True)
class Difference:
    """Calls of names that match `path` may differ as `difference` matches, for this reason."""

    reason: str
    path: str
    difference: str
    call: str = ""  # what the call's text has to match, too


PRODUCTS = """
__r?matmul__ .*mm_? .*mv_? addr_? matmul .*dot inner einsum outer ger kron bilinear linear .*conv.*
.*fft.* stft istft .*solve.* .*inv(_ex|erse)? matrix_power matrix_exp chain_matmul .*det cross lu.*
cholesky.* ldl.* qr geqrf svd svdvals eig.* orgqr ormqr householder_product pinv.* cond lstsq
matrix_rank .*attention.* lstm.* gru.* rnn.* cov corrcoef cdist pdist .*norm norm_.* tensordot
nuclear_norm
"""
SPACES = r"(Tensor\.|linalg\.|special\.|fft\.|nn\.functional\.|)"
BESSEL = (
    r"(i0e?|i1e?|bessel_.*|.*modified_bessel_.*|airy_ai|igammac?|gammaincc?|gelu|elu|celu|selu|zeta|polygamma"
    r"|digamma|psi)_?"
)

# The text of an argument whose elements share memory.
SHARES_ELEMENTS = r"tensor\(\[[^\]]*\], \w+, \[[^\]]*\], (overlapping|expanded)"

DIFFERENCES: tuple[Difference, ...] = (
    # ---- numbers
    Difference(
        "infinities and NaN within products and transforms: where they appear follows from the order of steps",
        SPACES + f"({'|'.join(PRODUCTS.split())})",
        r"values: .*(inf|nan)",
    ),
    Difference(
        "vectors are unique up to a factor of absolute value 1, or a rotation where values repeat",
        r"(Tensor\.|linalg\.|)(svd|qr|eigh?|geqrf|lstsq|ldl_.*)",
        r"values:",
    ),
    Difference(
        "limits and poles are exact: PyTorch has NaN for i0(inf) and a large number for polygamma(1, -3)",
        SPACES + BESSEL,
        r"values: .*(inf|nan|e\+1\d)",
    ),
    Difference(
        "PyTorch's airy_ai has five digits near its zeros, here sixteen: Ai(-2.375) = -0.0258556562385696",
        r"special\.airy_ai",
        r"^values: (-?0\.0\d\d\d)\d* at .* PyTorch's is \1",
    ),
    Difference(
        "polynomials of huge degrees and at infinity: closed forms here, a loop that ends early there",
        r"special\..*polynomial.*",
        r"values:",
        r"inf|nan|e\+|\d{7}",
    ),
    Difference(
        "where what is written overlaps itself or is read, PyTorch's result follows from its order of work",
        r".*",
        r"values:|strides|returns, PyTorch raises RuntimeError|raises RuntimeError|shape",
        rf"(_\(|__i\w+__\(|out=){SHARES_ELEMENTS}|(_\(|__i\w+__\(|out=).*<(again|view) of",
    ),
    Difference(
        "strides of results of tensors whose elements overlap in part mean nothing",
        r".*",
        r"strides",
        r"overlapping",
    ),
    Difference(
        "integers take no part in gradients, whatever they are compared with",
        r"Tensor\.(eq|ne|not_equal|lt|less|le|less_equal|gt|greater|ge|greater_equal)_",
        r"requires_grad False",
    ),
    Difference(
        "PyTorch leaves memory unwritten here",
        r"(nn\.functional\.)?(multi_margin_loss|multilabel_margin_loss.*|embedding_bag)",
        r"values:",
    ),
    Difference("PyTorch's cov writes into its argument", r"(Tensor\.)?cov", r"input 0 afterwards"),
    Difference(
        "PyTorch mistakes its second positional argument for another",
        r"(Tensor\.)?unique_consecutive",
        r"shape|structure|values",
    ),
    Difference(
        "16-bit matrices are computed in double precision",
        r"(Tensor\.|linalg\.)?matrix_exp",
        r"values:",
    ),
    Difference(
        "dropped elements are drawn", r".*attention.*", r"values:", r"dropout_p=0\.\d*[1-9]|, 0\.5"
    ),
    Difference(
        "PyTorch gives self the gradient of what src wrote over: its own gradcheck refuses that",
        r"(Tensor\.)?as_strided_scatter",
        r"^gradient 0: values",
    ),
    # ---- what there is
    Difference("there is no complex32 here", r".*", r"PyTorch's is complex32"),
    Difference(
        "there is no complex32 here",
        r"complex|view_as_complex",
        r"^raises RuntimeError.*(got Half and Half|scalar type: Half)",
    ),
    Difference(
        "memory is pinned for the OpenCL device; PyTorch's has no accelerator",
        r"Tensor\.pin_memory",
        r"^returns, PyTorch raises RuntimeError.*Cannot access accelerator device",
    ),
    Difference("conj is done at once", r".*", r"sharing None", r"conj|adjoint|\.H|mH"),
    Difference("names of types begin with engine", r"Tensor\.type", r"values"),
    Difference(
        "dtypes that PyTorch has no kernel for",
        r".*",
        r"^returns, PyTorch raises NotImplementedError.*not implemented for",
    ),
    Difference(
        "gradients that PyTorch does not have",
        r".*",
        r"^gradient is there.*(not implemented|ZeroTensor|unallocated|is not differentiable|not yet implemented)"
        r"|is not differentiable with respect",
    ),
    Difference("sparse gradients", r".*(gather|embedding).*", r"gradient", r"sparse(_grad)?=True"),
    Difference(
        "the gradient of polar takes a negative radius for what it is",
        r"polar",
        r"gradient 0: values",
    ),
    Difference(
        "a meta tensor with another on the CPU: PyTorch looks at devices in its kernels only",
        r".*",
        r"^raises RuntimeError.*same device, but found at least two devices, (cpu and meta|meta and cpu)",
    ),
    Difference(
        "out= that requires grad is rejected everywhere; PyTorch's composites write it",
        r".*",
        r"^raises RuntimeError.*functions with out=\.\.\. arguments don't support automatic differentiation",
    ),
    Difference("there is no uint64 here", r".*", r"PyTorch's is uint64"),
    Difference(
        "sparse layouts other than COO and CSR are not here, whatever the arguments",
        r".*sparse.*",
        r"^(class|raises) NotImplementedError.*(the sparse layouts here are COO and CSR|only matrices are supported)",
    ),
    # ---- arguments
    Difference(
        "PyTorch's functions in Python look up an attribute of an argument that is not a tensor: here a TypeError",
        r".*",
        r"^class TypeError, PyTorch's is AttributeError \|.*(must be|expected|got|not)",
    ),
    Difference(
        "there is no CUDA, whatever the argument",
        r"Tensor\.cuda",
        r"^class AssertionError",
    ),
    Difference(
        "a list of tensors, as PyTorch's scripts take it",
        r"broadcast_tensors",
        r"^returns, PyTorch raises TypeError.*expected Tensor as element 0 in argument 0, but got (list|tuple)",
    ),
    Difference(
        "names of arguments from PyTorch's schema, where its Python functions have others",
        r".*(copy_|heaviside_?|swapaxes_?|swapdims_?|result_type|__(get|set)item__|__contains__)",
        r"^returns, PyTorch raises TypeError.*(missing \d+ required|takes no keyword|positional-only|keywords were)",
    ),
    Difference(
        "None for an optional `dim` or `axis`, or both names of it, where PyTorch's overloads have no None",
        r"(Tensor\.)?(squeeze_?|prod|sum|mean|any|all)",
        r"^returns, PyTorch raises TypeError.*((axis|dim)=|NoneType|keepdims?=|missing 1 required)",
    ),
    Difference(
        "true_divide is div, with its rounding_mode",
        r"(Tensor\.)?true_divide_?",
        r"^returns, PyTorch raises TypeError.*rounding_mode",
    ),
    Difference(
        "the pinned memory of any device: there is none",
        r"Tensor\.is_pinned",
        r"^returns, PyTorch raises RuntimeError.*(accelerator|Device index)",
    ),
    # ---- what PyTorch itself does wrong
    Difference(
        "PyTorch's backward fails where a real result was computed in complex numbers",
        r".*",
        r"^gradient is there.*isFloatingType\(grad|tensor does not have a device",
    ),
    Difference(
        "PyTorch's FFT library fails",
        r"fft\..*",
        r"^returns, PyTorch raises RuntimeError.*MKL FFT error",
    ),
    Difference(
        "PyTorch's own assertion fails",
        r".*",
        r"PyTorch('s is| raises) RuntimeError.*INTERNAL ASSERT",
    ),
    Difference(
        "PyTorch's expand keeps negative sizes where another size is 0",
        r"(Tensor\.|)(expand|broadcast_to)",
        r"^raises RuntimeError.*leading, non-existing dimension",
    ),
    Difference(
        "PyTorch's convolution of an empty batch forgets the channels",
        r".*conv.*",
        r"^shape (\(0,|.*PyTorch's is \(0,)",
    ),
    Difference(
        "factors of random projections are unique up to a sign, or a factor of absolute value 1",
        r"(Tensor\.)?(svd|pca)_lowrank",
        r"^values:",
    ),
    Difference(
        "LAPACK rejects infinities and NaN at different stages",
        r"(Tensor\.)?(linalg\.)?(pinv(erse)?|matrix_norm|matrix_rank|svd|svdvals|cond|norm|nuclear_norm|eigvals)",
        r"^(raises|class) (LinAlgError|RuntimeError).*(non-finite|infs or NaNs)",
    ),
    Difference(
        "a number is converted where Python converts it: bool, int, a tensor of one element, a number of NumPy's",
        r".*",
        r"PyTorch('s is| raises) TypeError.*\|.*must be (int|float|bool|Number|str|torch\.\w+|number)\b[\w. ]*, not ",
    ),
    Difference(
        "NumPy's `axis` and `keepdims` in addition to `dim` and `keepdim`",
        r".*",
        r"unexpected keyword argument '(axis|keepdims)'",
    ),
    Difference(
        "`out=` of operators that PyTorch has without it, and of their methods",
        r".*",
        r"unexpected keyword argument 'out'|got \(.*\bout=\w+.*\), but expected",
    ),
    Difference(
        "special methods called by hand with the wrong arguments: PyTorch returns NotImplemented for every TypeError",
        r"Tensor\.__\w+__",
        r"^(raises TypeError|structure)",
    ),
)


def reason(path: str, difference: str, call: str = "") -> str | None:
    """Why this difference is allowed; None if it is not."""
    for item in DIFFERENCES:
        if (
            re.fullmatch(item.path, path)
            and re.search(item.difference, difference, re.DOTALL)
            and re.search(item.call, call)
        ):
            return item.reason
    return None


# Exceptions of PyTorch's own Python functions that look like errors from inside.
INTERNAL_IN_PYTORCH = (
    (r"nn\.functional\..*", "AttributeError|TypeError|IndexError"),
    (r"(Tensor\.)?(svd_lowrank|pca_lowrank|lu)", "AttributeError|TypeError|IndexError|ValueError"),
    (r"nn\.functional\.embedding", "AssertionError"),
    (r"sym_.*", "AttributeError|TypeError|ValueError"),
    (r"nn\.functional\.multi_head_attention_forward", "AssertionError"),
)


def internal_in_pytorch_too(path: str, outcome: tuple[object, ...]) -> bool:
    """Return true if PyTorch's own Python raises the same built-in class for such arguments."""
    return any(
        re.fullmatch(names, path) and re.fullmatch(kinds, str(outcome[1]))
        for names, kinds in INTERNAL_IN_PYTORCH
    )
