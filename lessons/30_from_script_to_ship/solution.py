"""A model that leaves Python on two ways."""

import io
import warnings

import engine
from engine import nn

warnings.simplefilter("ignore")


class Bounded(engine.autograd.Function):
    @staticmethod
    def forward(ctx, x, low, high):
        ctx.save_for_backward(x)
        ctx.low, ctx.high = low, high
        return x.clamp(low, high)

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return grad * ((x > ctx.low) & (x < ctx.high)), None, None

    @staticmethod
    def symbolic(g, x, low, high):
        return g.op("Clip", x, low, high)


class Scorer(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(3, 2)

    def forward(self, x):
        x = self.linear(x)
        if bool(x.sum() < 0):
            x = -x
        return x


engine.manual_seed(0)
scorer = Scorer()

shipped = io.BytesIO()
engine.jit.save(engine.jit.script(scorer), shipped)

loaded = engine.jit.load(io.BytesIO(shipped.getvalue()))
for x in (engine.ones(1, 3), -engine.ones(1, 3)):
    print("in Python", scorer(x).tolist(), "shipped", loaded(x).tolist())
