"""The long side of a right triangle, with its own backward."""

import engine
from engine.autograd import Function, gradcheck


class Hypot(Function):
    @staticmethod
    def forward(ctx, a, b):
        h = (a * a + b * b).sqrt()
        ctx.save_for_backward(a, b, h)
        return h

    @staticmethod
    def backward(ctx, grad):
        a, b, h = ctx.saved_tensors
        return grad * a / h, grad * b / h


hypot = Hypot.apply
a = engine.tensor([3.0, 5.0], dtype=engine.float64, requires_grad=True)
b = engine.tensor([4.0, 12.0], dtype=engine.float64, requires_grad=True)
print(hypot(a, b), gradcheck(hypot, (a, b), raise_exception=False))
