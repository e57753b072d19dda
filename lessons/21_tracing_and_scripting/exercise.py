"""A function that decides by its data, traced for one example."""

import engine


def settle(x):
    if x.sum() < 0:
        x = -x
    while x.sum() > 1:
        x = x / 2
    return x


# TODO: a graph that has the branch and the loop in it.
settled = engine.jit.trace(settle, engine.tensor([3.0, 1.0]))

print(settled.graph)
for values in ([0.25, 0.5], [-0.25, -0.5], [-24.0, -8.0]):
    x = engine.tensor(values)
    print(values, "settle:", settle(x).tolist(), "settled:", settled(x).tolist())
