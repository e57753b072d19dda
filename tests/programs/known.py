"""The differences from PyTorch that are meant, each with its reason."""

from __future__ import annotations

import re

from tests.calls.call_faults import wrong_in_two_ways
from tests.programs.outcome import Difference

# Reason: patterns of the fact that differs, and of its detail and statement.
KNOWN = {
    "the number of a Node's name, which counts PyTorch's overloads": (
        "grad_fn", r"\w+: ([A-Za-z]+Backward)\d, not \1\d( \(after .*)?$", "",
    ),
    "there is no complex32": (
        ".*", r"got Half and Half|'ComplexHalf'\)$|but got a tensor of scalar type: Half\)|, not complex32$", "",
    ),
    "there is no complex32, so the statement before another one that raises does": (
        "names", "", r"(?s)lib\.complex\(.*\n",
    ),
    "PyTorch's own assertion fails": (
        "does not raise|error class|is_leaf|grad_fn", r"not RuntimeError\b.*INTERNAL ASSERT", "",
    ),
    "PyTorch does not make the gradient of a real tensor that was summed in complex numbers real": (
        "does not raise", r"not RuntimeError \(Expected isFloatingType\(grad\.scalar_type\(\)\)",
        r"backward\(|autograd\.grad\(",
    ),
    "strides of a gradient's dimensions of size 1, which no element uses, follow from the order of steps": (
        "(grad )?stride", r"\((where the size is 1|no elements)\)$", r"autograd\.grad\(|backward\(|\.grad\b",
    ),
    "PyTorch's set_() keeps the stride of a tensor of shape (0,)": (
        "stride", r"^\w+: \(1,\), not \(\d+,\) \(no elements\)$", r"\.set_\(\)$",
    ),
    "strides of a product's dimensions of size 1, which no element uses: PyTorch may multiply transposes": (
        "stride", r"\(where the size is 1\)$", r" @ |matmul\(",
    ),
    "a tensor that is no longer .grad counts the writes that made it, which may be more or fewer": (
        "_version", r"^\w+: \d, not \d \(no longer \.grad\)$", "",
    ),
    "PyTorch's tril and triu write out= whose elements share memory, each several times": (
        "raises", r"^RuntimeError \(tri[lu]: unsupported operation: more than one element of the written-to", r"out=",
    ),
    "PyTorch's products of batches write out= whose elements share memory, each several times": (
        "raises", r"^RuntimeError \(matmul: unsupported operation: more than one element of the written-to", r"out=",
    ),
    "PyTorch reduces or scans into out= whose elements share memory, and mixes the results of several": (
        "raises|values",
        r"^RuntimeError \((sum|prod|mean|amax): unsupported operation: more than one element of the written"
        r"|\(elements share memory\)$",
        r"lib\.(sum|prod|mean|amax|cumsum|cumprod)\(.*out=",
    ),
    "PyTorch's factories write out= that requires grad and whose elements share memory, each several times": (
        "raises", r"^RuntimeError \(alias_copy: unsupported operation: more than one element of the written-to",
        r"lib\.(zeros|ones|full|empty)\(.*out=",
    ),
    "PyTorch looks for the history of a view in a base that has become too small for it, and raises": (
        "is_leaf|requires_grad|grad_fn", r"^\w+: \w+, not RuntimeError$",
        r"\.set_\(\)|\.resize_\(|\.requires_grad(_\(| = True)",
    ),
    "PyTorch divides by the absolute value of a subnormal complex number, whose inverse overflows": (
        "values", r"not .*\binf[+-]nanj", r"\bsgn_?\(",
    ),
    "PyTorch repeats view_as_complex for a base whose dimensions have changed places, and raises": (
        "is_leaf|requires_grad|grad_fn", r"^\w+: \w+, not RuntimeError$", r"\.(swapaxes|swapdims|transpose|t)_\(",
    ),
    "PyTorch's factories refuse out= that is a view whose base has got a history, until grad_fn is read": (
        "does not raise", r"not RuntimeError \(aten::(zeros|ones|full|empty)\(\): functions with out=",
        r"lib\.(zeros|ones|full|empty)\(.*out=",
    ),
    "PyTorch copies the gradient of a leaf that is itself the root into the leaf's sizes, which out= has changed": (
        "grad shape", r"^\w+: (\(.*\)), not (\(.*\)) \(of a tensor of shape \2\)$", r"^\w+\.backward\(",
    ),
    "PyTorch's gradient of a direction is a tensor without memory: it can neither be added to nor listed": (
        "does not raise|error class",
        r"not RuntimeError \((ZeroTensors are immutable|tolist\(\) shouldn't be called on a tensor with unalloc)", "",
    ),
    "PyTorch repeats view_as_real and view_as_complex for a base that resize_ has changed": (
        "grad_fn", r"^\w+: AsStridedBackward0, not ViewAs(Real|Complex)Backward0$", "",
    ),
    "PyTorch passes what a hook returned to the next one, before it rejects it": (
        "error class", r"^RuntimeError \(Tensor post accumulate grad hooks should return None\.\), not ", r"backward\(",
    ),
    "PyTorch saves no factor of a product without elements, which may be written then": (
        "raises", r"modified by an inplace operation: \[torch\.\w+Tensor \[(\d+, )*0\b.*, not None \(\)$",
        r"backward\(",
    ),
    "PyTorch's kron cannot view its own product of transposed matrices": (
        "does not raise", r"RuntimeError \(view size is not compatible", r"\.kron\(",
    ),
    "PyTorch's set_ grows the storage, but not for the sizes and strides that the tensor has already": (
        "does not raise|nbytes", r"RuntimeError \(setStorage: sizes|^\w+: \d+, not \d+$", r"\.set_\(",
    ),
    "PyTorch reduces into memory that it still reads": ("names", "", r"(?s)lib\.(sum|mean|prod|amax)\(.*out="),
    "PyTorch resizes out= before it reads it, where it is the operand": (
        "shape|nbytes|does not raise|error class", "", r"lib\.(sum|mean|prod|amax|matmul)\((\w+)\b.*out=\2\b",
    ),
    "PyTorch resizes out= before it looks at the dimensions of an operand that is the same tensor": (
        "does not raise",
        r"not (IndexError \(Dimension out of range"
        r"|RuntimeError \((1D tensors expected|mat2 must be|vector \+ matrix @))",
        r"lib\.(sum|mean|prod|amax|matmul)\(.*out=",
    ),
    "PyTorch does not notice operands with gaps in the written memory, and reads what it has written": (
        "raises|error class",
        r"^RuntimeError \((?!copy_)\w+: unsupported operation: some elements of the input tensor "
        r"and the written-to tensor refer to a single",
        "",
    ),
    "PyTorch does not notice operands with gaps in the written memory, and writes": (
        "_version|values",
        r"\(after RuntimeError: (?!copy_)\w+: unsupported operation: some elements of the input tensor", "",
    ),
    "PyTorch's copy_ between contiguous float16 and float32 does not look at memory that they share": (
        "raises",
        r"^RuntimeError \(copy_: unsupported operation: some elements .*\(float16 and float32 share memory\)$", "",
    ),
    "PyTorch's index_select copies slice by slice, and takes strides of dimensions of size 1 for an overlap": (
        "does not raise", r"not RuntimeError \(unsupported operation: some elements of the input tensor",
        r"lib\.index_select\(.*out=",
    ),
    "PyTorch's masked_scatter_ stops in the middle of a source that is too short": (
        "values", r"\(after RuntimeError", r"masked_scatter_\(",
    ),
    "PyTorch writes elements that share memory one by one, and reads what it has written": (
        "values", r"\(elements share memory\)$",
        r"\b(tril|triu|addmm|logical_not|cumsum|cumprod|index_add|index_put|scatter|put|eq|gt)\w*_\(",
    ),
    "PyTorch gives integers a history when they are set to, or compared with, a tensor that requires grad": (
        "requires_grad", r"False, not True \((u?int\d+|bool)\)", r"\] = |(index_put|masked_fill|fill|eq|gt)_\(",
    ),
    "PyTorch rejects a write that would give integers a history; here they get none": (
        "does not raise", r"not RuntimeError \((A view was created in no_grad mode|Output \d+ of \w+ is a view and)",
        r"\b(eq|gt|index_put)_\(|\] = ",
    ),
    "PyTorch raises where integers would get the history of a scattered source; here they get none": (
        "does not raise", r"not RuntimeError \(Autograd not support dtype: \w+\)$", r"_scatter\(",
    ),
    "PyTorch's gradient of cummax and cummin of a tensor without elements is the tensor itself": (
        "(grad )?requires_grad", r"False, not True( \(\w+\))? \(no elements\)$", r"autograd\.grad\(|backward\(",
    ),
    "PyTorch does not compare the dtypes of matrices if there is nothing to multiply": (
        "raises",
        r"^RuntimeError \(expected (m1 and m2|batch1 and batch2) to have the same dtype, .*, not None \(\)$",
        r" @ |matmul\(",
    ),
    "a view that `.data =` gave another dtype: PyTorch's gradients have the wrong dtype, here the write is rejected": (
        "raises|requires_grad", r"RuntimeError(: | \()a view of dtype \w+ of a tensor of dtype", "",
    ),
    "PyTorch gives a leaf a gradient of the shape that it had before `.data =`": (
        "raises", r"^RuntimeError \(copy_: the shape .* cannot be broadcast to the shape", r"backward\(",
    ),
    "PyTorch gives a leaf a gradient of the shape that it had before `.data =`, which has as many elements": (
        "grad shape", r"^\w+: (\(.*\)), not (?!\1 ).* \(of a tensor of shape \1\)$", r"backward\(",
    ),
    "PyTorch's .grad of a single number is the real part of a complex gradient, whose memory it keeps": (
        "grad nbytes", r"^\w+: (4, not 8|8, not 16)$", r"backward\(",
    ),
    "PyTorch's .grad is the caller's gradient, seen through a view": ("grad storage", "", r"backward\("),
    "PyTorch's .grad is the caller's gradient, to which it adds in place: a write, even of no elements": (
        "_version", r"^\w+: (\d+), not (?!\1 )\d+ \(no elements\)$", r"backward\(",
    ),
    "PyTorch's .grad is the caller's gradient, to which it adds in place: its other views get a new Node": (
        "grad_fn", r", not AsStridedBackward0$", r"backward\(",
    ),
    "PyTorch's .grad is the caller's gradient, which a hook of the leaf has written": (
        "grad_fn|_version", r"not (AsStridedBackward0|1) \(after RuntimeError: Tensor post accumulate grad hooks",
        r"backward\(",
    ),
    "a .grad without elements keeps the memory of the number that it was expanded from, here or in PyTorch": (
        "grad nbytes", r"^\w+: (0, not \d+|\d+, not 0) \(no elements\)$", r"backward\(",
    ),
    "PyTorch's product of a vector and a matrix writes out= twice: the second write removes a dimension": (
        "_version", r"^\w+: \d+, not \d+$", r"lib\.matmul\(.*out=",
    ),
    "PyTorch does not complete the loop of a division by zero": (
        "values", r"\(after RuntimeError: .*ZeroDivisionError", "",
    ),
    "PyTorch keeps a negative size that it rejects": (
        "(grad )?(shape|values)", r"not \(.*-\d.*\) \(after RuntimeError|negative dimension", r"resize_",
    ),
    "PyTorch resizes out= before it rejects the call": (
        "(grad )?(shape|stride|nbytes|storage|values)", r"\(after \w+Error", r"out=",
    ),
    "PyTorch writes what comes before an index that is out of bounds": (
        "values", r"\(after IndexError", r"\[|index_|put_",
    ),
    "PyTorch finds that an empty tensor has no such slice when it describes it": (
        "error class", r"^IndexError \(index_(fill|copy).* not RuntimeError \(setStorage", r"index_(fill|copy)",
    ),
    "compiled `x[i] += y` writes once; Python writes the element, then assigns it": (
        "_version", r"^call ", r"\] [-+*/]+=",
    ),
    "compiled code indexes with a tensor without dimensions by aten::index, a copy; Python makes a view": (
        "stride|storage|storage_offset|shape|values|_version|raises|error class",
        r"^call ", r"[\[,] ?lib\.tensor\((-?\d+|True|False)\)",
    ),
    "compiled code writes through a mask as index_put_, which a tensor without dimensions refuses": (
        "raises", r"(?s)^call .*too many indices for tensor of dimension 0", r"\] =",
    ),
    "compiled `x[:] = y` is copy_, which rejects overlapping memory; Python fills with a single element": (
        "raises", r"(?s)^call .*copy_: unsupported operation: some elements", r"\] =",
    ),
    "compiled code has every operator of a Tensor as a method": (
        "does not raise|error class", r"^call .*, not AttributeError \('Tensor' object has no attribute", "",
    ),
    "compiled code has an operator's checks alone: that of a leaf comes before that of the index": (
        "error class", r"(?s)^call .*: RuntimeError .*leaf Variable that requires.*, not IndexError", r"\] =",
    ),
}  # fmt: skip
# The same of the whole program, for what an earlier statement decides.
KNOWN_OF_PROGRAMS = {
    "covariances of int64 numbers are computed in float32, whose last places cancel": (
        "values", "", r"view\(lib\.int64\)(.|\n)*\b(cov|corrcoef)\(",
    ),
    # The gradient of square contains self.pow(1), whose own gradient is 1 whatever self is; that of masked_select is
    # written into zeros_like(self).
    "PyTorch saves an operand whose elements it does not read": (
        "does not raise",
        r"not RuntimeError \((one of the variables needed for gradient|Output \d+ of \w+ is a view and its base)",
        r"\b(square_?|masked_select)\(",
    ),
    # It multiplies the results of _unsafe_view, each of which has its own version counter.
    "PyTorch's kron does not notice that an operand has been written before its gradient is computed": (
        "raises", r"^RuntimeError \(one of the variables needed for gradient .* not None", r"\bkron\(",
    ),
    "PyTorch cannot copy a gradient without elements into the shape that `.data =` has given its leaf": (
        "does not raise", r"not RuntimeError \(output with shape \[.*\b0\b.*\] doesn't match the broadcast shape",
        r"\.data = ",
    ),
    "PyTorch raises where a view of integers would get the history of a base that `.data =` has made floating": (
        "does not raise", r"not RuntimeError \(Autograd not support dtype: \w+\)$", r"\.data = ",
    ),
    "PyTorch repeats view_as_real and view_as_complex for a base that `.data =` or `out=` has changed, and raises": (
        "is_leaf|requires_grad|grad_fn", r"^\w+: \w+, not RuntimeError$",
        r"(?s)view_as_(real|complex)\(.*(\.data = |out=)|\.data = .*view_as_(real|complex)\(",
    ),
    "the last step to a view whose base `.data =` has given another dtype: PyTorch knows it": (
        "grad_fn", r"ViewAs(Real|Complex)Backward0, not AsStridedBackward0$", r"\.data = ",
    ),
    # Its formulas, `at::real(grad)` and `at::imag(grad)`, contain the names of the operands.
    "PyTorch's complex saves its operands, which it does not read": (
        "does not raise",
        r"\((Trying to backward through the graph a second time|one of the variables needed for grad)",
        r"lib\.complex\(",
    ),
}  # fmt: skip
# What PyTorch's tracer warns of, or refuses: whatever comes of it may differ.
UNTRACEABLE = re.compile(r"\.data\b|\.resize_|\.set_\(|\.detach_\(")


def reason_for(difference: Difference, program: str = "") -> str | None:
    """The reason for an intended difference, else None."""
    for table, text in ((KNOWN, difference.statement), (KNOWN_OF_PROGRAMS, program)):
        for reason, (fact, detail, pattern) in table.items():
            if (
                re.fullmatch(fact, difference.fact)
                and re.search(detail, difference.detail)
                and re.search(pattern, text)
            ):
                return reason
    errors = re.fullmatch(r"(\w+) \((.*)\), not (\w+) \((.*)\)", difference.detail, re.DOTALL)
    if difference.fact == "error class" and errors:
        ours, theirs = errors.group(1, 2), errors.group(3, 4)
        if wrong_in_two_ways(ours, theirs):
            return "wrong in two ways: each library reports one"
    return None
