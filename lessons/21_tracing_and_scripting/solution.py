"""A function that decides by its data, compiled."""

import engine


@engine.jit.script
def settled(x):
    if x.sum() < 0:
        x = -x
    while x.sum() > 1:
        x = x / 2
    return x


print(settled.graph)
for values in ([0.25, 0.5], [-0.25, -0.5], [-24.0, -8.0]):
    print(values, "settled:", settled(engine.tensor(values)).tolist())
