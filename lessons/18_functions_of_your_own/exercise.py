"""The long side of a right triangle, with its own backward."""

import engine
from engine.autograd import Function, gradcheck


class Hypot(Function):
    @staticmethod
    def forward(ctx, a, b):
        h = (a * a + b * b).sqrt()
        # TODO: what is remembered like this is not watched.
        ctx.a, ctx.b = a, b
        return h

    @staticmethod
    def backward(ctx, grad):
        # TODO: the two derivatives.
        return grad * ctx.a, grad * ctx.b


hypot = Hypot.apply
a = engine.tensor([3.0, 5.0], dtype=engine.float64, requires_grad=True)
b = engine.tensor([4.0, 12.0], dtype=engine.float64, requires_grad=True)
print(hypot(a, b), gradcheck(hypot, (a, b), raise_exception=False))
