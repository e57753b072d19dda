"""The symbolic functions of the engine's operators, a module for each family; importing this fills the table."""

from engine.onnx.symbolics import (  # noqa: F401
    activation,
    attention,
    convolution,
    creation,
    index,
    linear,
    loss,
    normalization,
    numbers,
    pointwise,
    pooling,
    recurrent,
    reduce,
    resample,
    shape,
    sparse_conv,
)
