"""Faults: the kinds of mistakes in a call that errors speak of.

A call may be wrong in two ways, of which each library reports the one that it looks at first. Which one is not part
of PyTorch's interface: it follows from the order of checks in each operator. Two errors of different classes are
therefore no difference if each names another fault, and has the class that PyTorch gives to such a fault. Two
errors about the same fault, and errors about a fault that has no entry here, remain differences.
"""

from __future__ import annotations

import re
from typing import NamedTuple


class Fault(NamedTuple):
    """A kind of fault: the classes that PyTorch raises for it, and what its messages hold."""

    name: str
    classes: str
    message: str


FAULTS = tuple(
    Fault(name, classes, message)
    for name, classes, message in (
        (
            "the type of an argument",
            "TypeError|AttributeError",
            r"(?<!as indices )must be (?!greater)[\w.\s,]+?, (not|got|but got|but found)"
            r"|invalid combination of arguments"
            r"|has no attribute"
            r"|unexpected keyword argument|missing \d+ required|missing required|takes .* positional arguments?"
            r"|takes no keyword|expected a (function|dtype)|expected ints|cannot be called with|multiple values for"
            r"|(?<!as indices )must be (tuple|sequence|Tensor|a number|int|bool|float|str)"
            r"|expected Tensor as element|has no len\(\)"
            r"|unhashable type|failed to unpack|not subscriptable|not iterable|must be tensors"
            r"|data must be a sequence"
            r"|expected a sequence of length|invalid data type|expected a name such as"
            r"|positional-only arguments|a bytes-like object is required|expected indices to be|unsupported operand",
        ),
        (
            "an argument that a mode does not support",
            "NotImplementedError",
            r"mode needs|Padding size \S+ is not supported|Only 3D, 4D and 5D|[Uu]nrecogni[sz]ed padding mode"
            r"|per_sample_weights was not None",
        ),
        (
            "a dtype without a kernel",
            "NotImplementedError",
            r"not implemented for '|Low precision dtypes not supported|Expected a floating point or complex tensor"
            r"|not supported for complex types|is not implemented for complex",
        ),
        (
            "a dimension or index out of range",
            "IndexError",
            r"(?i)dimension out of range|index \S+ is out of (bounds|range)|out of range for|Dimension specified as"
            r"|expected \d( or \d)? dimensions|too many indices|invalid index|tensors used as indices"
            r"|(size|dim)\S* .*out of range|must have \d+ sizes|Index has to be|Index should have dimension"
            r"|start out of range|indexing tensors could not be broadcast|shape of the mask"
            r"|tuple index out of range|Expected reduction dim|their dimensionality must match",
        ),
        (
            "the dtype of a result, or of two operands",
            "RuntimeError|ValueError|TypeError",
            r"can't be cast|[Ee]xpected out tensor to have dtype|to have the same dtype|same dtype"
            r"|should have the same"
            r"|only supports bool tensor|should be (of )?(type )?int64|elements in indices|must be a floating dtype"
            r"|dtype must be|a Boolean alpha|argument alpha must not|argument beta must not|without overflow"
            r"|does not support complex|not supported for complex|complex (input|tensors?) (is|are) not"
            r"|cannot be converted to type|Expected .*dtype|expected .*dtype|scalar type|is only supported for"
            r"|with a bool (tensor|number) is not supported|Boolean (Tensor|value)|Integer division|integer tensor"
            r"|dtypes? (match|is wrong|does not match)|[Ff]ound dtype|not implemented for complex"
            r"|expected a tensor of floating point|mixed dtype|share same datatype",
        ),
        (
            "sizes that do not fit",
            "RuntimeError|ValueError",
            r"(?i)size|shape|broadcast|too small|only supported on matrices|implicitly created only for scalar|buffer"
            r"|dimension|@ vector expected|should contain \d+ elements|batches of square matrices"
            r"|number of elements|numel|length|[1-4]D\b"
            r"|stride|kernel|padding|dilation|groups|channels",
        ),
        (
            "a mode that is not supported",
            "NotImplementedError",
            r"Padding size|[Uu]nrecogni[sz]ed|mode needs",
        ),
        (
            "a matrix without an inverse or factors",
            "LinAlgError",
            r"could not be completed|singular|failed to converge",
        ),
        (
            "an in-place write where gradients are recorded",
            "RuntimeError",
            r"leaf Variable|is a view and its base or another view|requires? grad"
            r"|support automatic differentiation|does not have a grad_fn|returns multiple views",
        ),
        (
            "memory that is shared",
            "RuntimeError",
            r"single memory location|overlap",
        ),
        (
            "a device",
            "RuntimeError|AssertionError|NotImplementedError|ValueError",
            r"(?i)device|meta tensor|not compiled with|accelerator",
        ),
        (
            "the value of a number or a word",
            "RuntimeError|ValueError",
            r"(?i)(must|should|has to|have to|expects?|expected|cannot|can't) .*(be|in|>|<|positive|between|negative"
            r"|nonzero|zero|one of|greater|less|all elements)|is not a valid value|should only be set"
            r"|is not supported"
            r"|not supported yet|invalid|unsupported|expected [\w.]+ to be|sigma > 0|>= ?0|division by zero|nan"
            r"|finite"
            r"|requires the return_complex|both running_mean and running_var|values to unpack|string to float"
            r"|requires \w+ to either|expected layout|appears multiple times|not unique|ambiguous"
            r"|only one element tensors",
        ),
    )
)


def fault_of(kind: str, message: str) -> str | None:
    """Return the fault of an error: the first whose words its message has, as the most special are first.

    None if there is no such fault, or if PyTorch gives it another class.
    """
    for fault in FAULTS:
        if re.search(fault.message, message):
            return fault.name if re.fullmatch(fault.classes, kind.lstrip("_")) else None
    return None


def wrong_in_two_ways(ours: tuple[str, str], theirs: tuple[str, str]) -> bool:
    """Return True if two errors (class, message) are of different faults, each of the class that it has in PyTorch."""
    a, b = fault_of(*ours), fault_of(*theirs)
    return a is not None and b is not None and a != b
