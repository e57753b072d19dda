"""Two transposes that cancel out: the optimiser's first example, from source to nothing left to do."""

import engine


@engine.jit.script
def dumb_function(x):
    return x.t().t()


@engine.jit.script
def constants(x):
    y = 2 * 3 + 1  # known before x comes
    z = x.sum() * 0  # nobody uses it  # noqa: F841
    return x * y


@engine.jit.script
def twice_the_same(x):
    return (x.exp() + 1) * (x.exp() + 1)


x = engine.tensor([[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]])
print("as it was written")
print("   kinds:", [node.kind() for node in dumb_function.graph.nodes()])

# The first calls are watched; then the graph that runs is made for such inputs.
for _ in range(4):
    out = dumb_function(x)
print("what it returns is what it was given:", out.data_ptr() == x.data_ptr())

for _ in range(4):
    scaled, squared = constants(x), twice_the_same(x)
print("with constants:", scaled.tolist()[1])
print("with equal parts:", [round(v, 3) for v in squared[0].tolist()])

# Another shape and dtype: guards say no, the code for any input goes on.
print("ints:", dumb_function(engine.arange(6).view(3, 2)).tolist())
print("one dimension:", dumb_function(engine.arange(3)).tolist())
