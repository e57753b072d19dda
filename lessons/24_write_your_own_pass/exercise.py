"""A pass: what is never below zero needs no relu and no abs."""

import engine


@engine.jit.register_pass
def tidy(graph):
    """relu and abs change nothing where nothing is below zero."""
    for node in graph.findAllNodes("aten::relu"):
        inner = node.input().node()
        # TODO: where nothing changes, let the inner result be used instead.


def f(x):
    y = x.abs().relu().relu()
    return y.relu() + y


graph = engine.jit.trace(f, engine.ones(2)).graph.copy()
print(engine.jit.run_pass(graph, "tidy"), "rewrites")
engine.jit.run_pass(graph, "dce")
print(graph.str(False))
print(graph.run(engine.tensor([-2.0, 3.0])), "should be", f(engine.tensor([-2.0, 3.0])))
