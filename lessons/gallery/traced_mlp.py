"""A network traced: its operators without its Python, for any batch; and a branch that a trace forgets."""

import warnings

import engine
from engine import nn

network = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 3))
with engine.no_grad():
    for number, weight in enumerate(network.parameters()):
        values = engine.arange(weight.numel(), dtype=engine.float32) * (1.3 + number)
        weight.copy_((values.cos() * 0.5).view(weight.shape))

traced = engine.jit.trace(network, engine.ones(2, 4))
print("traced with 2 rows, called with 5:", tuple(traced(engine.ones(5, 4)).shape))
kinds = [node.kind() for node in traced.graph.nodes()]
inside = [node.kind() for node in traced.inlined_graph.nodes()]
print("its graph calls", kinds.count("prim::CallMethod"), "modules; in one row there are", end=" ")
print(inside.count("aten::linear"), "linear and", inside.count("aten::tanh"), "tanh")

x = engine.linspace(-1, 1, 12).view(3, 4)
same = engine.allclose(traced(x), network(x))
print("the same as the network:", same)

# Training goes on through it: the parameters are the network's own.
for step in range(3):
    loss = traced(x).square().sum()
    loss.backward()
    with engine.no_grad():
        for weight in network.parameters():
            weight -= 0.05 * weight.grad
            weight.grad = None
    print(f"   step {step}: loss {loss.item():.4f}")
print("still the same:", engine.allclose(traced(x), network(x)))


def sign_matters(x):
    if x.sum() > 0:  # Python asks once, while the trace is made
        return x * 2
    return x * -1


with warnings.catch_warnings(record=True) as warned:
    warnings.simplefilter("always")
    baked = engine.jit.trace(sign_matters, engine.ones(2))
print(
    "a warning came:",
    any("might cause the trace to be incorrect" in str(w.message) for w in warned),
)
scripted = engine.jit.script(sign_matters)
negative = engine.tensor([-1.0, -2.0])
print("traced:  ", baked(negative).tolist(), "- the branch of the example")
print("scripted:", scripted(negative).tolist(), "- the branch of this input")
