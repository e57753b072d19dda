"""Groups that the optimiser makes, as they are wanted."""

import engine


@engine.jit.script
def one(x):
    return ((x * 2 + 1).relu() - x) * x


@engine.jit.script
def two(x):
    y = (x * 2 + 1).relu().cumsum(0)
    return (y - 1) * x


@engine.jit.script
def shared(x):
    a = x * 2 + 1
    return a, a.relu() * 3


@engine.jit.script
def ending(x):
    return ((x - 1) * x).sum()


x = engine.rand(1000)
for function in (one, two, shared, ending):
    print(function.name)
    print(function.graph_for(x).str(False))
