"""Make x: a 3-d view of base with a zero stride, all twelve numbers, no new memory."""

import engine

base = engine.arange(12)

# TODO: this is 2-d, and every stride moves on.
x = base.view(3, 4)

print("shape", tuple(x.shape), "stride", x.stride())
