"""Groups that the optimiser makes, as they are wanted."""

import engine


# TODO: four functions that are as the exercise says.
@engine.jit.script
def one(x):
    return x * 2


@engine.jit.script
def two(x):
    return (x * 2 + 1).relu()


@engine.jit.script
def shared(x):
    return (x * 2 + 1).relu()


@engine.jit.script
def ending(x):
    return (x * 2 + 1).relu()


x = engine.rand(1000)
for function in (one, two, shared, ending):
    print(function.name)
    print(function.graph_for(x).str(False))
