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
# Any of equal elements may be the one at a place of the order, and have its gradient.
ORDERS = re.compile(r"(Tensor\.)?(quantile|nanquantile|median|kthvalue|sort|msort)")
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
        r"inf|nan|e\+|\d{7}|\b25[345]\b",
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
        "written in place, elu saves its operand and has its gradient; PyTorch's, of the result, is wrong for a "
        "negative input_scale and refused for a negative slope",
        r"(nn\.functional\.)?c?elu_?",
        r"gradient (0: values|is there, PyTorch raises RuntimeError: In-place elu)",
    ),
    Difference(
        "NaN is the mode wherever it is; PyTorch's sort leaves it in any place",
        r"(Tensor\.)?mode",
        r"values: nan",
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
    Difference(
        "integers are promoted in the loss, which PyTorch computes in place",
        r"nn\.functional\.gaussian_nll_loss",
        r"^returns, PyTorch raises RuntimeError.*can't be cast to the desired output type (unsigned char"
        r"|\w* ?int|char|short)",
    ),
    Difference(
        "16-bit floats are counted in float32: convert them",
        r"(Tensor\.)?histogram",
        r"^raises NotImplementedError.*\"histogramdd\" not implemented for '(Half|BFloat16)'",
    ),
    Difference(
        "a dtype without random numbers or windows is refused even for no elements",
        r"(randperm|normal|randn_like|randn|rand|rand_like|\w+_window)",
        r"^raises (NotImplementedError.*not implemented for '|RuntimeError.*expects floating point dtypes)",
        r"\(0, |\[(\d+, )*0(, \d+)*\]",
    ),
    Difference("there is no complex32 here", r".*", r"PyTorch's is complex32"),
    Difference(
        "there is no complex32 here",
        r"complex|view_as_complex",
        r"^raises RuntimeError.*(got Half and Half|scalar type: Half)",
    ),
    Difference(
        "memory is pinned for the OpenCL device; PyTorch's has no accelerator",
        r"Tensor\.pin_memory|tensor",
        r"^returns, PyTorch raises RuntimeError.*(Cannot access accelerator device|Can't pin tensor constructed)",
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
        r"^returns, PyTorch raises RuntimeError.*Autograd not support dtype"
        r"|^gradient is there.*(not implemented|ZeroTensor|unallocated|is not differentiable|not yet implemented)"
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
        r"^raises RuntimeError.*same device, but found at least two devices, (cpu and meta|meta and cpu)"
        r"|^returns, PyTorch raises RuntimeError.*on device meta is not on the expected device cpu",
    ),
    Difference(
        "out= that requires grad is rejected everywhere; PyTorch's composites write it",
        r".*",
        r"^raises RuntimeError.*functions with out=\.\.\. arguments don't support automatic differentiation",
    ),
    Difference(
        "gradients of complex results that PyTorch does not have",
        r".*",
        r"^returns, PyTorch raises RuntimeError.*automatic differentiation for outputs with complex dtype",
    ),
    Difference(
        "meta tensors are computed as all others are; some of PyTorch's functions look at their elements",
        r".*",
        r"^returns, PyTorch raises NotImplementedError.*there was no fake impl or Meta kernel registered",
        r"<meta",
    ),
    Difference(
        "meta tensors are refused where the others are: for complex numbers without a loop, and halfs in transforms",
        r".*",
        r"^raises NotImplementedError.*not implemented for 'Complex|^raises RuntimeError.*Unsupported dtype Half"
        r"|^returns, PyTorch raises RuntimeError.*(is not supported for complex|Complex dtype is not supported)",
        r"<meta",
    ),
    Difference(
        "only COO tensors take the shape of another COO tensor, whatever else is wrong",
        r"(Tensor\.)?resize_as_sparse_",
        r"^class NotImplementedError",
    ),
    Difference(
        "a position at infinity is reflected to a pixel, which gets its gradient",
        r"grid_sampler.*|nn\.functional\.grid_sample",
        r"^gradient \d: values",
        r"inf|nan",
    ),
    Difference(
        "there are no streams here, whatever the arguments",
        r"Tensor\.record_stream",
        r"^class NotImplementedError",
    ),
    Difference("there is no uint64 here", r".*", r"PyTorch's is uint64"),
    Difference(
        "sparse layouts other than COO and CSR are not here, whatever the arguments",
        r".*sparse.*",
        r"^(class|raises) NotImplementedError.*(the sparse layouts here are COO and CSR|only matrices are supported)",
    ),
    # ---- arguments
    Difference(
        "the names of PyTorch's compilers are those of one compiler here",
        r"compile",
        r"PyTorch's is (InvalidBackend|RuntimeError.*Unrecognized mode)",
    ),
    Difference(
        "NumPy's bool is not a number to PyTorch: it is taken for a truth value, a size or nothing at all",
        r".*",
        r"^(raises TypeError|raises RuntimeError.*with a bool number is not supported|dtype"
        r"|returns, PyTorch raises TypeError.*'numpy.bool' object)",
        r"<numpy bool",
    ),
    Difference(
        "True is the int 1",
        r"Tensor\.(split|chunk)|split|chunk",
        r"^returns, PyTorch raises TypeError.*got \((Tensor, )?bool",
    ),
    Difference(
        "`from` is a word of Python's, so the argument is from_ here",
        r"Tensor\.(uniform_|random_)",
        r"unexpected keyword argument 'from'",
    ),
    Difference(
        "PyTorch's Tensor.to takes a number in place of a dtype for non_blocking",
        r"Tensor\.to",
        r"^raises TypeError.*expected a dtype, a device or a tensor, got (float|int|bool)",
    ),
    Difference(
        "the number of draws is not differentiable; PyTorch says so when backward comes to it",
        r"binomial",
        r"^requires_grad False",
    ),
    Difference(
        "an index that PyTorch's list of symbolic ints has no room for",
        r".*",
        r"^returns, PyTorch raises RuntimeError.*cannot be represented as a SymInt",
    ),
    Difference(
        "None among indices, which PyTorch's operator accepts and its Python function does not",
        r"(Tensor\.)?index_put_?",
        r"^returns, PyTorch raises TypeError.*expected Tensor as element \d in argument \d, but got NoneType",
    ),
    Difference(
        "a bool as the only size of a factory is an int, as everywhere in Python",
        r"(Tensor\.new_)?(empty|zeros|ones|rand|randn)",
        r"^returns, PyTorch raises TypeError.*must be tuple of ints, not bool",
    ),
    Difference(
        "several dimensions for a product, as for a sum",
        r"(Tensor\.)?prod",
        r"^returns, PyTorch raises TypeError.*got \((Tensor, )?(torch\.Size|tuple|list)",
    ),
    Difference(
        "a layout that is none of PyTorch's is not looked at where only strided tensors are made",
        r".*",
        r"^returns, PyTorch raises TypeError.*layout=(?!NoneType|torch\.layout)\w+",
        r"layout=(?!<layout)",
    ),
    Difference(
        "dtype and device as positional arguments of as_tensor, as its documentation has them",
        r"as_tensor",
        r"PyTorch('s is| raises) TypeError.*as_tensor\(\) takes 1 positional argument",
    ),
    Difference(
        "clamp without limits is an error of one class, on every device",
        r"(Tensor\.)?(clamp|clip)_?",
        r"^class RuntimeError, PyTorch's is ValueError.*both min and max are none",
        r"<meta",
    ),
    Difference(
        "PyTorch's functions in Python look up an attribute of an argument that is not a tensor: here a TypeError",
        r".*",
        r"^class TypeError, PyTorch's is AttributeError \|.*(must be|expected|got|not)",
    ),
    Difference(
        "there is no such device, whatever the argument",
        r"Tensor\.(cuda|xpu|mtia)",
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
        r"(Tensor\.)?(squeeze_?|prod|sum|mean|any|all|to_sparse)",
        r"^returns, PyTorch raises TypeError.*((axis|dim)=|NoneType|keepdims?=|missing 1 required"
        r"|takes 0 positional)",
    ),
    Difference(
        "true_divide is div, with its rounding_mode",
        r"(Tensor\.)?true_divide_?",
        r"^returns, PyTorch raises TypeError.*rounding_mode",
    ),
    Difference(
        "the pinned memory of any device: there is none",
        r"Tensor\.is_pinned",
        r"^returns, PyTorch raises RuntimeError.*(accelerator|Device index|at start of device string)",
    ),
    # ---- what PyTorch itself does wrong
    Difference(
        "PyTorch's Welford mean is NaN after an infinity",
        r"(Tensor\.)?(std|var)_mean",
        r"^values: .*inf.* PyTorch's is .*nan",
        r"inf",
    ),
    Difference(
        "a difference over no distance is infinite, with the sign of the difference",
        r"gradient",
        r"^values: .*inf.* PyTorch's is .*nan",
        r"spacing=(0|-?0\.0|False)\b",
    ),
    Difference(
        "PyTorch's narrow_copy gives elements up to the end no gradient if it counts from the end",
        r"(Tensor\.)?narrow_copy",
        r"^gradient 0: values: .* PyTorch's is 0",
        r", -\d+, \d+\)|start=-",
    ),
    Difference(
        "a gradient of 0 but for rounding",
        r"(Tensor\.)?corrcoef",
        r"^gradient 0: values: -?[\d.]+e-1[5-9] at .* PyTorch's is -?[\d.]+e-1[5-9]$",
    ),
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
        "where a factorization of a matrix with infinities or NaN ends follows from the order of its steps",
        r"(Tensor\.)?(linalg\.)?(cholesky|eigh|eigvalsh)",
        r"^(returns, PyTorch raises _LinAlgError|raises LinAlgError)",
        r"inf|nan|e\+[23]\d",
    ),
    Difference(
        "PyTorch's solve_triangular drops the imaginary parts of B if A is real",
        r"linalg\.solve_triangular",
        r"^raises RuntimeError.*Expected A and B to have the same dtype",
    ),
    Difference(
        "PyTorch's zeroth power of a matrix converts the identity to any out=",
        r"linalg\.matrix_power",
        r"^raises RuntimeError.*Expected out tensor to have dtype",
        r", 0, out=",
    ),
    Difference(
        "PyTorch's shortcut for means over whole planes does not look at the number of dimensions",
        r"nn\.functional\.adaptive_avg_pool2d",
        r"^raises RuntimeError.*expected 3D or 4D tensor, but got",
    ),
    Difference(
        "PyTorch's meta kernel of a running maximum does not look at the dimension of a number",
        r"(Tensor\.)?cum(max|min)",
        r"^raises IndexError",
        r"<meta \w+ \(\)>",
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
        r"unexpected keyword argument 'out'|got \(.*\bout=\w+.*\), but expected"
        r"|(nan)?median\(\) missing 1 required positional arguments: \"dim\""
        r"|nonzero\(\) missing 1 required positional arguments: \"as_tuple\"",
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
    (r"sym_.*", "AttributeError|TypeError|ValueError|AssertionError"),
    (r"compile", "AssertionError"),
    (r"cond", "TypeError"),
    (r"nn\.functional\.multi_head_attention_forward", "AssertionError"),
)


def internal_in_pytorch_too(path: str, outcome: tuple[object, ...]) -> bool:
    """Return true if PyTorch's own Python raises the same built-in class for such arguments."""
    return any(
        re.fullmatch(names, path) and re.fullmatch(kinds, str(outcome[1]))
        for names, kinds in INTERNAL_IN_PYTORCH
    )
