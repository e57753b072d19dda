"""Operators written in Python: PyTorch's torch.library.

`custom_op` makes an operator of an annotated function; `Library` defines operators by schemas and registers kernels
for dispatch keys. Such an operator is called through the dispatcher as `engine.ops.<namespace>.<name>`, like the
engine's own: it is recorded, traced, scripted, saved and, with a formula, differentiated.

>>> import engine
>>> @engine.library.custom_op("docs::scaled_sin", mutates_args=())
... def scaled_sin(x: engine.Tensor, scale: float = 1.0) -> engine.Tensor:
...     return x.sin() * scale
>>> @scaled_sin.register_fake
... def _(x, scale=1.0):
...     return engine.empty_like(x)
>>> def setup_context(ctx, inputs, output):
...     x, ctx.scale = inputs
...     ctx.save_for_backward(x)
>>> def backward(ctx, grad):
...     (x,) = ctx.saved_tensors
...     return grad * ctx.scale * x.cos(), None
>>> scaled_sin.register_autograd(backward, setup_context=setup_context)
>>> x = engine.zeros(2, requires_grad=True)
>>> engine.ops.docs.scaled_sin(x, 2.0).sum().backward()
>>> x.grad
tensor([2., 2.])
"""

from engine.absent_names import getattr_of
from engine.library.custom_ops import CustomOpDef, custom_op
from engine.library.opcheck import OpCheckError, opcheck
from engine.library.registration import (
    Library,
    define,
    get_ctx,
    impl,
    impl_abstract,
    register_autograd,
    register_fake,
    register_kernel,
)
from engine.library.schema_inference import infer_schema

__all__ = [
    "CustomOpDef",
    "Library",
    "OpCheckError",
    "custom_op",
    "define",
    "get_ctx",
    "impl",
    "impl_abstract",
    "infer_schema",
    "opcheck",
    "register_autograd",
    "register_fake",
    "register_kernel",
]
__getattr__ = getattr_of("library")
